"""How near solvers came to the optimum, and how fast."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from cosift.experiment.results import Results
from cosift.plot._choices import (
    SHOWN,
    choice,
    hidden,
    method_encoding,
    percent_choice,
    percent_names,
)
from cosift.plot._style import COLORS, chart, finish, in_order

__all__ = ["convergence", "gaps"]

# Iterations shown of one fit.
MANY = 120


def convergence(source: Any) -> alt.LayerChart:
    """Objective and dual bound by iteration: the optimum lies between them.

    The axis is logarithmic; a bound that is not above 0 says nothing yet and is not drawn.

    Parameters
    ----------
    source : Results or fitted selector
        A run, of which the first repeat is shown with the weights that tuning chose; or a selector
        with ``history_``.

    Returns
    -------
    altair.LayerChart
        Of a run with the parameters ``percent`` and ``method``.
    """
    lines = _history(source)
    sides = {"objective": "objective", "dual_bound": "dual bound"}
    rows = lines.unpivot(
        list(sides), index=["percent", "method", "iteration"], variable_name="side"
    ).with_columns(pl.col("side").replace_strict(sides))
    line = (
        chart(rows.filter(pl.col("value") > 0))
        .transform_filter("datum.percent === percent && datum.method === method")
        .encode(
            x=alt.X("iteration:Q", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y(
                "value:Q",
                title=None,
                scale=alt.Scale(type="log", nice=False, padding=12),
                axis=alt.Axis(tickCount=5),
            ),
            color=alt.Color(
                "side:N",
                scale=alt.Scale(
                    domain=list(sides.values()), range=[COLORS["navy"][0], COLORS["orange"][0]]
                ),
            ),
            tooltip=["side:N", "iteration:Q", alt.Tooltip("value:Q", format=".6g")],
        )
    )
    methods = lines["method"].unique(maintain_order=True).to_list() or [""]
    return finish(
        line.mark_line(strokeWidth=2),
        line.mark_point(filled=True, size=18, opacity=1),
        params=[_percents(source), choice("method", methods)],
        description="Objective and dual bound by iteration, as two lines that meet.",
    )


def gaps(source: Any) -> alt.LayerChart:
    """Duality gap by iteration, relative to the objective, on a logarithmic axis.

    Parameters
    ----------
    source : Results or fitted selector
        As of `convergence`.

    Returns
    -------
    altair.LayerChart
        Of a run with the parameters ``percent`` and ``hidden``.
    """
    gap = (pl.col("objective") - pl.col("dual_bound")) / pl.col("objective").abs()
    rows = _history(source).select("percent", "method", "iteration", gap=gap)
    names = rows["method"].unique(maintain_order=True).to_list()
    methods = source.plan.methods if isinstance(source, Results) else names
    line = (
        chart(rows.filter(pl.col("gap").is_finite(), pl.col("gap") > 0))
        .transform_filter("datum.percent === percent")
        .transform_filter(SHOWN)
        .encode(
            x=alt.X("iteration:Q", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y(
                "gap:Q",
                title="gap / objective",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format=".0e", tickCount=5),
            ),
            tooltip=["method:N", "iteration:Q", alt.Tooltip("gap:Q", format=".2e")],
            **method_encoding(methods, names),
        )
    )
    return finish(
        line.mark_line(strokeWidth=2),
        line.mark_point(filled=True, size=28, opacity=1),
        params=[_percents(source), hidden()],
        description="Relative duality gap by iteration on a logarithmic axis, as lines.",
    )


def _history(source: Any) -> pl.DataFrame:
    """Columns ``percent``, ``method``, ``iteration``, ``objective``, ``dual_bound``."""
    columns = ["percent", "method", "iteration", "objective", "dual_bound"]
    if not isinstance(source, Results):
        own = [(line.iteration, line.objective, line.dual_bound) for line in source.history_]
        frame = pl.DataFrame(own, schema=columns[2:], orient="row")
        return frame.select(
            pl.lit("").alias("percent"), pl.lit(type(source).__name__).alias("method"), *columns[2:]
        )
    frames = [source.history(text).filter(repeat=0) for text in in_order(source.plan.methods)]
    every = (pl.len() / MANY).ceil().cast(pl.Int64)
    thinned = (
        pl.concat(frames)
        .with_columns(i=pl.int_range(pl.len()).over("method", "labeled_percent"))
        .filter(
            ((pl.col("i") % every == 0) | (pl.col("i") == pl.len() - 1)).over(
                "method", "labeled_percent"
            )
        )
    )
    return thinned.select(percent_names().alias("percent"), *columns[1:])


def _percents(source: Any) -> alt.Parameter:
    return percent_choice(source) if isinstance(source, Results) else choice("percent", [""])
