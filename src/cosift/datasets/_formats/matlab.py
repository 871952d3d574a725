"""MATLAB's .mat: version 5 through SciPy, 7.3 through h5py."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cosift._typing import Matrix
from cosift.datasets._formats.arrays import from_arrays
from cosift.datasets._formats.table import Table, TableError, listed, parsing, rehearsed

__all__ = ["read_matlab"]

HDF5 = b"\x89HDF\r\n\x1a\n"
# Where HDF5 begins in a file of version 7.3.
OFFSET = 512
ADVICE = "Save matrices, vectors or text; or ignore it, if it is none of these."
# The task that a cell array of matrices makes of its cells.
CELL = "cell"


def read_matlab(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """Variables by name: a matrix of features and what has one entry a row.

    Cell arrays of one matrix and one vector of labels a task become one matrix and one vector;
    the column "cell" then says from which cell a row is, counted from 1.
    """
    with parsing(path, "MATLAB"), path.open("rb") as file:
        start = file.read(OFFSET + len(HDF5))
    if start.endswith(HDF5):
        arrays, left_out = _version_73(path, ignored)
        return from_arrays(path, arrays, wanted, left_out)
    arrays, left_out = _version_5(path, ignored)
    cells = {name: values for name, values in arrays.items() if values.dtype == object}
    if not cells:
        return from_arrays(path, arrays, wanted, left_out)
    sizes = {name: [len(cell) for cell in cells[name]] for name in cells}
    first = next(iter(cells))
    for name in cells:
        if sizes[name] != sizes[first]:
            raise TableError(
                f"{path}: cells must have as many rows in {name!r} as in {first!r}. "
                f"Found {sum(sizes[name])} and {sum(sizes[first])} in all."
            )
    for name in cells:
        arrays[name] = np.concatenate(list(cells[name]))
    arrays[CELL] = np.repeat(np.arange(1, len(sizes[first]) + 1), sizes[first])
    return from_arrays(path, arrays, wanted, left_out)


def _version_5(path: Path, ignored: Set[str]) -> tuple[dict[str, Any], Set[str]]:
    """Variables, and those ignored."""
    stored = rehearsed([path], "matlab", "MATLAB 5")
    arrays = {}
    for name, values in stored.items():
        if name.startswith("__") or name in ignored:
            continue
        if sp.issparse(values):
            with parsing(path, "MATLAB 5"):
                values = sp.csc_array(values)  # older SciPy makes it of coordinates
                values.check_format(full_check=True)
        elif isinstance(values, np.ndarray) and values.dtype == object:
            values = _cells(path, name, values.ravel())
        elif not isinstance(values, np.ndarray) or values.dtype.kind not in "biufcU":
            raise TableError(f"{path}: variable {name!r} is a structure or an object. {ADVICE}")
        arrays[name] = values
    return arrays, ignored & set(stored)


def _cells(path: Path, name: str, cells: NDArray[Any]) -> NDArray[Any]:
    """Cells of one text each as an array of text, and cells of matrices as they are."""
    kinds = {cell.dtype.kind if isinstance(cell, np.ndarray) else "O" for cell in cells}
    if kinds == {"U"} and all(cell.size <= 1 for cell in cells):
        return np.array([str(cell.item()) if cell.size else "" for cell in cells])
    if not kinds or not kinds <= set("biuf") or {cell.ndim for cell in cells} != {2}:
        raise TableError(
            f"{path}: variable {name!r} is a cell array of neither texts nor matrices. {ADVICE}"
        )
    if len({cell.shape[1] for cell in cells}) != 1:
        raise TableError(
            f"{path}: the matrices in the cells of {name!r} must have the same number of columns. "
            f"Found {listed(sorted({cell.shape[1] for cell in cells}))}."
        )
    return cells


def _version_73(path: Path, ignored: Set[str]) -> tuple[dict[str, Matrix], Set[str]]:
    """Variables, and those ignored."""
    try:
        import h5py  # type: ignore[import-untyped] # noqa: F401
    except ImportError as error:
        raise TableError(
            f"{path} is a .mat file of version 7.3, which needs h5py: pip install cosift[formats]. "
            "Or save it by save(..., '-v7')."
        ) from error
    stored = rehearsed([path], "hdf5", "MATLAB 7.3")
    arrays = {
        name: _variable(path, name, item)
        for name, item in stored.items()
        if name and not name.startswith("#") and name not in ignored
    }
    return arrays, ignored & set(stored)


def _variable(path: Path, name: str, item: Any) -> Matrix:
    """A variable of version 7.3, which stores columns as rows and sparse matrices as groups."""
    problem = TableError(f"{path}: variable {name!r} is a cell array or an object. {ADVICE}")
    with parsing(path, "MATLAB 7.3"):
        if isinstance(item, dict):
            n_rows = item[""].get("MATLAB_sparse")
            if n_rows is None:
                raise problem
            (values, _), (rows, _), (starts, _) = (item[key] for key in ("data", "ir", "jc"))
            matrix = sp.csc_array((values, rows, starts), shape=(int(n_rows), len(starts) - 1))
            matrix.check_format(full_check=True)
            return matrix
        values, attributes = item
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
            raise problem
        if attributes.get("MATLAB_class") == b"char":
            return np.array(["".join(map(chr, row)).rstrip() for row in values.T])
        return values.T
