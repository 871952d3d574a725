"""Points tracked through dense flow, and what they gather on their way."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosift.features._flow import Flow
from cosift.features._opencv import opencv
from cosift.features._video import Frame

__all__ = ["Finished", "Tracks"]

# A point is worth tracking where the smaller eigenvalue of the structure tensor exceeds this
# share of the largest in the frame: elsewhere flow is a guess.
QUALITY = 0.001
# Standard deviation of positions, in pixels, below which a track stands still, and above which
# it has run astray.
STILL, ASTRAY = np.sqrt(3), 50.0
# A jump: one step longer than this, in pixels and as share of the whole way.
JUMP, JUMP_SHARE = 20.0, 0.7


class Finished(NamedTuple):
    """Tracks that reached their length.

    Attributes
    ----------
    positions : ndarray of shape (n_tracks, length + 1, 2)
        Where they were, x and y.
    gathered : ndarray of shape (n_tracks, n_stages, ...)
        The sum over the frames of each stage of what was gathered in a frame.
    """

    positions: NDArray[np.float32]
    gathered: NDArray[np.float32]


class Tracks:
    """Points on a grid that follow the flow for some frames.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the frames.
    spacing : int
        Side of the squares of the grid: a square without a track gets a new one.
    length : int
        Frames that a track lasts.
    gathered : tuple of int
        Number of stages, parts of equal length that a track is divided into, and the shape of what
        it gathers in a frame.
    """

    def __init__(
        self, shape: tuple[int, int], spacing: int, length: int, gathered: tuple[int, ...]
    ) -> None:
        self.shape, self.spacing, self.length, self.n_stages = shape, spacing, length, gathered[0]
        self._age = np.empty(0, dtype=np.intp)
        self._positions = np.empty((0, length + 1, 2), dtype=np.float32)
        self._gathered = np.empty((0, *gathered), dtype=np.float32)

    def step(
        self,
        frame: Frame,
        flow: Flow,
        gather: Callable[[NDArray[np.intp]], NDArray[np.float64]],
    ) -> Finished:
        """Start tracks, let all gather, move them on, and let go of those that are done.

        Parameters
        ----------
        frame : ndarray of shape (height, width)
            Where the flow starts.
        flow : ndarray of shape (height, width, 2)
            Displacements to the next frame.
        gather : callable
            Pixels (n_tracks, 2), x and y, to numbers (n_tracks, ...).

        Returns
        -------
        Finished
            Tracks that end here and have moved as bodies do.
        """
        self._start(frame)
        if not len(self._age):
            return Finished(self._positions, self._gathered)
        every = np.arange(len(self._age))
        here = self._positions[every, self._age]
        pixels = self._pixels(here)
        stage = self._age * self.n_stages // self.length
        self._gathered[every, stage] += gather(pixels)
        there = here + flow[pixels[:, 1], pixels[:, 0]]
        self._age += 1
        self._positions[every, self._age] = there
        height, width = self.shape
        inside = ((there >= 0) & (there <= [width - 1, height - 1])).all(axis=1)
        done = self._age == self.length
        ended = inside & done
        finished = Finished(self._positions[ended], self._gathered[ended])
        self._keep(inside & ~done)
        moving = _moving(finished.positions)
        return Finished(finished.positions[moving], finished.gathered[moving])

    def _start(self, frame: Frame) -> None:
        """A track in the middle of every square of the grid that has texture and no track."""
        strength = opencv().cornerMinEigenVal(frame, 3, ksize=3)
        rows, columns = (side // self.spacing for side in self.shape)
        middle = self.spacing // 2 + self.spacing * np.stack(
            np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1
        )
        free = strength[middle[..., 1], middle[..., 0]] > QUALITY * strength.max()
        here = self._pixels(self._positions[np.arange(len(self._age)), self._age])
        column, row = np.minimum(here // self.spacing, [columns - 1, rows - 1]).T
        free[row, column] = False
        new = middle[free]
        positions = np.zeros((len(new), self.length + 1, 2), dtype=np.float32)
        positions[:, 0] = new
        self._positions = np.concatenate([self._positions, positions])
        self._age = np.concatenate([self._age, np.zeros(len(new), dtype=np.intp)])
        gathered = np.zeros((len(new), *self._gathered.shape[1:]), dtype=np.float32)
        self._gathered = np.concatenate([self._gathered, gathered])

    def _keep(self, which: NDArray[np.bool_]) -> None:
        self._age = self._age[which]
        self._positions = self._positions[which]
        self._gathered = self._gathered[which]

    def _pixels(self, positions: NDArray[np.float32]) -> NDArray[np.intp]:
        return np.rint(positions).astype(np.intp)


def _moving(positions: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Tracks that neither stand still, nor run astray, nor jump."""
    spread = positions.std(axis=1)
    steps = np.linalg.norm(np.diff(positions, axis=1), axis=2)
    longest = steps.max(axis=1)
    jumps = (longest > JUMP) & (longest > JUMP_SHARE * steps.sum(axis=1))
    return np.asarray((spread > STILL).any(axis=1) & (spread < ASTRAY).all(axis=1) & ~jumps)
