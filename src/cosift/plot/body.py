"""A body with the joints and distances that were selected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from cosift._typing import Array
from cosift.plot._choices import ALL_TASKS, numbered, task_choice
from cosift.plot._picks import picks
from cosift.plot._style import COLORS, chart, finish

__all__ = ["body", "is_body"]

# A standing body seen from the front: x to the right of the picture (the body's left), y up.
POSE: dict[str, tuple[float, float]] = {
    "head": (0.0, 1.72),
    "neck": (0.0, 1.5),
    "thorax": (0.0, 1.42),
    "spine": (0.0, 1.17),
    "pelvis": (0.0, 0.97),
    "shoulder": (0.2, 1.4),
    "elbow": (0.36, 1.15),
    "wrist": (0.47, 0.9),
    "hand": (0.51, 0.8),
    "hip": (0.12, 0.93),
    "knee": (0.16, 0.5),
    "ankle": (0.18, 0.1),
    "foot": (0.24, 0.02),
}
# Joints in a line, of which neighbours that the data have are joined; the last of a limb is where
# it hangs on the trunk.
TRUNK = ("head", "neck", "thorax", "spine", "pelvis")
LIMBS = (
    ("hand", "wrist", "elbow", "shoulder", ("neck", "thorax", "spine")),
    ("foot", "ankle", "knee", "hip", ("pelvis", "spine")),
)
COORDINATE = re.compile(r"([xyz])\((\w+)\)")
DISTANCE = re.compile(r"distance\((\w+), (\w+)\)")
# Features that are drawn.
MANY = 12


def is_body(names: list[str]) -> bool:
    """Whether features are coordinates of joints, and distances, of joints that can be drawn."""
    read = [_joints(name) for name in names]
    known = {_place(joint) is not None for joints in read for joint in joints}
    return all(read) and known == {True}


def body(source: Any) -> alt.LayerChart:
    """The best features of skeleton data on a standing body, seen from the front.

    Circles are joints with coordinates among the twelve best features, lines distances; the
    larger, the better.

    Parameters
    ----------
    source : Results or fitted selector
        With features of `cosift.features.SkeletonFeatures`.

    Returns
    -------
    altair.LayerChart
        With the parameters ``task``, ``percent`` and ``method``.
    """
    found = picks(source)
    if not is_body(found.features):
        raise ValueError("features must be named as by SkeletonFeatures, with joints of a body.")
    joints = sorted({joint for name in found.features for joint in _joints(name)})
    places = {joint: place for joint in joints if (place := _place(joint))}
    circles: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for (percent, method), scores in found.scores.items():
        for task in numbered(found.tasks):
            own = scores.mean(axis=0) if task == ALL_TASKS else scores[task]
            at = {"percent": percent, "method": method, "task": task}
            for row in _drawn(found.features, own, places):
                (lines if "x2" in row else circles).append({**at, **row})
    bones = [{**_point(places[one]), **_end(places[other])} for one, other in _bones(set(joints))]
    dots = [{**_point(place), "joint": joint} for joint, place in places.items()]
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.85, 0.85]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.08, 1.85]))
    chosen = "datum.percent === percent && datum.method === method && datum.task === task"
    told = [
        alt.Tooltip("what:N", title="feature"),
        alt.Tooltip("score:Q", title="score, 1 is the best", format=".3f"),
    ]
    return finish(
        chart(bones)
        .mark_rule(strokeWidth=9, strokeCap="round", color=COLORS["line"][0])
        .encode(x=x, y=y, x2="x2", y2="y2"),
        chart(dots)
        .mark_point(filled=True, size=40, opacity=1, color=COLORS["grey"][0])
        .encode(x=x, y=y, tooltip=["joint:N"]),
        chart(lines)
        .transform_filter(chosen)
        .mark_rule(color=COLORS["orange"][0], opacity=0.85, strokeCap="round")
        .encode(
            x=x,
            y=y,
            x2="x2",
            y2="y2",
            strokeWidth=alt.StrokeWidth(
                "score:Q", scale=alt.Scale(domain=[0, 1], range=[1, 6]), legend=None
            ),
            tooltip=told,
        ),
        chart(circles)
        .transform_filter(chosen)
        .mark_point(filled=True, color=COLORS["navy"][0], opacity=0.9)
        .encode(
            x=x,
            y=y,
            size=alt.Size("score:Q", scale=alt.Scale(domain=[0, 1], range=[60, 420]), legend=None),
            tooltip=told,
        ),
        params=[
            task_choice(found.tasks),
            *found.choices(),
        ],
        description="A standing body with the best features: circles for joints, lines for "
        "distances.",
        width=320,
        height=400,
    )


def _drawn(
    names: list[str], scores: Array, places: dict[str, tuple[float, float]]
) -> Iterator[dict[str, Any]]:
    """The best features: one row a distance, one a joint with the best of its coordinates."""
    seen: dict[str, dict[str, Any]] = {}
    for j in np.argsort(-scores, kind="stable")[:MANY]:
        if scores[j] <= 0:
            continue
        score = round(float(scores[j]), 3)
        joints = _joints(names[j])
        if len(joints) == 2:
            one, other = (places[joint] for joint in joints)
            yield {**_point(one), **_end(other), "what": names[j], "score": score}
        elif joints[0] in seen:
            seen[joints[0]]["what"] += f", {names[j]}"
        else:
            seen[joints[0]] = {**_point(places[joints[0]]), "what": names[j], "score": score}
    yield from seen.values()


def _joints(name: str) -> list[str]:
    found = COORDINATE.fullmatch(name)
    if found:
        return [found[2]]
    found = DISTANCE.fullmatch(name)
    return [found[1], found[2]] if found else []


def _place(joint: str) -> tuple[float, float] | None:
    side, _, part = joint.rpartition("_")
    if part not in POSE or side not in ("", "left", "right"):
        return None
    x, y = POSE[part]
    return (-x if side == "right" else x), y


def _bones(joints: set[str]) -> list[tuple[str, str]]:
    chains = [[joint for joint in TRUNK if joint in joints]]
    for side in ("left", "right"):
        for *parts, trunk in LIMBS:
            limb = [name for part in parts if (name := f"{side}_{part}") in joints]
            root = [joint for joint in trunk if joint in joints][:1]
            chains.append([*limb, *root])
    return [pair for chain in chains for pair in pairwise(chain)]


def _point(place: tuple[float, float]) -> dict[str, float]:
    return {"x": place[0], "y": place[1]}


def _end(place: tuple[float, float]) -> dict[str, float]:
    return {"x2": place[0], "y2": place[1]}
