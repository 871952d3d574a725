"""Mean ranks of methods, and which of them can be told apart."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt

from cosift.experiment.conclusions import Conclusions
from cosift.plot._style import COLORS, chart, finish, series

__all__ = ["critical_difference"]

# Height of a bar that joins methods, in rows.
BAR = 0.45
SIDES: tuple[tuple[str, Literal["left", "right"], int], ...] = (
    ("datum.is_left", "right", -6),
    ("!datum.is_left", "left", 6),
)
INK, SOFT = COLORS["ink"][0], COLORS["soft"][0]


def critical_difference(conclusions: Conclusions) -> alt.LayerChart:
    """Mean ranks over tasks; bars join methods that cannot be told apart.

    Parameters
    ----------
    conclusions : Conclusions
        Of `conclude`, with a critical difference.

    Returns
    -------
    altair.LayerChart
        The diagram of Demšar (JMLR 7, 2006), with the critical difference drawn to scale above.
    """
    critical = conclusions.critical_difference
    if critical is None:
        raise ValueError("conclusions must hold ranks of two methods over two tasks or more.")
    ranks = dict(conclusions.ranks.select("method", "mean_rank").iter_rows())
    joined = [group for group in conclusions.groups if len(group) > 1]
    k, left = len(ranks), (len(ranks) + 1) // 2
    below = BAR * (len(joined) + 1)
    names = [
        {
            "method": text,
            "rank": rank,
            "edge": 1 if i < left else k,
            "row": below + (i if i < left else k - 1 - i),
            "top": 0,
            "is_left": i < left,
        }
        for i, (text, rank) in enumerate(ranks.items())
    ]
    bars = [
        {"rank": ranks[group[0]], "to": ranks[group[-1]], "row": BAR * (i + 1)}
        for i, group in enumerate(joined)
    ]
    yardstick = [{"rank": 1, "to": 1 + critical, "row": -2.4, "text": f"CD = {critical:.2f}"}]
    room = f"min({14 + 6.3 * max(map(len, ranks)):.0f}, 0.36 * width)"
    # Every layer has the same scales and axes, else they could not be joined.
    across: dict[str, Any] = {
        "title": "mean rank over tasks, 1 is best",
        "scale": alt.Scale(
            domain=[1, k],
            nice=False,
            range=[alt.ExprRef(room), alt.ExprRef(f"width - {room}")],
        ),
        "axis": alt.Axis(
            orient="top", offset=-64, values=list(range(1, k + 1)), format="d", domain=True
        ),
    }
    down: dict[str, Any] = {
        "axis": None,
        "scale": alt.Scale(domain=[-2.8, below + left - 0.5], nice=False, reverse=True),
    }
    x, y = alt.X("rank:Q", **across), alt.Y("row:Q", **down)
    top, edge = alt.Y("top:Q", **down), alt.X("edge:Q", **across)
    color = alt.Color("method:N", scale=series(conclusions.methods)[0], legend=None)
    told = [alt.Tooltip("method:N"), alt.Tooltip("rank:Q", title="mean rank", format=".2f")]
    each = chart(names).encode(x=x, y=y, color=color, tooltip=told)
    sides = [
        each.transform_filter(side)
        .encode(x=edge, text="method:N", color=alt.value(INK))
        .mark_text(align=align, dx=dx, fontSize=11.5)
        for side, align, dx in SIDES
    ]
    measure = chart(yardstick).encode(x=x, y=y)
    return finish(
        each.mark_rule(strokeWidth=1.5).encode(y=top, y2="row:Q"),
        each.mark_rule(strokeWidth=1.5).encode(x2="edge:Q"),
        each.mark_point(filled=True, size=55, opacity=1).encode(y=top),
        *sides,
        chart(bars).mark_rule(strokeWidth=5, color=SOFT, opacity=0.8).encode(x=x, y=y, x2="to"),
        measure.mark_rule(strokeWidth=1.5, color=SOFT).encode(x2="to"),
        measure.mark_text(align="left", dy=-8, color=SOFT).encode(text="text:N"),
        description="Critical-difference diagram: mean rank of every method over tasks, with bars "
        "that join methods that cannot be told apart.",
        height=92 + 24 * left + 11 * len(joined),
    )
