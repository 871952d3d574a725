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

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from cosift._conjugate_gradients import solve_spd
from cosift._typing import Array


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
    """S as it is, sparse."""

    def __init__(self, S: sp.csr_array) -> None:
        self._S = S

    def solve(self, B: Array) -> Array:
        """``S^-1 B``."""
        return solve_spd(self._S, B)

    def with_fit(self, mu: float) -> IterativeNoise:
        return IterativeNoise(self._S, mu)


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


class IterativeNoise:
    """M by conjugate gradients with A, which stays sparse."""

    def __init__(self, S: sp.csr_array, mu: float) -> None:
        self._S, self._mu = S, mu
        self._A = sp.csr_array(S + mu * sp.eye_array(S.shape[0]))
        # B V = S F = mu (V - F) with F = mu A^-1 V: row by row the form that does not cancel.
        self._loose = S.diagonal()[:, None] < mu

    @cached_property
    def v(self) -> Array:
        return self._precision(np.ones((self._S.shape[0], 1)))[:, 0]

    def weigh(self, V: Array) -> Array:
        """``M V``."""
        return self._precision(V - (self.v @ V) / self.v.sum())

    def _precision(self, V: Array) -> Array:
        """``B V``."""
        F = self._mu * solve_spd(self._A, V)
        return np.where(self._loose, self._S @ F, self._mu * (V - F))


Noise = FactoredNoise | IterativeNoise
