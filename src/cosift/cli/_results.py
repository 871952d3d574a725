"""What commands say of the results of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import table as rich
from rich.text import Text

from cosift.cli._common import FAILED, PANEL, Output, plain

if TYPE_CHECKING:
    from cosift.experiment import Conclusions, Results
    from cosift.report.tables import Cell, Table

__all__ = ["NoReport", "finish"]

NoReport = Annotated[
    bool,
    typer.Option("--no-report", help="Write no report.", rich_help_panel=PANEL),
]

MARKS = {"best": "*", "tied": "=", "": " "}
STYLES = {"best": "bold", "tied": "", "": ""}


def finish(out: Output, results: Results, *, no_report: bool = False, **more: Any) -> None:
    """Say what came of a run, and write its report; end with code 1 if anything failed.

    Parameters
    ----------
    out : Output
        Where to.
    results : Results
        Of the run.
    no_report : bool
        Whether to write none.
    **more
        Entries of the JSON document beside those that every run has.
    """
    from cosift.experiment import conclude
    from cosift.report.tables import make_tables, printed_numbers

    found, published = conclude(results), printed_numbers(results)
    table = make_tables(results, found, published)[-1]
    known = "* highest mean   = not significantly below it   " if table.tested else ""
    out.show(
        f"{table.title}. Mean ± deviation over repeats, by percentage of labels.",
        _rendered(table),
        f"{known}- no number",
        *(f"as printed: {note}" for note in table.notes),
        "",
        found.summary,
        *(f"- {note}" for note in found.notes),
    )
    document = _document(found, results)
    if published is not None:
        document["published"] = published.to_dicts()
    page = None if no_report else _report(results)
    out.document({**document, "report": page, **more})
    out.note(f"Results: {results.directory}")
    if page:
        out.show("", f"Report: {page}")
    failed = len(results.failures)
    if failed:
        out.note(
            f"{failed} of {len(results.plan.units())} results are missing because their units "
            "failed: --retry-failed tries again.",
            style="red",
        )
        raise typer.Exit(FAILED)


def _report(results: Results) -> str:
    from cosift.report.page import write_report

    return str(write_report(results)[0])


def _rendered(table: Table) -> rich.Table:
    """Methods by shares of labels."""
    has_published = any(row.published for row in table.rows)
    heads = (rich.Column(head, justify="right") for head in table.heads)
    found = rich.Table("method", *(["numbers"] if has_published else []), *heads)
    for row in table.rows:
        name = "" if row.published else plain(row.method)
        source = ["as printed" if row.published else "here"] if has_published else []
        found.add_row(name, *source, *map(_text, row.cells))
    return found


def _text(cell: Cell | None) -> Text:
    if cell is None:
        return Text("-")
    deviation = "" if cell.std is None else f" ± {cell.std:.3f}"
    return Text(f"{cell.mean:.3f}{deviation} {MARKS[cell.mark]}", style=STYLES[cell.mark])


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
        "metrics": results.means.to_dicts(),
        "choices": results.choices.to_dicts(),
        "stability": results.stability().to_dicts(),
        "failures": failures.select("repeat", "labeled_percent", "method", "message").to_dicts(),
    }
