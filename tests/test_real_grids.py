"""The paper's whole grid, alpha, beta, gamma in {1e-6, ..., 1e6}, on two real problems.

Every one of the 343 cells is solved to a certified gap, which is where an iterative scheme
usually shows its seams: mu = alpha * beta runs from 1e-12 to 1e12 beside label weights of 1e6.
"""

import numpy as np
import pytest
from problems import assemble
from scipy.io import loadmat

from cosift.gauge import gauge
from cosift.graph import local_laplacian
from cosift.solvers import solve
from cosift.statistics import SemiSupervisedSamples

EXPONENTS = range(-6, 7, 2)
TOL = 1e-6
OFFICE_ROWS = 60
HUMANEVA_ROWS = 300


def human_eva(directory):
    """Two subjects as tasks: positions relative to the root and distances between joints."""
    frames = np.load(directory / "humaneva" / "humaneva_frames.npz")
    positions = frames["positions"].astype(float)
    positions -= positions[:, :1]
    X = np.hstack([positions.reshape(len(positions), -1), frames["joint_distances"]])
    rng = np.random.default_rng(0)
    for subject in (1, 2):
        rows = rng.choice(np.flatnonzero(frames["subject"] == subject), HUMANEVA_ROWS, False)
        yield X[rows] / X.std(), frames["action"][rows]


def office_caltech(directory):
    """Four domains as tasks: 800 visual words, every image's counts as shares."""
    rng = np.random.default_rng(0)
    for domain in ("amazon", "Caltech10", "dslr", "webcam"):
        stored = loadmat(directory / "office_caltech" / f"{domain}_SURF_L10.mat")
        X, y = stored["fts"].astype(float), stored["labels"].ravel()
        X /= X.sum(axis=1, keepdims=True)
        rows = rng.choice(len(X), OFFICE_ROWS, replace=False)
        yield X[rows] / X.std(), y[rows]


def with_labels(X, y, share=0.1, seed=1):
    """One task with a label for every class and ``share`` of the other rows."""
    rng = np.random.default_rng(seed)
    classes, first = np.unique(y, return_index=True)
    labeled = rng.random(len(y)) < share
    labeled[first] = True
    Y = ((y[:, None] == classes) & labeled[:, None]).astype(float)
    return SemiSupervisedSamples(X, Y, labeled, local_laplacian(X))


@pytest.fixture(scope="module", params=[human_eva, office_caltech])
def samples(request, real_data):
    return [with_labels(X, y) for X, y in request.param(real_data)]


@pytest.mark.parametrize("mu_exponent", range(-12, 13, 2))
def test_every_cell_converges(samples, mu_exponent):
    smooth = assemble([s.statistics(10.0**mu_exponent) for s in samples], 1.0, 1.0)
    cells = 0
    for alpha in reversed(EXPONENTS):
        if mu_exponent - alpha not in EXPONENTS:
            continue  # beta lies outside the grid
        state = None
        for gamma in reversed(EXPONENTS):
            cell = f"alpha=1e{alpha}, beta=1e{mu_exponent - alpha}, gamma=1e{gamma}"
            problem = smooth.with_penalty(10.0**alpha, 10.0**gamma)
            result, state = solve(problem, tol=TOL, warm=state)
            assert result.converged, f"{cell}: {result.gap / problem.at_zero:.1e}"
            assert result.gap <= TOL * problem.at_zero, cell
            assert result.gap >= -1e-12 * problem.at_zero, cell
            # Of terms as large as the objective at zero, the sum is known to their last digits.
            wrong = abs(result.objective - problem.objective(result.W))
            assert wrong <= 1e-14 * problem.at_zero, cell
            if gauge(problem.penalty, 2.0 * problem.linear, threshold=1.0).upper <= 1.0:
                assert result.n_iter == 0, cell
                assert not result.W.any(), cell
            cells += 1
    assert cells == 7 * (7 - abs(mu_exponent) // 2)


def test_the_grid_has_both_kinds_of_cells(samples):
    # Or else the test above would say little.
    smooth = assemble([s.statistics(1.0) for s in samples], 1.0, 1.0)
    theta = 2.0 * smooth.linear
    weights = [10.0**k for k in EXPONENTS]
    zero = {
        gauge(smooth.with_penalty(alpha, gamma).penalty, theta, threshold=1.0).upper <= 1.0
        for alpha in weights
        for gamma in weights
    }
    assert zero == {True, False}
