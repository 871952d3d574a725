"""The two norms of the objective and their sum.

For ``W = [W_1 ... W_t]`` of shape (d, C), where task l owns ``sizes[l]`` consecutive columns::

    row sparsity   alpha * sum_l ||W_l||_{2,1} = alpha * sum_l sum_j ||w_l^j||_2
    trace norm     gamma * ||W||_*             = gamma * (sum of singular values of W)

A norm knows its value, its proximal operator, and the *gauge* of its dual ball: ``gauge(Theta)``
is the least s with ``Theta`` in s times the ball, so that ``gauge(Theta) <= 1`` says that
``<Theta, V> <= value(V)`` for every V.  It knows nothing of solvers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from cosift._typing import Array, Indices


class Norm(Protocol):
    """A norm with its weight, as the solvers and the certificate use it."""

    def value(self, W: Array) -> float: ...
    def prox(self, W: Array, step: float) -> Array: ...
    def gauge(self, theta: Array) -> float: ...


def row_norms(W: Array, sizes: Indices) -> Array:
    """Norm of every row of every task: ``||w_l^j||``, shape (d, t).

    Examples
    --------
    >>> row_norms(np.array([[3.0, 4.0, 5.0]]), np.array([2, 1]))
    array([[5., 5.]])
    """
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    # Scaled by the largest entry, so that neither 1e-200 nor 1e+200 leaves the range of squares.
    scale = np.abs(W).max(initial=0.0) or 1.0
    return scale * np.sqrt(np.add.reduceat((W / scale) ** 2, starts, axis=1))


def right_spectrum(W: Array) -> tuple[Array, Array]:
    """Singular values of W (descending, not negative) and its right singular vectors.

    They come from the C x C Gram matrix, a small fraction of the cost of an SVD.  Values below
    1e-8 of the largest carry no digits, which the proximal operator does not notice: there
    ``max(0, 1 - step/s)`` multiplies something that small.
    """
    scale = np.abs(W).max(initial=0.0) or 1.0  # squares must neither vanish nor overflow
    W = W / scale
    squares, V = linalg.eigh(W.T @ W, check_finite=False)
    return scale * np.sqrt(np.maximum(squares[::-1], 0.0)), V[:, ::-1]


@dataclass(frozen=True)
class RowSparsity:
    """``alpha * sum_l ||W_l||_{2,1}``."""

    alpha: float
    sizes: Indices

    def value(self, W: Array) -> float:
        return float(self.alpha * row_norms(W, self.sizes).sum())

    def prox(self, W: Array, step: float) -> Array:
        """Shorten every row of every task by ``alpha*step``, to zero at least."""
        norms = row_norms(W, self.sizes)
        threshold = self.alpha * step
        kept = 1.0 - threshold / np.maximum(norms, threshold)
        shortened: Array = W * np.repeat(kept, self.sizes, axis=1)
        return shortened

    def gauge(self, theta: Array) -> float:
        return float(row_norms(theta, self.sizes).max(initial=0.0) / self.alpha)


@dataclass(frozen=True)
class TraceNorm:
    """``gamma * ||W||_*``."""

    gamma: float

    def value(self, W: Array) -> float:
        # Here small singular values do count: they are summed, so they come from a real SVD.
        rows = W[np.any(W != 0.0, axis=1)]
        if not rows.size:
            return 0.0
        return float(self.gamma * linalg.svdvals(rows, check_finite=False).sum())

    def prox(self, W: Array, step: float) -> Array:
        """Shorten every singular value by ``gamma*step``, to zero at least."""
        values, V = right_spectrum(W)
        shortened = values > self.gamma * step
        if not shortened.any():
            return np.zeros_like(W)
        V = V[:, shortened]
        kept = 1.0 - self.gamma * step / values[shortened]
        return np.asarray((W @ (V * kept)) @ V.T)

    def gauge(self, theta: Array) -> float:
        return float(right_spectrum(theta)[0][0] / self.gamma)


@dataclass(frozen=True)
class Penalty:
    """``Omega(W) = alpha * sum_l ||W_l||_{2,1} + gamma * ||W||_*`` (without the second if 0).

    Examples
    --------
    >>> omega = Penalty(alpha=1.0, gamma=2.0, sizes=np.array([1, 1]))
    >>> omega.value(np.array([[3.0, 4.0]]))  # 1 * (3 + 4) + 2 * 5
    17.0
    """

    alpha: float
    gamma: float
    sizes: Indices

    @property
    def norms(self) -> tuple[Norm, ...]:
        rows = RowSparsity(self.alpha, self.sizes)
        return (rows, TraceNorm(self.gamma)) if self.gamma > 0 else (rows,)

    def scaled(self, factor: float) -> Penalty:
        return Penalty(self.alpha * factor, self.gamma * factor, self.sizes)

    def value(self, W: Array) -> float:
        return sum(norm.value(W) for norm in self.norms)

    def gauge_of_split(self, theta: Array, rows: Array | None = None, sweeps: int = 3) -> float:
        """Upper bound on the gauge of Omega's dual ball, from a split ``theta = A + B``.

        Every split bounds it by ``max(gauge(A), gauge(B))``; the least over all splits is the
        gauge.  ``rows`` is a guess of A; each sweep replaces one part by its projection onto
        its ball and gives the other part the rest.
        """
        if len(self.norms) == 1:
            return self.norms[0].gauge(theta)
        sparse, low_rank = self.norms
        A = theta if rows is None else rows
        B = theta - A
        best = max(sparse.gauge(A), low_rank.gauge(B))
        for _ in range(sweeps):
            if best <= 1.0:
                break
            # A projection has gauge 1 but for rounding, and rounding counts: it is measured.
            B = B - low_rank.prox(B, 1.0)
            A = theta - B
            best = min(best, max(sparse.gauge(A), low_rank.gauge(B)))
            A = A - sparse.prox(A, 1.0)
            B = theta - A
            best = min(best, max(sparse.gauge(A), low_rank.gauge(B)))
        return best
