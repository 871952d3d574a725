"""SPEC against its definition, one eigenpair at a time, and by label against Fisher's score."""

import longhand
import numpy as np
import pytest
import scipy.sparse as sp

from cosift import SPEC, FisherScore
from cosift.selectors import spec

rng = np.random.default_rng(0)
Y = np.array([0, 0, 0, 1, 1, 2, 2, 2, 5] + [-1] * 11)
X = rng.normal(size=(20, 5)) + np.maximum(Y, 0)[:, None] * np.linspace(0, 2, 5) + 0.3
LABELED = Y != -1
CLASSES = 4
SIMILARITIES = {
    "rbf": {},
    "rbf, neighbours": {"n_neighbors": 3},
    "rbf, bandwidth": {"bandwidth": 1.3},
    "label": {"similarity": "label"},
    "combined": {"similarity": "combined"},
    "combined, neighbours": {"similarity": "combined", "n_neighbors": 4},
}
every_similarity = pytest.mark.parametrize("name", SIMILARITIES)
functions = pytest.mark.parametrize("function", ["phi1", "phi2", "phi3"])
containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])


def similarity_of(name):
    """S of the rows that take part, and those rows of X."""
    params = SIMILARITIES[name]
    if name == "label":
        codes = np.unique(Y[LABELED], return_inverse=True)[1]
        return longhand.by_label(codes), X[LABELED]
    S = longhand.rbf(X, params.get("n_neighbors"), params.get("bandwidth"))
    if name.startswith("combined"):
        codes = np.full(20, -1)
        codes[LABELED] = np.unique(Y[LABELED], return_inverse=True)[1]
        S = longhand.combined(S, codes)
    return S, X


def definition(S, samples, function, gamma=lambda value: value, k=CLASSES):
    """The three scores as Zhao and Liu have them, sums over eigenpairs written out."""
    values, vectors = longhand.eigenpairs(S)
    values = np.maximum(values, 0.0)
    scores = []
    for f in samples.T:
        g = np.sqrt(S.sum(axis=1)) * f
        g = g / np.linalg.norm(g)
        along = [(g @ vectors[:, j]) ** 2 for j in range(len(S))]
        phi1 = sum(gamma(values[j]) * along[j] for j in range(len(S)))
        rest = sum(gamma(values[j]) * along[j] for j in range(1, len(S)))
        phi2 = rest / (1.0 - along[0])
        phi3 = sum((gamma(2.0) - gamma(values[j])) * along[j] for j in range(1, min(k, len(S))))
        scores.append({"phi1": phi1, "phi2": phi2, "phi3": phi3}[function])
    scores = np.array(scores)
    # Small is good for the first two: turned round.
    return scores if function == "phi3" else gamma(2.0) - scores


def score(samples=X, y=Y, **params):
    return SPEC(**params).fit(samples, y).task_scores_[0]


@containers
@functions
@every_similarity
def test_against_the_definition(name, function, container):
    expected = definition(*similarity_of(name), function)
    result = score(container(X), function=function, **SIMILARITIES[name])
    np.testing.assert_allclose(result, expected, rtol=1e-8)


@functions
@every_similarity
@pytest.mark.parametrize("gamma", [np.square, np.exp, lambda value: 1.0 + value**3])
def test_spectral_functions_against_the_definition(name, function, gamma):
    expected = definition(*similarity_of(name), function, gamma)
    params = SIMILARITIES[name] | {"function": function, "spectral_function": gamma}
    np.testing.assert_allclose(score(**params), expected, rtol=1e-8)


@pytest.mark.parametrize("k", [2, 3, 11, 20, 99])
def test_numbers_of_eigenvectors(k):
    S, samples = similarity_of("rbf")
    expected = definition(S, samples, "phi3", k=k)
    np.testing.assert_allclose(score(function="phi3", n_eigenvectors=k), expected, rtol=1e-8)


def test_quadratic_forms_of_the_article():
    """phi1 = g'Ng and phi2 = phi1 / (1 - (g'xi)^2), with matrices and no eigenpair."""
    S, samples = similarity_of("rbf")
    degrees = S.sum(axis=1)
    N = longhand.normalized_laplacian(S)
    xi = np.sqrt(degrees / degrees.sum())
    G = np.sqrt(degrees)[:, None] * samples
    G /= np.linalg.norm(G, axis=0)
    phi1 = np.diag(G.T @ N @ G)
    np.testing.assert_allclose(score(function="phi1"), 2.0 - phi1)
    np.testing.assert_allclose(score(function="phi2"), 2.0 - phi1 / (1.0 - (xi @ G) ** 2))


@containers
def test_by_label_it_is_fisher(container):
    """phi2 = 1 / (1 + Fisher), exactly as published."""
    fisher = FisherScore().fit(container(X), Y)
    selector = SPEC(similarity="label").fit(container(X), Y)
    phi2 = 2.0 - selector.task_scores_[0]
    np.testing.assert_allclose(phi2, 1.0 / (1.0 + fisher.task_scores_[0]), rtol=1e-12)
    np.testing.assert_array_equal(selector.ranking_, fisher.ranking_)


def test_without_labels_labels_do_not_matter():
    other = np.where(Y == -1, -1, (Y > 0).astype(int))
    np.testing.assert_array_equal(score(), score(y=other))
    everyone = np.arange(20) % 2
    np.testing.assert_array_equal(score(), score(y=everyone))
    assert (score(similarity="combined") != score(y=other, similarity="combined")).any()


@functions
@every_similarity
def test_larger_is_better(name, function):
    """Two clusters; the first feature tells them apart and the other is noise within them."""
    side = np.repeat([-5.0, 5.0], 15)
    blobs = np.random.default_rng(1).normal(size=(30, 2)) + np.column_stack([side, 0 * side])
    y = np.where(np.arange(30) % 3 == 0, np.repeat([0, 1], 15), -1)
    y[[1, 16]] = 0, 1
    params = SIMILARITIES[name] | {"function": function}
    if "bandwidth" in params:
        params["bandwidth"] = 3.0
    scores = score(blobs, y, **params)
    assert scores[0] > scores[1]


@containers
@functions
@every_similarity
def test_constants_are_last_and_nothing_is_nan(name, function, container):
    padded = np.column_stack([np.full(20, 0.1), X, np.zeros(20)])
    params = SIMILARITIES[name] | {"function": function}
    selector = SPEC(**params).fit(container(padded), Y)
    assert selector.task_scores_[0, [0, 6]].tolist() == [0.0, 0.0]
    assert selector.ranking_[[0, 6]].tolist() == [6, 7]
    assert np.isfinite(selector.task_scores_).all()
    assert (selector.task_scores_ >= 0).all()


@functions
@every_similarity
def test_equal_samples(name, function):
    """All rows three times: similarity 1 among copies, nothing divides by zero."""
    params = SIMILARITIES[name] | {"function": function}
    scores = score(np.tile(X, (3, 1)), np.tile(Y, 3), **params)
    assert np.isfinite(scores).all()
    constant = SPEC(**params).fit(np.ones((20, 2)), Y)
    assert constant.task_scores_.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("name", ["rbf", "rbf, neighbours", "label", "combined"])
@pytest.mark.parametrize("factor", [1e-100, 1e-9, 1e9, 1e100])
def test_no_unit_matters(name, factor):
    params = SIMILARITIES[name]
    np.testing.assert_allclose(score(X * factor, **params), score(**params), rtol=1e-8)


@every_similarity
def test_a_large_mean_costs_no_digits(name):
    exact, params = np.round(X * 2**20) / 2**20, SIMILARITIES[name]
    np.testing.assert_allclose(score(exact + 1e6, **params), score(exact, **params), rtol=1e-6)


@functions
@every_similarity
def test_blocks_of_columns_change_nothing(name, function, monkeypatch):
    params = SIMILARITIES[name] | {"function": function}
    expected = score(**params)
    monkeypatch.setattr(spec, "BLOCK_SIZE", 40)
    np.testing.assert_allclose(score(**params), expected, rtol=1e-12)


def test_one_member_classes_and_a_class_of_one_task():
    tasks = np.repeat([0, 1], 20)
    y = np.concatenate([Y, np.where(Y == 5, -1, Y)])
    selector = SPEC(similarity="label", function="phi3").fit(np.vstack([X, X]), y, tasks)
    assert [len(classes) for classes in selector.classes_] == [4, 3]
    assert np.isfinite(selector.task_scores_).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"function": "phi4"}, "function must be one of 'phi1', 'phi2', 'phi3'"),
        ({"similarity": "knn"}, "similarity must be one of 'rbf', 'label', 'combined'"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1"),
        ({"bandwidth": 0.0}, "bandwidth must be a number above 0"),
        ({"n_eigenvectors": 1}, "n_eigenvectors must be an integer of at least 2"),
        ({"n_eigenvectors": 3, "similarity": "label"}, "or the number of classes"),
        ({"spectral_function": "square"}, "spectral_function must be None or a function"),
        ({"spectral_function": lambda v: -v}, "no smaller one to a larger eigenvalue"),
        ({"spectral_function": lambda v: v * np.nan}, "a finite number"),
        ({"spectral_function": np.sum}, "must give every eigenvalue"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        SPEC(**params).fit(X, Y)
