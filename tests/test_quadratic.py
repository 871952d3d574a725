"""One smooth part, three ways of holding it."""

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp
from problems import matrix
from scipy import linalg

from cosift.quadratic import Centering, Dense, Factored, Implicit, Stiffness, Tied

N, D, C = 6, 14, 3


class Parts:
    """``||K X W - g||^2`` less a constant: what every form below says."""

    def __init__(self, seed=0, n=N, d=D, scale=1.0):
        rng = np.random.default_rng(seed)
        self.X = np.sqrt(scale) * rng.normal(size=(n, d))
        self.K = rng.normal(size=(n, n)) + 3.0 * np.eye(n)
        self.g = rng.normal(size=(n, C))
        self.Z = self.K @ self.X
        self.Q = self.Z.T @ self.Z
        self.q = self.Z.T @ self.g

    def weigh(self, V):
        return self.K.T @ (self.K @ V)


FORMS = {
    "dense": lambda p: Dense(p.Q, p.q),
    "factored": lambda p: Factored(p.X, p.K, p.g),
    "factored, sparse": lambda p: Factored(sp.csc_array(p.X), p.K, p.g),
    "implicit": lambda p: Implicit(p.X, p.weigh, p.q),
    "implicit, sparse": lambda p: Implicit(sp.csc_array(p.X), p.weigh, p.q),
}
RIGHT = np.random.default_rng(1).normal(size=(D, C))


@pytest.fixture(params=list(FORMS))
def form(request):
    return FORMS[request.param]


@pytest.fixture
def parts():
    return Parts()


def columnwise(found, expected):
    return (np.linalg.norm(found - expected, axis=0) / np.linalg.norm(expected, axis=0)).max()


def test_product_and_linear(form, parts):
    quadratic = form(parts)
    assert columnwise(quadratic.product(RIGHT), parts.Q @ RIGHT) <= 1e-12
    assert columnwise(quadratic.linear, parts.q) <= 1e-12
    assert quadratic.product(RIGHT[:, :0]).shape == (D, 0)


@pytest.mark.parametrize("features", [[2, 0, 13], [5], list(range(D - 1)), list(range(D))])
def test_restrict_holds_other_features_at_zero(form, parts, features):
    some = np.array(features)
    part = form(parts).restrict(some)
    assert columnwise(part.product(RIGHT[some]), parts.Q[np.ix_(some, some)] @ RIGHT[some]) <= 1e-12
    assert columnwise(part.linear, parts.q[some]) <= 1e-12
    # A part can be used like the whole.
    again = part.restrict(np.array([0]))
    np.testing.assert_allclose(matrix(again), [[parts.Q[some[0], some[0]]]])
    np.testing.assert_allclose(again.linear, parts.q[some[:1]])
    tied = np.linalg.solve(
        2.0 * parts.Q[np.ix_(some, some)] + np.eye(len(some)), 2.0 * parts.q[some] + RIGHT[some]
    )
    assert columnwise(part.solve_tied(RIGHT[some], 1.0), tied) <= 1e-10


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9])
def test_solve_tied_is_the_minimiser(form, parts, rho):
    found = form(parts).solve_tied(RIGHT, rho)
    # Where the gradient vanishes: relative to its own terms.
    terms = [2.0 * parts.Q @ found, -2.0 * parts.q, rho * (found - RIGHT)]
    size = max(np.abs(term).max() for term in terms)
    assert np.abs(sum(terms)).max() <= 1e-10 * max(size, rho * np.abs(found).max())
    with mp.workdps(50):
        system = 2 * mp.matrix(parts.Q.tolist()) + mp.mpf(rho) * mp.eye(D)
        rhs = 2 * mp.matrix(parts.q.tolist()) + mp.mpf(rho) * mp.matrix(RIGHT.tolist())
        exact = np.array([list(mp.lu_solve(system, rhs[:, k])) for k in range(C)], float).T
    condition = 2.0 * np.linalg.norm(parts.Q, 2) / rho
    assert columnwise(found, exact) <= max(1e-12, 1e-14 * condition)


def test_solve_tied_keeps_the_right_factor(form, parts):
    # The factor of the last rho is kept; it must not serve another.
    quadratic = form(parts)
    first = quadratic.solve_tied(RIGHT, 1.0)
    other = quadratic.solve_tied(RIGHT, 10.0)
    assert columnwise(other, form(parts).solve_tied(RIGHT, 10.0)) == 0.0
    assert columnwise(first, other) > 1e-3
    np.testing.assert_array_equal(quadratic.solve_tied(RIGHT, 1.0), first)


@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e3])
def test_solve_tied_from_a_known_answer(form, parts, rho):
    quadratic = form(parts)
    known = Tied(RIGHT, rho, quadratic.solve_tied(RIGHT, rho))
    P = RIGHT + 0.1 * np.random.default_rng(2).normal(size=RIGHT.shape)
    afresh = quadratic.solve_tied(P, rho)
    assert columnwise(quadratic.solve_tied(P, rho, known), afresh) <= 1e-9
    # One for another rho says nothing.
    other = known._replace(rho=2.0 * rho, W=0.0 * known.W)
    np.testing.assert_array_equal(quadratic.solve_tied(P, rho, other), afresh)
    # The columns of an answer are the answer for those columns.
    own = np.array([1])
    assert columnwise(known.columns(own).W, known.W[:, own]) == 0.0


def test_few_rows_in_use(form, parts):
    W = np.zeros_like(RIGHT)
    W[[4]] = RIGHT[[4]]
    assert columnwise(form(parts).product(W), parts.Q @ W) <= 1e-12
    np.testing.assert_array_equal(form(parts).product(0.0 * W), 0.0 * W)


@pytest.mark.parametrize("convert", [np.asarray, sp.csc_array])
def test_factors_of_a_tall_matrix(convert):
    # Then systems are d x d, and Q, once formed, serves products as well.
    parts = Parts(n=3 * D)
    quadratic = Factored(convert(parts.X), parts.K, parts.g)
    assert columnwise(quadratic.product(RIGHT), parts.Q @ RIGHT) <= 1e-12
    tied = np.linalg.solve(2.0 * parts.Q + np.eye(D), 2.0 * parts.q + RIGHT)
    assert columnwise(quadratic.solve_tied(RIGHT, 1.0), tied) <= 1e-10
    assert columnwise(quadratic.product(RIGHT), parts.Q @ RIGHT) <= 1e-12
    stiff = STIFF["mild"]
    expected = exact_solve(stiff, parts.Q, 2.0 * parts.q)
    assert columnwise(quadratic.solve_stiff(stiff, slice(None)), expected) <= 1e-9


def test_solve_tied_leaves_null_directions_of_Q_alone(form, parts):
    null = linalg.null_space(parts.Z)[:, :C]
    moved = form(parts).solve_tied(1e6 * null, 1e-3) - form(parts).solve_tied(0.0 * null, 1e-3)
    assert columnwise(moved, 1e6 * null) <= 1e-8


def stiffness(d=D, r=3, rows=1.0, inside=1.0, outside=10.0, seed=5):
    rng = np.random.default_rng(seed)
    U = linalg.qr(rng.normal(size=(d, r)), mode="economic")[0] if r else np.zeros((d, 0))
    return Stiffness(
        rows * 10.0 ** rng.uniform(-1, 1, d), U, inside * 10.0 ** rng.uniform(-1, 0, r), outside
    )


STIFF = {
    "mild": stiffness(),
    "rows alone": stiffness(r=0, outside=0.0),
    "no rank": stiffness(r=0, outside=10.0),
    "rows of all sizes": stiffness(inside=0.1)._replace(rows=10.0 ** np.arange(-6, 8)),
    "stiff outside": stiffness(outside=1e9),
    "stiff outside, weak rows": stiffness(rows=1e-6, outside=1e9),
    "stiff rows": stiffness(rows=1e9, outside=1e9),
    "weak inside": stiffness(rows=1e-3, inside=1e-6, outside=1e3),
    "nearly full rank inside": stiffness(r=D - 1, outside=1e9),
    "inside near outside": stiffness(inside=1.0, outside=1.0 + 1e-9),
}
each_stiffness = pytest.mark.parametrize("name", list(STIFF))


def exact_solve(stiff, Q, rhs):
    """(2 Q + E)^-1 rhs in fifty digits, U orthonormal in as many."""
    with mp.workdps(50):
        r = stiff.U.shape[1]
        E = mp.diag([mp.mpf(x) + mp.mpf(stiff.outside) for x in stiff.rows])
        if r:
            U = mp.matrix(stiff.U.tolist())
            for _ in range(2):  # from 1e-16 to 1e-32 to 1e-64
                U = U * (3 * mp.eye(r) - U.T * U) / 2
            E += U * mp.diag([mp.mpf(x) - mp.mpf(stiff.outside) for x in stiff.inside]) * U.T
        system = E + 2 * mp.matrix(Q.tolist())
        columns = [mp.lu_solve(system, mp.matrix(column.tolist())) for column in rhs.T]
        return np.array([list(column) for column in columns], dtype=float).T


@each_stiffness
def test_stiffness_inverse_against_fifty_digits(name):
    # Unlike a solve with the matrix, which is ruined by outside / inside = 1e9, this keeps digits.
    stiff = STIFF[name]
    diagonal, V = stiff.inverse()
    assert (diagonal > 0).all()
    found = diagonal[:, None] * RIGHT + V @ (V.T @ RIGHT)
    assert columnwise(found, exact_solve(stiff, np.zeros((D, D)), RIGHT)) <= 1e-9


@each_stiffness
def test_solve_stiff_against_fifty_digits(form, parts, name):
    stiff = STIFF[name]
    expected = exact_solve(stiff, parts.Q, 2.0 * parts.q)
    assert columnwise(form(parts).solve_stiff(stiff, slice(None)), expected) <= 1e-9
    some = slice(1, 2)
    assert columnwise(form(parts).solve_stiff(stiff, some), expected[:, some]) <= 1e-9


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3])
def test_solve_stiff_at_other_sizes_of_Q(form, scale):
    parts, stiff = Parts(scale=scale), STIFF["mild"]
    expected = exact_solve(stiff, parts.Q, 2.0 * parts.q)
    assert columnwise(form(parts).solve_stiff(stiff, slice(None)), expected) <= 1e-9


def test_tall_restrictions_become_dense(parts):
    for name in ("factored", "factored, sparse"):
        whole = FORMS[name](parts)
        assert isinstance(whole.restrict(np.arange(N + 1)), Factored)
        assert isinstance(whole.restrict(np.arange(N)), Dense)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_centering(scale):
    V = np.random.default_rng(3).normal(size=(N, 4)) + 5.0
    H = np.eye(N) - np.ones((N, N)) / N
    np.testing.assert_allclose(Centering(scale) @ V, scale * H @ V, atol=1e-13)
    np.testing.assert_allclose(Centering(scale).T @ V, scale * H @ V, atol=1e-13)
    np.testing.assert_allclose(Centering(scale) @ V[:, 0], scale * H @ V[:, 0], atol=1e-13)
    gram = scale**2 * V.T @ H @ V
    np.testing.assert_allclose(Centering(scale).gram(H @ V), gram, atol=1e-12)
    np.testing.assert_allclose(Centering(scale).gram(sp.csc_array(V)), gram, atol=1e-11)
