"""Descriptors of files -> words -> a histogram of each file; and tables of any features."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import typer
from numpy.lib import format as npy
from numpy.typing import NDArray
from sklearn.utils.validation import _is_fitted

from cosift.cli._common import FAILED, UsageError
from cosift.cli._files import write_table
from cosift.cli._recordings import Recording, Skipped, followed, read_descriptors, where
from cosift.features import BagOfWords, load_codebook, save_codebook

__all__ = ["end_if_none", "finish", "make_bag", "write_histograms"]


def make_bag(codebook: Path | None, words: int | None, default: int, **settings: Any) -> BagOfWords:
    """Words of a codebook that is there, or else a bag that has yet to learn them."""
    settings["norm"] = None if settings["norm"] == "none" else settings["norm"]
    if codebook is not None and codebook.exists():
        bag = load_codebook(codebook, **settings)
        if words not in (None, bag.n_words):
            raise UsageError(
                f"--words {words} contradicts {codebook}, which holds {bag.n_words} words. Leave "
                "--words out, or name a new file."
            )
        return bag
    if codebook is not None and (codebook.suffix != ".npz" or not codebook.parent.is_dir()):
        raise UsageError(f"{codebook}: expected a .npz file in a folder that exists.")
    return BagOfWords(words or default, **settings)


def write_histograms(
    output: Path,
    recordings: Sequence[Recording],
    bag: BagOfWords,
    codebook: Path | None,
    skipped: Skipped,
    total: int,
) -> None:
    """Learn words, unless they are known; count them; write one row a file."""
    out = skipped.out
    end_if_none(recordings, skipped, total)
    if _is_fitted(bag):
        out.note(f"Using the {bag.n_words} words in {codebook}.")
    else:
        recordings = _learn(bag, recordings, skipped, total)
        if codebook is not None:
            save_codebook(codebook, bag)
            out.note(f"Written: {codebook}")
    read: list[Recording] = []
    items = _readable(recordings, bag.codebook_.shape[1], skipped, read)
    steps = followed(out, items, len(recordings), "Counting words")
    first = next(steps, None)
    end_if_none(read, skipped, total)
    X = bag.transform(item for part in ([first], steps) for item in part)
    empty = int((~X.any(axis=1)).sum())
    if empty:
        out.note(f"{empty} of {len(X)} files have no descriptors; their rows are 0.")
    names = bag.get_feature_names_out().astype(str)
    finish(output, X, names, where([name for name, _ in read]), skipped, total, empty=empty)


def _learn(
    bag: BagOfWords, recordings: Sequence[Recording], skipped: Skipped, total: int
) -> list[Recording]:
    """Fit the bag, and tell which files could be read."""
    read: list[Recording] = []
    items = _readable(recordings, None, skipped, read)
    try:
        bag.fit(followed(skipped.out, items, len(recordings), "Reading descriptors"))
    except ValueError as error:
        end_if_none(read, skipped, total)
        raise UsageError(f"--words {bag.n_words}: {error}") from error
    skipped.out.note(f"Learned {bag.n_words} words from {bag.n_sampled_} descriptors.")
    return read


def _readable(
    recordings: Sequence[Recording], width: int | None, skipped: Skipped, read: list[Recording]
) -> Iterator[NDArray[Any]]:
    """Descriptors of the files that can be read, and are as wide as the first."""
    for recording in recordings:
        try:
            rows = read_descriptors(recording.path)
            if len(rows) and width not in (None, rows.shape[1]):
                raise ValueError(f"expected descriptors {width} wide. Found {rows.shape[1]}.")
        except (ValueError, OSError) as error:
            skipped.add(recording, error)
            continue
        if len(rows):
            width = rows.shape[1]
        read.append(recording)
        yield rows


def end_if_none(read: Sequence[Any], skipped: Skipped, total: int) -> None:
    """End with code 1 if no file could be read."""
    if not read:
        skipped.out.document({"output": None, "n_rows": 0, "skipped": skipped.rows()})
        skipped.conclude(total)
        raise typer.Exit(FAILED)


def finish(
    output: Path,
    X: NDArray[Any],
    names: NDArray[np.str_],
    columns: Mapping[str, Any],
    skipped: Skipped,
    total: int,
    **more: Any,
) -> None:
    """Write a table of features and say what is in it."""
    if twice := set(columns) & set(names):
        raise UsageError(f"A column and a feature are both called {min(twice)!r}; rename one.")
    if output.suffix == ".npz":
        _write_npz(output, {"X": X, "feature_names": names, **columns})
    else:
        frame = pl.DataFrame({**columns, **dict(zip(names.tolist(), X.T, strict=True))})
        write_table(frame, output)
    n, d = X.shape
    out = skipped.out
    out.show(
        f"{output}: {n} rows, {d} features ({names[0]} to {names[-1]})"
        + (f"; beside them {', '.join(columns)}." if columns else "."),
    )
    if columns:
        out.note(
            "Of these, cosift select wants to know --target, --task and --group, and which to "
            "--ignore; numbers without a role are features to it."
        )
    out.document(
        {
            "output": str(output),
            "n_rows": n,
            "n_features": d,
            "columns": list(columns),
            "skipped": skipped.rows(),
            **more,
        }
    )
    skipped.conclude(total)


def _write_npz(path: Path, arrays: Mapping[str, Any]) -> None:
    """As numpy.savez, which cannot call an array "file"."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                npy.write_array(file, np.asanyarray(array), allow_pickle=False)
