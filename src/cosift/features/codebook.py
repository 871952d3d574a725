"""Codebooks as files: plain arrays, never pickles."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cosift.features.bag_of_words import BagOfWords

__all__ = ["load_codebook", "save_codebook"]


def save_codebook(path: str | PathLike[str], bag: BagOfWords) -> None:
    """Write the words of a fitted `BagOfWords` to a .npz file.

    Parameters
    ----------
    path : path
        Where to.
    bag : BagOfWords
        Whose ``codebook_`` and ``bandwidth_`` are kept; assignment and norm are not, for they may
        be chosen anew.
    """
    with Path(path).open("wb") as file:
        np.savez(file, words=bag.codebook_, bandwidth=bag.bandwidth_)


def load_codebook(path: str | PathLike[str], **settings: Any) -> BagOfWords:
    """Read words that `save_codebook` wrote.

    Parameters
    ----------
    path : path
        Where from.
    **settings
        Parameters of `BagOfWords` other than ``n_words``. A bandwidth given here counts instead of
        the one in the file.

    Returns
    -------
    BagOfWords
        Ready to transform.

    Raises
    ------
    TableError
        A ValueError that says why the file is no codebook.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "words.npz"
    >>> bag = BagOfWords(2, random_state=0).fit([[[0.0], [1.0], [8.0]]])
    >>> save_codebook(file, bag)
    >>> np.sort(load_codebook(file, norm=None).transform([[[0.4], [7.0], [9.0]]]))
    array([[1., 2.]])
    """
    # These modules import this package.
    from cosift.datasets._formats.arrays import load_npz
    from cosift.datasets._formats.table import TableError, listed

    arrays = load_npz(Path(path))
    words, bandwidth = arrays.get("words"), arrays.get("bandwidth")
    if words is None or bandwidth is None or words.ndim != 2 or bandwidth.shape != ():
        shapes = [f"{name} {array.shape}" for name, array in arrays.items()]
        raise TableError(
            f"{path}: expected a matrix 'words' and a number 'bandwidth'. Found {listed(shapes)}."
        )
    if not all(array.dtype.kind == "f" and np.isfinite(array).all() for array in arrays.values()):
        raise TableError(f"{path}: words and bandwidth must be finite floating point numbers.")
    if words.dtype not in (np.float32, np.float64):
        words = words.astype(np.float64)
    bag = BagOfWords(len(words), **settings)
    bag._use(words, float(bandwidth))
    return bag
