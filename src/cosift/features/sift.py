"""SIFT descriptors of an image."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosift.features._opencv import opencv

__all__ = ["sift_descriptors"]

WIDTH = 128


def sift_descriptors(
    path: str | PathLike[str], *, longest_edge: int | None = None
) -> NDArray[np.float32]:
    """Scale-invariant descriptors of an image, by OpenCV.

    Parameters
    ----------
    path : path
        An image in any format that OpenCV reads; colours become grey.
    longest_edge : int, optional
        Shrink an image whose width or height exceeds this number of pixels.

    Returns
    -------
    ndarray of shape (n_keypoints, 128)
        One row a keypoint: 16 cells of 8 orientations, from 0 to 255. An image without keypoints
        gives none.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is no image, or a broken one.
    ImportError
        If OpenCV is not installed.

    Examples
    --------
    >>> import cv2, pathlib, tempfile
    >>> image = cv2.circle(np.zeros((64, 64), np.uint8), (30, 33), 8, 255, thickness=-1)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "disc.png"
    >>> _ = file.write_bytes(cv2.imencode(".png", image)[1])
    >>> descriptors = sift_descriptors(file)
    >>> len(descriptors) > 0, descriptors.shape[1]
    (True, 128)
    """
    cv2 = opencv()
    content = np.frombuffer(Path(path).read_bytes(), dtype=np.uint8)
    image = cv2.imdecode(content, cv2.IMREAD_GRAYSCALE) if content.size else None
    if image is None:
        raise ValueError(f"{path}: expected a whole image. Found none that OpenCV can read.")
    scale = 1.0 if longest_edge is None else longest_edge / max(image.shape)
    if scale < 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    _, descriptors = cv2.SIFT_create().detectAndCompute(image, None)
    return np.empty((0, WIDTH), np.float32) if descriptors is None else descriptors
