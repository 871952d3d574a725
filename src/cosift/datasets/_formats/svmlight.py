"""SVMlight (LIBSVM) text: a label and the features that are not zero on every line."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cosift._typing import Array
from cosift.datasets._formats.table import Table, TableError, parsing, take_columns

__all__ = ["read_svmlight"]

LABEL = "label"
# Features are numbered, so that one wrong digit can promise any number of them.
MOST_FEATURES = 2**22


def read_svmlight(path: Path, wanted: Set[str], ignored: Set[str]) -> Table:
    """Sparse features called by their numbers, and the labels as the column "label".

    The format's own convention for two classes is 1 and -1, with 0 for unlabelled: where all three
    are there, they become 1, 0 and missing.
    """
    from sklearn.datasets import load_svmlight_file

    with parsing(path, "SVMlight"):
        X, label = load_svmlight_file(str(path), zero_based=True)
        X.check_format(full_check=True)
    d = X.shape[1]
    if d > MOST_FEATURES:
        raise TableError(
            f"{path}: features must have numbers below {MOST_FEATURES}. Found {d - 1}."
        )
    table = take_columns(sp.csr_array(X), [str(j) for j in range(d)], wanted, ignored)
    table.columns[LABEL] = _classes(label)
    table.labels, table.trailing_zeros = (LABEL,), True
    return table


def _classes(label: Array) -> Array:
    if set(np.unique(label)) != {-1, 0, 1}:
        return label
    return np.where(label == 0, np.nan, label > 0)
