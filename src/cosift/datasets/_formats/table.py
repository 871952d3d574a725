"""What every reader returns, and the one error that all of them raise."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cosift._typing import Matrix
from cosift.datasets._formats.rehearsal import READERS, rehearse

__all__ = [
    "MEMORY",
    "Table",
    "TableError",
    "as_numbers",
    "check_size",
    "check_there",
    "checked",
    "listed",
    "parsing",
    "rehearsed",
    "take_columns",
]

# Bytes of this machine: a file that claims to hold more is broken, or meant to do harm.
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

# Characters of a library's own words; some of them print the whole file.
LONGEST_REASON = 200


class TableError(ValueError):
    """A file cannot be read as asked; the message says which, where and what would do."""


@dataclass
class Table:
    """A file taken apart.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, d)
        Numbers.
    names : list of str, optional
        Names of the columns of X.
    columns : dict of str to ndarray of shape (n,)
        What stands beside X, by name: numbers, strings, or objects with None where missing.
    labels : tuple of str
        The columns that the file itself says are targets.
    trailing_zeros : bool
        Whether columns of zeros at the end of X are left out, as SVMlight files do.
    left_out : set of str
        The columns that were there and are ignored.
    """

    X: Matrix
    names: list[str] | None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    trailing_zeros: bool = False
    left_out: Set[str] = frozenset()


@contextmanager
def parsing(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a library raises over a broken file into a TableError."""
    try:
        yield
    except TableError:
        raise
    except OSError as error:
        # Errors of the system say enough; those of libraries come without a number.
        if error.errno is not None:
            raise TableError(f"{path}: {error.strerror}.") from error
        raise _unreadable(path, what, error) from error
    except Exception as error:
        raise _unreadable(path, what, error) from error


def _unreadable(path: Path, what: str, error: Exception) -> TableError:
    lines = str(error).strip().splitlines()
    reason = lines[0][:LONGEST_REASON].rstrip(".") if lines else type(error).__name__
    return TableError(f"{path}: cannot be read as {what} ({reason}).")


def check_size(path: Path, size: int) -> None:
    """Refuse what would not fit into memory."""
    if size > MEMORY:
        raise TableError(
            f"{path}: expands to more than {MEMORY / 1e9:.0f} GB, the memory of this machine. "
            "Split it, or check where it comes from."
        )


def rehearsed(paths: Sequence[Path], kind: str, what: str) -> Any:
    """What a compiled library makes of files, after a child process has survived it."""
    where = paths[0] if len(paths) == 1 else paths[0].parent
    with parsing(where, what):
        size = sum(path.stat().st_size for path in paths)
    check_size(where, size)
    names = [str(path) for path in paths]
    if reason := rehearse(kind, names, size, MEMORY):
        raise _unreadable(where, what, ValueError(reason))
    with parsing(where, what):
        return READERS[kind](names)


def check_there(path: Path, wanted: Iterable[str], known: Sequence[str]) -> None:
    """Refuse names that no column has, and say which come near."""
    for name in wanted:
        if name not in known:
            close = get_close_matches(name, known, 1)
            raise TableError(
                f"{path}: no column {name!r}. "
                + (f"Did you mean {close[0]!r}? " if close else "")
                + (f"The columns are {listed(known)}." if known else "No column has a name.")
            )


def listed(names: Sequence[object], most: int = 8) -> str:
    """Names in quotes, cut short."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def as_numbers(path: Path, X: Matrix, what: str) -> Matrix:
    """X as floating point numbers, dense and in rows or csr."""
    if X.dtype.kind not in "biuf":
        raise TableError(f"{path}: {what} must hold real numbers. Found {X.dtype}.")
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    if sp.issparse(X):
        return sp.csr_array(X.astype(dtype))
    return np.ascontiguousarray(X, dtype=dtype)


def take_columns(X: Matrix, names: list[str], wanted: Set[str], ignored: Set[str]) -> Table:
    """Take columns out of a matrix: those wanted to stand beside it, those ignored for good."""
    out = [j for j, name in enumerate(names) if name in wanted or name in ignored]
    if not out:
        return Table(X, names)
    taken = {names[j]: X[:, [j]] for j in out if names[j] in wanted}
    columns = {
        name: (column.toarray() if sp.issparse(column) else column).ravel()
        for name, column in taken.items()
    }
    kept = np.setdiff1d(np.arange(len(names)), out)
    left_out = ignored & set(names)
    return Table(X[:, kept], [names[j] for j in kept], columns, left_out=left_out)


def checked(path: Path, table: Table) -> Table:
    """Refuse a table without rows, without features, or with gaps among them."""
    n, d = table.X.shape
    if n == 0 or d == 0:
        raise TableError(f"{path}: expected rows and features. Found {n} rows and {d} features.")
    is_sparse = sp.issparse(table.X)
    finite = np.isfinite(table.X.data if is_sparse else table.X)
    if not finite.all():
        where = ~finite
        if is_sparse:
            entries = table.X.tocoo()
            row, column = entries.row[where][0], entries.col[where][0]
        else:
            row, column = np.argwhere(where)[0]
        value = table.X[row, column]
        name = column if table.names is None else table.names[column]
        raise TableError(
            f"{path}: features must be present and finite. Found "
            f"{'no value' if np.isnan(value) else value} in row {row + 1}, column {str(name)!r} "
            f"({where.sum()} such values in all). Fill or drop these rows, or ignore the column."
        )
    return table
