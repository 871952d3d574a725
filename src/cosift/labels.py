"""From ``(y, tasks)`` to one block of labels a task, and what counts as unlabelled.

A one-dimensional ``y`` holds class labels, and ``tasks`` says whose they are: tasks own disjoint
rows of X and have classes, one-hot encoded, of their own.  A two-dimensional ``y`` annotates all
samples for several yes/no questions: every column is a task over the same rows, with one
coefficient column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Task", "read_tasks"]


@dataclass(frozen=True)
class Task:
    """The labels of one task with ``n_l`` samples and ``c_l`` coefficient columns.

    Attributes
    ----------
    name : object
        The task's id or column name, as the user gave it; 0 if there is but one unnamed task.
    rows : ndarray of intp, shape (n_l,)
        Rows of X that belong to the task, ascending.
    classes : ndarray
        The task's classes in sorted order.  Strings are a NumPy ``str`` array, numbers and
        booleans keep their dtype.
    Y : ndarray of float64, shape (n_l, c_l)
        1 where a labelled row has the class; rows of zeros where unlabelled.
    labeled : ndarray of bool, shape (n_l,)
        Which of the task's rows are labelled.
    """

    name: object
    rows: NDArray[np.intp]
    classes: NDArray[Any]
    Y: NDArray[np.float64]
    labeled: NDArray[np.bool_]


def read_tasks(y: Any, tasks: Any = None, *, unlabeled: Any = -1, n_samples: int) -> list[Task]:
    """Split labels into tasks and encode them.

    Parameters
    ----------
    y : array-like of shape (n,) or (n, t)
        Class labels (numbers or strings), or one 0/1 column a task.  Lists, arrays, SciPy sparse
        matrices (two-dimensional, every entry labelled), pandas and polars objects.
    tasks : array-like of shape (n,), optional
        One task id a sample, numbers or strings; None is one task.  Only for one-dimensional y.
    unlabeled : number, string or None, default=-1
        The label that means "unlabelled".  Missing values (NaN, None, NA, NaT) always do.
    n_samples : int
        How many samples X has.

    Returns
    -------
    list of Task
        In sorted order of their ids, or in the order of the columns.

    Raises
    ------
    ValueError
        If y or tasks cannot be read so, or a task has fewer than two labelled classes.

    Examples
    --------
    >>> for task in read_tasks(["cat", "dog", None, "up", "down"], [1, 1, 1, 2, 2], n_samples=5):
    ...     print(task.name, task.rows, task.classes, task.labeled)
    1 [0 1 2] ['cat' 'dog'] [ True  True False]
    2 [3 4] ['down' 'up'] [ True  True]
    """
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if not (unlabeled is None or isinstance(unlabeled, (Real, str, np.bool_))):
        raise ValueError(f"unlabeled must be a number, a string or None. Got {unlabeled!r}.")
    y = _with_shape(y)
    if len(y.shape) not in (1, 2):
        raise ValueError(f"y must be one- or two-dimensional. Got shape {y.shape}.")
    _check_length("y", y, n_samples)
    if len(y.shape) == 1:
        return _read_classes(y, tasks, unlabeled)
    if tasks is not None:
        raise ValueError(
            "tasks cannot be combined with a two-dimensional y, whose columns are tasks already. "
            f"Got y of shape {y.shape}; pass a one-dimensional y, or leave tasks out."
        )
    return _read_annotations(y, unlabeled)


def _read_classes(y: Any, tasks: Any, unlabeled: Any) -> list[Task]:
    column = _read_column(y, "y", unlabeled)
    _refuse_continuous(column.values)
    classes, codes = np.unique(column.values, return_inverse=True)
    code_of = np.full(len(column.labeled), -1)
    code_of[column.labeled] = codes
    result = []
    for name, rows in _rows_by_task(tasks, len(code_of)):
        labeled = column.labeled[rows]
        present, which = np.unique(code_of[rows][labeled], return_inverse=True)
        Y = np.zeros((len(rows), len(present)))
        Y[labeled.nonzero()[0], which] = 1.0
        result.append(Task(name, rows, classes[present], Y, labeled))
        where = "y" if tasks is None else f"task {name!r}"
        _check_two_classes(classes[present], where, unlabeled, bool(column.marked[rows].any()))
    return result


def _read_annotations(y: Any, unlabeled: Any) -> list[Task]:
    rows = np.arange(y.shape[0])
    result = []
    for name, entries in _columns(y):
        where = f"column {name!r} of y"
        column = _read_column(entries, where, unlabeled)
        values = np.unique(column.values)
        strange = [value for value in values.tolist() if value not in (0, 1)]
        if strange:
            advice = " For class labels, pass a one-dimensional y: y.ravel()."
            raise ValueError(
                f"A two-dimensional y must hold 0, 1 and, where unlabelled, {unlabeled!r} or "
                f"missing values. Got {strange[0]!r} in {where}." + advice * (y.shape[1] == 1)
            )
        Y = np.zeros((len(rows), 1))
        Y[column.labeled, 0] = column.values
        result.append(Task(name, rows, np.array([0, 1]), Y, column.labeled))
        _check_two_classes(values, where, unlabeled, bool(column.marked.any()))
    if not result:
        raise ValueError(f"y must have at least one column. Got shape {y.shape}.")
    return result


def _rows_by_task(tasks: Any, n_samples: int) -> Iterator[tuple[object, NDArray[np.intp]]]:
    if tasks is None:
        yield 0, np.arange(n_samples)
        return
    tasks = _with_shape(tasks)
    if len(tasks.shape) != 1:
        raise ValueError(f"tasks must be one-dimensional. Got shape {tasks.shape}.")
    _check_length("tasks", tasks, n_samples)
    column = _read_column(tasks, "tasks", None)
    missing = np.flatnonzero(~column.labeled)
    if len(missing):
        raise ValueError(
            f"tasks must name a task for every sample. Got {len(missing)} missing ids, "
            f"the first at row {missing[0]}; drop those samples, or give them a task."
        )
    ids, task_of, sizes = np.unique(column.values, return_inverse=True, return_counts=True)
    rows = np.argsort(task_of, kind="stable")
    yield from zip(ids.tolist(), np.split(rows, np.cumsum(sizes)[:-1]), strict=True)


class _Column(NamedTuple):
    """One column of labels, whatever it came in."""

    values: NDArray[Any]  # numbers or strings, of the labelled entries alone
    labeled: NDArray[np.bool_]
    marked: NDArray[np.bool_]  # unlabelled by the marker rather than by a missing value


def _read_column(entries: Any, what: str, unlabeled: Any) -> _Column:
    values, labeled = _without_missing(entries)
    is_marker = _equal(values, unlabeled)
    marked = np.zeros_like(labeled)
    marked[labeled] = is_marker
    values = _of_one_kind(values[~is_marker], what)
    # np.array(["cat", "dog", -1]) holds the string "-1": no class the caller meant.
    if isinstance(unlabeled, Real) and _equal(values, str(unlabeled)).any():
        raise ValueError(
            f"{what} holds the string {str(unlabeled)!r}, but unlabeled is the number "
            f"{unlabeled!r}. Pass unlabeled={str(unlabeled)!r} if it means unlabelled there, or "
            f"another marker if it is a class."
        )
    return _Column(values, labeled & ~marked, marked)


def _without_missing(entries: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the entries that are not missing, and where they are."""
    # pandas and polars know their own missing values; without them, nullable columns keep
    # their dtype. Neither library need be installed, so they are told by what they can do.
    for is_missing, drop in (("isna", "dropna"), ("is_null", "drop_nulls")):
        if hasattr(entries, drop):
            present = ~np.asarray(getattr(entries, is_missing)(), dtype=bool)
            values = np.asarray(getattr(entries, drop)())
            break
    else:
        values = np.asarray(entries)
        present = np.ones(len(values), dtype=bool)
    if values.dtype.kind == "T":  # NumPy's own string dtype may hold None or NaN
        values = values.astype(object)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind == "O":
        missing = np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))
    else:
        return values, present
    present[present] = ~missing
    return values[~missing], present


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.generic)) and bool(value != value)


def _equal(values: NDArray[Any], marker: Any) -> NDArray[np.bool_]:
    """Compare as Python does: a number never equals a string."""
    comparable = values.dtype.kind == "O" or (values.dtype.kind == "U") == isinstance(marker, str)
    if marker is None or not comparable:
        return np.zeros(len(values), dtype=bool)
    return np.asarray(values == marker, dtype=bool)


def _of_one_kind(values: NDArray[Any], what: str) -> NDArray[Any]:
    """Return a numeric, boolean or ``str`` array, or say why there is none."""
    if values.dtype.kind == "O" and len(values):
        example_of = {_kind(value): value for value in reversed(values)}
        if set(example_of) == {"numbers", "strings"}:
            raise ValueError(
                f"{what} must hold either numbers or strings. Got both: "
                f"{example_of['numbers']!r} and {example_of['strings']!r}."
            )
        if "others" in example_of:
            example = example_of["others"]
            raise ValueError(
                f"{what} must hold numbers or strings. Got {example!r} of type "
                f"{type(example).__name__}; convert such entries to strings."
            )
        values = np.array(values.tolist())
    if len(values) and values.dtype.kind not in "biufU":
        raise ValueError(
            f"{what} must hold numbers or strings. Got dtype {values.dtype}; convert to strings."
        )
    return values


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "strings"
    return "numbers" if isinstance(value, (Real, np.bool_)) else "others"


def _refuse_continuous(values: NDArray[Any]) -> None:
    if values.dtype.kind != "f":
        return
    if np.isinf(values).any():
        raise ValueError("Input y contains infinity; class labels must be finite.")
    fractions = values[values != np.floor(values)]
    if len(fractions):
        raise ValueError(
            f"Unknown label type: continuous. y must hold class labels. Got {fractions[0]}; "
            "bin a continuous target into classes first."
        )


def _check_two_classes(classes: NDArray[Any], where: str, unlabeled: Any, marked: bool) -> None:
    if len(classes) >= 2:
        return
    if len(classes) == 0:
        raise ValueError(
            f"{where} has no labelled sample: every entry is missing"
            + (f" or {unlabeled!r}, which means unlabelled (see unlabeled=)." if marked else ".")
            + " At least one sample of each of two classes is needed."
        )
    message = (
        f"{where} must have at least two classes among its labelled samples. "
        f"Got one class only: {classes.tolist()[0]!r}."
    )
    if marked:
        message += (
            f" {unlabeled!r} means unlabelled; if it is a class here, pass unlabeled=None "
            "(then only missing values are unlabelled) or another marker."
        )
    raise ValueError(message)


def _columns(y: Any) -> Iterator[tuple[object, Any]]:
    """Walk over the named columns of a two-dimensional y."""
    if sp.issparse(y):
        by_column = sp.csc_array(y)
        return ((j, by_column[:, [j]].toarray().ravel()) for j in range(y.shape[1]))
    if hasattr(y, "iter_columns"):  # polars
        return ((column.name, column) for column in y.iter_columns())
    if hasattr(y, "items"):  # pandas
        return iter(y.items())
    return enumerate(np.asarray(y).T)


def _with_shape(values: Any) -> Any:
    if hasattr(values, "shape"):
        return values
    if hasattr(values, "__array__"):
        return np.asarray(values)
    # As objects: NumPy would otherwise turn the numbers of a mixed list into strings.
    return np.array(values, dtype=object)


def _check_length(name: str, values: Any, n_samples: int) -> None:
    if values.shape[0] != n_samples:
        raise ValueError(
            f"{name} must have one entry for each of the {n_samples} samples of X. "
            f"Got {values.shape[0]}."
        )
