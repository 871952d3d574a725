"""Work in a process of its own, so that its peak of memory is its own."""

from __future__ import annotations

import json
import subprocess
import sys
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
    """The most memory this process has held since it began, or since `held_gib`."""
    return _status("VmHWM")


def held_gib() -> float:
    """The memory this process holds; its peak is forgotten."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(what: str) -> float:
    # Of the process itself: `resource.getrusage` begins with what the parent held.
    lines = Path("/proc/self/status").read_text().splitlines()
    kib = next(line for line in lines if line.startswith(what)).split()[1]
    return int(kib) / 2**20
