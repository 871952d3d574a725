"""AnnData's .h5ad, through the library of that name."""

from __future__ import annotations

from collections.abc import Set
from importlib import import_module
from pathlib import Path

import polars as pl

from cosift.datasets._formats.frames import labels
from cosift.datasets._formats.table import Table, TableError, as_numbers, parsing, rehearsed

__all__ = ["read_h5ad"]


def read_h5ad(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """X with the names of variables; annotations of observations are what stands beside it."""
    try:
        anndata = import_module("anndata")
    except ImportError as error:
        raise TableError(
            f"{path}: needs the library of this format: pip install anndata."
        ) from error
    rehearsed([path], "hdf5", "AnnData")
    with parsing(path, "AnnData"):
        stored = anndata.read_h5ad(path)
        names = [str(name) for name in stored.var_names]
        kept = [j for j, name in enumerate(names) if name not in ignored]
        X = as_numbers(path, stored.X, "X")
        columns = {
            name: labels(pl.Series([None if v != v else str(v) for v in stored.obs[name].tolist()]))
            for name in map(str, stored.obs.columns)
        }
    left_out = ignored & {*names, *map(str, stored.obs.columns)}
    return Table(X[:, kept], [names[j] for j in kept], columns, left_out=left_out)
