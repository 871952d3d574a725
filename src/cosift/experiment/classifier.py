"""The linear SVM that judges sets of features."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from cosift._typing import Array, Indices, Matrix
from cosift.experiment.metrics import evaluate, mean_average_precision

__all__ = ["Judge", "fit_svm"]

MAX_ITER = 10_000


def fit_svm(X: Matrix, y: NDArray[np.int64], C: float) -> tuple[Array, Array]:
    """Fit one linear SVM a class, that class against the rest.

    Every SVM minimises ``|w|^2 / 2 + b^2 / 2 + C * sum_i max(0, 1 - s_i (x_i w + b))^2`` with
    ``s_i = 1`` for the class and -1 for the rest: scikit-learn's `LinearSVC` as it comes.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
        Samples.
    y : ndarray of int, shape (n,)
        Classes, at least two.
    C : float
        Weight of the loss.

    Returns
    -------
    W : ndarray of shape (d, c) or (d, 1)
        A column a class in ascending order; of two classes the second alone.
    b : ndarray of shape (c,) or (1,)
        Intercepts.
    """
    # The seed matters only where liblinear shuffles; it makes equal fits equal to the bit.
    svm = LinearSVC(C=C, dual="auto", max_iter=MAX_ITER, random_state=0)
    with warnings.catch_warnings():
        # liblinear can stop early without labels enough to tell features apart: still a judge.
        warnings.simplefilter("ignore", ConvergenceWarning)
        svm.fit(X, y)
    return svm.coef_.T, svm.intercept_


class Judge:
    """Trains on some rows of a task and scores on others, each set of features once.

    Parameters
    ----------
    training, held_out : tuple of (samples, classes)
        Rows to fit and rows to score.
    yes_no : bool
        Whether classes are 0/1 and only 1 counts.
    C : float
        Of the SVM.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> judge = Judge((X, y), (X, y), yes_no=False, C=1.0)
    >>> judge.score(np.array([0])), judge.score(np.array([1])), judge.score(np.array([0]))
    (1.0, 0.5, 1.0)
    >>> judge.n_fits
    2
    """

    def __init__(
        self,
        training: tuple[Matrix, NDArray[np.int64]],
        held_out: tuple[Matrix, NDArray[np.int64]],
        *,
        yes_no: bool,
        C: float,
    ) -> None:
        self._training, self._held_out = training, held_out
        self._yes_no, self._C = yes_no, C
        self._classes = np.array([1]) if yes_no else np.unique(training[1])
        self._relevant = held_out[1][:, None] == self._classes
        self._scores: dict[bytes, float] = {}

    @property
    def n_fits(self) -> int:
        """Sets of features that were fitted."""
        return len(self._scores)

    def score(self, features: Indices) -> float:
        """Mean average precision on the held-out rows, NaN where it is not defined.

        Parameters
        ----------
        features : ndarray of int, shape (k,)
            Which features to use, in any order.
        """
        features = np.sort(features)
        key = features.tobytes()
        if key not in self._scores:
            decision = self._decision(features)
            self._scores[key] = mean_average_precision(decision, self._relevant)
        return self._scores[key]

    def metrics(self, features: Indices) -> dict[str, float]:
        """All metrics on the held-out rows."""
        return evaluate(self._decision(np.sort(features)), self._held_out[1], self._classes)

    def _decision(self, features: Indices) -> Array:
        (X, y), held_out = self._training, self._held_out[0]
        W, b = fit_svm(X[:, features], y, self._C)
        # With zeros for the features left out, the held-out rows need no copy.
        precision = np.result_type(held_out.dtype, np.float32)
        whole = np.zeros((X.shape[1], W.shape[1]), dtype=precision)
        whole[features] = W
        decision = np.asarray(held_out @ whole, dtype=np.float64) + b
        both = W.shape[1] == 1 and not self._yes_no
        return np.hstack([-decision, decision]) if both else decision
