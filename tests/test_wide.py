"""Many more features than samples: nothing is features x features, and sparse X stays sparse."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from cosift import FSSI, SFMC, SFSS

SELECTORS = [SFMC(alpha=0.3, gamma=0.3), SFSS(alpha=0.3), FSSI(alpha=0.3, gamma=0.3)]


def samples(n, d, density):
    """Two tasks of two classes; twelve features are there where the class is theirs."""
    rng = np.random.default_rng(0)
    tasks, classes = np.arange(n) % 2, np.arange(n) // 2 % 2
    own = (classes[:, None] == np.arange(12) % 2) * rng.uniform(1, 2, (n, 12))
    noise = sp.random_array((n, d - 12), density=density, rng=rng, format="csr")
    X = sp.hstack([sp.csr_array(own), noise], format="csr")
    return X, np.where(rng.random(n) < 0.5, classes, -1), tasks


def peak_of(fit, *data):
    fit(*data)  # whatever is loaded on first use is not counted
    tracemalloc.start()
    try:
        fit(*data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: type(s).__name__)
class TestWide:
    def test_sparse_as_dense(self, selector):
        X, y, tasks = samples(60, 900, 0.05)
        fit = clone(selector).set_params(tol=1e-9).fit(X, y, tasks)
        dense = clone(selector).set_params(tol=1e-9).fit(X.toarray(), y, tasks)
        at_zero = dense.history_[0].objective
        assert fit.converged_
        assert dense.converged_
        assert fit.objective_ == pytest.approx(dense.objective_, abs=2e-9 * at_zero)
        np.testing.assert_allclose(fit.scores_, dense.scores_, atol=1e-3 * dense.scores_.max())
        assert 0 < (fit.scores_ > 0).sum() < 900

    def test_dense_memory_is_a_few_copies_of_the_samples(self, selector):
        X, y, tasks = samples(60, 20_000, 0.3)
        X = X.toarray()
        assert peak_of(clone(selector).fit, X, y, tasks) < 8 * X.nbytes < 20_000**2 * 8 / 30

    def test_sparse_memory_is_far_below_that_of_dense_samples(self, selector):
        n, d = 300, 150_000
        X, y, tasks = samples(n, d, 1e-3)
        assert peak_of(clone(selector).fit, X, y, tasks) < 0.5 * n * d * 8
