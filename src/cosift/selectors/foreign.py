"""Selectors, estimators and score functions from elsewhere, as methods like ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from cosift._typing import Array, Matrix
from cosift.labels import Task
from cosift.selectors._scores import ScoreSelector, class_codes


class ForeignSelector(ScoreSelector):
    """Rank features by what another estimator or score function makes of the labelled rows.

    The estimator is cloned and fitted to the labelled rows of each task.  Its scores of the
    features are the first of these that it has, once fitted:

    1. ``scores_``, if it is a selector;
    2. ``feature_importances_``;
    3. ``coef_``, the norm over outputs (an absolute value if there is one);
    4. ``ranking_``, of which 1 is best: the largest rank scores 1;
    5. any of these of its ``estimator_`` or ``best_estimator_``, if one value a feature;
    6. ``get_support()``: 1 if kept, 0 if not.

    Infinite scores become finite ones above all others, and missing ones (NaN, as for constant
    columns) go below all others.  How many features `transform` keeps is up to
    ``n_features_to_select`` here, not to the estimator.

    Parameters
    ----------
    estimator : estimator or callable
        A scikit-learn selector or estimator, or a function of (X, y) that returns scores, or
        scores first in a tuple, as `sklearn.feature_selection.f_classif` does.
    n_features_to_select : int, float, "nonzero" or None, default=None
        How many features `transform` keeps: a count (at most all), a share below 1, those with a
        score other than zero, or half. May be changed after fitting.
    unlabeled : number, str or None, default=-1
        The label that means "unlabelled"; missing values always do.

    Attributes
    ----------
    estimators_ : list
        The fitted clone of each task; nothing if the estimator is a function.
    tasks_, classes_
        Task ids and the classes of each.
    task_scores_ : ndarray of shape (n_tasks, n_features)
        The scores within each task.
    scores_ : ndarray of shape (n_features,)
        Mean over the tasks of the scores scaled to [0, 1].
    ranking_, task_ranking_ : ndarray of shape (n_features,) and (n_tasks, n_features)
        1 is best; ties by column.

    See Also
    --------
    cosift.methods.make_method : The same from a line of text.

    Examples
    --------
    >>> from sklearn.feature_selection import f_classif
    >>> from cosift import ForeignSelector
    >>> X = [[0, 5, 1], [2, 6, 2], [6, 5, 1], [8, 7, 2], [9, 9, 9]]
    >>> selector = ForeignSelector(f_classif).fit(X, [0, 0, 1, 1, -1])
    >>> selector.task_scores_
    array([[18. ,  0.2,  0. ]])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_features_to_select: int | float | str | None = None,
        unlabeled: Any = -1,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.unlabeled = unlabeled

    def _check_parameters(self) -> None:
        super()._check_parameters()
        usable = hasattr(self.estimator, "fit") or callable(self.estimator)
        if isinstance(self.estimator, type) or not usable:
            raise ValueError(
                "estimator must be an estimator with a fit method, such as "
                "SelectKBest(f_classif), or a function of (X, y), such as f_classif. "
                f"Got {self.estimator!r}."
            )

    def _fit_tasks(self, X: Matrix, tasks: list[Task]) -> None:
        self.estimators_: list[Any] = []
        super()._fit_tasks(X, tasks)

    def _score(self, samples: Matrix, task: Task, prepared: Any) -> Array:
        X, y = samples[task.labeled], task.classes[class_codes(task)[task.labeled]]
        d = X.shape[1]
        if hasattr(self.estimator, "fit"):
            self.estimators_.append(clone(self.estimator).fit(X, y))
            return _finite(read_scores(self.estimators_[-1], d))
        result = self.estimator(X, y)
        scores = np.asarray(result[0] if isinstance(result, tuple) else result, dtype=np.float64)
        if scores.shape != (d,):
            raise ValueError(
                f"The score function must return one score for each of the {d} features. "
                f"Got shape {scores.shape} from {self.estimator!r}."
            )
        return _finite(scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "fit"):
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def read_scores(estimator: Any, n_features: int) -> Array:
    """One score a feature from a fitted estimator, larger is better.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with one of the attributes that `ForeignSelector` lists.
    n_features : int
        How many features it was fitted to.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> read_scores(LinearRegression().fit([[0, 1], [1, 0], [0, 0]], [-3, 2, 0]), 2).round(6)
    array([2., 3.])
    """
    inner = [getattr(estimator, name, None) for name in ("estimator_", "best_estimator_")]
    for candidate in (estimator, *inner):
        for name, read in READERS.items():
            # Elsewhere, scores are those of folds or iterations.
            meant = name != "scores_" or hasattr(candidate, "get_support")
            value = getattr(candidate, name, None) if meant else None
            scores = None if value is None else read(value)
            if scores is not None and scores.shape == (n_features,):
                return scores
    if hasattr(estimator, "get_support"):
        return np.asarray(estimator.get_support(), dtype=np.float64)
    raise ValueError(
        f"estimator must have one of {', '.join(READERS)} or get_support() once fitted, with one "
        f"value for each of the {n_features} features. {estimator!r} has none."
    )


def _plain(values: Any) -> Array:
    return np.asarray(values, dtype=np.float64)


def _norms(coef: Any) -> Array:
    coef = np.atleast_2d(_plain(coef.toarray() if hasattr(coef, "toarray") else coef))
    return np.asarray(np.linalg.norm(coef, axis=0))


def _from_ranks(ranks: NDArray[Any]) -> Array:
    return _plain(np.max(ranks) + 1 - ranks)


READERS: dict[str, Callable[[Any], Array]] = {
    "scores_": _plain,
    "feature_importances_": _plain,
    "coef_": _norms,
    "ranking_": _from_ranks,
}


def _finite(scores: Array) -> Array:
    """Infinite scores just outside the finite ones, and missing ones below them all."""
    known = scores[np.isfinite(scores)]
    low, high = known.min(initial=0.0), known.max(initial=0.0)
    step = (high - low) or 1.0
    scores = np.where(scores == np.inf, high + step, scores)
    scores = np.where(scores == -np.inf, low - step, scores)
    missing = np.isnan(scores)
    if missing.any() and not missing.all():
        floor = scores[~missing].min()
        # Nothing, if that is below all others.
        scores = np.where(missing, 0.0 if floor > 0.0 else floor - step, scores)
    return np.where(np.isnan(scores), 0.0, scores)
