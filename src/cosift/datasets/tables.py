"""A table of one's own, in any common format, as a Dataset."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cosift.datasets._formats import ENDINGS, read
from cosift.datasets._formats.table import Table, TableError, check_there, checked, listed
from cosift.datasets.dataset import Dataset

__all__ = ["TableError", "read_table", "scan_parquet"]

# Whole numbers below this have a floating point number each.
EXACT = 2.0**53

FileName = str | PathLike[str]


def read_table(
    path: FileName | Sequence[FileName],
    *,
    target: str | int | Sequence[str | int] | None = None,
    task: str | int | None = None,
    group: str | int | None = None,
    ignore: Collection[str | int] = (),
) -> Dataset:
    r"""Read samples, labels, tasks and groups from a file by the names of columns.

    Whatever has no role is a feature, and features are numbers, all of them present.  The format
    goes by the ending of the name; docs/data.md says what each calls its columns.

    Parameters
    ----------
    path : path or sequence of paths
        A file, or a folder of Parquet files.  Of several files with the same features each is a
        task, named as the file is without its ending; if there is a task column or are several
        targets, their rows are simply joined.
    target : str, int or sequence of these, optional
        The column of classes, or several columns of 0 and 1, each of them a task of its own.
        A missing value means unlabelled.  Not needed if the file itself says what its labels are,
        as SVMlight does, and ARFF with an XML file of labels.
    task : str or int, optional
        The column that says which task a sample belongs to.
    group : str or int, optional
        The column that says what a sample was cut from, see `cosift.datasets.split`.
    ignore : collection of str or int, default=()
        Columns to leave out.

    Returns
    -------
    Dataset
        Sparse formats as csr arrays, others dense.

    Raises
    ------
    TableError
        A ValueError that names the file and says what was expected and what was found.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> text = "size,weight,person,kind\n1,5,Ann,cat\n2,6,Ann,dog\n1,4,Bob,cat\n3,7,Bob,\n"
    >>> _ = (folder / "pets.csv").write_text(text)
    >>> data = read_table(folder / "pets.csv", target="kind", task="person")
    >>> data
    <Dataset pets: 4 samples, 2 features, 2 tasks>
    >>> print(data.feature_names, data.y)
    ['size' 'weight'] ['cat' 'dog' 'cat' None]
    """
    paths = _paths(path)
    targets, roles = _roles(target, task, group)
    ignored = {*map(str, ignore)}
    tables = [checked(name, read(name, roles, ignored)) for name in paths]
    return _assembled(paths, tables, targets, task, group, ignored - roles)


def scan_parquet(
    path: FileName,
    *,
    target: str | int | Sequence[str | int] | None = None,
    task: str | int | None = None,
    group: str | int | None = None,
    ignore: Collection[str | int] = (),
    rows: int = 20_000,
) -> Dataset:
    """Like `read_table`, but X is a Dask array whose chunks are read when they are computed.

    Needs the extra: ``pip install cosift[dask]``.

    Parameters
    ----------
    path : path
        A Parquet file, or a folder of them that hold the rows of one table. Workers on other
        machines must find it under the same name.
    target, task, group, ignore
        As in `read_table`. These columns are read at once.
    rows : int, default=20000
        Rows of a chunk at most. No chunk has rows of two files.

    Returns
    -------
    Dataset
        With X in single precision if all features are, else in double.

    Raises
    ------
    TableError
        A ValueError that names the file and says what was expected and what was found.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import polars as pl
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> frame = pl.DataFrame({"size": [1.0, 2.0, 3.0], "kind": ["cat", "dog", "cat"]})
    >>> frame.write_parquet(folder / "pets.parquet")
    >>> data = scan_parquet(folder, target="kind", rows=2)
    >>> data.X.chunks, data.y
    (((2, 1), (1,)), array(['cat', 'dog', 'cat'], dtype='<U3'))
    """
    where = Path(path)
    targets, roles = _roles(target, task, group)
    ignored = {*map(str, ignore)}
    scan = import_module("cosift.datasets._formats.parquet").scan
    table = scan(where, roles, ignored, rows)
    data = _assembled([where], [table], targets, task, group, ignored - roles)
    sizes = data.X.chunks[0]
    chunks = f"{len(sizes)} of at most {max(sizes)} rows; neighbours are sought within a chunk"
    return replace(data, provenance={**data.provenance, "chunks": chunks})


def _assembled(
    paths: list[Path],
    tables: list[Table],
    targets: tuple[str, ...],
    task: str | int | None,
    group: str | int | None,
    ignored: set[str],
) -> Dataset:
    """Tables as one dataset."""
    where = paths[0]
    for name in ignored.difference(*(table.left_out for table in tables)):
        check_there(where, [name], [*(tables[0].names or ()), *tables[0].columns])
    table, file_of = _join(paths, tables)
    declared = tuple(name for name in table.labels if name not in ignored)
    y, target_names = _labels(where, table, targets or declared)
    tasks = None if task is None else _ids(where, table, "task", str(task))
    if len(paths) > 1 and task is None and y.ndim == 1:
        tasks = np.array([_stem(name) for name in paths])[file_of]
    if tasks is not None and y.ndim == 2:
        raise TableError(f"{where}: task is for one target. Found the targets {listed(targets)}.")
    return Dataset(
        name=_stem(where) if len(paths) == 1 else paths[0].resolve().parent.name,
        X=table.X,
        y=y,
        tasks=tasks,
        groups=None if group is None else _ids(where, table, "group", str(group)),
        feature_names=None if table.names is None else np.array(table.names, dtype=str),
        target_names=target_names,
        provenance={"source": ", ".join(map(str, paths))},
    )


def _paths(path: FileName | Sequence[FileName]) -> list[Path]:
    paths = [Path(path)] if isinstance(path, (str, PathLike)) else [Path(one) for one in path]
    if not paths:
        raise TableError("path must name at least one file. Got none.")
    stems = [_stem(one) for one in paths]
    if len(set(stems)) < len(stems):
        raise TableError(f"Several files must have different names. Found {listed(stems)}.")
    return paths


def _stem(path: Path) -> str:
    ending = next((end for end in ENDINGS[::-1] if path.name.lower().endswith(end)), "")
    return path.name[: len(path.name) - len(ending)]


def _roles(
    target: str | int | Sequence[str | int] | None, task: str | int | None, group: str | int | None
) -> tuple[tuple[str, ...], set[str]]:
    """Names of the targets, and of all columns that have a role."""
    targets = _names(target)
    for what, role in (("task", task), ("group", group)):
        if role is not None and str(role) in targets:
            raise TableError(
                f"{str(role)!r} cannot be the target and the {what} as well: every {what} would "
                "have one class only."
            )
    return targets, {*targets, *_names(task), *_names(group)}


def _names(role: str | int | Sequence[str | int] | None) -> tuple[str, ...]:
    if role is None:
        return ()
    return (str(role),) if isinstance(role, (str, int)) else tuple(map(str, role))


def _join(paths: list[Path], tables: list[Table]) -> tuple[Table, NDArray[np.intp]]:
    """Tables below each other, and the number of the one each row comes from."""
    first = tables[0]
    file_of = np.repeat(np.arange(len(tables)), [table.X.shape[0] for table in tables])
    if first.trailing_zeros:
        _widen(tables)
    if len(tables) > 1:
        for path, table in zip(paths, tables, strict=True):
            _check_same_features(paths[0], first, path, table)
            if table.names is not None and table.names != first.names:
                order = {name: j for j, name in enumerate(table.names)}
                table.X = table.X[:, [order[name] for name in first.names or ()]]
        stack = sp.vstack if sp.issparse(first.X) else np.concatenate
        shared = set.intersection(*(set(table.columns) for table in tables))
        columns = {name: _concatenated([t.columns[name] for t in tables]) for name in shared}
        X = stack([table.X for table in tables])
        first = Table(sp.csr_array(X) if sp.issparse(X) else X, first.names, columns, first.labels)
    if tables[0].trailing_zeros:
        first = checked(paths[0], _without_zero(first))
    return first, file_of


def _concatenated(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Columns below each other; numbers in one file and text in another are all text."""
    if len({part.dtype.kind in "OSU" for part in parts}) > 1:
        parts = [np.array([None if v != v else str(v) for v in part.tolist()]) for part in parts]
    return np.concatenate(parts)


def _widen(tables: list[Table]) -> None:
    widest = max(tables, key=lambda table: table.X.shape[1])
    for table in tables:
        table.X.resize(table.X.shape[0], widest.X.shape[1])
        table.names = widest.names


def _without_zero(table: Table) -> Table:
    """Feature 0 only where somebody counts from 0."""
    if table.names and table.names[0] == "0" and table.X[:, [0]].nnz == 0:
        table.X, table.names = table.X[:, 1:], table.names[1:]
    return table


def _check_same_features(path: Path, wanted: Table, other: Path, found: Table) -> None:
    if wanted.names is None or found.names is None:
        if wanted.X.shape[1] != found.X.shape[1]:
            raise TableError(
                f"{other}: expected {wanted.X.shape[1]} features, as in {path}. "
                f"Found {found.X.shape[1]}."
            )
        return
    in_wanted, in_found = set(wanted.names), set(found.names)
    missing = [name for name in wanted.names if name not in in_found]
    extra = [name for name in found.names if name not in in_wanted]
    if missing or extra:
        raise TableError(
            f"{other}: expected the features of {path}."
            + (f" Missing: {listed(missing)}." if missing else "")
            + (f" Not there: {listed(extra)}." if extra else "")
        )


def _labels(
    path: Path, table: Table, targets: Sequence[str]
) -> tuple[NDArray[Any], tuple[str, ...]]:
    """One column of classes, or one of 0 and 1 for each task."""
    if not targets:
        known = [*table.columns, *(table.names or ())]
        raise TableError(f"{path}: target must name a column. The columns are {listed(known)}.")
    check_there(path, targets, [*table.columns, *(table.names or ())])
    columns = [table.columns[name] for name in targets]
    if len(columns) == 1 and columns[0].ndim == 1:
        return _plus_minus(_whole(columns[0])), ()
    names = [
        f"{name}[{j}]" if column.ndim == 2 else name
        for name, column in zip(targets, columns, strict=True)
        for j in range(column.shape[1] if column.ndim == 2 else 1)
    ]
    Y = np.column_stack([_yes_or_no(path, n, c) for n, c in zip(targets, columns, strict=True)])
    return (Y if np.isnan(Y).any() else Y.astype(np.int8)), tuple(names)


def _whole(column: NDArray[Any]) -> NDArray[Any]:
    """Classes that a format could store only as floating point as the whole numbers they are."""
    if column.dtype.kind == "f" and (np.abs(column) < EXACT).all() and (column % 1 == 0).all():
        return column.astype(np.int64)
    return column


def _plus_minus(column: NDArray[Any]) -> NDArray[Any]:
    """Two classes 1 and -1 as 1 and 0: elsewhere -1 means unlabelled."""
    if column.dtype.kind not in "if" or set(np.unique(column[column == column])) != {-1, 1}:
        return column
    return np.where(column == -1, 0, column)


def _yes_or_no(path: Path, name: str, column: NDArray[Any]) -> NDArray[np.float64]:
    if column.dtype.kind in "biuf":
        values = column.astype(np.float64)
        strange = values[~np.isin(values, (0, 1)) & ~np.isnan(values)]
        if not strange.size:
            return values
    else:
        strange = column[column != None]  # noqa: E711 (elementwise)
    raise TableError(
        f"{path}: each of several targets must hold 0 and 1, or nothing where unlabelled. "
        f"Found {strange.ravel()[0]!s} in {name!r}."
    )


def _ids(path: Path, table: Table, role: str, name: str) -> NDArray[Any]:
    """A column of tasks or groups, in which nothing is missing."""
    check_there(path, [name], [*table.columns, *(table.names or ())])
    column = table.columns[name]
    if column.ndim != 1:
        raise TableError(f"{path}: the {role} must be one column. Found shape {column.shape}.")
    missing = np.array([value is None or value != value for value in column.tolist()])
    if missing.any():
        raise TableError(
            f"{path}: every row needs a {role}. Found none in row {np.argmax(missing) + 1}, "
            f"column {name!r}."
        )
    return _whole(column)
