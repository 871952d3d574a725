r"""Cliques of nearest neighbours and the local discriminant Laplacian built on them.

Around every sample a local linear model predicts its clique's labels.  What the best such model
cannot predict, summed over all cliques, is a quadratic form in the labels.  Its matrix is

.. math::

    L = \sum_i S_i H_k (Z_i Z_i^\top + \lambda I_k)^{-1} H_k S_i^\top ,
    \qquad H_k = I_k - \tfrac{1}{k} 1 1^\top ,

with ``Z_i`` (k x d) the points of clique ``i`` about their mean and ``S_i`` (n x k) the columns of
the identity that pick them.  Only inner products of samples enter, so everything below asks one
of three sources for them: a dense array, a sparse matrix, or a Gram matrix formed once.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["local_laplacian", "neighborhoods"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Up to this many samples one Gram matrix (200 MB) serves distances and cliques alike.
GRAM_SAMPLES = 5_000
# Numbers in the largest temporary of a block of work: 256 MB.
BLOCK_SIZE = 2**25
# Numbers in a dense X of which a centred copy is kept: 2 GB.
COPY_SIZE = 2**28
# Squared distances |x|^2 + |y|^2 - 2xy are known to this share of |x|^2 + |x - y|^2.
# Closer ones are ties: otherwise the shape of a matrix product would choose among duplicates.
RESOLUTION = 1e-13


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
    return _cliques(_sample_products(X), _clique_size(n_neighbors))


def local_laplacian(X: Any, n_neighbors: int = 15, ridge: float = 1.0) -> sp.csr_array:
    """Sum the local discriminant matrices of all cliques.

    ``L = sum_i S_i H_k (Z_i Z_i' + ridge * I_k)^-1 H_k S_i'``, see the module's text.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n, d)
        Samples; memory maps are read block by block.
    n_neighbors : int, default=15
        Size k of a clique, the sample itself included; at most n are taken.
    ridge : float, default=1.0
        Weight of the local models' penalty, in squared units of X.

    Returns
    -------
    csr_array of float64, shape (n, n)
        Exactly symmetric, positive semi-definite, with ``L @ 1 = 0`` to rounding.

    Examples
    --------
    Two points at distance 2 share both their cliques, each with Z Z' = [[1, -1], [-1, 1]]:

    >>> import numpy as np
    >>> local_laplacian(np.array([[0.0], [2.0]]), n_neighbors=2).toarray().round(3)
    array([[ 0.333, -0.333],
           [-0.333,  0.333]])
    """
    k = _clique_size(n_neighbors)
    if not 0 < ridge < np.inf:
        raise ValueError(f"ridge must be a positive, finite number. Got {ridge}.")
    products = _sample_products(X)
    # Sorted members put a clique's upper triangle into that of L. Building only the upper
    # triangle and mirroring it makes L symmetric to the last bit.
    cliques = np.sort(_cliques(products, k), axis=1)
    n, k = cliques.shape
    row, column = np.triu_indices(k)
    share = np.where(row == column, 0.5, 1.0)
    upper = sp.csr_array((n, n), dtype=np.float64)
    for rows in _blocks(n, k * max(k, products.clique_width)):
        members = cliques[rows]
        penalties = _local_penalties(products.clique_grams(members), ridge)
        entries = (penalties[:, row, column] * share).ravel()
        where = (members[:, row].ravel(), members[:, column].ravel())
        upper = upper + sp.coo_array((entries, where), shape=(n, n)).tocsr()
    return sp.csr_array(upper + upper.T)


def _local_penalties(grams: Floats, ridge: float) -> Floats:
    """Return ``H (H G H + ridge I)^-1 H`` for a stack of clique Gram matrices."""
    grams = _centered(grams)
    k = grams.shape[1]
    energy = np.trace(grams, axis1=1, axis2=2)
    # The outer projections drop the constant direction, whose eigenvalue is the ridge alone.
    # Raised to the size of the others, it leaves no rounding error behind.
    grams += (energy / k**2)[:, None, None]
    # Where rounding in the Gram matrix rivals the ridge, a plain inverse may turn indefinite.
    delicate = k * np.finfo(np.float64).eps * energy > 1e-3 * ridge
    inverses = np.empty_like(grams)
    inverses[~delicate] = np.linalg.inv(grams[~delicate] + ridge * np.eye(k))
    values, vectors = np.linalg.eigh(grams[delicate])
    weights = 1.0 / (np.maximum(values, 0.0) + ridge)
    inverses[delicate] = (vectors * weights[:, None, :]) @ vectors.swapaxes(1, 2)
    # An inverse by elimination is unsymmetric by far more than its symmetric part is wrong.
    return _centered((inverses + inverses.swapaxes(1, 2)) / 2)


def _centered(stack: Floats) -> Floats:
    """Return ``H A H`` for every matrix A of a stack."""
    half: Floats = stack - stack.mean(axis=1, keepdims=True)
    whole: Floats = half - half.mean(axis=2, keepdims=True)
    return whole


def _cliques(products: _Products, k: int) -> Indices:
    n = len(products.squared_norms)
    itself = np.arange(n)[:, None]
    n_others = min(k, n) - 1
    if n_others == 0:
        return itself
    others = [_nearest_others(products, rows, n_others) for rows in _blocks(n, n)]
    return np.hstack([itself, np.concatenate(others)])


def _nearest_others(products: _Products, rows: slice, count: int) -> Indices:
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

    distance = distances[row, other]
    by_distance = np.lexsort((distance, row))
    row, other, distance = row[by_distance], other[by_distance], distance[by_distance]
    first = np.searchsorted(row, np.arange(m))
    resolution = RESOLUTION * (own_norms + distance[first + count - 1])
    level_up = (np.diff(distance) > resolution[row[1:]]) | (np.diff(row) > 0)
    level = np.concatenate([[0], np.cumsum(level_up)])
    other = other[np.lexsort((other, level))]
    nearest: Indices = other[first[:, None] + np.arange(count)]
    return nearest


class _Products(Protocol):
    """Where inner products of samples come from."""

    squared_norms: Floats
    clique_width: int  # numbers held per clique member while forming clique Gram matrices

    def rows(self, rows: slice) -> Floats:
        """Return the inner products of some samples with all, (rows, n)."""

    def clique_grams(self, cliques: Indices) -> Floats:
        """Return the inner products within cliques (b, k), about any origin: (b, k, k)."""


def _sample_products(X: Any) -> _Products:
    source: _DenseProducts | _SparseProducts
    source = _SparseProducts(X) if sp.issparse(X) else _DenseProducts(X)
    if not np.isfinite(source.squared_norms).all():
        raise ValueError("X must hold finite numbers whose squares do not overflow.")
    if len(source.squared_norms) <= GRAM_SAMPLES:
        return _GramProducts(source.gram())
    return source


class _GramProducts:
    def __init__(self, gram: Floats) -> None:
        self._gram = gram
        self.squared_norms = gram.diagonal()
        self.clique_width = 1

    def rows(self, rows: slice) -> Floats:
        return self._gram[rows]

    def clique_grams(self, cliques: Indices) -> Floats:
        return self._gram[cliques[:, :, None], cliques[:, None, :]]


class _DenseProducts:
    """Inner products about the column means, so that large means cost no digits.

    What is too large to copy, a memory map say, is converted and centred a block at a time.
    """

    def __init__(self, X: Any) -> None:
        self._X = np.asarray(X)
        self._n, self.clique_width = self._X.shape
        self._mean: Floats | None = self._X.mean(axis=0, dtype=np.float64)
        if self._X.size <= COPY_SIZE:
            self._X, self._mean = self._centered(slice(None)), None
        blocks = map(self._centered, _blocks(self._n, self.clique_width))
        self.squared_norms = np.concatenate([np.einsum("ij,ij->i", B, B) for B in blocks])

    def _centered(self, rows: slice, columns: slice = slice(None)) -> Floats:
        block: Floats = self._X[rows, columns]
        if self._mean is not None:
            block = np.subtract(block, self._mean[columns], dtype=np.float64)
        return block

    def gram(self) -> Floats:
        gram = np.zeros((self._n, self._n))
        for columns in _blocks(self.clique_width, self._n):
            block = self._centered(slice(None), columns)
            gram += block @ block.T
        return gram

    def rows(self, rows: slice) -> Floats:
        left = self._centered(rows)
        products = np.empty((len(left), self._n))
        for others in _blocks(self._n, self.clique_width):
            np.matmul(left, self._centered(others).T, out=products[:, others])
        return products

    def clique_grams(self, cliques: Indices) -> Floats:
        Z: Floats = self._X[cliques].astype(np.float64, copy=False)
        Z -= Z.mean(axis=1, keepdims=True)
        grams: Floats = Z @ Z.swapaxes(1, 2)
        return grams


class _SparseProducts:
    """Inner products of sparse samples, which stay as they are: centring would fill them."""

    def __init__(self, X: Any) -> None:
        self._X = sp.csr_array(X, dtype=np.float64)
        self._n = self._X.shape[0]
        self._transpose = self._X.T.tocsr()
        self.squared_norms = np.asarray(self._X.multiply(self._X).sum(axis=1), dtype=np.float64)
        self.clique_width = 1 + self._X.nnz // max(1, self._n)

    def gram(self) -> Floats:
        return np.concatenate([self.rows(rows) for rows in _blocks(self._n, self._n)])

    def rows(self, rows: slice) -> Floats:
        return np.asarray((self._X[rows] @ self._transpose).toarray())

    def clique_grams(self, cliques: Indices) -> Floats:
        """Multiply within cliques only, by giving every clique columns of its own."""
        b, k = cliques.shape
        members = self._X[cliques.ravel()].tocoo()
        own_column = members.row // k * self._X.shape[1] + members.col.astype(np.int64)
        used, column = np.unique(own_column, return_inverse=True)
        apart = sp.csr_array((members.data, (members.row, column)), shape=(b * k, len(used)))
        products = (apart @ apart.T).tocoo()
        grams = np.zeros((b, k, k))
        grams[products.row // k, products.row % k, products.col % k] = products.data
        return grams


def _clique_size(n_neighbors: int) -> int:
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1. Got {n_neighbors}.")
    return operator.index(n_neighbors)


def _blocks(n: int, width: int) -> Iterator[slice]:
    """Cut n rows of some width into slices of about ``BLOCK_SIZE`` numbers."""
    step = max(1, BLOCK_SIZE // max(1, width))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
