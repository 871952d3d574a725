"""Videos -> motion boundary histograms along tracked points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from os import PathLike
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from cosift.features._flow import boundaries, cell_sums, dense_flow, integral, oriented, smoothed
from cosift.features._opencv import opencv
from cosift.features._sample import RowSample
from cosift.features._tracks import Finished, Tracks
from cosift.features._video import Frame, grey_frames

__all__ = ["MotionBoundaryHistograms"]

# Sizes of frames fall by this factor from scale to scale.
SHRINK = 2**-0.5
# Flow by dense inverse search takes frames from this many pixels a side.
SMALLEST = 12


class MotionBoundaryHistograms(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Histograms of the spatial derivatives of optical flow, along tracks of points.

    Points on a grid follow the flow :math:`\omega = (u, v)` for ``length`` frames. Around
    each, at each of its frames, the gradients of u and of v over a square ``patch`` are collected
    by orientation, with their magnitudes,

    .. math::

        h^{x}_{c, b} = \sum_{(p, t) \in c}
            \lVert \nabla u_t(p) \rVert \, \beta_b(\angle \nabla u_t(p)), \qquad
        h^{y}_{c, b} = \sum_{(p, t) \in c}
            \lVert \nabla v_t(p) \rVert \, \beta_b(\angle \nabla v_t(p)),

    in cells c of the patch and the track, where :math:`\beta_b` shares an angle between the two
    bins next to it. Of a flow that is the same everywhere, as a panning camera brings about,
    nothing is left; what is left are the boundaries of what moves by itself. Both halves are
    divided by the number of pixels and frames of a cell and then scaled to
    :math:`h / \sqrt{\lVert h \rVert^2 + \epsilon^2}`. What differs from the first implementation
    is in docs/features.md.

    Parameters
    ----------
    spacing : int, default=5
        Distance of points on the grid, in pixels.
    length : int, default=15
        Frames that a track lasts.
    patch : int, default=32
        Side of the square around a point, in pixels.
    n_cells : int, default=2
        Cells along each side of the patch.
    n_stages : int, default=3
        Cells along the track.
    n_bins : int, default=8
        Orientations, of which bin b is centred at the angle 2 pi b / n_bins; angles turn from x
        (right) to y (down).
    n_scales : int, default=8
        At most so many sizes of a frame, each smaller than the one before by the square root of 2,
        as long as a patch fits.
    floor : float, default=0.02
        The number epsilon, in 1/frame: histograms weaker than this, of noise that is, stay small.
    max_descriptors : int, default=100_000
        Of a video with more tracks a uniform sample is taken, always the same one.
    n_jobs : int, optional
        Videos in work at a time, see joblib.

    Examples
    --------
    >>> import cv2, pathlib, tempfile
    >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "clip.avi")
    >>> video = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"MJPG"), 25, (96, 64))
    >>> texture = np.random.default_rng(0).integers(0, 256, size=(32, 32, 3), dtype=np.uint8)
    >>> for t in range(17):
    ...     frame = np.zeros((64, 96, 3), np.uint8)
    ...     frame[16:48, 2 * t + 8 : 2 * t + 40] = texture  # a square moves to the right
    ...     _ = video.write(frame)
    >>> video.release()
    >>> (descriptors,) = MotionBoundaryHistograms().fit_transform([path])
    >>> descriptors.shape[1]  # 2 components x 3 stages x 2 x 2 cells x 8 orientations
    192
    """

    def __init__(
        self,
        *,
        spacing: int = 5,
        length: int = 15,
        patch: int = 32,
        n_cells: int = 2,
        n_stages: int = 3,
        n_bins: int = 8,
        n_scales: int = 8,
        floor: float = 0.02,
        max_descriptors: int = 100_000,
        n_jobs: int | None = None,
    ) -> None:
        self.spacing = spacing
        self.length = length
        self.patch = patch
        self.n_cells = n_cells
        self.n_stages = n_stages
        self.n_bins = n_bins
        self.n_scales = n_scales
        self.floor = floor
        self.max_descriptors = max_descriptors
        self.n_jobs = n_jobs

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the parameters; there is nothing to learn.

        Parameters
        ----------
        X, y : ignored
            Present because scikit-learn passes them.

        Returns
        -------
        self
            The transformer.
        """
        counts = ("spacing", "length", "patch", "n_cells", "n_stages", "n_bins", "n_scales")
        for name in (*counts, "max_descriptors"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number from 1. Got {value!r}.")
        for name, divisor in (("patch", "n_cells"), ("length", "n_stages")):
            value, parts = getattr(self, name), getattr(self, divisor)
            if value % parts:
                raise ValueError(f"{name} must be a multiple of {divisor} = {parts}. Got {value}.")
        if not self.floor >= 0:
            raise ValueError(f"floor must be 0 or positive. Got {self.floor!r}.")
        return self

    def transform(self, X: Iterable[str | PathLike[str]]) -> list[NDArray[np.float32]]:
        """Descriptors of videos, as `BagOfWords` takes them.

        Parameters
        ----------
        X : iterable of path
            Video files. Of each, two frames are in memory at a time.

        Returns
        -------
        list of ndarray of shape (n_tracks, 2 * n_stages * n_cells ** 2 * n_bins)
            One array a video: first h^x, then h^y, each by stage, row and column of cells, bin. A
            video in which nothing moves for long enough has no tracks.

        Raises
        ------
        OSError
            If a file is not there.
        ValueError
            If one is no video, ends early, or has frames smaller than a patch.
        """
        self.fit()
        descriptors: list[NDArray[np.float32]] = Parallel(n_jobs=self.n_jobs)(
            delayed(self.describe)(path) for path in X
        )
        return descriptors

    def describe(self, path: str | PathLike[str]) -> NDArray[np.float32]:
        """Descriptors of one video, as ``transform`` gives them for several.

        Parameters
        ----------
        path : path
            A video file.

        Returns
        -------
        ndarray of shape (n_tracks, 2 * n_stages * n_cells ** 2 * n_bins)
            One row a track.
        """
        # The seed only chooses among tracks of a video that has too many.
        sample = RowSample(self.max_descriptors, np.random.RandomState(0))
        sample.add(np.empty((0, self._width()), dtype=np.float32))
        for finished in self._tracks(path):
            sample.add(self._descriptors(finished))
        return sample.rows()

    def _tracks(self, path: str | PathLike[str]) -> Iterator[Finished]:
        """Tracks of all scales as they end."""
        frames = grey_frames(path)
        first = next(frames)
        scales = [_Scale(self, shape) for shape in self._shapes(first.shape)]
        if not scales:
            raise ValueError(
                f"{path}: expected frames of at least {max(self.patch, SMALLEST)} pixels a side, "
                f"one patch. Found {first.shape[1]} x {first.shape[0]}."
            )
        before = first
        for frame in frames:
            if frame.shape != first.shape:
                raise ValueError(f"{path}: expected frames of one size. Found two sizes.")
            for scale in scales:
                yield scale.step(before, frame)
            before = frame

    def _shapes(self, shape: tuple[int, ...]) -> list[tuple[int, int]]:
        """Heights and widths that a patch fits into, in falling order."""
        shapes = [
            (round(shape[0] * SHRINK**level), round(shape[1] * SHRINK**level))
            for level in range(self.n_scales)
        ]
        return [shape for shape in shapes if min(shape) >= max(self.patch, SMALLEST)]

    def _descriptors(self, finished: Finished) -> NDArray[np.float32]:
        """Scale both halves of what tracks have gathered, and put h^x before h^y."""
        in_a_cell = (self.patch // self.n_cells) ** 2 * (self.length // self.n_stages)
        halves = finished.gathered.swapaxes(1, 2) / in_a_cell
        lengths = np.sqrt((halves**2).sum(axis=(2, 3), keepdims=True) + self.floor**2)
        # Without a floor, nothing stays nothing.
        scaled = np.divide(halves, lengths, out=np.zeros_like(halves), where=lengths > 0)
        return np.asarray(scaled.reshape(len(scaled), self._width()))

    def _width(self) -> int:
        return 2 * self.n_stages * self.n_cells**2 * self.n_bins

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags


class _Scale:
    """Tracks in frames of one size."""

    def __init__(self, settings: MotionBoundaryHistograms, shape: tuple[int, int]) -> None:
        self._settings, self._shape = settings, shape
        self._flow = dense_flow()
        gathered = settings.n_stages, 2, settings.n_cells**2 * settings.n_bins
        self._tracks = Tracks(shape, settings.spacing, settings.length, gathered)

    def step(self, before: Frame, after: Frame) -> Finished:
        """Tracks that end between two frames."""
        before, after = self._resized(before), self._resized(after)
        flow = self._flow.calc(before, after, None)
        settings = self._settings
        sums = [integral(oriented(field, settings.n_bins)) for field in boundaries(flow)]

        def gather(pixels: NDArray[np.intp]) -> NDArray[np.float64]:
            parts = [cell_sums(part, pixels, settings.patch, settings.n_cells) for part in sums]
            return np.stack([part.reshape(len(pixels), -1) for part in parts], axis=1)

        return self._tracks.step(before, smoothed(flow), gather)

    def _resized(self, frame: Frame) -> Frame:
        if frame.shape == self._shape:
            return frame
        cv2 = opencv()
        smaller: Frame = cv2.resize(frame, self._shape[::-1], interpolation=cv2.INTER_AREA)
        return smaller
