"""Measure what the ratio of the two weights costs in iterations (robust.md).

    python docs/robust.py

prints the table that the page quotes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from cosift.datasets import make_related_tasks
from cosift.robust import CenteredRidge, RobustProblem
from cosift.solvers import robust

RATIOS = (0.005, 0.015, 0.05, 0.15, 0.5, 1.5, 5.0)
SHAPES = ((200, 50), (200, 200), (60, 300), (400, 20))  # samples, features
SHARES = (0.5, 0.2, 0.05, 0.01)  # gamma as a share of the least that gives W = 0
SEEDS = range(3)
MAX_ITER = 2_000


def problems(n: int, d: int) -> Iterator[tuple[RobustProblem, CenteredRidge]]:
    """Three classes that eight features carry, a tenth of the labels wrong."""
    for seed in SEEDS:
        data = make_related_tasks(1, n, d, labeled=1.0, seed=seed)
        rng = np.random.default_rng(seed)
        y = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), data.y)
        X, Y = data.X - data.X.mean(axis=0), np.eye(3)[y]
        ridge = CenteredRidge(X)
        threshold = RobustProblem(X, Y, 1.0).least_for_zero
        for share in SHARES:
            yield RobustProblem(X, Y, share * threshold), ridge


def main() -> None:
    made = {shape: list(problems(*shape)) for shape in SHAPES}
    print("iterations: median and (most), not converged by", MAX_ITER, "in the last column")
    print("ratio    " + "".join(f"{f'{n} x {d}':>16s}" for n, d in SHAPES) + "   over")
    for ratio in RATIOS:
        robust.RATIO = ratio
        cells, over = [], 0
        for shape in SHAPES:
            results = [
                robust.solve_robust(problem, ridge, max_iter=MAX_ITER)[0]
                for problem, ridge in made[shape]
            ]
            counts = [result.n_iter for result in results]
            over += sum(not result.converged for result in results)
            cells.append(f"{np.median(counts):.0f} ({max(counts)})")
        print(f"{ratio:<9g}" + "".join(f"{cell:>16s}" for cell in cells) + f"{over:7d}")


if __name__ == "__main__":
    with threadpool_limits(1):  # sums in one order: the same counts every time
        main()
