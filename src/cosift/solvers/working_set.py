"""Solve on the features that can matter, and let the certificate say when they do.

Where Theta of a feature lies within the rows' ball for every task, its row of W may stay zero
whatever the trace norm's part.  So the problem is solved on a working set, Theta is computed for
all features, those outside the ball join (a share of the set at most), and the bound of the whole
problem decides when to stop.  What one round learned starts the next.
"""

from __future__ import annotations

import numpy as np

from cosift._typing import Array, Indices
from cosift.certificate import Witness, bound_from, dual_bound
from cosift.gauge import gauge
from cosift.penalties import row_norms
from cosift.problem import Problem
from cosift.solvers.admm import State, admm, cold_start
from cosift.solvers.base import Recorder

# To solve for so many features costs less than to look at all of them once more.
FEW = 100
# Features that may join in a round, as a share of the set.  Where the last solution of a path
# starts the next, most of those that Theta calls for are not needed in the end.
GROWTH_COLD, GROWTH_WARM = 3.0, 0.5
# A round ends when it has closed so much of the gap, for others want to join: a look at all
# features costs more than some iterations on the set.
LEFT_OPEN = 0.01


def solve(
    problem: Problem, recorder: Recorder, max_iter: int, warm: State | None = None
) -> State | None:
    """Solve to the recorder's target or for max_iter iterations; the state can warm the next.

    ``warm`` is the state another problem with the same Hessian ended in, or None.
    """
    if _zero_is_optimal(problem, recorder):
        return warm
    if warm is not None and len(warm.rho) != len(problem.penalty.norms):
        warm = None
    growth = GROWTH_COLD if warm is None else GROWTH_WARM
    W = np.zeros(problem.shape) if warm is None else warm.Z[0]
    features = np.flatnonzero(np.any(W != 0.0, axis=1))
    smooth = problem.smooth(W)
    if warm is not None:
        witness = Witness(W, warm.parts[0])
        objective = problem.floor + smooth.excess + problem.penalty.value(W)
        recorder.offer(W, objective, dual_bound(problem, witness, smooth), witness)
    while recorder.n_iter < max_iter and not recorder.converged:
        held, features = features, _grown(problem, features, smooth.theta, growth)
        part = problem.restrict(features)
        target = recorder.target
        if part is not problem:
            # Another round will follow, unless no feature wants to join.
            left_open = LEFT_OPEN * recorder.gap if len(features) > len(held) else 0.0
            target = max(0.5 * target, left_open)
        inner = recorder.inner(part.shape, target)
        start = cold_start(part) if warm is None else warm.restrict(features)
        state = admm(part, inner, max_iter, start)
        recorder.absorb(inner)
        W = np.zeros(problem.shape)
        W[features] = inner.W
        witness, smooth = inner.witness.extended(problem, features)
        recorder.offer(W, inner.objective, dual_bound(problem, witness, smooth), witness)
        recorder.log()
        warm = state.extended(problem.shape, features, smooth.theta)
    return warm


def _zero_is_optimal(problem: Problem, recorder: Recorder) -> bool:
    """Decide W = 0 from the gradient there, and certify it if so."""
    zero = np.zeros(problem.shape)
    at_zero = problem.smooth(zero)
    upper = gauge(problem.penalty, at_zero.theta, threshold=1.0).upper
    bound = bound_from(problem, at_zero, upper)
    recorder.offer(zero, problem.at_zero, bound, Witness(zero, at_zero.theta))
    recorder.log()
    return upper <= 1.0


def _grown(problem: Problem, features: Indices, theta: Array, growth: float) -> Indices:
    """The set with the features that Theta puts farthest outside the rows' ball."""
    norms = row_norms(theta, problem.penalty.sizes).max(axis=1)
    norms[features] = 0.0
    outside = np.flatnonzero(norms > problem.penalty.alpha)
    room = max(FEW, int(growth * len(features)))
    strongest = outside[np.argsort(-norms[outside], kind="stable")[:room]]
    grown = np.union1d(features, strongest)
    # A set of most features saves nothing over all of them.
    return grown if 2 * len(grown) < problem.shape[0] else np.arange(problem.shape[0])
