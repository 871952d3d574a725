"""Run one unit: one method on one draw with one share of labels, under its whole grid."""

from __future__ import annotations

import threading
import time
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from cosift._sharing import sharing
from cosift.datasets import Dataset, LeakageWarning
from cosift.experiment.candidates import Candidates
from cosift.experiment.classifier import Judge
from cosift.experiment.draw import Draw, child_seed, draw, true_features
from cosift.experiment.folds import deal
from cosift.experiment.metrics import recovery
from cosift.experiment.plan import Plan, Unit
from cosift.experiment.tuning import (
    Choice,
    Stopwatch,
    by_cross_validation,
    by_oracle,
    choose_penalty,
    ranked,
)

__all__ = ["Experiment", "Failure", "Measurement", "evaluate_unit"]

# Warnings and limits of threads are of the whole process: a Dask worker may have several threads.
ONE_AT_A_TIME = threading.Lock()
# Streams of random numbers beside the split's own.
FOLDS = 1
# Warnings of a unit that are kept.
MANY = 20


@dataclass(frozen=True)
class Experiment:
    """A plan and its data: all that a worker needs, sent to it once.

    Attributes
    ----------
    plan : Plan
        What to do.
    data : Dataset
        What to do it on.
    threads : int
        Threads of BLAS and OpenMP in a unit.
    """

    plan: Plan
    data: Dataset
    threads: int = 1
    _draws: dict[int, Draw] = field(default_factory=dict, repr=False, compare=False)

    def draw(self, repeat: int) -> Draw:
        """The draw of one repeat; the last is kept, for units come repeat by repeat."""
        if repeat not in self._draws:
            self._draws.clear()
            self._draws[repeat] = draw(self.data, self.plan, repeat)
        return self._draws[repeat]


@dataclass(frozen=True)
class Measurement:
    """The result of a unit.

    Attributes
    ----------
    unit : Unit
        Which.
    summary : dict
        Plain values: the choice and how it was made, its certificate, seconds by stage, memory,
        warnings.
    metrics : list of dict
        Of each task.
    arrays : dict of str to ndarray
        "cells" (cells, weights), "scores" (cells, numbers, tasks), "gaps" and "converged"
        (cells,) of the grid; of the choice "selected" (tasks, n_features), best first,
        "task_scores" (tasks, d), and "history" (lines, 4) of the solver.
    """

    unit: Unit
    summary: dict[str, Any]
    metrics: list[dict[str, float]]
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Failure:
    """Why a unit has no result."""

    unit: Unit
    message: str
    traceback: str


def evaluate_unit(experiment: Experiment, unit: Unit) -> Measurement | Failure:
    """Run a unit; whatever goes wrong in it is its result.

    The result depends on the plan, the data, the unit and the number of threads: not on other
    units, nor on where or when it runs.
    """
    try:
        with (
            ONE_AT_A_TIME,
            threadpool_limits(experiment.threads),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("default")
            # The grid tells of every cell; a run warns of leaks once.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", LeakageWarning)
            measurement = _evaluate(experiment, unit)
            said = dict.fromkeys(str(warning.message) for warning in caught)
            measurement.summary["warnings"] = list(said)[:MANY]
            return measurement
    except Exception as error:
        return Failure(unit, f"{type(error).__name__}: {error}", traceback.format_exc())


def _evaluate(experiment: Experiment, unit: Unit) -> Measurement:
    plan, data = experiment.plan, experiment.data
    forgotten = _forget_peak_memory()
    started, watch = time.perf_counter(), Stopwatch()
    with watch("draw"):
        sample = experiment.draw(unit.repeat)
        training = sample.training(unit.labeled_percent)
        folds = deal(training, plan.folds, child_seed(plan.seed, unit.repeat, FOLDS))
    candidates = Candidates(plan, unit.method)
    C = choose_penalty(plan.C, training, folds, watch)
    shown = np.flatnonzero(training.labeled)
    judges = [
        Judge(
            training.of_task(task, shown),
            sample.test(task),
            yes_no=training.y.ndim == 2,
            C=C[task],
        )
        for task in range(training.n_tasks)
    ]
    saved = sample.kept.seconds_saved
    with sharing(sample.kept):
        if plan.tuning == "oracle":
            choice = by_oracle(candidates, training, judges, watch)
        else:
            choice = by_cross_validation(candidates, training, folds, C, watch)
    selected = np.array([ranked(choice.selector, t)[: choice.n_features] for t in range(len(C))])
    with watch("classify"):
        metrics = [judge.metrics(own) for judge, own in zip(judges, selected, strict=True)]
    if data.truth is not None:
        for task, own in enumerate(metrics):
            own["recovery"] = recovery(ranked(choice.selector, task), true_features(data, task))
    watch.seconds["total"] = time.perf_counter() - started
    watch.seconds["shared"] = sample.kept.seconds_saved - saved
    summary = {
        "cell": choice.cell,
        "n_features": choice.n_features,
        "tuning": plan.tuning,
        "tuning_score": choice.score,
        "note": choice.note,
        "C": C,
        "n_train": len(sample.split.train),
        "n_labeled": len(shown),
        "n_test": len(sample.split.test),
        "split_seed": child_seed(plan.seed, unit.repeat),
        **_certificate(choice),
        "n_cells": len(choice.grid.cells),
        "n_converged": int(choice.grid.converged.sum()),
        "n_judged": choice.grid.n_judged,
        "seconds": watch.seconds,
        "peak_memory_mb": _peak_memory_mb() if forgotten else None,
    }
    return Measurement(unit, summary, metrics, _arrays(choice, selected))


def _certificate(choice: Choice) -> dict[str, Any]:
    names = {"objective": "objective_", "dual_gap": "dual_gap_", "converged": "converged_"}
    return {key: getattr(choice.selector, name, None) for key, name in names.items()}


def _arrays(choice: Choice, selected: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
    grid = choice.grid
    weights = [list(cell.values()) for cell in grid.cells]
    history = [tuple(line) for line in getattr(choice.selector, "history_", [])]
    return {
        "cells": np.array(weights, dtype=np.float64),
        "numbers": np.array(grid.numbers),
        # Single precision serves figures; the choice was made in double.
        "scores": grid.scores.astype(np.float32),
        "gaps": grid.gaps,
        "converged": grid.converged,
        "selected": selected.astype(np.int32),
        "task_scores": choice.selector.task_scores_,
        "history": np.array(history, dtype=np.float64).reshape(-1, 4),
    }


def _forget_peak_memory() -> bool:
    """Forget the process's peak of memory, where Linux lets us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak_memory_mb() -> float:
    """Most memory that the process had at once since `_forget_peak_memory`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kilobytes) / 1024.0
