"""Files of joint positions, with what they say of each frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosift.cli._recordings import Recording, Skipped, followed
from cosift.datasets._formats import read
from cosift.datasets._formats.arrays import load_npy, load_npz
from cosift.datasets._formats.table import TableError, listed
from cosift.features import JOINTS

__all__ = ["TABLES", "Motion", "join", "names_and_root", "read_motion", "read_motions"]

TABLES = (".csv", ".tsv", ".parquet", ".feather", ".arrow")
# Names of arrays of positions, in this order; without them it is the only array of rank 3.
POSITIONS = ("positions", "frames", "joints", "X")
# An array of numbers may have another of the names they stand for.
NAMES = "_names"
# Where sequences begin in the frames, and where the last one ends.
OFFSETS = "offsets"
# Columns such as head_x, head.x, "head x", headX, and such as x(head).
COORDINATE = re.compile(r"(?P<joint>.+?)[ ._-]?(?P<axis>[xyzXYZ])|(?P<first>[xyz])\((?P<of>.+)\)")


@dataclass
class Motion:
    """Positions of joints in some frames.

    Attributes
    ----------
    positions : ndarray of shape (n_frames, n_joints, 3)
        Where joints are; NaN where they are lost.
    columns : dict of str to ndarray of shape (n_frames,)
        What else is known of each frame.
    joints : tuple of str, optional
        Their names.
    """

    positions: NDArray[Any]
    columns: dict[str, NDArray[Any]]
    joints: tuple[str, ...] | None = None

    def tracked(self) -> tuple[Motion, int]:
        """Frames in which every joint was found, and the number of others.

        Where all joints are in one place, none was found.
        """
        positions = self.positions
        found = np.isfinite(positions).all(axis=(1, 2))
        if positions.shape[1] > 1:
            found &= (positions != positions[:, :1]).any(axis=(1, 2))
        if not found.any():
            raise ValueError(f"Joints are lost in every one of {len(found)} frames.")
        columns = {name: values[found] for name, values in self.columns.items()}
        return Motion(positions[found], columns, self.joints), int((~found).sum())


def read_motions(
    files: Sequence[Recording], kept: Sequence[str], skipped: Skipped
) -> dict[str, Motion]:
    """Read files that have the same joints; skip others, and those that cannot be read."""
    motions: dict[str, Motion] = {}
    for name, path in followed(skipped.out, files, len(files), "Reading files"):
        try:
            motion = read_motion(path, kept)
            for first in list(motions.values())[:1]:
                _check_same_joints(path, first, motion)
            motions[name] = motion
        except (ValueError, OSError) as error:
            skipped.add(Recording(name, path), error)
    return motions


def _check_same_joints(path: Path, first: Motion, motion: Motion) -> None:
    wanted, found = first.positions.shape[1], motion.positions.shape[1]
    if wanted != found or first.joints != motion.joints:
        raise TableError(
            f"{path}: expected the {wanted} joints of the files before. Found {found}"
            + (" with other names." if wanted == found else ".")
        )


def read_motion(path: Path, kept: Sequence[str]) -> Motion:
    """Read positions from an array, from arrays, or from a table.

    Parameters
    ----------
    path : Path
        .npy or .npz with frames x joints x 3 or more, of which the first three are taken; or a
        table with three columns a joint.
    kept : sequence of str
        Columns of a table that are not coordinates.
    """
    ending = path.suffix.lower()
    if ending == ".npz":
        return _from_arrays(path, load_npz(path))
    if ending == ".npy":
        return Motion(_positions(path, load_npy(path)), {})
    return _from_table(path, kept)


def _from_table(path: Path, kept: Sequence[str]) -> Motion:
    table = read(path, set(kept), set())
    lost = [name for name in kept if name not in table.columns]
    if lost:
        raise TableError(f"{path}: no column {lost[0]!r} to keep beside the features.")
    return Motion(_positions(path, table.X), table.columns, _joints(table.names or []))


def _from_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> Motion:
    stacks = [name for name, array in arrays.items() if array.ndim == 3]
    chosen = [name for name in POSITIONS if name in stacks][:1] or stacks
    if len(chosen) != 1:
        shapes = [f"{name} {array.shape}" for name, array in arrays.items()]
        raise TableError(
            f"{path}: expected one array of frames x joints x 3, called {', '.join(POSITIONS)} or "
            f"else the only one of this rank. Found {listed(shapes)}."
        )
    positions = _positions(path, arrays[chosen[0]])
    lengths = _lengths(path, arrays.get(OFFSETS), len(positions))
    columns = {}
    for name, array in arrays.items():
        if name.endswith(NAMES):
            continue
        values = _named(path, array, name, arrays.get(name + NAMES))
        if values.shape == (len(positions),):
            columns[name] = values
        elif values.shape == lengths.shape:
            columns[name] = np.repeat(values, lengths)
    if len(lengths):
        columns.setdefault("sequence", np.repeat(np.arange(len(lengths)), lengths))
    joints = arrays.get("joint_names")
    return Motion(positions, columns, None if joints is None else tuple(map(str, joints)))


def _lengths(path: Path, offsets: NDArray[Any] | None, n: int) -> NDArray[np.intp]:
    """Frames of each sequence; none if the file knows none."""
    if offsets is None:
        return np.empty(0, dtype=np.intp)
    if offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets) > 1:
        bounds = offsets.astype(np.intp)
        lengths: NDArray[np.intp] = bounds[1:] - bounds[:-1]
        if offsets[0] == 0 and offsets[-1] == n and (lengths >= 0).all():
            return lengths
    raise TableError(f"{path}: 'offsets' must rise from 0 to the number of frames, {n}.")


def _named(path: Path, values: NDArray[Any], what: str, names: NDArray[Any] | None) -> NDArray[Any]:
    """Names instead of numbers, where the file has them."""
    if names is None or values.dtype.kind not in "iu":
        return values
    if values.size and not 0 <= values.min() <= values.max() < len(names):
        raise TableError(
            f"{path}: {what!r} must count the {len(names)} names of '{what}{NAMES}' from 0. Found "
            f"{values.min()} to {values.max()}."
        )
    return np.asarray(names[values])


def _positions(path: Path, array: NDArray[Any]) -> NDArray[Any]:
    shape = array.shape
    if array.ndim == 2 and shape[1] % 3 == 0:
        array = array.reshape(len(array), -1, 3)
    if array.ndim != 3 or array.shape[2] < 3 or array.dtype.kind not in "iuf":
        raise TableError(
            f"{path}: positions must be frames x joints x 3, or have three columns (x, y, z) a "
            f"joint and none beside them. Found {array.dtype} of shape {shape}."
        )
    if 0 in array.shape:
        raise TableError(f"{path}: expected frames and joints. Found shape {shape}.")
    return array[:, :, :3]


def _joints(columns: Sequence[str]) -> tuple[str, ...] | None:
    """Names of joints from those of columns, if each is the x, y and z of one in this order."""
    joints, axes = [], ""
    for column in columns:
        match = COORDINATE.fullmatch(column)
        if match is None:
            return None
        joints.append(match["joint"] or match["of"])
        axes += (match["axis"] or match["first"]).lower()
    names = joints[::3]
    in_order = axes == "xyz" * len(names) and joints == [name for name in names for _ in range(3)]
    return tuple(names) if in_order else None


def join(motions: Mapping[str, Motion]) -> Motion:
    """Frames of several files, with the columns that all of them have, and where they were."""
    parts = list(motions.values())
    shared = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in shared}
    lengths = [len(part.positions) for part in parts]
    columns["file"] = np.repeat(list(motions), lengths)
    if any("/" in name for name in motions):
        columns["folder"] = np.repeat([name.rpartition("/")[0] for name in motions], lengths)
    positions = np.concatenate([part.positions for part in parts])
    return Motion(positions, columns, parts[0].joints)


def names_and_root(
    joints: str | None, root: str | None, motion: Motion
) -> tuple[Sequence[str] | str, int | str]:
    """The joints as the user names them, or else the file, and the one in the middle."""
    names: Sequence[str] = motion.joints or [f"joint{j}" for j in range(motion.positions.shape[1])]
    if joints in JOINTS:
        names = JOINTS[joints]
    elif joints is not None and "," in joints:
        names = [name.strip() for name in joints.split(",")]
    elif joints is not None:
        # Not a name that is known; the transformer says which are.
        return joints, 0
    if root is None:
        return names, "pelvis" if "pelvis" in names else 0
    return names, int(root) if root.isdecimal() else root
