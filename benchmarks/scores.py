"""FisherScore, SPEC and FSNM, against skfeature-chappers and the update of FSNM's authors.

2,000 rows of 2,000 features in 10 classes, all labelled.  SPEC is unsupervised, its similarity
dense, as there.  FSNM (gamma = 1) and the authors' update, a few lines of NumPy that solve the same
without an intercept, run to a gap of 1e-6; FSNM of skfeature ("RFS") to a stopping rule of its own.
Runs in turn, the best of each, on all cores; what takes five minutes is stopped.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import gaussian_classes
from benchmarks._environment import python_with, versions
from benchmarks._peer import Peer
from benchmarks._turns import in_turn
from cosift import FSNM, SPEC, FisherScore

PEER = "skfeature-chappers"
N, D, CLASSES = 2_000, 2_000, 10
GAMMA = 1.0
TOL = 1e-6
LIMIT = 300.0


def run() -> Iterator[dict[str, object]]:
    """One row a method and rival."""
    X, y = gaussian_classes(np.random.default_rng(0), N, D, CLASSES)
    python = python_with("skfeature", "skfeature-chappers")
    rival = versions(python, PEER)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), X)
        np.save(Path(folder, "y.npy"), y)

        def theirs(**request: Any) -> tuple[float, None]:
            with Peer(python, "scores.py", folder) as peer:
                answer = peer.ask(LIMIT, **request)
                return LIMIT if answer is None else float(answer["seconds"]), None

        for method, selector in (("Fisher", FisherScore()), ("SPEC", SPEC())):
            (own, _), (other, _) = in_turn(
                partial(_seconds, selector, X, y), partial(theirs, method=method)
            )
            yield _row(method, own, rival, other)

        (own, fitted), (other, gap) = in_turn(
            lambda: _seconds(FSNM(GAMMA, tol=TOL), X, y), lambda: _authors(X, y)
        )
        assert fitted.converged_
        note = "" if gap <= TOL else f", gap {gap:.0e}"
        yield _row("FSNM", own, f"the authors' update{note}", other)
        yield _row("FSNM", own, rival, theirs(method="FSNM", gamma=GAMMA)[0])


def _seconds(selector: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, Any]:
    started = time.perf_counter()
    fitted = selector.fit(X, y)
    return time.perf_counter() - started, fitted


def _authors(X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Seconds of the update of Nie et al. (2010) to a gap of TOL or to LIMIT, and the gap.

    ``U = D^-1 A' (A D^-1 A')^-1 Y`` with ``A = [X gamma*I]`` and D diagonal with
    ``1 / (2 ||u^i||)``.  U is W above E / gamma, and E = Y - X W: there is no intercept.
    E, each row divided by its last length, gives a dual bound.
    """
    started = time.perf_counter()
    Y = (y[:, None] == np.unique(y)) * 1.0
    n, d = X.shape
    A = np.hstack([X, GAMMA * np.eye(n)])
    lengths = np.ones(n + d)
    step = 0
    while True:
        scaled = (2.0 * lengths)[:, None] * A.T
        U = scaled @ np.linalg.solve(A @ scaled, Y)
        before, lengths = lengths, np.maximum(np.linalg.norm(U, axis=1), 1e-15)
        step += 1
        if step % 10 == 0:
            # X' (E / before) is gamma times W / before: both are within their balls but for this.
            gauge = max(1.0, (lengths / before).max())
            gap = GAMMA * lengths.sum() - np.vdot(U[d:] / before[d:, None], Y) / gauge
            gap /= np.linalg.norm(Y, axis=1).sum()
            seconds = time.perf_counter() - started
            if gap <= TOL or seconds > LIMIT:
                return seconds, gap


def _row(method: str, ours: float, rival: str, theirs: float) -> dict[str, object]:
    stopped = ">" if theirs >= LIMIT else ""
    return {
        "method": method,
        "cosift (s)": f"{ours:.3g}",
        "against": rival,
        "theirs (s)": f"{stopped}{theirs:.3g}",
        "ratio": f"{stopped}{theirs / ours:.0f}",
    }
