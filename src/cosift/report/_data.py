"""Data within a page: short, and harmless whatever text they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl
from markupsafe import Markup

from cosift.plot._style import COLORS

__all__ = ["embedded", "pack", "packed_chart"]

# Nothing of these can end a script element or begin a comment in it.
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
VARIABLES = {light: f"var(--{name})" for name, (light, _) in COLORS.items()}


def embedded(value: Any) -> Markup:
    r"""Plain values as JSON for a script element.

    Examples
    --------
    >>> print(embedded({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(re.sub("[<>&\u2028\u2029]", lambda found: ESCAPES[found[0]], text))


def pack(rows: pl.DataFrame | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows by column; a column of few values as these, and for each row which of them.

    Examples
    --------
    >>> pack([{"method": "sfmc", "n": 1}, {"method": "sfmc", "n": 2}])
    {'method': {'of': ['sfmc'], 'at': [0, 0]}, 'n': [1, 2]}
    """
    if isinstance(rows, pl.DataFrame):
        return {name: _column(rows[name].to_list()) for name in rows.columns}
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([row.get(name) for row in rows]) for name in names}


def packed_chart(chart: alt.LayerChart) -> dict[str, Any]:
    """A chart with its data packed and its colours as variables of the page.

    What a reader can choose is taken out of the specification, under ``choices``.
    """
    spec = chart.to_dict(validate=False)
    datasets = {name: pack(json.loads(rows)) for name, rows in spec.pop("datasets").items()}
    params = spec.pop("params", [])
    choices = {param["name"]: param.pop("bind", {}).get("options", []) for param in params}
    return {
        "spec": {**_recolored(spec), "params": params},
        "datasets": datasets,
        "choices": choices,
    }


def _column(values: list[Any]) -> Any:
    # 1, 1.0 and True are equal, and not the same.
    levels = {(type(value), value): value for value in values}
    if 2 * len(levels) > len(values) or not any(isinstance(v, str) for v in levels.values()):
        return values
    at = {key: i for i, key in enumerate(levels)}
    return {"of": [*levels.values()], "at": [at[type(value), value] for value in values]}


def _recolored(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _recolored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_recolored(item) for item in value]
    return VARIABLES.get(value, value) if isinstance(value, str) else value
