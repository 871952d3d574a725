"""Options that say what a user's table holds, and the Dataset that they make of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cosift.cli._common import Output, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cosift.datasets import Dataset

__all__ = [
    "Files",
    "Group",
    "Ignore",
    "Scaling",
    "Target",
    "Task",
    "Unlabeled",
    "labeled_rows",
    "load",
    "marker",
    "roles",
    "scan",
    "take",
]

PANEL = "What the table holds"

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help="A table: CSV, TSV, Parquet, Arrow, npy, npz, mat, SVMlight, ARFF or h5ad. Of several "
        "each is a task.",
        show_default=False,
    ),
]
Target = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of classes. Give it several times for columns of 0 and 1, each a task.",
        show_default="as the file says, if it does",
        rich_help_panel=PANEL,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the task that a row belongs to.",
        show_default="one task",
        rich_help_panel=PANEL,
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of what a row was cut from (a recording, a person): rows of one group stay "
        "on one side of a split.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column to leave out; may be given several times.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Unlabeled = Annotated[
    str,
    typer.Option(
        metavar="VALUE",
        help="What stands in the target where there is no label, beside nothing at all; 'none' if "
        "only that.",
        rich_help_panel=PANEL,
    ),
]

Scaling = Annotated[
    Literal["standard", "none"],
    typer.Option(
        help="standard: every feature to standard deviation 1, and mean 0 if dense.",
        rich_help_panel=PANEL,
    ),
]


def load(
    files: list[Path],
    target: list[str] | None,
    task: str | None,
    group: str | None,
    ignore: list[str] | None,
) -> Dataset:
    """Read a user's table."""
    from cosift.datasets import read_table

    path = files[0] if len(files) == 1 else files
    return read_table(path, target=target, task=task, group=group, ignore=ignore or ())


def scan(
    files: list[Path], target: list[str] | None, task: str | None, ignore: list[str] | None
) -> Dataset:
    """Read the labels of a table of Parquet files; its samples are read by Dask."""
    from cosift.datasets import scan_parquet

    if len(files) > 1:
        raise UsageError("With --scheduler, DATA must be one Parquet file or one folder of them.")
    return scan_parquet(files[0], target=target, task=task, ignore=ignore or ())


def labeled_rows(out: Output, data: Dataset, unlabeled: str) -> Dataset:
    """The rows that have every label: which to hide is the experiment's business."""
    import numpy as np

    absent = marker(data, unlabeled)
    values = data.y.ravel().tolist()
    lacking = np.array([v is None or v != v or v == absent for v in values])
    rows = np.flatnonzero(~lacking.reshape(len(data.y), -1).any(axis=1))
    left = len(data.y) - len(rows)
    if not left:
        return data
    if not len(rows):
        raise ValueError(f"{data.name}: no row has every label, so nothing can be compared.")
    out.note(
        f"Note: {left} of {len(data.y)} rows lack a label and are left out: methods are compared "
        "where the answer is known.",
        style="yellow",
    )
    return take(data, rows)


def take(data: Dataset, rows: NDArray[np.intp]) -> Dataset:
    """Some rows of a dataset."""

    def of(values: Any) -> Any:
        return None if values is None else values[rows]

    return replace(
        data,
        X=of(data.X),
        y=of(data.y),
        tasks=of(data.tasks),
        groups=of(data.groups),
        official_test=of(data.official_test),
    )


def marker(data: Dataset, text: str) -> float | str | None:
    """The value of ``--unlabeled`` in the kind of the labels."""
    if text == "none":
        return None
    if data.y.dtype.kind not in "biuf":
        return text
    try:
        number = float(text)
    except ValueError:
        raise ValueError(
            f"--unlabeled must be a number, since the labels of {data.name} are numbers, or "
            f"'none'. Got {text!r}."
        ) from None
    return int(number) if number.is_integer() else number


def roles(data: Dataset, target: list[str] | None, task: str | None) -> dict[str, Any]:
    """Labels and tasks by the names of their columns."""
    if data.y.ndim == 2:
        return dict(zip(data.target_names, data.y.T, strict=True))
    columns = {(target or ["target"])[0]: data.y}
    return columns if data.tasks is None else {**columns, task or "task": data.tasks}
