"""Q, q and the constants against longhand formulas, fifty digits, and every route of its own."""

from dataclasses import replace

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from problems import Task, clique_laplacian, matrix, random_task, samples_of

from cosift import statistics
from cosift.quadratic import Dense, Factored, Implicit
from cosift.statistics import SemiSupervisedSamples, SupervisedSamples

# All products alpha * beta of the paper's grid.
EXTREME = 10.0 ** np.arange(-12, 13, 2)
MODERATE = 10.0 ** np.arange(-4, 5, 2)
SHAPES = {"d < n": (18, 5), "d > n": (9, 14)}
each_shape = pytest.mark.parametrize("shape", list(SHAPES))
each_layout = pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])


def task_of(shape, c=3, seed=0, **options):
    n, d = SHAPES[shape]
    return random_task(np.random.default_rng(seed), n, d, c, **options)


def point(task, seed=1):
    """Some W of natural size."""
    d, c = task.X.shape[1], task.Y.shape[1]
    return np.random.default_rng(seed).normal(size=(d, c)) / np.sqrt(d)


def described(found, W):
    """All that statistics say, as arrays, each with its natural scale.

    By Cauchy and Schwarz <q, W> is at most sqrt(energy <W, QW>), so that is what rounding in q
    has to be measured by.
    """
    Q = matrix(found.quadratic)
    return {
        "Q": (Q, np.abs(np.diag(Q)).max()),
        "q": (found.quadratic.linear, np.sqrt(np.abs(np.diag(Q)).max() * found.energy)),
        "energy": (found.energy, found.energy),
        "floor": (found.floor, found.floor),
        "labels": (found.labels(W), 1.0),
        "intercept": (found.intercept(W), 1.0),
    }


def assert_same(found, expected, W, tolerance):
    found, expected = described(found, W), described(expected, W)
    for name, (value, scale) in expected.items():
        error = np.abs(found[name][0] - value).max()
        assert error <= tolerance * scale, f"{name}: {error / scale:.1e}"


class TestLonghand:
    """Explicit H, U, L and P = (mu H + U + L)^-1, as the paper has them."""

    @pytest.fixture(params=MODERATE, ids="mu={:.0e}".format)
    def mu(self, request):
        return float(request.param)

    @pytest.fixture(params=[1.0, 50.0], ids="label weight {:.0f}".format)
    def task(self, request, shape):
        return task_of(shape, label_weight=request.param, unlabeled_weight=0.5)

    @each_shape
    def test_semi_supervised(self, task, mu):
        longhand, W = oracles.Longhand(task, mu), point(task)
        found = samples_of(task).statistics(mu)
        Q = longhand.Q_other_form
        np.testing.assert_allclose(matrix(found.quadratic), Q, atol=1e-10 * np.abs(Q).max())
        np.testing.assert_allclose(
            found.quadratic.linear, longhand.q, atol=1e-10 * np.abs(longhand.q).max()
        )
        assert found.floor == pytest.approx(longhand.floor, rel=1e-10)
        assert found.floor + found.energy == pytest.approx(longhand.at_zero, rel=1e-10)
        np.testing.assert_allclose(found.labels(W), longhand.labels(W), atol=1e-10)
        np.testing.assert_allclose(found.intercept(W), longhand.intercept(W), atol=1e-9)

    @each_shape
    def test_both_printed_forms_agree_where_they_meet(self, task, mu):
        longhand = oracles.Longhand(task, mu)
        scale = np.abs(longhand.Q_other_form).max()
        # Each loses the digits that its cancellation costs, and no more.
        weights = longhand.S.diagonal()
        lost = max(mu / weights.min(), 1.0) + max(weights.max() / mu, 1.0)
        np.testing.assert_allclose(
            longhand.Q, longhand.Q_other_form, atol=1e-13 * lost * len(weights) * scale
        )

    @each_shape
    def test_the_objective_of_W_alone_is_the_joint_minimum(self, task, mu):
        found, W = samples_of(task).statistics(mu), point(task)
        smooth = found.floor + found.energy + np.vdot(W, found.quadratic.product(W))
        smooth -= 2.0 * np.vdot(W, found.quadratic.linear)
        F, b = found.labels(W), found.intercept(W)

        def joint(F, b):
            fit = task.X @ W + b - F
            D = F - task.Y
            cost = np.vdot(D, task.u[:, None] * D) + np.vdot(F, task.L @ F)
            return cost + mu * np.vdot(fit, fit)

        least = joint(F, b)
        assert smooth == pytest.approx(least, rel=1e-9)
        rng = np.random.default_rng(2)
        for _ in range(5):
            dF, db = 1e-2 * rng.normal(size=F.shape), 1e-2 * rng.normal(size=b.shape)
            assert joint(F + dF, b) > least
            assert joint(F, b + db) > least
            # A stationary point: both sides are equally far up.
            up, down = joint(F + dF, b + db) - least, joint(F - dF, b - db) - least
            assert up == pytest.approx(down, rel=1e-5)

    @each_shape
    def test_supervised(self, shape, mu):
        task, W = task_of(shape).only_labeled, point(task_of(shape))
        found = SupervisedSamples(task.X, task.Y).statistics(mu)
        n = len(task.X)
        H = np.eye(n) - np.ones((n, n)) / n
        Q, q = mu * task.X.T @ H @ task.X, mu * task.X.T @ H @ task.Y
        np.testing.assert_allclose(matrix(found.quadratic), Q, atol=1e-12 * np.abs(Q).max())
        np.testing.assert_allclose(found.quadratic.linear, q, atol=1e-12 * np.abs(q).max())
        assert found.floor == 0.0
        assert found.energy == pytest.approx(mu * np.vdot(task.Y, H @ task.Y), rel=1e-12)
        np.testing.assert_array_equal(found.labels(W), task.Y)
        np.testing.assert_allclose(
            found.intercept(W), (task.Y - task.X @ W).mean(axis=0), atol=1e-12
        )


class TestFiftyDigits:
    """The whole range of mu beside label weights of 1e6, where naive formulas lose all digits."""

    TOLERANCE = 1e-10

    @pytest.fixture(
        params=["plain", "shifted", "all labelled", "graph ridge 1e6", "light unlabelled"]
    )
    def task(self, request):
        rng = np.random.default_rng(3)
        options = {
            "shifted": {"shift": 100.0},
            "all labelled": {"share": 1.0},
            "light unlabelled": {"unlabeled_weight": 1e-6},
        }.get(request.param, {})
        task = random_task(rng, 8, 3, 2, **options)
        if request.param == "graph ridge 1e6":
            task = replace(task, L=task.L / 1e6)
        return task

    @pytest.mark.parametrize("mu", EXTREME, ids="{:.0e}".format)
    @pytest.mark.parametrize("route", ["dense", "sparse", "conjugate gradients"])
    def test_agrees(self, task, mu, route, monkeypatch):
        if route == "conjugate gradients":
            monkeypatch.setattr(statistics, "DENSE_SAMPLES", 1)
        W = point(task)
        exact = oracles.exact_statistics(task, mu, W)
        convert = sp.csr_array if route == "sparse" else np.asarray
        found = samples_of(task, convert).statistics(mu)
        Q = matrix(found.quadratic)
        # A column's share of rounding is that of its own, uncentred, size where X is sparse.
        size = (task.X**2).sum(axis=0).max() / ((task.X - task.X.mean(axis=0)) ** 2).sum(axis=0)
        uncentred = size.max() if route == "sparse" else 1.0
        tolerance = self.TOLERANCE * uncentred
        errors = {
            "Q": np.abs(Q - exact.Q).max() / np.abs(exact.Q).max(),
            "q": np.abs(found.quadratic.linear - exact.q).max()
            / np.sqrt(np.diag(exact.Q).max() * exact.energy),
            "energy": abs(found.energy / exact.energy - 1.0),
            "floor": abs(found.floor / exact.floor - 1.0) if exact.floor else abs(found.floor),
            "labels": np.abs(found.labels(W) - exact.labels).max(),
            "intercept": np.abs(found.intercept(W) - exact.intercept).max()
            / max(1.0, np.abs(exact.intercept).max()),
        }
        assert max(errors.values()) <= tolerance, errors

    @pytest.mark.parametrize("mu", EXTREME, ids="{:.0e}".format)
    def test_null_directions_stay_null(self, mu):
        # A feature that is constant up to what the others say must have no curvature of its own.
        task = task_of("d < n")
        X = np.column_stack([task.X, task.X.sum(axis=1), np.full(len(task.X), 7.0)])
        found = samples_of(replace(task, X=X)).statistics(mu)
        Q = matrix(found.quadratic)
        null = np.array([[1.0] * 5 + [-1.0, 0.0], [0.0] * 6 + [1.0]])
        assert np.abs(Q @ null.T).max() <= 1e-11 * np.abs(Q).max()
        assert (
            np.abs(null @ found.quadratic.linear).max()
            <= 1e-11 * np.abs(found.quadratic.linear).max()
        )


@pytest.fixture
def no_dense(monkeypatch):
    """Fail where a sparse matrix of the data's shape is made dense whole."""

    def forbid(shape):
        for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
            for name in ("toarray", "todense"):
                whole = getattr(kind, name)

                def guarded(self, *args, whole=whole, **options):
                    if self.shape in (shape, shape[::-1]):
                        raise AssertionError("the whole of X was made dense")
                    return whole(self, *args, **options)

                monkeypatch.setattr(kind, name, guarded)

    return forbid


class TestSparse:
    @pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_array])
    def test_the_guard_of_these_tests_guards(self, kind, no_dense):
        no_dense((3, 7))
        kind((3, 6)).toarray()
        for X in (kind((3, 7)), kind((3, 7)).T):
            with pytest.raises(AssertionError, match="the whole of X"):
                X.toarray()

    @each_layout
    @each_shape
    @pytest.mark.parametrize("mu", EXTREME[::2], ids="{:.0e}".format)
    def test_semi_supervised_as_dense(self, shape, layout, mu, no_dense):
        task = task_of(shape)
        dense = samples_of(task).statistics(mu)
        if shape == "d > n":
            no_dense(task.X.shape)
        assert_same(samples_of(task, layout).statistics(mu), dense, point(task), 1e-11)

    @each_layout
    @each_shape
    def test_supervised_as_dense(self, shape, layout, no_dense):
        task = task_of(shape, share=1.0).only_labeled
        dense = SupervisedSamples(task.X, task.Y).statistics(2.0)
        if shape == "d > n":
            no_dense(task.X.shape)
        sparse = SupervisedSamples(layout(task.X), task.Y).statistics(2.0)
        assert_same(sparse, dense, point(task), 1e-12)

    @each_layout
    @pytest.mark.parametrize("supervised", [True, False])
    def test_what_solvers_ask_of_a_wide_one(self, layout, supervised):
        task = task_of("d > n", share=1.0)
        if supervised:
            dense, sparse = (
                SupervisedSamples(X, task.Y).statistics(2.0).quadratic
                for X in (task.X, layout(task.X))
            )
        else:
            dense, sparse = (
                samples_of(task, kind).statistics(2.0).quadratic for kind in (np.asarray, layout)
            )
        assert isinstance(sparse, Factored)
        W = point(task)
        np.testing.assert_allclose(sparse.product(W), dense.product(W), atol=1e-10)
        np.testing.assert_allclose(sparse.linear, dense.linear, atol=1e-10)
        np.testing.assert_allclose(sparse.solve_tied(W, 0.5), dense.solve_tied(W, 0.5), atol=1e-10)
        some = np.array([3, 1, 7])
        np.testing.assert_allclose(
            sparse.restrict(some).product(W[:3]), dense.restrict(some).product(W[:3]), atol=1e-10
        )

    @each_layout
    def test_integers_and_single_precision(self, layout):
        task = task_of("d < n")
        whole = np.round(10.0 * task.X)
        expected = samples_of(replace(task, X=whole)).statistics(1.0)
        for dtype in (np.int64, np.int8, np.float32):
            for convert in (np.asarray, layout):
                found = samples_of(task, lambda X, to=convert, kind=dtype: to(whole.astype(kind)))
                assert_same(found.statistics(1.0), expected, point(task), 1e-11)


class TestConjugateGradients:
    """More samples than a factor is made for: the same statistics from products alone."""

    @each_shape
    @pytest.mark.parametrize("mu", EXTREME, ids="{:.0e}".format)
    @pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
    def test_as_factored(self, shape, mu, convert, monkeypatch):
        task = task_of(shape)
        factored = samples_of(task).statistics(mu)
        monkeypatch.setattr(statistics, "DENSE_SAMPLES", 1)
        found = samples_of(task, convert).statistics(mu)
        assert isinstance(found.quadratic, Implicit if shape == "d > n" else Dense)
        assert_same(found, factored, point(task), 1e-9)

    def test_wider_than_one_block_of_columns(self, monkeypatch):
        task = random_task(np.random.default_rng(5), 90, 70, 3)
        factored = samples_of(task).statistics(3.0)
        monkeypatch.setattr(statistics, "DENSE_SAMPLES", 1)
        assert_same(samples_of(task).statistics(3.0), factored, point(task), 1e-9)


class TestInvariance:
    """What does not change the fit must not change the numbers."""

    @each_shape
    @pytest.mark.parametrize("mu", EXTREME[::3], ids="{:.0e}".format)
    def test_shift_of_a_feature(self, shape, mu):
        # Rounded to 2^-20, so that the shift itself loses nothing.
        task = task_of(shape)
        task = replace(task, X=np.round(task.X * 2.0**20) / 2.0**20)
        shift = 1e6 * np.arange(task.X.shape[1])
        W = point(task)
        here = samples_of(task).statistics(mu)
        there = samples_of(replace(task, X=task.X + shift)).statistics(mu)
        found, expected = described(there, W), described(here, W)
        for name in ("Q", "q", "energy", "floor", "labels"):
            (value, scale), other = expected[name], found[name][0]
            assert np.abs(other - value).max() <= 1e-8 * scale, name
        np.testing.assert_allclose(
            there.intercept(W), here.intercept(W) - shift @ W, rtol=1e-9, atol=1e-3
        )

    def test_order_of_samples(self):
        task, order = task_of("d < n"), np.random.default_rng(6).permutation(18)
        moved = Task(
            task.X[order], task.Y[order], task.labeled[order], task.L[np.ix_(order, order)]
        )
        W = point(task)
        here = samples_of(task).statistics(2.0)
        there = samples_of(moved).statistics(2.0)
        there = replace(there, labels=lambda W, F=there.labels: F(W)[np.argsort(order)])
        assert_same(there, here, W, 1e-11)

    def test_common_factor_of_all_weights(self):
        # U, L and mu times 10: the objective times 10, the same F and b.
        task, W = task_of("d < n"), point(task_of("d < n"))
        heavy = replace(task, L=10.0 * task.L, label_weight=1e7, unlabeled_weight=10.0)
        here, there = samples_of(task).statistics(2.0), samples_of(heavy).statistics(20.0)
        found, expected = described(there, W), described(here, W)
        for name in ("Q", "q", "energy", "floor"):
            np.testing.assert_allclose(found[name][0], 10.0 * expected[name][0], rtol=1e-9)
        np.testing.assert_allclose(found["labels"][0], expected["labels"][0], atol=1e-11)

    @pytest.mark.parametrize("supervised", [True, False])
    @pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array, np.asfortranarray])
    def test_X_is_never_changed(self, convert, supervised):
        task = task_of("d < n")
        X = convert(task.X.copy())
        if supervised:
            found = SupervisedSamples(X, task.Y).statistics(2.0)
        else:
            found = samples_of(task, lambda _: X).statistics(2.0)
        found.intercept(point(task))
        found.labels(point(task))
        np.testing.assert_array_equal(X.toarray() if sp.issparse(X) else X, task.X)

    def test_read_only_memory_map(self, tmp_path):
        task = task_of("d < n")
        np.save(tmp_path / "X.npy", task.X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        found = samples_of(task, lambda _: mapped).statistics(2.0)
        assert_same(found, samples_of(task).statistics(2.0), point(task), 1e-14)


class TestLimits:
    """Where the semi-supervised statistics become something simpler."""

    def test_weightless_unlabelled_rows_leave_supervised_least_squares(self):
        task = replace(
            task_of("d < n"), L=np.zeros((18, 18)), unlabeled_weight=1e-9, label_weight=1e9
        )
        # Unlabelled rows take whatever F costs nothing; labelled ones have F = Y.
        labeled = task.only_labeled
        semi = samples_of(task).statistics(1.0)
        supervised = SupervisedSamples(labeled.X, labeled.Y).statistics(1.0)
        Q, expected = (matrix(s.quadratic) for s in (semi, supervised))
        np.testing.assert_allclose(Q, expected, atol=1e-6 * np.abs(expected).max())
        np.testing.assert_allclose(
            semi.quadratic.linear,
            supervised.quadratic.linear,
            atol=1e-6 * np.abs(supervised.quadratic.linear).max(),
        )
        assert semi.energy == pytest.approx(supervised.energy, rel=1e-6)
        assert semi.floor == pytest.approx(0.0, abs=1e-6)
        W = point(task)
        np.testing.assert_allclose(semi.intercept(W), supervised.intercept(W), atol=1e-6)
        np.testing.assert_allclose(semi.labels(W)[task.labeled], labeled.Y, atol=1e-6)

    def test_a_huge_graph_ridge_is_no_graph(self):
        rng = np.random.default_rng(7)
        task = random_task(rng, 18, 5, 3)
        ridge = 1e12
        Z = task.X - task.X.mean(axis=0)
        H = np.eye(18) - 1.0 / 18
        L = H @ np.linalg.inv(Z @ Z.T + ridge * np.eye(18)) @ H
        W = point(task)
        with_graph = samples_of(replace(task, L=L)).statistics(1.0)
        without = samples_of(replace(task, L=np.zeros((18, 18)))).statistics(1.0)
        # The floor without a graph is zero, so it has no scale of its own.
        assert without.floor == 0.0
        assert 0.0 <= with_graph.floor <= 1e-10
        assert_same(replace(with_graph, floor=0.0), without, W, 1e-10)

    @pytest.mark.parametrize("mu", MODERATE)
    def test_everything_labelled_without_graph_is_least_squares(self, mu):
        # U = u I: minimising over F leaves u mu / (u + mu) times the least squares fit.
        task = replace(task_of("d < n", share=1.0), L=np.zeros((18, 18)), label_weight=1e3)
        semi = samples_of(task).statistics(mu)
        supervised = SupervisedSamples(task.X, task.Y).statistics(1e3 * mu / (1e3 + mu))
        assert_same(replace(semi, labels=supervised.labels), supervised, point(task), 1e-11)

    def test_small_mu_lets_labels_and_graph_decide_F(self):
        task = task_of("d < n")
        longhand = oracles.Longhand(task, 1e-12)
        found = samples_of(task).statistics(1e-12)
        np.testing.assert_allclose(found.labels(point(task)), longhand.F0, atol=1e-9)
        n = len(task.X)
        H = np.eye(n) - np.ones((n, n)) / n
        np.testing.assert_allclose(
            matrix(found.quadratic) / 1e-12, task.X.T @ H @ task.X, rtol=1e-8, atol=1e-8
        )

    def test_large_mu_makes_F_linear(self):
        task, W = task_of("d < n"), point(task_of("d < n"))
        found = samples_of(task).statistics(1e12)
        np.testing.assert_allclose(found.labels(W), task.X @ W + found.intercept(W), atol=1e-5)


def test_quadratic_form_suits_the_shape():
    assert isinstance(samples_of(task_of("d < n")).statistics(1.0).quadratic, Dense)
    assert isinstance(samples_of(task_of("d > n")).statistics(1.0).quadratic, Factored)


def test_one_feature_and_two_samples():
    X, Y = np.array([[0.0], [1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    samples = SemiSupervisedSamples(X, Y, np.array([True, True]), sp.csr_array((2, 2)))
    found = samples.statistics(1.0)
    # F = Y up to 1e-6: the centred sum of squares of X is 1/2, its product with Y -1/2 and 1/2.
    np.testing.assert_allclose(matrix(found.quadratic), [[0.5]], rtol=2e-6)
    np.testing.assert_allclose(found.quadratic.linear, [[-0.5, 0.5]], rtol=2e-6)


def test_laplacian_of_the_tests_is_one():
    L = clique_laplacian(np.random.default_rng(8).normal(size=(12, 3)))
    assert np.linalg.eigvalsh(L).min() > -1e-12
    np.testing.assert_allclose(L @ np.ones(12), 0.0, atol=1e-12)
