"""Who is trained on, who is tested, and whose labels are shown.

The paper draws n training samples at random, shows the labels of m% of them, and tests on all
others.  That is ``by="rows"``.  Where samples were cut from sequences it puts near-copies on both
sides; ``by="groups"`` keeps every group on one side, and ``by="official"`` keeps to the split that
the data's authors published.

Labels are shown along one random order, so that what is shown at 1% is shown at 5% too: only the
number of labels changes between shares, not the luck of the draw.  The order begins with one row
of every class of every task (for columns of 0/1, with rows that together have every column's 1,
and its 0).  A share too small for these shows them all the same, since no class can be learned
from no label.

A row that never had a label may be drawn for training, where it stays unlabelled, and is never
tested on.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosift._typing import Indices
from cosift.datasets.dataset import Dataset

__all__ = ["KINDS", "LeakageWarning", "Split", "split"]

KINDS = ("rows", "groups", "official")


class LeakageWarning(UserWarning):
    """Rows of one group stand on both sides of a split."""


@dataclass(frozen=True)
class Split:
    """One draw of a dataset.

    Attributes
    ----------
    train, test : ndarray of int
        Rows of the dataset, ascending; no row is in both.
    order : tuple of ndarray of int
        For each task (or once for columns of y) positions in ``train`` of the rows that have a
        label, in the order in which labels are shown.
    needed : tuple of int
        How many of each order are shown at least, so that every class is.
    """

    train: Indices
    test: Indices
    order: tuple[Indices, ...]
    needed: tuple[int, ...]

    def labeled(self, share: float) -> NDArray[np.bool_]:
        """Which rows of ``train`` show their labels, for a share above 0 and at most 1."""
        if not 0 < share <= 1:
            raise ValueError(f"share must be a number above 0 and at most 1. Got {share!r}.")
        shown = np.zeros(len(self.train), dtype=bool)
        for order, needed in zip(self.order, self.needed, strict=True):
            shown[order[: max(needed, round(share * len(order)))]] = True
        return shown


def split(data: Dataset, n_train: int | float, *, by: str = "rows", seed: int = 0) -> Split:
    """Draw training rows, each task in proportion to its size, and an order of their labels.

    Parameters
    ----------
    data : Dataset
        What to split.
    n_train : int or float
        Number of training rows of all tasks together, or their share if below 1.
    by : {"rows", "groups", "official"}, default="rows"
        "rows": at random, as the paper does; warns if ``data.groups`` says that rows resemble
        each other.  "groups": whole groups at random until they hold enough rows, which are drawn
        from them; no other row of theirs is tested on.  "official": rows that
        ``data.official_test`` leaves for training at random, tested on all that it names.
    seed : int, default=0
        The same seed gives the same split.

    Returns
    -------
    Split
        Training rows, test rows and the order of labels.

    Examples
    --------
    >>> data = Dataset("tiny", np.eye(8), np.arange(8) % 2)
    >>> draw = split(data, 4)
    >>> len(draw.train), len(draw.test), int(draw.labeled(0.5).sum())
    (4, 4, 2)
    """
    n = data.X.shape[0]
    if by not in KINDS:
        raise ValueError(f"by must be one of {', '.join(map(repr, KINDS))}. Got {by!r}.")
    wanted = round(n_train * n) if 0 < n_train < 1 else n_train
    if not 0 < wanted < n or wanted % 1:
        raise ValueError(
            f"n_train must be a share below 1, or a number of rows from 1 to {n - 1}. "
            f"Got {n_train!r}."
        )
    rng = np.random.default_rng(seed)
    # An entry of a column may be missing; the row still has others.
    usable = data.labeled if data.y.ndim == 1 else np.ones(n, dtype=bool)
    parts = list(_task_rows(data))
    quotas = _quotas(np.array([len(rows) for rows in parts]), int(wanted))
    train, test, needed = [], [], []
    for rows, quota in zip(parts, quotas, strict=True):
        pool, held_out = _sides(data, rows, usable, quota, by, rng)
        order, front = _covering_order(data.y[pool], usable[pool], rng)
        train.append(pool[order[: max(front, quota)]])
        needed.append(front)
        test.append(np.setdiff1d(pool, train[-1]) if held_out is None else held_out)
    if by == "rows" and data.groups is not None:
        _warn_of_leaks(data, np.concatenate(train), np.concatenate(test))
    rows, tested = np.sort(np.concatenate(train)), np.sort(np.concatenate(test))
    orders = tuple(np.searchsorted(rows, own[usable[own]]) for own in train)
    return Split(rows, tested[usable[tested]], orders, tuple(needed))


def _task_rows(data: Dataset) -> Iterator[Indices]:
    if data.tasks is None:
        yield np.arange(data.X.shape[0])
        return
    for task in np.unique(data.tasks):
        yield np.flatnonzero(data.tasks == task)


def _quotas(sizes: Indices, wanted: int) -> Indices:
    """Whole numbers in proportion to sizes that add up to what is wanted."""
    exact = sizes * (wanted / sizes.sum())
    quotas = np.floor(exact).astype(np.intp)
    short = wanted - int(quotas.sum())
    quotas[np.argsort(quotas - exact, kind="stable")[:short]] += 1
    return np.asarray(quotas)


def _sides(
    data: Dataset,
    rows: Indices,
    usable: NDArray[np.bool_],
    quota: int,
    by: str,
    rng: np.random.Generator,
) -> tuple[Indices, Indices | None]:
    """Rows of a task to draw training rows from, and those to test on if these are fixed."""
    if by == "rows":
        return rows, None
    if by == "official":
        if data.official_test is None:
            raise ValueError(f"by='official' needs an official split; {data.name} has none.")
        held_out = data.official_test[rows]
        if held_out.all():
            raise ValueError(
                "by='official': every task needs rows for training. The official split of "
                f"{data.name} leaves none in one."
            )
        return rows[~held_out], rows[held_out]
    if data.groups is None:
        raise ValueError(f"by='groups' needs groups of samples; {data.name} has none.")
    groups = data.groups[rows]
    if len(np.unique(groups)) < 2:
        raise ValueError(
            f"by='groups' needs at least two groups in every task; one task of {data.name} has "
            f"only {groups[0]!r}."
        )
    # Groups in the order in which an order of rows that covers the classes meets them.
    order, front = _covering_order(data.y[rows], usable[rows], rng)
    names, first, inverse = np.unique(groups[order], return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    sizes = np.bincount(inverse)[by_first]
    covering = len(np.unique(groups[order[:front]]))
    enough = int(np.searchsorted(np.cumsum(sizes), quota)) + 1
    count = min(max(covering, enough), len(names) - 1)
    inside = np.isin(groups, names[by_first[:count]])
    return rows[inside], rows[~inside]


def _covering_order(
    y: NDArray[Any], usable: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[Indices, int]:
    """A random order of rows that begins with all classes, and the length of that beginning."""
    order = rng.permutation(len(y))
    if y.ndim == 1:
        labeled = np.flatnonzero(usable[order])
        _, first = np.unique(y[order[labeled]].astype(str), return_index=True)
        front = np.sort(labeled[first])
    else:
        front = _cover(np.asarray(y)[order])
    rest = np.setdiff1d(np.arange(len(y)), front)
    return order[np.concatenate([front, rest])], len(front)


def _cover(Y: NDArray[Any]) -> Indices:
    """Rows, in order, each of which has a 1 or a 0 that no column had before."""
    seen = np.concatenate([Y == 1, Y == 0], axis=1)
    first = np.unique(seen.argmax(axis=0)[seen.any(axis=0)])
    return np.asarray(first, dtype=np.intp)


def _warn_of_leaks(data: Dataset, train: Indices, test: Indices) -> None:
    assert data.groups is not None
    both = np.intersect1d(data.groups[train], data.groups[test])
    if both.size:
        warnings.warn(
            f"{len(both)} of {len(np.unique(data.groups))} groups of {data.name} have rows on both "
            "sides of this split, so near-copies of training rows are tested on and scores come "
            "out too high. by='groups' keeps every group on one side.",
            LeakageWarning,
            stacklevel=3,
        )
