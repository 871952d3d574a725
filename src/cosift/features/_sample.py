"""A uniform sample of rows that arrive in blocks, once, and do not fit into memory together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowSample"]


class RowSample:
    """A sample of rows without replacement, in the order in which they arrived.

    Every row draws a key, uniform in [0, 1), and the rows with the smallest keys stay: each set
    of ``size`` rows is as likely as any other, however the rows are cut into blocks.

    Parameters
    ----------
    size : int
        Rows to keep. At most twice as many are held at any time, and one block.
    random_state : RandomState
        Where keys come from: one number for each row.
    """

    def __init__(self, size: int, random_state: np.random.RandomState) -> None:
        self.size = size
        self.seen = 0
        self._random_state = random_state
        self._limit = np.inf
        self._held = 0
        self._blocks: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def add(self, rows: NDArray[Any]) -> None:
        """Let another block of rows compete for a place."""
        keys = self._random_state.random_sample(len(rows))
        small = keys < self._limit
        self.seen += len(rows)
        self._held += int(small.sum())
        # A copy: a view of few rows would keep the whole block alive.
        self._blocks.append((rows[small], keys[small]))
        if self._held > 2 * self.size:
            self._shrink()

    def rows(self) -> NDArray[Any]:
        """The sample of all rows so far; needs one block at least, which may be empty."""
        self._shrink()
        return self._blocks[0][0]

    def _shrink(self) -> None:
        rows = np.concatenate([block for block, _ in self._blocks])
        keys = np.concatenate([block for _, block in self._blocks])
        if len(keys) > self.size:
            kept = np.sort(np.argpartition(keys, self.size)[: self.size])
            rows, keys = rows[kept], keys[kept]
            self._limit = keys.max()
        self._blocks = [(rows, keys)]
        self._held = len(keys)
