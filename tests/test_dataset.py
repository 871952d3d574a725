"""What a Dataset refuses, counts and says."""

import numpy as np
import pytest
import scipy.sparse as sp

from cosift.datasets import Dataset, Truth

X = np.eye(4)
Y = np.array(["a", "b", "a", "c"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": Y[:3]}, "y must have one entry for each of the 4 samples. Got 3"),
        ({"tasks": Y[:3]}, "tasks must have one entry"),
        ({"groups": Y[:1]}, "groups must have one entry"),
        ({"official_test": np.ones(5, bool)}, "official_test must have one entry"),
        (
            {"feature_names": np.array(["a"])},
            "feature_names must name each of the 4 features. Got 1",
        ),
        ({"y": np.ones((4, 2))}, "target_names must name each of the 2 columns of y. Got 0"),
        ({"y": np.ones((4, 2)), "tasks": Y, "target_names": ("a", "b")}, "tasks must be None"),
        ({"X": np.ones(4)}, r"X must have rows and columns. Got shape \(4,\)"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Dataset(**{"name": "made", "X": X, "y": Y} | arguments)


def test_number_of_tasks():
    assert Dataset("d", X, Y).n_tasks == 1
    assert Dataset("d", X, Y, tasks=np.array([1, 1, 2, 2])).n_tasks == 2
    assert Dataset("d", X, np.ones((4, 3)), target_names=("u", "v", "w")).n_tasks == 3


def test_in_print():
    data = Dataset(
        "pets",
        sp.csr_array(X),
        Y,
        tasks=np.array(["Ann", "Ann", "Bob", "Bob"]),
        groups=np.array([1, 1, 2, 3]),
        official_test=np.array([True, False, False, False]),
        truth=Truth(np.array([0, 2]), {"Ann": np.array([1])}),
        provenance={"source": "made up"},
    )
    assert repr(data) == "<Dataset pets: 4 samples, 4 features (25.00% stored), 2 tasks>"
    assert str(data).splitlines() == [
        "pets: 4 samples, 4 features (25.00% stored), 2 tasks",
        "  Ann: 2 samples, 2 classes: a 1, b 1",
        "  Bob: 2 samples, 2 classes: a 1, c 1",
        "  groups: 3",
        "  official split: 1 test samples",
        "  known to matter: 2 shared, 1 private",
        "  source: made up",
    ]


def test_unlabelled_samples_are_no_class():
    text = np.array(["a", None, None, "b"], dtype=object)
    assert "4 samples, 2 classes: a 1, b 1; 2 unlabelled" in Dataset("d", X, text).describe()
    numbers = np.array([0.0, np.nan, 1.0, 1.0])
    assert "4 samples, 2 classes: 0 1, 1 2; 1 unlabelled" in Dataset("d", X, numbers).describe()
    minus = np.array([0, -1, -1, 3])
    assert "4 samples, 2 classes: 0 1, 3 1; 2 unlabelled" in Dataset("d", X, minus).describe()
    columns = np.array([[1, np.nan], [0, np.nan], [1, 1], [0, -1]])
    shown = Dataset("d", X, columns, target_names=("u", "v")).describe()
    assert "  u: 2 positive of 4" in shown
    assert "  v: 1 positive of 1" in shown


def test_long_lists_are_cut():
    many = Dataset("d", np.eye(40), np.arange(40), tasks=np.arange(40) % 20)
    lines = many.describe().splitlines()
    assert len(lines) == 13
    assert lines[-1] == "  ... and 9 more tasks"
    classes = Dataset("d", np.eye(40), np.arange(40)).describe()
    assert classes.endswith("10 1, ... and 29 more classes")


def test_truth():
    truth = Truth(np.array([1, 4]), {"a": np.array([0]), "b": np.array([7, 9])})
    assert truth.of("b").tolist() == [1, 4, 7, 9]
    assert truth.of("c").tolist() == [1, 4]
    assert truth.all.tolist() == [0, 1, 4, 7, 9]


def test_indices_are_as_narrow_as_liblinear_needs_them():
    wide = sp.csr_array(np.eye(3))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    X = Dataset("wide", wide, np.array([0, 1, 0])).X
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert wide.indices.dtype == np.int64
    np.testing.assert_array_equal(X.toarray(), np.eye(3))


def test_columns_of_labels_have_their_names():
    data = Dataset("sea", X, np.eye(4, 2, dtype=np.int8), target_names=("sky", "sea"))
    assert data.named_y.columns == ["sky", "sea"]
    np.testing.assert_array_equal(data.named_y.to_numpy(), data.y)
    assert Dataset("one", X, Y).named_y is Y
