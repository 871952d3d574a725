"""Sparse times narrow dense, compiled where numba is installed (extra ``scale``).

The compiled product lets go of the interpreter's lock, so blocks of columns can run in threads;
SciPy's does not.  Either way every row is summed by one thread in one order: the result depends
neither on the number of threads nor on how columns were cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import joblib
import numpy as np
import scipy.sparse as sp

from cosift._typing import Array

Item = TypeVar("Item")
Result = TypeVar("Result")

# Multiplications below which loading the compiler costs more than it saves.
WORTH_COMPILING = 10**7


def product(A: sp.csr_array, P: Array) -> Array:
    """``A @ P`` for a csr A and a C-contiguous P of the same dtype."""
    kernel = _compiled() if A.nnz * P.shape[1] >= WORTH_COMPILING else None
    if kernel is None:
        return np.asarray(A @ P)
    out = np.empty((A.shape[0], P.shape[1]), dtype=P.dtype)
    kernel(A.indptr, A.indices, A.data, np.ascontiguousarray(P), out)
    return out


def in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results in the order of the items, computed as many at a time as there are processors."""
    items = list(items)
    workers = min(joblib.cpu_count(), len(items)) if has_numba() else 1
    if workers <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers) as pool:
        # A few ahead and no more, so that results do not pile up in memory.
        waiting = [pool.submit(function, item) for item in items[:workers]]
        for item in [*items[workers:], *[None] * workers]:
            result = waiting.pop(0).result()
            if item is not None:
                waiting.append(pool.submit(function, item))
            yield result


@cache
def has_numba() -> bool:
    """Whether the compiler is installed."""
    return find_spec("numba") is not None


@cache
def _compiled() -> Any:
    if not has_numba():
        return None

    def multiply(indptr: Any, indices: Any, data: Any, P: Any, out: Any) -> None:
        for i in range(out.shape[0]):
            row = np.zeros(out.shape[1], dtype=out.dtype)
            for a in range(indptr[i], indptr[i + 1]):
                value, other = data[a], indices[a]
                for c in range(out.shape[1]):
                    row[c] += value * P[other, c]
            out[i] = row

    return import_module("numba").njit(nogil=True)(multiply)
