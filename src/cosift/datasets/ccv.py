"""CCV as its authors distribute it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cosift.datasets._formats.table import TableError, listed
from cosift.datasets._groups import classes_of, task_of_class
from cosift.datasets._originals import CCV
from cosift.datasets._text import expected_file, read_lines, read_zeros_and_ones, stack_numbers
from cosift.datasets.dataset import Dataset

__all__ = ["load_ccv"]

# Number of words of each of the authors' bags.
WORDS = {"STIP": 5000, "SIFT": 5000, "MFCC": 4000}
SIDES = ("train", "test")


def load_ccv(
    folder: str | PathLike[str],
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    features: str | Sequence[str] = "STIP",
) -> Dataset:
    """Read the Columbia Consumer Videos: bags of words, 20 categories, an official split.

    The paper makes three classification tasks of the categories: events, scenes and objects.  In
    its formulas a task has samples of its own, each in one of the task's classes, so that is what
    a task is here: ``y`` is the category of a video and ``tasks`` the group of that category.
    Videos with no category (1,996 of 9,317) or with several (548) belong to no one class of one
    task and are left out.

    Parameters
    ----------
    folder : path
        Where ``trainLabel.txt``, ``testLabel.txt``, ``trainVidID.txt``, ``testVidID.txt`` and the
        files of features ``STIP-trainFeature*``, ``STIP-testFeature*`` are.
    groups : mapping of str to sequence of str, optional
        The categories of each task, by default those of the paper, see docs/data.md.  Categories
        that are not mentioned are as if they did not exist.
    features : {"STIP", "SIFT", "MFCC"} or sequence of these, default="STIP"
        The authors' bags of words; several stand side by side. The paper uses STIP.

    Returns
    -------
    Dataset
        With ``official_test``. X is a csr_array if most of it is zeros.

    Raises
    ------
    TableError
        If a file is missing or does not have the rows and columns that it should.
    """
    folder = Path(folder)
    kinds = (features,) if isinstance(features, str) else tuple(features)
    if not kinds or not set(kinds) <= set(WORDS):
        raise ValueError(f"features must be among {', '.join(map(repr, WORDS))}. Got {features!r}.")
    categories = _categories(folder)
    task_of = task_of_class(classes_of(CCV) if groups is None else groups, categories)
    ids = [expected_file(folder, f"{side}VidID.txt", "a video's id a line") for side in SIDES]
    sizes = _different_videos(ids)
    Y = np.concatenate(
        [
            read_zeros_and_ones(
                expected_file(folder, f"{side}Label.txt", "0 or 1 for each category"),
                len(categories),
                size,
                path.name,
            )
            for side, size, path in zip(SIDES, sizes, ids, strict=True)
        ]
    )
    Y[:, [name not in task_of for name in categories]] = 0
    kept = Y.sum(axis=1) == 1
    if not kept.any():
        raise TableError(f"{folder}: expected videos of one category. Found none.")
    bags = []
    for kind in kinds:
        files = [
            expected_file(folder, f"{kind}-{side}Feature*", f"{WORDS[kind]} numbers a line")
            for side in SIDES
        ]
        parts = [(f, size, path.name) for f, size, path in zip(files, sizes, ids, strict=True)]
        bags.append(stack_numbers(parts, WORDS[kind])[kept])
    y = np.array(categories)[Y[kept].argmax(axis=1)]
    any_sparse = any(map(sp.issparse, bags))
    return Dataset(
        "ccv",
        sp.csr_array(sp.hstack(bags)) if any_sparse else np.hstack(bags),
        y,
        tasks=np.array([task_of[name] for name in y]),
        official_test=np.repeat([False, True], sizes)[kept],
        feature_names=np.array([f"{kind}{j:04d}" for kind in kinds for j in range(WORDS[kind])]),
        provenance={
            "source": f"Columbia Consumer Videos, read from {folder}",
            "features": ", ".join(kinds),
            "left out": f"{(Y.sum(axis=1) == 0).sum()} videos of no category and "
            f"{(Y.sum(axis=1) > 1).sum()} of several",
        },
    )


def _categories(folder: Path) -> list[str]:
    """The names of all categories, in the order of the columns of labels."""
    path = expected_file(folder, "categoryName.txt", "a name a line")
    names = read_lines(path)
    official = {name for members in classes_of(CCV).values() for name in members}
    if len(names) != len(official) or set(names) != official:
        strange = [*sorted(official - set(names)), *sorted(set(names) - official)]
        raise TableError(
            f"{path}: expected the {len(official)} categories of CCV, each once. Found "
            f"{len(names)} lines; they differ in {listed(strange)}."
        )
    return names


def _different_videos(ids: list[Path]) -> list[int]:
    """How many videos each of these files names; no video twice."""
    videos = [read_lines(path) for path in ids]
    seen: set[str] = set()
    for path, names in zip(ids, videos, strict=True):
        for number, name in enumerate(names, 1):
            if name in seen:
                raise TableError(
                    f"{path}, line {number}: expected a video that no line before names, here or "
                    f"in {ids[0].name}. Found {name!r}."
                )
            seen.add(name)
    return [len(names) for names in videos]
