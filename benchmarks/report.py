"""The report of a run with 100,000 results: how long it takes to write, and to open in a browser.

A made run with the extent of the paper's NUS-WIDE experiment: 84 tasks, eight methods with grids of
49 cells and 11 numbers of features, six shares of labels, five repeats, five metrics; so 100,800
results.  "read" is from the start of loading until the table of results is there, which is when the
page can be used; "complete" until the last figure is drawn.  Medians of five openings of headless
Chromium.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from playwright.sync_api import sync_playwright

from cosift.experiment import PAPER_METHODS, Plan, Results
from cosift.experiment.evaluate import Measurement
from cosift.experiment.metrics import METRICS
from cosift.experiment.store import Store
from cosift.report.page import write_report

TASKS = 84
FEATURES = 500
OPENINGS = 5


def run() -> Iterator[dict[str, object]]:
    """One row."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _make(directory)
        results = Results(directory)
        started = time.perf_counter()
        page = write_report(results)[0]
        seconds = time.perf_counter() - started
        read, complete = _opened(page)
        yield {
            "results": f"{len(results.metrics):,}",
            "written (s)": f"{seconds:.1f}",
            "size (MB)": f"{page.stat().st_size / 1e6:.1f}",
            "read (s)": f"{read:.2f}",
            "complete (s)": f"{complete:.2f}",
        }


def _make(directory: Path) -> None:
    """A run whose results are random."""
    rng = np.random.default_rng(0)
    numbers = tuple(range(250, 501, 25))
    plan = Plan("made", "0", PAPER_METHODS, 5_000, numbers, tuning="oracle")
    tasks = [f"concept {i}" for i in range(TASKS)]
    about = {
        "name": "made",
        "n_samples": 10_000,
        "n_features": FEATURES,
        "tasks": tasks,
        "classes": {task: {"0": 9_900, "1": 100} for task in tasks},
        "feature_names": None,
        "truth": None,
        "provenance": {"source": "SYNTHETIC: random numbers", "remark": "they mean nothing"},
        "leaks": [],
    }
    cells = np.array(list(product(plan.weights, plan.weights)))
    with Store.open(directory, plan, about) as store:
        store.begin({})
        for unit in plan.units():
            weighted = unit.method in ("sfmc", "sfss", "fssi")
            own = cells if weighted else np.zeros((1, 0))
            cell = {"alpha": 1.0, "beta": 1.0} if weighted else {}
            summary = {
                "cell": cell,
                "n_features": 400,
                "note": "",
                "n_train": 5_000,
                "n_labeled": round(50 * unit.labeled_percent),
                "n_test": 5_000,
                "seconds": {"total": float(rng.uniform(1, 100))},
                "peak_memory_mb": 300.0,
            }
            values = rng.uniform(0.2, 0.9, size=(TASKS, len(METRICS)))
            metrics = [dict(zip(METRICS, row.tolist(), strict=True)) for row in values]
            scores = rng.uniform(0.2, 0.9, size=(len(own), len(numbers), TASKS))
            arrays = {
                "cells": own,
                "numbers": np.array(numbers),
                "scores": scores.astype(np.float32),
                "gaps": np.zeros(len(own)),
                "converged": np.ones(len(own), dtype=bool),
                "selected": np.array([rng.permutation(FEATURES)[:400] for _ in tasks]),
                "task_scores": rng.uniform(size=(TASKS, FEATURES)),
                "history": np.column_stack(
                    [np.arange(50), np.arange(50), np.geomspace(9, 2, 50), np.linspace(1, 1.9, 50)]
                ),
            }
            store.add(Measurement(unit, summary, metrics, arrays))


def _opened(page: Path) -> tuple[float, float]:
    """Seconds until the table is there, and until the last figure is."""
    ends = [
        "document.querySelector('#results-table tbody tr')",
        "document.documentElement.dataset.complete",
    ]
    times: list[list[float]] = []
    with sync_playwright() as driver:
        path = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for _ in range(OPENINGS):
            opened = browser.new_page()
            started = time.perf_counter()
            opened.goto(page.as_uri(), wait_until="commit")
            own = []
            for end in ends:
                opened.wait_for_function(end)
                own.append(time.perf_counter() - started)
            times.append(own)
            opened.close()
        browser.close()
    read, complete = map(median, zip(*times, strict=True))
    return read, complete
