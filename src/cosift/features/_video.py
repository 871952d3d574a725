"""Frames of a video file, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cosift.features._opencv import opencv

__all__ = ["Frame", "grey_frames"]

Frame = NDArray[np.uint8]

# Files state how many frames they hold, some of them by dividing duration by rate: a file that
# yields less than this share has lost its end.
WHOLE = 0.9


def grey_frames(path: str | PathLike[str]) -> Iterator[Frame]:
    """Frames in grey, never more than one of them in memory.

    Parameters
    ----------
    path : path
        A video in any format that OpenCV reads.

    Yields
    ------
    ndarray of uint8, shape (height, width)
        One frame.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If it is no video, or ends early; the latter after its frames.
    """
    cv2 = opencv()
    # Absolute, for OpenCV takes names such as http://... for more than names.
    file = Path(path).resolve(strict=True)
    video = cv2.VideoCapture(str(file), cv2.CAP_FFMPEG)
    try:
        if not video.isOpened():
            raise ValueError(f"{path}: expected a video. Found none that OpenCV can read.")
        promised = video.get(cv2.CAP_PROP_FRAME_COUNT)
        found = 0
        while True:
            there, frame = video.read()
            if not there:
                break
            found += 1
            yield cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
        if found < WHOLE * promised or not found:
            raise ValueError(
                f"{path}: expected {promised:.0f} frames, as the file says. Found {found}; it "
                "seems to be cut off or broken."
            )
    finally:
        video.release()
