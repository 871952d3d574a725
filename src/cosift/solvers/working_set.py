"""Solve on the features that can matter, and let the certificate say when they do.

Where Theta of a feature lies within the rows' ball for every task, its row of W may stay zero
whatever the trace norm's part.  So the problem is solved on a working set, Theta is computed for
all features, those outside the ball join (a few times the set at most), and the bound of the whole
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

# A set of this size costs next to nothing, so no round starts smaller.
FEW = 100
GROWTH = 4


def solve(problem: Problem, recorder: Recorder, max_iter: int, warm: State | None = None) -> State:
    """Solve to the recorder's target or for max_iter iterations; the state can warm the next.

    ``warm`` is the state another problem with the same Hessian ended in, or None.
    """
    if warm is None or len(warm.rho) != len(problem.penalty.norms):
        warm = cold_start(problem)
    if _zero_is_optimal(problem, recorder):
        return warm
    features, V = np.flatnonzero(np.any(warm.Z[0] != 0.0, axis=1)), warm.Z[0]
    while recorder.n_iter < max_iter and not recorder.converged:
        features = _grown(problem, features, V)
        part = problem.restrict(features)
        everything = part is problem
        target = recorder.target
        if not everything:
            target = max(0.5 * target, 0.1 * recorder.gap)
        inner = recorder.inner(part.shape, target)
        state = admm(part, inner, max_iter, warm.restrict(features))
        recorder.absorb(inner)
        W, witness = inner.W, inner.witness
        if not everything:
            witness = witness.extended(problem, features)
            W = np.zeros(problem.shape)
            W[features] = inner.W
        recorder.offer(W, inner.objective, dual_bound(problem, witness), witness)
        recorder.log()
        V = witness.V
        warm = state.extended(problem.shape, features, problem.smooth(V).theta)
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


def _grown(problem: Problem, features: Indices, V: Array) -> Indices:
    """The set with the features that Theta at V puts farthest outside the rows' ball."""
    norms = row_norms(problem.smooth(V).theta, problem.penalty.sizes).max(axis=1)
    norms[features] = 0.0
    outside = np.flatnonzero(norms > problem.penalty.alpha)
    room = max(FEW, GROWTH * len(features)) - len(features)
    strongest = outside[np.argsort(-norms[outside], kind="stable")[:room]]
    grown = np.union1d(features, strongest)
    # A set of most features saves nothing over all of them.
    return grown if 2 * len(grown) < problem.shape[0] else np.arange(problem.shape[0])
