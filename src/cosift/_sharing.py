"""What depends on the samples alone, computed once for all who fit to the same samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from cosift._typing import Matrix

__all__ = ["Kept", "digest", "shared", "sharing"]

T = TypeVar("T")


@dataclass
class Kept:
    """What was computed, by function, samples and further arguments.

    Attributes
    ----------
    seconds_saved : float
        What computing again would have cost so far.
    """

    seconds_saved: float = 0.0
    _results: dict[Any, tuple[Any, float]] = field(default_factory=dict)

    def get(self, function: Callable[..., T], X: Matrix, *arguments: Any) -> T:
        """``function(X, *arguments)``."""
        key = (function.__name__, digest(X), arguments)
        if key in self._results:
            self.seconds_saved += self._results[key][1]
        else:
            started = time.perf_counter()
            result = function(X, *arguments)
            self._results[key] = result, time.perf_counter() - started
        found: T = self._results[key][0]
        return found


_kept: ContextVar[Kept | None] = ContextVar("kept", default=None)


@contextmanager
def sharing(kept: Kept) -> Iterator[None]:
    """Within this context `shared` keeps its results, and finds those that are kept.

    Examples
    --------
    >>> calls = []
    >>> def total(X):
    ...     calls.append(len(X))
    ...     return float(X.sum())
    >>> with sharing(Kept()):
    ...     [shared(total, np.ones(3)) for _ in range(4)], calls
    ([3.0, 3.0, 3.0, 3.0], [3])
    """
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)


def shared(function: Callable[..., T], X: Matrix, *arguments: Any) -> T:
    """``function(X, *arguments)``, within `sharing` once for equal samples; not to be changed."""
    kept = _kept.get()
    return function(X, *arguments) if kept is None else kept.get(function, X, *arguments)


def digest(*values: Any) -> str:
    """A digest of arrays, sparse matrices and None: shapes, types and all entries."""
    summed = blake2b(digest_size=16)
    for value in _parts(values):
        array = np.asarray(value)
        summed.update(f"{array.shape} {array.dtype.str}".encode())
        if array.dtype.hasobject:
            summed.update(repr(array.tolist()).encode())
        else:
            summed.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return summed.hexdigest()


def _parts(values: Any) -> Iterator[Any]:
    for value in values:
        if sp.issparse(value):
            rows = value.tocsr()
            yield from (rows.shape, rows.data, rows.indices, rows.indptr)
        else:
            yield value
