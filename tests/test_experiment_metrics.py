"""Metrics against scikit-learn and against their formulas written out."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    roc_auc_score,
)

from cosift.experiment.metrics import evaluate, mean_average_precision, recovery, stability


@pytest.mark.parametrize("seed", range(20))
def test_mean_average_precision_is_that_of_scikit_learn(seed):
    """With ties, with classes that hardly occur, and with all samples of a class."""
    rng = np.random.default_rng(seed)
    n, c = rng.integers(1, 40), rng.integers(1, 6)
    decision = rng.integers(-3, 4, size=(n, c)) if seed % 2 else rng.normal(size=(n, c))
    relevant = rng.random((n, c)) < rng.choice([0.05, 0.5, 1.0])
    present = np.flatnonzero(relevant.any(axis=0))
    ours = mean_average_precision(decision, relevant)
    if not present.size:
        assert np.isnan(ours)
        return
    theirs = [average_precision_score(relevant[:, j], decision[:, j]) for j in present]
    assert ours == pytest.approx(np.mean(theirs), abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_metrics_of_classes(n_classes):
    rng = np.random.default_rng(n_classes)
    classes = np.arange(n_classes) * 3
    y = rng.choice(classes, size=50)
    decision = rng.normal(size=(50, n_classes)) + (y[:, None] == classes)
    metrics = evaluate(decision, y, classes)
    predicted = classes[[max(range(n_classes), key=row.__getitem__) for row in decision]]
    binary = [y == own for own in classes]
    assert metrics["accuracy"] == accuracy_score(y, predicted)
    assert metrics["macro_f1"] == pytest.approx(f1_score(y, predicted, average="macro"))
    auc = [roc_auc_score(own, decision[:, i]) for i, own in enumerate(binary)]
    assert metrics["auc"] == pytest.approx(np.mean(auc))
    precision = [average_precision_score(own, decision[:, i]) for i, own in enumerate(binary)]
    assert metrics["map"] == pytest.approx(np.mean(precision))


def test_metrics_of_a_yes_no_task():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=40)
    decision = rng.normal(size=(40, 1)) + y[:, None] - 0.5
    metrics = evaluate(decision, y, np.array([1]))
    assert metrics["accuracy"] == accuracy_score(y, decision[:, 0] > 0)
    assert metrics["macro_f1"] == pytest.approx(f1_score(y, decision[:, 0] > 0))
    assert metrics["auc"] == pytest.approx(roc_auc_score(y, decision[:, 0]))
    assert metrics["map"] == pytest.approx(average_precision_score(y, decision[:, 0]))


def test_classes_that_are_missing_are_left_out():
    """The test rows have neither class 2, which was trained on, nor anything but class 1."""
    decision = np.array([[0.0, 1.0, 0.5], [0.0, 2.0, 0.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metrics = evaluate(decision, np.array([1, 1]), np.array([0, 1, 2]))
    assert metrics["map"] == metrics["accuracy"] == metrics["macro_f1"] == 1.0
    assert np.isnan(metrics["auc"])


def test_recovery_counts_by_hand():
    assert recovery(np.array([3, 1, 0, 2]), np.array([0, 1, 3])) == 1.0
    assert recovery(np.array([2, 0, 1, 3]), np.array([1, 3])) == 0.0
    assert np.isnan(recovery(np.array([0, 1]), np.array([], dtype=int)))


def longhand_stability(selected):
    """Definition and interval of Nogueira, Sechidis and Brown, loop by loop."""
    n, d = len(selected), len(selected[0])
    sizes = [sum(row) for row in selected]
    mean_size = sum(sizes) / n
    shares = [sum(row[f] for row in selected) / n for f in range(d)]
    variance = [n / (n - 1) * share * (1 - share) for share in shares]
    chance = mean_size / d * (1 - mean_size / d)
    value = 1 - sum(variance) / d / chance
    each = []
    for row, k in zip(selected, sizes, strict=True):
        overlap = sum(row[f] * shares[f] for f in range(d)) / d - k * mean_size / d**2
        rest = 2 * k * mean_size / d**2 - k / d - mean_size / d + 1
        each.append((overlap + value / 2 * rest) / chance)
    mean = sum(each) / n
    deviation = (4 / n**2 * sum((own - mean) ** 2 for own in each)) ** 0.5
    return value, value - 1.959963984540054 * deviation, value + 1.959963984540054 * deviation


@pytest.mark.parametrize("seed", range(10))
def test_stability_is_the_formula(seed):
    rng = np.random.default_rng(seed)
    selected = rng.random((rng.integers(2, 8), rng.integers(2, 12))) < rng.random()
    selected[0, 0], selected[0, 1] = True, False
    np.testing.assert_allclose(stability(selected), longhand_stability(selected.astype(int)))


@pytest.mark.parametrize("seed", range(5))
def test_stability_of_equal_sizes_is_the_mean_consistency_of_pairs(seed):
    """Kuncheva's index: the overlap beyond that of chance, as a share of the most there can be."""
    rng = np.random.default_rng(seed)
    n, d, k = 6, 20, 7
    sets = [set(rng.choice(d, k, replace=False).tolist()) for _ in range(n)]
    selected = np.array([[f in chosen for f in range(d)] for chosen in sets])
    pairs = [len(a & b) for a, b in itertools.combinations(sets, 2)]
    consistency = np.mean([(r - k * k / d) / (k - k * k / d) for r in pairs])
    assert stability(selected).value == pytest.approx(consistency)


def test_the_interval_covers_as_it_says():
    """The true value from very many selections, the share of intervals that hold it from 2,000."""
    rng = np.random.default_rng(0)
    shares = rng.random(30)
    truth = stability(rng.random((100_000, 30)) < shares).value
    drawn = (stability(rng.random((100, 30)) < shares) for _ in range(2_000))
    covered = np.mean([low <= truth <= high for _, low, high in drawn])
    assert covered == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    "selected",
    [np.ones((1, 4), dtype=bool), np.ones((3, 4), dtype=bool), np.zeros((3, 4), dtype=bool)],
)
def test_stability_is_not_defined_without_a_choice(selected):
    assert all(np.isnan(value) for value in stability(selected))
