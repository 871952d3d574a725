"""Solvers of the robust problem, with the contract of all solvers.

``"auto"`` is the splitting of `_splitting` with a copy E of the residual and one of W, tied by

    E = X W + 1 b' - Y    for some b.

The weights keep their ratio, so that the point nearest to both copies comes from one ridge
regression, factored once for all gamma.  ``"reweighted"`` is the published iteration, with a
smoothing that shrinks as in `reweighted`.  Derivation: docs/robust.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cosift._anderson import Anderson
from cosift._blas import one_pool
from cosift._splitting import Splitting
from cosift._typing import Array
from cosift.robust import CenteredRidge, RobustProblem, lengths
from cosift.solvers.base import Recorder, Result
from cosift.solvers.reweighted import MEMORY, SETTLED, SHRINK

CHECK_EVERY = 10
# Weight of W by that of E, as a share of the mean curvature of ||X W||^2; measured, docs/robust.md.
RATIO = 0.15


class RobustState(NamedTuple):
    """Where the iteration stands, for another gamma to go on from."""

    S: list[Array]
    rho: Array


def solve_robust(
    problem: RobustProblem,
    ridge: CenteredRidge,
    *,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    warm: RobustState | None = None,
) -> tuple[Result, RobustState | None]:
    """Minimise to a certified gap of ``tol * problem.at_zero``.

    Parameters
    ----------
    problem : RobustProblem
        What to minimise.
    ridge : CenteredRidge
        Of the problem's X ("auto" only).
    solver : {"auto", "reweighted"}
        See the module's text.
    tol : float
        Relative gap that counts as converged.
    max_iter : int
        Iterations at most.
    warm : RobustState, optional
        The state in which a solve with another gamma ended ("auto" only).

    Returns
    -------
    Result, RobustState or None
        The certified point, W with b' as its last row, the witness of its bound being Lam; and
        the state to warm the next solve with.
    """
    d, c = problem.shape
    recorder = Recorder((d + 1, c), tol * problem.at_zero)
    Lam = problem.multiplier_at_zero
    _offer(recorder, problem, np.zeros((d, c)), problem.center, Lam)
    recorder.log()
    if recorder.converged:
        return recorder.result(), warm
    if solver == "reweighted":
        with one_pool():
            _reweight(problem, recorder, max_iter)
        return recorder.result(), None
    if warm is None:
        residual_weight = len(problem.Y) / problem.at_zero
        warm = RobustState(
            [problem.center - problem.Y + Lam / residual_weight, np.zeros((d, c))],
            residual_weight * np.array([1.0, RATIO * ridge.curvature]),
        )
    with one_pool():
        state = _split(problem, ridge, recorder, max_iter, warm)
    return recorder.result(), state


def _split(
    problem: RobustProblem,
    ridge: CenteredRidge,
    recorder: Recorder,
    max_iter: int,
    state: RobustState,
) -> RobustState:
    iteration = Splitting(*state)
    while recorder.n_iter < max_iter and not recorder.converged:
        recorder.n_iter += 1
        S, rho = iteration.S, iteration.rho
        E, W = _shrunk(S[0], 1.0 / rho[0]), _shrunk(S[1], problem.gamma / rho[1])
        P, V = 2.0 * E - S[0], 2.0 * W - S[1]
        off = P + problem.Y - np.asarray(problem.X @ V)
        step = ridge.solve(off, rho[1] / rho[0])
        off -= np.asarray(problem.X @ step)
        b = off.mean(axis=0)
        off -= b  # P less the residual at the tied point, so that -rho off is Lam
        if recorder.n_iter % CHECK_EVERY == 0 or iteration.iteration == 0:
            _offer(recorder, problem, W, b, -rho[0] * off)
            recorder.log()
        iteration.advance([E, W], [P - off, V + step])
    return RobustState(iteration.S, iteration.rho)


def _reweight(problem: RobustProblem, recorder: Recorder, max_iter: int) -> None:
    point, memory, smoothing = recorder.W, Anderson(MEMORY), 1.0
    while recorder.n_iter < max_iter and not recorder.converged:
        recorder.n_iter += 1
        V, b, Lam, D = problem.reweighted(point[:-1], point[-1], smoothing)
        objective, allowance = problem.objective(V, b), smoothing * problem.at_zero
        # Rows shorter than the smoothing stand for zero, unless a fit to the last digit needs them.
        short = lengths(V) * D <= problem.gamma / np.sqrt(2.0)
        sparse = np.where(short[:, None], 0.0, V)
        kept = sparse if problem.objective(sparse, b) <= objective + allowance else V
        _offer(recorder, problem, kept, b, Lam)
        recorder.log()
        image = np.vstack([V, b])
        if objective - problem.dual_bound(Lam) <= SETTLED * allowance:
            smoothing *= SHRINK
            memory.forget()
            point = image
        else:
            point = memory.step(point, image)


def _offer(recorder: Recorder, problem: RobustProblem, W: Array, b: Array, Lam: Array) -> None:
    point = np.vstack([W, b])
    recorder.offer(point, problem.objective(W, b), problem.dual_bound(Lam), Lam)


def _shrunk(A: Array, by: float) -> Array:
    """Every row shorter by a length: the proximal operator of ``by * ||A||_{2,1}``."""
    sizes = lengths(A)
    with np.errstate(divide="ignore"):
        return np.asarray(A * np.maximum(1.0 - by / sizes, 0.0)[:, None])
