"""Dask arrays as samples: where `chunks` runs, and in which order its results are added.

Dask comes in only where a Dask array does.  Whatever runs its graphs (threads of this process, or
the cluster of the `distributed.Client` in charge) is the user's choice, not ours.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from cosift import chunks
from cosift._typing import Array
from cosift.chunks import Grams, SamplerOf, Share
from cosift.labels import Task
from cosift.statistics import Statistics

# Results that are added at a time: a worker holds no more of them.
FAN_IN = 4


def is_dask(values: Any) -> bool:
    """Whether values are a collection of Dask's, which then is imported already."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(values))


def gathered(values: Any) -> Any:
    """Labels, which are small, in this process."""
    return values.compute() if is_dask(values) else values


def checked(X: Any) -> Any:
    """X in floating point, every chunk of which is refused once it turns out not to be finite."""
    if not isinstance(X, import_module("dask.array").Array):
        raise ValueError(
            f"X must be an array. Got {type(X).__module__}.{type(X).__name__}; a Dask data frame "
            "becomes one by X.to_dask_array(lengths=True)."
        )
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: shape {X.shape}.")
    if X.dtype.kind not in "biuf" or not isinstance(X._meta, np.ndarray):
        raise ValueError(
            "A Dask array X must hold real numbers in chunks that are NumPy arrays. Got "
            f"{X.dtype} in {type(X._meta).__name__}; convert its chunks with X.map_blocks."
        )
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return X.map_blocks(chunks.finite, dtype=dtype, meta=np.empty((0, 0), dtype))


def check_chunks(X: Any) -> None:
    """Refuse chunks that `fit` cannot use."""
    n, d = X.shape
    if np.isnan([n, d]).any():
        raise ValueError(
            "X must have chunks of known sizes, as rows are matched with labels. Got shape "
            f"{X.shape}; call X.compute_chunk_sizes() first."
        )
    if n < 2 or d < 1:
        raise ValueError(
            f"X must have at least 2 samples and 1 feature. Got {n} sample(s) and {d} feature(s)."
        )
    if len(X.chunks[1]) > 1:
        raise ValueError(
            f"X must be chunked by rows alone. Got {len(X.chunks[1])} chunks of columns; join them "
            "with X.rechunk({0: rows, 1: -1}), where rows may be 10000: neighbours are sought "
            "within a chunk."
        )


def standardized(X: Any) -> Any:
    """Every column about its mean and over its standard deviation, which takes a pass over X."""
    X = checked(X)
    moments = (function(axis=0, dtype=np.float64) for function in (X.mean, X.var))
    mean, variance = import_module("dask").compute(*moments)
    # What rounding leaves of a constant column is no variance.
    rounding = (len(X) * np.finfo(np.float64).eps * mean) ** 2
    return (X - mean) / np.sqrt(np.where(variance > rounding, variance, 1.0))


def samples_in_chunks(
    X: Any, parts: Sequence[tuple[Task, Array]], sampler_of: SamplerOf, mus: Sequence[float]
) -> list[SamplesInChunks]:
    """Samples of every group of tasks, given by a task and the labels of all in the group."""
    rows = _Rows(X, parts, sampler_of, mus)
    return [SamplesInChunks(rows, group) for group in range(len(parts))]


@dataclass(frozen=True)
class SamplesInChunks:
    """What the chunks add up to for one group."""

    _rows: _Rows
    _group: int

    def statistics(self, mu: float) -> Statistics:
        """What the solver needs for one of the mus; the first call computes all of them."""
        gram = self._rows.grams[self._group, mu]
        quadratic, energy = gram.centered()

        def labels(W: Array) -> Any:
            return self._rows.labels(self._group, mu, W, gram.intercept(W))

        return Statistics(quadratic, energy, gram.floor, gram.intercept, labels)


class _Rows:
    """All chunks, each with the shares that groups have in it."""

    def __init__(
        self,
        X: Any,
        parts: Sequence[tuple[Task, Array]],
        sampler_of: SamplerOf,
        mus: Sequence[float],
    ) -> None:
        self._sampler_of, self._mus = sampler_of, mus
        self._blocks = X.to_delayed().ravel()
        ends = np.cumsum(X.chunks[0]).tolist()
        self._firsts = [0, *ends[:-1]]
        cuts = [
            [Share.cut(task, Y, *where) for task, Y in parts]
            for where in zip(self._firsts, ends, strict=True)
        ]
        self._shares = [
            {group: share for group, share in enumerate(cut) if share is not None} for cut in cuts
        ]

    @cached_property
    def grams(self) -> Grams:
        """What all chunks add together, for every group and mu, in one pass over X."""
        dask = import_module("dask")
        grams, total = (dask.delayed(f, pure=False) for f in (chunks.grams, chunks.total))
        level = [
            grams(block, first, shares, self._sampler_of, self._mus)
            for block, first, shares in zip(self._blocks, self._firsts, self._shares, strict=True)
            if shares
        ]
        while len(level) > 1:
            level = [total(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        (found,) = dask.compute(*level)
        return dict(found)

    def labels(self, group: int, mu: float, W: Array, b: Array) -> Any:
        """The learned labels of a group, a Dask array (n, c) that computes its graphs again."""
        dask, array = import_module("dask"), import_module("dask.array")
        labels = dask.delayed(chunks.labels, pure=False)
        parts = []
        for block, first, shares in zip(self._blocks, self._firsts, self._shares, strict=True):
            if share := shares.get(group):
                F = labels(block, first, share, self._sampler_of, mu, W, b)
                parts.append(array.from_delayed(F, (share.size, W.shape[1]), np.float64))
        return array.concatenate(parts)
