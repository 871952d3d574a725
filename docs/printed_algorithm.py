"""Measure and draw why the printed algorithm misses its optimum (printed_algorithm.md).

    python docs/printed_algorithm.py

prints the table that the page quotes and writes printed_algorithm.svg beside this file.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from threadpoolctl import threadpool_limits

matplotlib.use("svg")
import matplotlib.pyplot as plt

from cosift.graph import local_laplacian
from cosift.path import Family, Group
from cosift.penalties import row_norms
from cosift.problem import Problem
from cosift.solvers import solve
from cosift.statistics import SemiSupervisedSamples

ALPHA, BETA, GAMMA = 3.0, 0.3, 3.0
TASKS, SAMPLES, LABELED, FEATURES, CLASSES = 3, 60, 30, 40, 3
# Where the objective is measured: thirty times a decade are all the eye can see.
MEASURED = np.unique(np.r_[np.geomspace(1, 2_000, 100).astype(int), 20, 200])


def make_problem(seed: int = 0) -> Problem:
    """Three tasks whose classes depend on the same five features through two directions."""
    rng = np.random.default_rng(seed)
    shared = np.zeros((FEATURES, 2))
    shared[:5] = rng.normal(size=(5, 2))
    groups = []
    for task in range(TASKS):
        X = rng.normal(size=(SAMPLES, FEATURES))
        scores = X @ shared @ rng.normal(size=(2, CLASSES))
        classes = np.argmax(scores + 0.5 * rng.normal(size=scores.shape), axis=1)
        labeled = np.arange(SAMPLES) < LABELED
        Y = np.eye(CLASSES)[classes] * labeled[:, None]
        L = local_laplacian(X, n_neighbors=8)
        samples = SemiSupervisedSamples(X, Y, labeled, L, unlabeled_weight=0.01)
        groups.append(Group(samples, CLASSES * task + np.arange(CLASSES)))
    family = Family(tuple(groups), np.full(TASKS, CLASSES))
    return family.at(ALPHA * BETA).problem(ALPHA, GAMMA)


def printed(problem: Problem, weight: float, eps: float, seed: int) -> tuple[list[float], float]:
    """``W_l <- (R_l + weight D_l + gamma/mu D~)^-1 T_l`` from a random W, both roots with eps.

    ``D_l = diag(1/2 (||w_l^j||^2 + eps)^-1/2)`` and ``D~ = 1/2 (W W' + eps I)^-1/2``.
    Returns the objective after the iterations of MEASURED, and how far W's leading direction lies
    outside the column space that W started with.
    """
    mu = ALPHA * BETA
    d = problem.shape[0]
    hessians = [block.quadratic.product(np.eye(d)) / mu for block in problem.blocks]
    W = np.random.default_rng(seed).normal(size=problem.shape)
    start = np.linalg.qr(W)[0]
    objectives = []
    for iteration in range(1, MEASURED[-1] + 1):
        values, V = np.linalg.eigh(W @ W.T)
        trace = 0.5 * (V / np.sqrt(np.maximum(values, 0.0) + eps)) @ V.T
        rows = 0.5 / np.sqrt(row_norms(W, problem.penalty.sizes) ** 2 + eps)
        parts = []
        for task, (block, R) in enumerate(zip(problem.blocks, hessians, strict=True)):
            system = R + np.diag(weight * rows[:, task]) + GAMMA / mu * trace
            T = problem.linear[:, block.columns] / mu
            parts.append(np.linalg.solve(system, T))
        W = np.hstack(parts)
        if iteration in MEASURED:
            objectives.append(problem.objective(W))
    return objectives, outside(W, start)


def outside(W: np.ndarray, start: np.ndarray) -> float:
    """Sine of the angle between W's leading left singular vector and a column space."""
    u = np.linalg.svd(W)[0][:, 0]
    return float(np.linalg.norm(u - start @ (start.T @ u)))


def main() -> None:
    problem = make_problem()
    exact = solve(problem, tol=1e-11)[0]
    assert exact.converged
    squared = solve(problem.with_penalty(ALPHA**2, GAMMA), tol=1e-11)[0]
    optimum = exact.dual_bound  # nothing lies below it

    def above(objective: float) -> float:
        return (objective - optimum) / optimum

    print(f"{'':35s} objective  above optimum  turned by")

    def row(name: str, objective: float, turned: str = "") -> None:
        print(
            f"{name:35s} {objective:9.5f}  {100 * above(objective):11.5f} %  {turned:>9s}".rstrip()
        )

    row("W = 0", problem.at_zero)
    row(f"certified optimum, gap {exact.gap:.0e}", exact.objective)
    row("optimum for alpha^2 instead", problem.objective(squared.W))
    curves, crawl = [], []
    for name, weight, color in [
        ("as printed", ALPHA / BETA, "#b2182b"),
        ("corrected", 1.0 / BETA, "#e08214"),
    ]:
        for eps, seeds, dashes in [(1e-12, (0, 1, 2), "-"), (1e-8, (0,), "-."), (1e-4, (0,), "--")]:
            run = f"{name}, eps {eps:.0e}"
            for seed in seeds:
                objectives, turned = printed(problem, weight, eps, seed)
                label = run if seed == 0 else None
                curves.append((label, MEASURED, objectives, color, dashes))
                row(f"{run}, start {seed}", objectives[-1], f"{turned:.4f}")
                if name == "corrected" and seed == 0:
                    crawl.append((eps, objectives))
    for name, solver, tol, color in [
        ("our reweighted, tol 1e-6", "reweighted", 1e-6, "#2166ac"),
        ("default solver, tol 1e-9", "auto", 1e-9, "#1b7837"),
    ]:
        result = solve(problem, solver=solver, tol=tol)[0]
        history = [line for line in result.history if line.iteration > 0]
        iterations = [line.iteration for line in history]
        curves.append((name, iterations, [line.objective for line in history], color, "-"))
        row(f"{name}, {result.n_iter} steps", result.objective)
    for seed in (0, 1, 2):
        W = np.random.default_rng(seed).normal(size=problem.shape)
        turned = outside(exact.W, np.linalg.qr(W)[0])
        print(f"the optimum lies outside the columns of start {seed} by {turned:.4f}")
    print("corrected, start 0, above optimum after    20          200         2000 iterations")
    for eps, objectives in crawl:
        after = dict(zip(MEASURED.tolist(), objectives, strict=True))
        shares = "  ".join(f"{100 * above(after[i]):8.4f} %" for i in (20, 200, 2000))
        print(f"  eps {eps:.0e}{'':26s} {shares}")
    draw(curves, optimum)


def draw(curves: list[tuple], optimum: float) -> None:
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cosift", "font.size": 9})
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained", facecolor="white")
    for name, iterations, objectives, color, dashes in curves:
        iterations = np.asarray(iterations)
        above = np.maximum((np.asarray(objectives) - optimum) / optimum, 1e-12)
        _, kept = np.unique(np.floor(30 * np.log10(iterations)), return_index=True)
        axes.plot(iterations[kept], above[kept], dashes, color=color, label=name, linewidth=1.4)
    axes.set(xscale="log", yscale="log", xlabel="iteration", ylim=(1e-10, 1e1))
    axes.set_ylabel("(objective - optimum) / optimum")
    axes.minorticks_off()
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.legend(fontsize=8, loc="lower left")
    where = Path(__file__).with_suffix(".svg")
    figure.savefig(where, metadata={"Date": None, "Creator": None}, facecolor="white")


if __name__ == "__main__":
    with threadpool_limits(1):  # sums in one order: the same digits every time
        main()
