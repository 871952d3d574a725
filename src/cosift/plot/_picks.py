"""Which features methods chose, over repeats, and how they scored them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import altair as alt
import numpy as np

from cosift._typing import Array, Indices
from cosift.experiment.results import Results
from cosift.plot._choices import choice, percent_choice, percent_name
from cosift.plot._style import in_order

__all__ = ["Picks", "picks", "told_apart"]

# A share of labels, as text, and a method.
Key = tuple[str, str]


@dataclass(frozen=True)
class Picks:
    """Features that were chosen, by share of labels and method.

    Attributes
    ----------
    features, tasks : list of str
        Their names; features that share one are told apart.
    methods : tuple of str
        Methods as text that have scores for features, so not all features alike.
    scores : dict of ndarray of shape (tasks, d)
        Mean over repeats of scores, each scaled to 0 ... 1 within its task.
    ranked : dict of dict of ndarray of shape (tasks, k)
        Features chosen in each repeat, best first.
    truth : list of set, optional
        For each task the features known to matter.
    percents : Parameter
        The parameter ``percent``.
    """

    features: list[str]
    tasks: list[str]
    methods: tuple[str, ...]
    scores: dict[Key, Array]
    ranked: dict[Key, dict[int, Indices]]
    truth: list[set[int]] | None
    percents: alt.Parameter

    @property
    def n_best(self) -> int:
        """As many features as every choice has, and a tenth of all at most."""
        sizes = [len(own[0]) for units in self.ranked.values() for own in units.values()]
        return max(1, min([*sizes, len(self.features) // 10]))

    def choices(self) -> tuple[alt.Parameter, alt.Parameter]:
        """The parameters ``percent`` and ``method``."""
        methods = list(dict.fromkeys(method for _, method in self.scores)) or [""]
        return self.percents, choice("method", methods)


def picks(source: Any) -> Picks:
    """What a run or a fitted selector chose.

    Parameters
    ----------
    source : Results or fitted selector
        A selector's choice is of the one share of labels "".
    """
    return _of_results(source) if isinstance(source, Results) else _of_selector(source)


@lru_cache(maxsize=1)
def _of_results(results: Results) -> Picks:
    about = results.about
    names = about["feature_names"] or [f"x{i}" for i in range(about["n_features"])]
    truth = about["truth"]
    scores: dict[Key, Array] = {}
    ranked: dict[Key, dict[int, Indices]] = {}
    methods = []
    for method in in_order(results.plan.methods):
        sums: dict[str, Array] = {}
        units: dict[str, dict[int, Indices]] = {}
        for unit, arrays in results.each(method):
            percent = percent_name(unit.labeled_percent)
            scaled = _scaled(arrays["task_scores"])
            sums[percent] = sums[percent] + scaled if percent in sums else scaled
            units.setdefault(percent, {})[unit.repeat] = arrays["selected"]
        if not any(total.any() for total in sums.values()):
            continue
        methods.append(method)
        for percent in sorted(sums, key=lambda text: float(text[:-1])):
            scores[percent, method] = sums[percent] / len(units[percent])
            ranked[percent, method] = units[percent]
    return Picks(
        told_apart(names),
        about["tasks"],
        tuple(methods),
        scores,
        ranked,
        None if truth is None else [set(truth[task]) for task in about["tasks"]],
        percent_choice(results),
    )


def _of_selector(selector: Any) -> Picks:
    d = selector.n_features_in_
    names = getattr(selector, "feature_names_in_", [f"x{i}" for i in range(d)])
    key = ("", type(selector).__name__)
    k = int(selector.get_support().sum())
    ranked = np.argsort(selector.task_ranking_, axis=1, kind="stable")[:, :k]
    return Picks(
        told_apart([str(name) for name in names]),
        [str(task) for task in selector.tasks_],
        (key[1],),
        {key: _scaled(selector.task_scores_)},
        {key: {0: ranked}},
        None,
        choice("percent", [""]),
    )


def told_apart(names: Sequence[str]) -> list[str]:
    """Names, with the position behind those that occur more than once."""
    times = Counter(names)
    return [name if times[name] == 1 else f"{name} ({i})" for i, name in enumerate(names)]


def _scaled(scores: Array) -> Array:
    """Scores from 0 to 1 within each task, 0 where all are alike."""
    low = np.nanmin(scores, axis=1, keepdims=True)
    span = np.nanmax(scores, axis=1, keepdims=True) - low
    scaled = np.divide(scores - low, span, out=np.zeros(scores.shape), where=span > 0)
    return np.asarray(np.nan_to_num(scaled))
