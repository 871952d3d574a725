"""HumanEva: positions of joints in every frame, by subject, action and sequence."""

from __future__ import annotations

import re
from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosift.datasets._formats import read
from cosift.datasets._formats.arrays import load_npy, load_npz
from cosift.datasets._formats.table import TableError, listed
from cosift.datasets.dataset import Dataset
from cosift.features import JOINTS, SkeletonFeatures

__all__ = ["load_humaneva"]

# What a file of frames must hold, and what it may.
OF_FRAMES = ("subject", "action", "sequence")
NAMES = ("action_names", "sequence_names")
SPLIT = "is_validate"
# A subject's folder, and the number at the end of a sequence's name.
SUBJECT = "S[0-9]*"
NUMBER = re.compile(r"[ _-]*[0-9]+$")


def load_humaneva(
    path: str | PathLike[str],
    *,
    subjects: Collection[str] | None = None,
    features: Any = "skeleton",
) -> Dataset:
    """Read HumanEva: subjects as tasks, actions as classes, sequences as groups.

    Parameters
    ----------
    path : path
        One of two layouts, see docs/data.md:

        - a .npz file of frames, or a folder with no other: ``positions`` (frames, joints, 3),
          ``subject``, ``action`` and ``sequence`` of each frame as numbers, ``action_names`` and
          ``sequence_names``; frames with ``is_validate`` are the official test data;
        - a folder with one folder a subject (``S1``, ``S2``, ...) and in it one file a sequence,
          named by its action and number (``Walking_1.npy``, ``Jog_2.csv``), of positions: an array
          (frames, joints, 3), or a table with three columns (x, y, z) a joint.
    subjects : collection of str, optional
        Subjects to read, such as ``("S1", "S2")``; by default all. The paper takes two.
    features : {"skeleton", "positions"} or transformer, default="skeleton"
        "skeleton": coordinates about the root joint and the distances of all pairs of joints, by
        `cosift.features.SkeletonFeatures`, to which 15 joints are those of "humaneva" and others
        are numbered.  "positions": the coordinates as they are stored.  A transformer, such as
        ``SkeletonFeatures(names, root="pelvis")``, gets (frames, joints, 3).

    Returns
    -------
    Dataset
        One row a frame.

    Raises
    ------
    TableError
        If a file is missing, or does not hold what it should.
    """
    path = Path(path)
    frames = _read_folder(path) if path.is_dir() else _read_file(path)
    if subjects is not None:
        known = np.unique(frames.subject).tolist()
        if not subjects or not set(subjects) <= set(known):
            raise ValueError(f"subjects must be among {listed(known)}. Got {listed([*subjects])}.")
        frames = frames.where(np.isin(frames.subject, list(subjects)))
    X, names = _features(frames.positions, features)
    return Dataset(
        "humaneva",
        X,
        frames.action,
        tasks=frames.subject,
        groups=frames.sequence,
        official_test=frames.is_test,
        feature_names=names,
        provenance={
            "source": f"HumanEva, read from {path}",
            "features": f"{features} of {frames.positions.shape[1]} joints",
        },
    )


class Frames(NamedTuple):
    """Positions (n, joints, 3), and what is known of each frame."""

    positions: NDArray[Any]
    subject: NDArray[np.str_]
    action: NDArray[np.str_]
    sequence: NDArray[np.str_]
    is_test: NDArray[np.bool_] | None

    def where(self, kept: NDArray[np.bool_]) -> Frames:
        """Some of them."""
        positions, subject, action, sequence, is_test = self
        return Frames(
            *(positions[kept], subject[kept], action[kept], sequence[kept]),
            is_test=None if is_test is None else is_test[kept],
        )


def _read_file(path: Path) -> Frames:
    arrays = load_npz(path)
    needed = ("positions", *OF_FRAMES, *NAMES)
    if missing := [name for name in needed if name not in arrays]:
        raise TableError(
            f"{path}: expected the arrays {listed(needed)}. Found no {listed(missing)}."
        )
    positions = _joints(path, arrays["positions"])
    n = len(positions)
    for name in (*OF_FRAMES, SPLIT):
        values = arrays.get(name)
        if values is not None and (values.shape != (n,) or values.dtype.kind not in "biu"):
            raise TableError(
                f"{path}: {name!r} must hold a whole number for each of the {n} frames. "
                f"Found {values.dtype} of shape {values.shape}."
            )
    action, sequence = (
        _named(path, arrays[codes], codes, arrays[names])
        for codes, names in (("action", "action_names"), ("sequence", "sequence_names"))
    )
    subject = np.char.add("S", arrays["subject"].astype(str))
    is_test = arrays[SPLIT].astype(bool) if SPLIT in arrays else None
    return Frames(positions, subject, action, sequence, is_test)


def _named(path: Path, codes: NDArray[Any], what: str, names: NDArray[Any]) -> NDArray[np.str_]:
    if names.ndim != 1 or names.dtype.kind not in "SU":
        raise TableError(f"{path}: '{what}_names' must hold names. Found {names.dtype}.")
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(names):
        raise TableError(
            f"{path}: {what!r} must count the {len(names)} names from 0. "
            f"Found {codes.min()} to {codes.max()}."
        )
    found: NDArray[np.str_] = names.astype(str)[codes]
    return found


def _read_folder(path: Path) -> Frames:
    files = sorted(file for ending in ("npy", "csv") for file in path.glob(f"{SUBJECT}/*.{ending}"))
    if not files and len(of_frames := list(path.glob("*.npz"))) == 1:
        return _read_file(of_frames[0])
    if not files:
        raise TableError(
            f"{path}: expected a folder a subject (S1, S2, ...) with a file a sequence "
            "(Walking_1.npy, Jog_2.csv), or one .npz file of frames. Found no such file."
        )
    positions = [_read_sequence(file) for file in files]
    joints = positions[0].shape[1]
    for file, frames in zip(files, positions, strict=True):
        if frames.shape[1] != joints:
            raise TableError(
                f"{file}: expected {joints} joints, as in {files[0]}. Found {frames.shape[1]}."
            )
    lengths = [len(frames) for frames in positions]
    return Frames(
        np.concatenate(positions),
        np.repeat([file.parent.name for file in files], lengths),
        np.repeat([NUMBER.sub("", file.stem) for file in files], lengths),
        np.repeat([f"{file.parent.name} {file.stem}" for file in files], lengths),
        None,
    )


def _read_sequence(file: Path) -> NDArray[Any]:
    if file.suffix == ".npy":
        return _joints(file, load_npy(file))
    table = read(file, set(), set())
    assert table.names is not None
    if all(map(_is_number, table.names)):
        raise TableError(f"{file}: expected a line of names before the numbers. Found none.")
    return _joints(file, table.X)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _joints(path: Path, positions: NDArray[Any]) -> NDArray[Any]:
    """Positions as frames x joints x 3, all of them finite."""
    shape = positions.shape
    if positions.ndim == 2 and shape[1] % 3 == 0:
        positions = positions.reshape(len(positions), -1, 3)
    if positions.ndim != 3 or positions.shape[2] != 3 or positions.dtype.kind not in "iuf":
        raise TableError(
            f"{path}: positions must be frames x joints x 3, or have three columns (x, y, z) a "
            f"joint. Found {positions.dtype} of shape {shape}."
        )
    if 0 in positions.shape:
        raise TableError(f"{path}: expected frames and joints. Found shape {shape}.")
    lost = np.argwhere(~np.isfinite(positions).all(axis=2))
    if lost.size:
        frame, joint = lost[0]
        raise TableError(
            f"{path}: positions must be finite. Found joint {joint} lost in frame {frame}, "
            f"{len(lost)} such positions in all. Leave these frames out, or fill them in."
        )
    return positions


def _features(positions: NDArray[Any], features: Any) -> tuple[NDArray[Any], NDArray[np.str_]]:
    n, joints, _ = positions.shape
    is_known = joints == len(JOINTS["humaneva"])
    if features == "skeleton":
        features = SkeletonFeatures("humaneva" if is_known else None)
    elif features == "positions":
        names = JOINTS["humaneva"] if is_known else [f"joint{j}" for j in range(joints)]
        columns = [f"{axis}({name})" for name in names for axis in "xyz"]
        return positions.reshape(n, -1), np.array(columns)
    elif not hasattr(features, "fit_transform"):
        raise ValueError(
            f"features must be 'skeleton', 'positions' or a transformer. Got {features!r}."
        )
    X = features.fit_transform(positions)
    return X, features.get_feature_names_out().astype(str)
