"""Grids and paths: the same answers as one fit after another, with what they share shared."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from cosift import FSSI, SFMC, SFSS, L21LeastSquares
from cosift.datasets import make_related_tasks
from cosift.selectors import _convex

DATA = make_related_tasks(
    n_tasks=2, n_samples=50, n_features=15, n_shared=3, n_private=1, labeled=0.4, seed=5
)
SAMPLES = (DATA.X, DATA.y, DATA.tasks)
SELECTORS = {
    "SFMC": SFMC(alpha=2.0, beta=0.3, gamma=1.0, tol=1e-9),
    "SFMC, alpha large": SFMC(alpha=20.0, beta=0.03, gamma=1.0, tol=1e-9),
    "SFMC, gamma large": SFMC(alpha=0.5, beta=1.2, gamma=5.0, tol=1e-9),
    "SFSS": SFSS(alpha=2.0, beta=0.3, tol=1e-9),
    "FSSI": FSSI(alpha=1.0, gamma=3.0, tol=1e-9),
    "L21LeastSquares": L21LeastSquares(alpha=1.0, tol=1e-9),
}
every_selector = pytest.mark.parametrize("name", SELECTORS)


def weights_of(selector):
    params = selector.get_params()
    return {name: params[name] for name in ("alpha", "beta", "gamma") if name in params}


def assert_as_if_fitted_alone(member, samples=SAMPLES):
    """A cold fit with the member's own parameters is the oracle."""
    cold = clone(member).fit(*samples)
    assert member.converged_
    np.testing.assert_allclose(member.objective_, cold.objective_, rtol=2e-9)
    np.testing.assert_allclose(member.coef_, cold.coef_, atol=2e-4)
    np.testing.assert_allclose(member.intercept_, cold.intercept_, atol=2e-3)
    if hasattr(cold, "transduction_"):
        for ours, theirs in zip(member.transduction_, cold.transduction_, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-3)


@pytest.fixture
def counts(monkeypatch):
    """How often the costly steps run."""
    counted = Counter()
    graph = _convex.local_graph

    def local_graph(*args):
        counted["graph"] += 1
        return graph(*args)

    monkeypatch.setattr(_convex, "local_graph", local_graph)
    for name in ("SemiSupervisedSamples", "SupervisedSamples"):

        class Counting(getattr(_convex, name)):
            def __init__(self, *args):
                counted["samples"] += 1
                super().__init__(*args)

            def statistics(self, mu):
                counted["statistics"] += 1
                return super().statistics(mu)

        monkeypatch.setattr(_convex, name, Counting)
    return counted


# Grids


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("SFMC", {"alpha": [0.5, 2.0, 30.0], "beta": [0.1, 0.4], "gamma": [0.0, 1.0, 8.0]}),
        ("SFMC", {"gamma": [3.0]}),
        ("SFMC", {}),
        ("SFSS", {"alpha": [0.5, 2.0, 30.0], "beta": [0.1, 0.4]}),
        ("FSSI", {"alpha": [0.5, 5.0, 50.0], "gamma": [0.0, 2.0, 10.0]}),
        ("L21LeastSquares", {"alpha": iter([0.5, 5.0])}),
    ],
)
def test_grid_gives_what_fits_one_by_one_give(name, values):
    values = {weight: list(own) for weight, own in values.items()}
    selector = SELECTORS[name]
    members = list(selector.grid(*SAMPLES, **values))
    expected = {weight: values.get(weight, [own]) for weight, own in weights_of(selector).items()}
    combinations = {tuple(weights_of(member).values()) for member in members}
    assert len(combinations) == len(members) == np.prod([len(v) for v in expected.values()])
    for position, own in enumerate(expected.values()):
        assert {combination[position] for combination in combinations} == set(own)
    for member in members:
        assert type(member) is type(selector)
        assert_as_if_fitted_alone(member)


def test_grid_comes_in_the_documented_order():
    members = SFMC(tol=1e-3).grid(*SAMPLES, alpha=[0.1, 1, 10], beta=[1, 10], gamma=[1, 3, 2])
    weights = [(m.alpha * m.beta, m.alpha, m.gamma) for m in members]
    assert len(weights) == 18
    assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize(
    ("name", "statistics"), [("SFMC", 2 * 5), ("SFSS", 2 * 5), ("FSSI", 2), ("L21LeastSquares", 2)]
)
def test_grid_computes_what_mu_fixes_once(name, statistics, counts):
    """Three times three products, of which five differ: 0.1 * 0.1 and 0.01 * 1 are one mu."""
    selector = clone(SELECTORS[name]).set_params(tol=1e-3)
    values = {"alpha": [0.1, 1.0, 10.0], "beta": [0.01, 0.1, 1.0], "gamma": [1.0, 2.0]}
    values = {weight: own for weight, own in values.items() if weight in weights_of(selector)}
    n_cells = np.prod([len(own) for own in values.values()])
    assert len(list(selector.grid(*SAMPLES, **values))) == n_cells
    assert counts["samples"] == 2
    assert counts["statistics"] == statistics
    assert counts["graph"] == (2 if "SF" in name[:2] else 0)


def test_nearly_equal_mu_are_one_and_others_are_not(counts):
    assert 0.1 * 3.0 != 0.3 * 1.0
    list(SFMC(tol=1e-3).grid(*SAMPLES, alpha=[0.1, 0.3], beta=[1.0, 3.0], gamma=[1.0]))
    assert counts["statistics"] == 2 * 3  # 0.1, 0.3 twice, 0.9
    counts.clear()
    list(SFMC(alpha=1.0, tol=1e-3).grid(*SAMPLES, beta=[1.0, 1.0 + 1e-9]))
    assert counts["statistics"] == 2 * 2


def test_columns_of_y_share_what_they_can(counts):
    X, labels = DATA.X[:50], DATA.y_true[:50]
    columns = (labels[:, None] == np.arange(3)).astype(int)
    columns[::2, 1] = -1
    list(SELECTORS["SFMC"].grid(X, columns, gamma=[1.0, 2.0]))
    assert counts == {"graph": 1, "samples": 2, "statistics": 2}


def test_warm_starts_save_iterations():
    values = {"alpha": np.geomspace(20.0, 2.0, 6), "gamma": np.geomspace(20.0, 2.0, 6)}
    members = list(FSSI(tol=1e-8).grid(*SAMPLES, **values))
    cold = sum(clone(member).fit(*SAMPLES).n_iter_ for member in members)
    assert sum(member.n_iter_ for member in members) < cold


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_grid_and_path_of_sparse_samples(kind):
    samples = (kind(np.where(np.abs(DATA.X) < 0.3, 0.0, DATA.X)), *SAMPLES[1:])
    for member in SELECTORS["SFMC"].grid(*samples, gamma=[0.5, 2.0]):
        assert_as_if_fitted_alone(member, samples)
    for member in SELECTORS["FSSI"].path(*samples, n_penalties=3):
        assert_as_if_fitted_alone(member, samples)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("FSSI", {"beta": [1.0]}, r"FSSI has no beta: its weights are alpha, gamma\. Got beta="),
        ("SFSS", {"gamma": [1.0]}, "SFSS has no gamma"),
        ("SFMC", {"alpha": []}, "alpha must hold at least one value"),
        ("SFMC", {"alpha": [1.0, -2.0]}, "alpha must be a number above 0. Got -2.0"),
        ("SFMC", {"alpha": [1.0, 1e-300], "beta": [1e-300]}, r"alpha \* beta must be"),
    ],
)
def test_grid_refuses_before_it_starts(name, values, message, counts):
    with pytest.raises(ValueError, match=message):
        SELECTORS[name].grid(*SAMPLES, **values)
    assert not counts


# Paths


@every_selector
def test_path_starts_where_the_first_feature_is_about_to_enter(name):
    """Both sides of the threshold."""
    first = next(SELECTORS[name].path(*SAMPLES))
    assert not first.coef_.any()
    assert first.converged_
    just_below = clone(first)
    weights = weights_of(first)
    for weight in {"alpha", "gamma"} & set(weights):
        just_below.set_params(**{weight: 0.999 * weights[weight]})
    if "beta" in weights:
        just_below.set_params(beta=weights["beta"] / 0.999)
    assert not clone(first).fit(*SAMPLES).coef_.any()
    assert just_below.fit(*SAMPLES).coef_.any()


@every_selector
def test_path_gives_what_cold_fits_with_its_parameters_give(name):
    for member in SELECTORS[name].path(*SAMPLES, n_penalties=8, eps=1e-2):
        assert_as_if_fitted_alone(member)


@every_selector
def test_path_scales_the_penalty_and_nothing_else(name):
    selector = SELECTORS[name]
    own = weights_of(selector)
    members = [weights_of(member) for member in selector.path(*SAMPLES, n_penalties=5, eps=0.01)]
    scales = np.array([member["alpha"] for member in members]) / own["alpha"]
    np.testing.assert_allclose(scales / scales[0], np.geomspace(1.0, 0.01, 5))
    for scale, member in zip(scales, members, strict=True):
        if "beta" in own:
            np.testing.assert_allclose(member["alpha"] * member["beta"], own["alpha"] * own["beta"])
        if "gamma" in own:
            np.testing.assert_allclose(member["gamma"], scale * own["gamma"])


@every_selector
def test_path_computes_the_statistics_once(name, counts):
    assert len(list(SELECTORS[name].path(*SAMPLES, n_penalties=4))) == 4
    assert counts["samples"] == counts["statistics"] == 2


def test_path_has_twenty_members_down_to_a_thousandth():
    alphas = [member.alpha for member in L21LeastSquares().path(*SAMPLES)]
    assert len(alphas) == 20
    assert alphas[-1] / alphas[0] == pytest.approx(1e-3)
    assert len(list(L21LeastSquares().path(*SAMPLES, n_penalties=1))) == 1


def test_path_of_one_norm_starts_at_the_closed_form():
    """Without a trace norm it is the largest row of ``2 X'(Y - mean)`` over all tasks."""
    largest = 0.0
    for task in (0, 1):
        rows = (DATA.tasks == task) & (DATA.y != -1)
        Y = np.eye(3)[DATA.y[rows]]
        largest = max(largest, np.linalg.norm(2 * DATA.X[rows].T @ (Y - Y.mean(0)), axis=1).max())
    first = next(L21LeastSquares().path(*SAMPLES))
    assert first.alpha == pytest.approx(largest, rel=1e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_penalties": 0}, "n_penalties must be an integer of at least 1. Got 0"),
        ({"eps": 0.0}, "eps must be a number above 0 and below 1. Got 0.0"),
        ({"eps": 1.0}, "eps must be a number above 0 and below 1. Got 1.0"),
    ],
)
def test_path_refuses_before_it_starts(arguments, message, counts):
    with pytest.raises(ValueError, match=message):
        SELECTORS["SFMC"].path(*SAMPLES, **arguments)
    assert not counts


@every_selector
def test_constant_samples_have_no_path(name):
    with pytest.raises(ValueError, match="There is no path"):
        SELECTORS[name].path(np.ones((100, 3)), *SAMPLES[1:])


# Members of either


@pytest.mark.parametrize("method", ["grid", "path"])
def test_members_are_selectors_of_their_own(method):
    names = [f"gene {j}" for j in range(15)]
    table = pd.DataFrame(DATA.X, columns=names)
    selector = clone(SELECTORS["SFMC"]).set_params(n_features_to_select=4)
    selector.set_output(transform="pandas")
    for member in getattr(selector, method)(table, *SAMPLES[1:]):
        assert member.feature_names_in_.tolist() == names
        assert list(member.transform(table, task=1).columns) == [
            names[j] for j in member.get_support(indices=True, task=1)
        ]
    with pytest.raises(NotFittedError):
        selector.get_support()
    assert selector.alpha == SELECTORS["SFMC"].alpha
    assert not hasattr(selector, "n_features_in_")


def test_the_warning_says_which_member_did_not_converge():
    selector = SFMC(max_iter=2, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match=r"SFMC\(alpha=0.5, beta=1, gamma=0.25\) did not"):
        list(selector.grid(*SAMPLES, alpha=[0.5], gamma=[0.25]))
