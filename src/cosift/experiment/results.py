"""Results read back as polars frames."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cosift.experiment.metrics import stability
from cosift.experiment.plan import Plan, Unit
from cosift.experiment.store import Store

__all__ = ["Results"]

UNIT = {"repeat": pl.Int64, "labeled_percent": pl.Float64, "method": pl.String}
METRICS = {**UNIT, "task": pl.String, "metric": pl.String, "value": pl.Float64}
CHOICES = {
    **UNIT,
    "alpha": pl.Float64,
    "beta": pl.Float64,
    "gamma": pl.Float64,
    "n_features": pl.Int64,
    "tuning": pl.String,
    "tuning_score": pl.Float64,
    "note": pl.String,
    "objective": pl.Float64,
    "dual_gap": pl.Float64,
    "converged": pl.Boolean,
    "n_train": pl.Int64,
    "n_labeled": pl.Int64,
    "n_test": pl.Int64,
    "n_cells": pl.Int64,
    "n_converged": pl.Int64,
    "n_judged": pl.Int64,
    "seconds_select": pl.Float64,
    "seconds_classify": pl.Float64,
    "seconds_total": pl.Float64,
    "seconds_shared": pl.Float64,
    "peak_memory_mb": pl.Float64,
    "warnings": pl.List(pl.String),
    "session": pl.Int64,
    "finished": pl.String,
}
FAILURES = {
    **UNIT,
    "message": pl.String,
    "traceback": pl.String,
    "session": pl.Int64,
    "finished": pl.String,
}
CELLS = {
    **UNIT,
    "alpha": pl.Float64,
    "beta": pl.Float64,
    "gamma": pl.Float64,
    "dual_gap": pl.Float64,
    "converged": pl.Boolean,
    "n_features": pl.Int64,
    "task": pl.String,
    "score": pl.Float64,
}
SELECTED = {
    **UNIT,
    "task": pl.String,
    "rank": pl.Int64,
    "feature": pl.Int64,
    "name": pl.String,
    "score": pl.Float64,
}
STABILITY = {
    "labeled_percent": pl.Float64,
    "method": pl.String,
    "task": pl.String,
    "repeats": pl.Int64,
    "stability": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
HISTORY = {
    **UNIT,
    "iteration": pl.Int64,
    "seconds": pl.Float64,
    "objective": pl.Float64,
    "dual_bound": pl.Float64,
}


class Results:
    """What a run directory holds, as far as the run has come.

    Frames are sorted by repeat and share of labels, methods in the plan's order.  Every frame
    begins with the columns of a unit: ``repeat``, ``labeled_percent``, ``method``.

    Parameters
    ----------
    directory : path
        A run directory; nothing in it is changed.

    Attributes
    ----------
    plan : Plan
        What was run.
    about : dict
        Of the data: "name", "n_samples", "n_features", "tasks", "classes" (sizes by task),
        "feature_names", "truth", "provenance", "description", "leaks" (warnings of them).
    sessions : list of dict
        "started", versions, machine, and "command" if there was one, of every start of the run.
    """

    def __init__(self, directory: str | Path) -> None:
        with Store.read(directory) as store:
            self.plan: Plan = store.plan
            self.about: dict[str, Any] = json.loads(store.fact("about"))
            self.sessions = store.sessions()
            order = {unit: i for i, unit in enumerate(self.plan.units())}
            done, failed = store.done(), store.failures()
            self._done = {unit: done[unit] for unit in sorted(done, key=order.__getitem__)}
            self._failed = {unit: failed[unit] for unit in sorted(failed, key=order.__getitem__)}
        self.directory = Path(directory)

    @property
    def complete(self) -> bool:
        """Whether every unit has a result."""
        return len(self._done) == len(self.plan.units())

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """Columns ``task``, ``metric`` (see `metrics.METRICS`), ``value``: all on the test rows."""
        return _frame(
            METRICS,
            (
                {**unit._asdict(), "task": task, "metric": name, "value": value}
                for unit, summary in self._done.items()
                for task, own in zip(self.about["tasks"], summary["metrics"], strict=True)
                for name, value in own.items()
            ),
        )

    @cached_property
    def means(self) -> pl.DataFrame:
        """`metrics` with the mean over tasks, without ``task``."""
        return self.metrics.group_by(*UNIT, "metric", maintain_order=True).agg(
            pl.col("value").mean()
        )

    @cached_property
    def choices(self) -> pl.DataFrame:
        """One row a unit: what was chosen, how it is certified, time and memory.

        ``seconds_shared`` is what graphs had cost that the unit found ready, in which case they
        are not in its ``seconds_total``.
        """
        rows = []
        for unit, summary in self._done.items():
            seconds = {f"seconds_{stage}": value for stage, value in summary["seconds"].items()}
            row = {**summary, **summary["cell"], **seconds, **unit._asdict()}
            rows.append({name: row.get(name) for name in CHOICES})
        return _frame(CHOICES, rows)

    @cached_property
    def failures(self) -> pl.DataFrame:
        """One row a unit whose last attempt failed and that has no result."""
        return _frame(
            FAILURES,
            (
                {name: {**summary, **unit._asdict()}[name] for name in FAILURES}
                for unit, summary in self._failed.items()
            ),
        )

    def cells(self, method: str | None = None) -> pl.DataFrame:
        """What tuning saw: a row for every cell, number of features and task.

        ``score`` is the mean average precision that tuning saw: on the test rows with the oracle,
        over the folds with cross-validation.  Weights that a method has not are null.
        """
        frames = []
        for unit, arrays in self.each(method):
            n_cells, n_numbers, n_tasks = arrays["scores"].shape
            names = list(self._done[unit]["cell"])
            cell, number, task = (i.ravel() for i in np.indices((n_cells, n_numbers, n_tasks)))
            columns: dict[str, Any] = {
                weight: arrays["cells"][cell, names.index(weight)] if weight in names else None
                for weight in ("alpha", "beta", "gamma")
            }
            columns |= {
                "dual_gap": arrays["gaps"][cell],
                "converged": arrays["converged"][cell],
                "n_features": arrays["numbers"][number],
                "task": np.array(self.about["tasks"])[task],
                "score": arrays["scores"].ravel(),
            }
            frames.append(_of_unit(unit, columns, CELLS))
        return _joined(frames, CELLS)

    def selected(self, method: str | None = None) -> pl.DataFrame:
        """The features that were chosen, for every task, best first."""
        frames = []
        names = self.about["feature_names"]
        names = names or [f"x{i}" for i in range(self.about["n_features"])]
        for unit, arrays in self.each(method):
            for i, task in enumerate(self.about["tasks"]):
                features = arrays["selected"][i]
                columns = {
                    "task": task,
                    "rank": np.arange(1, len(features) + 1),
                    "feature": features,
                    "name": [names[j] for j in features],
                    "score": arrays["task_scores"][i, features],
                }
                frames.append(_of_unit(unit, columns, SELECTED))
        return _joined(frames, SELECTED)

    def stability(self) -> pl.DataFrame:
        """How far the repeats agree in what they select, with a 95% interval, see `metrics`."""
        chosen: dict[tuple[float, str], list[NDArray[Any]]] = {}
        for unit, arrays in self.each():
            key = unit.labeled_percent, unit.method
            chosen.setdefault(key, []).append(arrays["selected"])
        rows = []
        for percent, method in sorted(chosen, key=lambda key: key[0]):
            for i, task in enumerate(self.about["tasks"]):
                repeats = [selected[i] for selected in chosen[percent, method]]
                held = np.zeros((len(repeats), self.about["n_features"]), dtype=bool)
                for row, features in zip(held, repeats, strict=True):
                    row[features] = True
                rows.append((percent, method, task, len(repeats), *stability(held)))
        return _frame(STABILITY, rows).fill_nan(None)

    def history(self, method: str | None = None) -> pl.DataFrame:
        """How the solver went in the chosen cell, for methods that keep it."""
        frames = []
        for unit, arrays in self.each(method):
            names = list(HISTORY)[len(UNIT) :]
            columns = dict(zip(names, arrays["history"].T, strict=True))
            frames.append(_of_unit(unit, columns, HISTORY))
        return _joined(frames, HISTORY)

    def arrays(self, unit: Unit) -> dict[str, NDArray[Any]]:
        """Everything numeric about a unit, see `evaluate.Measurement`."""
        with Store.read(self.directory) as store:
            return store.arrays(unit)

    def each(self, method: str | None = None) -> Iterator[tuple[Unit, dict[str, NDArray[Any]]]]:
        """`arrays` of all units with a result, one after the other."""
        if method is not None and method not in self.plan.methods:
            known = ", ".join(map(repr, self.plan.methods))
            raise ValueError(f"method must be one of {known}. Got {method!r}.")
        with Store.read(self.directory) as store:
            for unit in self._done:
                if method in (None, unit.method):
                    yield unit, store.arrays(unit)


def _frame(schema: dict[str, Any], rows: Any) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def _of_unit(unit: Unit, columns: dict[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
    frame = pl.DataFrame(columns).fill_nan(None)
    named = {key: pl.lit(value) for key, value in unit._asdict().items()}
    return frame.with_columns(**named).select(pl.col(name).cast(schema[name]) for name in schema)


def _joined(frames: list[pl.DataFrame], schema: dict[str, Any]) -> pl.DataFrame:
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)
