"""All features: what a selection is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosift._typing import Array, Matrix
from cosift.labels import Task
from cosift.selectors._scores import ScoreSelector


class AllFeatures(ScoreSelector):
    """Keep every feature: the baseline of a comparison.

    Parameters
    ----------
    unlabeled : number, str or None, default=-1
        The label that means "unlabelled"; missing values always do. Labels are checked as by the
        other selectors and do not matter otherwise.

    Attributes
    ----------
    tasks_, classes_
        Task ids and the classes of each.
    task_scores_, scores_ : ndarray of shape (n_tasks, n_features) and (n_features,)
        All 1.
    ranking_, task_ranking_ : ndarray of shape (n_features,) and (n_tasks, n_features)
        The order of the columns.

    Examples
    --------
    >>> from cosift import AllFeatures
    >>> AllFeatures().fit([[0, 5], [2, 5], [6, 5]], [0, 1, 1]).get_support()
    array([ True,  True])
    """

    n_features_to_select = "nonzero"

    def __init__(self, *, unlabeled: Any = -1) -> None:
        self.unlabeled = unlabeled

    def _score(self, samples: Matrix, task: Task, prepared: Any) -> Array:
        return np.ones(samples.shape[1])
