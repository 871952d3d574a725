"""What a chunk costs by its rows and features, and what its result costs to send and to add.

One task of three classes, 1% of the rows labelled, SFMC at mu = 1, the second of two runs.  "CPU"
is of all threads together.  "GFlop/s" is what the search for neighbours would reach if its 2 n^2 d
multiplications and additions were all of "graph".
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from cosift.graph import local_laplacian
from cosift.statistics import SemiSupervisedSamples

CLASSES, INFORMATIVE, LABELED, MU = 3, 20, 0.01, 1.0
SIZES = [(n, d) for d in (200, 500) for n in (6_000, 10_000, 20_000)]


def run() -> Iterator[dict[str, object]]:
    """One row a size."""
    for n, d in SIZES:
        X, y = _samples(n, d)
        for _ in range(2):
            seconds, gram = timed(X, y)
        started = time.process_time()
        added = gram + gram.about(gram.mean + 1.0)
        adding = time.process_time() - started
        total = sum(seconds.values())
        yield {
            "rows": n,
            "features": d,
            **{f"{stage} (CPU s)": round(value, 2) for stage, value in seconds.items()},
            "CPU a row (us)": round(1e6 * total / n),
            "GFlop/s of the graph": round(2e-9 * n**2 * d / seconds["graph"], 1),
            "MB of a result": round(1e-6 * added.matrix.nbytes, 2),
            "adding two (CPU ms)": round(1e3 * adding, 1),
        }


def timed(X: np.ndarray, y: np.ndarray):
    """CPU seconds of what a worker does with the rows of a task, by stage, and what it returns."""
    times = [time.process_time()]
    laplacian = local_laplacian(X)
    times.append(time.process_time())
    Y = (y[:, None] == np.arange(CLASSES)).astype(float)
    samples = SemiSupervisedSamples(X, Y, y >= 0, laplacian)
    times.append(time.process_time())
    gram = samples.gram(MU)
    times.append(time.process_time())
    stages = ("graph", "labels", "Gram matrix")
    return dict(zip(stages, np.diff(times).tolist(), strict=True)), gram


def _samples(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X[:, :INFORMATIVE] += rng.standard_normal((CLASSES, INFORMATIVE)).astype(np.float32)[y]
    y[rng.random(n) >= LABELED] = -1
    return X, y
