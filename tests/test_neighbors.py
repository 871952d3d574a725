"""The searches for neighbours against brute force and against each other."""

import numpy as np
import pytest
import scipy.sparse as sp

from cosift import SFMC, _approximate, _kernels, _products, _screening, neighbors
from cosift._products import sample_products
from cosift.datasets import make_related_tasks
from cosift.neighbors import find_cliques, neighborhoods


def brute_force(X, rows, k):
    """The nearest of every row by (squared distance, index), itself first."""
    cliques = []
    for i in rows:
        distances = ((X - X[i]) ** 2).sum(axis=1)
        distances[i] = -1.0
        cliques.append(np.lexsort((np.arange(len(X)), distances))[:k].tolist())
    return cliques


def continuous(n=700, d=12):
    return np.random.default_rng(4).normal(size=(n, d)) + 3.0


def counts(n=700, d=6):
    """Small counts: most distances are ties, some samples equal."""
    return np.random.default_rng(0).poisson(0.4, size=(n, d)).astype(float)


def uneven(n=700, d=12):
    """Samples of very different size: in single precision the small ones are all alike."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 3, size=(n, 1))


def huge(n=300, d=5):
    """Their squares overflow in single precision."""
    return 1e30 * continuous(n, d)


@pytest.fixture
def screened(monkeypatch):
    """Many small tiles, and how many rows were left open by each search."""
    monkeypatch.setattr(_products, "GRAM_SAMPLES", 0)
    monkeypatch.setattr(neighbors, "SCREENED_SAMPLES", 0)
    monkeypatch.setattr(_screening, "ROWS", 64)
    monkeypatch.setattr(_screening, "COLUMNS", 150)
    compared = []
    exactly = neighbors._exactly

    def counted(products, rows, count):
        compared.append(len(rows))
        return exactly(products, rows, count)

    monkeypatch.setattr(neighbors, "_exactly", counted)
    return compared


@pytest.mark.parametrize("make", [continuous, counts, uneven, huge])
def test_screening_finds_what_brute_force_finds(make, screened):
    X = make()
    assert neighborhoods(X, 8).tolist() == brute_force(X, range(len(X)), 8)
    assert len(screened) == 1  # of the rows left open, perhaps none


def test_screening_leaves_few_open_where_distances_differ(screened):
    neighborhoods(continuous(), 8)
    assert screened[0] <= 7


def test_screening_leaves_open_what_single_precision_cannot_tell(screened):
    X = np.repeat(continuous(20), 30, axis=0)  # thirty of each: no distance ends the nearest eight
    assert neighborhoods(X, 8).tolist() == brute_force(X, range(600), 8)
    assert screened[0] == 600


def test_candidates_hold_all_that_is_nearer_than_beyond():
    X = continuous()
    found = _screening.candidates(X, (X**2).sum(axis=1), 5)
    for i in range(len(X)):
        distances = ((X - X[i]) ** 2).sum(axis=1)
        nearer = set(np.flatnonzero(distances < found.beyond[i])) - {i}
        assert nearer <= set(found.others[i])
        assert i not in found.others[i]
        assert len(set(found.others[i])) == 5 + _screening.SPARE


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_screening_does_not_depend_on_the_number_of_threads(workers, screened, monkeypatch):
    X = continuous()
    expected = neighborhoods(X, 8)
    for module in (_screening, _kernels):
        monkeypatch.setattr(module.joblib, "cpu_count", lambda: workers)
    np.testing.assert_array_equal(neighborhoods(X, 8), expected)


@pytest.mark.parametrize("make", [continuous, counts, uneven])
def test_without_the_extra_the_cliques_are_the_same(make, screened, monkeypatch):
    X = make()
    with_it = neighborhoods(X, 8)
    monkeypatch.setattr(_screening, "available", lambda: False)
    monkeypatch.setattr(_approximate, "available", lambda: False)
    monkeypatch.setattr(neighbors, "EXACT_WORK", 0.0)
    np.testing.assert_array_equal(neighborhoods(X, 8), with_it)
    assert screened[-1] == len(X)


def test_sparse_samples_full_enough_are_searched_as_dense_ones(screened):
    X = counts()
    assert neighborhoods(sp.csr_array(X), 8).tolist() == neighborhoods(X, 8).tolist()
    assert len(screened) == 2
    sparse = sp.csr_array(np.hstack([X, np.zeros((len(X), 200))]))
    assert neighborhoods(sparse, 8).tolist() == neighborhoods(X, 8).tolist()
    assert screened[-2:] == [len(X), screened[1]]


class TestApproximate:
    @pytest.fixture(autouse=True)
    def beyond_exact(self, screened, monkeypatch):
        monkeypatch.setattr(neighbors, "EXACT_WORK", 0.0)
        monkeypatch.setattr(neighbors, "SAMPLE", 100)

    def test_recall_is_that_of_the_sample(self, monkeypatch):
        # So little effort that neighbours are missed, and accepted all the same.
        monkeypatch.setattr(_approximate, "LINKS", 4)
        monkeypatch.setattr(_approximate, "BUILDING", 4)
        monkeypatch.setattr(_approximate, "EFFORTS", (8,))
        monkeypatch.setattr(neighbors, "RECALL", 0.1)
        X = continuous(3_000)
        members, recall = find_cliques(sample_products(X), 8)
        np.testing.assert_array_equal(members[:, 0], np.arange(3_000))
        rows = np.unique(np.linspace(0, 2_999, 100).astype(int))
        exact = brute_force(X, rows, 8)
        hits = [len(set(members[i, 1:]) & set(exact[r][1:])) for r, i in enumerate(rows)]
        assert recall == pytest.approx(np.mean(hits) / 7, abs=1e-12)
        assert 0.1 < recall < 0.95

    def test_effort_grows_until_recall_is_enough(self, monkeypatch):
        tried = []
        candidates = _approximate.Index.candidates

        def counted(self, rows, count, effort):
            tried.append((len(rows), effort))
            return candidates(self, rows, count, effort)

        monkeypatch.setattr(_approximate.Index, "candidates", counted)
        monkeypatch.setattr(_approximate, "LINKS", 4)
        monkeypatch.setattr(_approximate, "BUILDING", 4)
        monkeypatch.setattr(_approximate, "EFFORTS", (8, 3_000))
        members, recall = find_cliques(sample_products(continuous(3_000)), 8)
        assert recall >= neighbors.RECALL
        assert tried == [(100, 8), (100, 3_000), (3_000, 3_000)]
        assert members.shape == (3_000, 8)

    def test_too_low_a_recall_is_no_option(self, monkeypatch):
        monkeypatch.setattr(_approximate, "LINKS", 4)
        monkeypatch.setattr(_approximate, "BUILDING", 4)
        monkeypatch.setattr(_approximate, "EFFORTS", (8,))
        X = continuous(3_000)
        members, recall = find_cliques(sample_products(X), 8)
        assert recall == 1.0
        rows = range(0, 3_000, 50)
        assert members[rows].tolist() == brute_force(X, rows, 8)

    def test_duplicates_are_found_or_compared_with_all(self):
        X = np.repeat(continuous(20), 30, axis=0)
        members, recall = find_cliques(sample_products(X), 8)
        assert recall >= neighbors.RECALL
        for i, clique in enumerate(members.tolist()):
            assert clique[0] == i
            assert len(set(clique)) == 8
            assert set(np.array(clique) // 30) == {i // 30}

    def test_rows_with_too_few_candidates_are_compared_with_all(self, monkeypatch):
        candidates = _approximate.Index.candidates

        def fewer(self, rows, count, effort):
            found = candidates(self, rows, count, effort)
            found[rows % 3 == 0, 4:] = -1
            return found

        monkeypatch.setattr(_approximate.Index, "candidates", fewer)
        X = continuous(1_200)
        members, recall = find_cliques(sample_products(X), 8)
        assert recall >= neighbors.RECALL
        rows = range(0, 1_200, 30)
        assert members[rows].tolist() == brute_force(X, rows, 8)

    def test_same_twice(self, monkeypatch):
        monkeypatch.setattr(_approximate, "LINKS", 4)
        monkeypatch.setattr(_approximate, "BUILDING", 4)
        monkeypatch.setattr(_approximate, "EFFORTS", (8,))
        monkeypatch.setattr(neighbors, "RECALL", 0.1)
        X = continuous(2_000)
        first, second = (find_cliques(sample_products(X), 8) for _ in range(2))
        np.testing.assert_array_equal(first.members, second.members)
        assert first.recall == second.recall < 1.0

    def test_the_estimator_reports_it(self):
        data = make_related_tasks(2, 400, 20, labeled=0.3)
        fit = SFMC().fit(data.X, data.y, data.tasks)
        for task, recall in enumerate(fit.neighbor_recall_):
            X = data.X[data.tasks == np.unique(data.tasks)[task]]
            assert recall == find_cliques(sample_products(X), 15).recall


def test_an_exact_search_has_recall_one():
    data = make_related_tasks(3, 100, 20, labeled=0.3)
    assert SFMC().fit(data.X, data.y, data.tasks).neighbor_recall_.tolist() == [1.0] * 3
