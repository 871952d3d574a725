"""Many features: 500 samples of 100,000 dense or 1,000,000 sparse ones (a thousandth stored).

Two tasks of three classes, a fifth of the rows labelled, 30 features that tell the classes apart.
Every fit is a process of its own, certified to a gap of 1e-6; its peak of memory is that of the
process, interpreter, libraries and samples included.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from benchmarks._apart import measured, peak_gib
from cosift import FSSI, SFMC, SFSS

N, RELEVANT = 500, 30
FEATURES = {"dense": 100_000, "sparse": 1_000_000}
DENSITY = 1e-3
SELECTORS = {
    "SFMC": lambda: SFMC(alpha=1.0, gamma=1.0),
    "SFSS": lambda: SFSS(alpha=1.0),
    "FSSI": lambda: FSSI(alpha=1.0, gamma=1.0),
}


def run() -> Iterator[dict[str, object]]:
    """One row a kind of samples and method."""
    for kind, d in FEATURES.items():
        for name in SELECTORS:
            found = measured(__name__, kind, name)
            yield {
                "X": kind,
                "n": N,
                "d": d,
                "method": name,
                "fit (s)": round(found["seconds"], 1),
                "peak (GiB)": round(found["peak"], 2),
                "of it samples (GiB)": round(found["samples"], 2),
                "iterations": found["iterations"],
                "features kept": found["kept"],
                "relative gap": f"{found['gap']:.0e}",
                "certified": found["converged"],
            }


def measure(kind: str, name: str) -> dict[str, float]:
    """Seconds, peak of memory and what came out."""
    X, y, tasks = samples(kind, FEATURES[kind])
    size = X.nbytes if kind == "dense" else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    started = time.perf_counter()
    fit = SELECTORS[name]().fit(X, y, tasks)
    return {
        "seconds": time.perf_counter() - started,
        "peak": peak_gib(),
        "samples": size / 2**30,
        "iterations": fit.n_iter_,
        "kept": int((fit.scores_ > 0).sum()),
        "gap": fit.dual_gap_ / fit.history_[0].objective,
        "converged": fit.converged_,
    }


def samples(kind: str, d: int, n: int = N):
    """X, y with -1 where unlabelled, and tasks."""
    rng = np.random.default_rng(0)
    tasks, classes = np.arange(n) % 2, rng.integers(0, 3, n)
    if kind == "dense":
        X = rng.standard_normal((n, d))
        X[:, :RELEVANT] += 1.5 * rng.standard_normal((2, 3, RELEVANT))[tasks, classes]
    else:
        noise = sp.random_array((n, d - RELEVANT), density=DENSITY, rng=rng, format="csr")
        # A relevant feature is stored where the class is its own.
        own = classes[:, None] == np.arange(RELEVANT) % 3
        X = sp.hstack([sp.csr_array(own * rng.random((n, RELEVANT))), noise], format="csr")
    return X, np.where(rng.random(n) < 0.2, classes, -1), tasks
