"""One draw of a dataset as methods and judges see it: numbers, scaled, labels hidden.

What may be looked at before the choice of weights is a `Training`, which does not hold the labels
that are hidden and knows nothing of the test rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from cosift._sharing import Kept
from cosift._typing import Indices, Matrix
from cosift.datasets import Dataset, Split, split
from cosift.experiment.plan import Plan

__all__ = ["HIDDEN", "Draw", "Training", "child_seed", "draw", "task_names", "true_features"]

HIDDEN = -1


@dataclass(frozen=True)
class Training:
    """Training rows with some labels shown.

    Attributes
    ----------
    X : array or csr_array of shape (n, d)
        Samples.
    y : ndarray of int, shape (n,) or (n, t)
        Codes of the classes, or 0/1, and `HIDDEN`.
    tasks : ndarray of int, shape (n,), optional
        Position of each sample's task.
    groups : ndarray of int, shape (n,), optional
        Code of each sample's group.
    n_tasks : int
        Number of tasks.
    """

    X: Matrix
    y: NDArray[np.int64]
    tasks: Indices | None
    groups: Indices | None
    n_tasks: int

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """Which rows show their labels."""
        shown = self.y != HIDDEN
        return np.asarray(shown if shown.ndim == 1 else shown.all(axis=1))

    def hide(self, rows: Indices) -> Training:
        """The same rows with fewer labels."""
        y = self.y.copy()
        y[rows] = HIDDEN
        return Training(self.X, y, self.tasks, self.groups, self.n_tasks)

    def of_task(self, task: int, rows: Indices) -> tuple[Matrix, NDArray[np.int64]]:
        """Samples and labels of those rows that belong to a task."""
        return _of_task(self.X, self.y, self.tasks, task, rows)


@dataclass(frozen=True)
class Draw:
    """Training and test rows of one repeat.

    Attributes
    ----------
    split : Split
        Which rows are where.
    kept : Kept
        The graphs of the training rows, once a unit has needed them.
    """

    data: Dataset
    split: Split
    scaling: str
    kept: Kept = field(default_factory=Kept, repr=False, compare=False)

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        y = np.asarray(self.data.y)
        if y.ndim == 2:
            return y.astype(np.int64)
        return np.unique(y.astype(str) if y.dtype == object else y, return_inverse=True)[1]

    @cached_property
    def _tasks(self) -> Indices | None:
        return _coded(self.data.tasks)

    @cached_property
    def _scaler(self) -> StandardScaler | None:
        if self.scaling == "none":
            return None
        X = _rows(self.data.X, self.split.train)
        return StandardScaler(with_mean=not sp.issparse(X)).fit(X)

    def _samples(self, rows: Indices) -> Matrix:
        X = _rows(self.data.X, rows)
        return X if self._scaler is None else self._scaler.transform(X)

    def training(self, percent: float) -> Training:
        """The training rows, with a percentage of the labels."""
        rows = self.split.train
        y = self._codes[rows]
        y[~self.split.labeled(percent / 100.0)] = HIDDEN
        tasks = None if self._tasks is None else self._tasks[rows]
        groups = _coded(self.data.groups)
        groups = None if groups is None else groups[rows]
        return Training(self._samples(rows), y, tasks, groups, self.data.n_tasks)

    def test(self, task: int) -> tuple[Matrix, NDArray[np.int64]]:
        """Samples and labels of the test rows of a task."""
        X, y, tasks = self._test
        return _of_task(X, y, tasks, task, np.arange(len(y)))

    @cached_property
    def _test(self) -> tuple[Matrix, NDArray[np.int64], Indices | None]:
        rows = self.split.test
        tasks = None if self._tasks is None else self._tasks[rows]
        return self._samples(rows), self._codes[rows], tasks


def draw(data: Dataset, plan: Plan, repeat: int) -> Draw:
    """The draw of one repeat: the same for every method and every share of labels.

    Examples
    --------
    >>> data = Dataset("tiny", np.eye(8), np.arange(8) % 2)
    >>> plan = Plan.of(data, ["fisher-score"])
    >>> draw(data, plan, 0).training(50).y.tolist().count(HIDDEN)
    2
    """
    seed = child_seed(plan.seed, repeat)
    return Draw(data, split(data, plan.n_train, by=plan.split, seed=seed), plan.scaling)


def child_seed(*path: int) -> int:
    """A seed for one purpose, unrelated to those for others."""
    return int(np.random.SeedSequence(path).generate_state(1)[0])


def task_names(data: Dataset) -> list[str]:
    """Names of the tasks, in the order in which selectors and results have them.

    Examples
    --------
    >>> task_names(Dataset("tiny", np.eye(2), np.array([0, 1])))
    ['all']
    """
    if data.y.ndim == 2:
        return list(data.target_names)
    return ["all"] if data.tasks is None else [str(task) for task in np.unique(data.tasks)]


def true_features(data: Dataset, task: int) -> NDArray[np.intp]:
    """Features known to matter to the task at a position."""
    if data.truth is None:
        return np.empty(0, dtype=np.intp)
    if data.y.ndim == 2:
        return data.truth.of(data.target_names[task])
    return data.truth.all if data.tasks is None else data.truth.of(np.unique(data.tasks)[task])


def _rows(X: Matrix, rows: Indices) -> Matrix:
    return X.tocsr()[rows] if sp.issparse(X) else np.asarray(X[rows])


def _coded(values: NDArray[np.generic] | None) -> Indices | None:
    return None if values is None else np.unique(values, return_inverse=True)[1]


def _of_task(
    X: Matrix, y: NDArray[np.int64], tasks: Indices | None, task: int, rows: Indices
) -> tuple[Matrix, NDArray[np.int64]]:
    if y.ndim == 1 and tasks is not None:
        rows = rows[tasks[rows] == task]
    own = y[rows] if y.ndim == 1 else y[rows, task]
    # Tasks over the same rows share them.
    return (X if len(rows) == X.shape[0] else X[rows]), own
