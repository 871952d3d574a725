"""From raw samples to a certified answer, against the paper's algorithm as it is printed.

The printed algorithm gets 20 iterations with dense inverses and a d x d eigendecomposition in
each; ours runs until its certificate closes to 1e-6.  Both start from the same X, y and build the
same graph; both use all cores.  Only the ratio within one run means anything.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from cosift.graph import local_laplacian
from cosift.penalties import Penalty
from cosift.problem import Block, Problem
from cosift.solvers import solve
from cosift.statistics import SemiSupervisedSamples

ITERATIONS = 20
ALPHA, BETA, GAMMA = 1.0, 1.0, 1.0
# n of each of three tasks, d; 20 classes in all, a tenth of the rows labelled.
SIZES = {1_000: 600, 2_000: 600, 5_000: 1_300}
CLASSES = (7, 7, 6)


def run() -> Iterator[dict[str, object]]:
    """One row a size."""
    for d, n in SIZES.items():
        tasks = [_task(np.random.default_rng(seed), n, d, c) for seed, c in enumerate(CLASSES)]
        started = time.perf_counter()
        result = _ours(tasks)
        ours = time.perf_counter() - started
        assert result.converged
        started = time.perf_counter()
        W = _printed(tasks)
        printed = time.perf_counter() - started
        problem = _problem(tasks)
        yield {
            "n per task": n,
            "d": d,
            "cosift (s)": round(ours, 2),
            "iterations": result.n_iter,
            "features kept": int(np.any(result.W != 0, axis=1).sum()),
            "relative gap": f"{result.gap / problem.at_zero:.0e}",
            "printed, 20 iterations (s)": round(printed, 1),
            "ratio": round(printed / ours, 1),
            "printed ends too high by": f"{problem.objective(W) / result.objective - 1:.1%}",
        }


def _task(rng: np.random.Generator, n: int, d: int, classes: int):
    """Gaussian classes that differ in 30 of d features, with a tenth of the rows labelled."""
    y = rng.permutation(np.arange(n) % classes)
    X = rng.standard_normal((n, d))
    X[:, :30] += 1.5 * rng.standard_normal((classes, 30))[y]
    labeled = rng.permutation(n) < n // 10
    labeled[np.unique(y, return_index=True)[1]] = True
    return X, (y[:, None] == np.arange(classes)) * labeled[:, None] * 1.0, labeled


def _problem(tasks) -> Problem:
    blocks, sizes, energy, floor, first = [], [], 0.0, 0.0, 0
    for X, Y, labeled in tasks:
        samples = SemiSupervisedSamples(X, Y, labeled, local_laplacian(X))
        part = samples.statistics(ALPHA * BETA)
        columns = np.arange(first, first + Y.shape[1])
        blocks.append(Block(part.quadratic, columns))
        sizes.append(Y.shape[1])
        energy, floor, first = energy + part.energy, floor + part.floor, columns[-1] + 1
    return Problem(tuple(blocks), Penalty(ALPHA, GAMMA, np.array(sizes)), energy, floor)


def _ours(tasks):
    return solve(_problem(tasks), tol=1e-6)[0]


def _printed(tasks) -> np.ndarray:
    """Algorithm 1, line by line, with eps = 1e-12 where it would divide by zero."""
    eps, mu = 1e-12, ALPHA * BETA
    R, T = [], []
    for X, Y, labeled in tasks:
        n = len(X)
        L = local_laplacian(X).toarray()
        U = np.diag(np.where(labeled, 1e6, 1.0))
        H = np.eye(n) - 1.0 / n
        P = np.linalg.inv(mu * H + U + L)
        R.append(X.T @ H @ (np.eye(n) - mu * P) @ H @ X)
        T.append(X.T @ H @ P @ U @ Y)
    d = len(R[0])
    rng = np.random.default_rng(0)
    W = [rng.standard_normal(Tl.shape) for Tl in T]
    for _ in range(ITERATIONS):
        whole = np.hstack(W)
        values, vectors = np.linalg.eigh(whole @ whole.T + eps * np.eye(d))
        D_shared = 0.5 * (vectors / np.sqrt(np.maximum(values, eps))) @ vectors.T
        for task, (Rl, Tl) in enumerate(zip(R, T, strict=True)):
            D = np.diag(0.5 / np.sqrt((W[task] ** 2).sum(axis=1) + eps))
            W[task] = np.linalg.inv(Rl + ALPHA / BETA * D + GAMMA / (ALPHA * BETA) * D_shared) @ Tl
    return np.hstack(W)
