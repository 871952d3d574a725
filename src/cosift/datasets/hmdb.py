"""HMDB51: clips, official splits and groups of actions, joined with features of the clips."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cosift.datasets._formats import read
from cosift.datasets._formats.table import Table, TableError, check_there, checked, listed
from cosift.datasets._groups import classes_of, task_of_class
from cosift.datasets._originals import HMDB
from cosift.datasets._text import check_folder, read_lines
from cosift.datasets.dataset import Dataset

__all__ = ["Clip", "hmdb_clips", "load_hmdb"]

SPLITS = (1, 2, 3)
# What the official lists write beside a clip.
SIDES = {"0": "unused", "1": "train", "2": "test"}
# The end of a clip's name: visible body parts, camera motion, people, view, quality, number.
TAGS = re.compile(r"_[a-z]+_(cm|nm)_np\d+_[a-z]+_(bad|med|goo)_\d+$")
# The column of a feature table that names the clips, and others that `cosift features` writes.
FILE = "file"
BESIDE = {"class", "folder"}


class Clip(NamedTuple):
    """One clip of HMDB51.

    Attributes
    ----------
    file : Path
        Where the clip lies, if the videos are beside the lists.
    label : str
        Its action, one of 51.
    task : str
        The group of its action.
    source : str
        The film it was cut from: clips of one film resemble each other.
    sides : tuple of str
        "train", "test" or "unused" in each of the three official splits.
    """

    file: Path
    label: str
    task: str
    source: str
    sides: tuple[str, ...]


def hmdb_clips(
    folder: str | PathLike[str], *, groups: Mapping[str, Sequence[str]] | None = None
) -> list[Clip]:
    """List the clips of the official splits.

    Parameters
    ----------
    folder : path
        Where the lists ``<action>_test_split<1, 2, 3>.txt`` are, usually in a folder
        ``testTrainMulti_7030_splits``; and, one folder an action, the clips.
    groups : mapping of str to sequence of str, optional
        The actions of each task, by default the five groups of the authors, see docs/data.md.
        Actions that are not mentioned are left out.

    Returns
    -------
    list of Clip
        In the order of the groups, then of the actions, then of the lists.

    Raises
    ------
    TableError
        If a list is missing or cannot be read.
    """
    folder = Path(folder)
    official = classes_of(HMDB)
    actions = {name for members in official.values() for name in members}
    task_of = task_of_class(official if groups is None else groups, actions)
    lists = _lists_folder(folder)
    videos = {path.name: path for path in folder.glob("**/") if path.name in task_of}
    clips = []
    for label, task in task_of.items():
        sides = [_read_list(lists / f"{label}_test_split{number}.txt") for number in SPLITS]
        for name in dict.fromkeys(chain(*sides)):
            if missing := [k for k, side in zip(SPLITS, sides, strict=True) if name not in side]:
                raise TableError(
                    f"{lists / f'{label}_test_split{missing[0]}.txt'}: expected the clips of all "
                    f"three lists of {label!r}. Found no {name!r}."
                )
            file = videos.get(label, folder / label) / name
            source = TAGS.sub("", Path(name).stem).removesuffix(f"_{label}")
            clips.append(Clip(file, label, task, source, tuple(side[name] for side in sides)))
    return clips


def load_hmdb(
    folder: str | PathLike[str],
    *,
    features: str | PathLike[str] | None = None,
    split: int | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Dataset:
    """Join features of the clips of HMDB51 with their actions, groups and official splits.

    Parameters
    ----------
    folder : path
        Where the official lists are, see `hmdb_clips`.
    features : path, optional
        A table of one row a clip, in any format of `read_table`, with the clip's file in a column
        called "file"; as ``cosift features mbh`` writes it.  By default the only table called
        ``mbh`` in the folder.
    split : {1, 2, 3}, optional
        An official split: its clips alone, 70 to train and 30 to test of each action. Without it
        all clips of the lists, without a split.
    groups : mapping of str to sequence of str, optional
        The actions of each task, by default the five groups of the authors.

    Returns
    -------
    Dataset
        ``tasks`` are the groups, ``y`` the actions, ``groups`` the films that clips were cut from.

    Raises
    ------
    TableError
        If lists or features cannot be read or have no clip in common.
    """
    if split is not None and split not in SPLITS:
        raise ValueError(f"split must be 1, 2, 3 or None. Got {split!r}.")
    folder = Path(folder)
    clips = hmdb_clips(folder, groups=groups)
    path = _features_file(folder) if features is None else Path(features)
    table, row_of = _features(path)
    listed_clips = len(clips)
    clips = [clip for clip in clips if clip.file.stem in row_of]
    if not clips:
        raise TableError(
            f"{path}: expected the clips of {folder}. Found none of them, but "
            f"{listed(list(row_of))}."
        )
    described = len(clips)
    if split is not None:
        clips = [clip for clip in clips if clip.sides[split - 1] != "unused"]
    side = None if split is None else np.array([clip.sides[split - 1] for clip in clips])
    return Dataset(
        "hmdb",
        table.X[[row_of[clip.file.stem] for clip in clips]],
        np.array([clip.label for clip in clips]),
        tasks=np.array([clip.task for clip in clips]),
        groups=np.array([clip.source for clip in clips]),
        official_test=None if side is None else side == "test",
        feature_names=None if table.names is None else np.array(table.names),
        provenance={
            "source": f"HMDB51, read from {folder}",
            "features": str(path),
            "split": "none" if split is None else f"official split {split}",
            "left out": f"{listed_clips - described} clips without features",
        },
    )


def _lists_folder(folder: Path) -> Path:
    check_folder(folder)
    found = sorted({path.parent for path in folder.rglob("*_test_split1.txt")})
    if len(found) != 1:
        raise TableError(
            f"{folder}: expected one folder of lists <action>_test_split1.txt, such as "
            f"testTrainMulti_7030_splits. Found {len(found)}."
        )
    return found[0]


def _read_list(path: Path) -> dict[str, str]:
    """The side of each clip."""
    side_of = {}
    for number, line in enumerate(read_lines(path), 1):
        name, _, side = line.rpartition(" ")
        if not name or side not in SIDES:
            raise TableError(
                f"{path}, line {number}: expected a clip and 0, 1 or 2. Found {line[:60]!r}."
            )
        if name.strip() in side_of:
            raise TableError(f"{path}, line {number}: expected a clip once. Found {name!r} again.")
        side_of[name.strip()] = SIDES[side]
    return side_of


def _features_file(folder: Path) -> Path:
    found = sorted(folder.glob("mbh.*"))
    if len(found) != 1:
        raise TableError(
            f"{folder}: expected one table mbh.* of features, as `cosift features mbh` writes it. "
            f"Found {len(found)}; say which by features."
        )
    return found[0]


def _features(path: Path) -> tuple[Table, dict[str, int]]:
    """A table of features, and the row of each clip by its name without ending."""
    table = checked(path, read(path, {FILE}, BESIDE))
    check_there(path, [FILE], [*table.columns, *(table.names or ())])
    names = [Path(str(name)).stem for name in table.columns[FILE].tolist()]
    row_of = {name: row for row, name in enumerate(names)}
    if len(row_of) < len(names):
        twice = next(name for row, name in enumerate(names) if row_of[name] != row)
        raise TableError(f"{path}: expected one row for each clip. Found {twice!r} twice.")
    return table, row_of
