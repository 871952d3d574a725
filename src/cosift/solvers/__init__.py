"""Solvers by name, all with the same contract.

``"auto"``
    The accelerated ADMM of `admm` on a working set of features.
``"reweighted"``
    The paper's algorithm, corrected, with shrinking smoothing; slower, kept for comparison.
"""

from __future__ import annotations

from cosift._blas import one_pool
from cosift.problem import Problem
from cosift.solvers import reweighted, working_set
from cosift.solvers.admm import State
from cosift.solvers.base import Progress, Recorder, Result

__all__ = ["SOLVERS", "Progress", "Result", "State", "solve"]

SOLVERS = ("auto", "reweighted")


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int = 10_000,
    warm: State | None = None,
) -> tuple[Result, State | None]:
    """Minimise to a certified gap of ``tol * problem.at_zero``.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    solver : {"auto", "reweighted"}
        See the module's text.
    tol : float
        Relative gap that counts as converged.
    max_iter : int
        Iterations at most, over all rounds.
    warm : State, optional
        The state in which a solve with the same Hessian ended ("auto" only).

    Returns
    -------
    Result, State or None
        The certified point, and the state to warm the next solve with.
    """
    recorder = Recorder(problem.shape, tol * problem.at_zero)
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(SOLVERS)}. Got {solver!r}.")
    with one_pool():
        if solver == "auto":
            warm = working_set.solve(problem, recorder, max_iter, warm)
        else:
            reweighted.solve(problem, recorder, max_iter)
    return recorder.result(), warm
