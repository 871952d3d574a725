"""Dask arrays in chunks of rows: one chunk is the whole, several are blocks of a Laplacian."""

import os
import pickle
import signal
from contextlib import suppress
from pathlib import Path

import cloudpickle
import dask
import dask.array as da
import numpy as np
import oracles
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster
from problems import Task, clique_laplacian
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from cosift import FSNM, FSSI, LSDF, SFMC, SFSS, SPEC, FisherScore, L21LeastSquares
from cosift._dask import standardized
from cosift.datasets import make_related_tasks
from cosift.selectors import _convex

DATA = make_related_tasks(
    n_tasks=3, n_samples=40, n_features=9, n_shared=3, n_private=1, labeled=0.4, seed=2
)
# The last task comes last and so not in every chunk; the others are mixed.
MIXED = np.argsort(np.random.default_rng(0).random(120) + (DATA.tasks == DATA.tasks.max()))
X, Y, TASKS = DATA.X[MIXED], DATA.y[MIXED], DATA.tasks[MIXED]
# Chunks of one row, of none, and of fewer of a task than a clique has.
UNEVEN = ((37, 1, 0, 44, 5, 33), 9)
TWO_YES_NO = np.column_stack([Y > 0, np.where(TASKS[0] == TASKS, -1, Y == 1)]).astype(int)
SELECTORS = {
    "SFMC": SFMC(alpha=0.5, beta=0.8, gamma=1.0, tol=1e-11),
    "SFSS": SFSS(alpha=0.5, beta=0.8, tol=1e-11),
    "FSSI": FSSI(alpha=1.0, gamma=3.0, tol=1e-11),
    "L21LeastSquares": L21LeastSquares(alpha=1.0, tol=1e-11),
}
every_selector = pytest.mark.parametrize("name", SELECTORS)
semi_supervised = pytest.mark.parametrize("name", ["SFMC", "SFSS"])


def assert_same(found, expected, atol=1e-8):
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=atol)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=atol)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=atol)
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    for own, others in zip(transduction(found), transduction(expected), strict=True):
        np.testing.assert_allclose(own, others, atol=atol)


def transduction(selector):
    return dask.compute(*getattr(selector, "transduction_", ()))


class TestOneChunk:
    @every_selector
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
    def test_is_the_whole(self, name, dtype):
        samples = (X * 10).astype(dtype)
        chunked = da.from_array(samples, chunks=-1)
        found = clone(SELECTORS[name]).fit(chunked, da.from_array(Y, 50), da.from_array(TASKS))
        assert_same(found, clone(SELECTORS[name]).fit(samples, Y, TASKS))
        assert found.converged_

    @every_selector
    def test_is_the_whole_with_iterations_for_factors(self, name, monkeypatch):
        monkeypatch.setattr("cosift.statistics.DENSE_SAMPLES", 1)
        found = clone(SELECTORS[name]).fit(da.from_array(X, chunks=-1), Y, TASKS)
        assert_same(found, clone(SELECTORS[name]).fit(X, Y, TASKS))

    @every_selector
    def test_columns_that_are_tasks(self, name):
        """Two columns labelled in different rows, and a third labelled as the first is."""
        y = np.column_stack([TWO_YES_NO, TWO_YES_NO[::-1, 0]])
        found = clone(SELECTORS[name]).fit(da.from_array(X, chunks=-1), y)
        assert_same(found, clone(SELECTORS[name]).fit(X, y))


def chunked_reference(selector, chunks, X=X, Y=Y, tasks=TASKS):
    """The tasks with the Laplacian of their rows in one chunk after the other on its diagonal."""
    chunk_of = np.repeat(np.arange(len(chunks)), chunks)
    found = []
    for task in np.unique(tasks):
        rows = np.flatnonzero(tasks == task)
        L = np.zeros((len(rows),) * 2)
        for chunk in np.unique(chunk_of[rows]):
            here = np.flatnonzero(chunk_of[rows] == chunk)
            L[np.ix_(here, here)] = clique_laplacian(X[rows[here]], selector.n_neighbors)
        labeled = Y[rows] != -1
        one_hot = (Y[rows][:, None] == np.unique(Y[rows][labeled])).astype(float)
        weights = selector.label_weight, selector.unlabeled_weight
        found.append(Task(X[rows], one_hot, labeled, L, *weights))
    return found


class TestSeveralChunks:
    @semi_supervised
    @pytest.mark.parametrize("unlabeled_weight", [1.0, 0.01])
    @pytest.mark.parametrize("route", ["factored", "iterative"])
    def test_are_blocks_of_the_laplacian(self, name, unlabeled_weight, route, monkeypatch):
        if route == "iterative":
            monkeypatch.setattr("cosift.statistics.DENSE_SAMPLES", 1)
        selector = clone(SELECTORS[name]).set_params(
            n_neighbors=6, unlabeled_weight=unlabeled_weight
        )
        selector.fit(da.from_array(X, chunks=UNEVEN), Y, TASKS)
        tasks = chunked_reference(selector, UNEVEN[0])
        alpha, beta, gamma = selector.alpha, selector.beta, getattr(selector, "gamma", 0.0)
        longhand = [oracles.Longhand(task, alpha * beta) for task in tasks]
        value = oracles.penalty(selector.coef_.T, [len(c) for c in selector.classes_], alpha, gamma)
        for one, own, F in zip(
            longhand, selector.task_slices_, transduction(selector), strict=True
        ):
            W = selector.coef_[own].T
            value += one.value(W)
            np.testing.assert_allclose(selector.intercept_[own], one.intercept(W), atol=1e-9)
            np.testing.assert_allclose(F, one.labels(W), atol=1e-8)
        assert selector.objective_ == pytest.approx(value, rel=1e-9)
        best = oracles.solve_semi_supervised(tasks, alpha, beta, gamma)
        assert selector.objective_ == pytest.approx(best.value, rel=1e-7)
        np.testing.assert_allclose(selector.coef_.T, best.W, atol=1e-4)

    @semi_supervised
    def test_change_what_neighbours_are(self, name):
        whole = clone(SELECTORS[name]).fit(X, Y, TASKS)
        found = clone(SELECTORS[name]).fit(da.from_array(X, chunks=UNEVEN), Y, TASKS)
        assert abs(found.coef_ - whole.coef_).max() > 1e-4

    @pytest.mark.parametrize("name", ["FSSI", "L21LeastSquares"])
    @pytest.mark.parametrize("shift", [0.0, 100.0])
    def test_change_nothing_without_neighbours(self, name, shift):
        """Means that differ between chunks, too."""
        moved = X + shift * np.arange(120)[:, None] / 120
        found = clone(SELECTORS[name]).fit(da.from_array(moved, chunks=UNEVEN), Y, TASKS)
        expected = clone(SELECTORS[name]).fit(moved, Y, TASKS)
        np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-8)
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-8)
        np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-6)

    def test_of_single_precision(self):
        single = X.astype(np.float32)
        found, expected = (
            clone(SELECTORS["SFMC"]).fit(da.from_array(samples, chunks=UNEVEN), Y, TASKS)
            for samples in (single, single.astype(np.float64))
        )
        assert_same(found, expected)

    def test_without_labels_have_none_to_spread(self):
        """With no weight of their own, rows need a label in their chunk."""
        late = Y.copy()
        late[38:82][TASKS[38:82] == 1] = -1
        selector = SFMC(unlabeled_weight=0.0, n_neighbors=6)
        chunks = ((37, 1, 44, 38), 9)
        with pytest.raises(
            ValueError, match=r"in task \d, \d+ rows connect to no .* larger chunks"
        ):
            selector.fit(da.from_array(X, chunks=chunks), late, TASKS)
        # Where they have one, the answer is that of the reference.
        whole = ((60, 60), 9)
        selector.set_params(tol=1e-11).fit(da.from_array(X, chunks=whole), Y, TASKS)
        tasks = chunked_reference(selector, whole[0])
        longhand = [oracles.Longhand(task, 1.0) for task in tasks]
        coefs = [selector.coef_[own].T for own in selector.task_slices_]
        value = oracles.penalty(selector.coef_.T, [len(c) for c in selector.classes_], 1.0, 1.0)
        value += sum(one.value(W) for one, W in zip(longhand, coefs, strict=True))
        assert selector.objective_ == pytest.approx(value, rel=1e-8)

    def test_name_the_row_of_x_that_no_label_reaches(self):
        lonely = np.r_[X, 100 + X[:5]]
        y, tasks = np.r_[Y, [-1] * 5], np.r_[TASKS, [TASKS[0]] * 5]
        with pytest.raises(ValueError, match=r"5 rows connect to no .* the first at row 120"):
            SFMC(unlabeled_weight=0.0, n_neighbors=4).fit(
                da.from_array(lonely, chunks=((60, 65), 9)), y, tasks
            )


class TestGrid:
    @pytest.fixture
    def graphs(self, monkeypatch):
        counted, graph = [], _convex.local_graph

        def local_graph(samples, n_neighbors, ridge):
            # Threads of a fit that was refused, with another number, may still be at work.
            if n_neighbors == SFMC().n_neighbors:
                counted.append(1)
            return graph(samples, n_neighbors, ridge)

        monkeypatch.setattr(_convex, "local_graph", local_graph)
        return counted

    @semi_supervised
    def test_builds_every_graph_once(self, name, graphs):
        chunks = ((37, 30, 53), 9)
        samples = da.from_array(X, chunks=chunks), Y, TASKS
        alphas, betas = [0.5, 1.0, 2.0], [0.25, 0.5, 1.0]
        members = list(clone(SELECTORS[name]).grid(*samples, alpha=alphas, beta=betas))
        chunk_of = np.repeat(np.arange(3), chunks[0])
        assert len(graphs) == len(set(zip(chunk_of.tolist(), TASKS.tolist(), strict=True)))
        assert len(members) == 9
        for member in members[::4]:
            assert_same(member, clone(member).fit(*samples), atol=2e-6)

    @semi_supervised
    def test_path_reads_x_once(self, name, graphs):
        samples = da.from_array(X, chunks=(60, 9)), Y, TASKS
        members = list(clone(SELECTORS[name]).path(*samples, n_penalties=4))
        assert len(graphs) == len(set(zip(np.arange(120) // 60, TASKS.tolist(), strict=True)))
        assert not members[0].scores_.any()
        assert_same(members[-1], clone(members[-1]).fit(*samples), atol=2e-6)

    def test_products_that_round_differently_are_one_mu(self, monkeypatch):
        sizes, made = [], _convex.samples_in_chunks
        monkeypatch.setattr(
            _convex, "samples_in_chunks", lambda *a: sizes.append(len(a[-1])) or made(*a)
        )
        weights = {"alpha": [0.1, 0.3], "beta": [0.3, 0.1]}
        members = list(SFSS().grid(da.from_array(X, chunks=(60, 9)), Y, TASKS, **weights))
        assert (sizes, len(members)) == ([3], 4)


def made_here(block, block_info=None):
    """Rows that exist nowhere but where they are made."""
    (first, stop), _ = block_info[None]["array-location"]
    return np.random.default_rng(first).normal(size=(stop - first, block_info[None]["shape"][1]))


def made(n, d, rows):
    chunks = ((rows,) * (n // rows), d)
    return da.map_blocks(
        made_here, da.empty((n, d), chunks=chunks), dtype=float, meta=np.empty((0, 0))
    )


@every_selector
def test_samples_stay_where_they_are(name):
    """All that is sent out and comes back is far smaller than X, whatever n is."""
    n, d = 4_000, 30
    sent, returned = [], []

    def spying(graph, keys, **options):
        sent.append(len(cloudpickle.dumps(graph)))
        results = dask.threaded.get(graph, keys, **options)
        returned.append(len(pickle.dumps(results)))
        return results

    y = np.where(np.arange(n) % 20, -1, np.arange(n) // 20 % 3)
    with dask.config.set(scheduler=spying):
        selector = clone(SELECTORS[name])
        selector.fit(made(n, d, 500), y, np.arange(n) // 2000)
    size_of_x = 8 * n * d
    assert len(sent) == 1
    assert sent[0] < 0.1 * size_of_x
    # For two tasks of three classes each.
    assert returned[0] < 2 * 8 * (d + 4) ** 2 + 5_000
    assert selector.coef_.shape == (6, d)


class TestLazily:
    @pytest.fixture
    def unread(self):
        """An array that must not be read."""

        def refuse(block):
            raise AssertionError("read")

        return da.from_array(X, chunks=(40, 5)).map_blocks(refuse, meta=np.empty((0, 0)))

    @every_selector
    def test_transform_and_decide(self, name, unread):
        selector = clone(SELECTORS[name]).set_params(n_features_to_select=4).fit(X, Y, TASKS)
        assert isinstance(selector.transform(unread), da.Array)
        assert isinstance(selector.decision_function(unread, task=1), da.Array)
        chunked = da.from_array(X, chunks=(40, 5))
        for task in (None, 1):
            found = selector.transform(chunked, task=task)
            assert found.shape == (120, 4)
            np.testing.assert_array_equal(found, selector.transform(X, task=task))
        np.testing.assert_allclose(
            selector.decision_function(chunked, task=1), selector.decision_function(X, task=1)
        )

    def test_transduction(self, monkeypatch):
        selector = SFMC().fit(da.from_array(X, chunks=(40, 9)), Y, TASKS)
        monkeypatch.setattr(_convex, "local_graph", lambda *a: pytest.fail("computed"))
        for F, rows in zip(selector.transduction_, map(TASKS.__eq__, range(3)), strict=True):
            assert isinstance(F, da.Array)
            assert F.shape == (rows.sum(), 3)

    def test_refuses_other_columns(self):
        selector = SFMC().fit(X, Y, TASKS)
        for method in (selector.transform, lambda other: selector.decision_function(other, 1)):
            with pytest.raises(ValueError, match="X has 8 features, but SFMC is expecting 9"):
                method(da.from_array(X[:, :8]))

    def test_nothing_selected(self):
        selector = SFMC(gamma=1e6, n_features_to_select="nonzero").fit(X, Y, TASKS)
        with pytest.warns(UserWarning, match="No feature is selected"):
            assert selector.transform(da.from_array(X)).shape == (120, 0)


class TestRefusals:
    @pytest.mark.parametrize(
        ("make", "told"),
        [
            (lambda: da.from_array(X, chunks=(40, 5)), "Got 2 chunks of columns; join them with"),
            (lambda: (A := da.from_array(X, chunks=40))[A[:, 0] > 0], r"compute_chunk_sizes\(\)"),
            (lambda: da.from_array(X[:1], chunks=1), "at least 2 samples and 1 feature. Got 1"),
            (lambda: da.from_array(X[:, :0]), r"minimum of 1|at least 2 samples and 1 feature"),
            (lambda: da.from_array(X[:, 0]), "Expected 2D array, got 1D array"),
            (lambda: da.from_array(X.astype(complex)), "must hold real numbers.*Got complex128"),
            (
                lambda: da.from_array(X.astype(object), chunks=40),
                "must hold real numbers.*Got object",
            ),
            (lambda: dask.delayed(X), r"to_dask_array\(lengths=True\)"),
            (lambda: da.from_array(X[1:], chunks=40), "for each of the 119 samples"),
        ],
    )
    def test_of_x(self, make, told):
        with pytest.raises(ValueError, match=told):
            SFMC().fit(make(), Y, TASKS)

    @pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (-np.inf, "infinity")])
    def test_of_values_once_they_are_seen(self, value, what):
        broken = X.copy()
        broken[70, 4] = broken[75, 2] = value
        broken = da.from_array(broken, chunks=(40, 9))
        told = f"Input X contains {what}. .* chunk: 2, the first at row 70, column 4"
        with pytest.raises(ValueError, match=told):
            SFMC().fit(broken, Y, TASKS)
        reduced = SFMC().fit(X, Y, TASKS).transform(broken)
        with pytest.raises(ValueError, match=told):
            reduced.compute()

    def test_of_numbers_whose_products_overflow(self):
        large = X.copy()
        large[70, 4] = -1e61
        with pytest.raises(ValueError, match=r"at most 1e\+60 in size.* Got 1e\+61"):
            SFMC().fit(da.from_array(large, chunks=(40, 9)), Y, TASKS)

    @pytest.mark.parametrize("method", [FSNM(), LSDF(), SPEC(), FisherScore()], ids=str)
    def test_of_methods_that_need_all(self, method):
        with pytest.raises(ValueError, match=rf"{type(method).__name__} needs .* X.compute\(\)"):
            method.fit(da.from_array(X), Y, TASKS)


def test_standardizing_is_scikit_learns():
    columns = np.column_stack([X, np.full(120, 0.1), 1e4 + 1e-3 * X[:, 0], np.zeros(120)])
    found = standardized(da.from_array(columns, chunks=(50, 5)))
    assert isinstance(found, da.Array)
    np.testing.assert_allclose(found, StandardScaler().fit_transform(columns), atol=1e-6)


def test_names_of_an_earlier_fit_are_forgotten():
    selector = SFMC().fit(pd.DataFrame(X, columns=list("abcdefghi")), Y, TASKS)
    assert len(selector.feature_names_in_) == 9
    selector.fit(da.from_array(X[:, :7], chunks=(60, 7)), Y, TASKS)
    assert not hasattr(selector, "feature_names_in_")
    assert selector.n_features_in_ == 7


def deadly(block, folder, spared, block_info=None):
    """Leave a line for the block; after some of them the first process that can ends itself."""
    trace = Path(folder) / "trace"
    with trace.open("a") as file:
        file.write(f"{block_info[0]['chunk-location'][0]}\n")
    if len(trace.read_text().splitlines()) > spared:
        with suppress(FileExistsError):
            (Path(folder) / "dead").touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.mark.parametrize(("spared", "lost"), [(0, {1}), (4, range(1, 7))])
def test_a_worker_that_is_killed_costs_what_it_held(spared, lost, cluster, tmp_path):
    """``kill -9`` while it reads its first chunk, or when both have read some."""
    samples = da.from_array(X, chunks=(12, 9))
    watched = samples.map_blocks(deadly, str(tmp_path), spared, meta=np.empty((0, 0)))
    expected = clone(SELECTORS["SFMC"]).fit(samples, Y, TASKS)
    with Client(cluster):
        found = clone(SELECTORS["SFMC"]).fit(watched, Y, TASKS)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
    read = (tmp_path / "trace").read_text().split()
    assert len(set(read)) == 10
    # What the worker was at, and what nobody else had of its results.
    assert len(read) - 10 in lost
