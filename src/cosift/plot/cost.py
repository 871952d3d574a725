"""What methods cost in time and memory."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from cosift.experiment.results import Results
from cosift.plot._choices import SHOWN, hidden
from cosift.plot._style import chart, finish, in_order, series

__all__ = ["memory", "seconds"]


def seconds(results: Results) -> alt.LayerChart:
    """Seconds that units of every method took: a tick a unit, a point their median.

    Parameters
    ----------
    results : Results
        A run.

    Returns
    -------
    altair.LayerChart
        With the parameter ``hidden``.
    """
    scale = alt.Scale(type="log", nice=False, padding=12)
    return _by_method(results, "seconds_total", "seconds a unit", scale, ".3~s")


def memory(results: Results) -> alt.LayerChart:
    """Peak memory of the process while units of every method ran, in megabytes.

    Parameters
    ----------
    results : Results
        A run.

    Returns
    -------
    altair.LayerChart
        With the parameter ``hidden``.
    """
    scale = alt.Scale(zero=True)
    return _by_method(results, "peak_memory_mb", "peak memory, MB", scale, ",.0f")


def _by_method(
    results: Results, column: str, title: str, scale: alt.Scale, format: str
) -> alt.LayerChart:
    rows = results.choices.drop_nulls(column).select("method", value=column)
    names = in_order(results.plan.methods)
    encoding: dict[str, Any] = {
        "x": alt.X("value:Q", title=title, scale=scale, axis=alt.Axis(grid=True)),
        "y": alt.Y("method:N", title=None, sort=names),
        "color": alt.Color("method:N", scale=series(results.plan.methods)[0], legend=None),
        "tooltip": [alt.Tooltip("method:N"), alt.Tooltip("value:Q", title=title, format=format)],
    }
    ticks = (
        chart(rows.with_columns(of=pl.lit("a unit")))
        .transform_filter(SHOWN)
        .mark_tick(opacity=0.35, thickness=1.5, size=12)
    )
    medians = rows.group_by("method", maintain_order=True).median()
    points = (
        chart(medians.with_columns(of=pl.lit("median")))
        .transform_filter(SHOWN)
        .mark_point(filled=True, size=80, opacity=1)
    )
    return finish(
        ticks.encode(**encoding),
        points.encode(**encoding),
        params=[hidden()],
        description=f"{title.capitalize()} by method, a tick for every unit and a point for the "
        "median.",
        height=34 + 26 * len(names),
    )
