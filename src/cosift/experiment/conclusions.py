"""What the results of a run say, and how sure of it one can be.

``docs/conclusions.md`` says which test answers which question, and where its limits are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cosift._typing import Array, Indices
from cosift.experiment import _sentences as say
from cosift.experiment import significance as tests
from cosift.experiment._cube import Block, Cube, plain_frame
from cosift.experiment._ranking import rank
from cosift.experiment.metrics import METRICS
from cosift.experiment.results import Results
from cosift.selectors._parameters import check_option

__all__ = ["Conclusions", "conclude"]

TABLE = {
    "method": pl.String,
    "labeled_percent": pl.Float64,
    "task": pl.String,
    "mean": pl.Float64,
    "std": pl.Float64,
    "n": pl.Int64,
    "best": pl.Boolean,
    "tied": pl.Boolean,
}
PAIRED = {
    "labeled_percent": pl.Float64,
    "best": pl.String,
    "method": pl.String,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "p_holm": pl.Float64,
    "n": pl.Int64,
}


@dataclass(frozen=True, eq=False)
class Conclusions:
    """What can be said about one metric of one run, as plain values.

    In frames a null ``labeled_percent`` means all shares of labels together, a null ``task`` the
    mean over tasks, a null p-value that there is no test.

    Attributes
    ----------
    metric, tuning : str
        What was measured, and what chose the weights: "cv" or "oracle".
    methods : tuple of str
        Methods that are compared over all shares of labels, in the plan's order.
    best : str or None
        That of them with the highest mean; None if there are not two.
    summary : str
        Two or three sentences.
    notes : tuple of str
        What was left out, what the tests over tasks say, and what limits all of it.
    n_unused : int
        Units with a result that the comparison over all shares leaves out.
    table : DataFrame
        ``method, labeled_percent, task, mean, std, n, best, tied``, a row for every combination,
        over the n repeats that all compared methods have (of another method: over its own).
        ``tied``: not significantly different from the best; null if that cannot be tested.
    paired : DataFrame
        ``labeled_percent, best, method, difference, low, high, p, p_holm, n``: best minus method,
        mean over tasks, over n repeats, see `significance.corrected_t`.  ``p_holm`` corrects for
        all pairs of methods, since the best was picked from all.
    ranks : DataFrame
        ``method, mean_rank, p, p_holm``, best first: ranks over tasks, and Wilcoxon's signed-rank
        test of the first against each other method, corrected in the same way.
    friedman : Friedman or None
        ``statistic, p, n_blocks`` over tasks; it needs three methods and two tasks.
    critical_difference : float or None
        Of mean ranks, after Nemenyi; it needs two methods and two tasks.
    groups : tuple of tuple of str
        The largest sets of methods whose mean ranks differ by less than that, best first.
    """

    metric: str
    tuning: str
    methods: tuple[str, ...]
    best: str | None
    summary: str
    notes: tuple[str, ...]
    n_unused: int
    table: pl.DataFrame
    paired: pl.DataFrame
    ranks: pl.DataFrame
    friedman: tests.Friedman | None
    critical_difference: float | None
    groups: tuple[tuple[str, ...], ...]

    @property
    def measure(self) -> str:
        """The metric in words."""
        return say.NAMES[self.metric]


def conclude(results: Results, metric: str = "map") -> Conclusions:
    """Compare the methods of a run by one metric.

    Parameters
    ----------
    results : Results
        Of a run, complete or not.
    metric : str, default="map"
        One of `metrics.METRICS`; larger is better.

    Returns
    -------
    Conclusions
        Whatever the results allow to say.
    """
    check_option("metric", metric, METRICS)
    cube = Cube.of(results, metric)
    every = np.arange(len(cube.shares))
    whole = cube.complete(every)
    scopes: list[tuple[float | None, Indices]] = [(None, every)]
    scopes += [(share, every[i : i + 1]) for i, share in enumerate(cube.shares)]
    test_to_train = _test_to_train(results)
    table, paired = [], []
    for share, scope in scopes:
        block = cube.complete(scope)
        contest = Contest.of(cube, block, test_to_train) if len(block.methods) > 1 else None
        at = {"labeled_percent": share}
        table += [{**at, **row} for row in _table(cube, block, scope, contest)]
        paired += [{**at, **row} for row in _paired(block, contest)] if contest else []
    methods = tuple(cube.methods[i] for i in whole.methods)
    ranking = rank(cube, whole)
    pairs = plain_frame(paired, PAIRED)
    overall = pairs.filter(pl.col("labeled_percent").is_null())
    facts = say.Facts(results, metric, cube, whole, overall, ranking)
    return Conclusions(
        metric=metric,
        tuning=results.plan.tuning,
        methods=methods,
        best=overall["best"][0] if len(methods) > 1 else None,
        summary=say.summary(facts),
        notes=say.notes(facts),
        n_unused=facts.n_unused,
        table=plain_frame(table, TABLE),
        paired=pairs,
        ranks=ranking.ranks,
        friedman=ranking.friedman,
        critical_difference=ranking.critical_difference,
        groups=ranking.groups,
    )


@dataclass(frozen=True)
class Contest:
    """All pairs of methods of a block, for every task and, last, the mean over tasks.

    Attributes
    ----------
    names : list of str
        The methods.
    test : Difference
        Tests of first minus second method, arrays of shape (methods, methods, tasks + 1).
    p_holm : ndarray
        Their p-values, corrected for all pairs.
    top : ndarray of bool, shape (methods, tasks + 1)
        Whether a method's mean is the highest.
    best : list of int
        That method for each task; of equals the first in the alphabet, so that the order of
        methods means nothing.
    """

    names: list[str]
    test: tests.Difference
    p_holm: Array
    top: NDArray[np.bool_]
    best: list[int]

    @classmethod
    def of(cls, cube: Cube, block: Block, test_to_train: float) -> Self:
        """The contest within a block of at least two methods."""
        names = [cube.methods[i] for i in block.methods]
        values = np.moveaxis(_with_mean(cube.part(block)), 1, 2)
        test = tests.corrected_t(values[:, None] - values, test_to_train)
        p_holm = np.stack([tests.holm_of_pairs(p) for p in np.moveaxis(test.p, 2, 0)], axis=2)
        means = values.mean(axis=2)
        top = means >= means.max(axis=0) - tests.ROUNDING
        best = [min(np.flatnonzero(own).tolist(), key=names.__getitem__) for own in top.T]
        return cls(names, test, p_holm, top, best)

    def verdict(self, name: str, task: int) -> dict[str, bool | None]:
        """Whether a method is best, and whether it is tied with the best."""
        if name not in self.names:
            return {"best": False, "tied": None}
        i = self.names.index(name)
        p = self.p_holm[self.best[task], i, task]
        if self.top[i, task]:
            return {"best": True, "tied": False}
        return {"best": False, "tied": None if np.isnan(p) else bool(p > tests.LEVEL)}


def _table(
    cube: Cube, block: Block, scope: Indices, contest: Contest | None
) -> Iterator[dict[str, Any]]:
    shares = block.shares if block.size else scope
    for method, name in enumerate(cube.methods):
        repeats = block.repeats
        if method not in block.methods:
            repeats = np.flatnonzero(cube.known[method][:, shares].all(axis=1))
        n = len(repeats)
        own = _with_mean(cube.values[method][np.ix_(repeats, shares)].mean(axis=1))
        for position, task in enumerate([*cube.tasks, None]):
            yield {
                "method": name,
                "task": task,
                "mean": own[:, position].mean() if n else None,
                "std": own[:, position].std(ddof=1) if n > 1 else None,
                "n": n,
                "best": False,
                "tied": None,
                **(contest.verdict(name, position) if contest else {}),
            }


def _paired(block: Block, contest: Contest) -> Iterator[dict[str, Any]]:
    best = contest.best[-1]
    for i, name in enumerate(contest.names):
        if i == best:
            continue
        mean, low, high, p = (float(values[best, i, -1]) for values in contest.test)
        yield {
            "best": contest.names[best],
            "method": name,
            "difference": mean,
            "low": low,
            "high": high,
            "p": p,
            "p_holm": contest.p_holm[best, i, -1],
            "n": len(block.repeats),
        }


def _test_to_train(results: Results) -> float:
    n_test, n_train = results.choices.select("n_test", "n_train").sum().row(0)
    return float(n_test / n_train) if n_train else 0.0


def _with_mean(values: Array) -> Array:
    """Values with their mean over the last axis, the tasks, behind them."""
    return np.concatenate([values, values.mean(axis=-1, keepdims=True)], axis=-1)
