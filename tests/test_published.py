"""The paper's tables, checked by what must hold of them and by cells read off the page."""

import polars as pl
import pytest

from cosift.datasets import TWINS
from cosift.experiment import PAPER_METHODS, PAPER_SETTINGS
from cosift.experiment.draw import task_names
from cosift.experiment.published import TASKS, published

KEY = ["method", "labeled_percent", "task"]
METHODS = {"all-features", "fisher-score", "spec", "fsnm", "fssi", "sfmc"}


@pytest.mark.parametrize("dataset", TASKS)
def test_every_cell_is_there_once(dataset):
    table = published(dataset)
    tasks = {*TASKS[dataset].values(), None}
    assert len(table) == len(table.unique(KEY)) == len(METHODS) * 6 * len(tasks)
    assert set(table["task"]) == tasks
    assert set(table["method"]) == METHODS < set(PAPER_METHODS)
    percents = PAPER_SETTINGS[dataset].get("labeled_percent", (1.0, 5.0, 10.0, 25.0, 50.0, 100.0))
    assert set(table["labeled_percent"]) == set(percents)
    assert table["mean"].is_between(0, 1).all()
    assert set(PAPER_SETTINGS) == set(TASKS)


@pytest.mark.parametrize(
    ("dataset", "cell", "mean", "std"),
    [
        ("ccv", ("all-features", 1, "events"), 0.083, 0.019),
        ("ccv", ("sfmc", 100, "objects"), 0.925, 0.014),
        ("ccv", ("fssi", 10, "scenes"), 0.495, 0.019),
        ("nuswide", ("fsnm", 25, None), 0.103, 0.009),
        ("hmdb", ("fisher-score", 2, "facial"), 0.285, 0.021),
        ("hmdb", ("spec", 50, "body"), 0.357, 0.021),
        ("hmdb", ("sfmc", 5, "interaction"), 0.385, 0.018),
        ("humaneva", ("spec", 100, "S1"), 0.911, 0.022),
        ("humaneva", ("all-features", 1, "S2"), 0.819, 0.024),
    ],
)
def test_cells_read_off_the_page(dataset, cell, mean, std):
    found = {row[:3]: row[3:5] for row in published(dataset).rows()}
    assert found[cell] == (mean, std)


@pytest.mark.parametrize("dataset", TASKS)
def test_the_papers_method_leads_every_column_as_the_paper_says(dataset):
    top = (
        published(dataset)
        .group_by("labeled_percent", "task")
        .agg(pl.col("method").get(pl.col("mean").arg_max()))
    )
    assert set(top["method"]) == {"sfmc"}


def test_misprints_are_kept_and_noted():
    noted = pl.concat(published(name).with_columns(of=pl.lit(name)) for name in TASKS)
    noted = noted.filter(pl.col("note").is_not_null(), pl.col("task").is_not_null())
    assert set(noted.filter(of="humaneva")["note"]) == {"printed SEPC"}
    ccv = noted.filter(of="ccv")
    assert len(noted) == 6 + len(ccv)
    assert ccv.select("method", "labeled_percent", "mean", "std").rows() == [
        ("spec", 10.0, 0.0307, 0.023),
        ("all-features", 25.0, 0.486, 0.23),
        ("sfmc", 25.0, 0.904, 0.19),
    ]


def test_means_over_tasks():
    table = published("ccv").filter(method="spec", labeled_percent=10)
    row = table.row(by_predicate=pl.col("task").is_null(), named=True)
    assert row["mean"] == pytest.approx((0.0307 + 0.482 + 0.868) / 3)
    assert row["note"] == "events: printed 0.0307; 0.307 fits the row"
    assert row["std"] is None


@pytest.mark.parametrize("dataset", ["ccv", "hmdb"])
def test_tasks_have_the_names_of_the_data(dataset):
    assert set(task_names(TWINS[dataset](scale=0.1))) == set(TASKS[dataset].values())


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="dataset must be one of 'ccv'"):
        published("mnist")
