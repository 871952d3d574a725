"""Anderson acceleration of a fixed-point iteration."""

from __future__ import annotations

import numpy as np

from cosift._typing import Array


class Anderson:
    """Extrapolates ``x <- g(x)`` from its last few pairs (type II).

    With residuals ``f = g - x``, differences of successive residuals and images ``dF``, ``dG``::

        theta = argmin ||f - dF' theta||^2 + small*||theta||^2,    next x = g - dG' theta

    which near a solution behaves as a quasi-Newton method for the price of a few products.

    Parameters
    ----------
    depth : int
        How many differences are remembered.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self.forget()

    def forget(self) -> None:
        """Start anew, as after a change of the map."""
        self._count = 0
        self._last: tuple[Array, Array] | None = None

    def step(self, x: Array, image: Array) -> Array:
        """Next point, given ``x`` and ``image = g(x)``; both keep their shape."""
        residual = (image - x).ravel()
        flat = image.ravel().copy()
        if self._last is None:
            self._last = residual, flat
            return image
        if self._count == 0:
            self._dF = np.empty((self._depth, flat.size))
            self._dG = np.empty((self._depth, flat.size))
            self._gram = np.zeros((self._depth, self._depth))
        slot = self._count % self._depth
        np.subtract(residual, self._last[0], out=self._dF[slot])
        np.subtract(flat, self._last[1], out=self._dG[slot])
        self._last = residual, flat
        self._count += 1
        k = min(self._count, self._depth)
        dF = self._dF[:k]
        self._gram[slot, :k] = self._gram[:k, slot] = dF @ dF[slot]
        gram = self._gram[:k, :k]
        trace = np.trace(gram)
        if trace == 0.0:
            return image
        weights = np.linalg.solve(gram + 1e-10 * trace * np.eye(k), dF @ residual)
        return (flat - weights @ self._dG[:k]).reshape(image.shape)
