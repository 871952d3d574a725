r"""Dense optical flow, its motion boundaries, and sums of oriented magnitudes over cells.

Flow :math:`\omega = (u, v)` is in pixels a frame, x to the right and y down.  A vector field
(a, b), such as the gradient of u, has at every pixel the magnitude m and the angle
:math:`\theta` of (a, b).  Bins are centred at the angles :math:`2 \pi k / B`, and m is shared
between the two bins next to :math:`\theta`, in proportion to nearness.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosift.features._opencv import opencv

__all__ = ["Flow", "boundaries", "cell_sums", "dense_flow", "integral", "oriented", "smoothed"]

Flow = NDArray[np.float32]
Field = NDArray[np.float32]


def dense_flow() -> Any:
    """An estimator of flow from one frame to the next, by dense inverse search.

    On noisy and compressed video its derivatives stand out of the background several times
    better than those of Farneback's polynomials, in a third of the time; see docs/features.md.
    """
    cv2 = opencv()
    return cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)


def smoothed(flow: Flow) -> Flow:
    """The median of each component over 3 x 3 pixels, which keeps motion boundaries sharp."""
    cv2 = opencv()
    medians = [cv2.medianBlur(component, 3) for component in cv2.split(flow)]
    return np.stack(medians, axis=-1)


def boundaries(flow: Flow) -> list[tuple[Field, Field]]:
    """Spatial derivatives of u, and those of v, by central differences.

    Beyond the border the flow continues as it is at the border.
    """
    cv2 = opencv()
    # Half of what the kernel (-1, 0, 1) gives.
    options = {"ksize": 1, "scale": 0.5, "borderType": cv2.BORDER_REPLICATE}
    fields = []
    for component in cv2.split(flow):
        along_x = cv2.Sobel(component, -1, 1, 0, **options)
        along_y = cv2.Sobel(component, -1, 0, 1, **options)
        fields.append((along_x, along_y))
    return fields


def oriented(field: tuple[Field, Field], n_bins: int) -> NDArray[np.float32]:
    """Magnitude by orientation.

    Parameters
    ----------
    field : pair of ndarray of shape (height, width)
        Both components of a vector field.
    n_bins : int
        Number B of orientations.

    Returns
    -------
    ndarray of shape (height, width, n_bins)
        The magnitude of each pixel, shared between two bins that lie next to each other.
    """
    magnitude, angle = opencv().cartToPolar(*field)
    place = angle * np.float32(n_bins / (2 * np.pi))
    lower = np.floor(place)
    upper_share = magnitude * (place - lower)
    # Rounding can bring an angle up to 2 pi itself.
    lower = lower.astype(np.intp) % n_bins
    shares = np.zeros((*magnitude.shape, n_bins), dtype=np.float32)
    flat = shares.reshape(-1, n_bins)
    pixel = np.arange(len(flat))
    flat[pixel, lower.ravel()] = (magnitude - upper_share).ravel()
    flat[pixel, (lower.ravel() + 1) % n_bins] += upper_share.ravel()
    return shares


def integral(shares: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sums over all pixels above and to the left of each corner, one row and column larger."""
    sums: NDArray[np.float64] = opencv().integral(shares, sdepth=opencv().CV_64F)
    return sums.reshape(*sums.shape[:2], -1)


def cell_sums(
    sums: NDArray[np.float64], points: NDArray[np.intp], patch: int, n_cells: int
) -> NDArray[np.float64]:
    """Sums over the cells of square patches.

    Parameters
    ----------
    sums : ndarray of shape (height + 1, width + 1, n_bins)
        As `integral` gives them.
    points : ndarray of shape (n_points, 2)
        Centres x, y of the patches; patches that would reach beyond the border are moved inside.
    patch : int
        Side of a patch, a multiple of ``n_cells`` and no larger than the frame.
    n_cells : int
        Cells along each side.

    Returns
    -------
    ndarray of shape (n_points, n_cells, n_cells, n_bins)
        By row of cells, column of cells, and bin.
    """
    height, width = sums.shape[0] - 1, sums.shape[1] - 1
    corner = np.clip(points - patch // 2, 0, [width - patch, height - patch])
    edges = np.arange(n_cells + 1) * (patch // n_cells)
    x, y = (corner[:, axis, None] + edges for axis in (0, 1))
    at_corners = sums[y[:, :, None], x[:, None, :]]
    return np.diff(np.diff(at_corners, axis=1), axis=2)
