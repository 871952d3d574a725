"""Seconds a cell of the grid at CCV's size: 3 tasks, 4,000 training rows, 5,000 features.

The synthetic twin (sparse counts), 10% of the labels, SFMC under the 27 combinations of 1e-4, 1
and 1e4, each cell judged with the six numbers of features of the paper, one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks._stages import STAGES, timed_unit
from cosift.datasets import make_ccv
from cosift.experiment import Plan, Unit
from cosift.experiment.evaluate import Experiment

WEIGHTS = (1e-4, 1.0, 1e4)


def run() -> Iterator[dict[str, object]]:
    """One row a stage."""
    data = make_ccv()
    plan = Plan.paper("ccv", data, weights=WEIGHTS, methods=["sfmc"], labeled_percent=[10])
    experiment = Experiment(plan, data)
    experiment.draw(0)
    started = time.perf_counter()
    outcome, seconds = timed_unit(experiment, Unit(0, 10.0, "sfmc"))
    total = time.perf_counter() - started
    cells, converged = outcome.summary["n_cells"], outcome.summary["n_converged"]
    for stage in (*STAGES, "total"):
        value = total if stage == "total" else seconds[stage]
        yield {
            "stage": stage,
            "seconds": round(value, 1),
            "seconds a cell": round(value / cells, 2),
            "cells": cells,
            "of them not to 1e-6": cells - converged,
        }
