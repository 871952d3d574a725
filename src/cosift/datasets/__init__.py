"""Data to try the selectors on."""

from cosift.datasets.dataset import Dataset, Truth
from cosift.datasets.splits import LeakageWarning, Split, split
from cosift.datasets.synthetic import RelatedTasks, make_related_tasks

__all__ = [
    "Dataset",
    "LeakageWarning",
    "RelatedTasks",
    "Split",
    "Truth",
    "make_related_tasks",
    "split",
]
