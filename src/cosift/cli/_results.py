"""What commands say of the results of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import typer
from rich.table import Column, Table
from rich.text import Text

from cosift.cli._common import FAILED, Output

if TYPE_CHECKING:
    from cosift.experiment import Conclusions, Results

__all__ = ["finish"]


def finish(out: Output, results: Results, **more: Any) -> None:
    """Say what came of a run; end with code 1 if anything failed.

    Parameters
    ----------
    out : Output
        Where to.
    results : Results
        Of the run.
    **more
        Entries of the JSON document beside those that every run has.
    """
    from cosift.experiment import conclude

    found = conclude(results)
    out.show(
        f"Mean average precision on {results.about['name']}, mean ± deviation over repeats",
        _table(found, results),
        "(* best, = not significantly different from the best)",
        "",
        found.summary,
        *(f"- {note}" for note in found.notes),
    )
    out.document({**_document(found, results), **more})
    out.note(f"Results: {results.directory}")
    failed = len(results.failures)
    if failed:
        out.note(
            f"{failed} of {len(results.plan.units())} results are missing because their units "
            "failed: --retry-failed tries again.",
            style="red",
        )
        raise typer.Exit(FAILED)


def _table(found: Conclusions, results: Results) -> Table:
    """Methods by shares of labels, means over tasks."""
    rows = found.table.filter(pl.col("task").is_null(), pl.col("n") > 0).iter_rows(named=True)
    cells = {(row["method"], row["labeled_percent"]): _cell(row) for row in rows}
    percents = sorted(results.plan.labeled_percent)
    table = Table("method", *(Column(f"{p:g}% labelled", justify="right") for p in percents))
    for method in results.plan.methods:
        table.add_row(method, *(cells.get((method, percent), Text("-")) for percent in percents))
    return table


def _cell(row: dict[str, Any]) -> Text:
    deviation = "" if row["std"] is None else f" ± {row['std']:.3f}"
    mark = "*" if row["best"] else "=" if row["tied"] else " "
    return Text(f"{row['mean']:.3f}{deviation} {mark}", style="bold" if row["best"] else "")


def _document(found: Conclusions, results: Results) -> dict[str, Any]:
    about, failures = results.about, results.failures
    return {
        "directory": str(results.directory),
        "data": {name: about[name] for name in ("name", "n_samples", "n_features", "provenance")},
        "tuning": results.plan.tuning,
        "complete": results.complete,
        "summary": found.summary,
        "notes": found.notes,
        "results": found.table.to_dicts(),
        "paired": found.paired.to_dicts(),
        "ranks": found.ranks.to_dicts(),
        "failures": failures.select("repeat", "labeled_percent", "method", "message").to_dicts(),
    }
