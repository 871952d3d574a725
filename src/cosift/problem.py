"""The convex problem that every estimator hands to a solver.

Row-major throughout: W is (d, C), its columns ordered by task, then class.

    minimise over W    f(W) + Omega(W)

    f(W)     = floor + energy + sum_b  <W_b, Q_b W_b> - 2 <W_b, q_b>
    Omega(W) = alpha * sum_l ||W_l||_{2,1} + gamma * ||W||_*

A block b gathers the columns of all tasks that share one Q.  ``floor`` is what no W can undercut
(``f >= floor``), ``energy = f(0) - floor``.  In the paper's letters ``Q = mu R`` and ``q = mu T``.

The solver never sees a sample.  ``Theta = -grad f(W) = 2 (q - Q W)`` is what the penalty must
balance: W is optimal when ``Theta`` is a subgradient of Omega at W.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cosift._typing import Array, Indices
from cosift.penalties import Penalty
from cosift.quadratic import Quadratic


@dataclass(frozen=True)
class Block:
    """Tasks with one Hessian: ``<W_b, Q W_b> - 2 <W_b, q>`` on some columns of W."""

    quadratic: Quadratic
    columns: Indices


class Smooth(NamedTuple):
    """The smooth part at a point, with what the dual bound needs of it."""

    excess: float  # f(W) - floor
    alignment: float  # <F0 - X W, M F0> = energy - <q, W>
    theta: Array  # -grad f(W), (d, C)


@dataclass(frozen=True)
class Problem:
    """``f + Omega``, see the module's text."""

    blocks: tuple[Block, ...]
    penalty: Penalty
    energy: float
    floor: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """``(d, C)``."""
        return self.linear.shape[0], self.linear.shape[1]

    @cached_property
    def linear(self) -> Array:
        """The linear terms q of all tasks, (d, C)."""
        width = sum(len(block.columns) for block in self.blocks)
        q = np.empty((len(self.blocks[0].quadratic.linear), width))
        for block in self.blocks:
            q[:, block.columns] = block.quadratic.linear
        return q

    @property
    def at_zero(self) -> float:
        """Objective at W = 0, the yardstick of convergence."""
        return self.floor + self.energy

    def hessian_product(self, W: Array) -> Array:
        """``Q W``, each block by its own Q; rows of zeros in W cost nothing."""
        used = np.flatnonzero(np.any(W != 0.0, axis=1))
        if not used.size:
            return np.zeros_like(W)
        QW = np.empty_like(W)
        for block in self.blocks:
            QW[:, block.columns] = block.quadratic.product(W[:, block.columns])
        return QW

    def smooth(self, W: Array) -> Smooth:
        """Value and gradient of f at W."""
        QW = self.hessian_product(W)
        gain = float(np.vdot(self.linear, W))
        excess = self.energy - 2.0 * gain + float(np.vdot(W, QW))
        return Smooth(max(excess, 0.0), self.energy - gain, 2.0 * (self.linear - QW))

    def objective(self, W: Array) -> float:
        """``f(W) + Omega(W)``."""
        return self.floor + self.smooth(W).excess + self.penalty.value(W)

    def restrict(self, features: Indices) -> Problem:
        """The same problem with all other features held at zero."""
        if len(features) == self.shape[0]:
            return self
        blocks = tuple(Block(b.quadratic.restrict(features), b.columns) for b in self.blocks)
        return replace(self, blocks=blocks)

    def with_penalty(self, alpha: float, gamma: float) -> Problem:
        """The same smooth part under other weights."""
        return replace(self, penalty=Penalty(alpha, gamma, self.penalty.sizes))
