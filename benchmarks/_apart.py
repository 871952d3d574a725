"""Work in a process of its own, so that its peak of memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def measured(module: str, *arguments: object) -> dict[str, float]:
    """What ``module.measure(*arguments)`` says in a fresh process; arguments as strings."""
    code = (
        "import sys, json, importlib\n"
        "module = importlib.import_module(sys.argv[1])\n"
        "print(json.dumps(module.measure(*sys.argv[2:])))"
    )
    command = [sys.executable, "-c", code, module, *map(str, arguments)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found


def peak_gib() -> float:
    """The most memory this process has held since it began, its parent's not counted."""
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 2**20


@contextmanager
def clock(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time spent in the context to a stage."""
    started = time.perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - started
