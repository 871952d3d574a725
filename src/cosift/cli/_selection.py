"""What a fitted selector chose, as tables and plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from rich.table import Table

from cosift.cli._common import plain
from cosift.experiment.draw import task_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosift.datasets import Dataset

__all__ = ["Selection"]

# What a terminal shows; files hold everything.
MOST_ROWS, MOST_TASKS = 30, 6


class Choice(NamedTuple):
    """Features that were chosen, best first, and the scores of all."""

    features: NDArray[np.intp]
    scores: NDArray[np.float64]


class Selection:
    """The features that a fitted selector keeps.

    Attributes
    ----------
    together : Choice
        For all tasks together.
    of_task : dict of str to Choice
        For each task by itself; nothing if there is but one.
    names : list of str
        Of all features.
    """

    def __init__(self, data: Dataset, selector: Any) -> None:
        d = data.X.shape[1]
        named = data.feature_names
        self.names = [f"x{j}" for j in range(d)] if named is None else [str(n) for n in named]
        self.together = _choice(selector.ranking_, selector.scores_, selector.get_support())
        self.of_task = {}
        if len(selector.tasks_) > 1:
            self.of_task = {
                name: _choice(ranking, scores, selector.get_support(task=task))
                for name, task, ranking, scores in zip(
                    task_names(data),
                    selector.tasks_.tolist(),
                    selector.task_ranking_,
                    selector.task_scores_,
                    strict=True,
                )
            }
        self._selector = selector

    @property
    def certificate(self) -> dict[str, Any] | None:
        """How near the optimum the answer is, for a method that has one."""
        if not hasattr(self._selector, "dual_gap_"):
            return None
        names = ("objective", "dual_bound", "dual_gap", "converged", "n_iter")
        return {name: getattr(self._selector, f"{name}_") for name in names}

    def certificate_line(self) -> str:
        """The certificate as a sentence."""
        facts = self.certificate
        if facts is None:
            return "No certificate: this method scores features, it minimises nothing."
        gap, objective = facts["dual_gap"], facts["objective"]
        share = f" ({gap / objective:.0e} of it)" if objective else ""
        state = "converged" if facts["converged"] else "NOT converged"
        return (
            f"Certificate: {state} after {facts['n_iter']} iterations; the objective "
            f"{objective:.6g} is at most {gap:.1e} above the least possible{share}."
        )

    def headline(self) -> str:
        """What the table shows."""
        tasks = f" for all {len(self.of_task)} tasks together" if self.of_task else ""
        return f"The {len(self.together.features)} best of {len(self.names)} features{tasks}"

    def table(self) -> Table:
        """The best features for people to read."""
        features, scores = self.together
        shown = list(self.of_task.items())[:MOST_TASKS]
        table = Table(caption_justify="left")
        table.add_column("rank", justify="right")
        table.add_column("feature", overflow="fold")
        for name in ["score", *(plain(name) for name, _ in shown)]:
            table.add_column(name, justify="right", overflow="fold")
        for rank, j in enumerate(features[:MOST_ROWS].tolist(), 1):
            own = [own.scores[j] for _, own in shown]
            table.add_row(str(rank), plain(self.names[j]), *(f"{s:.4g}" for s in (scores[j], *own)))
        left = [
            f"{count} more {what}"
            for count, what in (
                (len(features) - MOST_ROWS, "features"),
                (len(self.of_task) - MOST_TASKS, "tasks"),
            )
            if count > 0
        ]
        if left:
            table.caption = f"... and {' and '.join(left)}: -o FILE keeps all"
        return table

    def rows(self) -> pl.DataFrame:
        """A row for every chosen feature: first for all tasks (no name), then for each."""
        frames = []
        for task, (features, scores) in [(None, self.together), *self.of_task.items()]:
            columns = {
                "task": pl.Series([task] * len(features), dtype=pl.String),
                "rank": np.arange(1, len(features) + 1),
                "feature": [self.names[j] for j in features],
                "index": features,
                "score": scores[features],
            }
            frames.append(pl.DataFrame(columns))
        return pl.concat(frames)

    def document(self) -> dict[str, Any]:
        """The same as plain values, with the certificate."""
        return {
            "method": str(self._selector),
            "certificate": self.certificate,
            "features": self._plain(self.together),
            "tasks": {name: self._plain(choice) for name, choice in self.of_task.items()},
        }

    def _plain(self, choice: Choice) -> list[dict[str, Any]]:
        features, scores = choice
        return [
            {"rank": rank, "feature": self.names[j], "index": j, "score": float(scores[j])}
            for rank, j in enumerate(features.tolist(), 1)
        ]


def _choice(ranking: NDArray[Any], scores: NDArray[Any], support: NDArray[Any]) -> Choice:
    return Choice(np.argsort(ranking, kind="stable")[: support.sum()], scores)
