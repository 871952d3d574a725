"""How far a point can be from the optimum, from the problem and the point alone.

With ``rho = F0 - X V`` and ``Theta = 2 X' M rho = 2 (q - Q V)``, any V whatever gives a dual point:
``tau * Theta`` is feasible as soon as ``tau * gauge(Theta) <= 1``, where the gauge is that of
Omega's dual ball, and bounds the optimum from below by

    bound(tau) = floor + 2 tau <rho, M F0> - tau^2 <rho, M rho>,

which is largest at ``tau = min(1/gauge, <rho, M F0>/<rho, M rho>)``.  Both products follow from
Q, q and the energy; no sample, no factorisation, no solver's state enters.

At the optimum V = W makes the bound exact.  Near it a small error of W in a direction of large
curvature upsets Theta far more than the objective, so W is first *reweighted*: V solves

    (2 Q_l + alpha D_l + gamma D~) V_l = 2 q_l,    D_l = diag(1/||w_l^j||),  D~ = (W W')^{-1/2},

one step of the paper's own iteration.  Its Theta is ``alpha D_l V_l + gamma D~ V``, the two parts
of the split, each within its ball up to the change from W to V.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from cosift._typing import Array, Indices
from cosift.gauge import gauge
from cosift.penalties import row_norms
from cosift.problem import Problem, Smooth
from cosift.quadratic import Stiffness


class Witness(NamedTuple):
    """The point that a dual bound came from, and its guess of the row-sparse part of Theta."""

    V: Array
    rows: Array

    def extended(self, problem: Problem, features: Indices) -> tuple[Witness, Smooth]:
        """The witness of a problem restricted to some features, for the whole problem.

        With it comes the smooth part at its V, for that costs a look at all samples.
        """
        V = np.zeros(problem.shape)
        V[features] = self.V
        smooth = problem.smooth(V)
        rows = smooth.theta.copy()
        rows[features] = self.rows
        return Witness(V, rows), smooth


@dataclass(frozen=True)
class Certificate:
    """``dual_bound <= optimum <= objective``, and the witness to redo the bound with."""

    objective: float
    dual_bound: float
    witness: Witness

    @property
    def gap(self) -> float:
        return self.objective - self.dual_bound


def certify(problem: Problem, W: Array) -> Certificate:
    """Bound the optimum of a problem from both sides by one point.

    Unlike the bounds inside a solver, this one computes the gauge to its last digits, so it needs
    no hint and closes whoever found W.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    W : ndarray of shape (d, C)
        Any point; the nearer to the optimum, the nearer the bounds.

    Returns
    -------
    Certificate
        Objective at W and a lower bound on the least objective.
    """
    best = -np.inf
    for witness in (Witness(W, problem.smooth(W).theta), reweighted_witness(problem, W)):
        smooth = problem.smooth(witness.V)
        upper = gauge(problem.penalty, smooth.theta, rtol=1e-8).upper
        if (bound := bound_from(problem, smooth, upper)) > best:
            best, chosen = bound, witness
    return Certificate(problem.objective(W), best, chosen)


def dual_bound(problem: Problem, witness: Witness, smooth: Smooth | None = None) -> float:
    """Lower bound on the optimum from any point V, whose smooth part may be known.

    The witness's ``rows`` guess the row-sparse part A of ``Theta = A + B``.  They decide how tight
    the bound is, never whether it holds.
    """
    smooth = problem.smooth(witness.V) if smooth is None else smooth
    upper = problem.penalty.gauge_of_split(smooth.theta, witness.rows)
    return bound_from(problem, smooth, upper)


def bound_from(problem: Problem, smooth: Smooth, gauge: float) -> float:
    """``max over tau of floor + 2 tau * alignment - tau^2 * excess``, ``0 <= tau <= 1/gauge``."""
    tau = 1.0 / gauge if gauge > 0 else np.inf
    if smooth.excess > 0:
        tau = min(tau, smooth.alignment / smooth.excess)
    tau = max(tau, 0.0) if np.isfinite(tau) else 1.0
    return float(problem.floor + tau * (2.0 * smooth.alignment - tau * smooth.excess))


def reweighted_witness(problem: Problem, W: Array, smoothing: float = 1e-7) -> Witness:
    """The reweighted point of W, on the features that Theta at W leaves in play."""
    norms = row_norms(problem.smooth(W).theta, problem.penalty.sizes).max(axis=1)
    kept = np.flatnonzero(np.any(W != 0.0, axis=1) | (norms > problem.penalty.alpha))
    if not kept.size:
        return Witness(np.zeros_like(W), 2.0 * problem.linear)
    V, rows = reweighted_point(problem.restrict(kept), W[kept], smoothing)
    return Witness(V, rows).extended(problem, kept)[0]


def reweighted_point(problem: Problem, W: Array, smoothing: float) -> tuple[Array, Array]:
    """One step of the paper's iteration from W, and the row-sparse part of its Theta.

    ``D_l = diag((||w_l^j||^2 + e^2)^{-1/2})`` and ``D~ = (W W' + e'^2 I)^{-1/2}``: the smoothing
    e, e' adds at most ``smoothing * at_zero`` to either penalty.
    """
    sizes, penalty = problem.penalty.sizes, problem.penalty
    d, C = problem.shape
    allowance = smoothing * problem.at_zero
    weights = penalty.alpha / np.hypot(
        row_norms(W, sizes), allowance / (penalty.alpha * d * len(sizes))
    )
    U, inside, outside = np.zeros((d, 0)), np.zeros(0), 0.0
    if penalty.gamma > 0:
        U, values, _ = linalg.svd(W, full_matrices=False, check_finite=False)
        least = allowance / (penalty.gamma * min(d, C))
        inside, outside = penalty.gamma / np.hypot(values, least), penalty.gamma / least
        U, inside = U[:, inside < outside], inside[inside < outside]
    V = np.empty_like(W)
    of_column = np.repeat(np.arange(len(sizes)), sizes)
    for block in problem.blocks:
        # The tasks of a block share Q, but not the weights of their rows.
        tasks, firsts, counts = np.unique(
            of_column[block.columns], return_index=True, return_counts=True
        )
        for task, first, count in zip(tasks, firsts, counts, strict=True):
            own = slice(first, first + count)
            stiffness = Stiffness(weights[:, task], U, inside, outside)
            V[:, block.columns[own]] = block.quadratic.solve_stiff(stiffness, own)
    return V, np.repeat(weights, sizes, axis=1) * V
