"""The paper's algorithm, with its update corrected and its smoothing shrunk.

Each step solves the problem with both norms replaced by their quadratic majorisers at W,

    (2 mu R_l + alpha D_l + gamma D~) W_l = 2 mu T_l,

which the paper prints with ``alpha/beta`` before D_l instead of ``1/beta`` (after division by
``alpha beta``).  With a fixed tiny smoothing it all but stops short of the optimum, since D~ lets
the columns of W turn by next to nothing a step (docs/printed_algorithm.md).  Here the smoothing
starts large and shrinks only when the certified gap is of its own size, so that every step still
matters; between two shrinkings the steps are extrapolated.
"""

from __future__ import annotations

import numpy as np

from cosift._anderson import Anderson
from cosift._typing import Array
from cosift.certificate import Witness, certify, dual_bound, reweighted_point
from cosift.penalties import row_norms
from cosift.problem import Problem
from cosift.solvers.base import Recorder

# At the optimum for one smoothing the gap is at most twice the smoothing (in fact 0.61 times,
# docs/solvers.md); this near to it the smoothing may shrink.
SETTLED = 2.5
SHRINK = 0.7
MEMORY = 15
# The bound of a step trails its point where d > n; the exact gauge costs as much as some steps.
CERTIFY_EVERY = 50


def solve(problem: Problem, recorder: Recorder, max_iter: int) -> None:
    """Iterate to the recorder's target or for max_iter iterations, from W = 0."""
    W = np.zeros(problem.shape)
    start = certify(problem, W)
    recorder.offer(W, start.objective, start.dual_bound, start.witness)
    recorder.log()
    memory = Anderson(MEMORY)
    smoothing = 1.0
    least = 0.1 * recorder.target / max(problem.at_zero, np.finfo(float).tiny)
    while recorder.n_iter < max_iter and not recorder.converged:
        recorder.n_iter += 1
        image, rows = reweighted_point(problem, W, smoothing)
        witness = Witness(image, rows)
        bound = dual_bound(problem, witness)
        sparse = _without_smoothed_rows(problem, image, rows)
        recorder.offer(sparse, problem.objective(sparse), bound, witness)
        if not recorder.converged and recorder.n_iter % CERTIFY_EVERY == 0:
            exact = certify(problem, recorder.W)
            recorder.offer(recorder.W, exact.objective, exact.dual_bound, exact.witness)
        recorder.log()
        if problem.objective(image) - bound <= SETTLED * smoothing * problem.at_zero:
            smoothing = max(SHRINK * smoothing, least)
            memory.forget()
            W = image
        else:
            W = memory.step(W, image)


def _without_smoothed_rows(problem: Problem, W: Array, rows: Array) -> Array:
    """W with those rows zero that are shorter than the smoothing, so that zero stands for them."""
    penalty = problem.penalty
    short = row_norms(rows, penalty.sizes) <= penalty.alpha / np.sqrt(2.0)
    return np.where(np.repeat(short, penalty.sizes, axis=1), 0.0, W)
