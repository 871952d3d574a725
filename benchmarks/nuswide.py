"""The whole of NUS-WIDE on one machine: 269,648 samples, 500 features, 81 tasks, 1% labelled.

The synthetic twin (sparse counts), one concept a task, all over the same samples; SFMC under one
alpha, beta, gamma to a certified gap of 1e-6, the learned labels of all samples included.  Two
smaller sizes show the growth.  At the middle one, the last row fits all 13 values of the paper's
mu = alpha*beta in one call.  Every row is a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._apart import measured, peak_gib
from benchmarks._stages import PLACES, Clock
from cosift import SFMC, graph
from cosift.datasets import make_nuswide

ALL = 269_648
SIZES = (20_000, 60_000, ALL)
SEVERAL_MU = 60_000
MUS = 10.0 ** np.arange(-12, 13, 2)
ALPHA, GAMMA = 10.0, 10.0


def run() -> Iterator[dict[str, object]]:
    """One row a size, and one for all values of mu."""
    for n in SIZES:
        found = measured(__name__, n, 1)
        if n == SEVERAL_MU:
            one = found
        yield _row(found, "")
    found = measured(__name__, SEVERAL_MU, len(MUS))
    yield _row(found, f"{found['fit'] / one['fit']:.1f}")


def measure(size: str, n_mu: str) -> dict[str, float]:
    """Seconds by stage, peak of memory and what came out."""
    n = int(size)
    data = make_nuswide(scale=n / ALL)
    rng = np.random.default_rng(0)
    labeled = rng.random(n) < 0.01
    # Every concept needs an example: rare ones get their first.
    labeled[data.y.argmax(axis=0)] = True
    y = np.where(labeled[:, None], data.y, -1)
    selector = SFMC(alpha=ALPHA, beta=1.0 / ALPHA, gamma=GAMMA)
    mus = MUS if int(n_mu) > 1 else [1.0]
    with Clock([("neighbours", graph, "find_cliques"), *PLACES]).running() as clock:
        fits = []
        for fit in selector.grid(data.X, y, beta=[mu / ALPHA for mu in mus]):
            fit.transduction_ = None  # 175 MB each
            fits.append(fit)
    gap = max(fit.dual_gap_ / fit.history_[0].objective for fit in fits)
    return {
        **{stage: seconds for stage, seconds in clock.seconds.items() if stage != "classify"},
        "fit": sum(clock.seconds.values()),
        "n": n,
        "mu": len(fits),
        "peak": peak_gib(),
        "recall": float(fits[0].neighbor_recall_[0]),
        "gap": gap,
        "converged": sum(fit.converged_ for fit in fits),
        "kept": int((fits[len(fits) // 2].scores_ > 0).sum()),
    }


def _row(found: dict[str, float], ratio: str) -> dict[str, object]:
    stages = ("neighbours", "graph", "statistics", "solve", "labels and intercept", "other")
    return {
        "n": found["n"],
        "values of mu": found["mu"],
        **{f"{stage} (s)": round(found[stage], 1) for stage in stages},
        "fit (s)": round(found["fit"], 1),
        "times one mu": ratio,
        "peak (GiB)": round(found["peak"], 2),
        "recall of neighbours": found["recall"],
        "relative gap": f"{found['gap']:.0e}",
        "certified": f"{found['converged']} of {found['mu']}",
        "features kept, mu = 1": found["kept"],
    }
