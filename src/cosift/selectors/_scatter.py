r"""How labelled values scatter within and between classes, and ratios of the two.

All pairs of samples enter the definitions of several scores, and class sums suffice for them: with
``n_c`` values of mean ``m_c`` in class c, and m the mean of all n,

.. math::

    \sum_{i, j \in c, i < j} (f_i - f_j)^2 = n_c w_c , \qquad
    \sum_{c < c'} \sum_{i \in c, j \in c'} (f_i - f_j)^2 = \sum_c (n - n_c) w_c + n b , \\
    w_c = \sum_{i \in c} (f_i - m_c)^2 , \qquad b = \sum_c n_c (m_c - m)^2 .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cosift._typing import Array, Indices, Matrix


@dataclass(frozen=True)
class Scatter:
    """Sums of squares of every feature, in the feature's own unit (see `units`).

    Attributes
    ----------
    sizes : ndarray of shape (c,)
        Samples of each class, n_c.
    within : ndarray of shape (c, d)
        w_c; exactly 0 where all values are equal.
    between : ndarray of shape (d,)
        b; exactly 0 where the feature is constant.
    mean : ndarray of shape (d,)
        Mean over all samples.
    spread : ndarray of shape (d,)
        Largest value less the smallest.
    """

    sizes: Array
    within: Array
    between: Array
    mean: Array
    spread: Array


def class_scatter(X: Matrix, codes: Indices) -> Scatter:
    """Scatter within and between classes, in two passes so that large means cost no digits.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Labelled samples.
    codes : ndarray of shape (n,)
        Class of each, 0, 1, ... without gaps.

    Examples
    --------
    >>> scatter = class_scatter(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1]))
    >>> (scatter.within / units(np.array([[5.0]])) ** 2).ravel().tolist()
    [2.0, 0.0]
    """
    unit = units(X)
    sizes = np.bincount(codes).astype(np.float64)
    within = np.empty((len(sizes), X.shape[1]))
    offsets = np.empty_like(within)
    lowest, highest = (extreme * unit for extreme in extremes(X))
    for c in range(len(sizes)):
        block = X[np.flatnonzero(codes == c)]
        moments = _dense_moments if isinstance(X, np.ndarray) else _sparse_moments
        offsets[c], within[c] = moments(block, unit, lowest)
    mean = sizes @ offsets / sizes.sum()
    between = sizes @ (offsets - mean) ** 2
    return Scatter(sizes, within, between, lowest + mean, highest - lowest)


def ratio(numerator: Array, denominator: Array, spread: Array) -> Array:
    """Divide, with 0/0 = 0 and finite values in order where only the denominator is 0.

    Such a ratio is infinite.  It becomes ``top * (1 + r)`` where top is the largest finite ratio
    (1 if all are 0) and r in (0, 1] the share ``numerator / spread**2`` has of the largest: above
    all others, in an order that neither unit nor origin of a feature changes, and not so far above
    that the others vanish beside it.

    Parameters
    ----------
    numerator, denominator : ndarray of shape (d,)
        At least 0.
    spread : ndarray of shape (d,)
        Range of the values of each feature, positive where the numerator is.

    Examples
    --------
    >>> zero, one = np.zeros(4), np.ones(4)
    >>> ratio(np.array([0.0, 1.0, 2.0, 6.0]), np.array([0.0, 0.0, 0.0, 2.0]), one).tolist()
    [0.0, 4.5, 6.0, 3.0]
    """
    result = np.zeros_like(numerator)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    infinite = (denominator == 0) & (numerator > 0)
    if infinite.any():
        share = numerator[infinite] / spread[infinite] ** 2
        result[infinite] = (result.max() or 1.0) * (1.0 + share / share.max())
    return result


def units(X: Matrix) -> Array:
    """Powers of two that bring every column into [-1, 1], so that no square overflows.

    Multiplying by them rounds nothing.
    """
    largest = np.maximum(*np.abs(extremes(X)))
    return np.asarray(np.ldexp(1.0, -np.maximum(np.frexp(largest)[1], -1000)))


def extremes(X: Matrix) -> tuple[Array, Array]:
    """Smallest and largest value of every column."""
    if isinstance(X, np.ndarray):
        return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    lowest, highest = X.min(axis=0), X.max(axis=0)
    return _flat(lowest), _flat(highest)


def _flat(row: Matrix) -> Array:
    return np.asarray(row.toarray(), dtype=np.float64).ravel()


def _dense_moments(block: Matrix, unit: Array, origin: Array) -> tuple[Array, Array]:
    """Mean about an origin, and sum of squares about the mean."""
    values = np.multiply(block, unit, dtype=np.float64)
    shift = values[0].copy()  # about a value of its own, a constant is exactly 0
    values -= shift
    mean = values.mean(axis=0)
    values -= mean
    return (shift - origin) + mean, np.square(values, out=values).sum(axis=0)


def _sparse_moments(block: Matrix, unit: Array, origin: Array) -> tuple[Array, Array]:
    """The same from stored values and the number of those that are not."""
    n, d = block.shape
    block = sp.coo_array(block)
    column, values = block.col, block.data * unit[block.col]
    absent = n - np.bincount(column, minlength=d)
    shift = _flat(block.tocsc().min(axis=0)) * unit

    def total(terms: Array) -> Array:
        return np.asarray(np.bincount(column, terms, minlength=d))

    values = values - shift[column]
    mean = (total(values) - absent * shift) / n
    within = total((values - mean[column]) ** 2) + absent * (shift + mean) ** 2
    return (shift - origin) + mean, within
