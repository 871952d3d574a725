"""Samples that several benchmarks share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_files

from cosift.datasets import make_ccv

INFORMATIVE = 30
REAL_DATA = Path(__file__).parents[2] / "shared" / "data"
DOMAINS = ("books", "dvd", "electronics", "kitchen")


def gaussian_classes(
    rng: np.random.Generator, n: int, d: int, classes: int, distance: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Classes of equal size about means that differ in 30 of d features, and the labels."""
    y = rng.permutation(np.arange(n) % classes)
    X = rng.standard_normal((n, d))
    X[:, :INFORMATIVE] += distance * rng.standard_normal((classes, INFORMATIVE))[y]
    return X, y


def bags_of_words() -> tuple[tuple[sp.csr_array, np.ndarray], str]:
    """Counts of 5,000 words with class labels, and what they are.

    Product reviews of four domains, praise and blame, where `COSIFT_DATA` has them; else the twin
    of the consumer videos.
    """
    folder = Path(os.environ.get("COSIFT_DATA", REAL_DATA)) / "amazon_reviews"
    if not folder.is_dir():
        data = make_ccv()
        return (sp.csr_array(data.X), np.unique(data.y, return_inverse=True)[1]), "twin of videos"
    files = [folder / f"{domain}_train.svmlight" for domain in DOMAINS]
    parts = load_svmlight_files(files, zero_based=True)
    y = [2 * i + (labels > 0) for i, labels in enumerate(parts[1::2])]
    return (sp.csr_array(sp.vstack(parts[::2])), np.concatenate(y).astype(int)), "reviews"
