"""Tables of the paper's form: methods by shares of labels, a table a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from cosift.experiment import Conclusions, Results

TUNING = {
    "oracle": "weights picked on the test rows (oracle)",
    "cv": "weights chosen by cross-validation on the labelled training rows (cv)",
}


@dataclass(frozen=True)
class Cell:
    """One number of a table.

    Attributes
    ----------
    mean : float
        The mean.
    std : float or None
        Standard deviation over repeats.
    n : int or None
        Number of repeats; None of published numbers.
    mark : {"best", "tied", ""}
        Highest mean, not significantly below it, or neither.
    note : str
        A remark.
    """

    mean: float
    std: float | None
    n: int | None = None
    mark: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One method in one table: what was found, or what was published."""

    method: str
    published: bool
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Table:
    """Methods by shares of labels.

    Attributes
    ----------
    metric, tuning, dataset : str
        What was measured, how weights were chosen, on which data.
    task : str or None
        One task, or the mean over tasks.
    shares : tuple of float or None
        Percentages of labels; None is all of them together.
    rows : tuple of Row
        Every method, each followed by what was published of it.
    tested : bool
        Whether anything could be tested, so that a missing mark means a difference.
    """

    metric: str
    tuning: str
    dataset: str
    task: str | None
    shares: tuple[float | None, ...]
    rows: tuple[Row, ...]
    tested: bool

    @property
    def title(self) -> str:
        """What the table shows."""
        of = "mean over tasks" if self.task is None else self.task
        text = f"{self.metric}, {self.dataset}, {of}; {TUNING[self.tuning]}"
        return text[0].upper() + text[1:]

    @property
    def n(self) -> int:
        """The number of repeats of most cells."""
        counts = [cell.n for row in self.rows for cell in row.cells if cell and cell.n]
        return max(counts, key=counts.count, default=0)

    @property
    def heads(self) -> list[str]:
        """Names of the columns after the first."""
        return ["all" if share is None else f"{share:g}%" for share in self.shares]

    @property
    def legend(self) -> str:
        """What numbers and marks mean."""
        repeats = "repeat" if self.n == 1 else "repeats"
        text = f"Mean and standard deviation over {self.n} {repeats} unless said. "
        text += "Bold: the highest mean. "
        if self.tested:
            return text + "Italic: not significantly below it (5%, corrected for all pairs)."
        return text + "Differences could not be tested."

    @property
    def notes(self) -> list[str]:
        """Remarks on single cells."""
        return [
            f"{row.method}, {head}: {cell.note}"
            for row in self.rows
            for head, cell in zip(self.heads, row.cells, strict=True)
            if cell and cell.note
        ]


def make_tables(
    results: Results, conclusions: Conclusions, published: pl.DataFrame | None = None
) -> list[Table]:
    """Tables of every task and, if there are several, of the mean over tasks.

    Parameters
    ----------
    results : Results
        Of a run.
    conclusions : Conclusions
        What `conclude` says of it.
    published : DataFrame, optional
        Columns ``method``, ``labeled_percent``, ``task`` (null for the mean over tasks), ``mean``,
        ``std``, ``note``, in the run's own names.

    Returns
    -------
    list of Table
        In the order of the tasks, the mean last.
    """
    frame = conclusions.table
    key = ("method", "labeled_percent", "task")
    ours, theirs = (
        {tuple(row[k] for k in key): row for row in source.iter_rows(named=True)}
        for source in (frame, frame.clear() if published is None else published)
    )
    tasks = frame["task"].unique(maintain_order=True).to_list()
    tasks = tasks if len(tasks) > 2 else tasks[:1]
    shares = sorted(results.plan.labeled_percent)
    columns = (*shares, None) if len(shares) > 1 else tuple(shares)
    tested = conclusions.paired["p"].count() > 0
    tables = []
    for task in tasks:
        rows = []
        for method in results.plan.methods:
            places = [(method, share, task) for share in columns]
            for source in (ours, theirs):
                cells = tuple(_cell(source.get(place)) for place in places)
                if source is ours or any(cells):
                    rows.append(Row(method, source is theirs, cells))
        about = (conclusions.measure, conclusions.tuning, results.plan.dataset)
        tables.append(Table(*about, task, columns, tuple(rows), tested))
    return tables


def _cell(row: dict[str, Any] | None) -> Cell | None:
    if row is None or row["mean"] is None:
        return None
    mark = next((mark for mark in ("best", "tied") if row.get(mark)), "")
    return Cell(row["mean"], row["std"], row.get("n"), mark, row.get("note") or "")
