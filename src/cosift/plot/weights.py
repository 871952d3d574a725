"""How much the choice of weights and of the number of features matters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import numpy as np

from cosift._typing import Array
from cosift.experiment.results import Results
from cosift.plot._choices import ALL_TASKS, numbered, percent_choice, percent_name, task_choice
from cosift.plot._style import COLORS, RAMP, chart, finish, number
from cosift.plot.scores import mean_where_known, tuning_score

__all__ = ["sensitivity"]

WEIGHTS = ("alpha", "beta", "gamma")
SYMBOLS = {"alpha": "α", "beta": "β", "gamma": "γ", "n_features": "selected features"}


def sensitivity(
    results: Results, method: str = "sfmc", axes: Sequence[str] = ("alpha", "beta")
) -> alt.LayerChart:
    """Score over two of a method's weights, or one and the number of features.

    All else stays at what is best on average over tasks and repeats, for each share of labels;
    the frame marks the best cell shown.

    Parameters
    ----------
    results : Results
        A run.
    method : str, default="sfmc"
        One of its methods.
    axes : pair of str, default=("alpha", "beta")
        Of "alpha", "beta", "gamma" and "n_features", what runs across and what runs up.

    Returns
    -------
    altair.LayerChart
        With the parameters ``task`` and ``percent``.
    """
    known = free_axes(results, method)
    if len(set(axes)) != 2 or not set(axes) <= set(known):
        raise ValueError(
            f"axes must be two of {', '.join(map(repr, known))}, which {method} was tried with. "
            f"Got {axes!r}."
        )
    rows = [row for share in _tensors(results, method).items() for row in _slice(*share, axes)]
    across, up = axes
    angle = 0 if len(SYMBOLS[up]) == 1 else -90
    base = (
        chart(rows)
        .transform_filter("datum.task === task && datum.percent === percent")
        .encode(
            x=alt.X("x:O", sort=None, title=SYMBOLS[across], axis=alt.Axis(labelAngle=0)),
            y=alt.Y("y:O", sort=None, title=SYMBOLS[up], axis=alt.Axis(titleAngle=angle)),
            tooltip=[
                alt.Tooltip("x:N", title=SYMBOLS[across]),
                alt.Tooltip("y:N", title=SYMBOLS[up]),
                alt.Tooltip("score:Q", format=".3f"),
                alt.Tooltip("fixed:N"),
            ],
        )
    )
    return finish(
        base.mark_rect().encode(
            color=alt.Color(
                "score:Q",
                scale=alt.Scale(type="quantize", range=RAMP),
                legend=alt.Legend(title=tuning_score(results), format=".2f"),
            )
        ),
        base.transform_filter("datum.best").mark_rect(
            filled=False, stroke=COLORS["orange"][0], strokeWidth=2.5
        ),
        params=[task_choice(results.about["tasks"]), percent_choice(results)],
        description=f"Score of {method} over {SYMBOLS[across]} and {SYMBOLS[up]}, as a heat map.",
        width=360,
    )


def free_axes(results: Results, method: str) -> list[str]:
    """What a method was tried with several values of."""
    tensors = _tensors(results, method)
    if not tensors:
        return []
    names, cells, numbers, _ = next(iter(tensors.values()))
    free = [name for i, name in enumerate(names) if len(np.unique(cells[:, i])) > 1]
    return [*free, "n_features"] if len(numbers) > 1 else free


@lru_cache(maxsize=4)
def _tensors(results: Results, method: str) -> dict[str, tuple[list[str], Array, list[int], Array]]:
    """For each share of labels: names of weights, cells, numbers, mean scores over repeats.

    Units that tried one cell alone, since nothing could be validated, are left out.
    """
    shares: dict[float, list[dict[str, Any]]] = {}
    for unit, arrays in results.each(method):
        shares.setdefault(unit.labeled_percent, []).append(arrays)
    chosen = results.choices.filter(method=method)
    names = [name for name in WEIGHTS if chosen[name].is_not_null().any()]
    most = max((len(arrays["cells"]) for units in shares.values() for arrays in units), default=0)
    tensors = {}
    for percent, units in sorted(shares.items()):
        alike = [arrays for arrays in units if len(arrays["cells"]) == most]
        if not alike:
            continue
        scores = np.stack([arrays["scores"].astype(np.float64) for arrays in alike], axis=-1)
        first = alike[0]
        means = mean_where_known(scores)
        tensors[percent_name(percent)] = (names, first["cells"], first["numbers"].tolist(), means)
    return tensors


def _slice(
    percent: str, tensor: tuple[list[str], Array, list[int], Array], axes: Sequence[str]
) -> list[dict[str, Any]]:
    names, cells, numbers, scores = tensor
    overall = mean_where_known(scores)
    if np.isnan(overall).all():
        return []
    best_cell, best_number = np.unravel_index(np.nanargmax(overall), overall.shape)
    fixed = {name: i for i, name in enumerate(names) if name not in axes}
    kept = np.flatnonzero(
        np.all([cells[:, i] == cells[best_cell, i] for i in fixed.values()] or [True], axis=0)
        & np.ones(len(cells), dtype=bool)
    )
    free = "n_features" in axes
    columns = range(len(numbers)) if free else [int(best_number)]
    said = [f"{SYMBOLS[name]} = {number(cells[best_cell, i])}" for name, i in fixed.items()]
    said += [] if free else [f"{numbers[best_number]} features"]
    points = []
    for cell in kept:
        for column in columns:
            values = {name: cells[cell, i] for i, name in enumerate(names)}
            points.append(({**values, "n_features": numbers[column]}, scores[cell, column]))
    # The last point that is drawn first: up runs upwards.
    points.sort(key=lambda point: (point[0][axes[0]], -point[0][axes[1]]))
    rows = []
    for task in numbered(scores[0, 0]):
        own = [mean_where_known(s) if task == ALL_TASKS else s[task] for _, s in points]
        if np.isnan(own).all():
            continue
        top = np.nanmax(own)
        rows += [
            {
                "percent": percent,
                "task": task,
                "x": number(values[axes[0]]),
                "y": number(values[axes[1]]),
                "score": round(float(score), 5),
                "best": bool(score == top),
                "fixed": ", ".join(said),
            }
            for (values, _), score in zip(points, own, strict=True)
            if not np.isnan(score)
        ]
    return rows
