"""From samples to what the solver needs: the only stage that touches the data.

For tasks over the same n samples and labelled rows, with S = U + L, eliminate b and F from the
joint objective.  What remains is least squares with correlated noise (docs/statistics.md):

    min over F, b of  tr((F-Y)'U(F-Y)) + tr(F'LF) + mu ||X W + 1 b' - F||^2
        =  floor + <X W - F0, M (X W - F0)>

    F0    = S^-1 U Y                             the labels spread over the graph alone
    floor = <F0-Y, U (F0-Y)> + <F0, L F0>        what that costs
    M     = B - v v'/(1'v), B = (S^-1 + I/mu)^-1, v = B 1     see `noise`

In the paper's letters ``mu R = X'M X`` and ``mu T = X'M F0``.  M is both of its forms,
``mu (H - mu H P H)`` and ``S - S P S``, without the cancellation that either suffers somewhere.
Labelled rows only, with F = Y, is the same with ``M = mu H`` and ``F0 = Y``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cosift._typing import Array, Matrix
from cosift.gram import Gram
from cosift.noise import FactoredNoise, FactoredPrior, IterativeNoise, IterativePrior, Smoothed
from cosift.quadratic import Centering, Dense, Factored, Implicit, Quadratic

# Beyond so many samples for each feature Q is formed at once: all of it costs less than a few
# products with the samples.
MANY_A_FEATURE = 2
# Up to here n x n factors (200 MB) cost less than iterating.
DENSE_SAMPLES = 5_000


@dataclass(frozen=True)
class Statistics:
    """The smooth part ``floor + energy + <W, Q W> - 2 <W, q>`` of tasks that share samples.

    Attributes
    ----------
    quadratic : Quadratic
        ``<W, Q W> - 2 <W, q>`` with ``Q = X'M X = mu R`` and ``q = X'M F0 = mu T``.
    energy : float
        ``<F0, M F0>``.
    floor : float
        What no W can undercut.
    intercept : callable
        From W (d, c) to the best b (c,).
    labels : callable
        From W (d, c) to the learned label matrix F (n, c).
    """

    quadratic: Quadratic
    energy: float
    floor: float
    intercept: Callable[[Array], Array]
    labels: Callable[[Array], Array]


class SupervisedSamples:
    """Labelled rows alone: ``mu ||X W + 1 b' - Y||_F^2``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Labelled samples.
    Y : ndarray of shape (n, c)
        Their labels.

    Examples
    --------
    >>> samples = SupervisedSamples(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]))
    >>> statistics = samples.statistics(mu=1.0)
    >>> statistics.quadratic.linear, statistics.energy  # sum of (x - 1)(y - 3) and of (y - 3)^2
    (array([[4.]]), 8.0)
    """

    def __init__(self, X: Matrix, Y: Array) -> None:
        self._X, self._mean = _prepared(X)
        self._Y = Y

    def statistics(self, mu: float) -> Statistics:
        """What the solver needs for one weight of the fit."""
        X, (n, d) = self._X, self._X.shape
        Y_mean = self._Y.mean(axis=0)
        Y = self._Y - Y_mean
        mean = np.asarray(X.mean(axis=0)).ravel() if sp.issparse(X) else self._mean
        K = Centering(np.sqrt(mu))
        quadratic: Quadratic = Factored(X, K, np.sqrt(mu) * Y)
        if n > MANY_A_FEATURE * d:
            quadratic = Dense(K.gram(X), quadratic.linear)
        return Statistics(
            quadratic,
            energy=mu * float(np.vdot(Y, Y)),
            floor=0.0,
            intercept=lambda W: Y_mean - mean @ W,
            labels=lambda W: self._Y,
        )

    def gram(self, mu: float) -> Gram:
        """What these samples add to tasks that have others as well."""
        V = np.hstack([_array(self._X), np.ones((len(self._Y), 1)), self._Y])
        return Gram(mu * (V.T @ V), self._mean, 0.0)

    def labels(self, mu: float, W: Array, b: Array) -> Array:
        """The labels, as they were given."""
        return self._Y


class SemiSupervisedSamples:
    """All rows of the tasks, the unlabelled ones tied in by the graph.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        All samples.
    Y : ndarray of shape (n, c)
        Labels, rows of zeros where unlabelled.
    labeled : ndarray of bool, shape (n,)
        Which rows are labelled.
    laplacian : sparse array of shape (n, n)
        L, positive semi-definite with L 1 = 0.
    label_weight, unlabeled_weight : float
        The diagonal of U on labelled and on unlabelled rows.
    neighbor_recall : float
        The share of true neighbours in L's cliques, kept for the record.
    """

    def __init__(
        self,
        X: Matrix,
        Y: Array,
        labeled: NDArray[np.bool_],
        laplacian: sp.csr_array,
        label_weight: float = 1e6,
        unlabeled_weight: float = 1.0,
        neighbor_recall: float = 1.0,
    ) -> None:
        self.neighbor_recall = neighbor_recall
        self._X, self._mean = _prepared(X)
        U = np.where(labeled, float(label_weight), float(unlabeled_weight))
        S = sp.csr_array(laplacian + sp.diags_array(U))
        factored = len(U) <= DENSE_SAMPLES
        self._prior = FactoredPrior(S) if factored else IterativePrior(S, U)
        # F0 - Y rather than F0: beside weights of 1e6 the difference is what has digits.
        shift = -self._prior.solve(laplacian @ Y)
        self._F0 = Y + shift
        self._floor = float(U @ (shift**2).sum(axis=1) + np.vdot(self._F0, laplacian @ self._F0))
        self._smoothed: Smoothed | None = None  # of the last mu, to start the next from

    def statistics(self, mu: float) -> Statistics:
        """What the solver needs for one mu = alpha * beta."""
        noise = self._prior.with_fit(mu)
        if isinstance(noise, FactoredNoise):
            return self._with_products(noise, self._factored(noise))
        n, d = self._X.shape
        if n < d:
            linear = np.asarray(self._X.T @ noise.weigh(self._F0))
            return self._with_products(noise, Implicit(self._X, noise.weigh, linear))
        return self._with_gram(noise)

    def _factored(self, noise: FactoredNoise) -> Quadratic:
        X, (n, d) = self._X, self._X.shape
        if n < d:
            return Factored(X, noise.K, noise.K @ self._F0)
        Z = np.asarray(noise.K @ X)
        return Dense(Z.T @ Z, Z.T @ (noise.K @ self._F0))

    def _with_products(
        self, noise: FactoredNoise | IterativeNoise, quadratic: Quadratic
    ) -> Statistics:
        def residual(W: Array) -> tuple[Array, Array]:
            misfit = self._F0 - np.asarray(self._X @ W)
            b = noise.v @ misfit / noise.v.sum()
            return misfit - b, b

        return Statistics(
            quadratic,
            energy=float(np.vdot(self._F0, noise.weigh(self._F0))),
            floor=self._floor,
            intercept=lambda W: residual(W)[1] - self._mean @ W,
            labels=lambda W: self._F0 - self._prior.solve(noise.weigh(residual(W)[0])),
        )

    def gram(self, mu: float) -> Gram:
        """What these samples add to tasks that have others as well, tied to them by no graph."""
        return self._gram(self._prior.with_fit(mu))

    def labels(self, mu: float, W: Array, b: Array) -> Array:
        """The best F for W and b that fit other samples as well, (n, c)."""
        noise = self._prior.with_fit(mu)
        misfit = self._F0 - np.asarray(self._X @ W) - (b + self._mean @ W)
        if isinstance(noise, FactoredNoise):
            return self._F0 - self._prior.solve(noise.precision(misfit))
        return self._F0 - noise.smooth(misfit)

    def _gram(self, noise: FactoredNoise | IterativeNoise) -> Gram:
        V, mean = self._basis
        if isinstance(noise, FactoredNoise):
            return Gram(noise.gram(V), mean, self._floor)
        self._smoothed = noise.gram(V, self._smoothed)
        return Gram(self._smoothed.gram, mean, self._floor)

    def _with_gram(self, noise: IterativeNoise) -> Statistics:
        gram = self._gram(noise)
        quadratic, energy = gram.centered()

        def labels(W: Array) -> Array:
            b = gram.intercept(W) + self._mean @ W
            return self._F0 - noise.smooth(self._F0 - np.asarray(self._X @ W) - b)

        return Statistics(quadratic, energy, self._floor, gram.intercept, labels)

    @cached_property
    def _basis(self) -> tuple[Array, Array]:
        """``[X 1 F0]`` with X about its column means, and those."""
        X = self._X
        mean = np.asarray(X.mean(axis=0)).ravel() if sp.issparse(X) else 0.0
        V = np.hstack([_array(X) - mean, np.ones((X.shape[0], 1)), self._F0])
        return V, self._mean + mean


def _prepared(X: Matrix) -> tuple[Matrix, Array]:
    """X in double precision about its column means, and those; sparse X stays where it is."""
    if sp.issparse(X):
        return sp.csc_array(X, dtype=np.float64), np.zeros(X.shape[1])
    mean = np.asarray(X.mean(axis=0, dtype=np.float64))
    return np.subtract(X, mean, dtype=np.float64), mean


def _array(X: Matrix) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X)
