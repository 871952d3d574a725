"""Data to try the selectors on."""

from cosift.datasets.ccv import load_ccv
from cosift.datasets.dataset import Dataset, Truth
from cosift.datasets.hmdb import Clip, hmdb_clips, load_hmdb
from cosift.datasets.humaneva import load_humaneva
from cosift.datasets.nuswide import load_nuswide
from cosift.datasets.splits import LeakageWarning, Split, split
from cosift.datasets.synthetic import RelatedTasks, make_related_tasks
from cosift.datasets.tables import TableError, read_table, scan_parquet
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
    "Clip",
    "Dataset",
    "LeakageWarning",
    "RelatedTasks",
    "Split",
    "TableError",
    "Truth",
    "hmdb_clips",
    "load_ccv",
    "load_hmdb",
    "load_humaneva",
    "load_nuswide",
    "make_ccv",
    "make_hmdb",
    "make_humaneva",
    "make_nuswide",
    "make_related_tasks",
    "make_twin",
    "read_table",
    "scan_parquet",
    "split",
]
