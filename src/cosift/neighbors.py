"""Every sample's clique: itself and its nearest others.

Three searches, one answer.  Distances to all others in double precision, a block of rows at a time,
serve wherever nothing is installed.  With the extra ``scale`` and dense samples that can be copied,
`_screening` finds a few more than are wanted in single precision and shows that no other can be
nearer: the answer is the same, sooner.  Where even that is out of reach, `_approximate` may miss
some; its recall is measured, and it is used only if that is at least ``RECALL``.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from cosift import _approximate, _screening
from cosift._products import DenseProducts, Products, blocks, sample_products
from cosift._typing import Array, Indices

__all__ = ["Cliques", "find_cliques", "neighborhoods"]

# Squared distances |x|^2 + |y|^2 - 2xy are known to this share of |x|^2 + |x - y|^2.
# Closer ones are ties: otherwise the shape of a matrix product would choose among duplicates.
RESOLUTION = 1e-13
# Samples below which screening has nothing to gain.
SCREENED_SAMPLES = 10_000
# Multiplications, n^2 d, up to which the search is exact whatever it takes: some minutes.
EXACT_WORK = 5e13
# An approximate search must find this share of the nearest others of ``SAMPLE`` samples.
RECALL = 0.95
SAMPLE = 1_000


class Cliques(NamedTuple):
    """Cliques, and the share of true nearest others that they hold.

    Attributes
    ----------
    members : ndarray of intp, shape (n, k)
        Row i starts with i; the others follow by distance.
    recall : float
        1 where the search is exact; otherwise measured on ``SAMPLE`` samples, evenly spaced.
    """

    members: Indices
    recall: float


def neighborhoods(X: Any, n_neighbors: int = 15) -> Indices:
    """Find every sample's clique: the sample itself and its nearest others.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n, d)
        Samples; memory maps are read block by block.
    n_neighbors : int, default=15
        Size k of a clique, the sample itself included; at most n are taken.

    Returns
    -------
    ndarray of intp, shape (n, min(k, n))
        Row i starts with i; the others follow by Euclidean distance, ties by index.

    Examples
    --------
    >>> import numpy as np
    >>> neighborhoods(np.array([[0.0], [1.0], [3.0], [3.0]]), n_neighbors=2)
    array([[0, 1],
           [1, 0],
           [2, 3],
           [3, 2]])
    """
    return find_cliques(sample_products(X), n_neighbors).members


def find_cliques(products: Products, n_neighbors: int) -> Cliques:
    """Find cliques in the way that suits the samples; see the module's text."""
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1. Got {n_neighbors}.")
    n = len(products.squared_norms)
    itself = np.arange(n)[:, None]
    n_others = min(operator.index(n_neighbors), n) - 1
    if n_others == 0:
        return Cliques(itself, 1.0)
    X = products.centered if isinstance(products, DenseProducts) else None
    if X is not None and n > max(SCREENED_SAMPLES, n_others + _screening.SPARE):
        if float(n) * X.size > EXACT_WORK and _approximate.available():
            others, recall = _approximately(products, X, n_others)
            if recall >= RECALL:
                return Cliques(np.hstack([itself, others]), recall)
        if _screening.available():
            return Cliques(np.hstack([itself, _screened(products, X, n_others)]), 1.0)
    return Cliques(np.hstack([itself, _exactly(products, itself[:, 0], n_others)]), 1.0)


def _exactly(products: Products, rows: Indices, count: int) -> Indices:
    """Return the nearest others of some rows from their distances to all."""
    n = len(products.squared_norms)
    parts = [_nearest_others(products, rows[block], count) for block in blocks(len(rows), n)]
    return np.concatenate([np.empty((0, count), dtype=np.intp), *parts])


def _screened(products: Products, X: Array, count: int) -> Indices:
    """Return the nearest others of all samples from candidates that hold them for certain."""
    found = _screening.candidates(X, products.squared_norms, count)
    return _nearest_among(products, X, np.arange(len(X)), *found, count)


def _approximately(products: Products, X: Array, count: int) -> tuple[Indices, float]:
    """Return near others of all samples and how many of the nearest are among them.

    Where no effort finds enough, of none.
    """
    rows = np.unique(np.linspace(0, len(X) - 1, SAMPLE).astype(np.intp))
    exact = _exactly(products, rows, count)
    index, beyond = _approximate.Index(X), np.full(len(X), np.inf)

    def search(rows: Indices, effort: int) -> Indices:
        found = index.candidates(rows, count, effort)
        return _nearest_among(products, X, rows, found, beyond[rows], count)

    for effort in _approximate.EFFORTS:
        pairs = zip(search(rows, effort), exact, strict=True)
        recall = float(np.mean([np.isin(*pair) for pair in pairs]))
        if recall >= RECALL:
            return search(np.arange(len(X)), effort), recall
    return exact[:0], 0.0


def _nearest_among(
    products: Products, X: Array, rows: Indices, candidates: Indices, beyond: Array, count: int
) -> Indices:
    """Return the nearest of every row's candidates, all others being ``beyond`` some distance.

    Rows for which that leaves open who is nearest are compared with all.
    """
    none = (candidates < 0) | (candidates == rows[:, None])
    distances = _screening.distances(X, rows, candidates)
    distances[none] = np.inf
    norms = products.squared_norms[rows]
    row = np.repeat(np.arange(len(rows)), candidates.shape[1])
    with np.errstate(invalid="ignore"):  # no candidate beside no candidate
        others = _in_order(row, candidates.ravel(), distances.ravel(), norms, count)
    farthest = np.partition(distances, count - 1, axis=1)[:, count - 1]
    open_ = np.flatnonzero(~(farthest + RESOLUTION * (norms + farthest) < beyond))
    others[open_] = _exactly(products, rows[open_], count)
    return others


def _nearest_others(products: Products, rows: slice | Indices, count: int) -> Indices:
    """Return the ``count`` nearest other samples of a block of rows, (rows, count)."""
    squared_norms = products.squared_norms
    own_norms = squared_norms[rows]
    distances = products.rows(rows) * -2.0
    distances += squared_norms
    distances += own_norms[:, None]
    m, n = distances.shape
    distances[np.arange(m), np.arange(n)[rows]] = np.inf  # itself: never its own "other"

    # The count-th smallest minimum over disjoint sets of columns bounds the count-th smallest
    # distance from above, closely, at a fraction of the cost of partitioning whole rows.
    depth = max(1, n // (8 * (count + 1)))
    minima = distances[:, : n // depth * depth].reshape(m, depth, -1).min(axis=1)
    bound = np.partition(minima, count - 1, axis=1)[:, count - 1]
    bound += RESOLUTION * (own_norms + bound)
    row, other = np.nonzero(distances <= bound[:, None])
    return _in_order(row, other, distances[row, other], own_norms, count)


def _in_order(
    row: Indices, other: Indices, distance: Array, own_norms: Array, count: int
) -> Indices:
    """Return the ``count`` nearest of each row's others, given by ascending row: (rows, count)."""
    by_distance = np.lexsort((distance, row))
    row, other, distance = row[by_distance], other[by_distance], distance[by_distance]
    first = np.searchsorted(row, np.arange(len(own_norms)))
    resolution = RESOLUTION * (own_norms + distance[first + count - 1])
    level_up = (np.diff(distance) > resolution[row[1:]]) | (np.diff(row) > 0)
    level = np.concatenate([[0], np.cumsum(level_up)])
    other = other[np.lexsort((other, level))]
    nearest: Indices = other[first[:, None] + np.arange(count)]
    return nearest
