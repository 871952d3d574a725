"""A metric of a whole run as one array, and the part of it in which methods can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cosift._typing import Array, Indices
from cosift.experiment.results import Results

AXES = ("method", "repeat", "labeled_percent", "task")


@dataclass(frozen=True)
class Block:
    """A part of a `Cube` in which every unit has a value.

    Attributes
    ----------
    methods, repeats, shares : ndarray of int
        Positions in the cube, ascending; all are empty or none is.
    """

    methods: Indices
    repeats: Indices
    shares: Indices

    @property
    def size(self) -> int:
        """Number of units."""
        return len(self.methods) * len(self.repeats) * len(self.shares)


@dataclass(frozen=True)
class Cube:
    """A metric of a run.

    Attributes
    ----------
    values : ndarray of shape (methods, repeats, shares, tasks)
        The metric, NaN where there is none.
    run : ndarray of bool, shape (methods, repeats, shares)
        Which units have been run, with a result or without.
    methods, shares, tasks : tuple
        Names along the axes.
    unmeasured : tuple of str
        Tasks that are left out, as they have no value at all while others have.
    """

    values: Array
    run: NDArray[np.bool_]
    methods: tuple[str, ...]
    shares: tuple[float, ...]
    tasks: tuple[str, ...]
    unmeasured: tuple[str, ...]

    @classmethod
    def of(cls, results: Results, metric: str) -> Self:
        """The cube of a metric of some results."""
        plan = results.plan
        shares, tasks = tuple(sorted(plan.labeled_percent)), tuple(results.about["tasks"])
        axes = (plan.methods, tuple(range(plan.repeats)), shares, tasks)
        values = np.full([len(axis) for axis in axes], np.nan)
        known = results.metrics.filter(pl.col("metric") == metric).drop_nulls("value")
        values[_positions(known, axes)] = known["value"]
        run = np.zeros(values.shape[:3], dtype=bool)
        for units in (results.choices, results.failures):
            run[_positions(units, axes[:3])] = True
        measured = ~np.isnan(values).all(axis=(0, 1, 2))
        measured |= not measured.any()
        return cls(
            values[..., measured],
            run,
            plan.methods,
            shares,
            tuple(task for task, known in zip(tasks, measured, strict=True) if known),
            tuple(task for task, known in zip(tasks, measured, strict=True) if not known),
        )

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which units have a value for every task: (methods, repeats, shares)."""
        return np.asarray(~np.isnan(self.values).any(axis=3))

    def complete(self, shares: Indices) -> Block:
        """The largest complete block within some shares of labels.

        A unit that is still to be run costs its repeat or its share.  One that was run and has no
        value may cost its method instead, whichever leaves more units.
        """
        known = self.known[:, :, shares]
        lost = (self.run[:, :, shares] & ~known).sum(axis=(1, 2))
        some = known.any(axis=(1, 2))
        best = Block(*(np.empty(0, dtype=np.intp) for _ in range(3)))
        for most in np.unique(lost[some])[::-1]:
            methods = np.flatnonzero(some & (lost <= most))
            repeats, own = _rectangle(np.all(known[methods], axis=0))
            block = Block(methods, repeats, shares[own])
            best = max(best, block, key=lambda block: block.size)
        return best

    def part(self, block: Block) -> Array:
        """Values of a block, shares averaged: (methods, repeats, tasks)."""
        inside = self.values[np.ix_(block.methods, block.repeats, block.shares)]
        return np.asarray(inside.mean(axis=2))


def plain_frame(rows: list[dict[str, Any]], schema: dict[str, Any]) -> pl.DataFrame:
    """Rows as a frame, with null for NaN."""
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def _positions(frame: pl.DataFrame, axes: tuple[tuple[object, ...], ...]) -> tuple[list[int], ...]:
    places = [{name: i for i, name in enumerate(axis)} for axis in axes]
    return tuple(
        [place[name] for name in frame[column]] for place, column in zip(places, AXES, strict=False)
    )


def _rectangle(known: NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """Rows and columns that cross at True alone, as many crossings as simple choices give.

    The choices of columns are those of any one row, and those that all rows have.
    """
    choices = [*np.unique(known, axis=0), known.all(axis=0)]
    rows = [known[:, columns].all(axis=1) & columns.any() for columns in choices]
    areas = [own.sum() * columns.sum() for own, columns in zip(rows, choices, strict=True)]
    largest = int(np.argmax(areas))
    if areas[largest] == 0:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    return np.flatnonzero(rows[largest]), np.flatnonzero(choices[largest])
