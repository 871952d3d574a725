"""Conclusions in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from cosift.experiment._cube import Block, Cube
from cosift.experiment._ranking import Ranking
from cosift.experiment.results import Results
from cosift.experiment.significance import LEVEL, ROUNDING

NAMES = {
    "map": "mean average precision",
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "auc": "area under the ROC curve",
    "recovery": "recovery of the features that matter",
}
TUNING = {
    "oracle": (
        "Weights and numbers of features were picked on the test rows (oracle), as in the paper: "
        "this flatters every method, most of all those with most weights to pick."
    ),
    "cv": (
        "Weights and numbers of features were chosen by cross-validation on the labelled training "
        "rows alone (cv)."
    ),
}


@dataclass(frozen=True, eq=False)
class Facts:
    """What there is to speak of: the comparison over all shares of labels."""

    results: Results
    metric: str
    cube: Cube
    block: Block
    paired: pl.DataFrame
    ranking: Ranking

    @property
    def methods(self) -> list[str]:
        """Methods that are compared."""
        return [self.cube.methods[i] for i in self.block.methods]

    @property
    def n_unused(self) -> int:
        """Units with a value that are not compared."""
        return int(self.cube.known.sum()) - self.block.size

    @property
    def extent(self) -> str:
        """Of how many tasks, shares and repeats the values are means."""
        counts = (len(self.cube.tasks), len(self.block.shares), len(self.block.repeats))
        names = ("task", "share of labels", "repeat")
        plurals = ("tasks", "shares of labels", "repeats")
        return listed(
            f"{count} {name if count == 1 else plural}"
            for count, name, plural in zip(counts, names, plurals, strict=True)
        )


def summary(facts: Facts) -> str:
    """Who won, by how much, whether that is significant, and what chose the weights."""
    if not facts.cube.known.any():
        return "No method has a result yet: there is nothing to conclude."
    if not facts.methods:
        return "No repeat and share of labels has results of two methods yet: nothing compares."
    mean = facts.cube.part(facts.block).mean(axis=(1, 2))
    what = NAMES[facts.metric]
    if len(facts.methods) == 1:
        first = (
            f"{facts.methods[0]} has a {what} of {mean[0]:.3f}, averaged over {facts.extent}; "
            "there is no other method to compare it with."
        )
        return " ".join([first, *_tuning(facts)])
    winner = facts.paired["best"][0]
    first = (
        f"{winner} has the highest {what}, {mean.max():.3f}, averaged over {facts.extent}; "
        f"{_runner_up(facts)}."
    )
    return " ".join([first, *_others(facts), *_tuning(facts)])


def notes(facts: Facts) -> tuple[str, ...]:
    """What was left out, what tests over tasks say, and what limits all of it."""
    choices = remarks(facts.results.choices)
    return (*_left_out(facts), *choices, *_over_tasks(facts), *_limits(facts))


def remarks(choices: pl.DataFrame) -> Iterator[str]:
    """What was remarked on how weights were chosen, the most frequent first."""
    counts = choices.filter(pl.col("note") != "")["note"].value_counts()
    for remark, count in counts.sort("count", "note", descending=[True, False]).iter_rows():
        yield f"In {count} of {len(choices)} units: {remark}"


def listed(items: Iterable[str]) -> str:
    """Items as in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


def p_value(p: float) -> str:
    """A p-value as in a sentence.

    Examples
    --------
    >>> p_value(0.0312), p_value(0.00001)
    ('p = 0.031', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _runner_up(facts: Facts) -> str:
    row = facts.paired.sort("difference", "method").row(0, named=True)
    if row["difference"] <= ROUNDING:
        return f"{row['method']} has the same"
    ahead = f"{row['method']} comes next, {row['difference']:.3f} below"
    if row["p"] is None:
        return f"{ahead}, {_untested(len(facts.block.repeats))}"
    ahead += f" (95% interval {row['low']:.3f} to {row['high']:.3f})"
    verdict = "significant" if row["p_holm"] <= LEVEL else "not significant"
    return f"{ahead}, which is {verdict} ({p_value(row['p_holm'])}{_corrected(facts)})"


def _untested(n_repeats: int) -> str:
    if n_repeats == 1:
        return "which cannot be tested with one repeat"
    return "which cannot be tested, since the repeats do not differ"


def _corrected(facts: Facts) -> str:
    k = len(facts.methods)
    return f", corrected for {k * (k - 1) // 2} pairs" if k > 2 else ""


def _others(facts: Facts) -> Iterator[str]:
    """One sentence about the methods behind the second, if there are any and a test."""
    tested = facts.paired.drop_nulls("p_holm").sort("difference", "method")
    if len(facts.methods) < 3 or tested.is_empty():
        return
    better = tested.filter(pl.col("p_holm") <= LEVEL)["method"].to_list()
    alike = tested.filter(pl.col("p_holm") > LEVEL)["method"].to_list()
    if better and alike:
        yield f"It is significantly better than {listed(better)}, but not than {listed(alike)}."
    elif better:
        yield "It is significantly better than every other method."
    else:
        yield "It is not significantly better than any other method."


def _tuning(facts: Facts) -> Iterator[str]:
    """What chose the weights, and whether it always could."""
    yield TUNING[facts.results.plan.tuning]
    if any(remarks(facts.results.choices)):
        yield "Not without reserve: the notes say where."


def _left_out(facts: Facts) -> Iterator[str]:
    results, cube, block = facts.results, facts.cube, facts.block
    total, done, failed = cube.run.size, len(results.choices), len(results.failures)
    if done < total:
        yield (
            f"The run is not complete: {done} of {total} units have a result and {failed} failed."
        )
    missing = [m for m in cube.methods if m not in facts.methods]
    if missing and facts.methods:
        yield f"Not compared, for lack of results: {listed(missing)}."
    if cube.unmeasured:
        yield f"Left out, since the metric has no value there: tasks {listed(cube.unmeasured)}."
    if facts.n_unused and facts.methods:
        kept = f"repeats {_numbers(r + 1 for r in block.repeats)} at "
        kept += f"{_numbers(cube.shares[f] for f in block.shares)}% of the labels"
        yield (
            f"Only what all compared methods have is compared over all shares: {kept}. That leaves "
            f"out {facts.n_unused} units with a result."
        )


def _over_tasks(facts: Facts) -> Iterator[str]:
    n, k = len(facts.cube.tasks), len(facts.methods)
    ranking = facts.ranking
    if k < 2:
        return
    if n < 2:
        yield "Tests over tasks need two tasks or more, so nothing is said about other tasks."
        return
    if ranking.friedman is not None:
        verdict = "differ" if ranking.friedman.p <= LEVEL else "do not differ significantly"
        yield (
            f"Ranked within each of {n} tasks, the methods {verdict} "
            f"(Friedman, {p_value(ranking.friedman.p)})."
        )
    critical = ranking.critical_difference
    assert critical is not None
    if critical > k - 1:
        yield (
            f"With {n} tasks the critical difference of mean ranks, {critical:.2f}, is more than "
            f"{k} methods can differ by ({k - 1}): no pair can be told apart."
        )


def _limits(facts: Facts) -> Iterator[str]:
    if len(facts.methods) < 2:
        return
    yield (
        "Repeats draw from the same rows, so intervals and p-values allow for their overlap "
        "(Nadeau and Bengio). They are about these data, not about others."
    )
    if facts.results.plan.split == "official":
        yield "All repeats are tested on the same rows: the luck of these rows is not in the tests."
    if facts.results.plan.tuning == "oracle":
        yield "The tests do not know that weights were picked on the test rows."


def _numbers(values: Iterable[float]) -> str:
    return listed(f"{value:g}" for value in values)
