"""Cross-validation that works with two labels a class, and says when it cannot.

Labelled rows are dealt to folds by whole groups, each label of each task as evenly as can be.
A group that alone carries a label is dealt row by row: kinder than it should be, but without it
that label would say nothing.  Then every fold hands back the groups whose loss would leave some
label without a training row.  So a label that one row alone carries is always trained on and never
validated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosift._typing import Indices
from cosift.experiment.draw import Training

__all__ = ["deal"]


def deal(training: Training, n_folds: int, seed: int) -> list[Indices]:
    """Rows to hold out, one array a fold; folds that would be empty are left out.

    Parameters
    ----------
    training : Training
        Rows, of which the labelled ones are dealt.
    n_folds : int
        Folds at most.
    seed : int
        The same seed gives the same folds.

    Returns
    -------
    list of ndarray of int
        Disjoint, ascending.

    Examples
    --------
    Three rows of class 0, two of class 1, one of class 2, and one without a label:

    >>> y = np.array([0, 0, 0, 1, 1, 2, -1])
    >>> for rows in deal(Training(np.eye(7), y, None, None, 1), 3, seed=0):
    ...     print(y[rows])
    [0]
    [0 1]
    [0 1]
    """
    rows = np.flatnonzero(training.labeled)
    carries = _labels(training, rows)
    groups = np.arange(len(rows)) if training.groups is None else training.groups[rows]
    group_of, counts = _counted(_divided(groups, carries), carries)
    fold_of = _assign(counts, n_folds, np.random.default_rng(seed))
    held = [_keep_trainable(counts, np.flatnonzero(fold_of == fold)) for fold in range(n_folds)]
    return [rows[np.isin(group_of, groups)] for groups in held if len(groups)]


def _labels(training: Training, rows: Indices) -> NDArray[np.bool_]:
    """Which label, a class of a task or the 1 or 0 of a column, each row carries."""
    y = training.y[rows]
    if y.ndim == 2:
        return np.hstack([y == 1, y == 0])
    task = np.zeros(len(rows), dtype=int) if training.tasks is None else training.tasks[rows]
    _, label = np.unique(np.column_stack([task, y]), axis=0, return_inverse=True)
    return np.asarray(label.reshape(-1, 1) == np.arange(label.max(initial=-1) + 1))


def _divided(groups: Indices, carries: NDArray[np.bool_]) -> Indices:
    """Groups, with every row of those that alone carry a label of several rows for itself."""
    group_of, counts = _counted(groups, carries)
    alone = (counts > 0).sum(axis=0) == 1
    divided: NDArray[np.bool_] = np.any(counts[:, alone] > 1, axis=1)
    return np.where(divided[group_of], len(counts) + np.arange(len(groups)), group_of)


def _counted(groups: Indices, carries: NDArray[np.bool_]) -> tuple[Indices, NDArray[np.float64]]:
    """Groups by number, and how often each carries each label."""
    group_of = np.unique(groups, return_inverse=True)[1]
    counts = np.zeros((group_of.max(initial=-1) + 1, carries.shape[1]))
    np.add.at(counts, group_of, carries)
    return group_of, counts


def _assign(counts: NDArray[np.float64], n_folds: int, rng: np.random.Generator) -> Indices:
    """A fold for every group: the rarest labels first, each where there is least of them."""
    shares = counts / np.maximum(counts.sum(axis=0), 1.0)
    order = rng.permutation(len(counts))
    rarity = shares.max(axis=1, initial=0.0)
    order = order[np.argsort(-rarity[order], kind="stable")]
    dealt = np.zeros((n_folds, counts.shape[1]))
    fold_of = np.empty(len(counts), dtype=np.intp)
    for group in order:
        own = shares[group] > 0
        load = np.column_stack([dealt[:, own].sum(axis=1), dealt.sum(axis=1)]).round(9)
        fold = int(np.lexsort((load[:, 1], load[:, 0]))[0])
        dealt[fold] += shares[group]
        fold_of[group] = fold
    return fold_of


def _keep_trainable(counts: NDArray[np.float64], held: Indices) -> Indices:
    """Hand back groups, the last first, until every label has a row outside."""
    total = counts.sum(axis=0)
    while (lost := (counts[held].sum(axis=0) == total) & (total > 0)).any():
        label = int(lost.argmax())
        held = np.delete(held, np.flatnonzero(counts[held, label])[-1])
    return held
