"""Samples with their labels, tasks and groups, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cosift._typing import Indices, Matrix

__all__ = ["Dataset", "Truth"]

# Lists longer than this are cut short in print.
MANY = 12


@dataclass(frozen=True)
class Truth:
    """Which features matter, known of synthetic data only.

    Attributes
    ----------
    shared : ndarray of int
        Features that matter to every task, ascending.
    private : mapping of task id to ndarray of int
        Features that matter to one task alone, ascending.
    """

    shared: Indices
    private: Mapping[Any, Indices] = field(default_factory=dict)

    def of(self, task: Any) -> Indices:
        """All features that matter to one task, ascending."""
        return np.union1d(self.shared, self.private.get(task, np.empty(0, dtype=np.intp)))

    @property
    def all(self) -> Indices:
        """Features that matter to any task, ascending."""
        return np.unique(np.concatenate([self.shared, *self.private.values()]))


@dataclass(frozen=True, repr=False)
class Dataset:
    """What a selector is fitted to, ready for ``fit(data.X, data.y, data.tasks)``.

    Attributes
    ----------
    name : str
        A short name.
    X : ndarray, memory map or csr_array of shape (n, d)
        Samples. Sparse indices become 32-bit ones where these suffice.
    y : ndarray of shape (n,) or (n, t)
        Classes; or one 0/1 column a task, all tasks over the same samples.
    tasks : ndarray of shape (n,), optional
        Task of each sample, for one-dimensional y; without it there is one task.
    groups : ndarray of shape (n,), optional
        What a sample was cut from (a sequence, a subject): rows of one group resemble each other,
        so an honest split keeps them on one side.
    official_test : ndarray of bool, shape (n,), optional
        The test rows of the split that the data's authors published.
    feature_names : ndarray of str, shape (d,), optional
        Names of the columns of X.
    target_names : tuple of str
        Names of the columns of a two-dimensional y.
    truth : Truth, optional
        Which features matter, if that is known.
    provenance : mapping of str to str
        Where the data come from and what was done to them: source, files, settings, remarks.

    Examples
    --------
    >>> data = Dataset("tiny", np.eye(3), np.array(["a", "b", "a"]), provenance={"source": "made"})
    >>> data
    <Dataset tiny: 3 samples, 3 features, 1 task>
    >>> print(data.describe())
    tiny: 3 samples, 3 features, 1 task
      all samples: 3 samples, 2 classes: a 2, b 1
      source: made
    """

    name: str
    X: Matrix
    y: NDArray[Any]
    tasks: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    official_test: NDArray[np.bool_] | None = None
    feature_names: NDArray[np.str_] | None = None
    target_names: tuple[str, ...] = ()
    truth: Truth | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.X.ndim != 2:
            raise ValueError(f"X must have rows and columns. Got shape {self.X.shape}.")
        object.__setattr__(self, "X", _narrowed(self.X))
        n, d = self.X.shape
        of_samples = {
            "y": self.y,
            "tasks": self.tasks,
            "groups": self.groups,
            "official_test": self.official_test,
        }
        for name, values in of_samples.items():
            if values is not None and len(values) != n:
                raise ValueError(
                    f"{name} must have one entry for each of the {n} samples. Got {len(values)}."
                )
        if self.feature_names is not None and len(self.feature_names) != d:
            raise ValueError(
                f"feature_names must name each of the {d} features. Got {len(self.feature_names)}."
            )
        if self.y.ndim == 2 and self.tasks is not None:
            raise ValueError(
                "A two-dimensional y has one column a task: tasks must be None beside it."
            )
        if self.y.ndim == 2 and len(self.target_names) != self.y.shape[1]:
            raise ValueError(
                f"target_names must name each of the {self.y.shape[1]} columns of y. "
                f"Got {len(self.target_names)}."
            )

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        if self.y.ndim == 2:
            return int(self.y.shape[1])
        return 1 if self.tasks is None else len(np.unique(self.tasks))

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """Which entries of y are labels: not -1 and not missing, as for every selector."""
        return _labeled(self.y)

    @property
    def named_y(self) -> Any:
        """What selectors take as y: a frame if there are several columns, for errors to name."""
        if self.y.ndim == 1:
            return self.y
        import polars as pl

        return pl.DataFrame(self.y, schema=list(self.target_names))

    @property
    def class_sizes(self) -> list[dict[str, int]]:
        """How many samples are labelled with each class, for every task; "0" and "1" of columns.

        Examples
        --------
        >>> Dataset("tiny", np.eye(3), np.array(["a", "b", "a"])).class_sizes
        [{'a': 2, 'b': 1}]
        """
        if self.y.ndim == 2:
            return [_sizes(column) for column in np.asarray(self.y).T]
        if self.tasks is None:
            return [_sizes(self.y)]
        return [_sizes(self.y[self.tasks == task]) for task in np.unique(self.tasks)]

    def describe(self) -> str:
        """Tasks, classes and their sizes, groups and provenance, a line each."""
        lines = [f"{self.name}: {self._size()}"]
        lines += _cut([f"  {line}" for line in self._task_lines()], "tasks")
        if self.groups is not None:
            lines.append(f"  groups: {len(np.unique(self.groups))}")
        if self.official_test is not None:
            lines.append(f"  official split: {int(self.official_test.sum())} test samples")
        if self.truth is not None:
            private = sum(len(own) for own in self.truth.private.values())
            lines.append(f"  known to matter: {len(self.truth.shared)} shared, {private} private")
        lines += [f"  {key}: {value}" for key, value in self.provenance.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {self._size()}>"

    __str__ = describe

    def _size(self) -> str:
        n, d = self.X.shape
        density = ""
        if sp.issparse(self.X):
            density = f" ({self.X.nnz / max(1, n * d):.2%} stored)"
        plural = "" if self.n_tasks == 1 else "s"
        return f"{n} samples, {d} features{density}, {self.n_tasks} task{plural}"

    def _task_lines(self) -> list[str]:
        if self.y.ndim == 2:
            known = self.labeled.sum(axis=0)
            positive = (np.asarray(self.y) == 1).sum(axis=0)
            columns = zip(self.target_names, positive, known, strict=True)
            return [f"{name}: {ones} positive of {n}" for name, ones, n in columns]
        if self.tasks is None:
            return [f"all samples: {_classes(self.y)}"]
        return [f"{task}: {_classes(self.y[self.tasks == task])}" for task in np.unique(self.tasks)]


def _narrowed(X: Matrix) -> Matrix:
    """X with 32-bit indices where they suffice: liblinear takes no others."""
    if not (sp.issparse(X) and X.format == "csr" and X.indices.dtype == np.int64):
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array(parts, shape=X.shape)


def _labeled(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype == object:
        known = [value is not None and value == value and value != -1 for value in y.ravel()]
        return np.array(known, dtype=bool).reshape(y.shape)
    if y.dtype.kind not in "iuf":
        return np.ones(y.shape, dtype=bool)
    return np.asarray((y != -1) & (y == y))


def _sizes(y: NDArray[Any]) -> dict[str, int]:
    labels = y[_labeled(y)]
    labels = labels.astype(str) if y.dtype == object else labels
    names, counts = np.unique(labels, return_counts=True)
    form = ".15g" if labels.dtype.kind == "f" else ""
    return {f"{name:{form}}": int(n) for name, n in zip(names.tolist(), counts, strict=True)}


def _classes(y: NDArray[Any]) -> str:
    sizes = _sizes(y)
    parts = [f"{name} {count}" for name, count in sizes.items()]
    unlabeled = len(y) - sum(sizes.values())
    return f"{len(y)} samples, {len(sizes)} classes: {', '.join(_cut(parts, 'classes'))}" + (
        f"; {unlabeled} unlabelled" if unlabeled else ""
    )


def _cut(lines: list[str], what: str) -> list[str]:
    if len(lines) <= MANY:
        return lines
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return [*lines[: MANY - 1], f"{indent}... and {len(lines) - MANY + 1} more {what}"]
