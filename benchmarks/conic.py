"""SFMC against the solvers of CVXPY on small problems of growing size, at the gap each reaches.

Three tasks of three classes, a tenth of the rows labelled, alpha = beta = gamma = 1.  The solvers
get the problem as ours does, with b and F eliminated, in their own defaults; every W is judged by
our certificate, relative to the objective at W = 0.  CVXPY's time counts its compilation, which is
part of every call.  Runs in turn, the best of each.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial

import cvxpy as cp
import numpy as np

from benchmarks._data import gaussian_classes
from benchmarks._turns import in_turn
from cosift.certificate import certify
from cosift.graph import local_laplacian
from cosift.penalties import Penalty
from cosift.problem import Block, Problem
from cosift.solvers import solve
from cosift.statistics import SemiSupervisedSamples

TASKS = CLASSES = 3
SIZES = {20: 60, 40: 120, 80: 240}  # rows of each task by d
SOLVERS = ("CLARABEL", "SCS")
TOL = 1e-6


def run() -> Iterator[dict[str, object]]:
    """One row a size and solver."""
    for d, n in SIZES.items():
        problem = _problem(n, d)
        runs = [partial(_ours, problem), *(partial(_theirs, problem, name) for name in SOLVERS)]
        found = in_turn(*runs)
        for name, (seconds, W) in zip(("cosift", *SOLVERS), found, strict=True):
            yield {
                "n per task": n,
                "d": d,
                "solver": name,
                "seconds": f"{seconds:.3g}",
                "gap": f"{certify(problem, W).gap / problem.at_zero:.0e}",
                "by ours": f"{seconds / found[0][0]:.0f}",
            }


def _problem(n: int, d: int) -> Problem:
    parts = []
    for seed in range(TASKS):
        rng = np.random.default_rng(seed)
        X, y = gaussian_classes(rng, n, max(d, 30), CLASSES, distance=1.5)
        labeled = rng.permutation(n) < n // 10
        labeled[np.unique(y, return_index=True)[1]] = True
        Y = (y[:, None] == np.arange(CLASSES)) * labeled[:, None] * 1.0
        samples = SemiSupervisedSamples(X[:, :d], Y, labeled, local_laplacian(X[:, :d]))
        parts.append(samples.statistics(1.0))
    columns = np.split(np.arange(TASKS * CLASSES), TASKS)
    blocks = tuple(Block(part.quadratic, own) for part, own in zip(parts, columns, strict=True))
    penalty = Penalty(1.0, 1.0, np.full(TASKS, CLASSES))
    energy, floor = sum(part.energy for part in parts), sum(part.floor for part in parts)
    return Problem(blocks, penalty, energy, floor)


def _ours(problem: Problem) -> tuple[float, np.ndarray]:
    started = time.perf_counter()
    result = solve(problem, tol=TOL)[0]
    return time.perf_counter() - started, result.W


def _theirs(problem: Problem, solver: str) -> tuple[float, np.ndarray]:
    d = problem.shape[0]
    roots = []  # Q = root' root
    for block in problem.blocks:
        values, vectors = np.linalg.eigh(block.quadratic.product(np.eye(d)))
        roots.append((vectors * np.sqrt(np.maximum(values, 0.0))).T)
    started = time.perf_counter()
    W = cp.Variable(problem.shape)
    terms = [problem.penalty.gamma * cp.normNuc(W)]
    for block, root in zip(problem.blocks, roots, strict=True):
        own = W[:, block.columns[0] : block.columns[-1] + 1]
        q = problem.linear[:, block.columns]
        terms += [cp.sum_squares(root @ own), -2.0 * cp.sum(cp.multiply(q, own))]
        terms += [problem.penalty.alpha * cp.sum(cp.norm(own, 2, axis=1))]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms)))).solve(solver=solver)
    return time.perf_counter() - started, np.asarray(W.value)
