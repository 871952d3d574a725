"""Similarities of samples against double loops, and how far their numbers and memory reach."""

import tracemalloc

import longhand
import numpy as np
import pytest
import scipy.sparse as sp

from cosift import _products, similarity
from cosift.similarity import edge_energy, label_similarity, neighbor_edges, rbf_similarity

rng = np.random.default_rng(0)
X = rng.normal(size=(25, 4))
X[:, 3] *= np.abs(X[:, 3]) > 0.8  # zeros that sparse formats leave out
CODES = np.array([0, 1, 2, 0, 1, -1, 0, -1, 1, 3] + [-1] * 15)
containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
neighbors = pytest.mark.parametrize("k", [None, 1, 4, 24, 99])


@containers
@neighbors
@pytest.mark.parametrize("bandwidth", [None, 0.7])
def test_rbf_against_double_loops(container, k, bandwidth):
    S = rbf_similarity(container(X), k, bandwidth)
    np.testing.assert_allclose(S.toarray(), longhand.rbf(X, k, bandwidth), rtol=1e-12)
    assert sp.issparse(S.kernel) == (k is not None)


@containers
@pytest.mark.parametrize("k", [1, 3, 24])
def test_edges_against_double_loops(container, k):
    expected = np.argwhere(np.triu(longhand.are_neighbors(X, k)))
    np.testing.assert_array_equal(neighbor_edges(container(X), k), expected)


def test_an_edge_needs_one_direction_only():
    """The outlier has a nearest neighbour, and nobody has it as theirs."""
    line = np.array([[0.0], [1.0], [2.1], [50.0]])
    assert neighbor_edges(line, 1).tolist() == [[0, 1], [1, 2], [2, 3]]


def test_edges_of_equal_samples():
    """Ties go to the lower index; a duplicate is a neighbour like any other."""
    assert neighbor_edges(np.zeros((4, 2)), 1).tolist() == [[0, 1], [0, 2], [0, 3]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@containers
def test_edge_energy_against_a_loop(container, dtype):
    samples = (X + 1000.0).astype(dtype)
    edges = neighbor_edges(X, 3)
    unit = np.array([1.0, 0.5, 2.0, 4.0])
    exact = samples.astype(np.float64) * unit
    expected = sum((exact[i] - exact[j]) ** 2 for i, j in edges)
    energy = edge_energy(container(samples), edges, unit)
    np.testing.assert_allclose(energy, expected, rtol=1e-12)
    assert edge_energy(container(samples), edges[:0], unit).tolist() == [0.0] * 4


@containers
def test_single_precision_does_not_overflow_in_differences(container):
    far = np.array([[3e38], [-3e38]], dtype=np.float32)
    energy = edge_energy(container(far), np.array([[0, 1]]), np.array([2.0**-128]))
    np.testing.assert_allclose(energy, [(6e38 / 2.0**128) ** 2], rtol=1e-6)


@neighbors
def test_a_typical_pair_is_alike_in_any_dimension_and_unit(k):
    """With a bandwidth of 1 every similarity of this sort underflows to 0."""
    samples = 1e3 * rng.normal(size=(25, 10_000))
    others = ~np.eye(25, dtype=bool)
    fixed, S = (rbf_similarity(samples, k, width).toarray() for width in (1.0, None))
    assert not fixed[others].any()
    assert np.median(S[others & (S > 0)]) == pytest.approx(np.exp(-0.5), rel=0.01)
    np.testing.assert_allclose(rbf_similarity(1e-9 * samples, k).toarray(), S)


@pytest.mark.parametrize("k", [None, 24])
def test_the_bandwidth_ignores_duplicates(k):
    """Half of all pairs are 0 apart, the others 2."""
    pairs = np.repeat([[0.0], [2.0]], 13, axis=0)
    assert rbf_similarity(pairs, k).toarray()[0, -1] == pytest.approx(np.exp(-0.5))
    np.testing.assert_array_equal(rbf_similarity(np.ones((5, 2)), k).toarray(), 1.0)


def test_the_bandwidth_of_many_samples_is_that_of_a_sample():
    many = rng.normal(size=(1500, 3))
    S = rbf_similarity(many).toarray()
    away = ~np.eye(1500, dtype=bool)
    squared = ((many[:, None] - many[None]) ** 2).sum(axis=2)[away]
    widths = np.sqrt(squared / (-2.0 * np.log(S[away])))
    np.testing.assert_allclose(widths, widths[0], rtol=1e-6)
    assert widths[0] == pytest.approx(np.median(np.sqrt(squared)), rel=0.02)


@neighbors
@pytest.mark.parametrize(("bandwidth", "elsewhere"), [(1e-200, 0.0), (1e200, 1.0)])
def test_extreme_bandwidths(k, bandwidth, elsewhere):
    edges = np.ones((25, 25), dtype=bool) if k is None else longhand.are_neighbors(X, k)
    expected = np.where(np.eye(25), 1.0, elsewhere * edges)
    np.testing.assert_array_equal(rbf_similarity(X, k, bandwidth).toarray(), expected)


@containers
@neighbors
def test_what_overflows_is_refused(container, k):
    with pytest.raises(ValueError, match="X must hold finite numbers whose squares"):
        rbf_similarity(container(1e200 * X), k)


def test_a_large_mean_costs_no_digits():
    samples = np.round(X * 2**20) / 2**20
    expected = rbf_similarity(samples).toarray()
    np.testing.assert_allclose(rbf_similarity(samples + 1e6).toarray(), expected, rtol=1e-6)


@neighbors
def test_labels_against_double_loops(k):
    by_distance = rbf_similarity(X, k)
    before = by_distance.toarray()
    S = label_similarity(by_distance, CODES)
    np.testing.assert_allclose(S.toarray(), longhand.combined(before, CODES), rtol=1e-12)
    np.testing.assert_array_equal(by_distance.toarray(), before)


@neighbors
def test_products_and_degrees_are_those_of_the_dense_matrix(k):
    S = label_similarity(rbf_similarity(X, k), CODES)
    dense, F = S.toarray(), rng.normal(size=(25, 3))
    np.testing.assert_allclose(S @ F, dense @ F)
    np.testing.assert_allclose(S @ F[:, 0], dense @ F[:, 0])
    np.testing.assert_allclose(S.degrees, dense.sum(axis=1))


def test_blocks_of_edges_add_up(monkeypatch):
    edges = neighbor_edges(X, 5)
    energy, S = edge_energy(X, edges, np.ones(4)), rbf_similarity(X, 5).toarray()
    monkeypatch.setattr(similarity, "BLOCK_SIZE", 30)
    np.testing.assert_allclose(edge_energy(X, edges, np.ones(4)), energy)
    np.testing.assert_allclose(rbf_similarity(X, 5).toarray(), S)


def test_a_graph_of_neighbours_forms_nothing_n_by_n(monkeypatch):
    """n x n numbers would be 72 MB; a class of a third of the samples fills an eighth of that."""
    monkeypatch.setattr(_products, "GRAM_SAMPLES", 0)
    monkeypatch.setattr(_products, "BLOCK_SIZE", 2**17)
    many = rng.normal(size=(3000, 3))
    tracemalloc.start()
    S = label_similarity(rbf_similarity(many, 5), np.arange(3000) % 3)
    S @ many
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6
