"""LSDF against its definition, pair by pair, and where its graphs run out."""

import tracemalloc

import longhand
import numpy as np
import pytest
import scipy.sparse as sp

from cosift import LSDF, FisherScore, _products

rng = np.random.default_rng(0)
Y = np.array([0, 0, 0, 1, 1, 2, 2, 2, 5] + [-1] * 11)
X = rng.normal(size=(20, 5)) + np.maximum(Y, 0)[:, None] * np.linspace(0, 1, 5)
containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])


def definition(X, y, gamma=100.0, k=5):
    """Both graphs as n x n matrices, and both sums over all pairs."""
    n, near = len(X), longhand.are_neighbors(X, k)
    scores = []
    for f in X.T:
        between = within = 0.0
        for i in range(n):
            for j in range(i):
                labeled = y[i] != -1 and y[j] != -1
                squared = (f[i] - f[j]) ** 2
                if labeled and y[i] != y[j]:
                    between += squared
                elif labeled:
                    within += gamma * squared
                elif near[i, j]:
                    within += squared
        scores.append(between / within)
    return np.array(scores)


def score(X, y=Y, **params):
    return LSDF(**params).fit(X, y).task_scores_[0]


@containers
@pytest.mark.parametrize("gamma", [0.5, 100.0])
@pytest.mark.parametrize("k", [1, 3, 5, 19, 99])
def test_against_double_loops(container, k, gamma):
    scores = score(container(X), n_neighbors=k, gamma=gamma)
    np.testing.assert_allclose(scores, definition(X, Y, gamma, min(k, 19)), rtol=1e-10)


def test_the_defaults_are_those_of_the_article():
    np.testing.assert_allclose(score(X), definition(X, Y, gamma=100.0, k=5), rtol=1e-10)


def test_scores_are_quotients_of_laplacians():
    """f' L f for the graph of weights A is the sum over its pairs."""
    near = longhand.are_neighbors(X, 5)
    both = (Y[:, None] != -1) & (Y[None, :] != -1)
    same = Y[:, None] == Y[None, :]
    B = (both & ~same).astype(float)
    W = np.where(both & same, 100.0, np.where(~both & near, 1.0, 0.0))
    np.fill_diagonal(W, 0.0)
    L_b, L_w = (np.diag(A.sum(axis=1)) - A for A in (B, W))
    expected = [(f @ L_b @ f) / (f @ L_w @ f) for f in X.T]
    np.testing.assert_allclose(score(X), expected, rtol=1e-10)


def test_all_rows_labelled():
    y = np.arange(20) % 3
    np.testing.assert_allclose(score(X, y), definition(X, y), rtol=1e-10)


def test_with_classes_of_one_size_it_orders_like_fisher():
    """All labelled: b n / (gamma m w) plus a constant, with m members a class."""
    y = np.arange(20) % 4
    order, fisher = (np.argsort(s.fit(X, y).ranking_) for s in (LSDF(), FisherScore()))
    np.testing.assert_array_equal(order, fisher)


def test_equal_samples_tie_by_index():
    few = np.round(X[:, :2])  # many duplicates
    scores = score(few, n_neighbors=3)
    np.testing.assert_allclose(scores, definition(few, Y, k=3), rtol=1e-10)


@containers
def test_constants_are_last(container):
    padded = np.column_stack([np.full(20, 0.1), X, np.zeros(20)])
    selector = LSDF().fit(container(padded), Y)
    assert selector.task_scores_[0, [0, 6]].tolist() == [0.0, 0.0]
    assert selector.ranking_[[0, 6]].tolist() == [6, 7]
    assert np.isfinite(selector.task_scores_).all()


@containers
def test_what_varies_among_unlabelled_rows_alone_scores_zero(container):
    lonely = np.where(Y == -1, X[:, 0], 3.0)
    assert score(container(np.column_stack([lonely, X[:, 1:]])))[0] == 0.0


def test_a_feature_without_variation_along_the_graph_is_first_and_finite():
    """Constant in every class and between neighbours: two clusters, the label their only trait."""
    y = np.repeat([0, 1], 10)
    far = y * 100.0
    samples = np.column_stack([rng.normal(size=20), far, rng.normal(size=20)])
    labels = np.where(np.arange(20) % 2 == 0, y, -1)
    selector = LSDF(n_neighbors=3).fit(samples, labels)
    assert np.isfinite(selector.task_scores_).all()
    assert selector.ranking_[1] == 1


def test_smoothness_over_unlabelled_rows_counts():
    """Equal over labels; over the neighbours one jumps and one does not."""
    place = np.linspace(0, 1, 30)
    y = np.where(np.arange(30) < 3, 0, np.where(np.arange(30) > 26, 1, -1))
    smooth = place
    rough = np.where(y == -1, place + 0.4 * (-1.0) ** np.arange(30), place)
    samples = np.column_stack([rough, smooth, 10.0 * place])
    scores = score(samples, y, n_neighbors=2)
    assert scores[1] > 1.4 * scores[0]


@pytest.mark.parametrize("factor", [1e-140, 1e-9, 1e9, 1e140])
def test_no_unit_matters(factor):
    np.testing.assert_allclose(score(X * factor), score(X), rtol=1e-10)


def test_a_large_mean_costs_no_digits():
    exact = np.round(X * 2**20) / 2**20
    np.testing.assert_allclose(score(exact + 1e6), score(exact), rtol=1e-8)


def test_tasks_over_the_same_rows_search_neighbours_once(monkeypatch):
    from cosift.selectors import lsdf

    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return lsdf_edges(*arguments)

    lsdf_edges = lsdf.neighbor_edges
    monkeypatch.setattr(lsdf, "neighbor_edges", counted)
    LSDF().fit(X, (rng.random((20, 4)) < 0.5).astype(int))
    assert len(calls) == 1


def test_no_graph_of_labels_is_formed(monkeypatch):
    """All pairs of 4000 labelled samples would be 128 MB."""
    monkeypatch.setattr(_products, "GRAM_SAMPLES", 0)
    monkeypatch.setattr(_products, "BLOCK_SIZE", 2**17)
    many, y = rng.normal(size=(4000, 3)), np.arange(4000) % 2
    tracemalloc.start()
    LSDF().fit(many, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16e6


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a number above 0"),
        ({"gamma": np.inf}, "gamma must be a number above 0"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1"),
        ({"n_neighbors": 2.5}, "n_neighbors must be an integer of at least 1"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        LSDF(**params).fit(X, Y)
