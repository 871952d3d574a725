"""What selectors that minimise have in common: weights, grids of them, and a certificate."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, Self

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cosift._dask import is_dask
from cosift._typing import Matrix
from cosift.labels import Task
from cosift.selectors._linear import LinearSelector
from cosift.selectors._parameters import check_number, check_option
from cosift.solvers import SOLVERS, Progress

WEIGHTS = ("alpha", "beta", "gamma")
# Products of four entries of X, summed over rows and columns, must not overflow.
LARGEST_ENTRY = 1e60


class CertifiedSelector(LinearSelector):
    """Base class of selectors that minimise an objective and show how near they came.

    Attributes
    ----------
    objective_ : float
        Objective at ``coef_``.
    dual_bound_ : float
        A lower bound on the least objective.
    dual_gap_ : float
        ``objective_ - dual_bound_``: the objective is at most this far from its least.
    converged_ : bool
        Whether the gap is at most ``tol`` times the objective at W = 0.
    n_iter_ : int
        Iterations of the solver; 0 if W = 0 was seen to be optimal at once.
    history_ : list of Progress
        Tuples (iteration, seconds, objective, dual_bound).
    """

    solver: str
    tol: float
    max_iter: int

    def grid(
        self,
        X: Any,
        y: Any,
        tasks: Any = None,
        *,
        alpha: Iterable[float] | None = None,
        beta: Iterable[float] | None = None,
        gamma: Iterable[float] | None = None,
    ) -> Iterator[Self]:
        """Fit every combination of some weights, computing what they share once.

        Parameters
        ----------
        X, y, tasks
            As in ``fit``.
        alpha, beta, gamma : iterable of float, optional
            Values to combine; without them, the selector's own. Only weights the method has.

        Returns
        -------
        iterator of selectors
            Fitted clones, one a combination, each as its own ``fit`` would give up to ``tol``.
            They come in the order of solving: by mu = alpha*beta descending (if the method has
            beta), then alpha descending (if it has that), then gamma descending.
        """
        values = {name: [value] for name, value in self._weights().items()}
        for name, given in zip(WEIGHTS, (alpha, beta, gamma), strict=True):
            if given is None:
                continue
            if name not in values:
                raise ValueError(
                    f"{type(self).__name__} has no {name}: its weights are {', '.join(values)}. "
                    f"Got {name}={given!r}."
                )
            values[name] = list(given)
            if not values[name]:
                raise ValueError(f"{name} must hold at least one value. Got {given!r}.")
        combinations = product(*values.values())
        members = [
            clone(self).set_params(**dict(zip(values, combination, strict=True)))
            for combination in combinations
        ]
        for member in members:
            member._check_parameters()
        shared = clone(self)
        X, labels = shared._read(X, y, tasks)
        solutions = shared._solve_all(X, labels, members)
        return (members[i]._adopt(shared)._store(labels, solution) for i, solution in solutions)

    @abstractmethod
    def _solve_all(
        self, X: Matrix, tasks: list[Task], members: Sequence[Self]
    ) -> Iterator[tuple[int, Any]]:
        """Solutions for selectors that differ in weights alone, with their positions."""

    @abstractmethod
    def _store(self, tasks: list[Task], solution: Any) -> Self:
        """Set the fitted attributes from one solution."""

    def _read(self, X: Any, y: Any, tasks: Any) -> tuple[Matrix, list[Task]]:
        X, labels = super()._read(X, y, tasks)
        return X.map_blocks(_bounded, meta=X._meta) if is_dask(X) else _bounded(X), labels

    def _fit_tasks(self, X: Matrix, tasks: list[Task]) -> None:
        ((_, solution),) = self._solve_all(X, tasks, [self])
        self._store(tasks, solution)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("solver", self.solver, SOLVERS)
        check_number("tol", self.tol, above=0)
        check_number("max_iter", self.max_iter, at_least=1, integer=True)

    def _weights(self) -> dict[str, float]:
        """The weights that the method has, by name."""
        return {name: getattr(self, name) for name in WEIGHTS if hasattr(self, name)}

    def _adopt(self, shared: Self) -> Self:
        """Take over what validation learned about X."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(shared, name):
                setattr(self, name, getattr(shared, name))
        return self

    def _certify(
        self,
        objective: float,
        dual_bound: float,
        at_zero: float,
        converged: bool,
        history: list[Progress],
    ) -> None:
        """Store how near the optimum is, and warn if that is not near enough."""
        self.objective_, self.dual_bound_ = objective, dual_bound
        self.dual_gap_ = objective - dual_bound
        self.converged_ = converged
        self.n_iter_, self.history_ = history[-1].iteration, history
        if not converged:
            weights = ", ".join(f"{name}={value:g}" for name, value in self._weights().items())
            warnings.warn(
                f"{type(self).__name__}({weights}) did not converge in {self.n_iter_} "
                f"iterations: objective {objective:.6g}, dual bound {dual_bound:.6g}. "
                f"The gap of {self.dual_gap_:.3g} is {self.dual_gap_ / at_zero:.2g} of the "
                f"objective at W = 0, above tol={self.tol:g}. Raise max_iter (now "
                f"{self.max_iter}), or tol if that accuracy will do.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _bounded(X: Matrix) -> Matrix:
    """All samples or a chunk of them, unless a number is too large."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > LARGEST_ENTRY:
        raise ValueError(
            f"X must hold numbers of at most {LARGEST_ENTRY:g} in size, whose products do not "
            f"overflow. Got {largest:g}; scale the features."
        )
    return X
