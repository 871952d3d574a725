"""Nearest neighbours in single precision, with a bound on what it may have overlooked.

Distances are symmetric, so a tile of them serves its rows and its columns: half of all products,
each in single precision.  Every sample keeps a few more neighbours than are wanted.  The rest are
at least as far as the farthest of those, less the rounding error, and where that is farther than
the last neighbour wanted, nothing was overlooked.  Compiled by numba (extra ``scale``).

With ``u = 2^-24``, a product of x and y with d entries is wrong by ``(d + 2) u |x| |y|`` at most,
rounding of the entries included, and ``|x|^2 + |y|^2 - 2 x'y`` by ``e (|x|^2 + |y|^2)`` with
``e = (d + 9) u``.  As ``|y|^2 <= 2 |x|^2 + 2 D`` for a squared distance D, a computed one of at
least b means ``D >= (b - 3 e |x|^2) / (1 + 2 e)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cosift._kernels import has_numba, in_threads
from cosift._typing import Array, Indices

T = TypeVar("T")
Singles = NDArray[np.float32]

# Neighbours kept beyond those wanted.
SPARE = 8
# Rows and columns of a tile of distances: 16 MB.
ROWS, COLUMNS = 1_024, 4_096


def available() -> bool:
    """Whether the compiler is installed."""
    return has_numba()


class Candidates(NamedTuple):
    """A few near others of every sample, and what all other samples are at least away."""

    others: Indices  # (n, K)
    beyond: Array  # (n,), squared distances


def candidates(X: Array, squared_norms: Array, count: int) -> Candidates:
    """Find ``count + SPARE`` near others of every sample.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples about their mean, more than ``count + SPARE``.
    squared_norms : ndarray of shape (n,)
        Their squared norms.
    count : int
        Neighbours wanted.
    """
    n, d = X.shape
    unit = float(squared_norms.max()) or 1.0  # so that no square overflows
    singles = np.empty((n, d), dtype=np.float32)
    np.multiply(X, 1.0 / np.sqrt(unit), out=singles, casting="same_kind")
    norms = (squared_norms / unit).astype(np.float32)
    workers = joblib.cpu_count()
    K = count + SPARE
    parts = [_Nearest(n, K) for _ in range(workers)]

    def search(worker: int) -> None:
        # Row blocks in turn, for the first have the most columns to go.
        tile = np.empty(ROWS * COLUMNS, dtype=np.float32)
        for first in range(worker * ROWS, n, workers * ROWS):
            rows = slice(first, min(first + ROWS, n))
            for columns in _columns(first, n):
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                products = tile[: shape[0] * shape[1]].reshape(shape)
                np.matmul(singles[rows], singles[columns].T, out=products)
                parts[worker].offer(products, norms, rows.start, columns.start)

    with threadpool_limits(1, user_api="blas"):
        list(in_threads(search, range(workers)))
    best = np.hstack([part.distances for part in parts])
    who = np.hstack([part.others for part in parts])
    nearest = np.argpartition(best, K - 1, axis=1)[:, :K]
    farthest = np.take_along_axis(best, nearest, axis=1).max(axis=1).astype(np.float64)
    error = (d + 9) * 2.0**-24
    tiny = d * float(np.finfo(np.float32).tiny)
    beyond = (farthest - 3.0 * error * squared_norms / unit - tiny) / (1.0 + 2.0 * error)
    return Candidates(np.take_along_axis(who, nearest, axis=1).astype(np.intp), unit * beyond)


def distances(X: Array, rows: Indices, others: Indices) -> Array:
    """Squared distances of some samples to some others each, (rows, K), in double precision."""
    out = np.empty(others.shape)

    def measure(part: slice) -> None:
        _compiled().measure(X, rows[part], others[part], out[part])

    step = 4_096
    parts = [slice(first, first + step) for first in range(0, len(rows), step)]
    list(in_threads(measure, parts))
    return out


def _columns(first: int, n: int) -> Iterator[slice]:
    """The rows' own block and all columns after it."""
    return (slice(start, min(start + COLUMNS, n)) for start in range(first, n, COLUMNS))


class _Nearest:
    """The K nearest others seen so far of every sample, in no order."""

    def __init__(self, n: int, K: int) -> None:
        self.distances = np.full((n, K), np.inf, dtype=np.float32)
        self.others = np.full((n, K), -1, dtype=np.int32)
        self._farthest = np.full(n, np.inf, dtype=np.float32)

    def offer(self, products: Singles, norms: Singles, row: int, column: int) -> None:
        """Take in a tile of products: of rows from ``row`` with columns from ``column`` on."""
        kept = (self.distances, self.others, self._farthest)
        _compiled().offer(products, norms, row, column, *kept)


class _Kernels(NamedTuple):
    offer: Any
    measure: Any


@cache
def _compiled() -> _Kernels:
    compiled: Callable[[T], T] = import_module("numba").njit(nogil=True)

    @compiled
    def take(i: int, j: int, distance: Any, best: Any, who: Any, farthest: Any) -> None:
        worst = 0
        for slot in range(best.shape[1]):
            if best[i, slot] > best[i, worst]:
                worst = slot
        best[i, worst], who[i, worst] = distance, j
        largest = best[i, 0]
        for slot in range(best.shape[1]):
            largest = max(largest, best[i, slot])
        farthest[i] = largest

    @compiled
    def offer(
        products: Any, norms: Any, row: int, column: int, best: Any, who: Any, farthest: Any
    ) -> None:
        m, width = products.shape
        gap = np.empty(width, dtype=np.float32)
        two = np.float32(2.0)
        for a in range(m):
            i = row + a
            own, reach = norms[i], farthest[i]
            near = 0
            # Without a branch, so that it is vectorised; what is near is looked at again.
            for b in range(width):
                gap[b] = own + norms[column + b] - two * products[a, b]
                near += (gap[b] < reach) | (gap[b] < farthest[column + b])
            if near == 0:
                continue
            for b in range(width):
                j = column + b
                if j <= i and j >= row:
                    continue  # itself, or a pair that the block's own tile has twice
                if gap[b] < farthest[i]:
                    take(i, j, gap[b], best, who, farthest)
                if gap[b] < farthest[j]:
                    take(j, i, gap[b], best, who, farthest)

    @compiled
    def measure(X: Any, rows: Any, others: Any, out: Any) -> None:
        for a in range(len(rows)):
            for b in range(others.shape[1]):
                total = 0.0
                for c in range(X.shape[1]):
                    gap = X[rows[a], c] - X[others[a, b], c]
                    total += gap * gap
                out[a, b] = total

    return _Kernels(offer, measure)
