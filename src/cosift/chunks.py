"""What one chunk of rows adds: all that is done where the chunk is, in plain NumPy.

A graph ties together rows of one chunk only, so the chunks' Gram matrices add up (see `gram`) and
none of them needs to see another's samples.  What travels to a chunk is a `Share` for every group
of tasks, what comes back is a `Gram` for each and every mu.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosift._typing import Array, Matrix
from cosift.gram import Gram
from cosift.labels import Task
from cosift.statistics import SemiSupervisedSamples, SupervisedSamples

# By group and mu.
Grams = dict[tuple[int, float], Gram]
# From a task and the labels of all tasks alike.
Sampler = Callable[[Task, Array], SemiSupervisedSamples | SupervisedSamples]
# From rows of X and the number of the first.
SamplerOf = Callable[[Matrix, int], Sampler]


@dataclass(frozen=True)
class Share:
    """What a chunk holds of a group of tasks; small, since it travels.

    Attributes
    ----------
    name : object
        The task's, for error messages.
    rows : slice or ndarray of int, shape (n,)
        Rows of the chunk.
    labeled : ndarray of int, shape (m,)
        Which of these are labelled.
    Y : ndarray of int8, shape (m, c)
        Their labels.
    """

    name: object
    rows: slice | NDArray[Any]
    labeled: NDArray[Any]
    Y: NDArray[np.int8]

    @classmethod
    def cut(cls, task: Task, Y: Array, first: int, stop: int) -> Share | None:
        """The share of rows ``first`` to ``stop``, if they have any."""
        start, end = np.searchsorted(task.rows, [first, stop]).tolist()
        if start == end:
            return None
        rows = _compact(task.rows[start:end] - first)
        together = int(rows[-1]) - int(rows[0]) == end - start - 1
        labeled = np.flatnonzero(task.labeled[start:end])
        return cls(
            task.name,
            slice(int(rows[0]), int(rows[-1]) + 1) if together else rows,
            _compact(labeled),
            Y[start:end][labeled].astype(np.int8),
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        rows = self.rows
        return rows.stop - rows.start if isinstance(rows, slice) else len(rows)

    def task(self) -> Task:
        """As a task over the chunk's rows."""
        rows = self.rows
        if isinstance(rows, slice):
            rows = np.arange(rows.start, rows.stop)
        labeled = np.zeros(self.size, dtype=bool)
        labeled[self.labeled] = True
        Y = np.zeros((self.size, self.Y.shape[1]))
        Y[self.labeled] = self.Y
        return Task(self.name, rows.astype(np.intp), np.empty(0), Y, labeled)


def grams(
    X: Array, first: int, shares: Mapping[int, Share], sampler_of: SamplerOf, mus: Sequence[float]
) -> Grams:
    """What a chunk adds to every group under every mu; its graphs are built once."""
    sampler = sampler_of(X, first)
    found = {}
    for group, share in shares.items():
        task = share.task()
        samples = sampler(task, task.Y)
        for mu in mus:
            found[group, mu] = samples.gram(mu)
    return found


def total(parts: Iterable[Grams]) -> Grams:
    """What several chunks add together."""
    found: Grams = {}
    for part in parts:
        for key, gram in part.items():
            found[key] = found[key] + gram if key in found else gram
    return found


def labels(
    X: Array, first: int, share: Share, sampler_of: SamplerOf, mu: float, W: Array, b: Array
) -> Array:
    """The learned labels of a chunk's share of a group."""
    task = share.task()
    return sampler_of(X, first)(task, task.Y).labels(mu, W, b)


def finite(X: NDArray[Any], block_info: Any = None) -> NDArray[Any]:
    """A chunk in floating point, refused if a number is missing or infinite."""
    values = X if X.dtype.kind == "f" else X.astype(np.float64)
    known = np.isfinite(values)
    if not known.all():
        (row, column), count = np.argwhere(~known)[0].tolist(), int((~known).sum())
        what = "NaN" if np.isnan(values[row, column]) else "infinity"
        if block_info:
            (first_row, _), (first_column, _) = block_info[0]["array-location"]
            row, column = row + first_row, column + first_column
        raise ValueError(
            f"Input X contains {what}. Missing or infinite numbers in this chunk: {count}, the "
            f"first at row {row}, column {column}. Fill them, or drop these rows or columns."
        )
    return values


def _compact(numbers: NDArray[np.intp]) -> NDArray[Any]:
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
