"""What a solver takes and returns."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cosift._typing import Array


class Progress(NamedTuple):
    """One line of a solver's history."""

    iteration: int
    seconds: float
    objective: float
    dual_bound: float


@dataclass(frozen=True)
class Result:
    """A point, the bounds that certify it, and how it was reached.

    ``converged`` says that ``objective - dual_bound <= tol * problem.at_zero``, and the witness is
    what the bound can be computed from again.
    """

    W: Array
    objective: float
    dual_bound: float
    witness: Any
    converged: bool
    n_iter: int
    history: list[Progress]

    @property
    def gap(self) -> float:
        return self.objective - self.dual_bound


@dataclass
class Recorder:
    """Keeps the best point and the best bound seen, and the history of both.

    Attributes
    ----------
    shape : tuple of int
        Shape of a point.
    target : float
        The gap that counts as converged.
    """

    shape: tuple[int, int]
    target: float
    started: float = field(default_factory=time.perf_counter)
    W: Array = field(init=False)
    objective: float = np.inf
    dual_bound: float = -np.inf
    witness: Any = None  # what the best bound came from
    n_iter: int = 0
    history: list[Progress] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.W = np.zeros(self.shape)

    @property
    def gap(self) -> float:
        return self.objective - self.dual_bound

    @property
    def converged(self) -> bool:
        return self.gap <= self.target

    def offer(self, W: Array, objective: float, dual_bound: float, witness: Any) -> None:
        """Take what is better of a point and a bound; they need not belong together."""
        if objective < self.objective:
            self.W, self.objective = W, objective
        if dual_bound > self.dual_bound:
            self.dual_bound, self.witness = dual_bound, witness

    def log(self) -> None:
        seconds = time.perf_counter() - self.started
        self.history.append(Progress(self.n_iter, seconds, self.objective, self.dual_bound))

    def inner(self, shape: tuple[int, int], target: float) -> Recorder:
        """A recorder for a part of the problem, on the same clock and count."""
        return Recorder(shape, target, self.started, n_iter=self.n_iter)

    def absorb(self, inner: Recorder) -> None:
        """Take over the count and history of a part: its points count, its bounds do not."""
        self.n_iter = inner.n_iter
        for line in inner.history:
            objective = min(line.objective, self.objective)
            self.history.append(line._replace(objective=objective, dual_bound=self.dual_bound))

    def result(self) -> Result:
        return Result(
            self.W,
            self.objective,
            self.dual_bound,
            self.witness,
            self.converged,
            self.n_iter,
            self.history,
        )
