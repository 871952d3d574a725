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
    """Sums of squares of every feature in some unit.

    Attributes
    ----------
    sizes : ndarray of shape (c,)
        Samples of each class, n_c.
    within : ndarray of shape (c, d)
        w_c; exactly 0 where all values are equal.
    between : ndarray of shape (d,)
        b; exactly 0 where the feature is constant.
    mean : ndarray of shape (d,)
        m.
    spread : ndarray of shape (d,)
        Largest m_c less the smallest; the range of the values where all w_c are 0.
    """

    sizes: Array
    within: Array
    between: Array
    mean: Array
    spread: Array


def class_scatter(X: Matrix, codes: Indices, unit: Array) -> Scatter:
    """Scatter within and between classes, in two passes so that large means cost no digits.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Samples.
    codes : ndarray of shape (n,)
        Class of each, 0, 1, ... without gaps; -1 leaves a sample out.
    unit : ndarray of shape (d,)
        Factor on each feature, see `units`.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [5.0], [9.0]])
    >>> class_scatter(X, np.array([0, 0, 1, -1]), np.ones(1)).within.ravel().tolist()
    [2.0, 0.0]
    """
    dense = isinstance(X, np.ndarray)
    moments = _dense_moments if dense else _sparse_moments
    first = int(np.argmax(codes >= 0))  # of the rows that count: about it, a constant is exactly 0
    origin = (X[first] if dense else _flat(X[[first]])) * unit
    sizes = np.bincount(codes[codes >= 0]).astype(np.float64)
    means = np.empty((len(sizes), X.shape[1]))
    within = np.empty_like(means)
    for c in range(len(sizes)):
        means[c], within[c] = moments(X[np.flatnonzero(codes == c)], unit, origin)
    mean = sizes @ means / sizes.sum()
    between = sizes @ (means - mean) ** 2
    return Scatter(sizes, within, between, origin + mean, np.ptp(means, axis=0))


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
        Range of the values of each feature, used where only the denominator is 0.

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
    lowest, highest = X.min(axis=0), X.max(axis=0)
    if not isinstance(X, np.ndarray):
        lowest, highest = _flat(lowest), _flat(highest)
    largest = np.maximum(-lowest, highest).astype(np.float64)
    return np.asarray(np.ldexp(1.0, -np.maximum(np.frexp(largest)[1], -1000)))


def _flat(row: Matrix) -> Array:
    return np.asarray(row.toarray(), dtype=np.float64).ravel()


def _dense_moments(block: Matrix, unit: Array, origin: Array) -> tuple[Array, Array]:
    """Mean about an origin, and sum of squares about the mean; the block is lost."""
    values = block.astype(np.float64, copy=False)
    values *= unit
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
