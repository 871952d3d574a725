"""Random tasks, and the library's problem for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cosift.penalties import Penalty
from cosift.problem import Block, Problem
from cosift.statistics import SemiSupervisedSamples, Statistics, SupervisedSamples


@dataclass(frozen=True)
class Task:
    """Samples, labels and graph of one task, all dense."""

    X: np.ndarray
    Y: np.ndarray
    labeled: np.ndarray
    L: np.ndarray
    label_weight: float = 1e6
    unlabeled_weight: float = 1.0

    @property
    def u(self):
        """Diagonal of U."""
        return np.where(self.labeled, self.label_weight, self.unlabeled_weight)

    @property
    def only_labeled(self):
        keep = self.labeled
        return replace(
            self, X=self.X[keep], Y=self.Y[keep], labeled=keep[keep], L=np.zeros((sum(keep),) * 2)
        )


def clique_laplacian(X, size=4):
    """A Laplacian like the library's, written plainly: L 1 = 0, positive semi-definite."""
    n = len(X)
    L = np.zeros((n, n))
    for x in X:
        clique = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")[:size]
        H = np.eye(len(clique)) - 1.0 / len(clique)
        Z = H @ X[clique]
        L[np.ix_(clique, clique)] += H @ np.linalg.inv(Z @ Z.T + np.eye(len(clique))) @ H
    return (L + L.T) / 2.0


def random_task(rng, n, d, c, share=0.4, shift=0.0, duplicates=0, **weights):
    """A task whose first features carry its c classes, at least one label a class."""
    y = rng.integers(0, c, n)
    y[:c] = np.arange(c)
    labeled = rng.random(n) < share
    labeled[:c] = True
    X = rng.normal(size=(n, d)) + shift
    informative = min(d, 3)
    X[:, :informative] += rng.normal(size=(c, informative))[y]
    if duplicates:
        X[-duplicates:], y[-duplicates:] = X[:duplicates], y[:duplicates]
    Y = np.where(labeled[:, None], y[:, None] == np.arange(c), False).astype(float)
    return Task(X, Y, labeled, clique_laplacian(X), **weights)


def random_tasks(seed, n, d, classes, **options):
    """One task for each entry of ``classes``, of n, n + 1, ... samples."""
    rng = np.random.default_rng(seed)
    return [random_task(rng, n + k, d, c, **options) for k, c in enumerate(classes)]


def samples_of(task, convert=lambda X: X) -> SemiSupervisedSamples:
    return SemiSupervisedSamples(
        convert(task.X),
        task.Y,
        task.labeled,
        sp.csr_array(task.L),
        task.label_weight,
        task.unlabeled_weight,
    )


def matrix(quadratic):
    """Q, whatever way it is held."""
    return quadratic.product(np.eye(len(quadratic.linear)))


def assemble(statistics: list[Statistics], alpha, gamma) -> Problem:
    """The problem of several tasks, each with a Hessian of its own."""
    sizes = np.array([s.quadratic.linear.shape[1] for s in statistics])
    ends = np.cumsum(sizes)
    blocks = tuple(
        Block(s.quadratic, np.arange(end - size, end))
        for s, size, end in zip(statistics, sizes, ends, strict=True)
    )
    energy = sum(s.energy for s in statistics)
    floor = sum(s.floor for s in statistics)
    return Problem(blocks, Penalty(alpha, gamma, sizes), energy, floor)


def semi_supervised_problem(tasks, alpha, beta, gamma) -> Problem:
    """SFMC (SFSS when gamma is 0)."""
    return assemble([samples_of(t).statistics(alpha * beta) for t in tasks], alpha, gamma)


def supervised_problem(tasks, alpha, gamma) -> Problem:
    """FSSI: the labelled rows alone."""
    labeled = [task.only_labeled for task in tasks]
    return assemble([SupervisedSamples(t.X, t.Y).statistics(1.0) for t in labeled], alpha, gamma)
