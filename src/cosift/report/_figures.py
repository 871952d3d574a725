"""The figures of the report: what each is called, what it says, and why it may be missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from cosift import plot
from cosift.experiment import Conclusions, Results
from cosift.plot._picks import picks
from cosift.plot._style import in_order
from cosift.plot.scores import tuning_saw
from cosift.plot.weights import free_axes

__all__ = ["Figure", "make_figures"]

SEMI_SUPERVISED = ("sfmc", "sfss", "lsdf")
NOTHING = "No unit of the run has a result yet."


@dataclass(frozen=True)
class Figure:
    """One figure of the report.

    Attributes
    ----------
    name, section : str
        What its files are called, and where it stands.
    title, caption : str
        What it shows.
    charts : dict of str to altair.LayerChart
        The figure; or one for each value of what it is made by.
    by : {"", "method", "metric"}
        What the keys of ``charts`` are.
    columns : dict of str to str
        Fields of its data that a table beside it shows, with their headings.
    missing : str
        Why there is no chart, if there is none.
    stretches : bool
        Whether it may be as wide as there is room.
    """

    name: str
    section: str
    title: str
    caption: str
    columns: Mapping[str, str]
    charts: Mapping[str, alt.LayerChart] = field(default_factory=dict)
    by: str = ""
    missing: str = ""
    stretches: bool = True


def make_figures(results: Results, conclusions: Mapping[str, Conclusions]) -> list[Figure]:
    """All figures of a run, those that cannot be drawn among them.

    Parameters
    ----------
    results : Results
        Of a run, complete or not.
    conclusions : mapping of metric to Conclusions
        What `conclude` says of it.
    """
    nothing = NOTHING if results.choices.is_empty() else ""
    return [
        *_scores(results, conclusions, nothing),
        *_features(results, nothing),
        *_weights(results, nothing),
        *_solving(results, nothing),
    ]


def _scores(
    results: Results, conclusions: Mapping[str, Conclusions], nothing: str
) -> Iterator[Figure]:
    columns = {"method": "Method", "percent": "Labelled", "mean": "Mean", "std": "Deviation"}
    yield _figure(
        "learning_curves",
        "curves",
        "Score by share of labels",
        "Means over repeats; vertical lines reach one standard deviation either way.",
        columns,
        lambda: plot.learning_curves(results),
        nothing,
    )
    bases = {text: text.partition("(")[0].strip() for text in results.plan.methods}
    semi = [text for text in in_order(bases) if bases[text] in SEMI_SUPERVISED]
    yield _figure(
        "semi_supervised",
        "curves",
        "What unlabelled rows add",
        "Methods that learn from them: sfmc from tasks together, sfss and lsdf from each alone.",
        columns,
        lambda: plot.learning_curves(results, methods=semi),
        nothing or ("" if len(semi) > 1 else "It needs two of the methods sfmc, sfss and lsdf."),
    )
    yield _figure(
        "feature_counts",
        "curves",
        "Score by number of selected features",
        "Each number with its best weights, as tuning saw it; dashed: tried with one number only.",
        {"method": "Method", "n_features": "Features", "mean": "Mean", "std": "Deviation"},
        lambda: plot.feature_counts(results),
        nothing or ("" if tuning_saw(results) else "Tuning could try nothing, see Results."),
    )
    ranked = {
        metric: plot.critical_difference(found)
        for metric, found in conclusions.items()
        if found.critical_difference is not None
    }
    yield Figure(
        "critical_difference",
        "curves",
        "Ranks over tasks",
        "Mean rank of every method over tasks, 1 is best. A bar joins methods that cannot be told "
        "apart: their ranks differ by less than the critical difference CD.",
        {"method": "Method", "rank": "Mean rank"},
        ranked,
        "metric",
        "" if ranked else nothing or "Ranks need results of two methods over two tasks or more.",
    )


def _features(results: Results, nothing: str) -> Iterator[Figure]:
    found = None if nothing else picks(results)
    unscored = nothing or ("" if found and found.scores else "No method here scores features.")
    lone = unscored or ("" if found and len(found.methods) > 1 else "It needs two methods.")
    yield _figure(
        "top_features",
        "features",
        "Top features by task",
        "Scores within each task, 1 is its best; a dot marks what is among the task's own best. "
        "Rows begin with what most tasks share and end with what is one task's own.",
        {"feature": "Feature", "task": "Task", "score": "Score", "shared": "Among the best of"},
        lambda: plot.top_features(results),
        unscored,
    )
    if found and plot.is_body(found.features):
        yield _figure(
            "body",
            "features",
            "Where they are on the body",
            "The twelve best features: circles are coordinates of joints, lines are distances; "
            "the larger, the better. Seen from the front, so that its right is on the left.",
            {"what": "Feature", "score": "Score"},
            lambda: plot.body(results),
            unscored,
            stretches=False,
        )
    yield _figure(
        "overlap",
        "features",
        "Do methods agree?",
        "Share of their best features that two methods have in common, over repeats and tasks.",
        {"one": "Method", "other": "And", "share": "In common"},
        lambda: plot.overlap(results),
        lone,
    )
    unrepeated = "" if results.choices["repeat"].n_unique() > 1 else "It needs two repeats."
    yield _figure(
        "stability",
        "features",
        "Do repeats agree?",
        "Agreement of repeats on the features selected: 1 for the same in all, 0 for chance. "
        "Tasks have 95% intervals, their mean has none.",
        {
            "method": "Method",
            "percent": "Labelled",
            "stability": "Stability",
            "low": "From",
            "high": "To",
        },
        lambda: plot.stability(results),
        nothing or unrepeated,
    )


def _weights(results: Results, nothing: str) -> Iterator[Figure]:
    columns = {"x": "Across", "y": "Up", "score": "Score", "fixed": "All else"}
    axes = {text: free_axes(results, text) for text in in_order(results.plan.methods)}
    pairs = {
        text: (own[:2], own[-2:]) for text, own in axes.items() if len(own) > 1
    }  # numbers of features come last
    names = ("sensitivity_weights", "sensitivity_features")
    for i, name in enumerate(names):
        charts = {
            text: plot.sensitivity(results, text, pair[i])
            for text, pair in pairs.items()
            if (pair[i][-1] == "n_features") == (i == 1)
        }
        yield Figure(
            name,
            "weights",
            ("Two weights", "A weight and the number of features")[i],
            "All else stays at what is best on average over tasks and repeats; the frame marks the "
            "best cell. Scores are those that tuning saw.",
            columns,
            charts,
            "method",
            "" if charts else nothing or "No method was tried with several values of both.",
        )


def _solving(results: Results, nothing: str) -> Iterator[Figure]:
    silent = "" if len(results.history()) else "No method of this run keeps a history."
    yield _figure(
        "convergence",
        "solving",
        "Objective and dual bound",
        "The optimum lies between the two; first repeat, with the weights that tuning chose.",
        {"iteration": "Iteration", "side": "Side", "value": "Value"},
        lambda: plot.convergence(results),
        nothing or silent,
    )
    yield _figure(
        "gaps",
        "solving",
        "Duality gap",
        "How far the objective can be from the optimum, relative to it.",
        {"method": "Method", "iteration": "Iteration", "gap": "Gap"},
        lambda: plot.gaps(results),
        nothing or silent,
    )
    cost = {"method": "Method", "of": "Of", "value": "Value"}
    yield _figure(
        "seconds",
        "cost",
        "Time",
        "Seconds for one method on one draw with its whole grid; a point is the median.",
        cost,
        lambda: plot.seconds(results),
        nothing,
    )
    unknown = results.choices["peak_memory_mb"].null_count() == len(results.choices)
    yield _figure(
        "memory",
        "cost",
        "Memory",
        "Peak memory of the process in that time, data included; a point is the median.",
        cost,
        lambda: plot.memory(results),
        nothing or ("This system does not tell." if unknown else ""),
    )


def _figure(
    name: str,
    section: str,
    title: str,
    caption: str,
    columns: Mapping[str, str],
    draw: Callable[[], alt.LayerChart],
    missing: str,
    **more: Any,
) -> Figure:
    charts = {} if missing else {"": draw()}
    return Figure(name, section, title, caption, columns, charts, missing=missing, **more)
