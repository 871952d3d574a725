"""Fisher score: how far apart the classes are, in units of their own spread."""

from __future__ import annotations

from typing import Any

from cosift._typing import Array, Matrix
from cosift.labels import Task
from cosift.selectors._scatter import class_scatter, ratio, units
from cosift.selectors._scores import ScoreSelector, class_codes


class FisherScore(ScoreSelector):
    r"""Rank features by the scatter between classes over the scatter within them.

    .. math::

        \mathrm{score}(f) = \frac{\sum_c n_c (m_c - m)^2}{\sum_c n_c \sigma_c^2}

    over the labelled values of the feature f in one task: class c has :math:`n_c` of them with
    mean :math:`m_c` and variance :math:`\sigma_c^2` (divided by :math:`n_c`), and m is the mean of
    all.  A constant feature scores 0.  A feature that is constant within every class but differs
    between them would score infinity: it gets a finite score above all others, ordered among its
    like by the scatter between classes relative to the squared range.  That is every feature if
    each class has one labelled sample.

    Parameters
    ----------
    n_features_to_select : int, float, "nonzero" or None, default=None
        How many features `transform` keeps: a count (at most all), a share below 1, those with a
        score above zero, or half. May be changed after fitting.
    unlabeled : number, str or None, default=-1
        The label that means "unlabelled"; missing values always do.

    Attributes
    ----------
    tasks_, classes_
        Task ids and the classes of each.
    task_scores_ : ndarray of shape (n_tasks, n_features)
        The scores within each task.
    scores_ : ndarray of shape (n_features,)
        Mean over the tasks of the scores divided by the task's largest.
    ranking_, task_ranking_ : ndarray of shape (n_features,) and (n_tasks, n_features)
        1 is best; ties by column.

    See Also
    --------
    SPEC : With ``similarity="label"``, ``function="phi2"`` it ranks in the same order.
    LSDF : The same idea with unlabelled rows.

    References
    ----------
    R. O. Duda, P. E. Hart and D. G. Stork, *Pattern Classification*, 2nd edition, 2001.

    Examples
    --------
    >>> from cosift import FisherScore
    >>> X = [[0, 5, 1], [2, 5, 2], [6, 5, 1], [8, 5, 2]]
    >>> selector = FisherScore(n_features_to_select=1).fit(X, ["low", "low", "high", "high"])
    >>> selector.task_scores_
    array([[9., 0., 0.]])
    >>> selector.get_support(indices=True)
    array([0])
    """

    def __init__(
        self, *, n_features_to_select: int | float | str | None = None, unlabeled: Any = -1
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.unlabeled = unlabeled

    def _prepare(self, samples: Matrix) -> Array:
        return units(samples)

    def _score(self, samples: Matrix, task: Task, prepared: Array) -> Array:
        scatter = class_scatter(samples, class_codes(task), prepared)
        return ratio(scatter.between, scatter.within.sum(axis=0), scatter.spread)
