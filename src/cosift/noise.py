"""The noise that the labels spread over the graph and the linear fit have together.

The graph and the labels alone say ``F ~ F0`` with precision ``S = U + L``; the fit says
``F ~ X W + 1 b'`` with precision ``mu I``.  Eliminating F leaves least squares ``X W + 1 b' ~ F0``
whose covariance is the sum of both and whose precision is

    B = (S^-1 + I/mu)^-1 = mu S A^-1,    A = mu I + S,

and eliminating the intercept as well leaves ``M = B - v v'/(1'v)``, ``v = B 1``, so that M 1 = 0.
For n up to some thousands M is factored; beyond, its products come from conjugate gradients.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from cosift._conjugate_gradients import blocks, conjugate_gradients, solve_spd, unit_diagonal
from cosift._kernels import in_threads, product
from cosift._typing import Array

# Entry (i, j) of a Gram matrix is wrong by at most this squared times the root of (i, i) (j, j).
ACCURACY = 1e-6
# What one round in single precision can reduce a residual by; then the true one is computed anew.
SINGLE = 1e-6
ROUNDS = 3
# Residuals below this share of V are rounding.
ROUNDING = 1e-12
# Rows of V in one product: 32 MB of a thousand columns.
ROWS = 4_096


class FactoredPrior:
    """S as ``C C'``, n x n."""

    def __init__(self, S: sp.csr_array) -> None:
        self.factor = linalg.cholesky(S.toarray(), lower=True, check_finite=False)

    def solve(self, B: Array) -> Array:
        """``S^-1 B``."""
        return np.asarray(linalg.cho_solve((self.factor, True), B, check_finite=False))

    def with_fit(self, mu: float) -> FactoredNoise:
        return FactoredNoise(self.factor, mu)


class IterativePrior:
    """S as it is, sparse, and U of it as a vector."""

    def __init__(self, S: sp.csr_array, U: Array) -> None:
        self._S, self._U = S, U

    def solve(self, B: Array) -> Array:
        """``S^-1 B``."""
        return solve_spd(self._S, B)

    def with_fit(self, mu: float) -> IterativeNoise:
        return IterativeNoise(self._S, self._U, mu)


class FactoredNoise:
    """``M = K'K`` with K (n x n) from two Cholesky factors, neither of which cancels.

    With ``S = C C'`` and ``mu I + C'C = G G'``, ``B = K'K`` for ``K = sqrt(mu) G^-1 C'``.
    """

    def __init__(self, factor: Array, mu: float) -> None:
        inner = factor.T @ factor
        inner[np.diag_indices_from(inner)] += mu
        inner = linalg.cholesky(inner, lower=True, overwrite_a=True, check_finite=False)
        K = linalg.solve_triangular(inner, factor.T, lower=True, check_finite=False)
        K *= np.sqrt(mu)
        ones = K.sum(axis=1)
        self.v = K.T @ ones
        K -= np.outer(ones, self.v / self.v.sum())
        self.K = K

    def weigh(self, V: Array) -> Array:
        """``M V``."""
        return np.asarray(self.K.T @ (self.K @ V))

    def precision(self, V: Array) -> Array:
        """``B V``, B from M by undoing the projection."""
        return np.asarray(self.weigh(V) + np.outer(self.v, self.v @ V) / self.v.sum())

    def gram(self, V: Array) -> Array:
        """``V' B V``, likewise."""
        KV, vV = self.K @ V, self.v @ V
        return np.asarray(KV.T @ KV + np.outer(vV, vV) / self.v.sum())


class Smoothed(NamedTuple):
    """What the graph makes of the columns of V: ``F ~ mu A^-1 V`` and ``gram ~ V' B V``."""

    mu: float
    F: Array
    gram: Array


class IterativeNoise:
    """M by conjugate gradients with A, which stays sparse.

    U is the diagonal part of S, as a vector.
    """

    def __init__(self, S: sp.csr_array, U: Array, mu: float) -> None:
        self._S, self._U, self._mu = S, U, mu
        self._A = sp.csr_array(S + mu * sp.eye_array(S.shape[0]))
        # B V = S F = mu (V - F) with F = mu A^-1 V: row by row the form that does not cancel.
        self._loose = S.diagonal()[:, None] < mu

    def gram(self, V: Array, before: Smoothed | None = None) -> Smoothed:
        """``V' B V`` as a minimum, which an error of F enters squared.

        ``V' B V = min over F of F' S F + mu (V - F)'(V - F)``, and F with the residual
        ``R = mu V - A F`` misses it by ``R' A^-1 R``, which is at most ``R' (mu I + U)^-1 R``.
        F is solved for in single precision and its residual taken in double, until that bound is
        below ``ACCURACY`` squared of the minimum.  ``before``, for another mu, gives a start.
        """
        n, m = V.shape
        F, gram = np.empty((n, m)), np.zeros((m, m))
        # Double precision is for what single cannot solve.
        scale, scaled = unit_diagonal(self._A)
        systems = [scaled.astype(np.float32)] * ROUNDS + [scaled] * ROUNDS

        def smooth(columns: slice) -> tuple[Array, Array]:
            start = None
            if before is not None:
                start = self._start(V[:, columns], before, columns, scale, systems[0])
            return self._smooth(np.ascontiguousarray(V[:, columns]), start, scale, systems)

        parts = blocks(m)
        for columns, (F_part, SF_part) in zip(parts, in_threads(smooth, parts), strict=True):
            F[:, columns] = F_part
            gram[: columns.stop, columns] = F[:, : columns.stop].T @ SF_part
        gram = np.triu(gram) + np.triu(gram, 1).T
        for first in range(0, n, ROWS):
            gap = V[first : first + ROWS] - F[first : first + ROWS]
            gram += self._mu * (gap.T @ gap)
        return Smoothed(self._mu, F, gram)

    def _smooth(
        self, V: Array, start: Array | None, scale: Array, systems: list[sp.csr_array]
    ) -> tuple[Array, Array]:
        """F and S F for one block of columns."""
        mu = self._mu
        # V' B V is at least what it would be without a graph.
        least = np.einsum("ij,ij,i->j", V, V, self._U * mu / (self._U + mu))
        most = np.einsum("ij,ij,i->j", V, V, mu**2 / (self._U + mu))
        enough = np.maximum(ACCURACY**2 * least, ROUNDING**2 * most)
        F = np.zeros_like(V) if start is None else start
        SF = np.zeros_like(V) if start is None else product(self._S, F)
        # In the scaled system the bound is a sum of squares with these weights.
        weights = 1.0 / (scale**2 * (mu + self._U))
        for A in systems:
            R = scale[:, None] * (mu * (V - F) - SF)
            bound = np.einsum("ij,ij,i->j", R, R, weights)
            if (bound <= enough).all():
                return F, SF
            size = np.sqrt(np.maximum(bound, np.finfo(np.float64).tiny))
            target = np.clip(0.1 * enough / size**2, SINGLE**2, 1.0)
            target[bound <= enough] = 1.0
            step = conjugate_gradients(A, (R / size).astype(A.dtype), weights, target)
            F += (scale[:, None] * size) * step
            SF = product(self._S, F)
        raise np.linalg.LinAlgError(
            f"conjugate gradients did not reach a residual of {ACCURACY} in {len(systems)} rounds"
        )

    def _start(
        self, V: Array, before: Smoothed, columns: slice, scale: Array, single: sp.csr_array
    ) -> Array:
        """The best combination of another mu's F and of V, for every column.

        Nearly the best: half the digits will do, as the residual of a start is computed anew.
        """
        mu = self._mu
        F = before.F[:, columns]
        AF = mu * F + before.mu * (V - F)  # as S F = mu_before (V - F)
        J = mu * scale[:, None] * V
        size = np.maximum(np.abs(J).max(axis=0), np.finfo(np.float64).tiny)
        AJ = product(single, (J / size).astype(np.float32)) * size / scale[:, None]
        J *= scale[:, None]
        system = np.empty((V.shape[1], 2, 2))
        system[:, 0, 0] = np.einsum("ij,ij->j", F, AF)
        system[:, 1, 1] = np.einsum("ij,ij->j", J, AJ)
        system[:, 0, 1] = system[:, 1, 0] = np.einsum("ij,ij->j", J, AF)
        right = mu * np.stack([np.einsum("ij,ij->j", F, V), np.einsum("ij,ij->j", J, V)], axis=1)
        c = np.einsum("kij,kj->ki", np.linalg.pinv(system, hermitian=True), right)
        return np.asarray(c[:, 0] * F + c[:, 1] * J)

    @cached_property
    def v(self) -> Array:
        return self._precision(np.ones((self._S.shape[0], 1)))[:, 0]

    def weigh(self, V: Array) -> Array:
        """``M V``."""
        return self._precision(V - (self.v @ V) / self.v.sum())

    def _precision(self, V: Array) -> Array:
        """``B V``."""
        F = self.smooth(V)
        return np.where(self._loose, self._S @ F, self._mu * (V - F))

    def smooth(self, V: Array) -> Array:
        """``mu A^-1 V``."""
        F: Array = self._mu * solve_spd(self._A, V)
        return F


Noise = FactoredNoise | IterativeNoise
