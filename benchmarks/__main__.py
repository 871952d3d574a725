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
from threadpoolctl import threadpool_info

from benchmarks import (
    ccv,
    chunk_cost,
    chunks,
    conic,
    dask_rows,
    growth,
    lasso,
    nuswide,
    parsing,
    printed,
    protocol,
    report,
    scores,
    wide,
)

# In the order in which they run if none is named.
BENCHMARKS = {
    "lasso": lasso,
    "scores": scores,
    "parsing": parsing,
    "conic": conic,
    "printed": printed,
    "ccv": ccv,
    "nuswide": nuswide,
    "wide": wide,
    "growth": growth,
    "chunks": chunks,
    "chunk_cost": chunk_cost,
    "dask_rows": dask_rows,
    "protocol": protocol,
    "report": report,
}
RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> None:
    """Run the benchmarks named, or all."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"No benchmark {', '.join(unknown)}: choose among {', '.join(BENCHMARKS)}.")
    RESULTS.mkdir(exist_ok=True)
    for name in names or BENCHMARKS:
        module = BENCHMARKS[name]
        print(f"\n{name}: {module.__doc__}", flush=True)
        rows = []
        for row in module.run():
            print(*row.values(), sep=" | ", flush=True)
            rows.append(row)
        table = _markdown(rows)
        conditions = _conditions()
        print(f"\n{table}\n\n{conditions}")
        text = f"# {name}\n\n{module.__doc__}\n{table}\n\n{conditions}\n"
        (RESULTS / f"{name}.md").write_text(text)
        record = {"conditions": conditions, "rows": rows}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def _markdown(rows: list[dict[str, object]]) -> str:
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _conditions() -> str:
    versions = ", ".join(f"{m.__name__} {m.__version__}" for m in (np, scipy, sklearn))
    threads = max(library["num_threads"] for library in threadpool_info())
    return (
        f"{date.today()}, {_processor()}, {os.cpu_count()} cores, {threads} BLAS threads, "
        f"Python {platform.python_version()}, {versions}."
    )


def _processor() -> str:
    """Its model where Linux says so, else its kind."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return f"{next(models, 'unknown model')} ({platform.machine()})"


if __name__ == "__main__":
    main(sys.argv[1:])
