"""L21LeastSquares against celer, skglm and scikit-learn (MultiTaskLasso), at equal duality gap.

One fit at a tenth of the penalty that keeps no feature, and a path of 20 penalties from all of
that to a hundredth, each point started from the last, on dense samples (Gaussian classes), wide
ones, and bags of words as a sparse matrix.  Every answer is judged by our certificate, computed
from its coefficients alone; a rival's tolerance is tightened tenfold until its gap is 1e-6 of the
objective at W = 0 at every point, as ours must be.  Whole fits from raw samples and labels, in
turn, the best of each, on all cores; compilation is not counted.  celer takes no sparse matrix
with several outputs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._data import bags_of_words, gaussian_classes
from benchmarks._environment import python_with, versions
from benchmarks._peer import Peer
from benchmarks._turns import in_turn
from cosift import L21LeastSquares
from cosift.certificate import certify
from cosift.penalties import Penalty
from cosift.problem import Block, Problem
from cosift.statistics import SupervisedSamples

TOL = 1e-6
PENALTIES = {"fit": np.array([0.1]), "path of 20": np.geomspace(1.0, 0.01, 20)}
# celer cannot be used with scikit-learn 1.6.
RIVALS = {
    "celer": ("celer", "scikit-learn<1.6"),
    "skglm": ("skglm",),
    "scikit-learn": ("scikit-learn",),
}
LIMIT = 300.0


def run() -> Iterator[dict[str, object]]:
    """One row a problem, task and program."""
    text, source = bags_of_words()
    problems = {
        "dense 2,000 x 2,000 x 10": gaussian_classes(np.random.default_rng(0), 2_000, 2_000, 10),
        "wide 500 x 10,000 x 5": gaussian_classes(np.random.default_rng(0), 500, 10_000, 5),
        f"{source} {text[0].shape[0]:,} x {text[0].shape[1]:,} x {len(np.unique(text[1]))}": text,
    }
    for name, (X, y) in problems.items():
        for kind, shares in PENALTIES.items():
            yield from _compare(name, kind, X, y, shares)


def _compare(
    name: str, kind: str, X: Any, y: np.ndarray, shares: np.ndarray
) -> Iterator[dict[str, object]]:
    judge = _Judge(X, y)
    alphas = judge.largest * shares
    rivals = [rival for rival in RIVALS if rival != "celer" or not sp.issparse(X)]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        np.save(Path(folder, "Y.npy"), judge.Y)
        if sp.issparse(X):
            sp.save_npz(Path(folder, "X.npz"), X)
        else:
            np.save(Path(folder, "X.npy"), X)
        programs: list[_Ours | _Rival] = [_Ours(X, y, judge, alphas)]
        for rival in rivals:
            programs.append(stack.enter_context(closing(_Rival(rival, folder, judge, alphas))))
        found = in_turn(*(program.run for program in programs))
        for program, (seconds, gap) in zip(programs, found, strict=True):
            yield {
                "problem": name,
                "task": kind,
                "program": program.version,
                "seconds": f"{seconds:.3g}" if gap <= TOL else f"stopped at {seconds:.3g}",
                "gap": f"{gap:.0e}",
                "by ours": f"{seconds / found[0][0]:.1f}",
            }


class _Ours:
    """Whole fits by our selector."""

    version = "cosift"

    def __init__(self, X: Any, y: np.ndarray, judge: _Judge, alphas: np.ndarray) -> None:
        self._X, self._y, self._judge, self._alphas = X, y, judge, alphas
        self._gap: float | None = None

    def run(self) -> tuple[float, float]:
        """Seconds and gap."""
        alphas = self._alphas
        selector = L21LeastSquares(alphas[0], tol=TOL)
        started = time.perf_counter()
        if len(alphas) == 1:
            fits = [selector.fit(self._X, self._y)]
        else:
            path = selector.path(
                self._X, self._y, n_penalties=len(alphas), eps=alphas[-1] / alphas[0]
            )
            fits = list(path)
        seconds = time.perf_counter() - started
        if self._gap is None:
            self._gap = max(self._judge.gap(fit.coef_, fit.alpha) for fit in fits)
        return seconds, self._gap


class _Rival:
    """A program in its environment, with a tolerance that is as tight as it must be."""

    def __init__(self, name: str, folder: str, judge: _Judge, alphas: np.ndarray) -> None:
        python = python_with(name, *RIVALS[name])
        self.version = versions(python, name)
        self._peer = Peer(python, "lasso.py", name, folder)
        self._folder, self._judge, self._alphas = folder, judge, alphas
        self._tol, self._gap = 1e-5, np.inf
        self._peer.ask(LIMIT, alphas=self._scaled(alphas[:1]), tol=1e-1)  # compiles

    def run(self) -> tuple[float, float]:
        """Seconds and gap with the first tolerance that suffices, or where time is up."""
        while True:
            answer = self._peer.ask(LIMIT, alphas=self._scaled(self._alphas), tol=self._tol)
            if answer is None:
                return LIMIT, np.inf
            if self._gap > TOL:
                coefs = np.load(Path(self._folder, "W.npy"))
                self._gap = max(map(self._judge.gap, coefs, self._alphas))
            if self._gap <= TOL or self._tol < 1e-11:
                return float(answer["seconds"]), self._gap
            self._tol /= 10.0

    def close(self) -> None:
        self._peer.close()

    def _scaled(self, alphas: np.ndarray) -> list[float]:
        """They divide the squares by 2 n."""
        return (alphas / (2.0 * len(self._judge.Y))).tolist()


class _Judge:
    """The certificate of any coefficients."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self.Y = (y[:, None] == np.unique(y)) * 1.0
        self._fixed = SupervisedSamples(X, self.Y).statistics(1.0)
        self.largest = self._problem(1.0).penalty.norms[0].gauge(2.0 * self._fixed.quadratic.linear)

    def _problem(self, alpha: float) -> Problem:
        width = self.Y.shape[1]
        block = Block(self._fixed.quadratic, np.arange(width))
        return Problem((block,), Penalty(alpha, 0.0, np.array([width])), self._fixed.energy)

    def gap(self, coef: np.ndarray, alpha: float) -> float:
        """Relative to the objective at W = 0."""
        problem = self._problem(alpha)
        return certify(problem, np.ascontiguousarray(coef.T)).gap / problem.at_zero
