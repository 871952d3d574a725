r"""How alike samples are: by distance, along a graph of neighbours, and by label.

A similarity is a symmetric matrix S with entries of at least 0.  Where labels enter, the classes
would fill dense blocks; S is then held as ``kernel + E E'`` with one sparse column of E a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from cosift._typing import Array, Indices, Matrix
from cosift.neighbors import neighborhoods

__all__ = ["Similarity", "edge_energy", "label_similarity", "neighbor_edges", "rbf_similarity"]

# The median of all distances is that of so many samples, evenly spaced, if there are more.
BANDWIDTH_SAMPLES = 1_000
# Numbers in the largest temporary of a block of work: 32 MB.
BLOCK_SIZE = 2**22


@dataclass(frozen=True)
class Similarity:
    """``S = kernel + E E'``.

    Attributes
    ----------
    kernel : ndarray or csr_array of shape (n, n)
        The part between samples.
    members : csr_array of shape (n, c)
        E, the part through classes.
    """

    kernel: Matrix
    members: sp.csr_array

    def __matmul__(self, F: Array) -> Array:
        """``S F`` for a matrix or vector F."""
        product = self.kernel @ F
        if self.members.shape[1]:
            product += self.members @ (self.members.T @ F)
        return np.asarray(product)

    @cached_property
    def degrees(self) -> Array:
        """Row sums, the diagonal of D."""
        return self @ np.ones(self.kernel.shape[0])

    def toarray(self) -> Array:
        """S as a dense array, for few samples."""
        dense = self.kernel.toarray() if sp.issparse(self.kernel) else self.kernel
        return np.asarray(dense + (self.members @ self.members.T).toarray())


def rbf_similarity(
    X: Matrix, n_neighbors: int | None = None, bandwidth: float | None = None
) -> Similarity:
    r"""``S_ij = exp(-|x_i - x_j|^2 / (2 bandwidth^2))``, of all pairs or of neighbours.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n, d)
        Samples.
    n_neighbors : int, optional
        Keep only pairs of which either is among the so many nearest others of the other; every
        sample stays similar to itself.  Without it, S is dense.
    bandwidth : float, optional
        By default the median of the distances above 0 between the pairs kept: in any dimension and
        unit a typical pair then has the similarity ``exp(-1/2)``.

    Returns
    -------
    Similarity
        With a dense kernel, or a sparse one if ``n_neighbors`` is given.

    Examples
    --------
    >>> rbf_similarity(np.array([[0.0], [2.0]]), bandwidth=1.0).toarray().round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """
    n = X.shape[0]
    nobody = sp.csr_array((n, 0))
    if n_neighbors is None:
        squared = _squared_distances(X)
        return Similarity(_rbf(squared, bandwidth or _typical(_some_pairs(squared))), nobody)
    edges = neighbor_edges(X, n_neighbors)
    squared = _edge_lengths(X, edges)
    values = _rbf(squared, bandwidth or _typical(squared))
    upper = sp.coo_array((values, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    return Similarity(sp.csr_array(upper + upper.T + sp.eye_array(n)), nobody)


def label_similarity(similarity: Similarity, codes: Indices) -> Similarity:
    """Replace a similarity between labelled samples by one of their labels.

    Two labelled samples of the same class c get ``mean degree / n_c``, of different classes 0.
    So the ties of a sample to its class weigh together as much as all ties of a typical sample
    did, whatever n, kernel and class sizes; a common factor of all of S changes no score.

    Parameters
    ----------
    similarity : Similarity
        Similarity of all samples, without classes.
    codes : ndarray of shape (n,)
        Class of each sample, 0, 1, ... without gaps, and -1 where unlabelled.

    Examples
    --------
    >>> by_distance = rbf_similarity(np.zeros((4, 1)))
    >>> label_similarity(by_distance, np.array([0, 0, 1, -1])).toarray()
    array([[2., 2., 0., 1.],
           [2., 2., 0., 1.],
           [0., 0., 4., 1.],
           [1., 1., 1., 1.]])
    """
    labeled = codes >= 0
    rows, columns = np.flatnonzero(labeled), codes[labeled]
    weight = similarity.degrees.mean() / np.bincount(columns)
    members = sp.csr_array(
        (np.sqrt(weight[columns]), (rows, columns)), shape=(len(codes), len(weight))
    )
    if sp.issparse(similarity.kernel):
        kernel = similarity.kernel.tocoo()
        kept = ~(labeled[kernel.row] & labeled[kernel.col])
        where = (kernel.row[kept], kernel.col[kept])
        return Similarity(sp.csr_array((kernel.data[kept], where), shape=kernel.shape), members)
    dense = similarity.kernel.copy()
    dense[np.ix_(rows, rows)] = 0.0
    return Similarity(dense, members)


def neighbor_edges(X: Matrix, n_neighbors: int) -> Indices:
    """Every pair of which one is among the k nearest others of the other, once.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n, d)
        Samples.
    n_neighbors : int
        k, the sample itself not counted; at most all others are taken.

    Returns
    -------
    ndarray of intp, shape (n_edges, 2)
        The smaller index first, sorted.

    Examples
    --------
    >>> neighbor_edges(np.array([[0.0], [1.0], [3.0]]), 1).tolist()
    [[0, 1], [1, 2]]
    """
    cliques = neighborhoods(X, n_neighbors + 1)
    n, k = cliques.shape
    one, other = np.repeat(cliques[:, 0], k - 1), cliques[:, 1:].ravel()
    keys = np.unique(np.minimum(one, other) * n + np.maximum(one, other))
    return np.stack([keys // n, keys % n], axis=1)


def edge_energy(X: Matrix, edges: Indices, unit: Array) -> Array:
    """Sum of ``(x_i - x_j)^2`` over edges, for every column of X times its unit: (d,).

    Taken from differences rather than a Laplacian, it is exactly 0 where they all are.

    Examples
    --------
    >>> edge_energy(np.array([[0.0, 5.0], [3.0, 5.0]]), np.array([[0, 1]]), np.ones(2)).tolist()
    [9.0, 0.0]
    """
    energy = np.zeros(X.shape[1])
    for part in _blocks(edges, X.shape[1]):
        differences = _differences(X, part)
        if sp.issparse(differences):
            differences = differences.multiply(unit)
            energy += np.asarray(differences.multiply(differences).sum(axis=0)).ravel()
        else:
            differences *= unit
            energy += np.einsum("ij,ij->j", differences, differences)
    return energy


def _edge_lengths(X: Matrix, edges: Indices) -> Array:
    """Squared length of every edge."""
    lengths = [np.zeros(0)]
    for part in _blocks(edges, X.shape[1]):
        differences = _differences(X, part)
        if sp.issparse(differences):
            lengths.append(np.asarray(differences.multiply(differences).sum(axis=1)).ravel())
        else:
            lengths.append(np.einsum("ij,ij->i", differences, differences))
    return np.concatenate(lengths)


def _differences(X: Matrix, edges: Indices) -> Matrix:
    """``x_i - x_j`` for every edge, in double precision whatever X has."""
    one, other = X[edges[:, 0]], X[edges[:, 1]]
    if sp.issparse(X):
        return one.astype(np.float64) - other.astype(np.float64)
    return np.subtract(one, other, dtype=np.float64)


def _blocks(edges: Indices, width: int) -> list[Indices]:
    step = max(1, BLOCK_SIZE // width)
    return [edges[start : start + step] for start in range(0, len(edges), step)]


def _squared_distances(X: Matrix) -> Array:
    if not sp.issparse(X):  # about a point among them, so that large means cost no digits
        X = np.subtract(X, X[0], dtype=np.float64)
        X -= X.mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = euclidean_distances(X.astype(np.float64, copy=False), squared=True)
    if not np.isfinite(squared).all():
        raise ValueError("X must hold finite numbers whose squares do not overflow.")
    return np.asarray(squared)


def _some_pairs(squared: Array) -> Array:
    """Squared distances of all pairs, or of all pairs among evenly spaced samples."""
    n = len(squared)
    some = np.linspace(0, n - 1, min(n, BANDWIDTH_SAMPLES)).astype(np.intp)
    return np.asarray(squared[np.ix_(some, some)][np.triu_indices(len(some), 1)])


def _rbf(squared: Array, bandwidth: float) -> Array:
    """``exp(-squared / (2 bandwidth^2))``, in place; 0 where the quotient overflows."""
    with np.errstate(over="ignore"):
        squared /= -max(2.0 * bandwidth * bandwidth, np.finfo(np.float64).tiny)
    return np.exp(squared, out=squared)


def _typical(squared: Array) -> float:
    """Median of the distances above 0; 1 if there is none."""
    apart = squared[squared > 0.0]
    return float(np.median(np.sqrt(apart))) if len(apart) else 1.0
