"""Row-sparse regression with a robust loss: the problem of FSNM and its certificate.

    minimise over W, b    ||X W + 1 b' - Y||_{2,1} + gamma * ||W||_{2,1}

The loss counts the length of every sample's residual, not its square.  Any Lam (n x c) whose
columns sum to zero gives a dual point: with

    gauge(Lam) = max(max_i ||Lam_i||, max_j ||(X'Lam)_j|| / gamma),

``-<Lam, Y> / gauge(Lam)`` bounds the optimum from below, since ``||E_i|| >= <Lam_i, E_i>`` and
``gamma ||w^j|| >= -<(X'Lam)_j, w^j>`` as soon as the gauge is 1.  At the optimum Lam_i is the
direction of sample i's residual.  Derivation: docs/robust.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from cosift._typing import Array, Matrix
from cosift.quadratic import Dense, Factored, Quadratic, Stiffness

NO_COLUMNS = np.empty(0)


@dataclass(frozen=True)
class RobustProblem:
    """``||X W + 1 b' - Y||_{2,1} + gamma * ||W||_{2,1}``.

    Attributes
    ----------
    X : ndarray or sparse array of shape (n, d)
        Samples; dense ones should be centred, which costs nothing but the intercept.
    Y : ndarray of shape (n, c)
        Targets.
    gamma : float
        Weight of row sparsity.
    """

    X: Matrix
    Y: Array
    gamma: float

    @property
    def shape(self) -> tuple[int, int]:
        """``(d, c)``."""
        return self.X.shape[1], self.Y.shape[1]

    @cached_property
    def center(self) -> Array:
        """The best b beside W = 0."""
        return geometric_median(self.Y)

    @cached_property
    def at_zero(self) -> float:
        """Objective at W = 0 and the best b, the yardstick of convergence."""
        return float(lengths(self.center - self.Y).sum())

    @cached_property
    def multiplier_at_zero(self) -> Array:
        """The Lam that W = 0 suggests: residuals' directions; those of length zero share the rest.

        It shows W = 0 to be optimal where gamma is at least `least_for_zero`.
        """
        residual = self.center - self.Y
        sizes = lengths(residual)
        met = sizes == 0.0
        Lam = residual / np.where(met, 1.0, sizes)[:, None]
        if met.any():
            Lam[met] = -Lam.sum(axis=0) / met.sum()
        return np.asarray(Lam - Lam.mean(axis=0))

    def residual(self, W: Array, b: Array) -> Array:
        """``X W + 1 b' - Y``."""
        return np.asarray(self.X @ W) + b - self.Y

    def objective(self, W: Array, b: Array) -> float:
        """The value at (W, b)."""
        loss = lengths(self.residual(W, b)).sum()
        return float(loss + self.gamma * lengths(W).sum())

    def dual_bound(self, Lam: Array) -> float:
        """Lower bound on the optimum from any Lam; its column means do not count."""
        Lam = Lam - Lam.mean(axis=0)
        gauge = max(lengths(Lam).max(), lengths(self.theta(Lam)).max() / self.gamma)
        return max(0.0, -float(np.vdot(Lam, self.Y) / gauge)) if gauge > 0 else 0.0

    @property
    def least_for_zero(self) -> float:
        """A gamma from which on W = 0 is optimal for certain: the least if Lam has no choice."""
        return float(lengths(self.theta(self.multiplier_at_zero)).max())

    def theta(self, Lam: Array) -> Array:
        """``X'Lam`` (d x c), whose rows are at most gamma long at the optimum."""
        return np.asarray(self.X.T @ (Lam - Lam.mean(axis=0)))

    def reweighted(self, W: Array, b: Array, smoothing: float) -> tuple[Array, Array, Array, Array]:
        """One step of the published iteration from (W, b): the new ones, their Lam, and gamma / s.

        It minimises ``sum_i ||e_i||^2 / (2 r_i) + gamma * sum_j ||w^j||^2 / (2 s_j)``, with r and s
        the lengths of the residuals and rows at (W, b), smoothed so that either sum errs by at
        most ``smoothing * at_zero``.  Then ``Lam_i = e_i / r_i``.
        """
        n, d = self.X.shape
        allowance = smoothing * self.at_zero
        r = np.hypot(lengths(self.residual(W, b)), allowance / n)
        s = np.hypot(lengths(W), allowance / (self.gamma * d))
        K = _WeightedCentering(1.0 / r)
        quadratic: Quadratic = Factored(self.X, K, K @ self.Y)
        if n >= d:
            Z = K @ (self.X.toarray() if sp.issparse(self.X) else self.X)
            quadratic = Dense(Z.T @ Z, Z.T @ (K @ self.Y))
        stiffness = Stiffness(2.0 * self.gamma / s, np.empty((d, 0)), NO_COLUMNS, 0.0)
        V = quadratic.solve_stiff(stiffness, slice(None))
        offset = K.weights @ (self.Y - np.asarray(self.X @ V)) / K.weights.sum()
        return V, offset, self.residual(V, offset) / r[:, None], self.gamma / s


class _WeightedCentering:
    """``K = D^{1/2} (I - 1 w'/(1'w))`` for ``D = diag(w)``, without the matrix."""

    def __init__(self, weights: Array, transposed: bool = False) -> None:
        self.weights, self._transposed = weights, transposed

    @property
    def T(self) -> _WeightedCentering:  # noqa: N802 - as arrays have it
        return _WeightedCentering(self.weights, not self._transposed)

    def __matmul__(self, V: Array) -> Array:
        w, root = self.weights, np.sqrt(self.weights)[:, None]
        if self._transposed:
            scaled = root * V
            return np.asarray(scaled - np.outer(w, scaled.sum(axis=0)) / w.sum())
        return np.asarray(root * (V - w @ V / w.sum()))


class CenteredRidge:
    """``argmin over W of ||H (X W - R)||_F^2 + ridge * ||W||_F^2``, with H = I - 11'/n.

    Factors the smaller of the matrices (n, n) and (d, d), once for every ridge.

    Attributes
    ----------
    curvature : float
        The mean eigenvalue of that matrix, without the ridge.
    """

    def __init__(self, X: Matrix) -> None:
        self._X = X
        self._mean = np.asarray(X.mean(axis=0)).ravel()
        n, d = X.shape
        self._wide = n < d
        gram = X @ X.T if self._wide else X.T @ X
        gram = np.asarray(gram.toarray() if sp.issparse(gram) else gram)
        if self._wide:
            gram = gram - gram.mean(axis=0)
            self._gram = gram - gram.mean(axis=1, keepdims=True)
        else:
            self._gram = gram - n * np.outer(self._mean, self._mean)
        self._ridge, self._factor = -1.0, self._gram
        self.curvature = float(np.trace(self._gram)) / len(self._gram) or 1.0

    def solve(self, R: Array, ridge: float) -> Array:
        """W for targets R (n x c)."""
        if ridge != self._ridge:
            system = self._gram + ridge * np.eye(len(self._gram))
            self._factor = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
            self._ridge = ridge
        R = R - R.mean(axis=0)
        if not self._wide:
            return self._solve(self._adjoint(R))
        return self._adjoint(self._solve(R))

    def _solve(self, B: Array) -> Array:
        return np.asarray(linalg.cho_solve((self._factor, True), B, check_finite=False))

    def _adjoint(self, E: Array) -> Array:
        return np.asarray((E.T @ self._X).T) - np.outer(self._mean, E.sum(axis=0))


def geometric_median(Y: Array) -> Array:
    """The point with the least sum of distances to the rows of Y, by reweighted means.

    Examples
    --------
    >>> geometric_median(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).round(6)
    array([1., 0.])
    """
    points, counts = np.unique(Y, axis=0, return_counts=True)
    values = np.array([counts @ lengths(points - p) for p in points])
    best, value = points[values.argmin()], values.min()
    center = counts @ points / counts.sum()
    for _ in range(1000):
        distances = lengths(points - center)
        if (distances == 0).any():
            break
        weights = counts / distances
        moved = weights @ points / weights.sum()
        if np.array_equal(moved, center):
            break
        center = moved
    return np.asarray(center if counts @ lengths(points - center) < value else best)


def lengths(A: Array) -> Array:
    """Length of every row."""
    return np.asarray(np.linalg.norm(A, axis=1))
