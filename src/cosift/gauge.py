"""The gauge of the penalty's dual ball: whether W = 0 is optimal, and how far it is from it.

    gauge(Theta) = max {<Theta, V> : Omega(V) <= 1}
                 = min {max(gauge_rows(A), gauge_trace(B)) : A + B = Theta}

W = 0 is optimal exactly when the gauge of ``-grad f(0)`` is at most 1, so on a path of penalties
it is the scale at which the first feature enters.  With one norm it is closed; with two it is a
convex problem of its own, solved here between a lower bound from V and an upper one from (A, B).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cosift._splitting import Splitting
from cosift._typing import Array
from cosift.penalties import Penalty, right_spectrum, row_norms


class Bracket(NamedTuple):
    """``lower <= gauge <= upper``."""

    lower: float
    upper: float


def gauge(
    penalty: Penalty,
    theta: Array,
    *,
    rtol: float = 1e-9,
    threshold: float | None = None,
    max_iter: int = 1_000,
) -> Bracket:
    """Bracket the gauge of a penalty's dual ball.

    Parameters
    ----------
    penalty : Penalty
        Omega.
    theta : ndarray of shape (d, C)
        Where the gauge is wanted.
    rtol : float
        The bounds are brought together to this.
    threshold : float, optional
        Stop as soon as both bounds lie on one side of it.
    max_iter : int
        After so many iterations the bounds are returned as they are; they hold all the same.

    Notes
    -----
    Douglas-Rachford splitting (two copies of V, jointly in the ball ``Omega <= 1``, and their
    agreement) with Anderson extrapolation.  The multipliers of the copies are A and B.

    Examples
    --------
    With the row norms alone, 5 = ||(3, 4)||; beside a trace norm of the same weight a matrix of
    one row needs half of that:

    >>> theta, sizes = np.array([[3.0, 4.0]]), np.array([2])
    >>> gauge(Penalty(1.0, 0.0, sizes), theta).upper
    5.0
    >>> round(gauge(Penalty(1.0, 1.0, sizes), theta).upper, 6)
    2.5
    """
    gauges = [norm.gauge(theta) for norm in penalty.norms]
    lower, upper = 0.0, min(gauges)
    if len(gauges) == 1 or upper == 0.0:
        return Bracket(upper, upper)
    rows, trace = penalty.norms
    size = penalty.value(theta)
    pair = np.stack([theta, theta])
    # Both copies of V lie in one ball, so they are one copy of the pair.
    iteration = Splitting([pair / size], np.array([0.1 * size]))
    while iteration.iteration < max_iter:
        Z = _into_ball(penalty, iteration.S[0])
        rho = iteration.rho[0]
        V = (2.0 * Z - iteration.S[0]).mean(axis=0) + theta / (2.0 * rho)
        A, B = iteration.parts([Z])[0]
        upper = min(
            upper,
            max(rows.gauge(A), trace.gauge(theta - A)),
            max(rows.gauge(theta - B), trace.gauge(B)),
        )
        lower = max(lower, _ratio(penalty, theta, V), _ratio(penalty, theta, Z[0]))
        decided = threshold is not None and (upper <= threshold or lower > threshold)
        if decided or upper <= lower * (1.0 + rtol):
            break
        iteration.advance([Z], [np.stack([V, V])])
    return Bracket(min(lower, upper), upper)


def _ratio(penalty: Penalty, theta: Array, V: Array) -> float:
    size = penalty.value(V)
    return float(np.vdot(theta, V)) / size if size > 0 else 0.0


def _into_ball(penalty: Penalty, S: Array) -> Array:
    """Project a pair onto ``{alpha ||Z_1||_{2,1} + gamma ||Z_2||_* <= 1}``.

    Both are shrunk by the same step, the root of a decreasing piecewise linear function.
    """
    norms = row_norms(S[0], penalty.sizes).ravel()
    values = right_spectrum(S[1])[0]
    lengths = np.concatenate([norms, values])
    weights = np.repeat([penalty.alpha, penalty.gamma], [norms.size, values.size])
    step = 0.0
    while True:  # Newton's method from the left: it ends on the root's own piece
        active = lengths > weights * step
        w, length = weights[active], lengths[active]
        further = (w @ length - 1.0) / (w @ w) if active.any() else 0.0
        if further <= step * (1.0 + 1e-15):
            break
        step = further
    if step == 0.0:
        return S
    return np.stack([norm.prox(S_k, step) for norm, S_k in zip(penalty.norms, S, strict=True)])
