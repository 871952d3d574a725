"""Reading the authors' text files, against polars reading the same bytes.

NUS-WIDE's bags of 500 words (as many rows as 100,000 of its 269,648 images), which we write to a
memory map, and CCV's bags of 5,000 words of 4,659 videos, which we hold as a sparse matrix; numbers
in lines, one blank after each, as the authors have them.  We check every line; polars reads into a
table.  Every run in a process of its own, in turn, the best of each.  The peak of memory counts
interpreter and packages, which take what the first row says, and the pages of the memory map.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks._turns import in_turn

# Rows, columns, and share of numbers that are not zero.
FILES = {"NUS-WIDE": (100_000, 500, 0.2), "CCV": (4_659, 5_000, 0.05)}
READERS = ("cosift", "polars")


def run() -> Iterator[dict[str, object]]:
    """One row a file and reader."""
    yield _row("none", 0.0, "imports alone", 0.0, _read("none", Path(), 0, 0)[1], 0.0)
    with tempfile.TemporaryDirectory() as folder:
        for name, (rows, columns, share) in FILES.items():
            path = Path(folder, name)
            _write(path, rows, columns, share)
            megabytes = path.stat().st_size / 1e6
            found = in_turn(*(partial(_read, how, path, rows, columns) for how in READERS))
            for how, (seconds, peak) in zip(READERS, found, strict=True):
                yield _row(name, megabytes, how, seconds, peak, found[-1][0] / seconds)


def _row(
    name: str, megabytes: float, reader: str, seconds: float, peak: float, speed: float
) -> dict[str, object]:
    return {
        "file": name,
        "MB of text": round(megabytes),
        "reader": reader,
        "seconds": f"{seconds:.3g}",
        "MB a second": round(megabytes / seconds) if seconds else 0,
        "peak of memory (MB)": round(peak),
        "speed by that of polars": f"{speed:.2f}",
    }


def _write(path: Path, rows: int, columns: int, share: float) -> None:
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for start in range(0, rows, 5_000):
            shape = (min(5_000, rows - start), columns)
            counts = rng.geometric(0.3, shape) * (rng.random(shape) < share)
            lines = pl.DataFrame(counts).with_columns(end=pl.lit(""))
            lines.write_csv(file, include_header=False, separator=" ", quote_style="never")


def _read(how: str, path: Path, rows: int, columns: int) -> tuple[float, float]:
    """Seconds and megabytes at the peak, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.parsing", how, path, str(rows), str(columns)]
    answer = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    seconds, peak = json.loads(answer.stdout)
    return seconds, peak


def _child(how: str, path: Path, rows: int, columns: int) -> None:
    from cosift.datasets._text import stack_numbers

    started = time.perf_counter()
    if how == "cosift":
        parts = [(path, rows, "the file of labels")]
        if path.name == "CCV":
            stack_numbers(parts, columns)
        else:
            stack_numbers(parts, columns, dtype=np.float32, memory_map=path.with_suffix(".npy"))
    elif how == "polars":
        pl.read_csv(path, has_header=False, separator=" ")
    seconds = time.perf_counter() - started
    print(json.dumps([seconds, _peak_megabytes()]))


def _peak_megabytes() -> float:
    """Of this process; what `resource` says, a process has from its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    _child(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
