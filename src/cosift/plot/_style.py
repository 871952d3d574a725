"""What all figures have in common: colours, the order of methods, type, and how data go in.

Every colour is one of `COLORS`, so that whoever shows a figure can put others in their place.
Series are told apart by shape as well as by colour.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

__all__ = ["COLORS", "chart", "finish", "in_order", "number", "series"]

# Name: on white, on black.  Series stay at least 20 CIELAB units apart for all forms of colour
# blindness, and 3:1 against their ground.
COLORS: dict[str, tuple[str, str]] = {
    "navy": ("#222175", "#84a9ff"),
    "orange": ("#e9701a", "#f78121"),
    "sky": ("#309be0", "#87e1ff"),
    "brick": ("#860804", "#ba7136"),
    "green": ("#03654f", "#2ea06e"),
    "violet": ("#7e40da", "#7d71eb"),
    "sand": ("#b58c5b", "#ffe39c"),
    "grey": ("#90959d", "#979ca4"),
    "black": ("#150e09", "#deebe5"),
    "ink": ("#22262b", "#dfe3e8"),
    "soft": ("#5a626c", "#a3acb7"),
    "line": ("#dfe2e6", "#3a4048"),
    "paper": ("#ffffff", "#14171b"),
    # From nothing to all.
    "ramp0": ("#f3f5f8", "#1d2229"),
    "ramp1": ("#dde6f0", "#22303f"),
    "ramp2": ("#c1d3e6", "#274057"),
    "ramp3": ("#9dbcd9", "#2c5372"),
    "ramp4": ("#75a1ca", "#33688f"),
    "ramp5": ("#4d84b8", "#427faa"),
    "ramp6": ("#2f66a1", "#5c9ac4"),
    "ramp7": ("#254a87", "#86b9dc"),
    "ramp8": ("#222b66", "#c0e0f5"),
}
INK, SOFT, LINE = (COLORS[name][0] for name in ("ink", "soft", "line"))
RAMP = [light for name, (light, _) in COLORS.items() if name.startswith("ramp")]
SERIES = ("navy", "orange", "sky", "brick", "green", "violet", "sand", "grey", "black")
STAR = "M0-1 .23-.31 .95-.31 .36 .12 .59 .81 0 .38-.59 .81-.36 .12-.95-.31-.23-.31Z"
SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross"),
    *("triangle-down", "triangle-right", "triangle-left", STAR),
)

# Our methods in the order of figures, and their colours.
METHODS = {
    "sfmc": "navy",
    "sfss": "orange",
    "fssi": "sky",
    "lsdf": "brick",
    "fsnm": "green",
    "spec": "violet",
    "fisher-score": "sand",
    "all-features": "grey",
    "l21-least-squares": "black",
}
FONT = "system-ui, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "labelFontSize": 11,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "gridColor": LINE,
        "gridOpacity": 0.7,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelOverlap": True,
    },
    "axisY": {"domain": False, "ticks": False, "labelLimit": 230},
    "axisX": {"grid": False},
    "legend": {
        "orient": "bottom",
        "columns": 4,
        "title": None,
        "labelColor": INK,
        "titleColor": SOFT,
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "labelLimit": 190,
        "titleLimit": 400,
        "symbolSize": 70,
        "symbolOpacity": 1,
        "rowPadding": 4,
        "columnPadding": 14,
    },
    "text": {"color": INK, "fontSize": 11},
}


def in_order(methods: Iterable[str]) -> list[str]:
    """Methods as text in the order of figures.

    Examples
    --------
    >>> in_order(["spec", "sklearn.feature_selection:f_classif", "sfmc(alpha=10)"])
    ['sfmc(alpha=10)', 'spec', 'sklearn.feature_selection:f_classif']
    """
    order = list(METHODS)
    ranks = {text: order.index(_base(text)) for text in methods if _base(text) in METHODS}
    return sorted(methods, key=lambda text: ranks.get(text, len(order)))


def series(methods: Iterable[str]) -> tuple[alt.Scale, alt.Scale]:
    """Scales of colour and shape, a method of ours always having its own."""
    names = in_order(methods)
    free = list(SERIES)
    chosen: dict[str, str] = {}
    for text in names:
        own = METHODS.get(_base(text))
        if own in free:
            free.remove(own)
            chosen[text] = own
    for i, text in enumerate(text for text in names if text not in chosen):
        chosen[text] = free[i] if i < len(free) else SERIES[(i - len(free)) % len(SERIES)]
    colors = [COLORS[chosen[text]][0] for text in names]
    shapes = [SHAPES[(SERIES.index(chosen[text]) + i // 9) % 9] for i, text in enumerate(names)]
    return alt.Scale(domain=names, range=colors), alt.Scale(domain=names, range=shapes)


def chart(rows: pl.DataFrame | Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of rows, which go in as text: altair would check and copy every one of them."""
    if isinstance(rows, pl.DataFrame):
        floats = [name for name, kind in rows.schema.items() if kind.is_float()]
        text = rows.with_columns(pl.col(floats).fill_nan(None).round_sig_figs(5)).write_json()
    else:
        text = json.dumps(list(rows))
    return alt.Chart(alt.InlineData(values=text, format=alt.JsonDataFormat(type="json")))


def finish(
    *layers: alt.Chart,
    params: Sequence[alt.Parameter] = (),
    description: str,
    width: int = 460,
    height: int = 300,
) -> alt.LayerChart:
    """Layers as one figure: its size, its type, and a description for who cannot see it."""
    figure: Any = alt.layer(*layers).properties(
        width=width,
        height=height,
        description=description,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    finished: alt.LayerChart = figure.add_params(*params).configure(**CONFIG)
    return finished


def number(value: float) -> str:
    """A weight as it stands on an axis.

    Examples
    --------
    >>> [number(value) for value in (1e-6, 0.5, 1.0, 1e4)]
    ['1e-6', '0.5', '1', '1e4']
    """
    text = f"{value:.0e}"
    if float(text) != value or 0.01 < abs(value) < 1000:
        return f"{value:g}"
    mantissa, _, power = text.partition("e")
    return f"{mantissa}e{int(power)}"


def _base(text: str) -> str:
    return text.strip().partition("(")[0].strip()
