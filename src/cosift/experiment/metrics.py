"""How good decision values and selections are, and how far selections agree.

Decision values have one column a class, larger meaning more likely; a yes/no task has the column
of "yes" alone.  A class that no sample belongs to is left out of means; where nothing is left the
value is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from cosift._typing import Array, Indices

__all__ = ["METRICS", "Stability", "evaluate", "mean_average_precision", "recovery", "stability"]

# Of every task; "recovery" only where the truth is known.
METRICS = ("map", "accuracy", "macro_f1", "auc", "recovery")


def mean_average_precision(decision: Array, relevant: NDArray[np.bool_]) -> float:
    r"""Mean over classes of the average precision.

    With thresholds at all values, ``AP = sum_i (R_i - R_{i-1}) P_i`` over precision P and recall R.
    Each relevant sample adds the same recall, so AP is the mean over the relevant samples of

    .. math:: P_i = \frac{\#\{\text{relevant } j : s_j \ge s_i\}}{\#\{j : s_j \ge s_i\}} .

    Parameters
    ----------
    decision : ndarray of shape (n, c)
        Decision values s.
    relevant : ndarray of bool, shape (n, c)
        Whether a sample belongs to a class.

    Returns
    -------
    float
        From 0 to 1, or NaN.

    Examples
    --------
    The relevant samples have ranks 1 and 3, so precision is 1 and 2/3 there:

    >>> values = np.array([[0.9], [0.8], [0.7]])
    >>> round(mean_average_precision(values, np.array([[True], [False], [True]])), 4)
    0.8333
    """
    return _mean_over_classes(_average_precision, decision, relevant)


def evaluate(decision: Array, y: NDArray[np.int64], classes: NDArray[np.int64]) -> dict[str, float]:
    """All metrics of one task's decision values.

    Parameters
    ----------
    decision : ndarray of shape (n, c) or (n, 1)
        Decision values.
    y : ndarray of int, shape (n,)
        True classes.
    classes : ndarray of int, shape (c,)
        Class of each column; ``[1]`` for a yes/no task.

    Returns
    -------
    dict
        "map"; "accuracy" of the likeliest class; "macro_f1", the mean F1 of the classes ("yes"
        alone in a yes/no task); "auc", the mean area under the ROC curve of one against rest.
    """
    relevant = y[:, None] == classes
    if len(classes) > 1:
        predicted = classes[decision.argmax(axis=1)]
        macro_f1 = f1_score(y, predicted, average="macro", zero_division=0)
    else:
        predicted = (decision[:, 0] > 0) * classes[0]
        macro_f1 = f1_score(y, predicted, pos_label=classes[0], zero_division=0)
    return {
        "map": mean_average_precision(decision, relevant),
        "accuracy": float(accuracy_score(y, predicted)),
        "macro_f1": float(macro_f1),
        "auc": _mean_over_classes(_area_under_curve, decision, relevant),
    }


def recovery(ranked: Sequence[int] | Indices, truth: Indices) -> float:
    """Share of the features that matter among as many ranked best.

    Examples
    --------
    >>> recovery([4, 0, 2, 1, 3], np.array([0, 1, 4]))
    0.6666666666666666
    """
    if len(truth) == 0:
        return float("nan")
    return len(np.intersect1d(ranked[: len(truth)], truth)) / len(truth)


class Stability(NamedTuple):
    """A value and its confidence interval."""

    value: float
    low: float
    high: float


def stability(selected: NDArray[np.bool_], confidence: float = 0.95) -> Stability:
    r"""How far selections agree beyond chance: the measure of Nogueira, Sechidis and Brown (2018).

    With p_f the share of the M selections that hold feature f of d, k_i the size of selection i
    and q the mean of all p_f, it is

    .. math::

        \Phi = 1 - \frac{\frac{1}{d} \sum_f \frac{M}{M - 1} p_f (1 - p_f)}{q (1 - q)} ,

    which is 1 where all selections are equal and 0 on average where they are random.  Its variance
    is :math:`\frac{4}{M^2} \sum_i (\Phi_i - \bar \Phi)^2` with

    .. math::

        \Phi_i = \frac{1}{q (1 - q)} \Bigl[ \frac{1}{d} \sum_{f \in i} p_f - \frac{k_i q}{d}
            + \frac{\Phi}{2} \Bigl( \frac{2 k_i q}{d} - \frac{k_i}{d} - q + 1 \Bigr) \Bigr] ,

    and the interval is that of the normal distribution, right for large M.

    Parameters
    ----------
    selected : ndarray of bool, shape (M, d)
        A row a selection.
    confidence : float, default=0.95
        Coverage of the interval.

    Returns
    -------
    Stability
        NaN of fewer than two selections, or where all or no features are in all of them.

    Examples
    --------
    >>> same = np.array([[True, True, False, False]] * 3)
    >>> stability(same)
    Stability(value=1.0, low=1.0, high=1.0)
    """
    n, d = selected.shape
    p, sizes = selected.mean(axis=0), selected.sum(axis=1)
    q = p.mean()
    chance = q * (1.0 - q)
    if n < 2 or chance == 0.0:
        return Stability(*[float("nan")] * 3)
    value = 1.0 - n / (n - 1) * float(np.mean(p * (1.0 - p))) / chance
    each = selected @ p / d - sizes * q / d
    each += value / 2.0 * (2.0 * sizes * q / d - sizes / d - q + 1.0)
    deviation = 2.0 / n * float(np.linalg.norm(each - each.mean())) / chance
    margin = NormalDist().inv_cdf(0.5 + confidence / 2.0) * deviation
    return Stability(float(value), float(value - margin), float(value + margin))


def _mean_over_classes(
    measure: Callable[[Array, NDArray[np.bool_]], float],
    decision: Array,
    relevant: NDArray[np.bool_],
) -> float:
    columns = np.flatnonzero(relevant.any(axis=0))
    values = [measure(decision[:, c], relevant[:, c]) for c in columns]
    values = [value for value in values if not np.isnan(value)]
    return float(np.mean(values)) if values else float("nan")


def _average_precision(values: Array, relevant: NDArray[np.bool_]) -> float:
    wanted = np.sort(values[relevant])
    above = len(values) - np.searchsorted(np.sort(values), wanted)
    relevant_above = len(wanted) - np.searchsorted(wanted, wanted)
    return float(np.mean(relevant_above / above))


def _area_under_curve(values: Array, relevant: NDArray[np.bool_]) -> float:
    return float("nan") if relevant.all() else float(roc_auc_score(relevant, values))
