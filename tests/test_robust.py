"""The robust problem of FSNM and its solvers against an interior point method."""

import tracemalloc
from dataclasses import dataclass
from functools import cache

import cvxpy as cp
import numpy as np
import oracles
import pytest
import scipy.sparse as sp

from cosift.robust import CenteredRidge, RobustProblem, geometric_median, lengths
from cosift.solvers import SOLVERS
from cosift.solvers.robust import solve_robust

# Of the oracle's optimum, and of the objective at zero where the optimum is next to nothing.
ROUNDING, ROUNDING_AT_ZERO = 1e-8, 1e-10


@dataclass(frozen=True)
class Case:
    """Random one-hot targets, some of them wrong, and gamma as a share of the threshold."""

    n: int
    d: int
    c: int
    share: float
    columns: int | None = None  # of Y, where not all
    shift: float = 0.0
    scale: float = 1.0
    duplicates: int = 0
    noise: float = 0.2


CASES = {
    "tall": Case(30, 6, 3, 0.3),
    "wide": Case(12, 30, 3, 0.1),
    "square": Case(15, 15, 2, 0.2),
    "binary": Case(24, 8, 2, 0.3),
    "one column": Case(20, 7, 2, 0.2, columns=1),
    "more classes than features": Case(25, 3, 5, 0.2),
    "one feature": Case(20, 1, 3, 0.3),
    "two samples": Case(2, 5, 2, 0.3),
    "no noise": Case(30, 5, 2, 0.05, noise=0.0),
    "hardly a penalty": Case(30, 6, 3, 1e-6),
    "hardly a penalty, wide": Case(10, 40, 3, 1e-6),
    "below the threshold": Case(25, 10, 3, 0.99),
    "above the threshold": Case(25, 10, 3, 1.01),
    "large means": Case(25, 8, 3, 0.2, shift=1e3),
    "small unit": Case(25, 8, 3, 0.2, scale=1e-3),
    "large unit": Case(12, 20, 3, 0.2, scale=1e3),
    "duplicates": Case(24, 8, 3, 0.2, duplicates=6),
}
each_case = pytest.mark.parametrize("name", list(CASES))
each_solver = pytest.mark.parametrize("solver", SOLVERS)


@cache
def made(name):
    """X and Y of a case."""
    case = CASES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    y = rng.integers(0, case.c, case.n)
    y[: case.c] = np.arange(case.c)
    X = rng.normal(size=(case.n, case.d))
    X[:, :3] += 2.0 * rng.normal(size=(case.c, min(case.d, 3)))[y]
    if case.duplicates:
        X[-case.duplicates :] = X[: case.duplicates]
    wrong = rng.random(case.n) < case.noise
    wrong[: case.c] = False
    y[wrong] = rng.integers(0, case.c, wrong.sum())
    return case.scale * X + case.shift, np.eye(case.c)[y][:, : case.columns]


@cache
def problem_of(name):
    X, Y = made(name)
    threshold = RobustProblem(X - X.mean(axis=0), Y, 1.0).least_for_zero
    return RobustProblem(X - X.mean(axis=0), Y, CASES[name].share * threshold)


@cache
def optimum_of(name):
    problem = problem_of(name)
    return oracles.solve_robust(problem.X, problem.Y, problem.gamma)


def rounding_of(name):
    return ROUNDING * optimum_of(name).value + ROUNDING_AT_ZERO * problem_of(name).at_zero


@cache
def result_of(name, solver):
    problem = problem_of(name)
    tol = 1e-6 * optimum_of(name).value / problem.at_zero if solver == "auto" else 1e-6
    return solve_robust(problem, CenteredRidge(problem.X), solver=solver, tol=tol)[0]


# The problem


@each_case
def test_objective_is_its_definition(name):
    problem, rng = problem_of(name), np.random.default_rng(0)
    W, b = rng.normal(size=problem.shape), rng.normal(size=problem.shape[1])
    loss = sum(np.linalg.norm(x @ W + b - y) for x, y in zip(problem.X, problem.Y, strict=True))
    expected = loss + problem.gamma * sum(np.linalg.norm(row) for row in W)
    assert problem.objective(W, b) == pytest.approx(expected, rel=1e-12)


@each_case
def test_no_multiplier_gives_a_bound_above_the_optimum(name):
    problem, rng = problem_of(name), np.random.default_rng(0)
    optimum = optimum_of(name)
    W = optimum.W
    residual = problem.X @ W - problem.Y
    residual -= geometric_median(residual)
    directions = residual / np.maximum(lengths(residual), 1e-12)[:, None]
    for near in (0.0, 0.01, 0.1, 1.0, 100.0):
        for offset in (0.0, 5.0):
            Lam = directions + near * rng.normal(size=problem.Y.shape) + offset
            assert problem.dual_bound(Lam) <= optimum.value + rounding_of(name)
    assert problem.dual_bound(np.zeros_like(problem.Y)) == 0.0


@each_case
def test_objective_at_zero_is_the_least_over_b(name):
    problem = problem_of(name)
    b = cp.Variable((1, problem.shape[1]))
    misfit = np.ones((len(problem.Y), 1)) @ b - problem.Y
    oracle = cp.Problem(cp.Minimize(oracles.row_sparsity(misfit)))
    oracle.solve(solver=cp.CLARABEL)
    assert problem.at_zero == pytest.approx(oracle.value, rel=1e-7)


@pytest.mark.parametrize(
    ("points", "median"),
    [
        ([[0.0], [1.0], [5.0]], [1.0]),
        ([[0.0, 0], [1, 0], [0, 1], [1, 1]], [0.5, 0.5]),
        ([[0.0, 0], [0, 0], [0, 0], [9, 9]], [0.0, 0.0]),
        # Fermat's point of an equilateral triangle is its centre.
        ([[0.0, 0], [1, 0], [0.5, 0.75**0.5]], [0.5, 0.75**0.5 / 3]),
    ],
)
def test_geometric_medians_that_are_known(points, median):
    np.testing.assert_allclose(geometric_median(np.array(points)), median, atol=1e-7)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (6, 6)])
@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_centered_ridge_solves_its_normal_equations(container, shape, weight):
    rng = np.random.default_rng(0)
    X, R = rng.normal(size=shape) + 3.0, rng.normal(size=(shape[0], 2)) - 1.0
    H = np.eye(shape[0]) - 1.0 / shape[0]
    expected = np.linalg.solve(X.T @ H @ X + weight * np.eye(shape[1]), X.T @ H @ R)
    ridge = CenteredRidge(container(X))
    ridge.solve(R, 7.0)  # another weight first
    np.testing.assert_allclose(ridge.solve(R, weight), expected, rtol=1e-9, atol=1e-12)


@each_case
def test_a_reweighted_step_minimises_the_majoriser(name):
    """Rows of a plain least squares problem, the intercept one more column."""
    problem, rng = problem_of(name), np.random.default_rng(1)
    (n, d), c = problem.X.shape, problem.Y.shape[1]
    W, b = rng.normal(size=(d, c)) / np.abs(problem.X).max(), rng.normal(size=c)
    smoothing = 1e-3
    allowance = smoothing * problem.at_zero
    r = np.sqrt(lengths(problem.X @ W + b - problem.Y) ** 2 + (allowance / n) ** 2)
    s = np.sqrt(lengths(W) ** 2 + (allowance / (problem.gamma * d)) ** 2)
    weights = np.sqrt(1.0 / r)[:, None]
    top = np.hstack([problem.X, np.ones((n, 1))]) * weights
    bottom = np.hstack([np.diag(np.sqrt(problem.gamma / s)), np.zeros((d, 1))])
    right = np.vstack([problem.Y * weights, np.zeros((d, c))])
    expected = np.linalg.lstsq(np.vstack([top, bottom]), right)[0]
    V, offset, Lam, row_weights = problem.reweighted(W, b, smoothing)
    atol = 1e-7 * np.abs(expected[:-1]).max()
    np.testing.assert_allclose(V, expected[:-1], rtol=1e-6, atol=atol)
    np.testing.assert_allclose(offset, expected[-1], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(Lam, (problem.X @ V + offset - problem.Y) / r[:, None], atol=1e-9)
    np.testing.assert_allclose(row_weights, problem.gamma / s)


def test_the_reweighted_step_never_raises_the_smoothed_objective():
    problem, smoothing = problem_of("tall"), 1e-4
    (n, d), allowance = problem.X.shape, smoothing * problem.at_zero

    def smoothed(W, b):
        loss = np.hypot(lengths(problem.residual(W, b)), allowance / n).sum()
        return loss + problem.gamma * np.hypot(lengths(W), allowance / (problem.gamma * d)).sum()

    W, b, values = np.zeros(problem.shape), problem.center, []
    for _ in range(50):
        W, b, *_ = problem.reweighted(W, b, smoothing)
        values.append(smoothed(W, b))
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert values[-1] < 0.99 * values[0]


# The solvers


@each_solver
@each_case
def test_reaches_the_optimum(name, solver):
    problem, optimum, result = problem_of(name), optimum_of(name).value, result_of(name, solver)
    assert result.converged
    assert result.gap <= 1e-6 * problem.at_zero
    # "auto" was asked for that share of the optimum, "reweighted" for one of the yardstick.
    yardstick = optimum if solver == "auto" else problem.at_zero
    assert abs(result.objective - optimum) <= 1e-6 * yardstick + rounding_of(name)
    W, b = result.W[:-1], result.W[-1]
    assert result.objective == pytest.approx(problem.objective(W, b), rel=1e-12)
    assert result.dual_bound == pytest.approx(problem.dual_bound(result.witness), rel=1e-12)


@each_solver
@each_case
def test_every_bound_on_the_way_holds(name, solver):
    optimum, result = optimum_of(name).value, result_of(name, solver)
    assert result.history
    for line in result.history:
        assert line.dual_bound <= optimum + rounding_of(name)
        assert line.objective >= optimum - rounding_of(name)
    assert result.history[-1].objective == result.objective
    assert result.history[-1].dual_bound == result.dual_bound


@each_solver
@pytest.mark.parametrize("max_iter", [0, 1, 7])
def test_an_unreachable_tolerance_leaves_valid_bounds(solver, max_iter):
    problem, optimum = problem_of("wide"), optimum_of("wide").value
    ridge = CenteredRidge(problem.X)
    result, _ = solve_robust(problem, ridge, solver=solver, tol=1e-16, max_iter=max_iter)
    assert not result.converged
    assert result.n_iter == max_iter
    assert result.dual_bound <= optimum + rounding_of("wide")
    assert optimum - rounding_of("wide") <= result.objective <= problem.at_zero


@each_solver
@pytest.mark.parametrize("name", ["tall", "wide", "no noise"])
def test_both_sides_of_the_threshold(name, solver):
    given = problem_of(name)
    threshold, ridge = given.least_for_zero, CenteredRidge(given.X)
    above = RobustProblem(given.X, given.Y, threshold * (1.0 + 1e-9))
    result, _ = solve_robust(above, ridge, solver=solver)
    assert result.converged
    assert result.n_iter == 0
    assert not result.W[:-1].any()
    # Unbalanced targets: their median is one of them, whose multipliers have a choice. Far enough
    # below, no choice will do.
    below = RobustProblem(given.X, given.Y, threshold * 0.5)
    result, _ = solve_robust(below, ridge, solver=solver, tol=1e-6)
    assert result.converged
    assert result.W[:-1].any()
    assert result.objective < below.at_zero


@pytest.mark.parametrize(("seed", "gamma"), [(7, 3.0), (15, 0.1), (15, 1.0), (4, 3.0)])
def test_an_extrapolation_gone_astray_is_undone(seed, gamma):
    """It set the weights where these were due just then, never to recover; and on a long way of
    equal steps it was undone to one and the same point, again and again."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(100, 2)), np.eye(2)[(rng.random(100) < 0.57).astype(int)]
    X -= X.mean(axis=0)
    result, _ = solve_robust(RobustProblem(X, Y, gamma), CenteredRidge(X), max_iter=2000)
    assert result.converged


@pytest.mark.parametrize("name", ["tall", "wide"])
@pytest.mark.parametrize("factor", [0.1, 0.9, 5.0])
def test_warm_is_cold(name, factor):
    problem = problem_of(name)
    ridge = CenteredRidge(problem.X)
    _, state = solve_robust(problem, ridge)
    before = [array.copy() for array in (*state.S, state.rho)]
    target = RobustProblem(problem.X, problem.Y, factor * problem.gamma)
    cold, _ = solve_robust(target, ridge, tol=1e-8)
    warm, _ = solve_robust(target, ridge, tol=1e-8, warm=state)
    assert cold.converged
    assert warm.converged
    assert abs(cold.objective - warm.objective) <= 2e-8 * target.at_zero
    for array, copy in zip((*state.S, state.rho), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@each_solver
def test_two_runs_are_identical(solver):
    problem = problem_of("wide")
    runs = [solve_robust(problem, CenteredRidge(problem.X), solver=solver)[0] for _ in range(2)]
    np.testing.assert_array_equal(runs[0].W, runs[1].W)
    assert runs[0].dual_bound == runs[1].dual_bound
    assert runs[0].n_iter == runs[1].n_iter


@each_solver
@pytest.mark.parametrize("name", ["tall", "wide", "large means"])
def test_sparse_is_dense(name, solver):
    """Sparse X is not centred, which only the intercept may notice."""
    given, (X, _) = problem_of(name), made(name)
    sparse = RobustProblem(sp.csr_array(X), given.Y, given.gamma)
    result, _ = solve_robust(sparse, CenteredRidge(sparse.X), solver=solver, tol=1e-6)
    assert result.converged
    expected = result_of(name, solver)
    assert abs(result.objective - expected.objective) <= 2e-6 * given.at_zero


@each_solver
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_wide_samples_need_nothing_of_their_width_squared(container, solver):
    """(n + d)^2 numbers would be 800 MB, d^2 as many."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 10_000)), np.eye(2)[np.arange(30) % 2]
    X *= rng.random(X.shape) < 0.05
    problem = RobustProblem(container(X), Y, 3.0)
    tracemalloc.start()
    solve_robust(problem, CenteredRidge(problem.X), solver=solver, max_iter=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_sparse_samples_are_not_made_dense():
    """Dense, they would be 400 MB."""
    rng = np.random.default_rng(0)
    X = sp.random_array((500, 100_000), density=1e-4, rng=rng, format="csr")
    problem = RobustProblem(X, np.eye(2)[np.arange(500) % 2], 0.1)
    for solver in SOLVERS:
        tracemalloc.start()
        solve_robust(problem, CenteredRidge(problem.X), solver=solver, max_iter=3)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100e6
