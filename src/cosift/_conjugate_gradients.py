"""Conjugate gradients for many right-hand sides beside weights of very different size."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

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
    scale = 1.0 / np.sqrt(A.diagonal())
    scaled = sp.csr_array(sp.diags_array(scale) @ A @ sp.diags_array(scale))
    X = np.empty(B.shape)
    for first in range(0, B.shape[1], WIDTH):
        columns = slice(first, first + WIDTH)
        X[:, columns] = _block(scaled, scale[:, None] * B[:, columns])
    X *= scale[:, None]
    return X


def _block(A: sp.csr_array, B: Array) -> Array:
    """Plain conjugate gradients on every column at once, each with its own step lengths."""
    X = np.zeros_like(B)
    R = B.copy()
    P = R.copy()
    size = np.einsum("ij,ij->j", R, R)
    enough = TOLERANCE**2 * size
    for _ in range(MAX_ITERATIONS):
        active = size > enough
        if not active.any():
            return X
        AP = A @ P
        curvature = np.einsum("ij,ij->j", P, AP)
        step = np.where(active, size / np.where(active, curvature, 1.0), 0.0)
        X += step * P
        R -= step * AP
        new = np.einsum("ij,ij->j", R, R)
        P *= np.where(active, new / np.where(active, size, 1.0), 0.0)
        P += R
        size = new
    raise np.linalg.LinAlgError(
        f"conjugate gradients did not reach {TOLERANCE} in {MAX_ITERATIONS} iterations"
    )
