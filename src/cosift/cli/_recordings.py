"""Folders of recordings -> descriptors of each file -> one table of histograms."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cosift.cli._common import Output, UsageError, plain
from cosift.datasets._formats.arrays import load_npy, load_npz
from cosift.datasets._formats.table import TableError
from cosift.features._opencv import opencv

__all__ = [
    "Recording",
    "Skipped",
    "check_classes",
    "describe",
    "find",
    "followed",
    "read_descriptors",
    "where",
    "without_ending",
]

T = TypeVar("T")
Descriptors = NDArray[Any]

# Seconds between lines of progress where no bar can be drawn.
PAUSE = 15.0
# What a folder of descriptors was made with.
SETTINGS = "settings.json"


class Recording(NamedTuple):
    """A file among others in a folder, and its path from there."""

    name: str
    path: Path


@dataclass
class Skipped:
    """Files that could not be read, and why."""

    out: Output
    reasons: dict[str, str] = field(default_factory=dict)

    def add(self, recording: Recording, reason: object) -> None:
        """Say so at once, and remember."""
        text = str(reason).removeprefix(f"{recording.path}: ")
        self.reasons[recording.name] = text
        self.out.note(f"Skipped {recording.name}: {text}", style="yellow")

    def rows(self) -> list[dict[str, str]]:
        """Names and reasons, for programs."""
        return [{"file": name, "reason": reason} for name, reason in self.reasons.items()]

    def conclude(self, total: int) -> None:
        """List them once more, at the end, whether notes are wanted or not."""
        if self.reasons:
            lines = [f"{len(self.reasons)} of {total} files could not be read:"]
            lines += [f"  {name}: {reason}" for name, reason in self.reasons.items()]
            self.out.progress.print(plain("\n".join(lines)), style="yellow", soft_wrap=True)


def find(folder: Path, endings: Sequence[str]) -> list[Recording]:
    """Files in a folder and below that end in one of the endings, in order of their paths."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: expected a folder. Found {_what(folder)}.")
    found = [
        Recording(path.relative_to(folder).as_posix(), path)
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in endings and path.is_file() and not path.name.startswith(".")
    ]
    if not found:
        raise UsageError(f"{folder}: expected files that end in {', '.join(endings)}. Found none.")
    return found


def without_ending(descriptors: Recording) -> Recording:
    """A file of descriptors under the name of what it describes, as `describe` names it."""
    name = descriptors.name.removesuffix(".npy")
    return Recording(name if Path(name).suffix else descriptors.name, descriptors.path)


def _what(path: Path) -> str:
    return "a file" if path.exists() else "nothing"


def check_classes(recordings: Sequence[Recording]) -> None:
    """Refuse files beside folders of files, before anything is computed: they have no class."""
    loose = [name for name, _ in recordings if "/" not in name]
    if loose and len(loose) < len(recordings):
        inside = next(name for name, _ in recordings if "/" in name)
        raise UsageError(
            "Either all files or none must lie in folders, which name their classes. Found "
            f"{loose[0]} beside {inside}."
        )


def where(names: Sequence[str]) -> dict[str, list[str]]:
    """Columns that say where files were: the folder each is in, and the one that this is in."""
    parents = [Path(name).parent for name in names]
    columns = {"file": list(names)}
    deepest = max(len(parent.parts) for parent in parents)
    if deepest > 0:
        columns["class"] = [parent.name for parent in parents]
    if deepest > 1:
        columns["folder"] = [parent.parent.as_posix() for parent in parents]
    return columns


def followed(out: Output, steps: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Steps, with a progress bar, or a line now and then where none can be drawn."""
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=out.progress,
        transient=True,
        disable=not out.draws,
    )
    told = time.monotonic()
    with bar:
        for done, step in enumerate(bar.track(steps, total=total), 1):
            yield step
            if not out.draws and time.monotonic() - told >= PAUSE:
                told = time.monotonic()
                out.note(f"{what}: {done} of {total}")


def describe(
    recordings: Sequence[Recording],
    function: Callable[[Path], Descriptors],
    folder: Path,
    settings: dict[str, Any],
    workers: int | None,
    skipped: Skipped,
) -> list[Recording]:
    """Keep the descriptors of every file in a folder, which may hold some of them already.

    Returns
    -------
    list of Recording
        The files of descriptors, under the names of what they describe.
    """
    # Missing libraries are nothing that files could be skipped for.
    opencv()
    _check_settings(folder, settings)
    targets = [folder / f"{recording.name}.npy" for recording in recordings]
    old = sum(target.exists() for target in targets)
    if old:
        skipped.out.note(f"{old} of {len(targets)} files are described already.")
    workers = min(workers or len(os.sched_getaffinity(0)), max(1, len(targets) - old))
    reasons = Parallel(n_jobs=workers, return_as="generator")(
        delayed(_describe_one)(function, recording.path, target)
        for recording, target in zip(recordings, targets, strict=True)
    )
    described = []
    steps = followed(skipped.out, reasons, len(recordings), "Describing files")
    for recording, target, reason in zip(recordings, targets, steps, strict=True):
        if reason is None:
            described.append(Recording(recording.name, target))
        else:
            skipped.add(recording, reason)
    return described


def _describe_one(
    function: Callable[[Path], Descriptors], source: Path, target: Path
) -> str | None:
    """Describe a file, unless that is done; the reason if it cannot be done."""
    if target.exists():
        return None
    # Files are shared out among processes already.
    opencv().setNumThreads(1)
    try:
        rows = function(source)
    except Exception as error:
        return str(error) or type(error).__name__
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with part.open("wb") as file:
        # Half precision is finer than flow, and holds the whole numbers of SIFT as they are.
        np.save(file, rows.astype(np.float16))
    part.replace(target)
    return None


def _check_settings(folder: Path, settings: dict[str, Any]) -> None:
    """A folder must not mix what was made in different ways."""
    file = folder / SETTINGS
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(json.dumps(settings))
        return
    try:
        before = json.loads(file.read_text())
    except ValueError:
        before = None
    if before != settings:
        raise UsageError(
            f"{folder} holds descriptors that were made with {before}. Now it would be {settings}: "
            "choose the same settings or another folder."
        )


def read_descriptors(path: Path) -> Descriptors:
    """One item's descriptors: an array, or the only matrix among several."""
    if path.suffix.lower() == ".npz":
        arrays = load_npz(path)
        matrices = [name for name, array in arrays.items() if array.ndim == 2]
        if len(matrices) != 1:
            raise TableError(f"{path}: expected one matrix. Found {len(matrices)}.")
        rows = arrays[matrices[0]]
    else:
        rows = load_npy(path)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise TableError(
            f"{path}: expected a matrix of numbers, one descriptor a row. Found {rows.dtype} of "
            f"shape {rows.shape}."
        )
    if rows.dtype == np.float16:
        rows = rows.astype(np.float32)
    if not np.isfinite(rows).all():
        raise TableError(f"{path}: descriptors must be finite. Found NaN or infinity.")
    return rows
