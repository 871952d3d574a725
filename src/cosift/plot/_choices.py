"""What a reader can choose in a figure: task, share of labels, method, which methods are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import polars as pl

from cosift.experiment.results import Results
from cosift.plot._style import series

__all__ = [
    "ALL_TASKS",
    "SHOWN",
    "choice",
    "hidden",
    "method_encoding",
    "numbered",
    "percent_choice",
    "percent_name",
    "percent_names",
    "task_choice",
]

# Stands for the mean over tasks where tasks are numbered.
ALL_TASKS = -1
# A filter on the parameter `hidden`.
SHOWN = "indexof(hidden, datum.method) < 0"


def choice(
    name: str, options: Sequence[Any], labels: Sequence[str] | None = None, value: Any = None
) -> alt.Parameter:
    """A parameter that the reader chooses, from a list if there is more than one option."""
    value = options[0] if value is None else value
    if len(options) < 2:
        return alt.param(name=name, value=value)
    shown = list(labels or map(str, options))
    bind = alt.binding_select(options=list(options), labels=shown, name=f"{name} ")
    return alt.param(name=name, value=value, bind=bind)


def numbered(tasks: Sequence[Any]) -> list[int]:
    """Positions of tasks after that of their mean, which is the only one of a single task."""
    return [ALL_TASKS, *(range(len(tasks)) if len(tasks) > 1 else ())]


def task_choice(tasks: Sequence[str]) -> alt.Parameter:
    """The parameter ``task``: a position, or -1 for the mean."""
    return choice("task", numbered(tasks), ["mean of the tasks", *tasks][: len(numbered(tasks))])


def percent_choice(results: Results) -> alt.Parameter:
    """The parameter ``percent``: the text of a share of labels, at first the middle one."""
    percents = [percent_name(p) for p in sorted(results.plan.labeled_percent)]
    return choice("percent", percents, value=percents[(len(percents) - 1) // 2])


def hidden() -> alt.Parameter:
    """The parameter ``hidden``: names of methods that are not shown."""
    return alt.param(name="hidden", value=[])


def percent_name(percent: float) -> str:
    """A share of labels as text.

    Examples
    --------
    >>> percent_name(2.5), percent_name(100.0)
    ('2.5%', '100%')
    """
    return f"{percent:g}%"


def percent_names(column: str = "labeled_percent") -> pl.Expr:
    """Shares of labels as text."""
    return pl.col(column).map_elements(percent_name, return_dtype=pl.String)


def method_encoding(methods: Iterable[str], shown: Sequence[str] | None = None) -> dict[str, Any]:
    """Colour and shape by ``method``, with one legend for both."""
    colors, shapes = series(methods)
    legend = alt.Legend() if shown is None else alt.Legend(values=list(shown))
    return {
        "color": alt.Color("method:N", scale=colors, legend=legend),
        "shape": alt.Shape("method:N", scale=shapes, legend=legend),
    }
