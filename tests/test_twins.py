"""Synthetic twins: what is planted is there, nothing else is, and sizes are the originals'."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chi2
from sklearn.preprocessing import StandardScaler

from cosift import SFMC, FisherScore
from cosift.datasets import TWINS, make_humaneva, make_nuswide, make_twin, split
from cosift.datasets import _body as body
from cosift.datasets._originals import HUMANEVA, concept_sizes
from cosift.datasets._topics import draw_counts, draw_topics
from cosift.experiment.metrics import recovery
from cosift.features import SkeletonFeatures

SCALES = {"ccv": 0.03, "hmdb": 0.05, "humaneva": 0.05, "nuswide": 0.01}
SHAPES = {"ccv": (5000, 3, 20), "hmdb": (2000, 5, 51), "humaneva": (168, 3, 14)}


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def class_counts(data):
    """Samples of every class of every task."""
    pairs = np.stack([data.tasks.astype(str), data.y.astype(str)])
    return np.unique(pairs, axis=1, return_counts=True)[1]


@pytest.mark.parametrize("name", TWINS)
def test_the_seed_decides(name):
    first, again, other = (make_twin(name, scale=SCALES[name], seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(dense(first.X), dense(again.X))
    np.testing.assert_array_equal(first.y, again.y)
    assert first.X.shape[1] == other.X.shape[1]
    assert not np.array_equal(dense(first.X), dense(other.X)[: len(first.y)])


@pytest.mark.parametrize("name", SHAPES)
def test_sizes_and_unequal_classes(name):
    data = make_twin(name, scale=SCALES[name])
    d, n_tasks, n_classes = SHAPES[name]
    counts = class_counts(data)
    assert (data.X.shape[1], data.n_tasks, len(counts)) == (d, n_tasks, n_classes)
    assert counts.min() >= 2
    assert counts.max() > 3 * counts.min()
    assert set(data.truth.private) == set(np.unique(data.tasks))


def test_concepts_are_as_frequent_as_in_the_original():
    sizes = np.array(list(concept_sizes(269_648).values()))
    assert len(sizes) == 81
    np.testing.assert_array_equal(sizes, np.sort(sizes)[::-1])
    np.testing.assert_allclose(sizes[[0, -1]] / 269_648, [0.275, 60 / 269_648], rtol=0.01)
    data = make_nuswide(scale=0.01, seed=1)
    np.testing.assert_array_equal(data.y.sum(axis=0), list(concept_sizes(2696).values()))


@pytest.mark.parametrize("name", TWINS)
def test_description_says_that_nothing_is_real(name):
    data = make_twin(name, scale=SCALES[name])
    assert repr(data).startswith(f"<Dataset {name} twin: {len(data.y)} samples, ")
    assert f"source: SYNTHETIC: made by make_{name}(" in data.describe()
    assert "known to matter: " in data.describe()


@pytest.mark.parametrize("scale", [0, -1, 1.1, float("nan"), 1e-6])
def test_wrong_scales(scale):
    for name in ("ccv", "hmdb", "humaneva"):
        with pytest.raises(ValueError, match="scale must be"):
            make_twin(name, scale=scale)


def test_unknown_names():
    with pytest.raises(ValueError, match=r"name must be one of 'ccv', .* Got 'imagenet'"):
        make_twin("imagenet")


# --- Words ---


@pytest.fixture(scope="module")
def words():
    """Many short documents in two tasks, of three classes and of two: topics, classes, counts."""
    rng = np.random.default_rng(0)
    topics = draw_topics([range(3), range(3, 5)], 40, 12, 6, 60.0, rng)
    classes = rng.integers(5, size=60_000)
    counts = draw_counts(topics, np.eye(5, dtype=np.int8)[classes], np.random.SeedSequence(1))
    return topics, classes, counts.toarray()


def test_blocks_do_not_matter():
    rng = np.random.default_rng(2)
    topics = draw_topics([range(3)], 40, 12, 6, 60.0, rng)
    labels = np.eye(3, dtype=np.int8)[rng.integers(3, size=50)]
    at_once, in_blocks = (
        draw_counts(topics, labels, np.random.SeedSequence(3), block_size=size).toarray()
        for size in (10_000, 7 * 40)
    )
    np.testing.assert_array_equal(at_once, in_blocks)


def test_words_come_in_opposite_pairs(words):
    topics, _, _ = words
    np.testing.assert_allclose(topics.rates.sum(), 60.0)
    # Whatever the class, as many words are expected in all: what one gains, another loses.
    np.testing.assert_allclose(topics.classes @ topics.rates, 0.0, atol=1e-12)
    np.testing.assert_allclose(topics.distracting @ topics.rates, 0.0, atol=1e-12)


def evidence(values, classes):
    """p-value of each column for equal means in all classes, by Wald's test."""
    names = np.unique(classes)
    means = np.array([values[classes == c].mean(axis=0) for c in names])
    errors = np.array([values[classes == c].var(axis=0) / (classes == c).sum() for c in names])
    weights = 1.0 / errors
    centre = (weights * means).sum(axis=0) / weights.sum(axis=0)
    statistic = (weights * (means - centre) ** 2).sum(axis=0)
    return chi2.sf(statistic, len(names) - 1)


@pytest.mark.parametrize("normalised", [False, True])
def test_the_truth_about_words_is_exact(words, normalised):
    topics, classes, counts = words
    lengths = np.maximum(1.0, counts.sum(axis=1, keepdims=True))
    values = counts / lengths if normalised else counts
    for own, private in zip((range(3), range(3, 5)), topics.private, strict=True):
        rows = np.isin(classes, own)
        p = evidence(values[rows], classes[rows])
        truth = np.union1d(topics.shared, private)
        others = np.setdiff1d(np.arange(40), truth)
        assert p[truth].max() < 1e-6
        assert p[others].min() > 0.01 / 40


def test_nothing_about_the_length_tells_the_class(words):
    _, classes, counts = words
    assert evidence(counts.sum(axis=1, keepdims=True), classes)[0] > 0.01


# --- The body ---


@pytest.mark.parametrize("name", HUMANEVA)
def test_the_truth_about_the_body_is_exact(name):
    # All that is random but the action is the same, so what differs depends on the action.
    subject = body.draw_subject(name, np.random.default_rng(0))
    seconds = np.linspace(0.0, 2.0, 50)
    performed = np.array(
        [
            SkeletonFeatures(body.JOINTS).fit_transform(
                body.perform(subject, action, seconds, np.random.default_rng(1))
            )
            for action in body.ACTIONS
        ]
    )
    differ = np.ptp(performed, axis=0).max(axis=0) > 1e-9
    np.testing.assert_array_equal(differ, body.relevant_features(name))


def test_bones_keep_their_lengths():
    subject = body.draw_subject("S2", np.random.default_rng(5))
    frames = body.perform(subject, "Jog", np.linspace(0.0, 3.0, 40), np.random.default_rng(6))
    for j, (joint, (parent, _)) in enumerate(body.BONES.items(), start=1):
        bone = frames[:, j] - frames[:, body.JOINTS.index(parent)]
        length = np.linalg.norm(subject.offsets[j])
        np.testing.assert_allclose(np.linalg.norm(bone, axis=1), length, err_msg=joint)


def test_sequences_are_groups():
    data = make_humaneva(scale=0.1)
    for group in np.unique(data.groups):
        rows = np.flatnonzero(data.groups == group)
        assert np.ptp(rows) == len(rows) - 1
        assert len(set(zip(data.tasks[rows], data.y[rows], strict=True))) == 1
    assert len(np.unique(data.groups)) >= 2 * 14


def test_sfmc_finds_what_is_planted_better_than_fisher():
    # One frame in twenty has a label, three or four of a class and subject.
    found = {"sfmc": [], "fisher": []}
    for seed in range(4):
        data = make_humaneva(scale=0.2, seed=seed)
        drawn = split(data, 0.5, by="groups", seed=seed)
        X = StandardScaler().fit_transform(data.X[drawn.train])
        y = np.where(drawn.labeled(0.05), data.y[drawn.train], None)
        tasks = data.tasks[drawn.train]
        for name, selector in {
            "sfmc": SFMC(1.0, 0.1, 10.0, unlabeled_weight=0.01),
            "fisher": FisherScore(),
        }.items():
            selector.fit(X, y, tasks)
            for task, ranking in zip(selector.tasks_, selector.task_ranking_, strict=True):
                found[name].append(recovery(np.argsort(ranking), data.truth.of(task)))
    assert np.mean(found["sfmc"]) > np.mean(found["fisher"]) + 0.02
    assert np.mean(found["fisher"]) > 136 / 168  # what chance would find
