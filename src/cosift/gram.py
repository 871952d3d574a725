"""What samples add to the problem, as one matrix that sums over independent sets of samples.

With B of `noise` and ``V = [X 1 F0]``, the smooth part of tasks that share samples is

    floor + <X W + 1 b' - F0, B (X W + 1 b' - F0)>,

so ``V' B V`` and the floor say all of it.  Samples that no edge of a graph ties together add
theirs; only then is b eliminated, once for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosift._typing import Array
from cosift.quadratic import Dense


@dataclass(frozen=True)
class Gram:
    """``V' B V`` of ``V = [X - 1 mean', 1, F0]``, with d + 1 + c columns, and the floor.

    Examples
    --------
    >>> V = np.array([[0.0, 1.0, 1.0], [2.0, 1.0, 5.0]])  # B = I, x = 0 and 2, F0 = 1 and 5
    >>> one, other = (Gram(row.T @ row, np.zeros(1), 0.0) for row in (V[:1], V[1:]))
    >>> quadratic, energy = (one + other).centered()
    >>> quadratic.Q, quadratic.linear, energy  # of x - 1 and F0 - 3
    (array([[2.]]), array([[4.]]), 8.0)
    """

    matrix: Array
    mean: Array
    floor: float

    def __add__(self, other: Gram) -> Gram:
        """Both sets of samples together, about the mean of the first."""
        moved = other.about(self.mean)
        return Gram(self.matrix + moved.matrix, self.mean, self.floor + other.floor)

    def about(self, mean: Array) -> Gram:
        """The same about another mean: columns ``X - 1 mean' = (X - 1 old') + 1 (old - mean)'``."""
        d, matrix = len(mean), self.matrix.copy()
        shift = self.mean - mean
        matrix[:, :d] += np.outer(matrix[:, d], shift)
        matrix[:d] += np.outer(shift, matrix[d])
        return Gram(matrix, mean, self.floor)

    def centered(self) -> tuple[Dense, float]:
        """Q, q and the energy, b eliminated."""
        d = len(self.mean)
        v = self.matrix[d]
        M = self.matrix - np.outer(v, v) / v[d]
        return Dense(M[:d, :d], M[:d, d + 1 :]), float(np.trace(M[d + 1 :, d + 1 :]))

    def intercept(self, W: Array) -> Array:
        """The best b for a W: ``1' B (X W + 1 b' - F0) = 0``."""
        d = len(self.mean)
        v = self.matrix[d]
        return np.asarray((v[d + 1 :] - v[:d] @ W) / v[d] - self.mean @ W)
