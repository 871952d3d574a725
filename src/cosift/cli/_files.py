"""Tables that commands write, by the ending of the name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cosift.cli._common import UsageError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TABLES", "check_output", "write_table"]

TABLES = (".csv", ".tsv", ".parquet")


def check_output(path: Path | None, endings: Iterable[str]) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if path is None:
        return
    if path.suffix not in endings:
        raise UsageError(f"{path}: expected a name that ends in {', '.join(endings)}.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; expected the name of a file to write.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}. Make it first.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{path} may not be written; choose another name.")


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as its name says."""
    with path.open("wb") as file:
        _write(frame, path.suffix, file)


def _write(frame: pl.DataFrame, ending: str, file: IO[bytes]) -> None:
    if ending == ".parquet":
        frame.write_parquet(file)
    else:
        frame.write_csv(file, separator="\t" if ending == ".tsv" else ",")
