"""Run what of a plan has no result yet, and keep every result as it comes."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from cosift.datasets import Dataset, LeakageWarning
from cosift.experiment.backends import Backend, Death, Serial
from cosift.experiment.draw import draw, task_names, true_features
from cosift.experiment.evaluate import (
    Experiment,
    Failure,
    Measurement,
    evaluate_unit,
)
from cosift.experiment.plan import Plan, PlanError, Unit
from cosift.experiment.store import Store

__all__ = ["Progress", "run"]

PACKAGES = ("cosift", "numpy", "scipy", "scikit-learn", "polars", "threadpoolctl")


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes
    ----------
    total, done, failed : int
        Units of the plan; with a result; without, after an attempt that counts.
    executed : int
        Units that ended in this session.
    seconds : float
        Since the session began.
    seconds_left : float or None
        Estimated, once anything is known of how long units take.
    last : Unit or None
        What ended last.
    error : str
        Why it failed, or nothing.
    """

    total: int
    done: int
    failed: int
    executed: int
    seconds: float
    seconds_left: float | None
    last: Unit | None = None
    error: str = ""


def run(
    plan: Plan,
    data: Dataset,
    directory: str | Path,
    *,
    backend: Backend | None = None,
    threads: int = 1,
    retry_failed: bool = False,
    anew: bool = False,
    progress: Callable[[Progress], None] | None = None,
    origin: Mapping[str, str] | None = None,
) -> Progress:
    """Run a plan, or what is left of it.

    Interrupting the process at any moment, Ctrl-C or ``kill -9``, loses the units in flight; the
    same call continues.

    Parameters
    ----------
    plan : Plan
        What to do.
    data : Dataset
        The data it was made for.
    directory : path
        Where results are kept, see `cosift.experiment.store`; made if there is none.
    backend : Backend, optional
        Where units run; by default here, one after the other.
    threads : int, default=1
        Threads of BLAS and OpenMP in each unit: cores divided by workers at most.  Results are
        equal to the bit for equal numbers of threads, whatever the backend.
    retry_failed : bool, default=False
        Whether to try again what failed in an earlier session.
    anew : bool, default=False
        Whether to set aside the results of the directory and begin again.
    progress : callable, optional
        Called with a `Progress` at the start and whenever a unit ends.
    origin : mapping of str to str, optional
        Kept with the session: "command", what a user typed; "published", the name of printed
        numbers to put beside these, see `published`.

    Returns
    -------
    Progress
        How it ended.

    Raises
    ------
    PlanError
        If the plan cannot be run on the data.
    RunDirectoryError
        If the directory cannot be used, or holds results of another plan.
    """
    plan.check(data)
    about = {**_about(data), "leaks": _leaks(plan, data)}
    backend = Serial() if backend is None else backend
    with Store.open(directory, plan, about, anew=anew) as store:
        done, failed = store.done(), set(store.failures())
        skipped = set(done) if retry_failed else failed | set(done)
        units = [unit for unit in plan.units() if unit not in skipped]
        waiting, finished = set(units), set(done)
        failed -= waiting
        clock = _Clock(plan, done, backend.workers)
        state = clock.progress(finished, failed, waiting)
        if progress:
            progress(state)
        if not waiting:
            return state
        store.begin({**environment(backend, threads), **(origin or {})})
        experiment = Experiment(plan, data, threads)
        with closing(backend.map(evaluate_unit, experiment, units)) as outcomes:
            for outcome in outcomes:
                if isinstance(outcome, Death):
                    outcome = Failure(outcome.item, str(outcome), "")
                store.add(outcome)
                clock.note(outcome)
                message = outcome.message if isinstance(outcome, Failure) else ""
                (failed if message else finished).add(outcome.unit)
                waiting.remove(outcome.unit)
                state = clock.progress(finished, failed, waiting, outcome.unit, message)
                if progress:
                    progress(state)
        return state


def environment(backend: Backend, threads: int) -> dict[str, Any]:
    """What results may depend on beside the plan: versions, machine, where units run."""
    return {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "machine": platform.machine(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "libraries": sorted({f"{i['internal_api']} {i['version']}" for i in threadpool_info()}),
        "backend": type(backend).__name__,
        "workers": backend.workers,
        "threads": threads,
    }


class _Clock:
    """Time used, and time left from what units of each method took so far."""

    def __init__(self, plan: Plan, done: Mapping[Unit, dict[str, Any]], workers: int) -> None:
        self._total, self._workers = len(plan.units()), workers
        self._started, self._executed = time.perf_counter(), 0
        self._taken: dict[str, list[float]] = {}
        for unit, summary in done.items():
            self._taken.setdefault(unit.method, []).append(summary["seconds"]["total"])

    def note(self, outcome: Measurement | Failure) -> None:
        self._executed += 1
        if isinstance(outcome, Measurement):
            seconds = outcome.summary["seconds"]["total"]
            self._taken.setdefault(outcome.unit.method, []).append(seconds)

    def progress(
        self,
        done: set[Unit],
        failed: set[Unit],
        waiting: set[Unit],
        last: Unit | None = None,
        error: str = "",
    ) -> Progress:
        left = None
        if self._taken:
            means = {method: float(np.mean(times)) for method, times in self._taken.items()}
            typical = float(np.mean(list(means.values())))
            left = sum(means.get(unit.method, typical) for unit in waiting) / self._workers
        return Progress(
            self._total,
            len(done),
            len(failed),
            self._executed,
            time.perf_counter() - self._started,
            left,
            last,
            error,
        )


def _leaks(plan: Plan, data: Dataset) -> list[str]:
    """Draw once: fail, or warn of leaks, before anything else is done; what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            draw(data, plan, 0)
        except ValueError as error:
            raise PlanError([str(error)]) from error
    for warning in caught:
        warnings.warn(warning.message, warning.category, stacklevel=3)
    return [str(w.message) for w in caught if issubclass(w.category, LeakageWarning)]


def _about(data: Dataset) -> dict[str, Any]:
    """What a reader of the results needs to know of the data."""
    names = task_names(data)
    features = None if data.feature_names is None else [str(name) for name in data.feature_names]
    truth = None
    if data.truth is not None:
        truth = {name: true_features(data, i).tolist() for i, name in enumerate(names)}
    return {
        "name": data.name,
        "n_samples": data.X.shape[0],
        "n_features": data.X.shape[1],
        "tasks": names,
        "classes": dict(zip(names, data.class_sizes, strict=True)),
        "feature_names": features,
        "truth": truth,
        "provenance": dict(data.provenance),
        "description": data.describe(),
    }
