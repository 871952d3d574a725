"""The graph against its definition, and every route against every other."""

import hashlib
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cosift import _products, _screening, neighbors
from cosift.graph import local_laplacian
from cosift.neighbors import neighborhoods


def reference_cliques(X, k):
    """Sort (squared distance, index) of every pair; the point itself comes first."""
    cliques = []
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i]
        others.sort(key=lambda j: (math.fsum((X[i] - X[j]) ** 2), j))
        cliques.append([i, *others[: k - 1]])
    return cliques


def reference_laplacian(X, k, ridge):
    """The definition, clique by clique, with its selection matrices written out."""
    n = len(X)
    L = np.zeros((n, n))
    for clique in reference_cliques(X, k):
        size = len(clique)
        S = np.eye(n)[:, clique]
        H = np.eye(size) - np.ones((size, size)) / size
        Z = X[clique] - X[clique].mean(axis=0)
        L += S @ H @ np.linalg.inv(Z @ Z.T + ridge * np.eye(size)) @ H @ S.T
    return L


def distance(L, expected):
    """Largest difference, relative to the largest entry expected."""
    L = L.toarray() if sp.issparse(L) else L
    expected = expected.toarray() if sp.issparse(expected) else expected
    return abs(L - expected).max() / abs(expected).max()


@pytest.fixture(params=["Gram", "Gram in blocks", "one block", "many blocks", "screened"])
def route(request, monkeypatch):
    monkeypatch.setattr(_products, "DENSE_SHARE", 1.0)
    if "Gram" not in request.param:
        monkeypatch.setattr(_products, "GRAM_SAMPLES", 0)
    if "blocks" in request.param:
        monkeypatch.setattr(_products, "BLOCK_SIZE", 100)
        monkeypatch.setattr(_products, "COPY_SIZE", 0)
    if request.param == "screened":
        monkeypatch.setattr(_products, "DENSE_SHARE", 0.0)
        monkeypatch.setattr(neighbors, "SCREENED_SAMPLES", 0)
        monkeypatch.setattr(_screening, "ROWS", 8)
        monkeypatch.setattr(_screening, "COLUMNS", 16)
    return request.param


@pytest.fixture
def X():
    return np.random.default_rng(3).normal(size=(40, 6))


def counts(n=60, d=8, seed=0):
    """Small counts: many zeros, many exact ties, some equal rows."""
    return np.random.default_rng(seed).poisson(0.4, size=(n, d)).astype(float)


def make(form, X):
    return {
        "dense": lambda: X,
        "fortran": lambda: np.asfortranarray(X),
        "float32": lambda: X.astype(np.float32),
        "int": lambda: X.astype(np.int64),
        "csr_array": lambda: sp.csr_array(X),
        "csr_matrix": lambda: sp.csr_matrix(X),
        "csc_array": lambda: sp.csc_array(X),
        "csc_matrix": lambda: sp.csc_matrix(X),
        "sparse float32": lambda: sp.csr_array(X.astype(np.float32)),
        "sparse int": lambda: sp.csr_array(X.astype(np.int64)),
    }[form]()


FORMS = [
    "dense",
    "fortran",
    "float32",
    "int",
    "csr_array",
    "csr_matrix",
    "csc_array",
    "csc_matrix",
    "sparse float32",
    "sparse int",
]


@pytest.mark.parametrize(("k", "ridge"), [(2, 1.0), (5, 1e-2), (15, 1e3), (40, 1.0), (60, 1.0)])
def test_definition(X, k, ridge, route):
    assert neighborhoods(X, k).tolist() == reference_cliques(X, k)
    assert distance(local_laplacian(X, k, ridge), reference_laplacian(X, k, ridge)) < 1e-12


@pytest.mark.parametrize("form", FORMS)
def test_ties_and_duplicates_agree_with_the_definition_in_every_form(form, route):
    X = counts()
    assert len(np.unique(X, axis=0)) < len(X)
    assert neighborhoods(make(form, X), 7).tolist() == reference_cliques(X, 7)
    assert distance(local_laplacian(make(form, X), 7), reference_laplacian(X, 7, 1.0)) < 1e-12


def test_float32_is_computed_in_double_precision(X, route):
    single = X.astype(np.float32)
    expected = reference_laplacian(single.astype(np.float64), 6, 1.0)
    assert distance(local_laplacian(single, 6), expected) < 1e-12


def test_memory_map(X, tmp_path, route):
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    assert distance(local_laplacian(mapped, 6), local_laplacian(X, 6)) == 0


@settings(deadline=None)
@given(
    X=arrays(
        np.float64, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.integers(-2, 2)
    ),
    k=st.integers(1, 10),
    shift=st.integers(-5, 5),
)
def test_definition_on_small_lattices(X, k, shift):
    X = X + shift
    expected = reference_laplacian(X, k, 1.0)
    assert neighborhoods(X, k).tolist() == reference_cliques(X, k)
    assert neighborhoods(sp.csr_array(X), k).tolist() == reference_cliques(X, k)
    np.testing.assert_allclose(local_laplacian(X, k).toarray(), expected, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("d", [1, 3, 100])
def test_symmetric_semidefinite_and_blind_to_constants(scale, d, route):
    X = np.random.default_rng(1).normal(size=(50, d)) * scale
    L = local_laplacian(X, 10)
    dense = L.toarray()
    assert isinstance(L, sp.csr_array)
    assert L.dtype == np.float64
    assert L.has_canonical_format
    assert (dense == dense.T).all()
    values = np.linalg.eigvalsh(dense)
    assert values[0] >= -1e-14 * values[-1]
    assert abs(dense.sum(axis=1)).max() <= 1e-13 * values[-1]


@pytest.mark.parametrize("form", ["dense", "csr_array"])
def test_point_among_duplicates_is_in_its_clique_once(form, route):
    # 0.1 and its like have no short binary form: rounding differs from product to product.
    X = np.tile(np.random.default_rng(5).normal(size=(3, 7)) + 0.1, (6, 1))
    cliques = neighborhoods(make(form, X), 4)
    for i, clique in enumerate(cliques.tolist()):
        equals = [j for j in range(i % 3, 18, 3) if j != i]
        assert clique == [i, *equals[:3]]


def test_duplicates_of_a_large_sample_tie_by_index():
    X = np.random.default_rng(0).normal(size=(300, 2000)) * 1e3
    X[1::2] = X[::2]
    X[250:] = X[0]
    equals = [0, 1, *range(250, 300)]
    assert neighborhoods(X, 10)[299].tolist() == [299, *equals[:9]]
    assert neighborhoods(X, 10)[1].tolist() == [1, 0, *equals[2:10]]


def test_constant_samples(route):
    X = np.full((12, 4), 0.3)
    assert neighborhoods(X, 3)[:4].tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1], [3, 0, 1]]
    assert distance(local_laplacian(X, 3, 0.5), reference_laplacian(X, 3, 0.5)) < 1e-13


def test_shift_changes_nothing(X):
    # Multiples of 2^-20 are still exact beside 1e6, so the shifted samples are the same samples.
    X = np.round(X * 2**20) / 2**20
    shift = np.zeros(6)
    shift[2] = 1e6
    assert (neighborhoods(X + shift, 8) == neighborhoods(X, 8)).all()
    assert distance(local_laplacian(X + shift, 8), local_laplacian(X, 8)) < 1e-12


def test_feature_with_a_huge_mean(X, route):
    shift = np.array([1e8, 0, -1e8, 0, 0, 1e8])
    X = (X + shift) - shift  # what the shifted samples can hold of X
    expected = reference_laplacian(X, 8, 1.0)
    assert neighborhoods(X + shift, 8).tolist() == reference_cliques(X, 8)
    assert distance(local_laplacian(X + shift, 8), expected) < 1e-12


def test_row_permutation_permutes(X, route):
    order = np.random.default_rng(0).permutation(len(X))
    permuted = local_laplacian(X[order], 8).toarray()
    assert distance(permuted, local_laplacian(X, 8).toarray()[np.ix_(order, order)]) < 1e-12


@pytest.mark.parametrize("scale", [1e-5, 3.0, 1e5])
def test_ridge_is_in_squared_units_of_the_samples(X, scale):
    scaled = local_laplacian(scale * X, 8, ridge=0.7 * scale**2)
    assert distance(scaled * scale**2, local_laplacian(X, 8, ridge=0.7)) < 1e-12


@pytest.mark.parametrize("form", ["dense", "csr_array"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples(n, form, route):
    X = np.arange(2.0 * n).reshape(n, 2) ** 2
    assert neighborhoods(make(form, X)).shape == (n, n)
    L = local_laplacian(make(form, X))
    assert L.shape == (n, n)
    np.testing.assert_allclose(L.toarray(), reference_laplacian(X, 15, 1.0), atol=1e-15)


def test_cliques_of_one_leave_nothing(X, route):
    assert neighborhoods(X, 1).tolist() == [[i] for i in range(40)]
    assert neighborhoods(X, 1).dtype == np.intp
    assert not local_laplacian(X, 1).toarray().any()


def test_source_of_products(X, monkeypatch):
    monkeypatch.setattr(_products, "GRAM_SAMPLES", 40)
    assert isinstance(_products.sample_products(X), _products.GramProducts)
    monkeypatch.setattr(_products, "GRAM_SAMPLES", 39)
    assert isinstance(_products.sample_products(X), _products.DenseProducts)
    X[:, 1:] *= np.arange(40)[:, None] % 5 == 0
    assert isinstance(_products.sample_products(sp.csr_array(X)), _products.DenseProducts)
    monkeypatch.setattr(_products, "DENSE_SHARE", 0.4)
    assert isinstance(_products.sample_products(sp.csr_array(X)), _products.SparseProducts)


@pytest.mark.parametrize("form", ["dense", "fortran", "csr_array", "csc_array"])
def test_input_is_left_alone(X, form, route):
    data = make(form, X)
    parts = [data.data, data.indices, data.indptr] if sp.issparse(data) else [data]

    def fingerprint():
        return [hashlib.sha256(part.tobytes()).hexdigest() for part in parts]

    before = fingerprint()
    local_laplacian(data, 6)
    assert fingerprint() == before


def test_unsorted_sparse_with_repeated_entries(route):
    X = counts()
    whole = sp.coo_array(X)
    twice = np.concatenate([whole.col[::-1], whole.col])
    order = np.argsort(np.concatenate([whole.row[::-1], whole.row]), kind="stable")
    halves = sp.csr_array(
        (
            np.concatenate([whole.data[::-1], whole.data])[order] / 2,
            twice[order],
            2 * sp.csr_array(X).indptr,
        ),
        shape=X.shape,
    )
    assert not halves.has_canonical_format
    stored = halves.nnz
    assert distance(local_laplacian(halves, 7), local_laplacian(X, 7)) < 1e-12
    assert halves.nnz == stored


def test_same_twice(X):
    assert distance(local_laplacian(X), local_laplacian(X)) == 0


@pytest.mark.parametrize("function", [neighborhoods, local_laplacian])
@pytest.mark.parametrize("n_neighbors", [0, -3])
def test_clique_size_must_be_positive(X, function, n_neighbors):
    with pytest.raises(ValueError, match=f"n_neighbors must be at least 1. Got {n_neighbors}"):
        function(X, n_neighbors)


@pytest.mark.parametrize("ridge", [0, -1.0, np.nan, np.inf])
def test_ridge_must_be_positive(X, ridge):
    with pytest.raises(ValueError, match=f"ridge must be a positive, finite number. Got {ridge}"):
        local_laplacian(X, ridge=ridge)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("form", ["dense", "csr_array"])
def test_samples_must_be_finite(X, value, form):
    X[3, 2] = value
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="X must hold finite numbers"):
        local_laplacian(make(form, X))
