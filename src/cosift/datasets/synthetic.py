"""Related problems whose relevant features are known, for examples and tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosift._typing import Array, Indices

__all__ = ["RelatedTasks", "make_related_tasks"]

# Directions that the class centres of all tasks share: fewer than a task has classes to place.
RANK = 2
# Standard deviation of a class centre in a relevant feature.
SEPARATION = 2.0


@dataclass(frozen=True)
class RelatedTasks:
    """Samples of several tasks, few of them labelled, and the truth about them.

    Attributes
    ----------
    X : ndarray of shape (n, n_features)
        Samples, task by task.
    y : ndarray of int, shape (n,)
        Classes, -1 where unlabelled.
    tasks : ndarray of int, shape (n,)
        Task of each sample.
    y_true : ndarray of int, shape (n,)
        Classes of all samples.
    shared : ndarray of int, shape (n_shared,)
        Features that matter to every task, ascending.
    private : ndarray of int, shape (n_tasks, n_private)
        Features that matter to one task alone, ascending in each row.
    """

    X: Array
    y: Indices
    tasks: Indices
    y_true: Indices
    shared: Indices
    private: Indices


def make_related_tasks(
    n_tasks: int = 3,
    n_samples: int = 200,
    n_features: int = 100,
    n_classes: int = 3,
    n_shared: int = 8,
    n_private: int = 2,
    labeled: float = 0.1,
    noise: float = 0.5,
    seed: int = 0,
) -> RelatedTasks:
    """Draw clusters around class centres that related tasks place along the same directions.

    A sample of class c in task l is ``x = m_lc + noise * z`` with z standard normal.  On the
    shared features the centres of task l are ``A_l D``, where the two rows of D are common to all
    tasks: their coefficients lie in one plane, which a trace norm rewards.  On its private
    features task l has centres of its own; everywhere else they are 0.  With little noise every
    class is a cluster, so that neighbours share labels.

    Parameters
    ----------
    n_tasks : int, default=3
        Number of tasks.
    n_samples : int, default=200
        Samples of each task, the classes equally often (up to one sample).
    n_features : int, default=100
        Features, at least ``n_shared + n_tasks * n_private``; the relevant ones are scattered
        among them.
    n_classes : int, default=3
        Classes of each task.
    n_shared : int, default=8
        Features that matter to every task.
    n_private : int, default=2
        Features that matter to one task alone, for each task.
    labeled : float, default=0.1
        Share of each class that is labelled; one sample at least.
    noise : float, default=0.5
        Standard deviation around the centres, whose own is about 2 in a relevant feature.
    seed : int, default=0
        The same seed gives the same data.

    Returns
    -------
    RelatedTasks
        Samples, labels, tasks and the truth.

    Examples
    --------
    >>> data = make_related_tasks(n_tasks=2, n_samples=30, n_features=20, labeled=0.2)
    >>> data.X.shape, data.shared.shape, data.private.shape
    ((60, 20), (8,), (2, 2))
    >>> for task in (0, 1):  # unlabelled, then two labelled rows of each class
    ...     print(np.unique(data.y[data.tasks == task], return_counts=True)[1])
    [24  2  2  2]
    [24  2  2  2]
    """
    n_relevant = n_shared + n_tasks * n_private
    if n_features < n_relevant:
        raise ValueError(
            f"n_features must be at least n_shared + n_tasks * n_private = {n_relevant}. "
            f"Got {n_features}."
        )
    if n_samples < n_classes:
        raise ValueError(f"n_samples must be at least n_classes = {n_classes}. Got {n_samples}.")
    if not 0 < labeled <= 1:
        raise ValueError(f"labeled must be a share above 0 and at most 1. Got {labeled!r}.")
    rng = np.random.default_rng(seed)
    relevant = rng.permutation(n_features)[:n_relevant]
    shared = np.sort(relevant[:n_shared])
    private = np.sort(relevant[n_shared:].reshape(n_tasks, n_private), axis=1)
    directions = rng.normal(size=(RANK, n_shared)) / np.sqrt(RANK)

    X = noise * rng.normal(size=(n_tasks, n_samples, n_features))
    y_true = np.empty((n_tasks, n_samples), dtype=np.intp)
    y = np.full_like(y_true, -1)
    for task in range(n_tasks):
        centers = np.zeros((n_classes, n_features))
        centers[:, shared] = rng.normal(size=(n_classes, RANK)) @ directions
        centers[:, private[task]] = rng.normal(size=(n_classes, n_private))
        y_true[task] = rng.permutation(np.arange(n_samples) % n_classes)
        X[task] += SEPARATION * centers[y_true[task]]
        for label in range(n_classes):
            members = np.flatnonzero(y_true[task] == label)
            y[task, members[: max(1, round(labeled * len(members)))]] = label
    return RelatedTasks(
        X=X.reshape(-1, n_features),
        y=y.ravel(),
        tasks=np.repeat(np.arange(n_tasks), n_samples),
        y_true=y_true.ravel(),
        shared=shared,
        private=private,
    )
