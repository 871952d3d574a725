"""The numbers that the paper printed, as a table.

``published.csv`` holds all cells of the paper's tables as they are printed, with a note where a
number or a name is a misprint.  Methods have the names of `cosift.methods`; tasks are the paper's.
"""

from __future__ import annotations

from importlib.resources import files

import polars as pl

from cosift.selectors._parameters import check_option

__all__ = ["TASKS", "published"]

# Our names of the paper's tasks, which it numbers: CCV's and HMDB's in the order in which its text
# lists them. NUS-WIDE's 81 concepts are printed as their mean.
TASKS: dict[str, dict[str, str | None]] = {
    "ccv": {"Subject 1": "events", "Subject 2": "scenes", "Subject 3": "objects"},
    "nuswide": {"all": None},
    "hmdb": {
        "Subject 1": "facial",
        "Subject 2": "facial with object",
        "Subject 3": "body",
        "Subject 4": "body with object",
        "Subject 5": "interaction",
    },
    "humaneva": {"Subject 1": "S1", "Subject 2": "S2"},
}
SCHEMA = {
    "dataset": pl.String,
    "task": pl.String,
    "labeled_percent": pl.Float64,
    "method": pl.String,
    "mean": pl.Float64,
    "std": pl.Float64,
    "note": pl.String,
}


def published(dataset: str) -> pl.DataFrame:
    """Mean average precision that the paper printed for one of its datasets.

    Parameters
    ----------
    dataset : {"ccv", "nuswide", "hmdb", "humaneva"}
        Which.

    Returns
    -------
    DataFrame
        ``method, labeled_percent, task, mean, std, note``.  ``task`` is null for the mean over
        tasks, which is computed from the printed means but for NUS-WIDE, where it is all that was
        printed; so its ``std`` is null there.  Misprints are left as they are, and noted.

    Examples
    --------
    >>> table = published("ccv").filter(method="spec", labeled_percent=10, task="events")
    >>> table.row(0)[3:]
    (0.0307, 0.023, 'printed 0.0307; 0.307 fits the row')
    """
    check_option("dataset", dataset, TASKS)
    text = files("cosift.experiment").joinpath("published.csv").read_bytes()
    printed = pl.read_csv(text, schema=SCHEMA).filter(pl.col("dataset") == dataset)
    printed = printed.with_columns(
        pl.col("task").replace_strict(TASKS[dataset], return_dtype=pl.String)
    ).select("method", "labeled_percent", "task", "mean", "std", "note")
    if printed["task"].null_count():
        return printed
    means = printed.group_by("method", "labeled_percent", maintain_order=True).agg(
        task=pl.lit(None, pl.String),
        mean=pl.col("mean").mean(),
        std=pl.lit(None, pl.Float64),
        note=pl.format("{}: {}", "task", "note").drop_nulls().str.join("; "),
    )
    return pl.concat([printed, means.with_columns(pl.col("note").replace("", None))])
