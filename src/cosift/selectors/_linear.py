"""What selectors that fit a linear model of every task have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cosift._dask import is_dask
from cosift._typing import Array
from cosift.labels import Task
from cosift.penalties import row_norms
from cosift.selectors._base import TaskSelector


class LinearSelector(TaskSelector):
    """Base class of selectors that score a feature by its row of ``W = [W_1 ... W_t]``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        W transposed, rows ordered by task, then class.
    intercept_ : ndarray of shape (n_outputs,)
        ``[b_1 ... b_t]``.
    task_slices_ : list of slice
        The rows of ``coef_`` of each task.
    """

    def decision_function(self, X: Any, task: Any = None) -> Any:
        """``X W_l + 1 b_l'``: what the linear model of a task says about samples.

        Parameters
        ----------
        X : array, SciPy sparse matrix or data frame of shape (n_samples, n_features)
            Samples.
        task : task id, optional
            The task l; needed if there are several.

        Returns
        -------
        ndarray of shape (n_samples, n_outputs of the task), a Dask array if X is one
            One column a class, ordered as in ``classes_``, or the only column if y was
            two-dimensional.
        """
        check_is_fitted(self)
        if task is None and len(self.tasks_) > 1:
            known = ", ".join(map(repr, self.tasks_.tolist()))
            raise ValueError(f"decision_function needs task=, one of {known}: each has a model.")
        own = self.task_slices_[0 if task is None else self._task_index(task)]
        X = self._validated(X, reset=False)
        values = X @ self.coef_[own].T + self.intercept_[own]
        return values if is_dask(X) else np.asarray(values)

    def _set_linear(
        self, tasks: list[Task], W: Array, intercept: Array, theta: Array | None = None
    ) -> None:
        """Store coefficients; rank by their row norms, zero rows by those of Theta."""
        sizes = np.array([task.Y.shape[1] for task in tasks])
        ends = np.cumsum(sizes).tolist()
        starts = [0, *ends[:-1]]
        self.task_slices_ = [slice(*pair) for pair in zip(starts, ends, strict=True)]
        self.coef_ = np.ascontiguousarray(W.T)
        self.intercept_ = intercept
        whole = np.array([W.shape[1]])
        theta = np.zeros_like(W) if theta is None else theta
        self._rank(
            tasks,
            np.ascontiguousarray(row_norms(W, sizes).T),
            row_norms(W, whole)[:, 0],
            row_norms(theta, sizes).T,
            row_norms(theta, whole)[:, 0],
        )
