"""Graphs of samples as their definitions have them: double loops over pairs, nothing shared."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg


def squared_distances(X):
    """|x_i - x_j|^2."""
    n = len(X)
    return np.array([[((X[i] - X[j]) ** 2).sum() for j in range(n)] for i in range(n)])


def are_neighbors(X, k):
    """Whether either of two samples is among the k nearest others of the other."""
    n = len(X)
    squared = squared_distances(X)
    near = np.zeros((n, n), dtype=bool)
    for i in range(n):
        others = sorted((squared[i, j], j) for j in range(n) if j != i)
        for _, j in others[:k]:
            near[i, j] = near[j, i] = True
    return near


def rbf(X, k=None, bandwidth=None):
    """S_ij = exp(-|x_i - x_j|^2 / (2 bandwidth^2)) of all pairs or of neighbours."""
    n = len(X)
    squared = squared_distances(X)
    kept = np.ones((n, n), dtype=bool) if k is None else are_neighbors(X, k)
    lengths = [math.sqrt(squared[i, j]) for i in range(n) for j in range(i) if kept[i, j]]
    width = bandwidth or np.median([length for length in lengths if length > 0])
    S = np.eye(n)
    for i in range(n):
        for j in range(n):
            if i != j and kept[i, j]:
                S[i, j] = math.exp(-squared[i, j] / (2 * width**2))
    return S


def by_label(codes):
    """S_ij = 1/n_c where both have class c; -1 has no class."""
    n = len(codes)
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if codes[i] == codes[j] >= 0:
                S[i, j] = 1.0 / np.count_nonzero(codes == codes[i])
    return S


def combined(S, codes):
    """S where either sample is unlabelled, else the labels, times the mean row sum of S."""
    n = len(codes)
    result = S.sum() / n * by_label(codes)
    for i in range(n):
        for j in range(n):
            if codes[i] < 0 or codes[j] < 0:
                result[i, j] = S[i, j]
    return result


def normalized_laplacian(S):
    """N = D^-1/2 (D - S) D^-1/2."""
    degrees = S.sum(axis=1)
    return (np.diag(degrees) - S) / np.sqrt(np.outer(degrees, degrees))


def eigenpairs(S):
    """Eigenvalues of N, ascending, and eigenvectors of which the first is D^1/2 1.

    Where 0 is a multiple eigenvalue, LAPACK would mix that vector with others.
    """
    N = normalized_laplacian(S)
    first = np.sqrt(S.sum(axis=1))
    first /= np.linalg.norm(first)
    rest = scipy.linalg.null_space(first[None, :])
    values, vectors = np.linalg.eigh(rest.T @ N @ rest)
    return np.r_[0.0, values], np.column_stack([first, rest @ vectors])
