"""NUS-WIDE as its authors distribute it."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from cosift.datasets._formats.table import TableError
from cosift.datasets._originals import NUSWIDE
from cosift.datasets._text import (
    check_folder,
    count_lines,
    expected_file,
    read_zeros_and_ones,
    stack_numbers,
)
from cosift.datasets.dataset import Dataset

__all__ = ["load_nuswide"]

WORDS = 500


def load_nuswide(
    folder: str | PathLike[str],
    *,
    concepts: Sequence[str] | None = None,
    memory_map: str | PathLike[str] | None = None,
) -> Dataset:
    """Read NUS-WIDE: bags of 500 words, 81 concepts as tasks over the same images.

    Files may lie anywhere below ``folder``:

    - ``BoW_Train_int.dat``, ``BoW_Test_int.dat`` with ``Labels_<concept>_Train.txt`` and
      ``Labels_<concept>_Test.txt`` of ``Groundtruth/TrainTestLabels``, which give an official
      split; or, if there are none,
    - ``BoW_int.dat`` with ``Labels_<concept>.txt`` of ``Groundtruth/AllLabels``: the same images in
      another order, without a split.

    Parameters
    ----------
    folder : path
        Where the archives were unpacked.
    concepts : sequence of str, optional
        Concepts to read, by default all 81.
    memory_map : path, optional
        A .npy file to write X to and map, so that it need not fit into memory.  Without it X is
        held as single precision numbers, sparse if most of it is zeros.

    Returns
    -------
    Dataset
        One 0/1 column of y for each concept.

    Raises
    ------
    TableError
        If a file is missing or does not have the rows and columns that it should.
    """
    folder = Path(folder)
    check_folder(folder)
    known = NUSWIDE.split()
    names = tuple(known if concepts is None else concepts)
    if not names or not set(names) <= set(known) or len(set(names)) < len(names):
        raise ValueError(
            f"concepts must be different ones among {', '.join(known)}. Got {concepts!r}."
        )
    what = f"{WORDS} counts a line"
    has_split = any(folder.rglob("BoW_Train_int.dat")) or not any(folder.rglob("BoW_int.dat"))
    sides = ("_Train", "_Test") if has_split else ("",)
    labels = _labels_folder(folder, "TrainTestLabels" if has_split else "AllLabels")
    bags = [expected_file(folder, f"BoW{side}_int.dat", what) for side in sides]
    parts, Y = [], []
    for side, bag in zip(sides, bags, strict=True):
        files = [
            expected_file(labels, f"Labels_{name}{side}.txt", "0 or 1 a line") for name in names
        ]
        rows = count_lines(files[0])
        columns = [read_zeros_and_ones(file, 1, rows, files[0].name) for file in files]
        Y.append(np.hstack(columns))
        parts.append((bag, rows, files[0].name))
    sizes = [rows for _, rows, _ in parts]
    X = stack_numbers(parts, WORDS, dtype=np.float32, memory_map=memory_map)
    return Dataset(
        "nuswide",
        X,
        np.vstack(Y),
        official_test=np.repeat([False, True], sizes) if has_split else None,
        feature_names=np.array([f"word{j:04d}" for j in range(WORDS)]),
        target_names=names,
        provenance={
            "source": f"NUS-WIDE, read from {folder}",
            "files": ", ".join(bag.name for bag in bags),
        },
    )


def _labels_folder(folder: Path, name: str) -> Path:
    found = [path for path in sorted(folder.rglob(f"{name}*")) if path.is_dir()]
    if len(found) != 1:
        raise TableError(
            f"{folder}: expected one folder Groundtruth/{name} of labels. Found {len(found)}."
        )
    return found[0]
