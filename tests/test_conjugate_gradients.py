"""Many right-hand sides beside weights of very different size."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import clique_laplacian

from cosift import _conjugate_gradients
from cosift._conjugate_gradients import WIDTH, solve_spd


def system(n=40, spread=6, mu=0.0, seed=0):
    """``mu I + U + L`` with U from 1 to 10^spread."""
    rng = np.random.default_rng(seed)
    u = 10.0 ** rng.uniform(0, spread, n)
    return sp.csr_array(np.diag(u) + clique_laplacian(rng.normal(size=(n, 3))) + mu * np.eye(n))


def right_sides(n=40, c=3, seed=1):
    return np.random.default_rng(seed).normal(size=(n, c))


@pytest.mark.parametrize("mu", [0.0, 1e-12, 1.0, 1e12])
@pytest.mark.parametrize("spread", [0, 6, 12])
def test_solves_row_by_row(spread, mu):
    # Rows of X differ as their weights do, so each must be right by its own measure.
    A, B = system(spread=spread, mu=mu), right_sides()
    expected = np.linalg.solve(A.toarray(), B)
    scale = np.abs(expected).max(axis=1, keepdims=True)
    assert (np.abs(solve_spd(A, B) - expected) / scale).max() <= 1e-9


def test_unlabelled_rows_are_right_beside_heavy_ones():
    # Labels of weight 1e6 make the raw residual small long before the light rows are solved.
    n = 60
    heavy = np.arange(n) % 10 == 0
    A = sp.csr_array(
        np.diag(np.where(heavy, 1e6, 1e-3)) + clique_laplacian(right_sides(n, 3), size=6)
    )
    B = np.where(heavy[:, None], 1e6 * right_sides(n, 2), 0.0)
    expected = np.linalg.solve(A.toarray(), B)
    np.testing.assert_allclose(
        solve_spd(A, B)[~heavy], expected[~heavy], atol=1e-9 * np.abs(expected).max()
    )


@pytest.mark.parametrize("c", [0, 1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH + 5])
def test_any_number_of_right_hand_sides(c):
    A, B = system(), right_sides(c=c)
    found = solve_spd(A, B)
    assert found.shape == (40, c)
    np.testing.assert_allclose(found, np.linalg.solve(A.toarray(), B), rtol=1e-9, atol=1e-14)


def test_columns_do_not_disturb_each_other():
    A, B = system(), right_sides(c=5)
    B[:, 1] = 0.0
    B[:, 2] *= 1e200
    B[:, 3] *= 1e-100
    B[:, 4] = A.toarray()[:, 0]
    together = solve_spd(A, B)
    for k in range(5):
        alone = solve_spd(A, B[:, [k]])[:, 0]
        np.testing.assert_allclose(together[:, k], alone, atol=1e-12 * np.abs(alone).max())
    np.testing.assert_array_equal(together[:, 1], 0.0)


def test_linear_in_the_right_hand_side():
    A, B = system(), right_sides()
    np.testing.assert_allclose(solve_spd(A, 2.0 * B), 2.0 * solve_spd(A, B), rtol=1e-12)


def test_arguments_are_left_alone():
    A, B = system(), right_sides()
    data, copy = A.data.copy(), B.copy()
    solve_spd(A, B)
    np.testing.assert_array_equal(A.data, data)
    np.testing.assert_array_equal(B, copy)


def test_says_when_it_fails(monkeypatch):
    monkeypatch.setattr(_conjugate_gradients, "MAX_ITERATIONS", 2)
    with pytest.raises(np.linalg.LinAlgError, match="in 2 iterations"):
        solve_spd(system(spread=1), right_sides())
