"""OpenCV, imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["opencv"]


def opencv() -> Any:
    """Import OpenCV, or say how to get it."""
    try:
        return import_module("cv2")
    except ImportError as error:
        raise ImportError(
            "Images and videos need OpenCV, which is not installed: pip install 'cosift[video]'."
        ) from error
