"""SFMC on rows that do not fit into the memory of a worker, and whether the cost model holds.

Two tasks of three classes over n x 200 numbers in single precision, 1% of the rows labelled, in
files of 12,500 rows that a LocalCluster reads: two workers of one thread and 2 GiB each, which have
fitted four chunks before the clock starts.  "CPU" is what both workers spent; "predicted" is one
chunk, timed alone in this process, times the number of chunks.  Peaks are the largest resident sets
that the system saw.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

from benchmarks.chunk_cost import CLASSES, INFORMATIVE, LABELED, MU, timed
from cosift import SFMC

SIZES = (100_000, 200_000, 400_000, 2_000_000)
FEATURES, TASKS = 200, 2
CHUNK = 12_500
WORKERS, MEMORY = 2, "2GiB"


def run() -> Iterator[dict[str, object]]:
    """One row a size."""
    chunk_seconds = one_chunk()
    for n in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            yield _row(n, chunk_seconds, Path(folder))


def one_chunk() -> float:
    """CPU seconds of what a worker does with a chunk, after a rehearsal."""
    X, y, tasks = _chunk(0)
    for _ in range(2):
        spent = [timed(X[tasks == task], y[tasks == task])[0] for task in range(TASKS)]
    return sum(sum(seconds.values()) for seconds in spent)


def _row(n: int, chunk_seconds: float, folder: Path) -> dict[str, object]:
    n_chunks = n // CHUNK
    started = time.perf_counter()
    y, tasks = _write(folder, n_chunks)
    written = time.perf_counter() - started
    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, memory_limit=MEMORY, dashboard_address=":0"
    )
    selector, X = SFMC(alpha=1.0, beta=MU, gamma=1.0), _read(folder, n_chunks)
    with cluster, Client(cluster) as client:
        first = slice(2 * WORKERS * CHUNK)
        selector.fit(X[first], y[first], tasks[first])
        before = sum(client.run(time.process_time).values())
        started = time.perf_counter()
        selector.fit(X, y, tasks)
        total = time.perf_counter() - started
        spent = sum(client.run(time.process_time).values()) - before
        peak = max(client.run(_peak).values())
    solve = selector.history_[-1].seconds
    predicted = chunk_seconds * n_chunks
    found = int((selector.ranking_[:INFORMATIVE] <= INFORMATIVE).sum())
    return {
        "n": n,
        "chunks": n_chunks,
        "GB on disk": round(4e-9 * n * FEATURES, 2),
        "writing (s)": round(written, 1),
        "statistics (s)": round(total - solve, 1),
        "solve (s)": round(solve, 2),
        "CPU (s)": round(spent, 1),
        "predicted CPU (s)": round(predicted, 1),
        "ratio": round(spent / predicted, 2),
        "relative gap": f"{selector.dual_gap_ / selector.objective_:.0e}",
        "of the 20 that matter, ranked 1 to 20": found,
        "peak of a worker (GiB)": round(peak, 2),
        "peak of the driver (GiB)": round(_peak(), 2),
    }


def _chunk(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of both tasks, mixed; classes differ in the first features."""
    rng = np.random.default_rng([1, number])
    tasks = rng.permutation(CHUNK) % TASKS
    y = rng.integers(0, CLASSES, CHUNK)
    X = rng.standard_normal((CHUNK, FEATURES), dtype=np.float32)
    means = np.random.default_rng(0).standard_normal((TASKS, CLASSES, INFORMATIVE))
    X[:, :INFORMATIVE] += (means + means[0]).astype(np.float32)[tasks, y]
    y[rng.random(CHUNK) >= LABELED] = -1
    return X, y.astype(np.int8), tasks.astype(np.int8)


def _write(folder: Path, n_chunks: int) -> tuple[np.ndarray, np.ndarray]:
    labels = []
    for number in range(n_chunks):
        X, *of_rows = _chunk(number)
        np.save(folder / f"{number}.npy", X)
        labels.append(of_rows)
    y, tasks = (np.concatenate(column) for column in zip(*labels, strict=True))
    return y, tasks


def _read(folder: Path, n_chunks: int) -> da.Array:
    load = dask.delayed(np.load, pure=False)
    parts = [load(str(folder / f"{number}.npy")) for number in range(n_chunks)]
    shape = (CHUNK, FEATURES)
    return da.concatenate([da.from_delayed(part, shape, np.float32) for part in parts])


def _peak() -> float:
    """GiB of this process at its largest."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20
