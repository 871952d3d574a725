r"""Cliques of nearest neighbours and the local discriminant Laplacian built on them.

Around every sample a local linear model predicts its clique's labels.  What the best such model
cannot predict, summed over all cliques, is a quadratic form in the labels.  Its matrix is

.. math::

    L = \sum_i S_i H_k (Z_i Z_i^\top + \lambda I_k)^{-1} H_k S_i^\top ,
    \qquad H_k = I_k - \tfrac{1}{k} 1 1^\top ,

with ``Z_i`` (k x d) the points of clique ``i`` about their mean and ``S_i`` (n x k) the columns of
the identity that pick them.  Only inner products of samples enter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from cosift._products import Products, blocks, sample_products
from cosift._typing import Array, Indices
from cosift.neighbors import find_cliques

__all__ = ["Graph", "local_graph", "local_laplacian"]


class Graph(NamedTuple):
    """The Laplacian of all cliques, and how many true neighbours they hold.

    Attributes
    ----------
    laplacian : csr_array of shape (n, n)
        L.
    recall : float
        See `neighbors.Cliques`.
    """

    laplacian: sp.csr_array
    recall: float


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
    return local_graph(X, n_neighbors, ridge).laplacian


def local_graph(X: Any, n_neighbors: int, ridge: float) -> Graph:
    """`local_laplacian`, and the recall of the search for neighbours."""
    if not 0 < ridge < np.inf:
        raise ValueError(f"ridge must be a positive, finite number. Got {ridge}.")
    products = sample_products(X)
    cliques, recall = find_cliques(products, n_neighbors)
    # Sorted members put a clique's upper triangle into that of L. Building only the upper
    # triangle and mirroring it makes L symmetric to the last bit.
    upper = _upper_triangle(products, np.sort(cliques, axis=1), ridge)
    return Graph(sp.csr_array(upper + upper.T), recall)


def _upper_triangle(products: Products, cliques: Indices, ridge: float) -> sp.csr_array:
    """The upper triangle of L, its diagonal halved, from cliques with sorted members."""
    n, k = cliques.shape
    row, column = np.triu_indices(k)
    share = np.where(row == column, 0.5, 1.0)
    sums = [sp.csr_array((n, n), dtype=np.float64)]
    for rows in blocks(n, k * max(k, products.clique_width)):
        members = cliques[rows]
        penalties = _local_penalties(products.clique_grams(members), ridge)
        entries = (penalties[:, row, column] * share).ravel()
        where = (members[:, row].ravel(), members[:, column].ravel())
        sums.append(sp.coo_array((entries, where), shape=(n, n)).tocsr())
        # Each at least twice the next, so that an entry takes part in few additions.
        while len(sums) > 1 and sums[-2].nnz < 2 * sums[-1].nnz:
            last = sums.pop()
            sums[-1] = sums[-1] + last
    return sum(sums[:-1], sums[-1])


def _local_penalties(grams: Array, ridge: float) -> Array:
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


def _centered(stack: Array) -> Array:
    """Return ``H A H`` for every matrix A of a stack."""
    half: Array = stack - stack.mean(axis=1, keepdims=True)
    whole: Array = half - half.mean(axis=2, keepdims=True)
    return whole
