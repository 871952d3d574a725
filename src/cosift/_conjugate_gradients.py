"""Conjugate gradients for many right-hand sides beside weights of very different size."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cosift._kernels import in_threads, product
from cosift._typing import Array

# Right-hand sides that advance together: wider blocks leave the cache and cost more each.
WIDTH = 32
TOLERANCE = 1e-13
MAX_ITERATIONS = 1_000


def solve_spd(A: sp.csr_array, B: Array) -> Array:
    """Solve ``A X = B`` for a sparse, symmetric positive definite A.

    A is scaled to ``D^-1/2 A D^-1/2`` with D its diagonal, and the residual is measured there:
    beside label weights of 1e6 the raw residual is small long before the unlabelled rows are right.

    Examples
    --------
    >>> A = sp.csr_array(np.array([[2e6, 1.0], [1.0, 1.0]]))
    >>> solve_spd(A, np.array([[2e6], [2.0]])).round(6).ravel()
    array([1., 1.])
    """
    scale, scaled = unit_diagonal(A)
    ones = np.ones(len(scale))

    def solve(columns: slice) -> Array:
        right = scale[:, None] * B[:, columns]
        enough = TOLERANCE**2 * np.einsum("ij,ij->j", right, right)
        return scale[:, None] * conjugate_gradients(scaled, right, ones, enough)

    X = np.empty(B.shape)
    parts = blocks(B.shape[1])
    for columns, part in zip(parts, in_threads(solve, parts), strict=True):
        X[:, columns] = part
    return X


def unit_diagonal(A: sp.csr_array) -> tuple[Array, sp.csr_array]:
    """``D^-1/2`` and ``D^-1/2 A D^-1/2``."""
    scale = 1.0 / np.sqrt(A.diagonal())
    scaled = A.copy()
    scaled.data *= scale[scaled.indices]
    scaled.data *= np.repeat(scale, np.diff(scaled.indptr))
    return scale, scaled


def blocks(n_columns: int) -> list[slice]:
    """Columns in blocks of ``WIDTH``."""
    return [slice(i, min(i + WIDTH, n_columns)) for i in range(0, n_columns, WIDTH)]


def conjugate_gradients(A: sp.csr_array, B: Array, weights: Array, enough: Array) -> Array:
    """Reduce the residual of every column until ``sum_i weights_i r_i^2 <= enough``.

    Columns share the products with A and nothing else.  A and B are of one dtype, and so is all
    arithmetic.
    """
    X = np.zeros_like(B)
    R = B.copy()
    P = R.copy()
    weights = weights.astype(B.dtype)
    size = np.einsum("ij,ij->j", R, R)
    for _ in range(MAX_ITERATIONS):
        active = np.einsum("ij,ij,i->j", R, R, weights) > enough
        if not active.any():
            return X
        AP = product(A, P)
        curvature = np.einsum("ij,ij->j", P, AP)
        step = np.where(active, size / np.where(active, curvature, 1), 0).astype(B.dtype)
        X += step * P
        R -= step * AP
        new = np.einsum("ij,ij->j", R, R)
        P *= np.where(active, new / np.where(active, size, 1), 0).astype(B.dtype)
        P += R
        size = new
    raise np.linalg.LinAlgError(
        f"conjugate gradients did not reach {TOLERANCE} in {MAX_ITERATIONS} iterations"
    )
