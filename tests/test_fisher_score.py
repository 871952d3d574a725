"""Fisher score against its definition, and where floating point or a class runs out."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from cosift import FisherScore

rng = np.random.default_rng(0)
Y = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 5])
X = rng.normal(size=(10, 6)) + Y[:, None] * np.linspace(0, 1, 6)
UNIT = 2.0**-20


def definition(X, y):
    """Sums over classes and samples, one number at a time and in rational arithmetic."""
    scores = []
    for j in range(X.shape[1]):
        values = [Fraction(float(value)) for value in X[:, j]]
        mean = sum(values) / len(values)
        between = within = Fraction(0)
        for c in set(y.tolist()) - {-1}:
            own = [value for value, label in zip(values, y, strict=True) if label == c]
            own_mean = sum(own) / len(own)
            between += len(own) * (own_mean - mean) ** 2
            within += len(own) * (sum((value - own_mean) ** 2 for value in own) / len(own))
        scores.append(float(between / within))
    return np.array(scores)


def score(X, y=Y, **params):
    return FisherScore(**params).fit(X, y).task_scores_[0]


def test_against_the_definition():
    np.testing.assert_allclose(score(X), definition(X, Y), rtol=1e-12)


def test_published_values():
    """The scores of the example in ITMO_FS, here of other data: 3 classes of 2 samples."""
    columns = [
        [3, 3, 3, 6, 4, 5],
        [3, 3, 3, 4, 1, 4],
        [3, 3, 3, 4, 2, 3],
        [4, 0, 1, 6, 2, 5],
        [3, 6, 0, 0, 4, 5],
    ]
    samples, y = np.transpose(columns), np.array([0, 0, 1, 1, 2, 2])
    expected = [0.6, 0.2, 1.0, 0.12, 5.4]
    np.testing.assert_allclose(definition(samples, y), expected)
    np.testing.assert_allclose(score(samples, y), expected)


def test_only_labelled_rows_count():
    y = Y.copy()
    y[[1, 8]] = -1
    kept = y != -1
    np.testing.assert_array_equal(score(X, y), score(X[kept], y[kept]))
    np.testing.assert_allclose(score(X, y), definition(X[kept], y[kept]))


@pytest.mark.parametrize("origin", [1e8, -1e8, 1e12])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
def test_a_large_mean_costs_no_digits(origin, container):
    far = np.round(X / UNIT) * UNIT + origin  # exact where the origin leaves room for the unit
    np.testing.assert_allclose(score(container(far)), definition(far, Y), rtol=1e-10)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_no_unit_overflows_or_underflows(factor):
    np.testing.assert_allclose(score(X * factor), score(X), rtol=1e-10)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e8 + 0.1, -7.0])
def test_constants_are_last(container, constant):
    samples = X.copy()
    samples[:, 1] = constant
    selector = FisherScore().fit(container(samples), Y)
    assert selector.task_scores_[0, 1] == 0.0
    assert selector.ranking_[1] == 6


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_constant_where_labelled_is_constant(container):
    values = np.sqrt(np.arange(100.0))
    samples = np.vstack([np.zeros(100), np.tile(values, (7, 1))])
    samples[4, 0] = 1.0
    scores = score(container(samples), np.array([-1, 0, 1, 2, 3, 4, 5, 6]))
    assert scores[0] > 0
    np.testing.assert_array_equal(scores[1:], 0.0)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("origin", [0.0, 0.1, 1e6 + 0.1])
def test_perfect_separators_are_first_finite_and_in_order(container, origin):
    """The classes equally apart fill their range better than one class apart from the rest."""
    y = np.repeat([0, 1, 2], 4)
    noise = rng.normal(size=12)
    thirds, outlier, halves = y * 1.0, (y == 2) * 3.0, (y > 0) * 1.0 + (y > 1) * 0.5
    samples = np.column_stack([noise, outlier, np.zeros(12), halves, thirds, noise + 9 * y])
    selector = FisherScore().fit(container(samples + origin), y)
    scores = selector.task_scores_[0]
    assert np.isfinite(scores).all()
    assert selector.ranking_[2] == 6
    assert set(np.argsort(selector.ranking_)[:3]) == {1, 3, 4}
    assert scores[[1, 3, 4]].min() > scores[5] > scores[0]
    share = {j: samples[:, j].var() / np.ptp(samples[:, j]) ** 2 for j in (1, 3, 4)}
    best_first = sorted(share, key=lambda j: -share[j])
    assert np.argsort(selector.ranking_)[:3].tolist() == best_first
    # In another unit they are the same features.
    np.testing.assert_allclose(score(samples * 1000.0, y), score(samples, y), rtol=1e-9)


def test_one_sample_a_class_makes_every_feature_a_separator():
    y = np.array([0, 1, 2])
    samples = np.array([[0.0, 0, 1, 4], [0.0, 1, 1, 5], [1.0, 2, 1, 6]])
    scores = score(samples, y)
    np.testing.assert_allclose(scores / scores.max(), [1, (1 + 0.75) / 2, 0, (1 + 0.75) / 2])


def test_one_member_classes_add_to_the_scatter_between():
    y = np.array([0, 0, 0, 1, 1, 2])
    samples = X[:6]
    np.testing.assert_allclose(score(samples, y), definition(samples, y))


def test_ties_go_by_column():
    selector = FisherScore().fit(X[:, [2, 4, 2, 4]], Y)
    scores = selector.task_scores_[0]
    assert scores[0] == scores[2]
    assert scores[1] == scores[3]
    assert abs(selector.ranking_[0] - selector.ranking_[2]) == 1
    assert selector.ranking_[0] < selector.ranking_[2]


def test_sparse_samples_are_not_made_dense():
    """A dense 1000 x 10^6 would be 8 GB; the work follows the 5000 stored values."""
    samples = sp.random_array((1000, 10**6), density=5e-6, rng=np.random.default_rng(0))
    y = np.arange(1000) % 2
    scores = score(samples.tocsr(), y)
    some = np.unique(samples.tocoo().col)[:50]
    expected = definition(samples.tocsc()[:, some].toarray(), y)
    np.testing.assert_allclose(scores[some], expected, rtol=1e-10)


def test_stored_zeros_and_duplicate_entries_are_values_like_any():
    twice = sp.coo_array(
        ([1.0, 2.0, 0.0, 4.0, 5.0], ([0, 0, 1, 2, 3], [0, 0, 0, 0, 0])), shape=(4, 1)
    )
    y = np.array([0, 0, 1, 1])
    by_row = sp.csr_array(
        (twice.data.copy(), twice.col.copy(), np.array([0, 2, 3, 4, 5])), shape=(4, 1)
    )
    np.testing.assert_allclose(score(by_row, y), definition(np.array([[3.0], [0], [4], [5]]), y))
    assert by_row.nnz == 5
