"""The paper's whole HumanEva protocol on two cores, and where its time goes.

Two subjects of the synthetic twin, 3,000 training rows of 168 features, six shares of labels, all
eight methods with their whole grids (343 cells of SFMC), the number of features and the cells
chosen by the oracle.  One repeat is measured, in two processes of one thread each; seconds by
stage are those of both processes together.  The protocol has five repeats, alike but for the draw:
its last row multiplies by five.
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks._stages import STAGES, timed_unit
from cosift.datasets import Dataset, LeakageWarning, make_humaneva
from cosift.experiment import Plan, Processes
from cosift.experiment.evaluate import Experiment

REPEATS = 5
WORKERS = 2


def run() -> Iterator[dict[str, object]]:
    """One row a method, over all shares of labels; one row for all; one for the protocol."""
    data = two_subjects()
    plan = Plan.paper("humaneva", data, repeats=1)
    spent = {method: dict.fromkeys(STAGES, 0.0) for method in plan.methods}
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    started = time.perf_counter()
    units = Processes(WORKERS).map(timed_unit, Experiment(plan, data), plan.units())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakageWarning)  # the paper's split
        for outcome, seconds in units:
            method = outcome.unit.method
            for stage, value in seconds.items():
                spent[method][stage] += value
            names = ("n_cells", "n_converged", "n_judged")
            counts[method] = [
                n + outcome.summary[name] for n, name in zip(counts[method], names, strict=True)
            ]
    wall = time.perf_counter() - started
    for method in plan.methods:
        yield _row(method, counts[method], spent[method], "")
    total = {stage: sum(own[stage] for own in spent.values()) for stage in STAGES}
    count = np.sum(list(counts.values()), axis=0).tolist()
    yield _row("all, one repeat", count, total, f"{wall / 60:.1f}")
    five = [REPEATS * n for n in count]
    whole = {stage: REPEATS * seconds for stage, seconds in total.items()}
    yield _row("all, five repeats", five, whole, f"{REPEATS * wall / 60:.1f}")


def two_subjects() -> Dataset:
    """The twin of the two subjects that the paper has."""
    data = make_humaneva()
    rows = np.isin(data.tasks, ["S1", "S2"])
    return replace(
        data, X=data.X[rows], y=data.y[rows], tasks=data.tasks[rows], groups=data.groups[rows]
    )


def _row(
    name: str, counts: list[int], seconds: dict[str, float], minutes: str
) -> dict[str, object]:
    n_cells, n_converged, n_judged = counts
    return {
        "method": name,
        "cells": n_cells,
        "of them not to 1e-6": n_cells - n_converged,
        "sets of features judged": n_judged,
        **{f"{stage} (s)": round(seconds[stage], 1) for stage in STAGES},
        "sum (s)": round(sum(seconds.values()), 1),
        f"minutes on {WORKERS} cores": minutes,
    }
