"""Data to try the selectors on."""

from cosift.datasets.dataset import Dataset, Truth
from cosift.datasets.splits import LeakageWarning, Split, split
from cosift.datasets.synthetic import RelatedTasks, make_related_tasks
from cosift.datasets.tables import TableError, read_table
from cosift.datasets.twins import (
    TWINS,
    make_ccv,
    make_hmdb,
    make_humaneva,
    make_nuswide,
    make_twin,
)

__all__ = [
    "TWINS",
    "Dataset",
    "LeakageWarning",
    "RelatedTasks",
    "Split",
    "TableError",
    "Truth",
    "make_ccv",
    "make_hmdb",
    "make_humaneva",
    "make_nuswide",
    "make_related_tasks",
    "make_twin",
    "read_table",
    "split",
]
