"""``cosift select``: rank the features of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cosift.cli import _data
from cosift.cli._common import PANEL as COMMON
from cosift.cli._common import Debug, Json, Output, Quiet, Seed, UsageError, to_json
from cosift.cli._files import TABLES, check_output, write_table
from cosift.cli._run import Scheduler, cluster

if TYPE_CHECKING:
    import polars as pl

    from cosift._typing import Matrix
    from cosift.datasets import Dataset

__all__ = ["EXAMPLE", "select"]

EXAMPLE = "cosift select sensors.csv --target state --task person -k 20 -o best.csv"
PANEL = "The method"

Weight = Annotated[
    float | None,
    typer.Option(help="A weight of the method, if it has this.", rich_help_panel=PANEL),
]


def select(
    data: _data.Files,
    k: Annotated[
        str,
        typer.Option(
            "-k",
            metavar="N",
            help="How many features: a number, a share below 1, or 'nonzero'.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the chosen features with ranks and scores: .json, .csv, .tsv or .parquet.",
            show_default=False,
        ),
    ] = None,
    reduced: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the table without all other features: .csv, .tsv or .parquet.",
            show_default=False,
        ),
    ] = None,
    target: _data.Target = None,
    task: _data.Task = None,
    ignore: _data.Ignore = None,
    unlabeled: _data.Unlabeled = "-1",
    method: Annotated[
        str,
        typer.Option(
            help="One of ours, or one from a package, as 'sklearn.feature_selection:f_classif'; "
            "parameters may follow in parentheses.",
            rich_help_panel=PANEL,
        ),
    ] = "sfmc",
    alpha: Weight = None,
    beta: Weight = None,
    gamma: Weight = None,
    scaling: _data.Scaling = "standard",
    scheduler: Scheduler = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Cores that the fit may use, or processes of --scheduler local.",
            show_default="all of them",
            rich_help_panel=COMMON,
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Rank the features of a table, for all tasks together and for each.

    With --scheduler a Parquet file, or a folder of them, may be larger than memory: the workers
    read it in chunks of rows, and neighbours are sought within a chunk (sfmc, sfss, fssi and
    l21-least-squares).
    """
    with Output(json=json, quiet=quiet, debug=debug) as out:
        from threadpoolctl import threadpool_limits

        from cosift.cli._selection import Selection

        check_output(output, (".json", *TABLES))
        check_output(reduced, TABLES)
        selector = _make(method, k, seed, alpha=alpha, beta=beta, gamma=gamma)
        if scheduler is None:
            table = _data.load(data, target, task, None, ignore)
        elif reduced is None:
            table = _data.scan(data, target, task, ignore)
        else:
            raise UsageError("--reduced writes a whole table, and --scheduler holds none.")
        out.note(table.describe())
        selector.set_params(unlabeled=_data.marker(table, unlabeled))
        with threadpool_limits(workers) if scheduler is None else cluster(workers, scheduler):
            selector.fit(_scaled(table.X, scaling), table.named_y, table.tasks)
        found = Selection(table, selector)
        if not selector.scores_.any():
            out.note(
                "Note: under these weights every feature scores 0. The ranking says which would "
                "come in first; lower weights give scores.",
                style="yellow",
            )
        out.show(found.headline(), found.table(), found.certificate_line())
        out.document(found.document())
        if output is not None and output.suffix == ".json":
            output.write_text(to_json(found.document()) + "\n")
        elif output is not None:
            write_table(found.rows(), output)
        if reduced is not None:
            kept = found.together.features
            write_table(_reduced(table, kept, found.names, target, task), reduced)
        for path in filter(None, (output, reduced)):
            out.note(f"Written: {path}")


def _make(method: str, k: str, seed: int, **weights: float | None) -> Any:
    from cosift.methods import make_method, seeded

    selector: Any = seeded(make_method(method), seed)
    given = {"n_features_to_select": _count(k)}
    given |= {name: value for name, value in weights.items() if value is not None}
    known = selector.get_params()
    for name in given:
        if name not in known:
            option = "-k" if name == "n_features_to_select" else f"--{name}"
            raise UsageError(f"{method} takes no {option}: its parameters are {', '.join(known)}.")
    return selector.set_params(**given)


def _count(text: str) -> Any:
    if text == "nonzero":
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise UsageError(f"-k must be a number, a share below 1 or 'nonzero'. Got {text!r}.")


def _scaled(X: Matrix, scaling: str) -> Matrix:
    from scipy.sparse import issparse
    from sklearn.preprocessing import StandardScaler

    from cosift._dask import is_dask, standardized

    if scaling == "none":
        return X
    if is_dask(X):
        return standardized(X)
    scaled: Matrix = StandardScaler(with_mean=not issparse(X)).fit_transform(X)
    return scaled


def _reduced(
    data: Dataset, features: Any, names: list[str], target: list[str] | None, task: str | None
) -> pl.DataFrame:
    """The chosen columns in the order of the table, then labels and tasks."""
    import polars as pl
    from scipy.sparse import issparse

    kept = sorted(features.tolist())
    X = data.X[:, kept]
    X = X.toarray() if issparse(X) else X
    frame = pl.DataFrame({names[j]: X[:, i] for i, j in enumerate(kept)})
    columns = _data.roles(data, target, task)
    return frame.with_columns(pl.Series(name, values) for name, values in columns.items())
