"""Readers of file formats, one file a family, by the ending of the name."""

from __future__ import annotations

from collections.abc import Set
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from cosift.datasets._formats.table import Table, TableError

__all__ = ["ENDINGS", "read"]

# Module and function of each; imported when needed, for each brings a library along.
_READERS: dict[tuple[str, ...], tuple[str, str, dict[str, Any]]] = {
    (".csv", ".csv.gz"): ("frames", "read_delimited", {"separators": ",;"}),
    (".tsv", ".tsv.gz", ".tab"): ("frames", "read_delimited", {"separators": "\t"}),
    (".parquet",): ("frames", "read_parquet", {}),
    (".arrow", ".feather", ".ipc"): ("frames", "read_arrow", {}),
    (".npy",): ("arrays", "read_npy", {}),
    (".npz",): ("arrays", "read_npz", {}),
    (".mat",): ("matlab", "read_matlab", {}),
    (".svmlight", ".libsvm", ".svm"): ("svmlight", "read_svmlight", {}),
    (".arff",): ("arff", "read_arff", {}),
    (".h5ad",): ("h5ad", "read_h5ad", {}),
}
ENDINGS = tuple(ending for endings in _READERS for ending in endings)


def read(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """Read a file by its ending.

    Parameters
    ----------
    path : Path
        A file, or a folder of Parquet files.
    wanted : set of str
        Columns that are to stand beside the features, where the file has them.
    ignored : set of str
        Columns that are to be left out.

    Returns
    -------
    Table
        Numbers in a matrix and what stands beside it.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise TableError(f"{path}: expected a file. Found a device or a pipe.")
    name = "folder.parquet" if path.is_dir() else path.name.lower()
    for endings, (module, function, options) in _READERS.items():
        if name.endswith(endings):
            reader = getattr(import_module(f"{__name__}.{module}"), function)
            table: Table = partial(reader, **options)(path, wanted, ignored)
            return table
    raise TableError(f"{path}: expected a name that ends in {', '.join(ENDINGS)}.")
