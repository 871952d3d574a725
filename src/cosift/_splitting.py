"""The iteration of Douglas and Rachford, with weights that adapt and extrapolated steps.

A sum of functions, some of copies Z_k and one of V that ties the copies together, is minimised by

    Z_k = prox of function k at S_k with step 1/rho_k
    V   = the point of the tying function nearest to the 2 Z_k - S_k, in the weights rho
    S_k <- S_k + V_k - Z_k

until V = Z; then ``rho_k (S_k - Z_k)`` is a subgradient of function k.  The caller computes Z and
V; this class moves S.  Derivation: docs/solvers.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cosift._anderson import Anderson
from cosift._typing import Array

MEMORY = 10
# The weights settle early: every change starts the extrapolation anew.
ADAPT_AT = frozenset({5, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920})
SAME = 1.0 + 1e-6  # residuals up to this ratio are equal
LARGEST = 10.0  # factor on the weights at one time
TINY = float(np.finfo(float).tiny)


class Splitting:
    """The state S (one array a copy) and the weights rho.

    Examples
    --------
    The point of ``x >= 2`` nearest to 1, one copy, with the distance as the tying function:

    >>> iteration = Splitting([np.array([0.0])], np.array([1.0]))
    >>> for _ in range(40):
    ...     Z = [np.maximum(iteration.S[0], 2.0)]
    ...     V = [(1.0 + iteration.rho[0] * (2 * Z[0] - iteration.S[0])) / (1 + iteration.rho[0])]
    ...     iteration.advance(Z, V)
    >>> Z[0].round(6)
    array([2.])
    """

    def __init__(self, S: Sequence[Array], rho: Array) -> None:
        self.S = list(S)
        self.rho = rho
        self.iteration = 0
        self._previous: Sequence[Array] = self.S
        self._memory = Anderson(MEMORY)
        self._best = np.inf
        self._fallback: tuple[list[Array], Sequence[Array]] = self.S, self.S
        self._adapts = False

    def parts(self, Z: Sequence[Array]) -> list[Array]:
        """The subgradients ``rho_k (S_k - Z_k)``."""
        return [r * (S - Z) for r, S, Z in zip(self.rho, self.S, Z, strict=True)]

    def advance(self, Z: Sequence[Array], V: Sequence[Array]) -> None:
        """Take the step from S with copies Z and tied point V."""
        self.iteration += 1
        self._adapts |= self.iteration in ADAPT_AT
        residual = self._size(V, Z)
        if residual > 2.0 * self._best:
            # The extrapolation went astray: back to the best plain step. The weights can wait.
            self.S, self._previous = self._fallback
            self._forget()
            return
        image = [S + (v - z) for S, v, z in zip(self.S, V, Z, strict=True)]
        if self._adapts:
            self._adapts = False
            factor = self._balance(Z, V)
            if not 0.5 <= factor <= 2.0:
                # The parts rho (S - Z) keep their values.
                self.S = [z + (s - z) / factor for z, s in zip(Z, image, strict=True)]
                self.rho = self.rho * factor
                self._forget()
                return
        self._previous = Z
        if residual <= self._best * SAME:
            # Equal ones count: a long way of equal steps is progress, and its start no fallback.
            self._best, self._fallback = min(residual, self._best), (image, Z)
        flat = self._memory.step(self._flat(self.S), self._flat(image))
        self.S = self._unflat(flat)

    def _forget(self) -> None:
        self._memory.forget()
        self._best, self._fallback = np.inf, (self.S, self._previous)

    def _balance(self, Z: Sequence[Array], V: Sequence[Array]) -> float:
        """The factor on rho that brings primal and dual infeasibility, both relative, together.

        V - Z is the one, to be seen beside Z, and the last step of Z the other, beside S - Z.
        """
        primal = self._size(V, Z) * self._size(self.S, Z)
        dual = max(self._size(Z, self._previous) * self._size(Z), TINY)
        return float(np.sqrt(np.clip(primal, dual / LARGEST**2, dual * LARGEST**2) / dual))

    def _size(self, arrays: Sequence[Array], less: Sequence[Array] | None = None) -> float:
        """``sqrt(sum_k rho_k ||A_k - B_k||^2)``, the norm in which a step never goes astray."""
        gaps = arrays if less is None else [a - b for a, b in zip(arrays, less, strict=True)]
        return float(np.sqrt(sum(r * np.vdot(g, g) for r, g in zip(self.rho, gaps, strict=True))))

    def _flat(self, arrays: Sequence[Array]) -> Array:
        scaled = [np.sqrt(r) * a.ravel() for r, a in zip(self.rho, arrays, strict=True)]
        return np.concatenate(scaled)

    def _unflat(self, flat: Array) -> list[Array]:
        ends = np.cumsum([s.size for s in self.S])
        pieces = np.split(flat, ends[:-1])
        return [
            piece.reshape(s.shape) / np.sqrt(r)
            for piece, s, r in zip(pieces, self.S, self.rho, strict=True)
        ]
