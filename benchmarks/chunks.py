"""What it does to a ranking that neighbours are sought within chunks of rows.

SFMC on some 3,000 frames of three subjects, each a task, features standardised, 5% of the labels,
in 1 to 256 chunks: the synthetic twin of HumanEva, and HumanEva's own frames where COSIFT_DATA has
them.  Rows are in the order of recording, where neighbours stand together, or mixed.  Compared with
one chunk: rank correlation of the scores, features that both have among their best 20, and the
median change of a learned label.  The rows "other labels" have one chunk and another draw of the
labelled rows, to show which changes are large.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from scipy.stats import spearmanr
from sklearn.preprocessing import StandardScaler

from cosift import SFMC
from cosift.datasets import make_humaneva

FRAMES, LABELED, BEST = 3_000, 0.05, 20
CHUNKS = (1, 4, 16, 64, 256)
DATA = Path(os.environ.get("COSIFT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def run() -> Iterator[dict[str, object]]:
    """One row a dataset, order, weight of unlabelled rows and number of chunks."""
    for name, samples in _datasets():
        n = len(samples[1])
        mixed = np.random.default_rng(0).permutation(n)
        for order, rows in {"as recorded": np.arange(n), "mixed": mixed}.items():
            for weight in (1.0, 0.01):
                X, y, tasks = (part[rows] for part in samples)
                about = {"data": name, "order": order, "unlabeled_weight": weight}
                yield from (about | row for row in _compared(X, y, tasks, weight))


def _datasets() -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    twin = make_humaneva(scale=FRAMES / 10_000)
    yield "twin", (_scaled(twin.X), np.unique(twin.y, return_inverse=True)[1], twin.tasks)
    stored = DATA / "humaneva" / "humaneva_frames.npz"
    if stored.exists():
        frames = np.load(stored)
        positions = frames["positions"] - frames["positions"][:, :1]
        X = np.hstack([positions[:, 1:].reshape(len(positions), -1), frames["joint_distances"]])
        every = slice(None, None, len(X) // FRAMES)
        yield "HumanEva", (_scaled(X[every]), frames["action"][every], frames["subject"][every])


def _compared(
    X: np.ndarray, y: np.ndarray, tasks: np.ndarray, weight: float
) -> Iterator[dict[str, object]]:
    whole = _fit(X, y, tasks, weight, chunks=1)
    others = {"1 (other labels)": _fit(X, y, tasks, weight, chunks=1, seed=1)}
    others |= {str(chunks): _fit(X, y, tasks, weight, chunks=chunks) for chunks in CHUNKS[1:]}
    for chunks, selector in others.items():
        best = [set(np.argsort(s.ranking_)[:BEST]) for s in (whole, selector)]
        changes = [abs(F - own) for F, own in zip(selector.F, whole.F, strict=True)]
        yield {
            "chunks": chunks,
            "rows of a task in a chunk": selector.rows,
            "rank correlation": round(float(spearmanr(whole.scores_, selector.scores_)[0]), 3),
            f"common among the best {BEST}": len(set.intersection(*best)),
            "median change of F": f"{np.median(np.concatenate([c.ravel() for c in changes])):.1e}",
            "objective": round(selector.objective_, 3),
        }


def _fit(
    X: np.ndarray, y: np.ndarray, tasks: np.ndarray, weight: float, *, chunks: int, seed: int = 0
) -> SFMC:
    rng = np.random.default_rng(seed)
    shown = rng.permutation(len(y))[: int(LABELED * len(y))]
    labels = np.full(len(y), -1)
    labels[shown] = y[shown]
    size = -(-len(y) // chunks)
    selector = SFMC(unlabeled_weight=weight)
    selector.fit(da.from_array(X, chunks=(size, -1)), labels, tasks)
    selector.F = dask.compute(*selector.transduction_)
    together = set(zip(np.arange(len(y)) // size, tasks.tolist(), strict=True))
    selector.rows = round(len(y) / len(together))
    return selector


def _scaled(X: np.ndarray) -> np.ndarray:
    return StandardScaler().fit_transform(X)
