"""NumPy's .npy and .npz, never unpickled and never larger than they say."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Set
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from cosift._typing import Matrix
from cosift.datasets._formats.table import (
    Table,
    TableError,
    as_numbers,
    check_size,
    listed,
    parsing,
    take_columns,
)

__all__ = ["from_arrays", "load_npy", "load_npz", "read_npy", "read_npz"]

# Names of the feature matrix, in this order; without them it is the only matrix there is.
MATRICES = ("X", "fea", "data")
NAMES = "feature_names"


def read_npy(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """One matrix, whose columns are called by their numbers from 0."""
    X = load_npy(path)
    if X.ndim != 2:
        raise TableError(f"{path}: expected a matrix. Found an array of shape {X.shape}.")
    X = as_numbers(path, X, "the array")
    return take_columns(X, [str(j) for j in range(X.shape[1])], wanted, ignored)


def read_npz(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """Named arrays: a matrix of features and what has one entry a row."""
    arrays = load_npz(path, ignored)
    with zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    return from_arrays(path, arrays, wanted, ignored & names)


def load_npy(path: Path) -> NDArray[Any]:
    """One array of any shape."""
    with parsing(path, ".npy"), path.open("rb") as file:
        return _array(path, file, path.stat().st_size, "the array")


def load_npz(path: Path, ignored: Set[str] = frozenset()) -> dict[str, NDArray[Any]]:
    """Arrays of any shapes by name."""
    arrays = {}
    with parsing(path, ".npz"), zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        check_size(path, sum(info.file_size for info in members))
        for info in members:
            name = info.filename.removesuffix(".npy")
            if name not in ignored:
                with archive.open(info) as file:
                    arrays[name] = _array(path, file, info.file_size, f"array {name!r}")
    return arrays


def _array(path: Path, file: Any, size: int, what: str) -> NDArray[Any]:
    """Read an array whose header agrees with the bytes that are there."""
    shape, by_columns, dtype = _header(path, file, what)
    if dtype.hasobject:
        raise TableError(
            f"{path}: {what} holds Python objects, which only unpickling could read, and that "
            "can run any code. Save text as text: array.astype(str)."
        )
    promised, found = prod(shape) * dtype.itemsize, size - file.tell()
    if promised != found:
        raise TableError(
            f"{path}: {what} should have {promised} bytes by its header, shape {shape} of "
            f"{dtype}. Found {found}."
        )
    check_size(path, found)
    buffer = bytearray(found)
    if file.readinto(buffer) != found:
        raise TableError(f"{path}: {what} ends early.")
    order: Any = "F" if by_columns else "C"
    return np.frombuffer(buffer, dtype=dtype).reshape(shape, order=order)


def _header(path: Path, file: BinaryIO, what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    if version == (1, 0):
        return npy.read_array_header_1_0(file)
    if version == (2, 0):
        return npy.read_array_header_2_0(file)
    raise TableError(f"{path}: {what} must have version 1 or 2 of the format. Found {version}.")


def from_arrays(
    path: Path, arrays: Mapping[str, Matrix], wanted: Set[str], left_out: Set[str]
) -> Table:
    """Tell the feature matrix from what stands beside it.

    Parameters
    ----------
    path : Path
        Where they come from.
    arrays : mapping of str to array
        Dense or sparse, of any shapes.
    wanted : set of str
        Arrays that have a role other than the features.
    left_out : set of str
        Arrays that are there and ignored, and not among these.

    Returns
    -------
    Table
        The features, and beside them what has one entry, or one row of entries, for each of theirs.
    """
    free = [name for name in arrays if name not in wanted]
    matrices = [name for name in free if arrays[name].ndim == 2 and arrays[name].shape[1] > 1]
    chosen = [name for name in MATRICES if name in matrices][:1] or matrices
    if len(chosen) != 1:
        shapes = [f"{name} {arrays[name].shape}" for name in arrays]
        raise TableError(
            f"{path}: expected one matrix of features, called {', '.join(MATRICES)} or else the "
            f"only one. Found {listed(shapes)}."
        )
    X = as_numbers(path, arrays[chosen[0]], f"array {chosen[0]!r}")
    n, d = X.shape
    names = None
    if NAMES in arrays and arrays[NAMES].shape == (d,):
        names = arrays[NAMES].astype(str).tolist()
    columns = {}
    for name in set(arrays) - set(chosen):
        column = _flat(arrays[name])
        if len(column) == n:
            columns[name] = column
        elif name in wanted:
            raise TableError(
                f"{path}: array {name!r} must have one entry for each of the {n} rows of "
                f"{chosen[0]!r}. Found shape {arrays[name].shape}."
            )
    return Table(X, names, columns, left_out=left_out)


def _flat(values: Matrix) -> NDArray[Any]:
    """One entry a row; a matrix of several columns stays one."""
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    is_vector = dense.size == max(dense.shape, default=1)
    return dense.ravel() if is_vector else dense
