"""Grids and regularisation paths: what the samples and mu fix is computed once.

The samples enter through the statistics of `statistics`, which depend on the weights only through
mu, so a grid is cut into its distinct values of mu.  Within one, cells differ in the penalty

    Omega(W) = alpha * sum_l ||W_l||_{2,1} + gamma * ||W||_*

alone and are solved from strong to weak, each from where a neighbour ended.  Every cell is still
certified by itself: the start decides how long a solve takes, never when it stops.

W = 0 is optimal exactly when Theta at zero lies in the dual ball of Omega, so the path starts at
the *gauge* of that Theta: the least s at which the penalty ``s * Omega`` leaves no feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, Protocol

import numpy as np

from cosift._typing import Array, Indices
from cosift.gauge import gauge
from cosift.penalties import Penalty
from cosift.problem import Block, Problem
from cosift.solvers import Result, State, solve
from cosift.statistics import Statistics

# Products alpha*beta that round differently are one mu.
SAME_MU = 1e-12
# The gauge is known to 1e-9: this much above it W = 0 is optimal for certain.
MARGIN = 1e-8


class Samples(Protocol):
    """What `statistics` makes of some rows, as far as a grid needs it."""

    def statistics(self, mu: float) -> Statistics:
        """What the solver needs for one mu."""


class Cell(NamedTuple):
    """One point of a grid: the weight of the fit and those of the two norms."""

    mu: float
    alpha: float
    gamma: float


@dataclass(frozen=True)
class Group:
    """Tasks over the same samples, labelled in the same rows, and their columns of W."""

    samples: Samples
    columns: Indices


@dataclass(frozen=True)
class Solution:
    """A certified solution of one cell."""

    cell: Cell
    problem: Problem
    result: Result
    fixed: Fixed

    @property
    def intercept(self) -> Array:
        """The best ``[b_1 ... b_t]``, (C,)."""
        W = self.result.W
        b = np.empty(W.shape[1])
        for group, statistics in self.fixed.parts:
            b[group.columns] = statistics.intercept(W[:, group.columns])
        return b

    @property
    def labels(self) -> list[Array]:
        """The learned F of every group, (n, columns of the group)."""
        W = self.result.W
        return [statistics.labels(W[:, group.columns]) for group, statistics in self.fixed.parts]


@dataclass(frozen=True)
class Fixed:
    """Everything that mu fixes: all of the problem but the penalty."""

    parts: tuple[tuple[Group, Statistics], ...]
    blocks: tuple[Block, ...]
    sizes: Indices  # columns of W a task has

    def problem(self, alpha: float, gamma: float) -> Problem:
        """The problem under one penalty."""
        energy = sum(statistics.energy for _, statistics in self.parts)
        floor = sum(statistics.floor for _, statistics in self.parts)
        return Problem(self.blocks, Penalty(alpha, gamma, self.sizes), energy, floor)


@dataclass(frozen=True)
class Family:
    """All problems that the same samples and labels pose, one for every cell."""

    groups: tuple[Group, ...]
    sizes: Indices

    def at(self, mu: float) -> Fixed:
        """Compute the statistics for one mu: the costly step."""
        parts = tuple((group, group.samples.statistics(mu)) for group in self.groups)
        blocks = tuple(Block(part.quadratic, group.columns) for group, part in parts)
        return Fixed(parts, blocks, self.sizes)


@dataclass(frozen=True)
class Settings:
    """How to solve each cell, see `solvers.solve`."""

    solver: str
    tol: float
    max_iter: int

    def solve(
        self, fixed: Fixed, cell: Cell, warm: State | None = None
    ) -> tuple[Solution, State | None]:
        """Solve one cell; the state can warm its neighbours."""
        problem = fixed.problem(cell.alpha, cell.gamma)
        result, state = solve(
            problem, solver=self.solver, tol=self.tol, max_iter=self.max_iter, warm=warm
        )
        return Solution(cell, problem, result, fixed), state


def solve_grid(
    family: Family, cells: Sequence[Cell], settings: Settings
) -> Iterator[tuple[int, Solution]]:
    """Solve many cells, sharing what can be shared.

    Parameters
    ----------
    family : Family
        Samples and labels.
    cells : sequence of Cell
        What to solve, in any order.
    settings : Settings
        How to solve.

    Yields
    ------
    int, Solution
        Position in ``cells`` and solution, in the order of solving: mu descending, within it
        alpha descending, within it gamma descending.
    """
    for mu, same_mu in by_mu(cells):
        fixed = family.at(mu)
        strong_first = sorted(same_mu, key=lambda i: (-cells[i].alpha, -cells[i].gamma))
        corner: State | None = None
        for _, row in groupby(strong_first, key=lambda i: cells[i].alpha):
            # A row starts where the row above started, its cells from their left neighbour.
            state, first = corner, True
            for i in row:
                solution, state = settings.solve(fixed, cells[i], state)
                if first:
                    corner, first = state, False
                yield i, solution


def penalty_scales(problem: Problem, n_penalties: int, eps: float) -> Array:
    """Factors on a problem's penalty, from the least that gives W = 0 down to eps of it.

    Parameters
    ----------
    problem : Problem
        Whose penalty is scaled.
    n_penalties : int
        How many.
    eps : float
        The last factor as a share of the first.

    Returns
    -------
    ndarray of shape (n_penalties,)
        In geometric progression.
    """
    theta = problem.smooth(np.zeros(problem.shape)).theta
    largest = gauge(problem.penalty, theta).upper
    if largest == 0.0:
        raise ValueError(
            "There is no path: W = 0 is optimal under every penalty, however small. No column of "
            "X varies with the labels."
        )
    return np.asarray(largest * (1.0 + MARGIN) * np.geomspace(1.0, eps, n_penalties))


def solve_path(
    fixed: Fixed, cell: Cell, scales: Iterable[float], settings: Settings
) -> Iterator[Solution]:
    """Solve ``cell`` with its penalty scaled by each factor in turn, each from the last."""
    state: State | None = None
    for scale in scales:
        scaled = cell._replace(alpha=cell.alpha * scale, gamma=cell.gamma * scale)
        solution, state = settings.solve(fixed, scaled, state)
        yield solution


def by_mu(cells: Sequence[Cell]) -> Iterator[tuple[float, list[int]]]:
    """Positions of cells with the same mu to rounding, mu descending.

    Down from a mu, statistics start well: ``F / mu = A^-1 V`` has a limit, and less of it matters.
    """
    positions = sorted(range(len(cells)), key=lambda i: -cells[i].mu)
    while positions:
        mu = cells[positions[0]].mu
        same = [i for i in positions if cells[i].mu >= mu * (1.0 - SAME_MU)]
        yield mu, same
        positions = positions[len(same) :]
