"""Gram matrices: as accurate as they claim, shared or not, compiled or not, whole or in parts."""

from dataclasses import replace

import numpy as np
import oracles
import pytest
import scipy.sparse as sp
from problems import matrix, random_task, samples_of

from cosift import _kernels, noise, statistics
from cosift._conjugate_gradients import solve_spd
from cosift.noise import IterativeNoise
from cosift.statistics import SemiSupervisedSamples

MUS = 10.0 ** np.arange(-12, 13, 2)


@pytest.fixture
def iterative(monkeypatch):
    monkeypatch.setattr(statistics, "DENSE_SAMPLES", 1)


def task_of(n=150, d=40, c=3, seed=0, **weights):
    return random_task(np.random.default_rng(seed), n, d, c, share=0.1, **weights)


def relative(Q, expected):
    """Largest difference, each entry beside the roots of its diagonal entries."""
    size = np.sqrt(np.diag(expected))
    return np.abs((Q - expected) / np.outer(size, size)).max()


@pytest.mark.parametrize("u", [1.0, 1e-3])
@pytest.mark.parametrize("mu", MUS, ids="{:.0e}".format)
def test_error_is_the_square_of_the_accuracy(mu, u):
    task = task_of(unlabeled_weight=u)
    S = sp.csr_array(np.diag(task.u) + task.L)
    V = np.hstack([task.X, np.ones((150, 1))])
    found = IterativeNoise(S, task.u, mu).gram(V)
    expected = oracles.exact_precision(task, mu, V)
    assert relative(found.gram, expected) <= noise.ACCURACY**2 + 1e-14
    error = found.F - oracles.exact_smoothing(task, mu, V)
    lost = np.einsum("ij,ij->j", error, (S + mu * sp.eye_array(150)) @ error)
    assert (lost <= noise.ACCURACY**2 * np.diag(expected)).all()


def test_no_error_makes_it_indefinite():
    task = task_of()
    S = sp.csr_array(np.diag(task.u) + task.L)
    V = np.hstack([task.X, task.X @ np.ones((40, 2))])  # rank 40 of 42
    values = np.linalg.eigvalsh(IterativeNoise(S, task.u, 1.0).gram(V).gram)
    assert values[0] >= -1e-14 * values[-1]


@pytest.mark.parametrize("u", [1.0, 1e-3])
def test_shared_equals_unshared(u, iterative):
    shared = samples_of(task_of(unlabeled_weight=u))
    for mu in np.random.default_rng(0).permutation(MUS):
        alone = samples_of(task_of(unlabeled_weight=u)).statistics(mu)
        found = shared.statistics(mu)
        assert relative(matrix(found.quadratic), matrix(alone.quadratic)) <= 1e-11
        size = np.sqrt(np.diag(matrix(alone.quadratic)).max() * alone.energy)
        assert np.abs(found.quadratic.linear - alone.quadratic.linear).max() <= 1e-11 * size
        assert found.energy == pytest.approx(alone.energy, rel=1e-11)


def test_a_near_mu_saves_work(monkeypatch):
    task, count = task_of(), []
    S = sp.csr_array(np.diag(task.u) + task.L)
    multiply = noise.product
    monkeypatch.setattr(
        "cosift._conjugate_gradients.product", lambda *a: count.append(1) or multiply(*a)
    )
    first = IterativeNoise(S, task.u, 1.0).gram(task.X)
    cold = len(count)
    IterativeNoise(S, task.u, 1.1).gram(task.X, first)
    assert 0 < len(count) - cold < 0.8 * cold


def test_down_from_a_small_mu_nothing_is_left_to_do(monkeypatch):
    task, iterations = task_of(), []
    S = sp.csr_array(np.diag(task.u) + task.L)
    solve = noise.conjugate_gradients
    monkeypatch.setattr(noise, "conjugate_gradients", lambda *a: iterations.append(1) or solve(*a))
    first = IterativeNoise(S, task.u, 1e-6).gram(task.X)
    assert iterations
    iterations.clear()
    found = IterativeNoise(S, task.u, 1e-8).gram(task.X, first)
    assert not iterations
    assert relative(found.gram, oracles.exact_precision(task, 1e-8, task.X)) <= 1.1e-12


@pytest.mark.parametrize("u", [1e-6, 1e-9, 0.0])
def test_conditions_that_single_precision_cannot_solve(u):
    task = task_of(unlabeled_weight=u)
    S = sp.csr_array(np.diag(task.u) + task.L)
    found = IterativeNoise(S, task.u, 1e-9).gram(task.X)
    assert relative(found.gram, oracles.exact_precision(task, 1e-9, task.X)) <= 1e-11


def test_says_when_it_fails(monkeypatch):
    monkeypatch.setattr(noise, "ROUNDS", 0)
    task = task_of()
    S = sp.csr_array(np.diag(task.u) + task.L)
    with pytest.raises(np.linalg.LinAlgError, match="in 0 rounds"):
        IterativeNoise(S, task.u, 1.0).gram(task.X)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("route", ["factored", "iterative"])
def test_parts_add_up_to_the_whole(convert, route, monkeypatch):
    if route == "iterative":
        monkeypatch.setattr(statistics, "DENSE_SAMPLES", 1)
    parts = [task_of(40, 7, seed=1, shift=5.0), task_of(60, 7, seed=2, shift=4.0)]
    whole = replace(
        parts[0],
        X=np.vstack([part.X for part in parts]),
        Y=np.vstack([part.Y for part in parts]),
        labeled=np.concatenate([part.labeled for part in parts]),
        L=sp.block_diag([part.L for part in parts]).toarray(),
    )
    one, other = (samples_of(part, convert).gram(2.0) for part in parts)
    expected = samples_of(whole).statistics(2.0)
    for total in (one + other, other + one):
        quadratic, energy = total.centered()
        assert relative(quadratic.Q, matrix(expected.quadratic)) <= 1e-11
        np.testing.assert_allclose(quadratic.linear, expected.quadratic.linear, atol=1e-10)
        assert energy == pytest.approx(expected.energy, rel=1e-11)
        assert total.floor == pytest.approx(expected.floor, rel=1e-11)
        W = np.random.default_rng(3).normal(size=(7, 3))
        np.testing.assert_allclose(total.intercept(W), expected.intercept(W), atol=1e-10)


class TestCompiled:
    """The extra changes the time and nothing else."""

    @pytest.fixture
    def compiled(self, monkeypatch):
        pytest.importorskip("numba")
        monkeypatch.setattr(_kernels, "WORTH_COMPILING", 0)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_product(self, dtype, compiled):
        rng = np.random.default_rng(0)
        A = sp.random_array((70, 50), density=0.1, rng=rng, dtype=dtype, format="csr")
        P = rng.normal(size=(50, 9)).astype(dtype)
        found = _kernels.product(A, P)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, A @ P, rtol=1e-5 if dtype == np.float32 else 1e-13)

    def test_solution(self, compiled, monkeypatch):
        task = task_of()
        A = sp.csr_array(np.diag(task.u) + task.L)
        compiled_solution = solve_spd(A, task.X)
        monkeypatch.setattr(_kernels, "has_numba", lambda: False)
        monkeypatch.setattr(_kernels, "_compiled", lambda: None)
        np.testing.assert_allclose(compiled_solution, solve_spd(A, task.X), rtol=1e-9, atol=1e-16)

    def test_any_number_of_threads_gives_the_same_bits(self, compiled, monkeypatch):
        task = task_of(d=100)
        found = []
        for workers in (1, 2, 3):
            monkeypatch.setattr(_kernels.joblib, "cpu_count", lambda workers=workers: workers)
            samples = SemiSupervisedSamples(
                task.X, task.Y, task.labeled, sp.csr_array(task.L), 1e6, 1.0
            )
            noise_of = IterativeNoise(sp.csr_array(np.diag(task.u) + task.L), task.u, 1.0)
            found.append((samples._F0.tobytes(), noise_of.gram(task.X).gram.tobytes()))
        assert found[0] == found[1] == found[2]
