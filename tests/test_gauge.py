"""The threshold beyond which W is zero, against the dual norm by an interior point method."""

import numpy as np
import oracles
import pytest

from cosift.gauge import gauge
from cosift.penalties import Penalty

RATIOS = [1e-6, 1e-3, 0.1, 0.3, 1.0, 3.0, 10.0, 1e3, 1e6]


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def scaled_rows(d, C, decades):
    rng = np.random.default_rng(11)
    return 10.0 ** rng.uniform(-decades, decades, size=(d, 1)) * rng.normal(size=(d, C))


THETAS = {
    "square": (normal(5, 5), (2, 1, 2)),
    "tall": (normal(30, 4), (2, 2)),
    "wide": (normal(3, 9), (3, 2, 4)),
    "one row": (normal(1, 5), (2, 3)),
    "one column": (normal(8, 1), (1,)),
    "one task": (normal(8, 3), (3,)),
    "columns apart": (normal(8, 4), (1, 1, 1, 1)),
    "rank one": (np.outer(normal(8, seed=1), normal(5, seed=2)), (2, 3)),
    "rank two": (normal(8, 2, seed=3) @ normal(2, 5, seed=4), (2, 3)),
    "zero rows": (normal(8, 5) * (np.arange(8) % 2)[:, None], (2, 3)),
    "zero columns": (normal(8, 5) * (np.arange(5) != 2), (2, 3)),
    "rows over two decades": (scaled_rows(10, 4, 1), (2, 2)),
    "rows over six decades": (scaled_rows(10, 4, 3), (2, 2)),
    "identity": (np.eye(4), (2, 2)),
}
each_theta = pytest.mark.parametrize("name", list(THETAS))


def gamma_at(theta, sizes, alpha, ratio):
    """The gamma for which the trace norm weighs ``ratio`` times the rows' norm at Theta."""
    rows = oracles.penalty(theta, sizes, alpha, 0.0)
    return ratio * rows / oracles.penalty(theta, sizes, 0.0, 1.0)


@pytest.mark.parametrize("ratio", RATIOS)
@each_theta
def test_brackets_the_dual_norm(name, ratio):
    theta, sizes = THETAS[name]
    gamma = gamma_at(theta, sizes, 0.7, ratio)
    lower, upper = gauge(Penalty(0.7, gamma, np.array(sizes)), theta)
    truth = oracles.dual_norm(theta, sizes, 0.7, gamma)
    assert lower <= truth * (1.0 + 1e-6)
    assert truth * (1.0 - 1e-6) <= upper
    assert lower <= upper <= lower * (1.0 + 1e-6)


@each_theta
def test_bounds_are_of_the_same_kind_at_any_scale(name):
    theta, sizes = THETAS[name]
    omega = Penalty(0.7, gamma_at(theta, sizes, 0.7, 1.0), np.array(sizes))
    lower, upper = gauge(omega, theta)
    for scale in (1e-60, 1e60):
        other = gauge(omega, scale * theta)
        assert other.upper == pytest.approx(scale * upper, rel=1e-6)
        assert other.lower == pytest.approx(scale * lower, rel=1e-6)
        # And inversely in the weights.
        other = gauge(omega.scaled(scale), theta)
        assert other.upper == pytest.approx(upper / scale, rel=1e-6)
        assert other.lower == pytest.approx(lower / scale, rel=1e-6)


@each_theta
def test_one_norm_is_closed(name):
    theta, sizes = THETAS[name]
    omega = Penalty(0.7, 0.0, np.array(sizes))
    lower, upper = gauge(omega, theta)
    ends = np.cumsum(sizes)
    longest = max(
        np.linalg.norm(row[end - size : end])
        for row in theta
        for size, end in zip(sizes, ends, strict=True)
    )
    assert lower == upper == pytest.approx(longest / 0.7, rel=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 1e-6, 1.0])
def test_zero(gamma):
    assert gauge(Penalty(1.0, gamma, np.array([2, 2])), np.zeros((6, 4))) == (0.0, 0.0)


@pytest.mark.parametrize("side", [0.9, 1.0 - 1e-6, 1.0 + 1e-6, 1.1])
@each_theta
def test_threshold_decides_and_stays_a_bracket(name, side):
    theta, sizes = THETAS[name]
    omega = Penalty(0.7, gamma_at(theta, sizes, 0.7, 1.0), np.array(sizes))
    truth = gauge(omega, theta).upper
    lower, upper = gauge(omega, theta, threshold=side * truth)
    assert lower <= truth * (1.0 + 1e-9)
    assert truth * (1.0 - 1e-9) <= upper
    if side > 1.0:
        assert upper <= side * truth
    else:
        assert lower > side * truth


def test_bounds_hold_however_early_it_stops():
    theta, sizes = THETAS["tall"]
    omega = Penalty(0.7, gamma_at(theta, sizes, 0.7, 1.0), np.array(sizes))
    truth = oracles.dual_norm(theta, sizes, omega.alpha, omega.gamma)
    for max_iter in range(1, 40):
        lower, upper = gauge(omega, theta, max_iter=max_iter)
        assert lower <= truth * (1.0 + 1e-8)
        assert truth * (1.0 - 1e-8) <= upper


def test_does_not_change_theta():
    theta, sizes = normal(6, 4), np.array([2, 2])
    copy = theta.copy()
    gauge(Penalty(1.0, 1.0, sizes), theta)
    np.testing.assert_array_equal(theta, copy)
