"""Delimited text, Parquet and Arrow, all by way of polars."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Set
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cosift.datasets._formats.table import (
    Table,
    TableError,
    check_size,
    check_there,
    listed,
    parsing,
    rehearsed,
)

__all__ = [
    "labels",
    "parquet_files",
    "read_arrow",
    "read_delimited",
    "read_parquet",
    "to_table",
]

MISSING = ["", "NA", "NaN", "nan", "null", "?"]
BLOCK = 2**24
GZIP = b"\x1f\x8b"
# Other compressions that polars would undo without asking how much comes out.
ZLIB = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")
COMPRESSED = {b"\x28\xb5\x2f\xfd": "zstd"} | dict.fromkeys(ZLIB, "zlib")
# Before version 2 polars panics over a lone quote among numbers.
REFUSALS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def read_parquet(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """A Parquet file, or a folder of them that hold the rows of one table."""
    return to_table(path, rehearsed(parquet_files(path), "parquet", "Parquet"), wanted, ignored)


def parquet_files(path: Path) -> list[Path]:
    """A file itself, or the Parquet files in a folder, by name."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise TableError(f"{path}: expected Parquet files (*.parquet) in this folder. Found none.")
    return files


def read_arrow(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """An Arrow (Feather) file or stream."""
    return to_table(path, rehearsed([path], "arrow", "Arrow"), wanted, ignored)


def read_delimited(path: Path, wanted: Set[str], ignored: Set[str], separators: str) -> Table:
    """Text with a line of names, separated by whichever of the separators it holds most."""
    with parsing(path, "text in UTF-8"):
        source = _source(path)
        # The names alone, to see what polars would mend without a word.
        first = _first_line(source).decode()
        separator = max(separators, key=first.count)
        names = [name.strip() for name in next(csv.reader([first], delimiter=separator), [])]
    _check_names(path, names)
    with parsing(path, "text in UTF-8 with a line of names"):
        try:
            frame = _parse(source, separator, names, wanted | ignored)
        except REFUSALS:
            _says_something(path, source, separator, len(names))  # which names the line
            raise
        # Lines that end early have nothing in the last column, but so may others.
        if frame[names[-1]].null_count():
            frame = frame.filter(_says_something(path, source, separator, len(names)))
    return to_table(path, _without_numbers(path, frame), wanted, ignored)


def _without_numbers(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out a first column without a name that numbers the rows, as data frames write it."""
    if "" not in frame.columns:
        return frame
    numbers = frame[""]
    is_whole = numbers.dtype == pl.Float64 and (numbers % 1 == 0).fill_null(False).all()
    if not is_whole or numbers.n_unique() < len(numbers):
        raise TableError(
            f"{path}: column 1 has no name in the first line, and does not number the rows. Name "
            "it, or remove it."
        )
    return frame.drop("")


def _says_something(path: Path, source: Path | io.BytesIO, separator: str, width: int) -> pl.Series:
    """Which lines are not empty; all of these must have as many values as there are names."""
    stream = source.open("rb") if isinstance(source, Path) else io.BytesIO(source.getbuffer())
    whole = []
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        lines = csv.reader(text, delimiter=separator, strict=True)
        next(lines)
        for values in lines:
            if values and len(values) != width:
                raise TableError(
                    f"{path}, line {lines.line_num}: expected {width} values. Found {len(values)}."
                )
            whole.append(bool(values))
    return pl.Series(whole, dtype=pl.Boolean)


def _parse(source: Any, separator: str, names: list[str], aside: Set[str]) -> pl.DataFrame:
    """Read features as numbers at once; look at types only if that fails."""
    schema = {name: pl.String if name in aside else pl.Float64 for name in names}
    options: dict[str, Any] = {"has_header": False, "skip_rows": 1}
    options |= {"separator": separator, "null_values": MISSING, "raise_if_empty": False}
    try:
        return pl.read_csv(source, schema=schema, **options)
    except REFUSALS:
        if isinstance(source, io.BytesIO):
            source.seek(0)
        texts = pl.read_csv(source, schema=dict.fromkeys(names, pl.String), **options)
    return texts.with_columns(_as_number(texts[name]) for name in names if name not in aside)


def _as_number(texts: pl.Series) -> pl.Series:
    """Numbers or true and false, with blanks around them; unchanged if it is neither."""
    bare = texts.str.strip_chars()
    numbers = bare.cast(pl.Float64, strict=False)
    if numbers.null_count() == bare.null_count():
        return numbers
    truth = bare.str.to_lowercase().replace_strict(
        {"true": 1.0, "false": 0.0}, default=None, return_dtype=pl.Float64
    )
    return truth if truth.null_count() == bare.null_count() else texts


def _source(path: Path) -> Path | io.BytesIO:
    """The file, or what it expands to."""
    with path.open("rb") as file:
        start = file.read(4)
    for magic, name in COMPRESSED.items():
        if start.startswith(magic):
            raise TableError(f"{path}: is compressed by {name}. Only gzip is read.")
    if not start.startswith(GZIP):
        return path
    text = io.BytesIO()
    with gzip.open(path) as packed:
        while block := packed.read(BLOCK):
            text.write(block)
            check_size(path, text.tell())
    text.seek(0)
    return text


def _first_line(source: Path | io.BytesIO) -> bytes:
    if isinstance(source, io.BytesIO):
        line = source.readline()
        source.seek(0)
    else:
        with source.open("rb") as file:
            line = file.readline()
    return line.removeprefix(b"\xef\xbb\xbf")


def _check_names(path: Path, names: list[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1 and name)
    if twice:
        raise TableError(
            f"{path}: columns must have different names. Found twice: {listed(twice)}."
        )
    if not any(names):
        raise TableError(f"{path}: expected a line of names. Found none.")
    if "" in names[1:]:
        number = names.index("", 1) + 1
        raise TableError(f"{path}: column {number} has no name in the first line. Name it.")
    if "\0" in "".join(names):
        raise TableError(f"{path}: cannot be read as text in UTF-8 (it holds zero bytes).")


def to_table(path: Path, frame: pl.DataFrame, wanted: Set[str], ignored: Set[str]) -> Table:
    """Numbers into a matrix, the columns wanted beside it."""
    check_there(path, sorted(wanted), frame.columns)
    columns = {name: _column(frame[name]) for name in frame.columns if name in wanted}
    features = frame.drop([name for name in frame.columns if name in wanted | ignored])
    others = [
        name
        for name, dtype in features.schema.items()
        if not (dtype.is_numeric() or dtype == pl.Boolean)
    ]
    if others:
        series = features[others[0]]
        example = series.drop_nulls().head(1).to_list()
        raise TableError(
            f"{path}: features must be numbers. Found {series.dtype} in {listed(others)}"
            + (f", such as {str(example[0])[:40]!r}" if example else "")
            + ". Ignore these columns, or say which is the target, the task or the group."
            + _misspelt(sorted((wanted | ignored) - set(frame.columns)), others)
        )
    X = np.empty((frame.height, 0))
    if features.width:
        X = features.cast(pl.Float64).to_numpy(order="c")
    return Table(X, list(features.columns), columns, left_out=ignored & {*frame.columns})


def _misspelt(lost: list[str], others: list[str]) -> str:
    """What to say of names that no column has."""
    if not lost:
        return ""
    close = get_close_matches(lost[0], others, 1)
    return f" No column is called {lost[0]!r}" + (f"; did you mean {close[0]!r}?" if close else ".")


def _column(series: pl.Series) -> NDArray[Any]:
    """A column as NumPy has it: missing is NaN among numbers and None among others."""
    if series.dtype.is_decimal() or (series.dtype == pl.Boolean and series.null_count()):
        series = series.cast(pl.Float64)
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        return series.to_numpy()
    return labels(series.cast(pl.String))


def labels(texts: pl.Series) -> NDArray[Any]:
    """Text as whole numbers or numbers if all of it is, with NaN or None where it is empty.

    Only if different texts are different numbers: "1" and "01" stay text.
    """
    bare = texts.str.strip_chars()
    bare = bare.set(bare == "", None)
    for dtype in (pl.Int64, pl.Float64):
        numbers = bare.cast(dtype, strict=False)
        if numbers.null_count() == bare.null_count() and numbers.n_unique() == bare.n_unique():
            return numbers.to_numpy()
    values = bare.to_numpy()
    return values if bare.null_count() else values.astype(str)
