"""How weights and the number of features are chosen.

`by_oracle` takes what scores best on the test rows: the paper's protocol, and an upper bound.
`by_cross_validation` looks at a `Training` alone, which holds no test row and no hidden label.

Both take the best mean over tasks of the mean average precision; among equals the fewest
features, then the first cell.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cosift._typing import Array, Indices
from cosift.experiment.candidates import Candidates
from cosift.experiment.classifier import Judge
from cosift.experiment.draw import Training

__all__ = [
    "Choice",
    "Grid",
    "Stopwatch",
    "by_cross_validation",
    "by_oracle",
    "choose_penalty",
    "ranked",
]

T = TypeVar("T")


@dataclass
class Stopwatch:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent

    def each(self, stage: str, items: Iterable[T]) -> Iterator[T]:
        """Add the time that an iterator takes to a stage."""
        iterator = iter(items)
        while True:
            with self(stage):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item


@dataclass(frozen=True)
class Grid:
    """What tuning saw.

    Attributes
    ----------
    cells : list of dict
        Weights of every cell, in the order of solving.
    numbers : tuple of int
        Numbers of features.
    scores : ndarray of shape (cells, numbers, tasks)
        Mean average precision, NaN where it is not defined.
    gaps : ndarray of shape (cells,)
        Duality gap of every cell (of several folds the largest), NaN of methods without.
    converged : ndarray of bool, shape (cells,)
        Whether all fits of a cell converged.
    n_judged : int
        Distinct sets of features that were judged.
    """

    cells: list[dict[str, float]]
    numbers: tuple[int, ...]
    scores: Array
    gaps: Array
    converged: NDArray[np.bool_]
    n_judged: int


@dataclass(frozen=True)
class Choice:
    """What tuning settled on.

    Attributes
    ----------
    selector : TaskSelector
        Fitted to all labels that are shown.
    cell : dict
        Its weights.
    n_features : int
        Number of features.
    score : float
        Of the choice, NaN if it was not made by score.
    note : str
        What the reader must know of how it was made, or nothing.
    grid : Grid
        What it was chosen from.
    """

    selector: Any
    cell: dict[str, float]
    n_features: int
    score: float
    note: str
    grid: Grid


def ranked(selector: Any, task: int) -> Indices:
    """Features of one task, best first."""
    return np.argsort(selector.task_ranking_[task], kind="stable")


def by_oracle(
    candidates: Candidates, training: Training, judges: Sequence[Judge], watch: Stopwatch
) -> Choice:
    """Choose what is best on the test rows.

    Parameters
    ----------
    candidates : Candidates
        What to choose from.
    training : Training
        What to fit to.
    judges : sequence of Judge
        One a task, which holds its test rows.
    watch : Stopwatch
        Gets the stages "select" and "classify".
    """
    grid, kept = _try_all(candidates, training, judges, watch)
    cell, number, score = _best(grid.scores)
    # `_try_all` kept the first selector with the best score and the fewest features: this one.
    return Choice(kept, grid.cells[cell], grid.numbers[number], score, "", grid)


def by_cross_validation(
    candidates: Candidates,
    training: Training,
    held_out: Sequence[Indices],
    C: Sequence[float],
    watch: Stopwatch,
) -> Choice:
    """Choose by cross-validation, hiding the labels of one fold after the other.

    Parameters
    ----------
    candidates : Candidates
        What to choose from.
    training : Training
        Rows and the labels that may be seen; the hidden ones are not in it.
    held_out : sequence of ndarray of int
        Labelled rows of each fold.
    C : sequence of float
        Of the SVM, for each task.
    watch : Stopwatch
        Gets the stages "select" and "classify".
    """
    numbers = candidates.numbers(training)
    open_to_choice = bool(candidates.free) or len(numbers) > 1
    grids = []
    for rows in held_out if open_to_choice else ():
        judges = [fold_judge(training, rows, task, C[task]) for task in range(training.n_tasks)]
        if any(judge is not None for judge in judges):
            grids.append(_try_all(candidates, training.hide(rows), judges, watch)[0])
    note = ""
    if open_to_choice:
        note = _unvalidated(training, grids) or _within_groups(training, held_out)
    if not grids:
        cell, k, score = candidates.middle, numbers[(len(numbers) - 1) // 2], float("nan")
        empty = np.full((1, len(numbers), training.n_tasks), np.nan)
        grid = Grid([cell], numbers, empty, np.full(1, np.nan), np.ones(1, dtype=bool), 0)
    else:
        grid = _pooled(grids)
        best, number, score = _best(grid.scores)
        cell, k = grid.cells[best], grid.numbers[number]
    with watch("select"):
        selector = candidates.fit(training, cell)
    return Choice(selector, cell, k, score, note, grid)


def choose_penalty(
    values: Sequence[float], training: Training, held_out: Sequence[Indices], watch: Stopwatch
) -> list[float]:
    """C of each task: the best by cross-validation with all features, the smallest of equals.

    It depends on the draw and the labels alone, so that it is the same for every method.  Where
    nothing can be validated it is the middle one.
    """
    values = sorted(values)
    every = np.arange(training.X.shape[1])
    chosen = []
    for task in range(training.n_tasks):
        scores = []
        with watch("classify"):
            for C in values if len(values) > 1 else ():
                judges = [fold_judge(training, rows, task, C) for rows in held_out]
                scores.append(_mean([judge.score(every) for judge in judges if judge]))
        best = (len(values) - 1) // 2 if np.isnan(scores).all() else int(np.nanargmax(scores))
        chosen.append(values[best])
    return chosen


def fold_judge(training: Training, rows: Indices, task: int, C: float) -> Judge | None:
    """A judge who holds one fold of a task, or None if only one class of the task is in it."""
    kept = np.setdiff1d(np.flatnonzero(training.labeled), rows)
    inside, outside = training.of_task(task, kept), training.of_task(task, rows)
    if len(np.unique(outside[1])) < 2:
        return None
    return Judge(inside, outside, yes_no=training.y.ndim == 2, C=C)


def _try_all(
    candidates: Candidates, training: Training, judges: Sequence[Judge | None], watch: Stopwatch
) -> tuple[Grid, Any]:
    """Score every cell and number; keep the first selector among the best."""
    numbers = candidates.numbers(training)
    cells, scores, gaps, converged = [], [], [], []
    kept, best = None, (-np.inf, 0)
    for selector in watch.each("select", candidates.fits(training)):
        with watch("classify"):
            own = np.full((1, len(numbers), len(judges)), np.nan)
            for task, judge in enumerate(judges):
                if judge is not None:
                    order = ranked(selector, task)
                    own[0, :, task] = [judge.score(order[:k]) for k in numbers]
        _, number, score = _best(own)
        merit = (-1.0 if np.isnan(score) else score, -number)
        if merit > best:
            kept, best = selector, merit
        cells.append(candidates.cell(selector))
        scores.append(own[0])
        gaps.append(getattr(selector, "dual_gap_", np.nan))
        converged.append(getattr(selector, "converged_", True))
    n_judged = sum(judge.n_fits for judge in judges if judge is not None)
    grid = Grid(cells, numbers, np.array(scores), np.array(gaps), np.array(converged), n_judged)
    return grid, kept


def _best(scores: Array) -> tuple[int, int, float]:
    """Cell, number and score that are best; of equals the fewest features, then the first cell."""
    means = np.array([[_mean(tasks) for tasks in cell] for cell in scores])
    comparable = np.nan_to_num(means, nan=-1.0)
    number, cell = np.unravel_index(comparable.T.argmax(), comparable.T.shape)
    return int(cell), int(number), float(means[cell, number])


def _pooled(grids: Sequence[Grid]) -> Grid:
    """Means over the folds, each task over those in which it was judged."""
    scores = np.stack([grid.scores for grid in grids])
    known = ~np.isnan(scores)
    total, count = np.where(known, scores, 0.0).sum(axis=0), known.sum(axis=0)
    mean = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    gaps = np.max([grid.gaps for grid in grids], axis=0)
    converged = np.all([grid.converged for grid in grids], axis=0)
    n_judged = sum(grid.n_judged for grid in grids)
    return Grid(grids[0].cells, grids[0].numbers, mean, gaps, converged, n_judged)


def _unvalidated(training: Training, grids: Sequence[Grid]) -> str:
    """Say which tasks had no part in a choice by cross-validation."""
    if not grids:
        return (
            "No choice by cross-validation: no fold could hold out rows of two classes and leave "
            "every class a row. The middle of every range was taken."
        )
    judged = np.any([~np.isnan(grid.scores).all(axis=(0, 1)) for grid in grids], axis=0)
    left = training.n_tasks - int(judged.sum())
    if not left:
        return ""
    return (
        f"{left} of {training.n_tasks} tasks had no part in the choice: they show too few labels "
        "to hold some out."
    )


def _within_groups(training: Training, held_out: Sequence[Indices]) -> str:
    """Say if folds parted rows of a group."""
    if training.groups is None:
        return ""
    groups, labeled = training.groups, np.flatnonzero(training.labeled)
    for rows in held_out:
        if np.isin(groups[rows], groups[np.setdiff1d(labeled, rows)]).any():
            return (
                "Folds parted rows of one group, since it alone shows some label: the choice was "
                "judged on rows like those it learned from."
            )
    return ""


def _mean(values: Sequence[float] | Array) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")
