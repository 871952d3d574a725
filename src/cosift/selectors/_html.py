"""What a notebook shows of a fitted selector: its certificate and its best features, by name."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from cosift._typing import Array

if TYPE_CHECKING:
    from cosift.selectors._base import TaskSelector

# Rows and columns that are shown.
FEATURES = 10
TASKS = 6

STYLE = """<style>
.cosift { font: 13px/1.5 system-ui, sans-serif; margin: .75em 0; overflow-x: auto; }
.cosift table { border-collapse: collapse; margin: .5em 0; }
.cosift caption { text-align: left; font-weight: 600; padding: .25em 0; }
.cosift th, .cosift td { text-align: left; padding: .15em .75em .15em 0; border: 0; }
.cosift th { font-weight: 500; overflow-wrap: anywhere; }
.cosift td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.cosift .bar { display: inline-block; width: 5em; height: .7em; margin-right: .5em; }
.cosift .bar span { display: block; height: 100%; background: currentColor; opacity: .55; }
</style>"""


def summary(selector: TaskSelector) -> str:
    """A fitted selector as a piece of HTML; nothing of one that is not fitted."""
    if not hasattr(selector, "scores_"):
        return ""
    parts = [STYLE, *_certificate(selector), *_top_features(selector)]
    return f'<div class="cosift">{"".join(parts)}</div>'


def _certificate(selector: Any) -> Iterator[str]:
    """How near the optimum is, of methods that minimise."""
    if not hasattr(selector, "dual_gap_"):
        return
    gap, objective = selector.dual_gap_, selector.objective_
    share = f" ({gap / objective:.1e} of the objective)" if objective > 0 else ""
    answer = "yes" if selector.converged_ else f"no, not to tol={selector.tol:g}: raise max_iter"
    yield "<table><caption>Certificate</caption>"
    for name, value in {
        "Objective": f"{objective:.6g}",
        "Lower bound on the least": f"{selector.dual_bound_:.6g}",
        "Gap": f"{gap:.2g}{share}",
        "Converged": answer,
        "Iterations": f"{selector.n_iter_}",
    }.items():
        yield f'<tr><th scope="row">{name}</th><td>{escape(value)}</td></tr>'
    yield "</table>"


def _top_features(selector: TaskSelector) -> Iterator[str]:
    """The features of the best ranks, with their scores for all tasks together and for each."""
    d = len(selector.scores_)
    names = getattr(selector, "feature_names_in_", None)
    tasks = [str(task) for task in selector.tasks_.tolist()]
    columns: list[tuple[str, Array]]
    columns = [("All tasks" if len(tasks) > 1 else "Score", selector.scores_)]
    if len(tasks) > 1:
        heads = [f"Task {name}" for name in tasks[:TASKS]]
        columns += zip(heads, selector.task_scores_, strict=False)
    shown = np.argsort(selector.ranking_)[:FEATURES]
    part = f", first {TASKS} of {len(tasks)} tasks" if len(tasks) > TASKS else ""
    yield f"<table><caption>Best {len(shown)} of {d} features{part}</caption>"
    yield "<tr>"
    for head in ("Rank", "Feature", *(name for name, _ in columns)):
        yield f'<th scope="col">{escape(head)}</th>'
    yield "</tr>"
    for feature in shown:
        name = f"x{feature}" if names is None else str(names[feature])
        yield f'<tr><td>{selector.ranking_[feature]}</td><th scope="row">{escape(name)}</th>'
        yield "".join(_score(scores, feature) for _, scores in columns)
        yield "</tr>"
    yield "</table>"


def _score(scores: Array, feature: int) -> str:
    """A score and a bar, as long as the largest score of the column allows."""
    top = scores.max()
    width = 100.0 * max(0.0, scores[feature] / top) if top > 0 else 0.0
    bar = f'<span class="bar"><span style="width:{width:.0f}%"></span></span>'
    return f"<td>{bar}{scores[feature]:.3g}</td>"
