"""The solvers against an interior point method on the joint problem in (F, W, b)."""

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import oracles
import pytest
from problems import (
    assemble,
    matrix,
    random_tasks,
    semi_supervised_problem,
    supervised_problem,
)
from threadpoolctl import threadpool_limits

from cosift import FSSI
from cosift.certificate import certify
from cosift.gauge import gauge
from cosift.solvers import SOLVERS, solve, working_set
from cosift.solvers.base import Recorder
from cosift.statistics import SupervisedSamples

ROUNDING = 1e-8  # of the oracle's optimum


@dataclass(frozen=True)
class Case:
    """Random tasks and the weights of one problem."""

    name: str
    d: int
    classes: tuple[int, ...]
    alpha: float
    beta: float | None  # None: labelled rows only
    gamma: float
    options: dict = field(default_factory=dict, hash=False)
    n: int = 12
    threshold: float | None = None  # weights relative to those at which W vanishes

    @property
    def tasks(self):
        seed = sum(ord(letter) for letter in self.name)
        return random_tasks(seed, self.n, self.d, self.classes, **self.options)


# Where `threshold` is given, (alpha, gamma) is a direction and mu stays alpha * beta.
CASES = [
    #    name                      d  classes       alpha  beta   gamma
    Case("one task", 4, (3,), 1.0, 1.0, 1.0),
    Case("one binary task", 5, (2,), 0.3, 2.0, 0.5),
    Case("one task, d > n", 20, (3,), 0.2, 3.0, 0.3),
    Case("one task, no trace norm", 6, (3,), 0.5, 1.5, 0.0),
    Case("one task, d > n, no trace norm", 25, (2,), 0.1, 2.0, 0.0),
    Case("one feature", 1, (2, 3), 0.1, 3.0, 0.1),
    Case("two tasks", 6, (2, 3), 1.0, 1.0, 1.0),
    Case("two tasks, large alpha", 6, (2, 3), 2.5, 0.4, 0.1),
    Case("two tasks, large gamma", 6, (3, 2), 0.01, 30.0, 3.0),
    Case("two tasks, large beta", 6, (2, 2), 0.1, 1e3, 0.1),
    Case("two tasks, small beta", 6, (2, 2), 0.01, 0.1, 0.001),
    Case("two tasks, d > n", 18, (2, 3), 0.3, 1.0, 0.2),
    Case("two tasks, no trace norm", 5, (2, 3), 0.4, 2.0, 0.0),
    Case("nearly no trace norm", 6, (2, 3), 0.3, 2.0, 1e-6),
    Case("nearly no row sparsity", 6, (2, 3), 1e-5, 1e5, 1.0),
    Case("three tasks", 8, (3, 2, 4), 0.5, 2.0, 0.7),
    Case("three tasks, d > n", 20, (2, 2, 3), 0.2, 5.0, 0.4),
    Case("four binary tasks", 10, (2, 2, 2, 2), 0.3, 1.5, 0.4),
    Case("four binary tasks, d > n", 24, (2, 2, 2, 2), 0.1, 4.0, 0.3),
    Case("more classes than features", 3, (3, 3), 0.2, 3.0, 0.5),
    Case("far more classes than features", 2, (3, 2, 4, 3), 0.1, 3.0, 0.2),
    Case("all labelled", 6, (2, 3), 0.5, 2.0, 0.5, {"share": 1.0}),
    Case("one label a class", 6, (2, 3), 0.2, 2.0, 0.3, {"share": 0.0}),
    Case("label weight 1", 6, (2, 3), 0.1, 2.0, 0.1, {"label_weight": 1.0}),
    Case("heavy unlabelled rows", 6, (2, 2), 0.5, 2.0, 0.3, {"unlabeled_weight": 100.0}),
    Case("light unlabelled rows", 6, (2, 2), 0.2, 2.0, 0.3, {"unlabeled_weight": 1e-4}),
    Case("duplicated rows", 6, (2, 3), 0.3, 2.0, 0.4, {"duplicates": 5}),
    Case("shifted features", 6, (2, 3), 0.3, 2.0, 0.4, {"shift": 50.0}),
    Case("more samples", 8, (3, 2), 0.5, 2.0, 0.5, n=40),
    Case("half the threshold", 8, (2, 3), 1.0, 1.0, 1.0, threshold=0.5),
    Case("below the threshold", 8, (2, 3), 1.0, 1.0, 2.0, threshold=0.99),
    Case("above the threshold", 8, (2, 3), 1.0, 1.0, 2.0, threshold=1.01),
    Case("below the threshold, d > n", 20, (2, 2, 2), 1.0, 1.0, 0.5, threshold=0.99),
    Case("supervised, one task", 4, (3,), 0.5, None, 0.0),
    Case("supervised, two tasks", 6, (2, 3), 0.3, None, 0.5, {"share": 0.8}),
    Case("supervised, d > n", 24, (2, 2, 3), 0.1, None, 0.2),
    Case("supervised, all labelled", 5, (2, 2), 1.0, None, 0.3, {"share": 1.0}, n=30),
    Case("supervised, below the threshold", 9, (2, 3), 1.0, None, 1.0, threshold=0.99),
]
BY_NAME = {case.name: case for case in CASES}
assert len(BY_NAME) == len(CASES)
each_case = pytest.mark.parametrize("name", list(BY_NAME))
each_solver = pytest.mark.parametrize("solver", SOLVERS)


def problem_at(case, alpha, beta, gamma):
    if beta is None:
        return supervised_problem(case.tasks, alpha, gamma)
    return semi_supervised_problem(case.tasks, alpha, beta, gamma)


def zero_threshold(problem):
    """Weights of (alpha, gamma) from which on W = 0 is optimal, relative to the present ones."""
    return gauge(problem.penalty, 2.0 * problem.linear).upper


@cache
def weights(name):
    """(alpha, beta, gamma) of a case, its threshold resolved."""
    case = BY_NAME[name]
    alpha, beta, gamma = case.alpha, case.beta, case.gamma
    if case.threshold is not None:
        factor = case.threshold * zero_threshold(problem_at(case, alpha, beta, gamma))
        alpha, beta, gamma = alpha * factor, beta and beta / factor, gamma * factor
    return alpha, beta, gamma


@cache
def problem_of(name):
    return problem_at(BY_NAME[name], *weights(name))


@cache
def optimum_of(name):
    case, (alpha, beta, gamma) = BY_NAME[name], weights(name)
    if beta is None:
        return oracles.solve_supervised(case.tasks, alpha, gamma)
    return oracles.solve_semi_supervised(case.tasks, alpha, beta, gamma)


@cache
def result_of(name, solver):
    tol = 1e-8 if solver == "auto" else 1e-6
    return solve(problem_of(name), solver=solver, tol=tol, max_iter=2000)[0]


def fingerprint(result):
    """Everything of a result but the clock."""
    lines = [line._replace(seconds=0.0) for line in result.history]
    return result.W.tobytes(), result.objective, result.dual_bound, result.n_iter, lines


@each_case
def test_the_problem_has_the_joint_objective(name):
    # Whatever W: eliminating F and b must not change the value.
    case, (alpha, beta, gamma) = BY_NAME[name], weights(name)
    problem, optimum = problem_of(name), optimum_of(name)
    assert problem.objective(optimum.W) == pytest.approx(optimum.value, rel=ROUNDING)
    if beta is None:
        return
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-3, 1.0):
        W = size * rng.normal(size=problem.shape)
        parts = np.split(W, np.cumsum(case.classes)[:-1], axis=1)
        smooth = sum(
            oracles.Longhand(task, alpha * beta).value(part)
            for task, part in zip(case.tasks, parts, strict=True)
        )
        expected = smooth + oracles.penalty(W, case.classes, alpha, gamma)
        assert problem.objective(W) == pytest.approx(expected, rel=1e-8)


@each_solver
@each_case
def test_reaches_the_optimum(name, solver):
    problem, optimum, result = problem_of(name), optimum_of(name), result_of(name, solver)
    assert result.converged
    assert result.gap <= 1e-6 * problem.at_zero
    assert result.objective == pytest.approx(problem.objective(result.W), rel=1e-12)
    # "auto" was asked for more than this; "reweighted" for what its tolerance means, no more.
    yardstick = optimum.value if solver == "auto" else problem.at_zero
    assert abs(result.objective - optimum.value) <= 1e-6 * yardstick


@each_solver
@each_case
def test_every_bound_on_the_way_holds(name, solver):
    optimum, result = optimum_of(name).value, result_of(name, solver)
    assert result.history
    for line in result.history:
        assert line.dual_bound <= optimum * (1.0 + ROUNDING)
        assert line.objective >= optimum * (1.0 - ROUNDING)
    assert result.history[-1].objective == result.objective
    assert result.history[-1].dual_bound == result.dual_bound


@each_case
def test_solvers_agree(name):
    auto, reweighted = (result_of(name, solver) for solver in SOLVERS)
    assert reweighted.objective >= auto.dual_bound
    assert abs(reweighted.objective - auto.objective) <= 1e-6 * problem_of(name).at_zero
    # Strong convexity where there is any: a small gap leaves W little room.
    shortest = min(np.linalg.eigvalsh(matrix(b.quadratic))[0] for b in problem_of(name).blocks)
    if problem_of(name).shape[0] < BY_NAME[name].n and shortest > 0:
        room = np.sqrt((auto.gap + reweighted.gap) / shortest) * 2.0
        assert np.linalg.norm(auto.W - reweighted.W) <= room


@each_solver
@pytest.mark.parametrize("name", ["three tasks", "four binary tasks, d > n", "supervised, d > n"])
def test_two_runs_are_identical(name, solver):
    again = solve(problem_of(name), solver=solver, max_iter=300)[0]
    once_more = solve(problem_of(name), solver=solver, max_iter=300)[0]
    assert fingerprint(again) == fingerprint(once_more)


@each_solver
def test_the_published_example_of_multi_task_lasso(solver):
    """Its objective is ``||Y - X W - b||^2 / (2 n) + alpha ||W||_{2,1}``: ours over 2 n."""
    X, Y = np.vander(np.arange(5.0), 4), np.arange(15.0).reshape(5, 3)
    n, alpha = 5, 0.1
    problem = assemble([SupervisedSamples(X, Y).statistics(1.0)], 2 * n * alpha, 0.0)
    result, _ = solve(problem, solver=solver, tol=1e-10 if solver == "auto" else 1e-7)
    assert result.converged
    assert result.objective / (2 * n) == pytest.approx(0.4965993692547902, rel=1e-6)
    assert result.dual_bound / (2 * n) <= 0.4965993692547902 * (1.0 + 1e-12)


THRESHOLDS = {
    "wide": Case("wide", 30, (2, 3), 1.0, 1.0, 1.0),
    "tall": Case("tall", 5, (2, 3), 1.0, 2.0, 0.3, n=20),
    "rows alone": Case("rows alone", 8, (2, 3), 1.0, 1.0, 0.0),
    "mostly trace norm": Case("mostly trace norm", 8, (2, 3), 1e-3, 100.0, 1.0),
    "supervised": Case("supervised", 8, (2, 3), 1.0, None, 1.0),
}


@each_solver
@pytest.mark.parametrize("name", list(THRESHOLDS))
def test_both_sides_of_the_threshold(name, solver):
    case = THRESHOLDS[name]
    problem = problem_at(case, case.alpha, case.beta, case.gamma)
    threshold = zero_threshold(problem)

    above = replace(problem, penalty=problem.penalty.scaled(threshold * (1.0 + 1e-6)))
    result, _ = solve(above, solver=solver)
    assert result.converged
    assert result.n_iter == 0
    assert not result.W.any()
    assert result.objective == problem.at_zero

    # By how much W != 0 is better just below is of second order: ask for more than that.
    share, tol = (0.999, 1e-8) if solver == "auto" else (0.99, 1e-6)
    below = replace(problem, penalty=problem.penalty.scaled(threshold * share))
    result, _ = solve(below, solver=solver, tol=tol, max_iter=5000)
    assert result.converged
    assert result.n_iter > 0
    assert result.W.any()
    assert result.objective < problem.at_zero


class TestWorkingSet:
    """The set changes the cost and nothing else."""

    CASE = Case("working set", 80, (2, 3, 2), 0.2, 5.0, 0.1, n=20)

    @pytest.fixture(params=["semi-supervised", "supervised"])
    def problem(self, request):
        if request.param == "supervised":
            return problem_at(self.CASE, 0.3, None, 0.1)
        return problem_at(self.CASE, 0.2, 5.0, 0.1)

    def test_on_and_off_have_one_optimum(self, problem, monkeypatch):
        admm, results, sizes = working_set.admm, {}, {}

        def counted(part, *arguments):
            sizes[working_set.FEW].append(part.shape[0])
            return admm(part, *arguments)

        monkeypatch.setattr(working_set, "admm", counted)
        for few in (1, 10, 10**6):
            sizes[few] = []
            monkeypatch.setattr(working_set, "FEW", few)
            results[few] = solve(problem, tol=1e-9)[0]
        assert sizes[1][0] < sizes[10][0] < problem.shape[0]
        assert sizes[10**6] == [problem.shape[0]]
        for few in (1, 10):
            assert results[few].converged
            difference = results[few].objective - results[10**6].objective
            assert abs(difference) <= 2e-9 * problem.at_zero
            np.testing.assert_allclose(
                results[few].W, results[10**6].W, atol=1e-4 * np.abs(results[few].W).max()
            )

    def test_bounds_of_a_part_never_pass_for_bounds_of_the_whole(self, problem, monkeypatch):
        optimum = solve(problem, tol=1e-10)[0]
        monkeypatch.setattr(working_set, "FEW", 1)
        for line in solve(problem, tol=1e-9)[0].history:
            assert line.dual_bound <= optimum.objective * (1 + 1e-12)
            assert line.objective >= optimum.dual_bound * (1 - 1e-12)


class TestWarmStart:
    CASE = Case("warm", 40, (2, 3), 0.3, 2.0, 0.2, n=20)

    @pytest.mark.parametrize(
        ("alpha", "gamma"), [(0.3, 0.2), (0.03, 0.02), (1.0, 0.02), (0.3, 0.0), (50.0, 50.0)]
    )
    def test_warm_is_cold(self, alpha, gamma):
        problem = problem_at(self.CASE, 0.3, 2.0, 0.2)
        _, state = solve(problem)
        target = problem.with_penalty(alpha, gamma)
        cold, _ = solve(target, tol=1e-9)
        warm, _ = solve(target, tol=1e-9, warm=state)
        assert cold.converged
        assert warm.converged
        assert abs(cold.objective - warm.objective) <= 2e-9 * problem.at_zero

    @pytest.mark.parametrize("mu", [1.0, 100.0])
    @pytest.mark.parametrize("seed", range(2))
    def test_a_start_from_far_away_is_no_trap(self, seed, mu):
        # From hardly any trace norm to nearly enough of it for W = 0.
        tasks = random_tasks(seed, 20, 60, (2, 3, 2))
        problem = semi_supervised_problem(tasks, 1.0, mu, 1.0)
        top = zero_threshold(problem.with_penalty(1e-8, 1.0))
        _, state = solve(problem.with_penalty(1e-2 * top, 1e-10 * top))
        target = problem.with_penalty(1e-8 * top, 0.9 * top)
        cold, _ = solve(target, max_iter=1000)
        warm, _ = solve(target, max_iter=1000, warm=state)
        assert cold.converged
        assert warm.converged

    def test_does_not_change_the_state_given(self):
        problem = problem_at(self.CASE, 0.3, 2.0, 0.2)
        _, state = solve(problem)
        before = [array.copy() for array in (state.Z, state.parts, state.rho)]
        solve(problem.with_penalty(0.1, 0.1), warm=state)
        for array, copy in zip((state.Z, state.parts, state.rho), before, strict=True):
            np.testing.assert_array_equal(array, copy)

    def test_saves_iterations(self):
        problem = problem_at(self.CASE, 0.3, 2.0, 0.2)
        cold, state = solve(problem)
        again, _ = solve(problem, warm=state)
        assert again.n_iter < cold.n_iter


@each_solver
@pytest.mark.parametrize("max_iter", [0, 1, 7])
@pytest.mark.parametrize("name", ["three tasks, d > n", "more samples", "supervised, d > n"])
def test_an_unreachable_tolerance_leaves_valid_bounds(name, max_iter, solver):
    problem, optimum = problem_of(name), optimum_of(name).value
    result, _ = solve(problem, solver=solver, tol=1e-16, max_iter=max_iter)
    assert not result.converged
    assert result.n_iter == max_iter
    assert result.dual_bound <= optimum * (1.0 + ROUNDING)
    assert optimum * (1.0 - ROUNDING) <= result.objective <= problem.at_zero
    assert result.objective == pytest.approx(problem.objective(result.W), rel=1e-12)


@pytest.mark.parametrize("solver", ["", "admm", None])
def test_unknown_solver(solver):
    with pytest.raises(ValueError, match=f"solver must be one of auto, reweighted.*{solver!r}"):
        solve(problem_of("one task"), solver=solver)


def test_the_weights_adapt_though_an_extrapolation_went_astray_just_then():
    """Passed over whenever that happened, they stayed far off, and 10,000 steps did not do."""
    seeds = range(0, 4_000, 500)
    X = np.vstack([np.random.default_rng(k).normal(size=(500, 30))[::20] for k in seeds])
    rows = np.arange(len(X))
    assert FSSI(alpha=1.0, gamma=3.0, max_iter=1_000).fit(X, rows % 3, rows // 100).converged_


class TestRecorder:
    """Best point and best bound, wherever each came from."""

    def test_keeps_the_best_of_both(self):
        problem = problem_of("two tasks")
        recorder = Recorder(problem.shape, target=1e-6 * problem.at_zero)
        W = result_of("two tasks", "auto").W
        best, worse = certify(problem, W), certify(problem, 5.0 * W)
        recorder.offer(W, best.objective, best.dual_bound, best.witness)
        recorder.offer(5.0 * W, worse.objective, worse.dual_bound, worse.witness)
        assert recorder.objective == best.objective
        np.testing.assert_array_equal(recorder.W, W)
        assert recorder.dual_bound >= best.dual_bound


class TestInvariance:
    """What must not matter."""

    CASE = Case("invariance", 300, (2, 3), 0.3, 2.0, 0.2, n=150)

    @pytest.fixture
    def tasks(self):
        return self.CASE.tasks

    # The reweighted systems are stiff, and what BLAS rounds differently grows as they stiffen:
    # it is compared on its first iterations.
    each_budget = pytest.mark.parametrize(
        ("solver", "max_iter"), [("auto", 500), ("reweighted", 20)]
    )

    @each_budget
    def test_blas_threads(self, tasks, solver, max_iter):
        results = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                problem = semi_supervised_problem(tasks, 0.3, 2.0, 0.2)
                results.append(solve(problem, solver=solver, max_iter=max_iter)[0])
        one, two = results
        assert one.n_iter == two.n_iter
        assert two.objective == pytest.approx(one.objective, rel=1e-10)
        np.testing.assert_allclose(two.W, one.W, rtol=0, atol=1e-10 * np.abs(one.W).max())

    @each_budget
    def test_permuting_features_permutes_W(self, tasks, solver, max_iter):
        order = np.random.default_rng(0).permutation(self.CASE.d)
        permuted = [replace(task, X=task.X[:, order]) for task in tasks]
        plain, other = (
            solve(semi_supervised_problem(t, 0.3, 2.0, 0.2), solver=solver, max_iter=max_iter)[0]
            for t in (tasks, permuted)
        )
        assert other.objective == pytest.approx(plain.objective, rel=1e-10)
        np.testing.assert_allclose(
            other.W, plain.W[order], rtol=0, atol=1e-10 * np.abs(plain.W).max()
        )

    def test_permuting_tasks_permutes_blocks(self):
        a, b = Case("tasks", 12, (2, 3), 0.3, 2.0, 0.2).tasks
        ab, _ = solve(semi_supervised_problem([a, b], 0.3, 2.0, 0.2), tol=1e-10)
        ba, _ = solve(semi_supervised_problem([b, a], 0.3, 2.0, 0.2), tol=1e-10)
        assert ba.objective == pytest.approx(ab.objective, rel=1e-9)
        np.testing.assert_allclose(
            np.hstack([ba.W[:, 3:], ba.W[:, :3]]), ab.W, atol=1e-4 * np.abs(ab.W).max()
        )


class TestPrintedAlgorithm:
    """The claims about the paper's own iteration, on a problem with d > sum of classes."""

    CASE = Case("printed", 20, (2, 2), 1.0, 1.0, 5.0, n=25)

    @pytest.fixture
    def tasks(self):
        return self.CASE.tasks

    @pytest.fixture
    def start(self):
        return np.random.default_rng(0).normal(size=(20, 4))

    def optimum(self, tasks, alpha, beta, gamma):
        return oracles.solve_semi_supervised(tasks, alpha, beta, gamma).value

    @pytest.mark.parametrize(("alpha", "beta", "gamma"), [(1.0, 1.0, 5.0), (0.1, 1.0, 1.0)])
    def test_tiny_smoothing_stops_short_of_the_optimum(self, tasks, alpha, beta, gamma):
        optimum = self.optimum(tasks, alpha, beta, gamma)
        ends = []
        for seed in range(3):
            start = np.random.default_rng(seed).normal(size=(20, 4))
            _, objectives = oracles.printed_algorithm(
                tasks, alpha, beta, gamma, W=start, row_weight=1.0 / beta, smoothing=1e-16
            )
            # It decreases (Theorem 1) until it all but stands still, only not at the optimum.
            assert np.diff(objectives).max() <= 1e-9 * optimum
            assert objectives[-2] - objectives[-1] <= 1e-6 * optimum
            ends.append(objectives[-1])
        assert min(ends) > 1.03 * optimum
        assert max(ends) > 1.005 * min(ends)  # where it ends is where it started
        problem = semi_supervised_problem(tasks, alpha, beta, gamma)
        for solver in SOLVERS:
            result, _ = solve(problem, solver=solver, max_iter=2000)
            assert result.objective <= optimum + 1e-6 * problem.at_zero

    def test_printed_row_weight_ends_above_the_optimum(self, tasks, start):
        alpha, beta, gamma = 10.0, 1.0, 0.01
        optimum = self.optimum(tasks, alpha, beta, gamma)
        ends = {}
        for name, row_weight in [("printed", alpha / beta), ("corrected", 1.0 / beta)]:
            # Large enough a smoothing for the other error not to show.
            _, objectives = oracles.printed_algorithm(
                tasks, alpha, beta, gamma, W=start, row_weight=row_weight, smoothing=1e-4
            )
            ends[name] = objectives[-1]
        assert ends["printed"] > 1.1 * optimum
        assert ends["corrected"] < 1.02 * optimum
