"""The convex family: one objective, one solver, four selectors.

    min over W    f_mu(W) + alpha * sum_l ||W_l||_{2,1} + gamma * ||W||_*

with f_mu from all rows (`SemiSupervisedSelector`, mu = alpha*beta) or from the labelled ones
(`SupervisedSelector`, mu = 1).  A method without ``gamma`` has gamma = 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from cosift._dask import is_dask, samples_in_chunks
from cosift._sharing import shared
from cosift._typing import Array, Matrix
from cosift.chunks import Sampler
from cosift.graph import Graph, local_graph
from cosift.labels import Task
from cosift.path import (
    Cell,
    Family,
    Group,
    Samples,
    Settings,
    Solution,
    by_mu,
    penalty_scales,
    solve_grid,
    solve_path,
)
from cosift.selectors._certified import CertifiedSelector
from cosift.selectors._parameters import check_number
from cosift.statistics import SemiSupervisedSamples, SupervisedSamples


class ConvexSelector(CertifiedSelector):
    """Base class of the convex family."""

    alpha: float
    _takes_dask = True

    def path(
        self, X: Any, y: Any, tasks: Any = None, *, n_penalties: int = 20, eps: float = 1e-3
    ) -> Iterator[Self]:
        """Fit under weaker and weaker penalties, from the first at which nothing is selected.

        mu and the ratio of alpha to gamma stay as they are; the scale of both goes down
        geometrically from the least at which W = 0 is optimal, each fit starting from the last.

        Parameters
        ----------
        X, y, tasks
            As in ``fit``.
        n_penalties : int, default=20
            Number of fits.
        eps : float, default=1e-3
            The last scale as a share of the first.

        Returns
        -------
        iterator of selectors
            Fitted clones, strongest penalty first, with their weights as parameters: ``alpha`` and
            ``gamma`` scaled and ``beta = mu / alpha``.
        """
        check_number("n_penalties", n_penalties, at_least=1, integer=True)
        check_number("eps", eps, above=0, below=1)
        self._check_parameters()
        shared = clone(self)
        X, labels = shared._read(X, y, tasks)
        cell = self._cell()
        fixed = shared._family(X, labels, [cell]).at(cell.mu)
        scales = penalty_scales(fixed.problem(cell.alpha, cell.gamma), n_penalties, eps)
        return (
            clone(self)
            .set_params(**self._weights_of(solution.cell))
            ._adopt(shared)
            ._store(labels, solution)
            for solution in solve_path(fixed, cell, scales, self._settings())
        )

    def _solve_all(
        self, X: Matrix, tasks: list[Task], members: Sequence[Self]
    ) -> Iterator[tuple[int, Solution]]:
        cells = [member._cell() for member in members]
        return solve_grid(self._family(X, tasks, cells), cells, self._settings())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha, above=0)
        if "gamma" in self._weights():
            check_number("gamma", self._weights()["gamma"], at_least=0)

    def _settings(self) -> Settings:
        return Settings(self.solver, self.tol, self.max_iter)

    def _cell(self) -> Cell:
        """The weights as the problem knows them."""
        weights = self._weights()
        mu = weights["alpha"] * weights["beta"] if "beta" in weights else 1.0
        return Cell(float(mu), float(weights["alpha"]), float(weights.get("gamma", 0.0)))

    def _weights_of(self, cell: Cell) -> dict[str, float]:
        """Inverse of ``_cell``."""
        weights = {"alpha": cell.alpha, "beta": cell.mu / cell.alpha, "gamma": cell.gamma}
        return {name: weights[name] for name in self._weights()}

    def _family(self, X: Matrix, tasks: list[Task], cells: Sequence[Cell]) -> Family:
        """Group the tasks that share rows and labelled rows."""
        tasks = [self._used(task) for task in tasks]
        sizes = np.array([task.Y.shape[1] for task in tasks])
        columns = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
        members: dict[tuple[bytes, bytes], list[int]] = {}
        for i, task in enumerate(tasks):
            members.setdefault((task.rows.tobytes(), task.labeled.tobytes()), []).append(i)
        parts = [
            (tasks[same[0]], np.hstack([tasks[i].Y for i in same])) for same in members.values()
        ]
        samples: Iterable[Samples]
        if is_dask(X):
            mus = [mu for mu, _ in by_mu(cells)]
            samples = samples_in_chunks(X, parts, clone(self)._sampler, mus)
        else:
            sampler = self._sampler(X)
            samples = (sampler(task, Y) for task, Y in parts)
        groups = tuple(
            Group(own, np.concatenate([columns[i] for i in same]))
            for own, same in zip(samples, members.values(), strict=True)
        )
        return Family(groups, sizes)

    def _used(self, task: Task) -> Task:
        """The rows of a task that count."""
        return task

    @abstractmethod
    def _sampler(self, X: Matrix, first: int = 0) -> Sampler:
        """A function from a task and its labels (or those of several alike) to their samples.

        X may be a part of the rows that begins with row ``first``.
        """

    def _store(self, tasks: list[Task], solution: Solution) -> Self:
        result, problem = solution.result, solution.problem
        theta = problem.smooth(result.W).theta
        self._set_linear(tasks, result.W, solution.intercept, theta)
        self._certify(
            result.objective, result.dual_bound, problem.at_zero, result.converged, result.history
        )
        return self


class SupervisedSelector(ConvexSelector):
    """``f(W) = sum_l min over b_l of ||X_l W_l + 1 b_l' - Y_l||_F^2`` over the labelled rows."""

    def _used(self, task: Task) -> Task:
        rows = task.labeled
        return replace(task, rows=task.rows[rows], Y=task.Y[rows], labeled=rows[rows])

    def _sampler(self, X: Matrix, first: int = 0) -> Sampler:
        return lambda task, Y: SupervisedSamples(_rows(X, task.rows), Y)


class SemiSupervisedSelector(ConvexSelector):
    """All rows, the unlabelled ones tied in by the local discriminant Laplacian.

    Attributes
    ----------
    transduction_ : list of ndarray
        The learned label matrix F_l of each task, (n_l, c_l), its rows those of the task in X;
        Dask arrays, not computed yet, if X is one.
    neighbor_recall_ : ndarray of shape (n_tasks,)
        The share of true nearest neighbours that the cliques of each task hold: 1 where the search
        is exact, measured on a sample where it is not, NaN if X is a Dask array; see docs/scale.md.
    """

    beta: float
    n_neighbors: int
    local_ridge: float
    label_weight: float
    unlabeled_weight: float

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("beta", self.beta, above=0)
        check_number("n_neighbors", self.n_neighbors, at_least=1, integer=True)
        check_number("local_ridge", self.local_ridge, above=0)
        check_number("label_weight", self.label_weight, above=0)
        check_number("unlabeled_weight", self.unlabeled_weight, at_least=0)
        mu = self.alpha * self.beta
        if not 0 < mu < np.inf:
            raise ValueError(
                f"alpha * beta must be a positive, finite number. Got {self.alpha!r} * "
                f"{self.beta!r} = {mu!r}."
            )

    def _sampler(self, X: Matrix, first: int = 0) -> Sampler:
        graphs: dict[bytes, Graph] = {}

        def samples(task: Task, Y: Array) -> SemiSupervisedSamples:
            own, key = _rows(X, task.rows), task.rows.tobytes()
            if key not in graphs:
                graphs[key] = shared(local_graph, own, self.n_neighbors, self.local_ridge)
            laplacian, recall = graphs[key]
            if self.unlabeled_weight == 0:
                _check_reached(laplacian, task, first)
            weights = self.label_weight, self.unlabeled_weight
            return SemiSupervisedSamples(own, Y, task.labeled, laplacian, *weights, recall)

        return samples

    def _store(self, tasks: list[Task], solution: Solution) -> Self:
        super()._store(tasks, solution)
        F: list[Array] = [np.empty(0)] * len(tasks)
        self.neighbor_recall_ = np.full(len(tasks), np.nan)
        ends = np.cumsum(solution.fixed.sizes)
        for (group, _), labels in zip(solution.fixed.parts, solution.labels, strict=True):
            owners = np.searchsorted(ends, group.columns, side="right")
            for task in np.unique(owners):
                F[task] = labels[:, owners == task]
                if isinstance(group.samples, SemiSupervisedSamples):
                    self.neighbor_recall_[task] = group.samples.neighbor_recall
        self.transduction_ = F
        return self


def _rows(X: Matrix, rows: NDArray[np.intp]) -> Matrix:
    """Some rows of X; X itself, not a copy, if they are all of them."""
    if len(rows) == X.shape[0]:
        return X
    return X[rows] if isinstance(X, np.ndarray) else X.tocsr()[rows]


def _check_reached(laplacian: Matrix, task: Task, first: int) -> None:
    """With no weight of their own, unlabelled rows get their labels through the graph alone."""
    count, component = connected_components(laplacian, directed=False)
    lost = np.setdiff1d(np.arange(count), component[task.labeled])
    if lost.size:
        n_lost = int(np.isin(component, lost).sum())
        raise ValueError(
            f"unlabeled_weight=0 leaves rows without any label: in task {task.name!r}, {n_lost} "
            f"rows connect to no labelled row through the graph, the first at row "
            f"{first + task.rows[np.isin(component, lost)][0]}. Use a positive unlabeled_weight, "
            "a larger n_neighbors, larger chunks if X has any, or label one of them."
        )
