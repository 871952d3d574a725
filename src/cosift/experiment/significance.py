r"""Tests of differences between methods, as functions of plain arrays.

Two questions need two kinds of test.  Whether a method is better *on these data* is asked of
repeated draws, which share rows and are not independent: `corrected_t`.  Whether it is better *on
data like these* is asked of tasks, which are: `mean_ranks`, `friedman`, `critical_difference`,
`signed_rank`.  What cannot be tested is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from cosift._typing import Array, Indices

__all__ = [
    "LEVEL",
    "Difference",
    "Friedman",
    "corrected_t",
    "critical_difference",
    "friedman",
    "groups",
    "holm",
    "holm_of_pairs",
    "mean_ranks",
    "signed_rank",
]

LEVEL = 0.05
# Metrics are at most 1: differences below this are rounding errors.
ROUNDING = 1e-12
# Up to so many blocks signs are counted rather than approximated.
EXACT = 50


class Difference(NamedTuple):
    """Mean differences, their confidence intervals at 1 - `LEVEL`, and p-values."""

    mean: Array
    low: Array
    high: Array
    p: Array


class Friedman(NamedTuple):
    """Friedman's statistic, its p-value, and over how many blocks."""

    statistic: float
    p: float
    n_blocks: int


def corrected_t(differences: Array, test_to_train: float) -> Difference:
    r"""Two-sided t test of a mean difference over repeated draws of training and test rows.

    Draws from the same rows overlap, so that differences :math:`d_1 \dots d_r` with variance
    :math:`s^2` vary less than those of fresh data would.  Nadeau and Bengio's correction takes

    .. math:: t = \bar d \Big/ \left( s \sqrt{1/r + n_{test} / n_{train}} \right)

    with r - 1 degrees of freedom.  One draw, or draws that all give the same difference, cannot
    tell how far it varies: NaN.  Methods that are equal in all draws have p = 1.

    Parameters
    ----------
    differences : ndarray of shape (..., r)
        Differences between two methods in each draw.
    test_to_train : float
        Test rows over training rows; 0 gives the usual test, for independent differences.

    Returns
    -------
    Difference
        Arrays of shape (...).

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", *Machine Learning* 52, 2003.

    Examples
    --------
    >>> differences = np.array([0.02, 0.04, 0.03])
    >>> float(corrected_t(differences, test_to_train=1.0).p)
    0.1217
    >>> float(corrected_t(differences, test_to_train=0.0).p)
    0.0351
    """
    r = differences.shape[-1]
    mean = differences.mean(axis=-1)
    unknown = np.full(mean.shape, np.nan)
    if r < 2:
        return Difference(mean, unknown, unknown, unknown)
    deviation = differences.std(axis=-1, ddof=1)
    varies = deviation > ROUNDING
    same = np.abs(differences).max(axis=-1) <= ROUNDING
    error = deviation * np.sqrt(1.0 / r + test_to_train)
    error = np.where(varies, error, np.where(same, 0.0, np.nan))
    t = np.divide(np.abs(mean), error, out=np.zeros(mean.shape), where=varies)
    p = np.where(varies, 2.0 * stats.t.sf(t, r - 1), np.where(same, 1.0, np.nan))
    reach = stats.t.ppf(1.0 - LEVEL / 2.0, r - 1) * error
    return Difference(mean, mean - reach, mean + reach, p)


def holm(p: Array) -> Array:
    """P-values adjusted for being several, after Holm; NaN is no test and counts for nothing.

    Of m p-values in ascending order, the i-th (from 0) is multiplied by m - i; what this would
    put below a smaller one's is raised to that.  Rejecting what is at most a level then errs at
    all with at most that probability, however the tests depend on each other.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    adjusted = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return adjusted


def holm_of_pairs(p: Array) -> Array:
    """`holm` for a symmetric matrix of p-values, each pair counted once and none with itself."""
    above = np.triu_indices(len(p), 1)
    adjusted = np.full(p.shape, np.nan)
    adjusted[above] = holm(p[above])
    return np.asarray(np.fmax(adjusted, adjusted.T))


def mean_ranks(values: Array) -> Array:
    """Mean rank of every method, 1 for the largest value, ties sharing theirs.

    Parameters
    ----------
    values : ndarray of shape (n_blocks, k)
        A value for every block and method.

    Examples
    --------
    >>> mean_ranks(np.array([[0.9, 0.8, 0.7], [0.6, 0.6, 0.5]]))
    array([1.25, 1.75, 3.  ])
    """
    return np.asarray(stats.rankdata(_rounded(-values), axis=1).mean(axis=0))


def friedman(values: Array) -> Friedman:
    """Friedman's test that all methods are alike, by the chi-squared approximation.

    Parameters
    ----------
    values : ndarray of shape (n_blocks, k)
        A value for every block and method; blocks must be independent.

    Returns
    -------
    Friedman
        NaN with fewer than three methods or two blocks; p = 1 if every block is one tie.
    """
    n, k = values.shape
    if k < 3 or n < 2:
        return Friedman(np.nan, np.nan, n)
    rounded = _rounded(values)
    if (rounded == rounded[:, :1]).all():
        return Friedman(0.0, 1.0, n)
    statistic, p = stats.friedmanchisquare(*rounded.T)
    return Friedman(float(statistic), float(p), n)


def critical_difference(k: int, n_blocks: int) -> float:
    r"""Mean ranks that differ by less are not told apart by Nemenyi's test.

    .. math:: q_k \sqrt{k (k + 1) / (6 n)}

    for k methods and n blocks, where :math:`\sqrt 2 q_k` is the quantile 1 - `LEVEL` of the range
    of k standard normal values.

    References
    ----------
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", *JMLR* 7, 2006.

    Examples
    --------
    >>> round(critical_difference(k=4, n_blocks=14), 2)
    1.25
    """
    if k < 2 or n_blocks < 2:
        return float("nan")
    q = stats.studentized_range.ppf(1.0 - LEVEL, k, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(k * (k + 1) / (6.0 * n_blocks)))


def groups(ranks: Array, critical: float) -> list[Indices]:
    """The largest sets of methods whose mean ranks all differ by less than a critical difference.

    Parameters
    ----------
    ranks : ndarray of shape (k,)
        Mean ranks.
    critical : float
        The critical difference.

    Returns
    -------
    list of ndarray
        Positions, best rank first; a method that differs from all others is alone.

    Examples
    --------
    >>> [group.tolist() for group in groups(np.array([2.0, 1.0, 3.5]), 1.2)]
    [[1, 0], [2]]
    """
    order = np.argsort(ranks, kind="stable")
    found: list[Indices] = []
    reached = 0
    for first in range(len(order)):
        end = int(np.searchsorted(ranks[order], ranks[order[first]] + critical - ROUNDING))
        end = max(end, first + 1)
        if end > reached:
            found.append(order[first:end])
            reached = end
    return found


def signed_rank(differences: Array) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test, exact also where differences tie.

    Given the absolute differences, all signs are equally likely if differences are symmetric
    about 0; the p-value is the share of signs whose sum of signed ranks is as large.  Differences
    of 0 have ranks but no signs.  With n blocks p is at least ``2 / 2**n``, so at least six are
    needed for 0.05.  Above 50 blocks it is approximated by a normal distribution.

    Parameters
    ----------
    differences : ndarray of shape (n_blocks,)
        Differences between two methods; blocks must be independent.

    Examples
    --------
    >>> signed_rank(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    0.03125
    """
    if len(differences) < 2:
        return float("nan")
    differences = _rounded(differences)
    if len(differences) > EXACT and differences.any():
        return float(stats.wilcoxon(differences, zero_method="pratt", method="approx").pvalue)
    signs = np.sign(differences).astype(np.intp)
    # Twice the ranks are whole numbers.
    ranks = np.rint(2.0 * stats.rankdata(np.abs(differences))).astype(np.intp)
    ranks = ranks[signs != 0]
    # Chances of every sum of positive ranks: each is in it or not.
    chances = np.ones(1)
    for rank in ranks:
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    sums = 2 * np.arange(len(chances)) - ranks.sum()
    return float(chances[np.abs(sums) >= abs(ranks @ signs[signs != 0])].sum())


def _rounded(values: Array) -> Array:
    """Values that differ by rounding errors alone made equal, and -0 made 0."""
    return np.round(values, 12) + 0.0
