"""What an experiment will do, as plain values that can be stored, compared and checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np

from cosift._sharing import digest
from cosift.datasets import Dataset
from cosift.datasets.splits import KINDS
from cosift.labels import read_tasks
from cosift.methods import make_method
from cosift.selectors._parameters import check_number, check_option

__all__ = ["PAPER_METHODS", "PAPER_SETTINGS", "TUNING", "Plan", "PlanError", "Unit", "fingerprint"]

TUNING = ("oracle", "cv")
SCALING = ("standard", "none")
# Fields whose order means nothing.
SETS = ("methods", "labeled_percent", "weights", "n_features", "C")
REALS = ("labeled_percent", "weights", "C")
PERCENTS = (1.0, 5.0, 10.0, 25.0, 50.0, 100.0)
WEIGHTS = (1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6)
# Numbers of features to try unless told, as shares of all.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)

PAPER_METHODS = (
    "all-features",
    "fisher-score",
    "spec",
    "fsnm",
    "fssi",
    "lsdf",
    "sfss",
    "sfmc",
)
# The settings of the paper that differ between its datasets; it calls 2% of HMDB's labels 1%.
PAPER_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "ccv": {"n_train": 4_000, "n_features": tuple(range(2_500, 5_001, 500))},
    "nuswide": {"n_train": 5_000, "n_features": tuple(range(250, 501, 25))},
    "hmdb": {
        "n_train": 3_000,
        "n_features": tuple(range(1_000, 2_001, 200)),
        "labeled_percent": (2.0, *PERCENTS[1:]),
    },
    "humaneva": {"n_train": 3_000, "n_features": tuple(range(100, 161, 10))},
}


class PlanError(ValueError):
    """A plan that cannot be run; the message lists every reason.

    Attributes
    ----------
    problems : list of str
        The reasons, a sentence or two each.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(["The plan cannot be run:", *(f"  - {p}" for p in problems)]))
        self.problems = problems

    def __reduce__(self) -> tuple[type[Self], tuple[list[str]]]:
        return type(self), (self.problems,)


class Unit(NamedTuple):
    """The piece of an experiment that is run, stored and lost as a whole."""

    repeat: int
    labeled_percent: float
    method: str

    def __str__(self) -> str:
        return f"{self.method}, {self.labeled_percent:g}% labelled, repeat {self.repeat + 1}"


@dataclass(frozen=True)
class Plan:
    """Everything that decides the results of an experiment on one dataset.

    Attributes
    ----------
    dataset, fingerprint : str
        Name and digest of the data, see `fingerprint`.
    methods : tuple of str
        Methods as text, see `cosift.methods`.
    n_train : int or float
        Training rows of all tasks together, or their share if below 1.
    n_features : tuple of int
        Numbers of features to try.
    labeled_percent : tuple of float
        Percentages of the training rows that show their labels.
    repeats : int
        Independent draws of the training rows.
    split : {"rows", "groups", "official"}
        How training and test rows are told apart, see `cosift.datasets.split`.
    n_neighbors : int
        Size k of the cliques of methods with a graph and a grid.
    weights : tuple of float
        Values for each of alpha, beta and gamma; a grid holds all their combinations.
    tuning : {"cv", "oracle"}
        What picks weights and number of features: "cv" cross-validation on the labelled training
        rows; "oracle" the best result on the test rows, as in the paper.
    folds : int
        Folds of every cross-validation.
    C : tuple of float
        Of the linear SVM; of several, cross-validation picks one.
    scaling : {"standard", "none"}
        "standard" gives every feature mean 0 (dense data only) and standard deviation 1 over the
        training rows; "none" leaves features as they are.
    seed : int
        What all draws follow from.

    Examples
    --------
    >>> data = Dataset("tiny", np.eye(8), np.arange(8) % 2)
    >>> plan = Plan.of(data, ["fisher-score"], labeled_percent=[50], repeats=2)
    >>> [str(unit) for unit in plan.units()]
    ['fisher-score, 50% labelled, repeat 1', 'fisher-score, 50% labelled, repeat 2']
    """

    dataset: str
    fingerprint: str
    methods: tuple[str, ...]
    n_train: int | float
    n_features: tuple[int, ...]
    labeled_percent: tuple[float, ...] = PERCENTS
    repeats: int = 5
    split: str = "rows"
    n_neighbors: int = 15
    weights: tuple[float, ...] = WEIGHTS
    tuning: str = "cv"
    folds: int = 3
    C: tuple[float, ...] = (1.0,)
    scaling: str = "standard"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in SETS:
            value = getattr(self, name)
            if isinstance(value, (str, int, float)) or not isinstance(value, Iterable):
                value = (value,)
            object.__setattr__(self, name, tuple(_plain(item, name in REALS) for item in value))

    @classmethod
    def of(cls, data: Dataset, methods: Iterable[str], **settings: Any) -> Self:
        """A plan for some data, with defaults that suit it, checked.

        Parameters
        ----------
        data : Dataset
            What to compare the methods on.
        methods : iterable of str
            Methods as text.
        **settings
            Other fields.  Half of the rows are trained on by default, whole groups on one side if
            ``data.groups`` are known; numbers of features above the data's count as all of them.

        Returns
        -------
        Plan
            The plan.

        Raises
        ------
        PlanError
            If it cannot be run.
        """
        d = data.X.shape[1]
        given = {
            "n_train": 0.5,
            "split": "rows" if data.groups is None else "groups",
            "n_features": [max(1, round(share * d)) for share in SHARES],
            **settings,
        }
        if isinstance(given["n_features"], Iterable):
            given["n_features"] = sorted({min(k, d) for k in given["n_features"]})
        plan = cls(data.name, fingerprint(data), tuple(methods), **given)
        plan.check(data)
        return plan

    @classmethod
    def paper(cls, name: str, data: Dataset, **settings: Any) -> Self:
        """The paper's plan for one of its datasets, see `of` for the arguments.

        Training rows are drawn row by row and the oracle tunes, since the paper does so.
        """
        check_option("name", name, PAPER_SETTINGS)
        given = {"split": "rows", "tuning": "oracle", **PAPER_SETTINGS[name], **settings}
        return cls.of(data, given.pop("methods", PAPER_METHODS), **given)

    def units(self) -> list[Unit]:
        """All units in the order of running: draws, within them label shares, then methods."""
        percents = sorted(self.labeled_percent)
        repeats = range(self.repeats)
        return [Unit(r, p, method) for r in repeats for p in percents for method in self.methods]

    def check(self, data: Dataset | None = None) -> None:
        """Raise a PlanError with all that is wrong with the plan, or with it for some data."""
        problems = list(self._problems())
        if data is not None:
            problems += _misfits(self, data)
        if problems:
            raise PlanError(problems)

    def to_json(self) -> str:
        """The plan as text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Inverse of `to_json`; nothing is checked but that the fields are those of a plan."""
        values = json.loads(text)
        known = {field.name for field in fields(cls)}
        given = set(values) if isinstance(values, dict) else set()
        if given != known:
            odd = ", ".join(sorted(given ^ known))
            raise ValueError(f"The stored plan is of another version of cosift: fields {odd}.")
        return cls(**values)

    def difference(self, other: Plan) -> list[str]:
        """How another plan differs from this one, a line a field; nothing if only in order.

        Examples
        --------
        >>> plan = Plan("tiny", "f00", ("spec", "lsdf"), 100, (5,), seed=1)
        >>> other = Plan("tiny", "f00", ("lsdf", "sfmc", "sfss"), 100, (5,), seed=2)
        >>> plan.difference(other)
        ["methods: without 'spec', with 'sfmc', 'sfss'", 'seed: 2 instead of 1']
        """
        lines = []
        for field in fields(self):
            old, new = getattr(self, field.name), getattr(other, field.name)
            if field.name not in SETS:
                if old != new:
                    lines.append(f"{field.name}: {new!r} instead of {old!r}")
                continue
            parts = {
                "without": [value for value in old if value not in new],
                "with": [value for value in new if value not in old],
            }
            changes = [
                f"{word} {', '.join(map(repr, values))}" for word, values in parts.items() if values
            ]
            if changes:
                lines.append(f"{field.name}: {', '.join(changes)}")
        return lines

    def _problems(self) -> Iterator[str]:
        checks: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
            (check_number, ("repeats", self.repeats), {"at_least": 1, "integer": True}),
            (check_number, ("n_train", self.n_train), {"above": 0}),
            (check_option, ("split", self.split, KINDS), {}),
            (check_number, ("n_neighbors", self.n_neighbors), {"at_least": 1, "integer": True}),
            (check_option, ("tuning", self.tuning, TUNING), {}),
            (check_number, ("folds", self.folds), {"at_least": 2, "integer": True}),
            (check_option, ("scaling", self.scaling, SCALING), {}),
            (check_number, ("seed", self.seed), {"at_least": 0, "integer": True}),
        ]
        for name, bounds in {
            "labeled_percent": {"above": 0},
            "weights": {"above": 0},
            "n_features": {"at_least": 1, "integer": True},
            "C": {"above": 0},
        }.items():
            label = f"every value of {name}"
            checks += [(check_number, (label, value), bounds) for value in getattr(self, name)]
        checks += [(make_method, (method,), {}) for method in self.methods]
        for check, arguments, bounds in checks:
            try:
                check(*arguments, **bounds)
            except ValueError as error:
                yield str(error)
        for percent in self.labeled_percent:
            if isinstance(percent, float) and percent > 100:
                yield f"every value of labeled_percent must be at most 100. Got {percent:g}."
        for name in SETS:
            values = getattr(self, name)
            if not values:
                yield f"{name} must hold at least one value. Got none."
            twice = sorted({str(value) for value in values if values.count(value) > 1})
            if twice:
                yield f"{name} must hold every value once. Got {', '.join(twice)} more than once."


def fingerprint(data: Dataset) -> str:
    """A digest of what results depend on: samples, labels, tasks, groups, split and truth.

    Examples
    --------
    >>> data = Dataset("tiny", np.eye(4), np.array([0, 1, 0, 1]))
    >>> fingerprint(data) == fingerprint(Dataset("other name", np.eye(4), data.y.copy()))
    True
    """
    truth = data.truth and [data.truth.shared, *map(data.truth.of, data.truth.private)]
    return digest(data.X, data.y, data.tasks, data.groups, data.official_test, *(truth or ()))


def _misfits(plan: Plan, data: Dataset) -> Iterator[str]:
    n, d = data.X.shape
    if plan.fingerprint != fingerprint(data):
        yield (
            f"the data must be what the plan was made for. {data.name} has another fingerprint: "
            "its samples, labels, tasks or groups differ."
        )
    too_many = [k for k in plan.n_features if isinstance(k, int) and k > d]
    if too_many:
        yield f"n_features must be at most {d}, the features of {data.name}. Got {too_many[0]}."
    if isinstance(plan.n_train, int) and plan.n_train >= n:
        yield f"n_train must be below {n}, the samples of {data.name}. Got {plan.n_train}."
    if plan.split == "groups" and data.groups is None:
        yield f"split='groups' needs groups of samples; {data.name} has none."
    if plan.split == "official" and data.official_test is None:
        yield f"split='official' needs an official split; {data.name} has none."
    try:
        tasks = read_tasks(data.named_y, data.tasks, unlabeled=None, n_samples=n)
    except ValueError as error:
        yield str(error)
        return
    unlabeled = sum(int((~task.labeled).sum()) for task in tasks)
    if unlabeled:
        yield (
            f"every sample must have its label, since labels are hidden by the experiment itself. "
            f"Got {unlabeled} missing in {data.name}; drop these samples."
        )


def _plain(value: Any, real: bool) -> Any:
    """NumPy's numbers as Python's, and 1 as 1.0 where both mean the same."""
    value = value.item() if isinstance(value, np.generic) else value
    return float(value) if real and type(value) is int else value
