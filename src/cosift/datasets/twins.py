"""Synthetic twins of the four datasets of the paper, with a known set of relevant features.

Sizes, tasks, classes and their frequencies are the originals'.  No sample is: words come from the
topics of `_topics`, motion from the body of `_body`.  docs/twins.md has the formulas, and says what
is not realistic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from cosift._typing import Array
from cosift.datasets import _body
from cosift.datasets._originals import (
    CCV,
    HMDB,
    HUMANEVA,
    class_sizes,
    concept_sizes,
    n_samples,
)
from cosift.datasets._topics import draw_counts, draw_topics
from cosift.datasets.dataset import Dataset, Truth
from cosift.features.skeleton import SkeletonFeatures

__all__ = ["TWINS", "make_ccv", "make_hmdb", "make_humaneva", "make_nuswide", "make_twin"]

FRAMES_PER_SEQUENCE = 120  # about; at 60 frames a second
FRAMES_PER_SECOND = 60.0
MEASUREMENT_ERROR = 0.005  # metres, of every coordinate of every joint


def make_ccv(*, scale: float = 1.0, seed: int = 0) -> Dataset:
    """Twin of CCV: bags of 5,000 words, events, scenes and objects as tasks, 20 classes.

    Parameters
    ----------
    scale : float, default=1.0
        Share of the original's 9,317 videos, above 0 and at most 1.
    seed : int, default=0
        The same seed gives the same data.

    Returns
    -------
    Dataset
        Counts as a csr_array, and the truth: 1,000 words matter to every task and 250 to each
        alone.

    Examples
    --------
    >>> make_ccv(scale=0.02)
    <Dataset ccv twin: 186 samples, 5000 features (...% stored), 3 tasks>
    """
    return _classified_words("ccv", CCV, 5000, 1000, 250, 500.0, scale, seed)


def make_hmdb(*, scale: float = 1.0, seed: int = 0) -> Dataset:
    """Twin of HMDB51: bags of 2,000 words, five groups of actions as tasks, 51 classes.

    Parameters
    ----------
    scale : float, default=1.0
        Share of the original's 6,766 clips, above 0 and at most 1.
    seed : int, default=0
        The same seed gives the same data.

    Returns
    -------
    Dataset
        Counts as a csr_array, and the truth: 400 words matter to every task and 60 to each alone.

    Examples
    --------
    >>> make_hmdb(scale=0.1)
    <Dataset hmdb twin: 677 samples, 2000 features (...% stored), 5 tasks>
    """
    return _classified_words("hmdb", HMDB, 2000, 400, 60, 800.0, scale, seed)


def make_nuswide(*, scale: float = 1.0, seed: int = 0) -> Dataset:
    """Twin of NUS-WIDE: bags of 500 words, 81 concepts as tasks over the same images.

    Parameters
    ----------
    scale : float, default=1.0
        Share of the original's 269,648 images, above 0 and at most 1.
    seed : int, default=0
        The same seed gives the same data.

    Returns
    -------
    Dataset
        Counts as a csr_array, one 0/1 column a concept, and the truth: 120 words matter to every
        concept and 2 to each alone.

    Examples
    --------
    >>> make_nuswide(scale=0.01)
    <Dataset nuswide twin: 2696 samples, 500 features (...% stored), 81 tasks>
    """
    n = n_samples("nuswide", scale)
    sizes = concept_sizes(n)
    own, documents = _streams(seed)
    y = np.zeros((n, len(sizes)), dtype=np.int8)
    for c, size in enumerate(sizes.values()):
        y[own.choice(n, size, replace=False), c] = 1
    topics = draw_topics([range(c, c + 1) for c in range(len(sizes))], 500, 120, 2, 250.0, own)
    return Dataset(
        "nuswide twin",
        draw_counts(topics, y, documents),
        y,
        feature_names=_word_names(500),
        target_names=tuple(sizes),
        truth=Truth(topics.shared, dict(zip(sizes, topics.private, strict=True))),
        provenance=_provenance("nuswide", "topic model", scale, seed),
    )


def make_humaneva(*, scale: float = 1.0, seed: int = 0) -> Dataset:
    """Twin of HumanEva: a body of 16 joints, three subjects as tasks, five actions.

    Every frame becomes 48 coordinates and 120 distances by
    `cosift.features.SkeletonFeatures`.

    Parameters
    ----------
    scale : float, default=1.0
        Share of 10,000 frames, above 0 and at most 1. Fewer frames are fewer sequences, and two
        shorter ones where that would leave one.
    seed : int, default=0
        The same seed gives the same data.

    Returns
    -------
    Dataset
        Features of frames, sequence by sequence; ``groups`` names the sequence of each.

    Examples
    --------
    >>> data = make_humaneva(scale=0.05)
    >>> data
    <Dataset humaneva twin: 500 samples, 168 features, 3 tasks>
    >>> data.feature_names[data.truth.private["S1"]]
    array(['distance(spine, head)', 'distance(head, left_shoulder)',
           'distance(head, right_shoulder)'], dtype='<U...')
    """
    sequences = list(_sequences(class_sizes("humaneva", HUMANEVA, scale), seed))
    lengths = [len(sequence.positions) for sequence in sequences]
    skeleton = SkeletonFeatures(_body.JOINTS)
    X = skeleton.fit_transform(np.concatenate([sequence.positions for sequence in sequences]))
    relevant = {subject: _body.relevant_features(subject) for subject in HUMANEVA}
    shared = np.logical_and.reduce(list(relevant.values()))
    return Dataset(
        "humaneva twin",
        X,
        np.repeat([sequence.action for sequence in sequences], lengths),
        tasks=np.repeat([sequence.subject for sequence in sequences], lengths),
        groups=np.repeat([sequence.name for sequence in sequences], lengths),
        feature_names=skeleton.get_feature_names_out().astype(np.str_),
        truth=Truth(
            np.flatnonzero(shared),
            {subject: np.flatnonzero(own & ~shared) for subject, own in relevant.items()},
        ),
        provenance=_provenance("humaneva", "kinematic body, 60 frames a second", scale, seed),
    )


TWINS = {
    "ccv": make_ccv,
    "hmdb": make_hmdb,
    "humaneva": make_humaneva,
    "nuswide": make_nuswide,
}


def make_twin(name: str, *, scale: float = 1.0, seed: int = 0) -> Dataset:
    """Make the twin of this name.

    Parameters
    ----------
    name : {"ccv", "hmdb", "humaneva", "nuswide"}
        Which original.
    scale : float, default=1.0
        Share of the original's number of samples, above 0 and at most 1.
    seed : int, default=0
        The same seed gives the same data.

    Returns
    -------
    Dataset
        With ``truth``.

    Examples
    --------
    >>> print(make_twin("humaneva", scale=0.1).describe())
    humaneva twin: 1000 samples, 168 features, 3 tasks
      S1: 325 samples, 5 classes: Box 52, Gestures 83, Jog 45, ThrowCatch 23, Walking 122
      S2: 377 samples, 5 classes: Box 48, Gestures 71, Jog 83, ThrowCatch 84, Walking 91
      S3: 298 samples, 4 classes: Box 97, Gestures 22, Jog 86, Walking 93
      groups: 28
      known to matter: 132 shared, 8 private
      source: SYNTHETIC: made by make_humaneva(scale=0.1, seed=0); no data of HumanEva in it
      ...
    """
    if name not in TWINS:
        raise ValueError(f"name must be one of {', '.join(map(repr, TWINS))}. Got {name!r}.")
    return TWINS[name](scale=scale, seed=seed)


def _classified_words(
    name: str,
    table: Mapping[str, str],
    n_words: int,
    n_shared: int,
    n_private: int,
    length: float,
    scale: float,
    seed: int,
) -> Dataset:
    """Documents of one class each, the classes grouped into tasks."""
    sizes = class_sizes(name, table, scale)
    own, documents = _streams(seed)
    edges = accumulate(map(len, sizes.values()), initial=0)
    tasks = [range(start, stop) for start, stop in pairwise(edges)]
    topics = draw_topics(tasks, n_words, n_shared, n_private, length, own)
    names = [(task, label) for task, classes in sizes.items() for label in classes]
    counts = [size for classes in sizes.values() for size in classes.values()]
    classes = own.permutation(np.repeat(np.arange(len(names)), counts))
    return Dataset(
        f"{name} twin",
        draw_counts(topics, np.eye(len(names), dtype=np.int8)[classes], documents),
        np.array([label for _, label in names])[classes],
        tasks=np.array([task for task, _ in names])[classes],
        feature_names=_word_names(n_words),
        truth=Truth(topics.shared, dict(zip(table, topics.private, strict=True))),
        provenance=_provenance(name, "topic model", scale, seed),
    )


class _Sequence(NamedTuple):
    subject: str
    action: str
    name: str
    positions: Array  # (frames, 16, 3), in metres


def _sequences(sizes: Mapping[str, Mapping[str, int]], seed: int) -> Iterator[_Sequence]:
    """All subjects do all their actions, in sequences of about the same length."""
    for subject, of_subject in zip(sizes, SeedSequence(seed).spawn(len(sizes)), strict=True):
        of_body, *of_actions = of_subject.spawn(1 + len(sizes[subject]))
        body = _body.draw_subject(subject, default_rng(of_body))
        for (action, n), of_action in zip(sizes[subject].items(), of_actions, strict=True):
            n_sequences = max(2, round(n / FRAMES_PER_SEQUENCE))
            for number, own in enumerate(of_action.spawn(n_sequences)):
                rng = default_rng(own)
                length = (n + number) // n_sequences
                frames = _body.perform(body, action, np.arange(length) / FRAMES_PER_SECOND, rng)
                frames += MEASUREMENT_ERROR * rng.normal(size=frames.shape)
                yield _Sequence(subject, action, f"{subject} {action} {number + 1}", frames)


def _streams(seed: int) -> tuple[Generator, SeedSequence]:
    """Numbers for topics and labels, and the seed of the documents."""
    own, documents = SeedSequence(seed).spawn(2)
    return default_rng(own), documents


def _word_names(n_words: int) -> NDArray[np.str_]:
    return np.array([f"word{j:04d}" for j in range(n_words)])


def _provenance(name: str, model: str, scale: float, seed: int) -> dict[str, str]:
    original = {"ccv": "CCV", "hmdb": "HMDB51", "humaneva": "HumanEva", "nuswide": "NUS-WIDE"}[name]
    return {
        "source": f"SYNTHETIC: made by make_{name}(scale={scale!r}, seed={seed!r}); "
        f"no data of {original} in it",
        "remark": f"a result on this twin is no result on {original}",
        "model": f"{model}, see docs/twins.md",
    }
