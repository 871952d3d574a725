"""A tiny experiment, and what tests ask of its results."""

import numpy as np

from cosift.datasets import Dataset, Truth, make_related_tasks
from cosift.experiment import Plan


def tiny_data(n_samples=30, n_classes=2, seed=1, **fields):
    made = make_related_tasks(
        2, n_samples, 10, n_classes=n_classes, n_shared=3, n_private=1, noise=1.5, seed=seed
    )
    truth = Truth(made.shared, dict(enumerate(made.private)))
    return Dataset("tiny", made.X, made.y_true, tasks=made.tasks, truth=truth, **fields)


def tiny_plan(data, methods=("all-features", "fisher-score", "fssi"), **settings):
    given = {
        "labeled_percent": [20, 100],
        "repeats": 2,
        "weights": [0.1, 10],
        "n_features": [2, 5],
        "tuning": "oracle",
        **settings,
    }
    return Plan.of(data, methods, **given)


def annotated_data(n=60, d=8, seed=0):
    """Three yes/no questions about the same samples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, :3] + 0.5 * rng.normal(size=(n, 3)) > 0.4).astype(int)
    return Dataset("annotated", X, y, target_names=("red", "green", "blue"))


def assert_same_results(some, others):
    """All that is not a time, to the bit."""
    assert some.metrics.equals(others.metrics)
    assert some.selected().equals(others.selected())
    assert some.cells().equals(others.cells())
    columns = ["alpha", "beta", "gamma", "n_features", "tuning_score", "objective", "dual_gap"]
    assert some.choices.select(columns).equals(others.choices.select(columns))
