"""Near others from a navigable graph of samples (faiss and numba, of the extra ``scale``).

The graph is built by one thread: with more it would depend on which came first, and so would what
is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec

import joblib
import numpy as np

from cosift._kernels import has_numba
from cosift._typing import Array, Indices

LINKS = 32  # of every sample in the graph
BUILDING = 80  # candidates for them
# Candidates kept while searching, in the order in which they are tried.
EFFORTS = (64, 128, 256, 512)


@cache
def available() -> bool:
    """Whether faiss is installed, and numba for the distances of what it finds."""
    return has_numba() and find_spec("faiss") is not None


class Index:
    """Samples that can be searched.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples about their mean.
    """

    def __init__(self, X: Array) -> None:
        self._faiss = import_module("faiss")
        self._X = X.astype(np.float32)
        self._index = self._faiss.IndexHNSWFlat(X.shape[1], LINKS)
        self._index.hnsw.efConstruction = BUILDING
        with self._threads(1):
            self._index.add(self._X)

    def candidates(self, rows: Indices, count: int, effort: int) -> Indices:
        """Return ``count + 1`` near samples of each row, itself among them or not, -1 for none."""
        self._index.hnsw.efSearch = effort
        with self._threads(joblib.cpu_count()):
            found = self._index.search(self._X[rows], count + 1)[1]
        return np.asarray(found, dtype=np.intp)

    @contextmanager
    def _threads(self, number: int) -> Iterator[None]:
        before = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(number)
        try:
            yield
        finally:
            self._faiss.omp_set_num_threads(before)
