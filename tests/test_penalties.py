"""The two norms by their defining inequalities and against an interior point method."""

import hypothesis.extra.numpy as hnp
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosift.penalties import Penalty, RowSparsity, TraceNorm, right_spectrum, row_norms

SIZES = np.array([2, 1, 2])
NORMS = [RowSparsity(0.7, SIZES), TraceNorm(1.3)]
each_norm = pytest.mark.parametrize("norm", NORMS, ids=["rows", "trace"])

entries = st.one_of(st.just(0.0), st.floats(-10.0, 10.0).map(lambda x: round(x, 3)))
matrices = hnp.arrays(float, st.tuples(st.integers(1, 6), st.just(5)), elements=entries)
steps = st.floats(1e-3, 1e3)


@st.composite
def pairs(draw):
    shape = draw(st.tuples(st.integers(1, 6), st.just(5)))
    return draw(hnp.arrays(float, shape, elements=entries)), draw(
        hnp.arrays(float, shape, elements=entries)
    )


def by_definition(norm, W):
    if isinstance(norm, TraceNorm):
        return oracles.penalty(W, SIZES, 0.0, norm.gamma)
    return oracles.penalty(W, SIZES, norm.alpha, 0.0)


@each_norm
@given(W=matrices)
def test_value_is_the_definition(norm, W):
    assert norm.value(W) == pytest.approx(by_definition(norm, W), rel=1e-12, abs=1e-12)


@given(W=matrices, alpha=st.floats(1e-6, 1e6), gamma=st.one_of(st.just(0.0), st.floats(1e-6, 1e6)))
def test_penalty_is_their_sum(W, alpha, gamma):
    expected = oracles.penalty(W, SIZES, alpha, gamma)
    omega = Penalty(alpha, gamma, SIZES)
    assert omega.value(W) == pytest.approx(expected, rel=1e-12, abs=1e-12 * (alpha + gamma))
    assert omega.scaled(3.0).value(W) == pytest.approx(3.0 * omega.value(W), rel=1e-12)
    assert (omega.scaled(3.0).alpha, omega.scaled(3.0).gamma) == (3.0 * alpha, 3.0 * gamma)
    assert len(omega.norms) == (2 if gamma > 0 else 1)


@each_norm
@given(pair=pairs(), step=steps)
def test_prox_three_point_inequality(norm, pair, step):
    # With P = prox of V: strong convexity says so for every Z, and for no other P.
    V, Z = pair
    P = norm.prox(V, step)
    at_P = step * norm.value(P) + ((P - V) ** 2).sum() / 2 + ((Z - P) ** 2).sum() / 2
    at_Z = step * norm.value(Z) + ((Z - V) ** 2).sum() / 2
    assert at_P <= at_Z + 1e-9 * max(1.0, at_Z)


@each_norm
@given(V=matrices, step=steps)
def test_prox_and_projection_are_complements(norm, V, step):
    # Moreau: V = P + A with A in the dual ball of radius `step`, touching it where P is.
    P = norm.prox(V, step)
    A = V - P
    size = max(1.0, np.abs(V).max())
    assert norm.gauge(A) * dual_weight(norm) <= step * dual_weight(norm) + 1e-7 * size
    assert np.vdot(A, P) == pytest.approx(step * norm.value(P), abs=1e-7 * size**2)


def dual_weight(norm):
    return norm.gamma if isinstance(norm, TraceNorm) else norm.alpha


@each_norm
@pytest.mark.parametrize("shape", [(4, 5), (7, 5), (1, 5)])
def test_prox_against_an_interior_point_method(norm, shape):
    rng = np.random.default_rng(1)
    V = 2.0 * rng.normal(size=shape)
    weights = (0.0, norm.gamma) if isinstance(norm, TraceNorm) else (norm.alpha, 0.0)
    expected = oracles.prox(V, SIZES, *weights)
    np.testing.assert_allclose(norm.prox(V, 1.0), expected, atol=1e-5)
    np.testing.assert_allclose(norm.prox(3.0 * V, 3.0), 3.0 * expected, atol=3e-5)


@each_norm
def test_prox_vanishes_exactly_at_the_dual_norm(norm):
    V = np.random.default_rng(2).normal(size=(6, 5))
    edge = norm.gauge(V)
    assert not norm.prox(V, edge * (1.0 + 1e-9)).any()
    assert norm.prox(V, edge * (1.0 - 1e-6)).any()


@each_norm
def test_prox_of_zero_is_zero(norm):
    np.testing.assert_array_equal(norm.prox(np.zeros((3, 5)), 1.0), np.zeros((3, 5)))


@each_norm
def test_prox_leaves_its_argument_alone(norm):
    V = np.random.default_rng(3).normal(size=(6, 5))
    copy = V.copy()
    norm.prox(V, 0.5)
    np.testing.assert_array_equal(V, copy)


@each_norm
@pytest.mark.parametrize("seed", range(3))
def test_gauge_is_the_dual_norm(norm, seed):
    theta = np.random.default_rng(seed).normal(size=(4, 5))
    weights = (0.0, norm.gamma) if isinstance(norm, TraceNorm) else (norm.alpha, 0.0)
    assert norm.gauge(theta) == pytest.approx(oracles.dual_norm(theta, SIZES, *weights), rel=1e-7)


@each_norm
@given(pair=pairs())
def test_gauge_and_value_are_dual(norm, pair):
    theta, V = pair
    assert np.vdot(theta, V) <= norm.gauge(theta) * norm.value(V) * (1 + 1e-12) + 1e-9


@each_norm
@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e100, 1e200])
def test_homogeneous_over_the_whole_range_of_doubles(norm, scale):
    W = np.random.default_rng(4).normal(size=(6, 5))
    assert norm.value(scale * W) == pytest.approx(scale * norm.value(W), rel=1e-12)
    assert norm.gauge(scale * W) == pytest.approx(scale * norm.gauge(W), rel=1e-12)
    np.testing.assert_allclose(
        norm.prox(scale * W, scale), scale * norm.prox(W, 1.0), rtol=1e-9, atol=1e-12 * scale
    )


class TestRowNorms:
    def test_definition(self):
        W = np.random.default_rng(5).normal(size=(4, 5))
        expected = [[np.linalg.norm(r[:2]), abs(r[2]), np.linalg.norm(r[3:])] for r in W]
        np.testing.assert_allclose(row_norms(W, SIZES), expected, rtol=1e-14)

    @pytest.mark.parametrize("scale", [1e-200, 1e200])
    def test_rows_beyond_the_range_of_squares(self, scale):
        W = scale * np.array([[3.0, 4.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 6.0, 8.0]])
        np.testing.assert_allclose(
            row_norms(W, SIZES), scale * np.array([[5.0, 2.0, 0.0], [0.0, 0.0, 10.0]]), rtol=1e-14
        )

    def test_long_and_short_rows_side_by_side(self):
        sizes = 10.0 ** np.arange(-70, 71, 20)
        W = np.outer(sizes, np.array([3.0, 4.0, 2.0, 0.0, 1.0]))
        np.testing.assert_allclose(
            row_norms(W, SIZES), np.outer(sizes, [5.0, 2.0, 1.0]), rtol=1e-14
        )

    def test_zero(self):
        np.testing.assert_array_equal(row_norms(np.zeros((2, 5)), SIZES), np.zeros((2, 3)))

    def test_no_rows(self):
        assert row_norms(np.zeros((0, 5)), SIZES).shape == (0, 3)


@pytest.mark.parametrize("shape", [(9, 4), (4, 4), (2, 4), (1, 1)])
def test_right_spectrum(shape):
    W = np.random.default_rng(6).normal(size=shape)
    values, V = right_spectrum(W)
    k = min(shape)
    np.testing.assert_allclose(values[:k], np.linalg.svd(W, compute_uv=False), rtol=1e-9)
    np.testing.assert_allclose(values[k:], 0.0, atol=1e-7 * values[0])
    np.testing.assert_allclose(V.T @ V, np.eye(shape[1]), atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(W @ V, axis=0), values, atol=1e-7 * values[0])


class TestGaugeOfSplit:
    """An upper bound from any split, tight from the right one."""

    @given(pair=pairs(), weights=st.tuples(st.floats(0.01, 100.0), st.floats(0.01, 100.0)))
    def test_never_below_any_ratio(self, pair, weights):
        # <Theta, V> <= gauge * Omega(V) for every V, whatever the guess.
        theta, V = pair
        omega = Penalty(*weights, SIZES)
        ratio = np.vdot(theta, V) / max(omega.value(V), 1e-300)
        for guess in (None, V, np.zeros_like(V)):
            for sweeps in (0, 1, 5):
                bound = omega.gauge_of_split(theta, guess, sweeps)
                assert ratio <= bound * (1.0 + 1e-9) + 1e-9

    @pytest.mark.parametrize("seed", range(4))
    def test_is_an_upper_bound_of_the_dual_norm(self, seed):
        rng = np.random.default_rng(seed)
        theta = rng.normal(size=(5, 5))
        omega = Penalty(0.8, 0.6, SIZES)
        truth = oracles.dual_norm(theta, SIZES, 0.8, 0.6)
        for guess in (None, 0.5 * theta, rng.normal(size=(5, 5))):
            assert omega.gauge_of_split(theta, guess) >= truth * (1.0 - 1e-8)
        # Inside the ball, enough sweeps find a split that shows it.
        assert omega.gauge_of_split(0.9 / truth * theta, sweeps=1000) <= 1.0

    def test_knows_the_right_split(self):
        rng = np.random.default_rng(7)
        A, B = rng.normal(size=(6, 5)), rng.normal(size=(6, 5))
        omega = Penalty(2.0, 3.0, SIZES)
        rows, trace = omega.norms
        A, B = A / rows.gauge(A), B / trace.gauge(B)
        assert omega.gauge_of_split(A + B, A) == pytest.approx(1.0, rel=1e-12)

    def test_without_trace_norm(self):
        theta = np.random.default_rng(8).normal(size=(6, 5))
        omega = Penalty(2.0, 0.0, SIZES)
        assert omega.gauge_of_split(theta, np.zeros_like(theta)) == omega.norms[0].gauge(theta)
