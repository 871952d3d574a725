"""The scikit-learn shell: reads samples, labels and tasks; turns scores into a selection.

A method subclasses `TaskSelector` and says in ``_fit_tasks`` what its scores are.  Nothing here
knows how scores come about.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from cosift._dask import check_chunks, checked, gathered, is_dask
from cosift._typing import Array, Indices, Matrix
from cosift.labels import Task, read_tasks
from cosift.selectors import _html
from cosift.selectors._parameters import check_count, count_of


# Without automatic wrapping: SelectorMixin's own `transform` puts the result into the container
# that `set_output` asked for, under the names of one task's features if a task is given.
class TaskSelector(SelectorMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Base class of all selectors.

    A subclass has the parameters ``n_features_to_select`` and ``unlabeled`` and implements
    ``_fit_tasks``, which ends in a call of ``_rank``.

    Attributes
    ----------
    tasks_ : ndarray of shape (n_tasks,)
        Task ids in sorted order, or column names; one task without a name is 0.
    classes_ : list of ndarray
        Sorted classes of each task.
    task_scores_ : ndarray of shape (n_tasks, n_features)
        Scores of the features for each task, larger is better.
    scores_ : ndarray of shape (n_features,)
        Scores for all tasks together.
    ranking_ : ndarray of shape (n_features,)
        Rank by ``scores_``, 1 is best.
    task_ranking_ : ndarray of shape (n_tasks, n_features)
        Rank by ``task_scores_``.
    """

    n_features_to_select: int | float | str | None
    unlabeled: Any
    _shown_task: int | None = None  # index of the task that a view shows
    _takes_dask = False

    def fit(self, X: Any, y: Any, tasks: Any = None) -> Self:
        """Score and rank the features.

        Parameters
        ----------
        X : array, SciPy sparse matrix or data frame of shape (n_samples, n_features)
            Samples of all tasks; never changed. SFMC, SFSS, FSSI and L21LeastSquares take a Dask
            array in chunks of rows as well, see docs/dask.md.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks)
            Class labels, -1 (see ``unlabeled``) or missing where unlabelled; or one 0/1 column a
            task, all over the same samples.
        tasks : array-like of shape (n_samples,), optional
            The task each sample belongs to; without it there is one task.

        Returns
        -------
        self
            The fitted selector.
        """
        self._check_parameters()
        X, labels = self._read(X, y, tasks)
        self._fit_tasks(X, labels)
        return self

    def get_support(self, indices: bool = False, task: Any = None) -> NDArray[Any]:
        """Which features are selected.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return column numbers rather than a mask.
        task : task id, optional
            Select for this task; without it for all together.

        Returns
        -------
        ndarray
            A mask of shape (n_features,), or column numbers in ascending order.
        """
        return np.asarray(SelectorMixin.get_support(self._view(task), indices))

    def get_feature_names_out(self, input_features: Any = None, task: Any = None) -> NDArray[Any]:
        """Names of the selected features.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of all features; by default those seen in ``fit``, or ``x0, x1, ...``.
        task : task id, optional
            Select for this task; without it for all together.

        Returns
        -------
        ndarray of str
            The names, in the order of the columns.
        """
        return np.asarray(SelectorMixin.get_feature_names_out(self._view(task), input_features))

    def transform(self, X: Any, task: Any = None) -> Any:
        """Keep the selected columns of X.

        Parameters
        ----------
        X : array, SciPy sparse matrix or data frame of shape (n_samples, n_features)
            Samples.
        task : task id, optional
            Select for this task; without it for all together.

        Returns
        -------
        array, sparse matrix or data frame of shape (n_samples, n_selected)
            What ``set_output`` asked for; a Dask array if X is one.
        """
        check_is_fitted(self)
        view = self._view(task)
        kept = view.get_support(indices=True)
        if not kept.size:
            warnings.warn(
                "No feature is selected: every score is zero, and n_features_to_select='nonzero'. "
                "Lower the penalties (`path` shows where features enter) or ask for a number of "
                "features.",
                stacklevel=2,
            )
        if is_dask(X):
            return self._validated(X, reset=False)[:, kept]
        with warnings.catch_warnings():  # scikit-learn would say it again, less to the point
            warnings.filterwarnings("ignore", "No features were selected", UserWarning)
            return SelectorMixin.transform(view, X)

    def inverse_transform(self, X: Any, task: Any = None) -> Any:
        """Put selected columns back where they were, among columns of zeros.

        Parameters
        ----------
        X : array or SciPy sparse matrix of shape (n_samples, n_selected)
            What ``transform`` returned.
        task : task id, optional
            The task it was called with.

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features)
            Samples with all columns.
        """
        return SelectorMixin.inverse_transform(self._view(task), X)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        wanted = self.n_features_to_select
        check_count(wanted)
        scores, ranking = self.scores_, self.ranking_
        if self._shown_task is not None:
            scores, ranking = (
                self.task_scores_[self._shown_task],
                self.task_ranking_[self._shown_task],
            )
        if isinstance(wanted, str):
            return np.asarray(scores != 0.0)
        return ranking <= count_of(wanted, len(ranking))

    @abstractmethod
    def _fit_tasks(self, X: Matrix, tasks: list[Task]) -> None:
        """Fit validated samples and labels: set the fitted attributes, call ``_rank``."""

    def _check_parameters(self) -> None:
        """Raise a ValueError where a parameter makes no sense; subclasses extend it."""
        check_count(self.n_features_to_select)

    def _read(self, X: Any, y: Any, tasks: Any) -> tuple[Matrix, list[Task]]:
        if is_dask(X) and not self._takes_dask:
            raise ValueError(
                f"{type(self).__name__} needs all samples at once and takes no Dask array: pass "
                "X.compute() if memory holds it, or use SFMC, SFSS, FSSI or L21LeastSquares."
            )
        X = self._validated(X, reset=True, ensure_min_samples=2)
        if is_dask(X):
            check_chunks(X)
            y, tasks = gathered(y), gathered(tasks)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # entries that occur twice are summed, but not in the caller's matrix
            X.sum_duplicates()
        return X, read_tasks(y, tasks, unlabeled=self.unlabeled, n_samples=X.shape[0])

    def _validated(self, X: Any, *, reset: bool, **wanted: Any) -> Any:
        """X as floating point numbers, all of them finite; of a Dask array, once it is computed."""
        if is_dask(X):
            X = checked(X)
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            **wanted,
        )

    def _rank(
        self,
        tasks: list[Task],
        task_scores: Array,
        scores: Array,
        task_nearness: Array | None = None,
        nearness: Array | None = None,
    ) -> None:
        """Store tasks, scores and rankings.

        Among features whose score is exactly zero, larger ``nearness`` ranks first.
        """
        self.tasks_ = _ids([task.name for task in tasks])
        self.classes_ = [task.classes for task in tasks]
        self.task_scores_, self.scores_ = task_scores, scores
        if task_nearness is None or nearness is None:
            task_nearness, nearness = np.zeros_like(task_scores), np.zeros_like(scores)
        self.ranking_ = _ranks(scores, nearness)
        pairs = zip(task_scores, task_nearness, strict=True)
        self.task_ranking_ = np.stack([_ranks(*pair) for pair in pairs])

    def _task_index(self, task: Any) -> int:
        check_is_fitted(self)
        known = self.tasks_.tolist()
        several = getattr(task, "ndim", 0) > 0
        if several or task not in known:
            got = "several at once" if several else repr(task)
            raise ValueError(f"task must be one of {', '.join(map(repr, known))}. Got {got}.")
        return int(known.index(task))

    def _view(self, task: Any) -> Self:
        """The same selector with one task's selection as its own; itself without a task."""
        if task is None:
            return self
        view = copy(self)
        view._shown_task = self._task_index(task)
        return view

    def _repr_html_inner(self) -> str:
        """scikit-learn's diagram, and below it what was learned."""
        return str(super()._repr_html_inner()) + _html.summary(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _ranks(scores: Array, nearness: Array) -> Indices:
    """1 for the best: by score, zeros by nearness, ties by position."""
    position = np.arange(len(scores))
    order = np.lexsort((position, np.where(scores == 0.0, -nearness, 0.0), -scores))
    ranks = np.empty_like(position)
    ranks[order] = position + 1
    return ranks


def _ids(names: Sequence[object]) -> NDArray[Any]:
    """Task ids as an array that gives back what went in, mixed column names included."""
    ids = np.array(names) if len({type(name) for name in names}) == 1 else None
    if ids is not None and ids.ndim == 1 and ids.dtype.kind in "biufU":
        return ids
    ids = np.empty(len(names), dtype=object)
    ids[:] = names
    return ids
