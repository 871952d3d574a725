"""Tables of a run as files."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cosift.experiment import Conclusions, Results
from cosift.experiment.published import published as as_printed
from cosift.report._formats import to_csv, to_latex, to_markdown
from cosift.report._table import Cell, Row, Table, make_tables

__all__ = [
    "Cell",
    "Row",
    "Table",
    "make_tables",
    "printed_numbers",
    "to_csv",
    "to_latex",
    "to_markdown",
    "write_tables",
]


def write_tables(
    results: Results,
    conclusions: Conclusions,
    directory: str | Path,
    published: pl.DataFrame | None = None,
) -> list[Path]:
    """Write all tables of one metric to a file of each format.

    Parameters
    ----------
    results, conclusions, published
        As in `make_tables`.
    directory : path
        Where to write; made if it is not there.

    Returns
    -------
    list of Path
        The files: named after the metric, ending in csv, tex and md.
    """
    tables = make_tables(results, conclusions, published)
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for ending, write in {"csv": to_csv, "tex": to_latex, "md": to_markdown}.items():
        path = directory / f"{conclusions.metric}.{ending}"
        path.write_text(write(tables), encoding="utf-8", newline="")
        written.append(path)
    return written


def printed_numbers(results: Results) -> pl.DataFrame | None:
    """What the paper printed, of a run that repeats one of its experiments."""
    name = next((own["published"] for own in results.sessions if "published" in own), None)
    return None if name is None else as_printed(name)
