"""Counts of words in documents whose topics depend on their classes, with an exact truth.

A word either depends on the class or it does not, whatever is done to a document afterwards: words
come in pairs of equal rate, and what a topic adds to one word of a pair it takes from the other.
docs/twins.md has the formulas and the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cosift._typing import Array, Indices, Matrix

__all__ = ["Topics", "draw_counts", "draw_topics"]

# Latent directions behind the classes' topics: fewer than classes, so that topics resemble.
RANK = 4
# Topics that have nothing to do with the classes: a document has two of them, half as strong.
N_DISTRACTING = 12
DISTRACTIONS = 2
DISTRACTION = 0.5
# Rates follow 1 / (rank + FLATNESS * n_words): the most frequent word is 11 times the rarest.
FLATNESS = 0.1
# Lengths of documents are gamma distributed with this shape: a standard deviation of half the mean.
LENGTH_SHAPE = 4.0
# How clearly a document shows its topics, from 0 to 1, is beta distributed with these parameters.
CLARITY = (3.0, 1.5)
# Numbers in a dense block of rows: 16 MB.
BLOCK_SIZE = 2**21


@dataclass(frozen=True)
class Topics:
    """What every topic does to every word.

    Attributes
    ----------
    rates : ndarray of shape (d,)
        Expected counts of the words in a document of mean length.
    classes : ndarray of shape (C, d)
        1 where the topic of the class raises a word, -1 where it lowers it, 0 elsewhere.
    distracting : ndarray of shape (N, d)
        The same for topics that documents have whatever their class: not 0 where ``classes`` is.
    shared : ndarray of int
        Words that the topic of every class touches.
    private : tuple of ndarray of int
        For each task the words that the topics of its classes touch, and no others.
    """

    rates: Array
    classes: Array
    distracting: Array
    shared: Indices
    private: tuple[Indices, ...]


def draw_topics(
    tasks: Sequence[range],
    n_words: int,
    n_shared: int,
    n_private: int,
    length: float,
    rng: np.random.Generator,
) -> Topics:
    """Draw topics for classes that are grouped into tasks.

    Parameters
    ----------
    tasks : sequence of range
        The classes of each task, numbered through. In a task of several classes every relevant
        word is raised by some and lowered by others; a task of one class is about its presence.
    n_words, n_shared, n_private : int
        Words in all, relevant to every task, and to each task alone; even numbers.
    length : float
        Mean number of words in a document.
    rng : Generator
        Where the topics come from.

    Returns
    -------
    Topics
        Rates and signs of the words, in random order.
    """
    n_classes = tasks[-1].stop
    blocks = [n_shared] + [n_private] * len(tasks)
    edges = np.cumsum([0, *blocks]) // 2
    half = np.zeros((n_classes + N_DISTRACTING, n_words // 2))
    latent = rng.normal(size=(n_classes, RANK))
    half[:n_classes, : edges[1]] = _signs(latent, tasks, n_shared // 2, rng)
    for task, start, stop in zip(tasks, edges[1:-1], edges[2:], strict=True):
        own = rng.normal(size=(len(task), RANK))
        half[task.start : task.stop, start:stop] = _signs(
            own, [range(len(task))], stop - start, rng
        )
    rest = n_words // 2 - edges[-1]
    half[n_classes:, edges[-1] :] = rng.choice([-1.0, 1.0], size=(N_DISTRACTING, rest))

    ranks = rng.permutation(n_words // 2)
    rates = 1.0 / (ranks + FLATNESS * n_words / 2)
    place = rng.permutation(n_words)  # of the first word of each pair, then of the second
    signs, both = np.empty((len(half), n_words)), np.empty(n_words)
    signs[:, place] = np.hstack([half, -half])
    both[place] = np.tile(rates * (length / rates.sum() / 2), 2)
    pairs = [np.sort(place.reshape(2, -1)[:, a:b], axis=None) for a, b in pairwise(edges)]
    return Topics(both, signs[:n_classes], signs[n_classes:], pairs[0], tuple(pairs[1:]))


def _signs(latent: Array, tasks: Sequence[range], n_pairs: int, rng: np.random.Generator) -> Array:
    """Signs of latent products, drawn anew until each task of several classes has both."""
    signs = np.empty((len(latent), n_pairs))
    missing = np.arange(n_pairs)
    while missing.size:
        signs[:, missing] = np.where(latent @ rng.normal(size=(RANK, missing.size)) < 0, -1.0, 1.0)
        both = [
            np.ptp(signs[task.start : task.stop, missing], axis=0) > 0
            for task in tasks
            if len(task) > 1
        ]
        missing = missing[~np.all(both, axis=0)] if both else missing[:0]
    return signs


def draw_counts(
    topics: Topics, labels: NDArray[Any], seed: np.random.SeedSequence, block_size: int = BLOCK_SIZE
) -> Matrix:
    """Count the words of documents that have the given classes.

    Parameters
    ----------
    topics : Topics
        What the classes do to the words.
    labels : ndarray of shape (n, C)
        1 where a document has a class: in one task of it one at most.
    seed : SeedSequence
        Where the documents come from.
    block_size : int
        Numbers held densely at a time; no result depends on it.

    Returns
    -------
    csr_array of shape (n, d)
        Counts.
    """
    n, d = len(labels), len(topics.rates)
    # A stream for every kind of number, read row by row: no result depends on the block size.
    lengths, clarities, distractions, counts = map(np.random.default_rng, seed.spawn(4))
    signs = np.vstack([topics.classes, topics.distracting])
    irrelevant = np.flatnonzero(topics.distracting.any(axis=0))
    blocks = []
    rows = max(1, block_size // d)
    for start in range(0, n, rows):
        own = labels[start : start + rows].astype(np.float64)
        size = len(own)
        chosen = distractions.integers(N_DISTRACTING, size=(size, DISTRACTIONS))
        also = np.zeros((size, N_DISTRACTING))
        np.add.at(also, (np.arange(size)[:, None], chosen), 1.0)
        # Sums of a few 1 and -1, exact in any order.
        levels = np.hstack([own, also]) @ signs
        levels[:, topics.shared] /= np.maximum(1.0, own.sum(axis=1, keepdims=True))
        levels[:, irrelevant] *= DISTRACTION / DISTRACTIONS
        levels *= clarities.beta(*CLARITY, size=(size, 1))
        levels += 1.0
        levels *= topics.rates
        levels *= lengths.gamma(LENGTH_SHAPE, 1.0 / LENGTH_SHAPE, size=(size, 1))
        blocks.append(sp.csr_array(counts.poisson(levels).astype(np.float64)))
    return sp.vstack(blocks, format="csr")
