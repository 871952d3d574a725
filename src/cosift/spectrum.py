r"""Energies of features under functions of a normalised Laplacian.

``N = I - D^-1/2 S D^-1/2`` of a similarity S has its eigenvalues in [0, 2]; the first is 0, with
the eigenvector ``D^1/2 1``.  Features here are columns f of a matrix F whose mean under the
weights D is 0, so that ``g = D^1/2 f`` has no part along it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.polynomial import Chebyshev
from scipy.sparse.linalg import LinearOperator, eigsh

from cosift._typing import Array
from cosift.similarity import Similarity

Function = Callable[[Array], Array]

# Up to this many samples eigenvectors come from dense matrices.
DENSE_SAMPLES = 1_000
# Lanczos vectors: few make it slow where samples lie along a curve.
LANCZOS_VECTORS = 80
# A spectral function counts as a polynomial that is as close to it, relative to its largest value.
RESOLVED = 1e-10
GRID = 1.0 - np.cos(np.linspace(0.0, np.pi, 1001))
EPSILON = np.finfo(np.float64).eps
DEGREES = (8, 16, 32, 64, 128, 256)


class Spectrum:
    """The normalised Laplacian N of a similarity, whose row sums are positive.

    Examples
    --------
    >>> from cosift.similarity import rbf_similarity
    >>> spectrum = Spectrum(rbf_similarity(np.array([[0.0], [0.0]])))
    >>> spectrum.energy(np.array([[1.0], [-1.0]])).tolist()  # D = 2I, N = I - 11'/2
    [4.0]
    """

    def __init__(self, similarity: Similarity) -> None:
        self._similarity = similarity
        self._root = np.sqrt(similarity.degrees)

    def energy(self, F: Array, function: Function | None = None) -> Array:
        """``g' function(N) g`` for every feature; the function is the identity without one.

        A function needs all eigenvectors of a dense similarity or of few samples.  For many
        samples with a sparse one it becomes a polynomial, so N is only ever multiplied.
        """
        if function is None:  # f' (D - S) f
            change = self._similarity.degrees[:, None] * F
            change -= self._similarity @ F
            return np.asarray(np.einsum("ij,ij->j", F, change))
        G = self._root[:, None] * F
        if sp.issparse(self._similarity.kernel) and len(G) > DENSE_SAMPLES:
            return self._polynomial_energy(G, _polynomial(function))
        values, vectors = self._eigenpairs
        return np.asarray(function(np.clip(values, 0.0, 2.0)) @ np.square(vectors.T @ G))

    def smooth_energy(self, F: Array, k: int, function: Function) -> Array:
        """``sum over j = 2..k of (function(2) - function(lambda_j)) (g' xi_j)^2``."""
        values, vectors = self._smoothest(min(k, len(F)) - 1)
        weights = function(np.array([2.0])) - function(np.clip(values, 0.0, 2.0))
        return np.asarray(weights @ np.square((self._root[:, None] * vectors).T @ F))

    def _smoothed(self, G: Array) -> Array:
        """``(I - N) G = D^-1/2 S D^-1/2 G``."""
        root = self._root[:, None]
        return np.asarray((self._similarity @ (G / root)) / root)

    def _dense(self) -> Array:
        smoother = self._similarity.toarray() / np.outer(self._root, self._root)
        return np.asarray(np.eye(len(smoother)) - smoother)

    @cached_property
    def _eigenpairs(self) -> tuple[Array, Array]:
        values, vectors = scipy.linalg.eigh(self._dense())
        return values, vectors

    def _smoothest(self, count: int) -> tuple[Array, Array]:
        """Eigenpairs 2, 3, ... in ascending order.

        The first is moved to the other end, so that it is left out even where 0 is a multiple
        eigenvalue, as it is of a graph in several parts.
        """
        if self._found is None or len(self._found[0]) != count:
            self._found = self._find(count)
        return self._found

    _found: tuple[Array, Array] | None = None

    def _find(self, count: int) -> tuple[Array, Array]:
        n = len(self._root)
        first = self._root / np.linalg.norm(self._root)
        if n <= DENSE_SAMPLES or count >= n // 4:
            moved = self._dense() + 3.0 * np.outer(first, first)
            values, vectors = scipy.linalg.eigh(moved, subset_by_index=[0, count - 1])
            return values, vectors

        def smooth(v: Array) -> Array:
            v = v.reshape(n, -1)
            return self._smoothed(v) + v - 3.0 * np.outer(first, first @ v)

        operator = LinearOperator((n, n), matvec=smooth, matmat=smooth, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(n)
        held = max(LANCZOS_VECTORS, 2 * count + 1)
        values, vectors = eigsh(operator, count, which="LA", v0=start, ncv=held)
        order = np.argsort(-values)
        return 2.0 - values[order], vectors[:, order]

    def _polynomial_energy(self, G: Array, coefficients: Array) -> Array:
        """Chebyshev polynomials of ``N - I``, by their recurrence."""
        before, now = G, -self._smoothed(G)
        energy = coefficients[0] * np.square(G).sum(axis=0)
        for coefficient in coefficients[1:]:
            energy += coefficient * (G * now).sum(axis=0)
            before, now = now, -2.0 * self._smoothed(now) - before
        return np.asarray(energy)


def _polynomial(function: Function) -> Array:
    """Chebyshev coefficients of a function on [0, 2]."""
    values = function(GRID)
    for degree in DEGREES:
        polynomial = Chebyshev.interpolate(function, degree, domain=[0.0, 2.0])
        if np.abs(polynomial(GRID) - values).max() <= RESOLVED * np.abs(values).max():
            return np.asarray(polynomial.trim(EPSILON * np.abs(values).max()).coef)
    raise ValueError(
        f"spectral_function is not smooth enough on [0, 2] for more than {DENSE_SAMPLES} samples "
        "on a graph of neighbours: there it must be close to a polynomial, as powers and "
        "exponentials are. Take such a function, or leave n_neighbors out."
    )
