"""The Hessian of the smooth part, in the form that suits its shape.

A task's smooth part is ``<W, Q W> - 2 <W, q> + const`` with ``Q = mu * R``, d x d, positive
semi-definite.  What solvers and the certificate ask of Q is the same whichever way it is held:

==============  =====================================================================
``Dense``       Q itself: d is at most n, or a working set made it small
``Factored``    Q = Z'Z with Z of n rows, fewer than d: nothing d x d is ever formed
``Implicit``    Q = X' M X with M known by its products: both n and d are large
==============  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy import linalg

from cosift._typing import Array, Indices, Matrix


class Spectrum(NamedTuple):
    """``Q = V diag(values) V'`` with orthonormal columns in V, (d, r), r at most d."""

    values: Array
    V: Array


class Stiffness(NamedTuple):
    """``E = diag(rows) + U diag(inside) U' + outside * (I - U U')``, U with orthonormal columns.

    All entries are positive and ``inside < outside``; without U, ``outside`` is 0.
    """

    rows: Array  # (d,)
    U: Array  # (d, r)
    inside: Array  # (r,)
    outside: float

    def matrix(self) -> Array:
        E = (self.U * (self.inside - self.outside)) @ self.U.T
        E[np.diag_indices_from(E)] += self.rows + self.outside
        return np.asarray(E)

    def solve(self, B: Array) -> Array:
        """``E^-1 B`` as a sum of two positive terms, so that nothing cancels; r x r systems.

        With ``D = diag(rows)`` and G the rest of E, ``E^-1 = D^-1 - D^-1 (D^-1 + G^-1)^-1 D^-1``,
        and ``D^-1 + G^-1`` is a diagonal plus a positive matrix of rank r.
        """
        total = self.rows + self.outside
        plain = B / total[:, None]
        if not self.inside.size:
            return plain
        U = self.U * (self.outside / total)[:, None]
        inner = self.U.T @ (self.U * (self.rows * self.outside / total)[:, None])
        inner[np.diag_indices_from(inner)] += (
            self.inside * self.outside / (self.outside - self.inside)
        )
        return np.asarray(plain + U @ _solve_spd(inner, U.T @ B))


class Quadratic(Protocol):
    """A positive semi-definite Q of shape (d, d)."""

    @property
    def size(self) -> int: ...
    def product(self, W: Array) -> Array:
        """``Q W``."""

    def restrict(self, features: Indices) -> Quadratic:
        """The principal submatrix of some features."""

    @property
    def spectrum(self) -> Spectrum: ...
    def solve_stiff(self, stiffness: Stiffness, rhs: Array) -> Array:
        """Solve ``(2 Q + E) V = rhs`` for the positive definite E of a `Stiffness`."""


@dataclass(frozen=True)
class Dense:
    """Q as a matrix."""

    Q: Array

    @property
    def size(self) -> int:
        return len(self.Q)

    def product(self, W: Array) -> Array:
        return self.Q @ W

    def restrict(self, features: Indices) -> Dense:
        return Dense(self.Q[np.ix_(features, features)])

    @cached_property
    def spectrum(self) -> Spectrum:
        values, V = linalg.eigh(self.Q, check_finite=False, driver="evd")
        # Rounding makes the zero eigenvalues of a semi-definite matrix slightly negative.
        return Spectrum(np.maximum(values, 0.0), V)

    def solve_stiff(self, stiffness: Stiffness, rhs: Array) -> Array:
        system = 2.0 * self.Q + stiffness.matrix()
        return _solve_spd(system, rhs)


@dataclass(frozen=True)
class Factored:
    """``Q = Z'Z`` for Z of shape (n, d) with n below d: an array or anything that acts like one.

    Z needs ``Z @ W``, ``Z.T @ E`` and ``Z[:, features]``, the last an array.
    """

    Z: Matrix

    @property
    def size(self) -> int:
        return int(self.Z.shape[1])

    def product(self, W: Array) -> Array:
        return np.asarray(self.Z.T @ (self.Z @ W))

    def restrict(self, features: Indices) -> Quadratic:
        Z = self.Z[:, features]
        return Factored(Z) if Z.shape[0] < Z.shape[1] else Dense(Z.T @ Z)

    @cached_property
    def spectrum(self) -> Spectrum:
        Z = self._columns()
        values, U = linalg.eigh(Z @ Z.T, check_finite=False, driver="evd")
        held = values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)
        values, U = values[held], U[:, held]
        return Spectrum(values, Z.T @ (U / np.sqrt(values)))

    def solve_stiff(self, stiffness: Stiffness, rhs: Array) -> Array:
        Z = self._columns()
        EZ, ER = stiffness.solve(Z.T), stiffness.solve(rhs)
        system = 2.0 * (Z @ EZ)  # n x n, by the formula of Woodbury
        system[np.diag_indices_from(system)] += 1.0
        return np.asarray(ER - 2.0 * EZ @ _solve_spd(system, Z @ ER))

    def _columns(self) -> Array:
        return self.Z if isinstance(self.Z, np.ndarray) else self.Z[:, np.arange(self.size)]


@dataclass(frozen=True)
class Implicit:
    """``Q = X' M X`` where only products with M (n x n) are to be had, each a linear solve."""

    X: Matrix
    weigh: Callable[[Array], Array]  # V -> M V

    @property
    def size(self) -> int:
        return int(self.X.shape[1])

    def product(self, W: Array) -> Array:
        return np.asarray(self.X.T @ self.weigh(np.asarray(self.X @ W)))

    def restrict(self, features: Indices) -> Dense:
        X = self.X[:, features]
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        Q = X.T @ self.weigh(dense)
        return Dense(np.asarray(Q + Q.T) / 2.0)

    @property
    def spectrum(self) -> Spectrum:
        return self._dense.spectrum

    def solve_stiff(self, stiffness: Stiffness, rhs: Array) -> Array:
        return self._dense.solve_stiff(stiffness, rhs)

    @cached_property
    def _dense(self) -> Dense:
        return self.restrict(np.arange(self.size))


def _solve_spd(A: Array, B: Array) -> Array:
    factor = linalg.cho_factor(A, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, B, check_finite=False))
