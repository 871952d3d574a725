"""Every form of labels, and every error."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cosift.labels import Task, read_tasks

NAN = float("nan")


def read(y, tasks=None, **options):
    if "n_samples" not in options:
        options["n_samples"] = len(y)
    return read_tasks(y, tasks, **options)


def described(tasks):
    """Everything a list of tasks says, dtypes' kinds included, as plain values."""
    return [
        (
            task.name,
            task.rows.tolist(),
            task.classes.dtype.kind,
            task.classes.tolist(),
            task.Y.tolist(),
            task.labeled.tolist(),
        )
        for task in tasks
    ]


def message(text):
    return pytest.raises(ValueError, match=re.escape(text))


# One task


def test_one_task():
    (task,) = read(np.array([3, -1, 5, 3, 9]))
    assert isinstance(task, Task)
    assert task.name == 0
    assert task.rows.tolist() == [0, 1, 2, 3, 4]
    assert task.rows.dtype == np.intp
    assert task.classes.tolist() == [3, 5, 9]
    assert task.Y.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert task.Y.dtype == np.float64
    assert task.labeled.tolist() == [True, False, True, True, True]


def test_two_classes_are_two_columns():
    (task,) = read([0, 1, 1])
    assert task.Y.tolist() == [[1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("y", "dtype"),
    [
        (np.array([1, 2], dtype=np.int16), np.int16),
        (np.array([1, 2], dtype=np.uint8), np.uint8),
        (np.array([1, 2], dtype=np.float32), np.float32),
        (np.array([1.0, 2.0, NAN, -1.0]), np.float64),
        (np.array([False, True]), np.bool_),
        ([False, True, None], np.bool_),
        ([1, 2, None], np.int64),
        ([1, 2.0], np.float64),
        (np.array([1, 2, -1], dtype=object), np.int64),
        (["no", "yes"], np.dtype("<U3")),
        (pd.Series(["no", "yes"], dtype=object), np.dtype("<U3")),
        (np.array(["no", "yes"], dtype=np.dtypes.StringDType()), np.dtype("<U3")),
    ],
)
def test_classes_keep_their_dtype(y, dtype):
    assert read(y)[0].classes.dtype == dtype


INTEGERS = [2, 1, -1, 2, 7, 1]
GAPS = [2, 1, None, 2, 7, 1]


@pytest.mark.parametrize(
    "y",
    [
        INTEGERS,
        tuple(INTEGERS),
        np.array(INTEGERS),
        np.array(INTEGERS, dtype=object),
        GAPS,
        pd.Series(INTEGERS, index=range(10, 16)),
        pd.Series(GAPS, dtype="Int64"),
        pd.Series(GAPS, dtype="object"),
        pd.Series(GAPS, dtype="category").cat.set_categories([7, 1, 2]),
        pd.Categorical(pd.array(GAPS, dtype="Int64")),
        pd.array(GAPS, dtype="Int64"),
        pd.Index(INTEGERS),
        pl.Series(INTEGERS),
        pl.Series(GAPS),
        [2, 1, pd.NA, 2, 7, 1],
        [2, 1, pd.NaT, 2, 7, 1],
        [2, 1, np.datetime64("NaT"), 2, 7, 1],
    ],
    ids=lambda y: f"{type(y).__module__}.{type(y).__name__}-{getattr(y, 'dtype', '')}",
)
def test_integers_in_every_form(y):
    assert described(read(y)) == described(read(np.array(INTEGERS)))


@pytest.mark.parametrize(
    "y",
    [
        [2.0, 1.0, NAN, 2.0, 7.0, 1.0],
        [2, 1, NAN, 2, 7, 1.0],
        np.array(INTEGERS, dtype=float),
        np.array([2.0, 1.0, NAN, 2.0, 7.0, 1.0], dtype=np.float32),
        np.array([2.0, 1.0, None, 2.0, 7.0, 1.0], dtype=object),
        pd.Series(GAPS),
        pd.Series(GAPS, dtype="Float64"),
        pl.Series(GAPS, dtype=pl.Float64),
        pl.Series([2.0, 1.0, NAN, 2.0, 7.0, 1.0]),
    ],
    ids=lambda y: f"{type(y).__module__}.{type(y).__name__}-{getattr(y, 'dtype', '')}",
)
def test_whole_floats_in_every_form(y):
    expected = [(0, [0, 1, 2, 3, 4, 5], "f", *described(read(INTEGERS))[0][3:])]
    assert described(read(y)) == expected


WORDS = ["b", "a", None, "b", "g", "a"]


@pytest.mark.parametrize(
    "y",
    [
        WORDS,
        np.array(WORDS, dtype=object),
        ["b", "a", NAN, "b", "g", "a"],
        ["b", "a", -1, "b", "g", "a"],
        pd.Series(WORDS),
        pd.Series(WORDS, dtype="object"),
        np.array(WORDS, dtype=np.dtypes.StringDType(na_object=None)),
        pd.Series(WORDS, dtype="string"),
        pd.Series(WORDS, dtype="category").cat.set_categories(["g", "a", "b"]),
        pl.Series(WORDS),
        pl.Series(WORDS, dtype=pl.Categorical),
        pl.Series(WORDS, dtype=pl.Enum(["g", "a", "b"])),
    ],
    ids=lambda y: f"{type(y).__module__}.{type(y).__name__}-{getattr(y, 'dtype', '')}",
)
def test_strings_in_every_form(y):
    (words,) = described(read(y))
    (integers,) = described(read(INTEGERS))
    assert words[2:4] == ("U", ["a", "b", "g"])
    assert words[:2] + words[4:] == integers[:2] + integers[4:]


def test_anything_with_an_array_interface():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.array(INTEGERS)

    assert described(read(Wrapped(), n_samples=6)) == described(read(INTEGERS))


@pytest.mark.parametrize(
    ("y", "unlabeled", "labeled"),
    [
        ([0, 1, 2], 2, [True, True, False]),
        ([-1, 1, NAN], None, [True, True, False]),
        ([-1, 1, NAN], NAN, [True, True, False]),
        (["a", "b", "?"], "?", [True, True, False]),
        (np.array(["a", "b", "?"]), "?", [True, True, False]),
        ([0, 1, "?"], "?", [True, True, False]),
        (np.array(["a", "b", ""]), "", [True, True, False]),
        (np.array(["1", "2", "-1"]), None, [True, True, True]),
        (np.array(["1", "2", "-1"]), "-1", [True, True, False]),
        (np.array([1, 2, -1]), "-1", [True, True, True]),
        (np.array([1, 2, 255], dtype=np.uint8), -1, [True, True, True]),
    ],
)
def test_marker(y, unlabeled, labeled):
    assert read(y, unlabeled=unlabeled)[0].labeled.tolist() == labeled


# Several tasks


def test_tasks_have_rows_and_classes_of_their_own():
    y = ["up", "cat", "down", None, "dog", "cow", "up"]
    first, second = read(y, ["B", "A", "B", "A", "A", "A", "B"])
    assert (first.name, second.name) == ("A", "B")
    assert type(first.name) is str
    assert first.rows.tolist() == [1, 3, 4, 5]
    assert second.rows.tolist() == [0, 2, 6]
    assert first.classes.tolist() == ["cat", "cow", "dog"]
    assert second.classes.tolist() == ["down", "up"]
    assert first.Y.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert second.Y.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert first.labeled.tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    "form",
    [
        list,
        np.array,
        pd.Series,
        pl.Series,
        lambda ids: pd.Series(ids, dtype="category"),
        lambda ids: np.array(ids, dtype=object),
    ],
)
@pytest.mark.parametrize("ids", [[10, 9, 9, 10], ["x", "b", "b", "x"], [2.5, 0.5, 0.5, 2.5]])
def test_task_ids_in_every_form(form, ids):
    result = read([0, 1, 2, 3], form(ids))
    assert [task.name for task in result] == sorted(set(ids))
    assert [task.rows.tolist() for task in result] == [[1, 2], [0, 3]]


def test_marker_is_an_ordinary_task_id():
    assert [task.name for task in read([0, 1, 0, 1], [-1, -1, 3, 3])] == [-1, 3]


@given(st.data())
def test_row_permutation_permutes_blocks(data):
    n_tasks = data.draw(st.integers(1, 3))
    extra = data.draw(
        st.lists(st.tuples(st.integers(0, n_tasks - 1), st.sampled_from([-1, 0, 4, 6])))
    )
    pairs = [(task, label) for task in range(n_tasks) for label in (0, 4)] + extra
    order = np.array(data.draw(st.permutations(range(len(pairs)))))
    ids, y = np.array(pairs).T
    before, after = read(y, ids), read(y[order], ids[order])
    assert len(before) == len(after) == n_tasks
    for old, new in zip(before, after, strict=True):
        assert old.name == new.name
        assert old.classes.tolist() == new.classes.tolist()
        assert (np.diff(new.rows) > 0).all()
        came_from = np.searchsorted(old.rows, order[new.rows])
        assert (old.rows[came_from] == order[new.rows]).all()
        assert (old.Y[came_from] == new.Y).all()
        assert (old.labeled[came_from] == new.labeled).all()
        assert (new.Y.sum(axis=1) == new.labeled).all()
        assert (new.classes[new.Y.argmax(axis=1)] == y[order][new.rows])[new.labeled].all()


@given(st.lists(st.sampled_from([0, 1, 2, None])), st.data())
def test_forms_of_the_same_labels_agree(labels, data):
    labels = data.draw(st.permutations([*labels, 0, 1]))
    words = [None if label is None else "abc"[label] for label in labels]
    expected = described(read([-1 if label is None else label for label in labels]))
    for y in (labels, pd.Series(labels, dtype="Int64"), pl.Series(labels, dtype=pl.Int8)):
        assert described(read(y)) == expected
    floats = np.array(labels, dtype=float)
    for y in (floats, pd.Series(floats), pl.Series(floats)):
        assert [task[3:] for task in described(read(y))] == [task[3:] for task in expected]
    for y in (words, pd.Series(words, dtype="string"), pl.Series(words, dtype=pl.String)):
        assert [task[4:] for task in described(read(y))] == [task[4:] for task in expected]


# Annotations: two-dimensional y

GRID = [[0, 1, -1], [1, -1, 0], [1, 0, 1]]


@pytest.mark.parametrize(
    "y",
    [
        GRID,
        np.array(GRID),
        np.array(GRID, dtype=float),
        np.asfortranarray(GRID),
        np.array([[0, 1, None], [1, None, 0], [1, 0, 1]], dtype=object),
        [[0, 1, None], [1, None, 0], [1, 0, 1]],
        [[0, 1, NAN], [1, NAN, 0], [1, 0, 1]],
        np.array([[0, 1, NAN], [1, NAN, 0], [1, 0, 1]]),
    ],
)
def test_annotations(y):
    result = read(y)
    assert [task.name for task in result] == [0, 1, 2]
    assert [task.Y.tolist() for task in result] == [
        [[0], [1], [1]],
        [[1], [0], [0]],
        [[0], [0], [1]],
    ]
    assert [task.labeled.tolist() for task in result] == [
        [True, True, True],
        [True, False, True],
        [False, True, True],
    ]
    for task in result:
        assert task.rows is result[0].rows
        assert task.rows.tolist() == [0, 1, 2]
        assert task.classes.tolist() == [0, 1]
        assert task.Y.dtype == np.float64


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(GRID, columns=["sky", "sea", "sun"]),
        pd.DataFrame(GRID, columns=["sky", "sea", "sun"], index=[5, 5, 1]).replace(-1, NAN),
        pd.DataFrame(GRID, columns=["sky", "sea", "sun"], dtype="Int64").replace(-1, pd.NA),
        pl.DataFrame(GRID, schema=["sky", "sea", "sun"], orient="row"),
        pl.DataFrame(
            {"sky": [False, True, True], "sea": [True, None, False], "sun": [None, False, True]}
        ),
    ],
)
def test_annotations_in_frames_are_named_by_column(frame):
    expected = [
        (name, *rest)
        for name, (_, *rest) in zip(["sky", "sea", "sun"], described(read(GRID)), strict=True)
    ]
    assert described(read(frame)) == expected


def test_frame_with_repeated_column_names():
    frame = pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"])
    first, second = read(frame)
    assert (first.name, first.Y.tolist()) == ("a", [[0], [1]])
    assert (second.name, second.Y.tolist()) == ("a", [[1], [0]])


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse_annotations_are_fully_labeled(form):
    dense = np.array([[0, 1], [1, 0], [0, 0]])
    assert described(read(form(dense), n_samples=3)) == described(read(dense))


def test_single_column_is_one_annotation():
    (task,) = read([[0], [1], [-1]])
    assert task.Y.shape == (3, 1)


# Errors


def test_y_is_needed():
    with message("requires y to be passed, but the target y is None"):
        read_tasks(None, n_samples=3)


@pytest.mark.parametrize("y", [3, np.zeros((2, 2, 2))])
def test_dimensions_of_y(y):
    with message(f"y must be one- or two-dimensional. Got shape {np.shape(y)}."):
        read_tasks(y, n_samples=2)


@pytest.mark.parametrize("y", [[0, 1], [[0, 1], [1, 0]], pd.Series([0, 1]), sp.eye_array(2)])
def test_length_of_y(y):
    with message("y must have one entry for each of the 3 samples of X. Got 2."):
        read(y, n_samples=3)


def test_length_of_tasks():
    with message("tasks must have one entry for each of the 2 samples of X. Got 3."):
        read([0, 1], [0, 0, 0])


def test_dimensions_of_tasks():
    with message("tasks must be one-dimensional. Got shape (2, 1)."):
        read([0, 1], [[0], [0]])


@pytest.mark.parametrize("gap", [None, NAN, pd.NA])
def test_tasks_must_not_be_missing(gap):
    with message("Got 1 missing ids, the first at row 2;"):
        read([0, 1, 1], ["a", "a", gap])


def test_tasks_of_mixed_kinds():
    with message("tasks must hold either numbers or strings. Got both: 1 and 'a'."):
        read([0, 1, 1], ["a", 1, "b"])


@pytest.mark.parametrize("y", [["a", 1, 2], np.array([1, "a", 2], dtype=object)])
def test_labels_of_mixed_kinds(y):
    with message("y must hold either numbers or strings. Got both: 1 and 'a'."):
        read(y)


@pytest.mark.parametrize("y", [[datetime.date(2020, 1, 1), 1], [[0, 1], [1]], [1, b"a"]])
def test_labels_that_are_neither(y):
    with pytest.raises(ValueError, match=r"y must hold numbers or strings. Got .* of type "):
        read(y)


@pytest.mark.parametrize("dtype", ["S1", "M8[D]", "complex"])
def test_dtypes_that_are_neither(dtype):
    with pytest.raises(ValueError, match=r"y must hold numbers or strings. Got dtype "):
        read(np.array([0, 1]).astype(dtype))


def test_string_that_spells_the_marker():
    with message("y holds the string '-1', but unlabeled is the number -1. Pass unlabeled='-1'"):
        read(np.array(["cat", "dog", -1]))


@pytest.mark.parametrize("y", [[0.5, 1.0], np.array([0.0, 1.0, NAN, 2.25]), pl.Series([0.1, 3])])
def test_continuous_labels(y):
    with message("Unknown label type: continuous."):
        read(y)


@pytest.mark.parametrize("y", [[0, 1, float("inf")], np.array([0, 1, -np.inf])])
def test_infinite_labels(y):
    with message("y contains infinity"):
        read(y)


@pytest.mark.parametrize("y", [[NAN, NAN], [None, None], pd.Series([pd.NA, pd.NA]), []])
def test_nothing_labeled(y):
    with message("y has no labelled sample: every entry is missing."):
        read(y)


def test_everything_marked():
    with message("every entry is missing or -1, which means unlabelled (see unlabeled=)."):
        read([-1, -1])


def test_task_without_labels_is_named():
    with message("task 'b' has no labelled sample"):
        read([0, 1, -1], ["a", "a", "b"])


def test_task_with_one_class_is_named():
    with message("task 'b' must have at least two classes") as error:
        read([0, 1, 7, 7], ["a", "a", "b", "b"])
    assert "Got one class only: 7." in str(error.value)
    assert "means unlabelled" not in str(error.value)


def test_minus_one_and_one_is_a_trap():
    with message("Got one class only: 1. -1 means unlabelled; if it is a class here, pass unla"):
        read([-1, 1, 1, -1])
    assert read([-1, 1, 1, -1], unlabeled=None)[0].classes.tolist() == [-1, 1]


def test_missing_values_are_not_blamed_on_the_marker():
    with message("Got one class only: 1.") as error:
        read([NAN, 1, 1, NAN])
    assert "means unlabelled" not in str(error.value)


def test_tasks_and_columns_exclude_each_other():
    with message("tasks cannot be combined with a two-dimensional y"):
        read(GRID, [0, 0, 0])


@pytest.mark.parametrize(
    ("y", "value", "column"),
    [
        ([[0, 1], [1, 2]], "2", "1"),
        ([[0, 0.5], [1, 1]], "0.5", "1"),
        ([[0, float("inf")], [1, 1]], "inf", "1"),
        ([["0", 1], ["1", 1]], "'0'", "0"),
        (pd.DataFrame({"a": [0, 1], "b": [0, 3]}), "3", "'b'"),
        (pl.DataFrame({"a": [0, 1], "b": [0, 3]}), "3", "'b'"),
        (sp.csr_array([[0, 1], [1, 4]]), "4", "1"),
    ],
)
def test_annotations_must_be_binary(y, value, column):
    with message(f"Got {value} in column {column} of y.") as error:
        read(y, n_samples=2)
    assert "ravel" not in str(error.value)


def test_column_of_class_labels():
    with message("Got 2 in column 0 of y. For class labels, pass a one-dimensional y: y.ravel()."):
        read([[1], [2], [3]])


@pytest.mark.parametrize("value", [0, 1])
def test_constant_annotation_is_named(value):
    with message(
        f"column 'b' of y must have at least two classes among its labelled samples. "
        f"Got one class only: {value}."
    ):
        read(pd.DataFrame({"a": [0, 1, 1], "b": [value, value, NAN]}))


def test_annotation_without_labels_is_named():
    with message("column 1 of y has no labelled sample"):
        read([[0, -1], [1, -1]])


def test_no_columns():
    with message("y must have at least one column. Got shape (2, 0)."):
        read(np.zeros((2, 0)))


@pytest.mark.parametrize("unlabeled", [[-1], object(), 1j])
def test_marker_must_be_a_scalar(unlabeled):
    with message("unlabeled must be a number, a string or None."):
        read([0, 1], unlabeled=unlabeled)


@pytest.mark.parametrize(
    "y",
    [
        np.array([0.0, 1.0, NAN, -1.0]),
        np.array(["a", "b", None, -1], dtype=object),
        np.array([[0, 1], [1, -1], [1, 0], [NAN, 1]]),
    ],
)
def test_input_is_left_alone(y):
    tasks = None if y.ndim == 2 else np.array([1, 1, 1, 1])
    before = y.copy()
    y.flags.writeable = False
    read(y, tasks)
    np.testing.assert_array_equal(y, before)
