"""Bounds hold for any point whatever, and close at the optimum."""

from dataclasses import replace
from functools import cache

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_tasks, semi_supervised_problem, supervised_problem
from scipy.optimize import minimize_scalar

from cosift.certificate import Witness, bound_from, certify, dual_bound, reweighted_witness
from cosift.gauge import gauge
from cosift.solvers import solve

#           d  classes    alpha  beta   gamma
SETTINGS = {
    "one task": (4, (3,), 1.0, 1.0, 1.0),
    "two tasks": (6, (2, 3), 0.3, 2.0, 0.5),
    "d > n": (18, (2, 2), 0.2, 3.0, 0.3),
    "C > d": (3, (2, 3), 0.2, 3.0, 0.3),
    "no trace norm": (6, (2, 3), 0.3, 2.0, 0.0),
    "large mu": (6, (2, 2), 1.0, 1e6, 1.0),
    "small mu": (6, (2, 2), 1e-3, 0.1, 1e-4),
    "W = 0": (6, (2, 2), 1e2, 0.1, 1e2),
    "supervised": (6, (2, 3), 0.3, None, 0.5),
    "supervised, d > n": (18, (2, 2), 0.1, None, 0.1),
}
each_setting = pytest.mark.parametrize("name", list(SETTINGS))


@cache
def tasks_of(name):
    d, classes, *_ = SETTINGS[name]
    return random_tasks(len(name), 12, d, classes)


@cache
def problem_of(name):
    _, _, alpha, beta, gamma = SETTINGS[name]
    if beta is None:
        return supervised_problem(tasks_of(name), alpha, gamma)
    return semi_supervised_problem(tasks_of(name), alpha, beta, gamma)


@cache
def optimum_of(name):
    _, _, alpha, beta, gamma = SETTINGS[name]
    if beta is None:
        return oracles.solve_supervised(tasks_of(name), alpha, gamma)
    return oracles.solve_semi_supervised(tasks_of(name), alpha, beta, gamma)


@cache
def solved(name):
    """The minimiser to a gap that no test below can see."""
    result, _ = solve(problem_of(name), tol=1e-9)
    assert result.converged
    return result.W


def random_matrix(shape, seed, size, sparsity):
    """Rows of very different length, some of them zero."""
    rng = np.random.default_rng(seed)
    rows = 10.0 ** rng.uniform(-3, 3, shape[0]) * (rng.random(shape[0]) >= sparsity)
    return size * rows[:, None] * rng.normal(size=shape)


points = st.tuples(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-12, 1e-6, 1e-3, 1e-1, 1.0, 1e3, 1e8]),
    st.sampled_from([0.0, 0.5, 0.9]),
)


class TestBoundHolds:
    @each_setting
    @settings(deadline=None, max_examples=60)
    @given(V=points, rows=points, near=st.booleans(), share=st.floats(-1.0, 3.0))
    def test_for_any_point_and_any_guess(self, name, V, rows, near, share):
        problem, optimum = problem_of(name), optimum_of(name).value
        V = random_matrix(problem.shape, *V)
        if near:
            V = solved(name) + V
        theta = problem.smooth(V).theta
        for guess in (random_matrix(problem.shape, *rows), theta, share * theta, 0.0 * theta):
            bound = dual_bound(problem, Witness(V, guess))
            assert bound <= optimum * (1.0 + 1e-9)

    @each_setting
    @settings(deadline=None, max_examples=20)
    @given(W=points)
    def test_of_a_certificate(self, name, W):
        problem, optimum = problem_of(name), optimum_of(name).value
        W = random_matrix(problem.shape, *W)
        certificate = certify(problem, W)
        assert certificate.dual_bound <= optimum * (1.0 + 1e-9)
        assert certificate.objective >= optimum * (1.0 - 1e-9)
        assert certificate.objective == problem.objective(W)
        assert certificate.gap == certificate.objective - certificate.dual_bound
        # The witness is enough to redo the bound.
        smooth = problem.smooth(certificate.witness.V)
        upper = gauge(problem.penalty, smooth.theta).upper
        assert bound_from(problem, smooth, upper) >= certificate.dual_bound - 1e-8 * problem.at_zero

    @each_setting
    @settings(deadline=None, max_examples=20)
    @given(W=points, smoothing=st.sampled_from([1e-12, 1e-7, 1e-3, 1.0]))
    def test_of_a_reweighted_point(self, name, W, smoothing):
        problem, optimum = problem_of(name), optimum_of(name).value
        witness = reweighted_witness(problem, random_matrix(problem.shape, *W), smoothing)
        assert dual_bound(problem, witness) <= optimum * (1.0 + 1e-9)

    @each_setting
    def test_is_never_worse_than_the_floor(self, name):
        # tau = 0 is always feasible.
        problem = problem_of(name)
        for seed in range(10):
            V = random_matrix(problem.shape, seed, 1e6, 0.0)
            assert dual_bound(problem, Witness(V, 0.0 * V)) >= problem.floor

    def test_without_any_point(self):
        problem = problem_of("two tasks")
        zero = np.zeros(problem.shape)
        assert problem.floor <= dual_bound(problem, Witness(zero, zero)) <= problem.at_zero


class TestBoundCloses:
    @each_setting
    def test_at_the_solution(self, name):
        problem = problem_of(name)
        certificate = certify(problem, solved(name))
        assert certificate.gap <= 1e-6 * problem.at_zero
        assert certificate.gap >= -1e-12 * problem.at_zero

    @each_setting
    def test_at_the_solution_of_the_interior_point_method(self, name):
        # The certificate knows nothing of how W was found.
        problem, optimum = problem_of(name), optimum_of(name)
        assert certify(problem, optimum.W).gap <= 1e-5 * problem.at_zero

    @each_setting
    def test_gap_is_zero_at_zero_above_the_threshold(self, name):
        problem = problem_of(name)
        threshold = gauge(problem.penalty, 2.0 * problem.linear).upper
        above = replace(problem, penalty=problem.penalty.scaled(threshold * (1.0 + 1e-6)))
        certificate = certify(above, np.zeros(problem.shape))
        assert certificate.objective == problem.at_zero
        assert abs(certificate.gap) <= 1e-9 * problem.at_zero
        # And is not where W = 0 is not optimal.
        below = replace(problem, penalty=problem.penalty.scaled(threshold * 0.5))
        assert certify(below, np.zeros(problem.shape)).gap > 1e-3 * problem.energy

    @pytest.mark.parametrize("name", ["two tasks", "d > n", "supervised"])
    def test_shrinks_on_the_way(self, name):
        problem, W = problem_of(name), solved(name)
        gaps = [certify(problem, (1.0 - share) * W).gap for share in (0.3, 0.1, 0.03, 0.01)]
        assert gaps == sorted(gaps, reverse=True)


class TestLonghand:
    """Primal and dual by the notes' formula over samples, from W alone."""

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("name", ["one task", "two tasks", "d > n", "C > d", "no trace norm"])
    def test_primal_and_dual(self, name, seed):
        _, classes, alpha, beta, gamma = SETTINGS[name]
        problem = problem_of(name)
        W = 0.1 * np.random.default_rng(seed).normal(size=problem.shape)
        longhand = [oracles.Longhand(task, alpha * beta) for task in tasks_of(name)]
        parts = np.split(W, np.cumsum(classes)[:-1], axis=1)

        smooth = sum(one.value(part) for one, part in zip(longhand, parts, strict=True))
        primal = smooth + oracles.penalty(W, classes, alpha, gamma)
        assert certify(problem, W).objective == pytest.approx(primal, rel=1e-8)

        theta = np.hstack(
            [-one.X.T @ one.multiplier(part) for one, part in zip(longhand, parts, strict=True)]
        )
        found = problem.smooth(W)
        np.testing.assert_allclose(found.theta, theta, rtol=1e-6, atol=1e-7 * np.abs(theta).max())

        def dual(tau):
            return sum(one.dual(part, tau) for one, part in zip(longhand, parts, strict=True))

        # Theta / truth is on the edge of the dual ball: no larger tau is feasible.
        truth = oracles.dual_norm(theta, np.array(classes), alpha, gamma)
        best = -minimize_scalar(
            lambda tau: -dual(tau), bounds=(0.0, 1.0 / truth), options={"xatol": 1e-12}
        ).fun
        best = max(best, dual(1.0 / truth), dual(0.0))
        assert bound_from(problem, found, truth) == pytest.approx(best, rel=1e-7)
        assert dual(0.0) == pytest.approx(problem.floor, rel=1e-8)
        for guess in (theta, np.zeros_like(theta)):
            assert dual_bound(problem, Witness(W, guess)) <= best * (1.0 + 1e-7)

    @pytest.mark.parametrize("name", ["two tasks", "d > n", "C > d"])
    def test_strong_duality(self, name):
        _, classes, alpha, beta, _ = SETTINGS[name]
        W = optimum_of(name).W
        parts = np.split(W, np.cumsum(classes)[:-1], axis=1)
        dual = sum(
            oracles.Longhand(task, alpha * beta).dual(part, 1.0)
            for task, part in zip(tasks_of(name), parts, strict=True)
        )
        assert dual == pytest.approx(optimum_of(name).value, rel=1e-4)
        bound = bound_from(problem_of(name), problem_of(name).smooth(W), 1.0)
        assert bound == pytest.approx(dual, rel=1e-7)


class TestWitness:
    def test_extension_fills_rows_with_theta(self):
        problem = problem_of("d > n")
        features = np.array([7, 2, 11])
        V = random_matrix((3, 4), 0, 0.1, 0.0)
        rows = random_matrix((3, 4), 1, 0.1, 0.0)
        whole = Witness(V, rows).extended(problem, features)[0]
        np.testing.assert_array_equal(whole.V[features], V)
        np.testing.assert_array_equal(whole.rows[features], rows)
        others = np.setdiff1d(np.arange(18), features)
        assert not whole.V[others].any()
        np.testing.assert_array_equal(whole.rows[others], problem.smooth(whole.V).theta[others])
        # Theta of the part is Theta of the whole on these features.
        np.testing.assert_allclose(
            problem.restrict(features).smooth(V).theta,
            problem.smooth(whole.V).theta[features],
            atol=1e-10,
        )


class TestBoundFrom:
    """The best tau on [0, 1/gauge] of a parabola."""

    @given(
        excess=st.floats(0.0, 1e6),
        cosine=st.floats(-1.0, 1.0),
        size=st.one_of(st.just(0.0), st.floats(1e-6, 1e6)),
    )
    def test_is_the_largest_value(self, excess, cosine, size):
        problem = problem_of("two tasks")
        # As a product of rho and F0 whose own products are the excess and the energy.
        alignment = cosine * np.sqrt(excess * problem.energy)
        smooth = problem.smooth(np.zeros(problem.shape))._replace(
            excess=excess, alignment=alignment
        )
        bound = bound_from(problem, smooth, size)
        last = 1.0 / size if size else 10.0
        for tau in np.linspace(0.0, last, 21):
            value = problem.floor + 2.0 * tau * alignment - tau**2 * excess
            assert bound >= value - 1e-9 * max(1.0, abs(value))
