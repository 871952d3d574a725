"""The alternating direction method of multipliers, one linear system a task, accelerated.

Every norm of the penalty has its own copy Z_k of W with a multiplier; the weights rho_k say how
hard W and a copy are tied.  In the form of Douglas and Rachford the state is one matrix S_k a norm:

    Z_k = prox of norm k at S_k with step 1/rho_k
    W   = argmin f(W) + sum_k rho_k/2 ||W - (2 Z_k - S_k)||^2
    S_k <- S_k + W - Z_k

and ``rho_k (S_k - Z_k)`` is norm k's part of Theta.  The step in W needs one Cholesky factor for
each value of rho, which changes a few times at the start; the map S -> S is sped up by Anderson
extrapolation.  Nothing is random.  Derivation: docs/solvers.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosift._anderson import Anderson
from cosift._typing import Array, Indices
from cosift.certificate import Certificate, Witness, dual_bound, reweighted_witness
from cosift.problem import Problem
from cosift.solvers.base import Recorder

MEMORY = 10
CHECK_EVERY = 10
# The weights settle early: every change starts the extrapolation anew.
ADAPT_AT = frozenset({5, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920})
# A certificate by reweighting costs a factorisation a task.
REWEIGHT_AT = frozenset({50, 100, 200, 400, 800, 1600, 3200, 6400})


@dataclass(frozen=True)
class State:
    """Where the iteration stands, one entry a norm of the penalty."""

    Z: Array  # (norms, d, C): the copies of W
    parts: Array  # (norms, d, C): what each norm holds of Theta
    rho: Array  # (norms,)

    def restrict(self, features: Indices) -> State:
        return State(self.Z[:, features], self.parts[:, features], self.rho)

    def extended(self, shape: tuple[int, int], features: Indices, theta: Array) -> State:
        """The state of the whole problem: zero elsewhere, Theta there held by the rows' norm."""
        Z = np.zeros((len(self.rho), *shape))
        parts = np.zeros_like(Z)
        parts[0] = theta
        Z[:, features], parts[:, features] = self.Z, self.parts
        return State(Z, parts, self.rho)


def cold_start(problem: Problem) -> State:
    """W = 0 and no multipliers; rho a hundredth of the curvature, a start that adapts."""
    q = problem.linear
    size = float(np.vdot(q, q))
    curvature = 2.0 * float(np.vdot(q, problem.hessian_product(q))) / size if size > 0 else 1.0
    nothing = np.zeros((len(problem.penalty.norms), *problem.shape))
    return State(nothing, nothing, np.full(len(nothing), 0.01 * curvature))


def admm(problem: Problem, recorder: Recorder, max_iter: int, state: State) -> State:
    """Iterate until the recorder has converged or counts max_iter; the last state.

    The recorder must be of this problem.  The state given is not changed.
    """
    norms = problem.penalty.norms
    rho = state.rho
    Z = state.Z
    S = Z + state.parts / rho[:, None, None]
    memory = Anderson(MEMORY)
    best, fallback = np.inf, S
    previous: Array | None = None
    iteration = 0
    while recorder.n_iter < max_iter and not recorder.converged:
        iteration += 1
        recorder.n_iter += 1
        Z = np.stack([norm.prox(S_k, 1.0 / r) for norm, S_k, r in zip(norms, S, rho, strict=True)])
        W = _tied(problem, 2.0 * Z - S, rho)
        image = S + (W - Z)

        if iteration % CHECK_EVERY == 0 or iteration == 1:
            witness = Witness(W, rho[0] * (image[0] - Z[0]))
            bound = dual_bound(problem, witness)
            recorder.offer(Z[0], Certificate(problem.objective(Z[0]), bound, witness))
            if not recorder.converged and iteration in REWEIGHT_AT:
                witness = reweighted_witness(problem, recorder.W)
                bound = dual_bound(problem, witness)
                recorder.offer(recorder.W, Certificate(recorder.objective, bound, witness))
            recorder.log()

        if iteration in ADAPT_AT and previous is not None:
            factors = _balance(W, Z, S, previous)
            if np.any(factors != 1.0):
                # The parts rho (S - Z) keep their values.
                S = Z + (image - Z) / factors[:, None, None]
                rho = rho * factors
                memory.forget()
                best, previous = np.inf, None
                continue
        previous = Z

        residual = float(np.sqrt(rho @ ((image - S) ** 2).sum(axis=(1, 2))))
        if residual > 2.0 * best:
            # The extrapolation went astray: back to the best plain step.
            S, best = fallback, np.inf
            memory.forget()
            continue
        if residual < best:
            best, fallback = residual, image
        scale = np.sqrt(rho)[:, None, None]
        S = memory.step(S * scale, image * scale) / scale
    return State(Z, rho[:, None, None] * (S - Z), rho)


def _tied(problem: Problem, points: Array, rho: Array) -> Array:
    """``argmin_W f(W) + sum_k rho_k/2 ||W - P_k||^2``."""
    total = float(rho.sum())
    center = np.tensordot(rho / total, points, axes=1)
    W = np.empty_like(center)
    for block in problem.blocks:
        W[:, block.columns] = block.quadratic.solve_tied(center[:, block.columns], total)
    return W


def _balance(W: Array, Z: Array, S: Array, previous: Array) -> Array:
    """Factors on rho that bring primal and dual residuals, both relative, together."""
    factors = np.ones(len(Z))
    tiny = np.finfo(float).tiny
    for k, (Z_k, S_k, before) in enumerate(zip(Z, S, previous, strict=True)):
        primal = np.linalg.norm(W - Z_k) / max(np.linalg.norm(Z_k), np.linalg.norm(W), tiny)
        dual = np.linalg.norm(Z_k - before) / max(np.linalg.norm(S_k - Z_k), tiny)
        factor = float(np.clip(np.sqrt(primal / max(dual, tiny)), 0.1, 10.0))
        if not 0.5 <= factor <= 2.0:
            factors[k] = factor
    return factors
