"""Slow and obvious references, written from the paper's objective and sharing no code with src.

The objective, with X of shape (n, d) and H = I - 11'/n::

    min over F_l, W_l, b_l of
      sum_l  tr((F_l-Y_l)'U_l(F_l-Y_l)) + tr(F_l'L_l F_l)
           + alpha (||W_l||_{2,1} + beta ||X_l W_l + 1b_l' - F_l||_F^2)
      + gamma ||[W_1 ... W_t]||_*
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import cvxpy as cp
import mpmath as mp
import numpy as np
from scipy import linalg


class Optimum(NamedTuple):
    value: float
    W: np.ndarray


# ---------------------------------------------------------------------------------------------
# The whole problem by an interior point method
# ---------------------------------------------------------------------------------------------


def solve_semi_supervised(tasks, alpha, beta, gamma) -> Optimum:
    """SFMC in (F, W, b) jointly.

    F is written as Y + U^-1/2 G, so that a label weight of 1e6 meets the cone as its root.
    """
    terms, coefficients = [], []
    for task in tasks:
        (n, d), c = task.X.shape, task.Y.shape[1]
        G, W, b = cp.Variable((n, c)), cp.Variable((d, c)), cp.Variable((1, c))
        F = task.Y + cp.multiply(1.0 / np.sqrt(task.u)[:, None], G)
        fit = task.X @ W + np.ones((n, 1)) @ b - F
        terms += [cp.sum_squares(G), cp.sum_squares(_root(task.L) @ F)]
        terms += [alpha * (row_sparsity(W) + beta * cp.sum_squares(fit))]
        coefficients.append(W)
    return _solve(terms, coefficients, gamma)


def solve_supervised(tasks, alpha, gamma) -> Optimum:
    """FSSI in (W, b) jointly, on the labelled rows."""
    terms, coefficients = [], []
    for task in tasks:
        X, Y = task.X[task.labeled], task.Y[task.labeled]
        W, b = cp.Variable((X.shape[1], Y.shape[1])), cp.Variable((1, Y.shape[1]))
        terms += [cp.sum_squares(X @ W + np.ones((len(X), 1)) @ b - Y), alpha * row_sparsity(W)]
        coefficients.append(W)
    return _solve(terms, coefficients, gamma)


def solve_robust(X, Y, gamma) -> Optimum:
    """FSNM in (W, b) jointly; in units of X in which its entries are about 1."""
    unit = np.abs(X).max()
    W, b = cp.Variable((X.shape[1], Y.shape[1])), cp.Variable((1, Y.shape[1]))
    misfit = (X / unit) @ W + np.ones((len(X), 1)) @ b - Y
    value = _run(cp.Problem(cp.Minimize(row_sparsity(misfit) + gamma / unit * row_sparsity(W))))
    return Optimum(value, W.value / unit)


def row_sparsity(W):
    """``||W||_{2,1}`` of a CVXPY expression."""
    return cp.sum(cp.norm(W, 2, axis=1))


def _solve(terms, coefficients, gamma):
    W = cp.hstack(coefficients)
    if gamma > 0:
        terms = [*terms, gamma * cp.normNuc(W)]
    value = _run(cp.Problem(cp.Minimize(cp.sum(cp.hstack(terms)))))
    return Optimum(value, W.value)


def _run(problem, accuracy=1e-10):
    """Run Clarabel as accurately as it can, and insist that it is sure of its answer."""
    for tol in (accuracy, 1e-9, 1e-8):  # which it reaches depends on the machine, now and then
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL, tol_gap_rel=tol, tol_gap_abs=tol, tol_feas=tol)
        if problem.status == cp.OPTIMAL:
            return float(problem.value)
    raise AssertionError(f"the oracle is not sure: {problem.status}")


def _root(L):
    """A square root of a positive semi-definite matrix, without its null space."""
    values, vectors = np.linalg.eigh(L)
    held = values > 1e-12 * max(values.max(), 1.0)
    return (vectors[:, held] * np.sqrt(values[held])).T if held.any() else np.zeros((1, len(L)))


# ---------------------------------------------------------------------------------------------
# The penalty
# ---------------------------------------------------------------------------------------------


def penalty(W, sizes, alpha, gamma):
    """Omega by its definition."""
    ends = np.cumsum(sizes)
    rows = sum(
        np.linalg.norm(row[end - size : end])
        for row in W
        for size, end in zip(sizes, ends, strict=True)
    )
    return alpha * rows + gamma * np.linalg.svd(W, compute_uv=False).sum()


def penalty_expression(W, sizes, alpha, gamma):
    """Omega of a CVXPY expression."""
    ends = np.cumsum(sizes)
    blocks = [W[:, end - size : end] for size, end in zip(sizes, ends, strict=True)]
    value = alpha * cp.sum(cp.hstack([row_sparsity(block) for block in blocks]))
    return value + gamma * cp.normNuc(W) if gamma > 0 else value


def dual_norm(theta, sizes, alpha, gamma):
    """``max <Theta, V>`` over ``Omega(V) <= 1``."""
    size, weight = np.abs(theta).max(), max(alpha, gamma)
    V = cp.Variable(theta.shape)
    ball = penalty_expression(V, sizes, alpha / weight, gamma / weight) <= 1
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(theta / size, V))), [ball])
    return _run(problem, accuracy=1e-9) * size / weight


def prox(V, sizes, alpha, gamma):
    """``argmin Omega(Z) + ||Z - V||^2 / 2``."""
    Z = cp.Variable(V.shape)
    objective = penalty_expression(Z, sizes, alpha, gamma) + cp.sum_squares(Z - V) / 2
    _run(cp.Problem(cp.Minimize(objective)))
    return Z.value


# ---------------------------------------------------------------------------------------------
# Elimination of b and F, longhand
# ---------------------------------------------------------------------------------------------


class Longhand:
    """The paper's R, T, P and constants of one task, every n x n matrix written out."""

    def __init__(self, task, mu):
        n = len(task.X)
        self.X, self.Y, self.L, self.mu = task.X, task.Y, task.L, mu
        self.H = np.eye(n) - np.ones((n, n)) / n
        self.U = np.diag(task.u)
        self.S = self.U + self.L
        self.P = np.linalg.inv(mu * self.H + self.S)
        self.F0 = np.linalg.solve(self.S, self.U @ self.Y)

    @property
    def Q(self):
        """``mu R`` as printed."""
        H = self.H
        return self.mu * self.X.T @ (H - self.mu * H @ self.P @ H) @ self.X

    @property
    def Q_other_form(self):
        """``mu R`` without the cancellation at large mu."""
        return self.X.T @ (self.S - self.S @ self.P @ self.S) @ self.X

    @property
    def q(self):
        """``mu T``."""
        return self.mu * self.X.T @ self.H @ self.P @ self.U @ self.Y

    @property
    def at_zero(self):
        """Objective at W = 0: <Y, UY> - <UY, P UY>."""
        UY = self.U @ self.Y
        return np.vdot(self.Y, UY) - np.vdot(UY, self.P @ UY)

    @property
    def floor(self):
        """What the labels and the graph cost alone."""
        return self.label_cost(self.F0)

    def label_cost(self, F):
        """``q_l(F)`` of the notes."""
        D = F - self.Y
        return np.vdot(D, self.U @ D) + np.vdot(F, self.L @ F)

    def labels(self, W):
        """The best F: the derivative of the objective with b eliminated set to zero."""
        return self.P @ (self.U @ self.Y + self.mu * self.H @ self.X @ W)

    def intercept(self, W):
        """The best b given the best F."""
        return (self.labels(W) - self.X @ W).mean(axis=0)

    def value(self, W):
        """The joint objective's smooth part at W and its best F and b."""
        F = self.labels(W)
        fit = self.X @ W + self.intercept(W) - F
        return self.label_cost(F) + self.mu * np.vdot(fit, fit)

    def multiplier(self, W):
        """``Lam = 2 mu E``, one row a sample."""
        return 2.0 * self.mu * self.H @ (self.X @ W - self.labels(W))

    def dual(self, W, tau):
        """The dual function at tau * Lam(W); a lower bound where tau * X'Lam is feasible."""
        Lam = tau * self.multiplier(W)
        F = self.F0 + tau * (self.labels(W) - self.F0)
        return self.label_cost(F) - np.vdot(Lam, F) - np.vdot(Lam, Lam) / (4.0 * self.mu)


class Exact(NamedTuple):
    """What `Longhand` computes, in fifty digits, rounded at the end."""

    Q: np.ndarray
    q: np.ndarray
    energy: float
    floor: float
    labels: np.ndarray
    intercept: np.ndarray


def exact_statistics(task, mu, W) -> Exact:
    """The statistics of a tiny task in 50 digits; labels and intercept at W."""
    with mp.workdps(50):
        n = len(task.X)
        X, Y, L, W = (mp.matrix(A.tolist()) for A in (task.X, task.Y, task.L, W))
        mu, ones = mp.mpf(mu), mp.ones(n, 1)
        # The rows of a graph's Laplacian sum to zero, which its double precision form misses.
        for i in range(n):
            L[i, i] -= mp.fsum(L[i, :])
        H = mp.eye(n) - ones * ones.T / n
        U = mp.diag([mp.mpf(u) for u in task.u])
        S, UY = U + L, U * Y
        P = mp.inverse(mu * H + S)
        F0 = mp.inverse(S) * UY
        at_zero = _inner(Y, UY) - _inner(UY, P * UY)
        floor = _inner(Y, UY) - _inner(UY, F0)
        F = P * (UY + mu * H * X * W)
        b = (F - X * W).T * ones / n
        return Exact(
            _array(mu * X.T * (H - mu * H * P * H) * X),
            _array(mu * X.T * H * P * UY),
            float(at_zero - floor),
            float(floor),
            _array(F),
            _array(b).ravel(),
        )


def exact_smoothing(task, mu, V):
    """``mu A^-1 V`` by elimination, and once more on what that left over."""
    A = np.diag(task.u + mu) + task.L
    factor = linalg.cho_factor(A)
    F = linalg.cho_solve(factor, mu * V)
    return F + linalg.cho_solve(factor, mu * V - A @ F)


def exact_precision(task, mu, V):
    """``V' B V`` as the value of ``min over F of F'SF + mu (V-F)'(V-F)``."""
    F = exact_smoothing(task, mu, V)
    return F.T @ (task.u[:, None] * F + task.L @ F) + mu * (V - F).T @ (V - F)


def _inner(A, B):
    return mp.fsum(a * b for a, b in zip(A, B, strict=True))


def _array(A):
    return np.array(A.tolist(), dtype=float)


# ---------------------------------------------------------------------------------------------
# The paper's algorithm as it stands
# ---------------------------------------------------------------------------------------------


def printed_algorithm(tasks, alpha, beta, gamma, *, W, row_weight, smoothing, max_iter=1000):
    """The printed iteration from a given W; returns the last W and every objective on the way.

    ``(R + row_weight D + gamma/(alpha beta) D~)^-1 T`` with the same fixed smoothing inside both
    D and D~.  The paper prints ``row_weight = alpha/beta``; the derivative says ``1/beta``.
    """
    mu = alpha * beta
    longhand = [Longhand(task, mu) for task in tasks]
    sizes = [task.Y.shape[1] for task in tasks]
    cuts = np.cumsum(sizes)[:-1]
    objectives = []
    for _ in range(max_iter):
        values, vectors = linalg.eigh(W @ W.T)
        joint = (vectors / (2.0 * np.sqrt(np.maximum(values, 0.0) + smoothing))) @ vectors.T
        parts = []
        for one, part in zip(longhand, np.split(W, cuts, axis=1), strict=True):
            rows = np.diag(1.0 / (2.0 * np.sqrt((part**2).sum(axis=1) + smoothing)))
            system = one.Q / mu + row_weight * rows + gamma / mu * joint
            parts.append(np.linalg.solve(system, one.q / mu))
        W = np.hstack(parts)
        smooth = sum(one.value(part) for one, part in zip(longhand, parts, strict=True))
        objectives.append(smooth + penalty(W, sizes, alpha, gamma))
    return W, np.array(objectives)
