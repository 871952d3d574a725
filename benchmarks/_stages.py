"""Where the time of a unit goes, by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from cosift import path
from cosift.experiment import Unit
from cosift.experiment.classifier import Judge
from cosift.experiment.evaluate import Experiment, Failure, Measurement, evaluate_unit
from cosift.selectors import _base, _convex, fsnm, lsdf, spec

# Stage and what it is spent in.  Of nested ones the inner gets the time.
PLACES = [
    ("graph", _convex, "local_graph"),
    ("graph", lsdf, "neighbor_edges"),
    ("graph", spec, "rbf_similarity"),
    ("statistics", _convex.ConvexSelector, "_family"),
    ("statistics", path.Family, "at"),
    ("solve", path, "solve"),
    ("solve", fsnm, "solve_robust"),
    ("rank", _base.TaskSelector, "_rank"),
    ("labels and intercept", _convex.ConvexSelector, "_store"),
    ("labels and intercept", _convex.SemiSupervisedSelector, "_store"),
    ("classify", Judge, "score"),
    ("classify", Judge, "metrics"),
]
STAGES = (*dict.fromkeys(stage for stage, _, _ in PLACES), "other")


class Clock:
    """Seconds by stage."""

    def __init__(self, places: Sequence[tuple[str, Any, str]] = PLACES) -> None:
        self._places = places
        self.seconds = dict.fromkeys([stage for stage, _, _ in places], 0.0) | {"other": 0.0}
        self._stages, self._since = ["other"], time.perf_counter()

    @contextmanager
    def running(self) -> Iterator[Clock]:
        """Measure what is called in this context."""
        with ExitStack() as stack:
            for stage, owner, name in self._places:
                timed = self._timed(stage, getattr(owner, name))
                stack.enter_context(patch.object(owner, name, timed))
            self._since = time.perf_counter()
            yield self
            self._charge()

    def _charge(self) -> None:
        now = time.perf_counter()
        self.seconds[self._stages[-1]] += now - self._since
        self._since = now

    def _timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: Any, **settings: Any) -> Any:
            self._charge()
            self._stages.append(stage)
            try:
                return function(*arguments, **settings)
            finally:
                self._charge()
                self._stages.pop()

        return timed


def timed_unit(experiment: Experiment, unit: Unit) -> tuple[Measurement, dict[str, float]]:
    """Run a unit; its measurement and seconds by stage."""
    with Clock().running() as clock:
        outcome = evaluate_unit(experiment, unit)
    if isinstance(outcome, Failure):
        raise RuntimeError(outcome.traceback)
    return outcome, clock.seconds
