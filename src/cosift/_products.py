"""Inner products of samples, from wherever they are cheapest.

Distances and cliques need nothing else of the samples.  There are three sources: a dense array, a
sparse matrix, and for few samples a Gram matrix formed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from cosift._typing import Array, Indices

# Up to this many samples one Gram matrix (200 MB) serves distances and cliques alike.
GRAM_SAMPLES = 5_000
# Numbers in the largest temporary of a block of work: 256 MB.
BLOCK_SIZE = 2**25
# Numbers in a dense X of which a centred copy is kept: 2 GB.
COPY_SIZE = 2**28
# Share of entries from which a sparse X is multiplied faster when it is made dense.
DENSE_SHARE = 0.1


class Products(Protocol):
    """Where inner products of samples come from."""

    squared_norms: Array
    clique_width: int  # numbers held per clique member while forming clique Gram matrices

    def rows(self, rows: slice | Indices) -> Array:
        """Return the inner products of some samples with all, (rows, n)."""

    def clique_grams(self, cliques: Indices) -> Array:
        """Return the inner products within cliques (b, k), about any origin: (b, k, k)."""


def sample_products(X: Any) -> Products:
    """Inner products of the rows of X, from the source that suits it."""
    source: DenseProducts | SparseProducts
    if sp.issparse(X) and not _better_dense(X):
        source = SparseProducts(X)
    else:
        source = DenseProducts(X.toarray() if sp.issparse(X) else X)
    if not np.isfinite(source.squared_norms).all():
        raise ValueError("X must hold finite numbers whose squares do not overflow.")
    if len(source.squared_norms) <= GRAM_SAMPLES:
        return GramProducts(source.gram())
    return source


def _better_dense(X: Any) -> bool:
    size = X.shape[0] * X.shape[1]
    return bool(DENSE_SHARE * size < X.nnz and size <= COPY_SIZE)


class GramProducts:
    """Inner products that are known already."""

    def __init__(self, gram: Array) -> None:
        self._gram = gram
        self.squared_norms = gram.diagonal()
        self.clique_width = 1

    def rows(self, rows: slice | Indices) -> Array:
        return self._gram[rows]

    def clique_grams(self, cliques: Indices) -> Array:
        return self._gram[cliques[:, :, None], cliques[:, None, :]]


class DenseProducts:
    """Inner products about the column means, so that large means cost no digits.

    What is too large to copy, a memory map say, is converted and centred a block at a time.
    """

    def __init__(self, X: Any) -> None:
        self._X = np.asarray(X)
        self._n, self.clique_width = self._X.shape
        self._mean: Array | None = self._X.mean(axis=0, dtype=np.float64)
        if self._X.size <= COPY_SIZE:
            self._X, self._mean = self._centered(slice(None)), None
        parts = map(self._centered, blocks(self._n, self.clique_width))
        self.squared_norms = np.concatenate([np.einsum("ij,ij->i", B, B) for B in parts])

    @property
    def centered(self) -> Array | None:
        """The samples about their mean, unless they are too large to copy."""
        return self._X if self._mean is None else None

    def _centered(self, rows: slice | Indices, columns: slice = slice(None)) -> Array:
        block: Array = self._X[rows, columns]
        if self._mean is not None:
            block = np.subtract(block, self._mean[columns], dtype=np.float64)
        return block

    def gram(self) -> Array:
        gram = np.zeros((self._n, self._n))
        for columns in blocks(self.clique_width, self._n):
            block = self._centered(slice(None), columns)
            gram += block @ block.T
        return gram

    def rows(self, rows: slice | Indices) -> Array:
        left = self._centered(rows)
        products = np.empty((len(left), self._n))
        for others in blocks(self._n, self.clique_width):
            np.matmul(left, self._centered(others).T, out=products[:, others])
        return products

    def clique_grams(self, cliques: Indices) -> Array:
        Z: Array = self._X[cliques].astype(np.float64, copy=False)
        Z -= Z.mean(axis=1, keepdims=True)
        grams: Array = Z @ Z.swapaxes(1, 2)
        return grams


class SparseProducts:
    """Inner products of sparse samples, which stay as they are: centring would fill them."""

    def __init__(self, X: Any) -> None:
        self._X = sp.csr_array(X, dtype=np.float64)
        self._n = self._X.shape[0]
        self._transpose = self._X.T.tocsr()
        self.squared_norms = np.asarray(self._X.multiply(self._X).sum(axis=1), dtype=np.float64)
        self.clique_width = 1 + self._X.nnz // max(1, self._n)

    def gram(self) -> Array:
        return np.concatenate([self.rows(rows) for rows in blocks(self._n, self._n)])

    def rows(self, rows: slice | Indices) -> Array:
        return np.asarray((self._X[rows] @ self._transpose).toarray())

    def clique_grams(self, cliques: Indices) -> Array:
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


def blocks(n: int, width: int) -> Iterator[slice]:
    """Cut n rows of some width into slices of about ``BLOCK_SIZE`` numbers."""
    step = max(1, BLOCK_SIZE // max(1, width))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
