"""Parquet files larger than memory: what stands beside X at once, X when and where it is needed."""

from __future__ import annotations

from collections.abc import Set
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cosift.datasets._formats.frames import parquet_files, to_table
from cosift.datasets._formats.table import Table, TableError, listed, parsing

__all__ = ["scan"]


def scan(path: Path, wanted: Set[str], ignored: Set[str], rows: int) -> Table:
    """A table whose X is a Dask array in chunks of some rows."""
    if not path.is_dir() and path.suffix != ".parquet":
        raise TableError(f"{path}: only Parquet files, or a folder of them, are read in chunks.")
    files = parquet_files(path)
    with parsing(path, "Parquet"):
        schemas = [pl.read_parquet_schema(file) for file in files]
        sizes = [pl.scan_parquet(file).select(pl.len()).collect().item() for file in files]
    for file, schema in zip(files, schemas, strict=True):
        if schema.keys() != schemas[0].keys():
            differing = sorted(schema.keys() ^ schemas[0].keys())
            raise TableError(
                f"{file}: expected the columns of {files[0]}. Not in both: {listed(differing)}."
            )
    empty = pl.DataFrame(schema=schemas[0])
    table = to_table(path, empty, wanted, ignored)
    features = table.names or []
    if not features or not sum(sizes):
        raise TableError(
            f"{path}: expected rows and features. Found {sum(sizes)} rows and {len(features)} "
            "features."
        )
    with parsing(path, "Parquet"):
        parts = [pl.read_parquet(file, columns=sorted(wanted)) for file in files]
        beside = pl.concat(parts, how="vertical_relaxed")
    table.columns = to_table(path, beside, wanted, set()).columns
    single = all(schema[name] == pl.Float32 for schema in schemas for name in features)
    dtype = np.dtype(np.float32 if single else np.float64)
    dask, array = import_module("dask"), import_module("dask.array")
    read = dask.delayed(_read, pure=False)
    table.X = array.concatenate(
        [
            array.from_delayed(
                read(file, features, first, min(rows, size - first), dtype),
                (min(rows, size - first), len(features)),
                dtype,
            )
            for file, size in zip(files, sizes, strict=True)
            for first in range(0, size, rows)
        ]
    )
    return table


def _read(
    file: Path, features: list[str], first: int, count: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    kind = pl.Float32 if dtype == np.float32 else pl.Float64
    with parsing(file, "Parquet"):
        rows = pl.scan_parquet(file).select(features).slice(first, count).collect()
        return rows.cast(kind).to_numpy(order="c")
