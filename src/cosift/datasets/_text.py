"""Numbers in plain text, as the authors of datasets publish them: parsed in blocks of lines.

Text is an order of magnitude larger than what it says, so it is never held whole: blocks of lines
become rows of a memory map, of a dense array, or of a sparse matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cosift._typing import Matrix
from cosift.datasets._formats.table import TableError, parsing

__all__ = [
    "check_folder",
    "count_lines",
    "expected_file",
    "read_lines",
    "read_numbers",
    "read_zeros_and_ones",
    "stack_numbers",
]

# Bytes of text that are parsed at once.
BLOCK = 2**23
# Bytes that a number may take, blanks included.
LONGEST = 100
# What a line of numbers may begin with.
BEGINNINGS = b"0123456789+-. \t\r\n\xef"
# Sparse below this share of numbers that are not zero: at a third, csr is as large as dense.
SPARSE = 1 / 3


def check_folder(folder: Path) -> None:
    """Refuse what is no folder."""
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        raise TableError(f"{folder}: expected a folder. Found {found}.")


def expected_file(folder: Path, pattern: str, what: str) -> Path:
    """The file of this name, in the folder or anywhere below."""
    check_folder(folder)
    found = sorted(folder.glob(pattern)) or sorted(folder.rglob(pattern))
    if len(found) != 1:
        raise TableError(
            f"{folder}: expected one file {pattern}, {what}. "
            f"Found {len(found) or 'none'}{': ' if found else ''}{', '.join(map(str, found[:4]))}."
        )
    return found[0]


def read_lines(path: Path) -> list[str]:
    """Lines that are not empty, at least one, without blanks around them."""
    with parsing(path, "text in UTF-8"):
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise TableError(f"{path}: expected lines of text. Found none.")
    return found


def count_lines(path: Path) -> int:
    """Number of lines that are not empty, at least one."""
    with parsing(path, "text"), path.open("rb") as file:
        found = sum(1 for line in file if line.strip())
    if not found:
        raise TableError(f"{path}: expected lines of numbers. Found none.")
    return found


def read_zeros_and_ones(path: Path, columns: int, rows: int, like: str) -> NDArray[np.int8]:
    """A table of 0 and 1 of a known size."""
    values = np.concatenate(list(read_numbers(path, columns)) or [np.empty((0, columns))])
    _check_rows(path, len(values), rows, like)
    strange = np.argwhere((values != 0) & (values != 1))
    if strange.size:
        row, column = strange[0]
        raise TableError(f"{path}, line {row + 1}: expected 0 or 1. Found {values[row, column]:g}.")
    return values.astype(np.int8)


def stack_numbers(
    parts: Sequence[tuple[Path, int, str]],
    columns: int,
    *,
    dtype: type[np.floating[Any]] = np.float64,
    memory_map: str | PathLike[str] | None = None,
) -> Matrix:
    """Files of numbers below each other.

    Parameters
    ----------
    parts : sequence of (path, rows, like)
        The files, how many rows each should have, and what says so.
    columns : int
        Numbers in each line.
    dtype : type, default=float64
        Of the result.
    memory_map : path, optional
        A .npy file to write and map.

    Returns
    -------
    memory map, ndarray or csr_array of shape (rows, columns)
        Without ``memory_map`` a csr_array, if most of the first block is zeros.
    """
    total = sum(rows for _, rows, _ in parts)
    blocks = _checked_blocks(parts, columns, dtype)
    first = next(blocks)
    blocks = chain((first,), blocks)
    if memory_map is not None:
        return _mapped(Path(memory_map), blocks, dtype, (total, columns))
    if np.count_nonzero(first) < SPARSE * first.size:
        # Polars fills columns, and SciPy looks for what is not zero row by row.
        found = [sp.csr_array(block.T).T for block in blocks]
        return sp.csr_array(sp.vstack(found, format="csr"))
    dense = np.empty((total, columns), dtype=dtype)
    _fill(dense, blocks)
    return dense


def _mapped(
    path: Path,
    blocks: Iterable[NDArray[Any]],
    dtype: type[np.floating[Any]],
    shape: tuple[int, int],
) -> NDArray[Any]:
    """Blocks in a file that takes its name when it is whole."""
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with parsing(path, ".npy"):
            mapped = np.lib.format.open_memmap(unfinished, "w+", dtype, shape)
        _fill(mapped, blocks)
        mapped.flush()
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    whole: NDArray[Any] = np.load(path, mmap_mode="r")
    return whole


def _fill(out: NDArray[Any], blocks: Iterable[NDArray[Any]]) -> None:
    start = 0
    for block in blocks:
        out[start : start + len(block)] = block
        start += len(block)


def _checked_blocks(
    parts: Sequence[tuple[Path, int, str]], columns: int, dtype: type[np.floating[Any]]
) -> Iterator[NDArray[Any]]:
    """Blocks of all files, until one has other than the expected number of rows."""
    for path, expected, like in parts:
        found = 0
        for block in read_numbers(path, columns, dtype):
            found += len(block)
            if found > expected:
                break
            yield block
        _check_rows(path, found, expected, like)


def _check_rows(path: Path, found: int, expected: int, like: str) -> None:
    if found != expected:
        least = "at least " if found > expected else ""
        raise TableError(
            f"{path}: expected {expected} rows, as many as {like}. Found {least}{found}."
        )


def read_numbers(
    path: Path, columns: int, dtype: type[np.floating[Any]] = np.float64
) -> Iterator[NDArray[Any]]:
    """Parse numbers separated by blanks or tabs, one row a line.

    Parameters
    ----------
    path : Path
        A text file without a line of names.
    columns : int
        Numbers in each line.
    dtype : type, default=float64
        Of the result.

    Yields
    ------
    ndarray of shape (rows, columns)
        Rows in the order of the file, as many as 8 MB of text hold. Empty lines are no rows.
    """
    import polars as pl

    line = 0
    real = pl.Float32 if dtype == np.float32 else pl.Float64
    # From the fastest to the most forgiving; what fails once is not tried again.
    ways: list[tuple[Any, Callable[[bytes], bytes]]]
    ways = [(pl.Int32, bytes), (real, bytes), (real, _tidied)]
    for text in _blocks(path, columns):
        while ways:
            kind, prepared = ways[0]
            block = _parse(prepared(text), columns, kind)
            if block is not None:
                break
            ways.pop(0)
        else:
            raise _first_error(path, text, columns, line)
        line += text.count(b"\n")
        yield block.astype(dtype, copy=False)


def _parse(text: bytes, columns: int, kind: Any) -> NDArray[Any] | None:
    """Numbers with one blank between them and perhaps one after them, if that is all there is."""
    import polars as pl

    if not text:
        return np.empty((0, columns))
    # Polars would expand whatever begins like a compressed file.
    if text[0] not in BEGINNINGS:
        return None
    schema: dict[str, Any] = {str(j): kind for j in range(columns)}
    ends_blank = text[: text.find(b"\n")].endswith(b" ")
    if ends_blank:
        schema["end"] = pl.String
    try:
        frame = pl.read_csv(text, has_header=False, separator=" ", quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    if ends_blank and frame.drop_in_place("end").null_count() < len(frame):
        return None
    # Where a line is too short polars fills in what is not there.
    block = frame.to_numpy()
    return block if len(block) == text.count(b"\n") and np.isfinite(block).all() else None


def _blocks(path: Path, columns: int) -> Iterator[bytes]:
    """Whole lines, as many as fit into a block."""
    rest = b""
    with parsing(path, "text"), path.open("rb") as file:
        while text := file.read(BLOCK):
            end = text.rfind(b"\n") + 1
            lines, rest = rest + text[:end], text[end:] if end else rest + text
            if len(rest) > LONGEST * columns:
                raise TableError(f"{path}: expected lines of {columns} numbers. Found longer ones.")
            if end:
                yield lines
    if rest.strip():
        yield rest + b"\n"


def _tidied(text: bytes) -> bytes:
    """One blank between words, none around lines, and no empty line."""
    text = text.translate(bytes.maketrans(b"\t\r", b"  "))
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n")
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    text = text.strip()
    return text + b"\n" if text else b""


def _first_error(path: Path, text: bytes, columns: int, before: int) -> TableError:
    for number, line in enumerate(text.split(b"\n")[:-1], before + 1):
        words = line.split()
        if not words:
            continue
        if len(words) != columns:
            found = f"{len(words)} in {line[:40].decode(errors='replace')!r}"
        elif wrong := next((word for word in words if not _is_finite(word)), None):
            found = repr(wrong[:40].decode(errors="replace"))
        else:
            continue
        return TableError(f"{path}, line {number}: expected {columns} numbers. Found {found}.")
    return TableError(f"{path}: expected lines of {columns} numbers after line {before}.")


def _is_finite(word: bytes) -> bool:
    try:
        return b"_" not in word and bool(np.isfinite(float(word)))
    except ValueError:
        return False
