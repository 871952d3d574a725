"""How well methods do: by share of labels, by number of features."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import altair as alt
import numpy as np
import polars as pl

from cosift._typing import Array
from cosift.experiment._sentences import NAMES
from cosift.experiment.conclusions import conclude
from cosift.experiment.metrics import METRICS
from cosift.experiment.results import Results
from cosift.plot._choices import (
    ALL_TASKS,
    SHOWN,
    choice,
    hidden,
    method_encoding,
    percent_choice,
    percent_names,
    task_choice,
)
from cosift.plot._style import chart, finish, in_order

__all__ = [
    "feature_counts",
    "learning_curves",
    "score_table",
]

BY_NUMBER = {
    "method": pl.String,
    "labeled_percent": pl.Float64,
    "n_features": pl.Int64,
    "task": pl.Int64,
    "score": pl.Float64,
}


@lru_cache(maxsize=1)
def score_table(results: Results) -> pl.DataFrame:
    """The tables of `conclude` for every metric that the run has.

    Parameters
    ----------
    results : Results
        A run.

    Returns
    -------
    polars.DataFrame
        The columns of `Conclusions.table` after ``metric``, with ``task`` as its position, -1 for
        the mean over tasks; methods in the order of figures.
    """
    present = results.metrics.drop_nulls("value")["metric"].unique().to_list()
    position = {name: i for i, name in enumerate(results.about["tasks"])}
    rank = {method: i for i, method in enumerate(in_order(results.plan.methods))}
    tables = [
        conclude(results, metric).table.select(
            pl.lit(metric).alias("metric"),
            pl.col("task").replace_strict(position, default=ALL_TASKS, return_dtype=pl.Int64),
            pl.exclude("task"),
        )
        for metric in ([name for name in METRICS if name in present] or ["map"])
    ]
    order = pl.col("method").replace_strict(rank, return_dtype=pl.Int64)
    return pl.concat(tables).sort(order, maintain_order=True)


def learning_curves(
    results: Results, *, metric: str = "map", methods: Iterable[str] | None = None
) -> alt.LayerChart:
    """Score by share of labels: mean over repeats, and one standard deviation either way.

    Parameters
    ----------
    results : Results
        A run.
    metric : str, default="map"
        What is shown at first.
    methods : iterable of str, optional
        Methods to show, as the plan has them; by default all.

    Returns
    -------
    altair.LayerChart
        With the parameters ``task`` (position, -1 for the mean), ``metric`` and ``hidden``
        (names of methods that are not shown).
    """
    table = score_table(results).drop_nulls("labeled_percent")
    known = table["metric"].unique(maintain_order=True).to_list()
    if metric not in known:
        raise ValueError(f"metric must be one of {', '.join(map(repr, known))}. Got {metric!r}.")
    every = in_order(results.plan.methods)
    shown = every if methods is None else [text for text in every if text in set(methods)]
    spread = pl.col("std").fill_null(0.0)
    rows = table.filter(pl.col("method").is_in(shown), pl.col("n") > 0).select(
        "metric",
        "task",
        "method",
        "mean",
        "std",
        percent=percent_names(),
        low=pl.col("mean") - spread,
        high=pl.col("mean") + spread,
    )
    colored = method_encoding(results.plan.methods, shown)
    base = (
        chart(rows)
        .transform_filter("datum.task === task && datum.metric === metric")
        .transform_filter(SHOWN)
        .encode(
            x=alt.X(
                "percent:O",
                title="labelled training rows",
                sort=None,
                axis=alt.Axis(labelAngle=0),
                scale=alt.Scale(paddingInner=0.75, paddingOuter=0.4),
            ),
            xOffset=alt.XOffset("method:N", scale=alt.Scale(domain=shown)),
            color=colored["color"],
        )
    )
    y = alt.Y("mean:Q", title="score", scale=alt.Scale(zero=False))
    return finish(
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_rule(opacity=0.45, strokeWidth=1.5).encode(
            y=alt.Y("low:Q", title="score"), y2="high:Q"
        ),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            y=y,
            shape=colored["shape"],
            tooltip=[
                alt.Tooltip("method:N"),
                alt.Tooltip("percent:N", title="labelled"),
                alt.Tooltip("mean:Q", format=".3f"),
                alt.Tooltip("std:Q", title="standard deviation", format=".3f"),
            ],
        ),
        params=[
            task_choice(results.about["tasks"]),
            choice("metric", known, [NAMES[name] for name in known], metric),
            hidden(),
        ],
        description="Score of every method by share of labelled training rows, as lines.",
    )


def feature_counts(results: Results) -> alt.LayerChart:
    """Score by number of selected features, each with its best weights, as tuning saw it.

    A method that was tried with one number only is a dashed line.

    Parameters
    ----------
    results : Results
        A run.

    Returns
    -------
    altair.LayerChart
        With the parameters ``task``, ``percent`` (its text, such as "10%") and ``hidden``.
    """
    rows = _by_number(results).with_columns(
        percent=percent_names(),
        single=pl.col("n_features").n_unique().over("method") == 1,
    )
    base = (
        chart(rows.drop("labeled_percent"))
        .transform_filter("datum.task === task && datum.percent === percent")
        .transform_filter(SHOWN)
        .encode(
            y=alt.Y("mean:Q", title=tuning_score(results), scale=alt.Scale(zero=False)),
            tooltip=[
                alt.Tooltip("method:N"),
                alt.Tooltip("n_features:Q", title="features"),
                alt.Tooltip("mean:Q", format=".3f"),
                alt.Tooltip("std:Q", title="standard deviation", format=".3f"),
            ],
        )
    )
    colored = method_encoding(results.plan.methods)
    curves = base.transform_filter("!datum.single").encode(
        x=alt.X(
            "n_features:Q",
            title="selected features",
            scale=alt.Scale(zero=False, nice=False, padding=12),
        ),
        **colored,
    )
    reference = base.transform_filter("datum.single").encode(color=colored["color"])
    return finish(
        reference.mark_rule(strokeDash=[5, 4], strokeWidth=1.5),
        curves.mark_line(strokeWidth=2),
        curves.mark_point(filled=True, size=50, opacity=1),
        params=[task_choice(results.about["tasks"]), percent_choice(results), hidden()],
        description="Score of every method by number of selected features, as lines.",
    )


def tuning_saw(results: Results) -> bool:
    """Whether tuning could try anything; without folds, cross-validation cannot."""
    return not _by_number(results).is_empty()


def tuning_score(results: Results) -> str:
    """What the scores of `Results.cells` are, as the title of an axis."""
    where = "test rows" if results.plan.tuning == "oracle" else "cross-validation"
    return f"mean average precision, {where}"


@lru_cache(maxsize=1)
def _by_number(results: Results) -> pl.DataFrame:
    """For every number of features the scores of the cell that is best on average over tasks."""
    rows = []
    for unit, arrays in results.each():
        scores = arrays["scores"].astype(np.float64)
        means = mean_where_known(scores)
        best = np.nan_to_num(means, nan=-1.0).argmax(axis=0)
        for i, k in enumerate(arrays["numbers"].tolist()):
            own = [means[best[i], i], *scores[best[i], i]]
            rows += [
                (unit.method, unit.labeled_percent, k, task, score)
                for task, score in enumerate(own, start=ALL_TASKS)
            ]
    keys = list(BY_NUMBER)[:-1]
    frame = pl.DataFrame(rows, schema=BY_NUMBER, orient="row").fill_nan(None)
    score = pl.col("score")
    return (
        frame.drop_nulls()
        .group_by(keys, maintain_order=True)
        .agg(mean=score.mean(), std=score.std())
    )


def mean_where_known(values: Array) -> Array:
    """Mean over the last axis of what is not NaN, NaN if nothing is."""
    known = ~np.isnan(values)
    total, count = np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1)
    return np.asarray(np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0))
