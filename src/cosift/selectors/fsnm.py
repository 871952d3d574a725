"""Robust feature selection: row sparsity under a loss that counts lengths, not squares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from cosift._typing import Array, Indices, Matrix
from cosift.labels import Task
from cosift.robust import CenteredRidge, RobustProblem
from cosift.selectors._certified import CertifiedSelector
from cosift.selectors._parameters import check_number
from cosift.solvers import Progress, Result
from cosift.solvers.robust import RobustState, solve_robust


class FSNM(CertifiedSelector):
    r"""Feature selection by joint l2,1-norms, one task at a time, from labelled rows alone.

    .. math::

        \min_{W_l, b_l} \sum_l \|X_l W_l + 1 b_l^\top - Y_l\|_{2,1} + \gamma \sum_l \|W_l\|_{2,1}

    with X_l and Y_l the n_l labelled rows of task l (Nie et al., NIPS 2010).  The loss is the
    length of a sample's residual rather than its square, so that a few wrong labels weigh little.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of row sparsity, above 0.
    n_features_to_select : int, float, "nonzero" or None, default=None
        How many features `transform` keeps: a count (at most all), a share below 1, those with a
        score above zero, or half. May be changed after fitting.
    unlabeled : number, str or None, default=-1
        The label that means "unlabelled"; missing values always do.
    solver : {"auto", "reweighted"}, default="auto"
        "reweighted" is the published iteration with shrinking smoothing; see
        `cosift.solvers.robust`.
    tol : float, default=1e-6
        The gap that counts as converged, as a share of the objective at W = 0.
    max_iter : int, default=10000
        Iterations at most, for each task.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_outputs, n_features) and (n_outputs,)
        W transposed and b, rows ordered by task, then class.
    tasks_, classes_, task_slices_
        Task ids, the classes of each, and the rows of ``coef_`` that each owns.
    task_scores_ : ndarray of shape (n_tasks, n_features)
        Row norms ``||w_l^j||``.
    scores_ : ndarray of shape (n_features,)
        Row norms of the whole W.
    ranking_, task_ranking_ : ndarray of shape (n_features,) and (n_tasks, n_features)
        1 is best. Features whose score is exactly zero are ordered by how near they are to
        entering, which is the row norm of X'Lam, Lam being the multipliers of the samples.
    objective_, dual_bound_, dual_gap_, converged_, n_iter_, history_
        The certificate: the least objective lies between the bound and the objective.

    See Also
    --------
    L21LeastSquares : The same with squared residuals.

    Examples
    --------
    >>> from cosift import FSNM
    >>> from cosift.datasets import make_related_tasks
    >>> data = make_related_tasks(1, 120, 60, labeled=0.3)
    >>> selector = FSNM(gamma=3, n_features_to_select="nonzero").fit(data.X, data.y)
    >>> selector.converged_, selector.get_support().sum() < 60
    (True, np.True_)
    """

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        n_features_to_select: int | float | str | None = None,
        unlabeled: Any = -1,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> None:
        self.gamma = gamma
        self.n_features_to_select = n_features_to_select
        self.unlabeled = unlabeled
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def path(
        self, X: Any, y: Any, tasks: Any = None, *, n_penalties: int = 20, eps: float = 1e-3
    ) -> Iterator[Self]:
        """Fit under weaker and weaker penalties, from one at which nothing is selected.

        gamma goes down geometrically, each fit starting from the last.  At the first W = 0 is
        optimal; where more than one multiplier certifies that, it can be above the least such.

        Parameters
        ----------
        X, y, tasks
            As in ``fit``.
        n_penalties : int, default=20
            Number of fits.
        eps : float, default=1e-3
            The last gamma as a share of the first.

        Returns
        -------
        iterator of selectors
            Fitted clones, strongest penalty first.
        """
        check_number("n_penalties", n_penalties, at_least=1, integer=True)
        check_number("eps", eps, above=0, below=1)
        self._check_parameters()
        shared = clone(self)
        X, labels = shared._read(X, y, tasks)
        strongest = max(own.problem(1.0).least_for_zero for own in _samples(X, labels))
        if strongest == 0.0:
            raise ValueError(
                "There is no path: W = 0 is optimal under every gamma, however small. No column "
                "of X varies with the labels."
            )
        members = [
            clone(self).set_params(gamma=float(gamma))
            for gamma in strongest * np.geomspace(1.0, eps, n_penalties)
        ]
        solutions = shared._solve_all(X, labels, members)
        return (members[i]._adopt(shared)._store(labels, solution) for i, solution in solutions)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("gamma", self.gamma, above=0)

    def _solve_all(
        self, X: Matrix, tasks: list[Task], members: Sequence[Self]
    ) -> Iterator[tuple[int, list[_Solved]]]:
        samples = _samples(X, tasks)
        states: list[RobustState | None] = [None] * len(tasks)
        for i in sorted(range(len(members)), key=lambda i: -members[i].gamma):
            solved = []
            for task, own in enumerate(samples):
                problem = own.problem(members[i].gamma)
                result, states[task] = solve_robust(
                    problem,
                    own.ridge,
                    solver=self.solver,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    warm=states[task],
                )
                solved.append(_Solved(problem, result, own.mean))
            yield i, solved

    def _store(self, tasks: list[Task], solution: list[_Solved]) -> Self:
        W = np.hstack([one.result.W[:-1] for one in solution])
        intercept = np.concatenate([one.intercept for one in solution])
        theta = np.hstack([one.problem.theta(one.result.witness) for one in solution])
        self._set_linear(tasks, W, intercept, theta)
        self._certify(
            sum(one.result.objective for one in solution),
            sum(one.result.dual_bound for one in solution),
            sum(one.problem.at_zero for one in solution),
            all(one.result.converged for one in solution),
            _joined(solution),
        )
        return self


@dataclass(frozen=True)
class _Samples:
    """The labelled rows of a task, centred if they are dense."""

    X: Matrix
    Y: Array
    mean: Array
    ridge: CenteredRidge

    def problem(self, gamma: float) -> RobustProblem:
        return RobustProblem(self.X, self.Y, gamma)


@dataclass(frozen=True)
class _Solved:
    """One task, solved."""

    problem: RobustProblem
    result: Result
    mean: Array

    @property
    def intercept(self) -> Array:
        W, b = self.result.W[:-1], self.result.W[-1]
        return np.asarray(b - self.mean @ W)


def _samples(X: Matrix, tasks: list[Task]) -> list[_Samples]:
    """The labelled rows of every task, those of tasks that share them once."""
    known: dict[bytes, tuple[Matrix, Array, CenteredRidge]] = {}
    samples = []
    for task in tasks:
        rows = task.rows[task.labeled]
        if rows.tobytes() not in known:
            known[rows.tobytes()] = _centered(X, rows)
        own, mean, ridge = known[rows.tobytes()]
        samples.append(_Samples(own, task.Y[task.labeled], mean, ridge))
    return samples


def _centered(X: Matrix, rows: Indices) -> tuple[Matrix, Array, CenteredRidge]:
    if sp.issparse(X):
        own, mean = X.tocsr()[rows].astype(np.float64), np.zeros(X.shape[1])
    else:
        own = np.asarray(X[rows], dtype=np.float64)
        mean = own.mean(axis=0)
        own = own - mean
    return own, mean, CenteredRidge(own)


def _joined(solution: list[_Solved]) -> list[Progress]:
    """One history of tasks solved one by one: those to come stand at W = 0, with bound 0."""
    objective, bound = sum(one.problem.at_zero for one in solution), 0.0
    iterations, seconds = 0, 0.0
    history = []
    for one in solution:
        objective -= one.problem.at_zero
        lines = one.result.history
        history += [
            Progress(
                iterations + line.iteration,
                seconds + line.seconds,
                objective + line.objective,
                bound + line.dual_bound,
            )
            for line in lines
        ]
        objective += one.result.objective
        bound += one.result.dual_bound
        iterations, seconds = history[-1].iteration, history[-1].seconds
    return history
