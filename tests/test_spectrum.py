"""Energies under functions of the normalised Laplacian, against all of its eigenpairs."""

import tracemalloc

import longhand
import numpy as np
import pytest

from cosift import spectrum
from cosift.similarity import label_similarity, rbf_similarity
from cosift.spectrum import Spectrum

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
CODES = np.where(np.arange(90) < 20, np.arange(90) % 3, -1)
APART = X + 1e3 * (np.arange(90) % 4 == 0)[:, None] + 2e3 * (np.arange(90) % 4 == 1)[:, None]
SIMILARITIES = {
    "dense": rbf_similarity(X),
    "neighbors": rbf_similarity(X, 4),
    "in three parts": rbf_similarity(APART, 4),
    "dense with labels": label_similarity(rbf_similarity(X), CODES),
    "neighbors with labels": label_similarity(rbf_similarity(X, 4), CODES),
}
SPARSE = ("neighbors", "in three parts", "neighbors with labels")
every_similarity = pytest.mark.parametrize("name", SIMILARITIES)


@pytest.fixture
def many_samples(monkeypatch):
    """The routes of many samples, for few."""
    monkeypatch.setattr(spectrum, "DENSE_SAMPLES", 0)


def features(similarity):
    """Columns without a mean under the degrees."""
    F = rng.normal(size=(90, 5))
    return F - similarity.degrees @ F / similarity.degrees.sum()


def energies(similarity, F, weigh):
    """sum over j >= 2 of weigh(j, lambda_j) (g' xi_j)^2, term by term."""
    S = similarity.toarray()
    values, vectors = longhand.eigenpairs(S)
    totals = np.zeros(F.shape[1])
    for column, f in enumerate(F.T):
        g = np.sqrt(S.sum(axis=1)) * f
        for j in range(2, len(S) + 1):
            totals[column] += weigh(j, values[j - 1]) * (g @ vectors[:, j - 1]) ** 2
    return totals


@every_similarity
@pytest.mark.parametrize("function", [None, np.square, np.sqrt, np.exp, lambda v: 1.0 + 0.0 * v])
def test_energy_against_eigenpairs(name, function):
    similarity = SIMILARITIES[name]
    F = features(similarity)
    expected = energies(similarity, F, lambda j, value: (function or float)(max(value, 0.0)))
    np.testing.assert_allclose(Spectrum(similarity).energy(F, function), expected, rtol=1e-9)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.usefixtures("many_samples")
@pytest.mark.parametrize(
    "function", [np.square, np.exp, lambda v: v, lambda v: v**7, lambda v: 3.0 + 0.0 * v]
)
def test_energy_by_polynomials(name, function):
    similarity = SIMILARITIES[name]
    F = features(similarity)
    expected = energies(similarity, F, lambda j, value: function(value))
    np.testing.assert_allclose(Spectrum(similarity).energy(F, function), expected, rtol=1e-9)


@pytest.mark.usefixtures("many_samples")
@pytest.mark.parametrize("function", [np.sign, np.sqrt, lambda v: 1.0 * (v > 0.001)])
def test_a_function_far_from_polynomials_is_refused(function):
    similarity = SIMILARITIES["neighbors"]
    with pytest.raises(ValueError, match="spectral_function is not smooth enough"):
        Spectrum(similarity).energy(features(similarity), function)


def check_smooth_energy(name, k, function):
    similarity = SIMILARITIES[name]
    F = features(similarity)
    expected = energies(
        similarity, F, lambda j, value: function(2.0) - function(max(value, 0.0)) if j <= k else 0.0
    )
    result = Spectrum(similarity).smooth_energy(F, k, function)
    np.testing.assert_allclose(result, expected, rtol=1e-7, atol=1e-12)


# In three parts, 0 is a triple eigenvalue: k = 2 would cut its eigenvectors apart.
@every_similarity
@pytest.mark.parametrize("k", [3, 7, 90, 500])
@pytest.mark.parametrize("function", [np.array, np.square])
def test_smooth_energy_against_eigenpairs(name, k, function):
    check_smooth_energy(name, k, function)


@every_similarity
@pytest.mark.usefixtures("many_samples")
@pytest.mark.parametrize("k", [3, 7, 20])
def test_smooth_energy_by_lanczos(name, k, monkeypatch):
    monkeypatch.setattr(spectrum.scipy.linalg, "eigh", None)
    check_smooth_energy(name, k, np.square)


def test_one_spectrum_serves_several_k():
    similarity = SIMILARITIES["dense"]
    F, shared = features(similarity), Spectrum(SIMILARITIES["dense"])
    for k in (3, 6, 3):
        fresh = Spectrum(similarity).smooth_energy(F, k, np.array)
        np.testing.assert_array_equal(shared.smooth_energy(F, k, np.array), fresh)


def test_a_sparse_similarity_of_many_samples_stays_sparse(monkeypatch):
    """n x n numbers would be 72 MB."""
    many = rng.normal(size=(3000, 3))
    similarity = label_similarity(rbf_similarity(many, 5), np.where(np.arange(3000) < 9, 0, -1))
    monkeypatch.delattr(type(similarity), "toarray")
    F = many - similarity.degrees @ many / similarity.degrees.sum()
    assert (Spectrum(similarity).smooth_energy(F, 4, np.array) > 0).all()
    tracemalloc.start()
    for function in (None, np.square):
        assert (Spectrum(similarity).energy(F, function) > 0).all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6
