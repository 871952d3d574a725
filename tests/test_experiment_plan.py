"""Plans: values that are checked, stored and compared."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from experiments import annotated_data, tiny_data, tiny_plan

from cosift.datasets import Dataset
from cosift.experiment import PAPER_METHODS, PAPER_SETTINGS, Plan, PlanError
from cosift.experiment.plan import fingerprint

DATA = tiny_data()


def test_units_are_all_combinations_once():
    plan = tiny_plan(DATA)
    combinations = itertools.product(range(2), (20.0, 100.0), plan.methods)
    assert sorted(plan.units()) == sorted(combinations)


def test_json_keeps_the_order_and_comparison_ignores_it():
    plan = tiny_plan(DATA)
    assert Plan.from_json(plan.to_json()).difference(plan) == []
    json.loads(plan.to_json())
    turned = replace(plan, methods=plan.methods[::-1], labeled_percent=(100, 20), weights=(10, 0.1))
    assert turned.difference(plan) == []
    assert Plan.from_json(turned.to_json()).methods == turned.methods


def test_json_of_another_version_is_refused_with_the_fields():
    values = json.loads(tiny_plan(DATA).to_json())
    values["colour"] = values.pop("seed")
    with pytest.raises(ValueError, match="colour, seed"):
        Plan.from_json(json.dumps(values))


def test_numpy_numbers_are_plain():
    plan = tiny_plan(DATA, n_features=np.arange(2, 5), weights=np.logspace(-1, 1, 3))
    assert Plan.from_json(plan.to_json()) == plan


def test_difference_names_every_field():
    plan = tiny_plan(DATA)
    other = replace(plan, repeats=7, methods=("spec",), C=(1, 2), dataset="other")
    fields = [line.partition(":")[0] for line in plan.difference(other)]
    assert fields == ["dataset", "methods", "repeats", "C"]


def test_all_problems_are_told_at_once():
    wrong = {
        "repeats": 0,
        "n_train": -1,
        "split": "stars",
        "n_neighbors": 1.5,
        "tuning": "guess",
        "folds": 1,
        "scaling": "none of it",
        "seed": -1,
        "labeled_percent": (0, 101, 5, 5),
        "weights": (-1, float("nan")),
        "n_features": (0, 2.5, 99),
        "C": (),
        "methods": ("sfmcc", "sfmc(alpha=", "no_such_package:thing"),
    }
    with pytest.raises(PlanError) as caught:
        replace(tiny_plan(DATA), **wrong).check(DATA)
    problems = caught.value.problems
    for name in set(wrong) - {"methods"}:
        assert any(name in problem for problem in problems), name
    assert sum("weights" in problem for problem in problems) == 2
    for text in ("sfmcc", "'sfmc(alpha='", "no_such_package", "at most 10", "more than once"):
        assert text in str(caught.value)
    assert all(problem.endswith(".") for problem in problems)


@pytest.mark.parametrize(
    ("data", "settings", "reason"),
    [
        (DATA, {"n_train": 60}, "below 60"),
        (DATA, {"split": "groups"}, "groups of samples"),
        (DATA, {"split": "official"}, "official split"),
        (Dataset("gaps", np.eye(4), np.array([0, 1, np.nan, 1])), {}, "1 missing"),
        (Dataset("one", np.eye(4), np.zeros(4)), {}, "one class only"),
        (Dataset("sea", np.eye(4), np.eye(4, 2) * 0, target_names=("a", "b")), {}, "column 'a'"),
    ],
)
def test_misfits_of_plan_and_data(data, settings, reason):
    with pytest.raises(PlanError, match=reason):
        Plan.of(data, ["fisher-score"], **{"n_features": [2], **settings})


def test_other_data_are_refused():
    with pytest.raises(PlanError, match="another fingerprint"):
        tiny_plan(DATA).check(tiny_data(seed=2))


def test_fingerprint_sees_everything_that_matters():
    X, y = np.arange(12.0).reshape(4, 3), np.array(["a", "b", "a", "b"], dtype=object)
    changed = X.copy()
    changed[2, 1] += 1e-12
    variants = [
        Dataset("x", X, y),
        Dataset("x", changed, y),
        Dataset("x", sp.csr_array(X), y),
        Dataset("x", X, y[::-1]),
        Dataset("x", X, y, tasks=np.array([0, 0, 1, 1])),
        Dataset("x", X, y, groups=np.array([0, 0, 1, 1])),
        Dataset("x", X, y, official_test=np.array([True, False, True, False])),
    ]
    assert len({fingerprint(data) for data in variants}) == len(variants)
    assert fingerprint(Dataset("x", np.asfortranarray(X), y)) == fingerprint(variants[0])


def test_defaults_suit_the_data():
    groups = np.repeat(np.arange(12), 5)
    plan = Plan.of(tiny_data(groups=groups), ["spec"])
    assert plan.split == "groups"
    assert plan.tuning == "cv"
    assert max(plan.n_features) == 10
    assert Plan.of(DATA, ["spec"], n_features=[3, 50, 60]).n_features == (3, 10)
    Plan.of(annotated_data(), ["spec"])


@pytest.mark.parametrize("name", PAPER_SETTINGS)
def test_paper_settings(name):
    methods = [method for method in PAPER_METHODS if method != "fsnm"]
    plan = Plan.paper(name, DATA, methods=methods, n_train=0.5)
    assert (plan.tuning, plan.split, plan.repeats, plan.n_neighbors) == ("oracle", "rows", 5, 15)
    assert plan.weights == tuple(10.0**e for e in range(-6, 7, 2))
    assert len(plan.labeled_percent) == 6
    assert plan.n_features == (10,)  # all, where the paper asks for more


def test_paper_settings_by_name():
    with pytest.raises(ValueError, match="'humaneva'"):
        Plan.paper("human-eva", DATA)
