"""FSNM as a selector: what `test_robust` says of its problem, and paths over gamma."""

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from cosift import FSNM
from cosift.datasets import make_related_tasks

DATA = make_related_tasks(2, 50, 15, n_shared=3, n_private=1, labeled=0.6, seed=4)
SAMPLES = DATA.X, DATA.y, DATA.tasks


def labeled(task):
    """Samples and one-hot labels that count."""
    rows = (DATA.tasks == task) & (DATA.y != -1)
    return DATA.X[rows], np.eye(3)[DATA.y[rows]]


@pytest.mark.parametrize("gamma", [0.1, 2.0, 8.0])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
def test_against_an_interior_point_method(container, gamma):
    selector = FSNM(gamma, tol=1e-7).fit(container(DATA.X), *SAMPLES[1:])
    optimum = sum(oracles.solve_robust(*labeled(task), gamma).value for task in (0, 1))
    assert selector.objective_ == pytest.approx(optimum, rel=1e-6)
    assert selector.dual_bound_ <= optimum * (1.0 + 1e-8)
    assert selector.converged_


def test_a_few_wrong_labels_weigh_little():
    """A feature that tells two classes apart, but for three rows, keeps its weight."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.column_stack([y + 0.01 * rng.normal(size=60), rng.normal(size=60)])
    wrong = np.where(np.arange(60) < 3, 1 - y, y)
    right, robust = (FSNM(0.1).fit(X, labels) for labels in (y, wrong))
    np.testing.assert_allclose(robust.coef_[:, 0], right.coef_[:, 0], rtol=0.05)
    slope = np.cov(X[:, 0], wrong)[0, 1] / X[:, 0].var()
    assert slope < 0.92  # what squares make of the same labels


def test_the_zero_row_that_ranks_first_is_the_next_to_enter():
    X, Y = DATA.X[DATA.tasks == 0], DATA.y[DATA.tasks == 0]
    members = list(FSNM(tol=1e-9).grid(X, Y, gamma=np.geomspace(16.0, 3.0, 60)))
    entered = [set(np.flatnonzero(member.scores_)) for member in members]
    newcomers = 0
    for before, now, earlier in zip(members, entered[1:], entered[:-1], strict=False):
        if len(now - earlier) == 1:
            (new,) = now - earlier
            assert before.ranking_[new] == len(earlier) + 1
            newcomers += 1
    assert newcomers > 1


@pytest.mark.parametrize("solver", ["auto", "reweighted"])
def test_path_gives_what_cold_fits_give(solver):
    selector = FSNM(solver=solver, tol=1e-6)
    members = list(selector.path(*SAMPLES, n_penalties=6, eps=1e-2))
    gammas = np.array([member.gamma for member in members])
    np.testing.assert_allclose(gammas / gammas[0], np.geomspace(1.0, 1e-2, 6))
    for member in members:
        cold = clone(member).fit(*SAMPLES)
        assert member.converged_
        at_zero = member.history_[0].objective
        assert abs(member.objective_ - cold.objective_) <= 2e-6 * at_zero
        assert member.dual_bound_ <= cold.objective_ * (1.0 + 1e-12)


def test_path_starts_where_nothing_is_selected():
    first, second = list(FSNM().path(*SAMPLES, n_penalties=2, eps=0.5))
    assert not first.coef_.any()
    assert first.n_iter_ == 0
    assert first.converged_
    assert second.coef_.any()


def test_warm_starts_save_iterations():
    members = list(FSNM(tol=1e-8).path(*SAMPLES, n_penalties=12, eps=0.05))
    cold = sum(clone(member).fit(*SAMPLES).n_iter_ for member in members)
    assert sum(member.n_iter_ for member in members) < cold


def test_grid_comes_strongest_first_and_knows_its_weights():
    members = list(FSNM().grid(*SAMPLES, gamma=[1.0, 9.0, 3.0]))
    assert [member.gamma for member in members] == [9.0, 3.0, 1.0]
    with pytest.raises(ValueError, match="FSNM has no alpha: its weights are gamma"):
        FSNM().grid(*SAMPLES, alpha=[1.0])
    with pytest.raises(ValueError, match="gamma must be a number above 0"):
        FSNM().grid(*SAMPLES, gamma=[1.0, 0.0])


def test_constant_samples_have_no_path():
    with pytest.raises(ValueError, match="There is no path"):
        FSNM().path(np.ones((100, 3)), *SAMPLES[1:])


def test_columns_of_y_share_one_factorisation(monkeypatch):
    from cosift.selectors import fsnm

    made = []

    class Counting(fsnm.CenteredRidge):
        def __init__(self, X):
            made.append(X.shape)
            super().__init__(X)

    monkeypatch.setattr(fsnm, "CenteredRidge", Counting)
    columns = np.eye(3, dtype=int)[DATA.y_true[:50]]
    columns[::2, 1] = -1
    FSNM().fit(DATA.X[:50], columns)
    assert made == [(50, 15), (25, 15)]


def test_history_of_several_tasks_bounds_their_sum():
    """Tasks still to come stand at W = 0, with the bound 0."""
    selector = FSNM(2.0, tol=1e-8).fit(*SAMPLES)
    optimum = sum(oracles.solve_robust(*labeled(task), 2.0).value for task in (0, 1))
    objectives = [line.objective for line in selector.history_]
    assert (np.diff(objectives) <= 1e-12).all()
    for line in selector.history_:
        assert line.dual_bound <= optimum * (1.0 + 1e-8)
        assert line.objective >= optimum * (1.0 - 1e-8)
    iterations = [line.iteration for line in selector.history_]
    assert iterations == sorted(iterations)
