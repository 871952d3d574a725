"""Which features matter to which task, and whether methods and repeats agree on them."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from cosift._typing import Array
from cosift.experiment.results import Results
from cosift.plot._choices import (
    ALL_TASKS,
    SHOWN,
    hidden,
    method_encoding,
    percent_names,
    task_choice,
)
from cosift.plot._picks import Picks, picks
from cosift.plot._style import COLORS, RAMP, chart, finish, in_order

__all__ = ["overlap", "stability", "top_features"]


def top_features(source: Any, n: int | None = None) -> alt.LayerChart:
    """The features that come first when tasks name their best in turn, and every task's score.

    A dot marks a feature that is among a task's own n best.  Rows begin with what most tasks share
    and end with what one task has alone.

    Parameters
    ----------
    source : Results or fitted selector
        A run, scores being means over repeats; or a selector with ``task_scores_``.
    n : int, optional
        Number of features; by default 20, or 12 for more than 12 tasks.

    Returns
    -------
    altair.LayerChart
        With the parameters ``percent`` and ``method``.
    """
    found = picks(source)
    n = n or (20 if len(found.tasks) <= 12 else 12)
    rows = [
        {"percent": percent, "method": method, **row}
        for (percent, method), scores in found.scores.items()
        for row in _rows(found, scores, n)
    ]
    base = (
        chart(rows)
        .transform_filter("datum.percent === percent && datum.method === method")
        .encode(
            x=alt.X(
                "task:N",
                title=None,
                sort=found.tasks,
                axis=alt.Axis(labelAngle=0 if len(found.tasks) <= 6 else -60, labelLimit=90),
            ),
            y=alt.Y(
                "feature:N",
                title=None,
                sort=alt.EncodingSortField("row", op="min"),
                axis=alt.Axis(labelOverlap=False),
            ),
            tooltip=[
                "feature:N",
                "task:N",
                alt.Tooltip("score:Q", title="score, 1 is the best", format=".3f"),
                alt.Tooltip("shared:N", title="among the best of"),
                *([alt.Tooltip("known:N", title="known to matter")] if found.truth else []),
            ],
        )
    )
    return finish(
        base.mark_rect(strokeWidth=1).encode(
            stroke=alt.value(COLORS["paper"][0]),
            color=alt.Color(
                "score:Q",
                scale=alt.Scale(type="quantize", domain=[0, 1], range=RAMP),
                legend=alt.Legend(title="score within its task", format=".1f"),
            ),
        ),
        base.transform_filter("datum.top").mark_point(
            filled=True, size=26, opacity=1, color=COLORS["orange"][0]
        ),
        params=found.choices(),
        description="Scores of the best features by task, as a heat map.",
        height=18 * min(n, len(found.features)) + 10,
    )


def overlap(results: Results) -> alt.LayerChart:
    """Share of the best features that two methods have in common, over repeats and tasks.

    Parameters
    ----------
    results : Results
        A run.

    Returns
    -------
    altair.LayerChart
        With the parameter ``percent``.
    """
    found = picks(results)
    m = found.n_best
    names = list(found.methods)
    percents = list(dict.fromkeys(percent for percent, _ in found.ranked))
    rows = [
        {"percent": percent, "one": one, "other": other, "share": round(share, 4)}
        for percent in percents
        for one in names
        for other in names
        if one != other
        and (share := _common(found, (percent, one), (percent, other), m)) is not None
    ]
    base = (
        chart(rows)
        .transform_filter("datum.percent === percent")
        .encode(
            x=alt.X(
                "one:N",
                title=None,
                sort=names,
                axis=alt.Axis(labelAngle=-40, labelLimit=110, labelOverlap=False),
            ),
            y=alt.Y("other:N", title=None, sort=names, axis=alt.Axis(labelOverlap=False)),
            tooltip=[
                alt.Tooltip("one:N", title="method"),
                alt.Tooltip("other:N", title="and"),
                alt.Tooltip("share:Q", title=f"in common of {m}", format=".2f"),
            ],
        )
    )
    return finish(
        base.mark_rect().encode(
            color=alt.Color(
                "share:Q",
                scale=alt.Scale(type="quantize", domain=[0, 1], range=RAMP),
                legend=alt.Legend(title=f"share in common of the {m} best", format=".1f"),
            )
        ),
        base.mark_text().encode(
            text=alt.Text("share:Q", format=".2f"),
            color=alt.condition(
                "datum.share > 0.5", alt.value(COLORS["paper"][0]), alt.value(COLORS["ink"][0])
            ),
        ),
        params=[found.percents],
        description="Share of best features that pairs of methods have in common, as a matrix.",
        width=360,
    )


def stability(results: Results) -> alt.LayerChart:
    """Agreement of repeats on the features they select, 1 for the same in all, 0 for chance.

    See `metrics.stability` for the measure and its 95% interval, which tasks have and not their
    mean.

    Parameters
    ----------
    results : Results
        A run of at least two repeats.

    Returns
    -------
    altair.LayerChart
        With the parameters ``task`` and ``hidden``.
    """
    tasks = results.about["tasks"]
    position = {name: i for i, name in enumerate(tasks)}
    found = results.stability().drop_nulls("stability")
    own = found.with_columns(pl.col("task").replace_strict(position, return_dtype=pl.Int64))
    means = found.group_by("labeled_percent", "method", maintain_order=True).agg(
        pl.col("stability").mean(), task=pl.lit(ALL_TASKS, pl.Int64)
    )
    rows = pl.concat([means, own], how="diagonal").with_columns(percent=percent_names())
    names = [text for text in in_order(results.plan.methods) if text in set(found["method"])]
    encoding = method_encoding(results.plan.methods, names)
    line = (
        chart(rows.drop("labeled_percent", "repeats"))
        .transform_filter("datum.task === task")
        .transform_filter(SHOWN)
        .encode(
            x=alt.X(
                "percent:O",
                title="labelled training rows",
                sort=None,
                axis=alt.Axis(labelAngle=0),
                scale=alt.Scale(paddingInner=0.75, paddingOuter=0.4),
            ),
            xOffset=alt.XOffset("method:N", scale=alt.Scale(domain=names)),
            color=encoding["color"],
        )
    )
    y = alt.Y("stability:Q", title="stability")
    return finish(
        line.mark_line(strokeWidth=2).encode(y=y),
        line.transform_filter("isValid(datum.low)")
        .mark_rule(opacity=0.45, strokeWidth=1.5)
        .encode(y=alt.Y("low:Q", title="stability"), y2="high:Q"),
        line.mark_point(filled=True, size=55, opacity=1).encode(
            y=y,
            shape=encoding["shape"],
            tooltip=[
                "method:N",
                alt.Tooltip("percent:N", title="labelled"),
                alt.Tooltip("stability:Q", format=".3f"),
                alt.Tooltip("low:Q", format=".3f"),
                alt.Tooltip("high:Q", format=".3f"),
            ],
        ),
        params=[task_choice(tasks), hidden()],
        description="Stability of selections over repeats, as lines.",
    )


def in_turn(scores: Array, n: int) -> list[int]:
    """The n features that come first when tasks (rows of scores) name their best in turn.

    Examples
    --------
    >>> in_turn(np.array([[3.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]]), 3)
    [0, 3, 1]
    """
    orders = np.argsort(-scores, axis=1, kind="stable").tolist()
    named = dict.fromkeys(feature for turn in zip_longest(*orders) for feature in turn)
    return [*named][:n]


def _rows(found: Picks, scores: Array, n: int) -> list[dict[str, Any]]:
    best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    top = [{j for j in own.tolist() if scores[task, j] > 0} for task, own in enumerate(best)]
    features = in_turn(scores, n)
    shared = {j: sum(j in own for own in top) for j in features}
    features.sort(key=lambda j: (-shared[j], -scores[:, j].mean()))
    return [
        {
            "row": row,
            "feature": found.features[j],
            "task": name,
            "score": round(float(scores[task, j]), 3),
            "top": j in top[task],
            "shared": f"{shared[j]} of {len(found.tasks)} tasks",
            **({"known": "yes" if j in found.truth[task] else "no"} if found.truth else {}),
        }
        for row, j in enumerate(features)
        for task, name in enumerate(found.tasks)
    ]


def _common(found: Picks, one: tuple[str, str], other: tuple[str, str], m: int) -> float | None:
    """Mean share, over repeats that both have and tasks, of the m best."""
    first, second = found.ranked.get(one, {}), found.ranked.get(other, {})
    shares = [
        len(np.intersect1d(a[:m], b[:m])) / m
        for repeat in first.keys() & second.keys()
        for a, b in zip(first[repeat], second[repeat], strict=True)
    ]
    return float(np.mean(shares)) if shares else None
