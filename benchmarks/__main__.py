"""Run benchmarks by name, print their tables, and keep them as Markdown and JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import date
from pathlib import Path

import numpy as np
import scipy
import sklearn

from benchmarks import ccv, chunk_cost, chunks, dask_rows, printed, protocol, report

BENCHMARKS = {
    "ccv": ccv,
    "chunk_cost": chunk_cost,
    "chunks": chunks,
    "dask_rows": dask_rows,
    "printed": printed,
    "protocol": protocol,
    "report": report,
}
RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> None:
    """Run the benchmarks named, or all."""
    RESULTS.mkdir(exist_ok=True)
    for name in names or BENCHMARKS:
        module = BENCHMARKS[name]
        rows = list(module.run())
        table = _markdown(rows)
        conditions = _conditions()
        print(f"\n{name}\n{table}\n{conditions}")
        text = f"# {name}\n\n{module.__doc__}\n{table}\n\n{conditions}\n"
        (RESULTS / f"{name}.md").write_text(text)
        record = {"conditions": conditions, "rows": rows}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def _markdown(rows: list[dict[str, object]]) -> str:
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _conditions() -> str:
    versions = ", ".join(f"{m.__name__} {m.__version__}" for m in (np, scipy, sklearn))
    return (
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, {versions}."
    )


if __name__ == "__main__":
    main(sys.argv[1:])
