"""The alternating direction method of multipliers, one linear system a task.

Every norm of the penalty has its own copy Z_k of W; the iteration of `_splitting` ties them with

    W = argmin f(W) + sum_k rho_k/2 ||W - (2 Z_k - S_k)||^2,

one Cholesky factor a block for each value of rho.  What the rows' norm holds of Theta,
``rho_1 (S_1 - Z_1)``, is the guess that the dual bound is computed with.  Nothing is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cosift._splitting import Splitting
from cosift._typing import Array, Indices
from cosift.certificate import Witness, dual_bound, reweighted_witness
from cosift.problem import Problem
from cosift.quadratic import Tied
from cosift.solvers.base import Recorder

CHECK_EVERY = 10
# A bound by reweighting costs a factorisation a task.
REWEIGHT_AT = frozenset({50, 100, 200, 400, 800, 1600, 3200, 6400})


@dataclass(frozen=True)
class State:
    """Where the iteration stands, one entry a norm of the penalty."""

    Z: list[Array]  # (d, C): the copies of W
    parts: list[Array]  # (d, C): what each norm holds of Theta
    rho: Array

    def restrict(self, features: Indices) -> State:
        """The state of the problem restricted to some features."""
        return State([z[features] for z in self.Z], [a[features] for a in self.parts], self.rho)

    def extended(self, shape: tuple[int, int], features: Indices, theta: Array) -> State:
        """The state of the whole problem: zero elsewhere, Theta there held by the rows' norm."""
        whole = State(
            [np.zeros(shape) for _ in self.Z], [np.zeros(shape) for _ in self.Z], self.rho
        )
        whole.parts[0][:] = theta
        for k, (z, part) in enumerate(zip(self.Z, self.parts, strict=True)):
            whole.Z[k][features], whole.parts[k][features] = z, part
        return whole


def cold_start(problem: Problem) -> State:
    """W = 0 and no multipliers, with weights that `_splitting` adapts later.

    A gradient step from zero makes the largest row (singular value) of W about
    ``weight * (gauge - 1) / curvature``; rho is such that the proximal step is of that size.
    """
    q = problem.linear
    size = float(np.vdot(q, q))
    curvature = 2.0 * float(np.vdot(q, problem.hessian_product(q))) / size if size > 0 else 1.0
    nothing = [np.zeros(problem.shape) for _ in problem.penalty.norms]
    return State(nothing, nothing, np.full(len(nothing), 0.01 * curvature))


def admm(problem: Problem, recorder: Recorder, max_iter: int, state: State) -> State:
    """Iterate until the recorder has converged or counts max_iter; the last state.

    The recorder must be of this problem.  The state given is not changed.
    """
    norms = problem.penalty.norms
    start = [z + a / r for z, a, r in zip(state.Z, state.parts, state.rho, strict=True)]
    iteration = Splitting(start, state.rho)
    tied: Tied | None = None
    while recorder.n_iter < max_iter and not recorder.converged:
        recorder.n_iter += 1
        S, rho = iteration.S, iteration.rho
        Z = [norm.prox(s, 1.0 / r) for norm, s, r in zip(norms, S, rho, strict=True)]
        points = [2.0 * z - s for z, s in zip(Z, S, strict=True)]
        # Before a check anew, so that errors of corrections to corrections do not add up.
        check = (iteration.iteration + 1) % CHECK_EVERY == 0 or iteration.iteration == 0
        tied = _tied(problem, points, rho, None if check else tied)
        W = tied.W
        state = State(Z, iteration.parts(Z), rho)
        iteration.advance(Z, [W] * len(Z))

        count = iteration.iteration
        if check:
            witness = Witness(W, state.parts[0] + rho[0] * (W - Z[0]))
            recorder.offer(Z[0], problem.objective(Z[0]), dual_bound(problem, witness), witness)
            if not recorder.converged and count in REWEIGHT_AT:
                witness = reweighted_witness(problem, recorder.W)
                bound = dual_bound(problem, witness)
                recorder.offer(recorder.W, recorder.objective, bound, witness)
            recorder.log()
    return state


def _tied(problem: Problem, points: Sequence[Array], rho: Array, known: Tied | None) -> Tied:
    """``argmin_W f(W) + sum_k rho_k/2 ||W - P_k||^2``, from that for other points if known."""
    total = float(rho.sum())
    center = sum((r / total) * P for r, P in zip(rho, points, strict=True))
    W = np.empty(problem.shape)
    for block in problem.blocks:
        own = block.columns
        before = None if known is None else known.columns(own)
        W[:, own] = block.quadratic.solve_tied(center[:, own], total, before)
    return Tied(center, total, W)
