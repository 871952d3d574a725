"""How time and memory grow with the number of samples, of features and of tasks.

Gaussian classes that differ in 30 features, a tenth of the rows labelled, SFMC to a gap of 1e-6.
One quantity doubles while the others stay; every fit is a process of its own, and memory is what
the fit added at its peak to what the process held.  The exponent is the slope of a straight line
through the logarithms: 1 is linear growth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks._apart import held_gib, measured, peak_gib
from cosift import SFMC

BASE = {"n": 1_000, "d": 100, "tasks": 2}
POINTS = {
    "n": (12_000, 24_000, 48_000, 96_000),
    "d": (250, 500, 1_000, 2_000),
    "tasks": (2, 4, 8, 16),
}
RELEVANT, CLASSES = 30, 3


def run() -> Iterator[dict[str, object]]:
    """One row a quantity and value; the exponents are in the last row of each quantity."""
    for quantity, values in POINTS.items():
        sizes = [{**BASE, quantity: value} for value in values]
        found = [measured(__name__, *size.values()) for size in sizes]
        for i, (size, one) in enumerate(zip(sizes, found, strict=True)):
            last = i == len(values) - 1
            yield {
                "grows": quantity,
                "n of a task": size["n"],
                "d": size["d"],
                "tasks": size["tasks"],
                "fit (s)": round(one["seconds"], 2),
                "memory added (MiB)": round(one["memory"]),
                "certified": one["converged"],
                "exponent of time": _exponent(values, found, "seconds") if last else "",
                "exponent of memory": _exponent(values, found, "memory") if last else "",
            }


def _exponent(values: tuple[int, ...], found: list[dict[str, float]], what: str) -> float:
    slope = np.polyfit(np.log(values), np.log([one[what] for one in found]), 1)[0]
    return round(float(slope), 2)


def measure(n: str, d: str, tasks: str) -> dict[str, float]:
    """Seconds and memory of one fit."""
    # Libraries loaded, kernels compiled where many samples call for them.
    SFMC().fit(*_samples(min(int(n), 12_000), 20, 2))
    data = _samples(int(n), int(d), int(tasks))
    before, started = held_gib(), time.perf_counter()
    fit = SFMC(alpha=5.0, beta=0.2, gamma=5.0).fit(*data)
    seconds = time.perf_counter() - started
    memory = 1024.0 * (peak_gib() - before)
    return {"seconds": seconds, "memory": memory, "converged": fit.converged_}


def _samples(n: int, d: int, n_tasks: int):
    rng = np.random.default_rng(0)
    tasks = np.repeat(np.arange(n_tasks), n)
    classes = rng.integers(0, CLASSES, len(tasks))
    X = rng.standard_normal((len(tasks), d))
    shifts = 1.5 * rng.standard_normal((n_tasks, CLASSES, min(d, RELEVANT)))
    X[:, : shifts.shape[2]] += shifts[tasks, classes]
    return X, np.where(rng.random(len(tasks)) < 0.1, classes, -1), tasks
