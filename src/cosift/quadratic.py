"""The smooth part of one set of tasks, ``<W, Q W> - 2 <W, q>``, in the form that suits its shape.

``Q = X'M X = mu R`` is d x d, positive semi-definite, and ``q = X'M F0 = mu T``.  What solvers and
the certificate ask is the same whichever way it is held:

==============  =====================================================================
``Dense``       Q itself: d is small beside n, or a working set made it small
``Factored``    ``Q = (K X)'(K X)`` by its factors: with n below d nothing is d x d
``Implicit``    ``Q = X' M X`` with M known by its products: both n and d are large
==============  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from cosift._typing import Array, Indices, Matrix


class Stiffness(NamedTuple):
    """``E = diag(rows) + U diag(inside) U' + outside * (I - U U')``, U with orthonormal columns.

    All entries are positive and ``inside < outside``; without U, ``outside`` is 0.
    """

    rows: Array  # (d,)
    U: Array  # (d, r)
    inside: Array  # (r,)
    outside: float

    def inverse(self) -> tuple[Array, Array]:
        """``E^-1 = diag(a) + V V'`` as (a, V): a sum of positive terms, so that nothing cancels.

        With ``D = diag(rows)`` and G the rest of E, ``E^-1 = D^-1 - D^-1 (D^-1 + G^-1)^-1 D^-1``,
        and ``D^-1 + G^-1`` is a diagonal plus a positive matrix of rank r.
        """
        total = self.rows + self.outside
        if not self.inside.size:
            return 1.0 / total, self.U
        inner = self.U.T @ (self.U * (self.rows * self.outside / total)[:, None])
        ratio = self.inside * self.outside / (self.outside - self.inside)
        inner[np.diag_indices_from(inner)] += ratio
        factor = linalg.cholesky(inner, lower=True, check_finite=False)
        U = self.U * (self.outside / total)[:, None]
        V = linalg.solve_triangular(factor, U.T, lower=True, check_finite=False).T
        return 1.0 / total, V


class Tied(NamedTuple):
    """``W = argmin_W <W, Q W> - 2 <W, q> + rho/2 ||W - P||^2``."""

    P: Array
    rho: float
    W: Array

    def columns(self, own: Indices) -> Tied:
        """The same for some columns."""
        return Tied(self.P[:, own], self.rho, self.W[:, own])


class Quadratic(Protocol):
    """``<W, Q W> - 2 <W, q>`` for W of shape (d, c)."""

    @property
    def linear(self) -> Array:
        """q, (d, c)."""

    def product(self, W: Array) -> Array:
        """``Q W``."""

    def restrict(self, features: Indices) -> Quadratic:
        """The same with all other features held at zero."""

    def solve_tied(self, P: Array, rho: float, known: Tied | None = None) -> Array:
        """``argmin_W <W, Q W> - 2 <W, q> + rho/2 ||W - P||^2``; one may be known."""

    def solve_stiff(self, stiffness: Stiffness, columns: slice) -> Array:
        """``(2 Q + E)^-1 2 q`` for some columns of q."""


@dataclass(frozen=True)
class Dense:
    """Q as a matrix."""

    Q: Array
    linear: Array
    _factors: dict[float, Array] = field(default_factory=dict, repr=False, compare=False)

    def product(self, W: Array) -> Array:
        used = _used(W)
        return self.Q @ W if used is None else np.asarray((W[used].T @ self.Q[used]).T)

    def restrict(self, features: Indices) -> Dense:
        return Dense(self.Q[np.ix_(features, features)], self.linear[features])

    def solve_tied(self, P: Array, rho: float, known: Tied | None = None) -> Array:
        factor = _factor_for(self._factors, rho, self.Q)
        # A correction, so that the error of the factor counts against the correction only.  One to
        # a known answer takes no product with Q.
        if known is not None and known.rho == rho:
            return known.W + _cho_solve(factor, rho * (P - known.P))
        return P + _cho_solve(factor, 2.0 * (self.linear - self.Q @ P))

    def solve_stiff(self, stiffness: Stiffness, columns: slice) -> Array:
        # With E^-1 = G G': (2 Q + E)^-1 = G (I + 2 G'Q G)^-1 G'.  E itself would lose the digits of
        # what is inside to what is outside.
        diagonal, V = stiffness.inverse()
        root = np.sqrt(diagonal)[:, None]
        QV = self.Q @ V
        system = 2.0 * np.block([[root * self.Q * root.T, root * QV], [(root * QV).T, V.T @ QV]])
        system[np.diag_indices_from(system)] += 1.0
        q = 2.0 * self.linear[:, columns]
        solved = _cho_solve(_cholesky(system), np.vstack([root * q, V.T @ q]))
        return root * solved[: len(root)] + V @ solved[len(root) :]


@dataclass(frozen=True)
class Factored:
    """``||K X W - g||^2`` less a constant: ``Q = (K X)'(K X)``, ``q = (K X)' g``.

    Systems are n x n, or d x d if d is at most n.  K needs only ``K @ V`` and ``K.T @ V``.  X may
    be sparse; K X is never formed.
    """

    X: Matrix  # (n, d)
    K: Matrix  # (n, n)
    target: Array  # g, (n, c)
    _factors: dict[float, Array] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def linear(self) -> Array:
        return self._adjoint(self.target)

    def product(self, W: Array) -> Array:
        formed = self.__dict__.get("_dense")
        return self._adjoint(self._apply(W)) if formed is None else formed.product(W)

    def restrict(self, features: Indices) -> Quadratic:
        X = self.X[:, features]
        if X.shape[0] < X.shape[1]:
            return Factored(X, self.K, self.target)
        if isinstance(self.K, Centering):
            return Dense(self.K.gram(X), self.linear[features])
        Z = np.asarray(self.K @ _array(X))
        return Dense(Z.T @ Z, Z.T @ self.target)

    @cached_property
    def _dense(self) -> Quadratic:
        return self.restrict(np.arange(self.X.shape[1]))

    def solve_tied(self, P: Array, rho: float, known: Tied | None = None) -> Array:
        if self.X.shape[0] >= self.X.shape[1]:
            return self._dense.solve_tied(P, rho, known)
        factor = _factor_for(self._factors, rho, self._gram)
        return P + self._adjoint(2.0 * _cho_solve(factor, self.target - self._apply(P)))

    def solve_stiff(self, stiffness: Stiffness, columns: slice) -> Array:
        if self.X.shape[0] >= self.X.shape[1]:
            return self._dense.solve_stiff(stiffness, columns)
        # With Z = K X: (2 Z'Z + E)^-1 2 Z'g = E^-1 Z' (I + 2 Z E^-1 Z')^-1 2 g.
        diagonal, V = stiffness.inverse()
        XV = np.asarray(self.X @ V)
        scaled = sp.csr_array(self.X * diagonal) if sp.issparse(self.X) else self.X * diagonal
        system = 2.0 * self._both_sides(_array(scaled @ self.X.T) + XV @ XV.T)
        system[np.diag_indices_from(system)] += 1.0
        solved = self._adjoint(_cho_solve(_cholesky(system), 2.0 * self.target[:, columns]))
        return diagonal[:, None] * solved + V @ (V.T @ solved)

    @cached_property
    def _gram(self) -> Array:
        return self._both_sides(_array(self.X @ self.X.T))

    def _both_sides(self, A: Array) -> Array:
        """``K A K'`` for a symmetric A."""
        return np.asarray(self.K @ (self.K @ A).T)

    def _apply(self, W: Array) -> Array:
        X, used = self.X, _used(W)
        if used is not None:
            X, W = X[:, used], W[used]
        # Few columns: multiplying from the left reads X once, at twice the speed of X @ W.
        return np.asarray(self.K @ (W.T @ X.T).T)

    def _adjoint(self, E: Array) -> Array:
        return np.asarray(((self.K.T @ E).T @ self.X).T)


@dataclass(frozen=True)
class Implicit:
    """``Q = X' M X`` where only products with M (n x n) are to be had, each a linear solve."""

    X: Matrix
    weigh: Callable[[Array], Array]  # V -> M V
    linear: Array

    def product(self, W: Array) -> Array:
        return np.asarray(self.X.T @ self.weigh(np.asarray(self.X @ W)))

    def restrict(self, features: Indices) -> Dense:
        X = self.X[:, features]
        Q = np.asarray(X.T @ self.weigh(_array(X)))
        return Dense((Q + Q.T) / 2.0, self.linear[features])

    def solve_tied(self, P: Array, rho: float, known: Tied | None = None) -> Array:
        return self._dense.solve_tied(P, rho, known)

    def solve_stiff(self, stiffness: Stiffness, columns: slice) -> Array:
        return self._dense.solve_stiff(stiffness, columns)

    @cached_property
    def _dense(self) -> Dense:
        return self.restrict(np.arange(self.X.shape[1]))


class Centering:
    """``scale * (I - 1 1'/n)`` without the matrix."""

    def __init__(self, scale: float) -> None:
        self._scale = scale

    @property
    def T(self) -> Centering:  # noqa: N802 - as arrays have it
        return self

    def __matmul__(self, V: Array) -> Array:
        return np.asarray(self._scale * (V - V.mean(axis=0)))

    def gram(self, X: Matrix) -> Array:
        """``(K X)'(K X)`` for an X that is sparse or centred, so that no digits are lost."""
        mean = np.asarray(X.mean(axis=0)).ravel()
        Q = _array(X.T @ X) - X.shape[0] * np.outer(mean, mean)
        return np.asarray(self._scale**2 * Q)


# Of so few rows in use the others are left out: to gather them costs less than to multiply all.
FEW = 1 / 4


def _used(W: Array) -> Indices | None:
    """Rows that are not zero if they are few, else None."""
    used = np.flatnonzero(W.any(axis=1))
    return used if len(used) <= FEW * len(W) else None


def _factor_for(factors: dict[float, Array], rho: float, A: Array) -> Array:
    """Cholesky factor of ``2 A + rho I``; the last one is kept, for rho changes seldom."""
    if rho not in factors:
        system = 2.0 * A
        system[np.diag_indices_from(system)] += rho
        factors.clear()
        factors[rho] = _cholesky(system)
    return factors[rho]


def _cholesky(A: Array) -> Array:
    factor: Array = linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    return factor


def _cho_solve(factor: Array, B: Array) -> Array:
    return np.asarray(linalg.cho_solve((factor, True), B, check_finite=False))


def _array(X: Matrix) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X)
