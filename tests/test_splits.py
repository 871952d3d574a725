"""Splits: what must hold of every draw, the paper's and honest ones."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosift.datasets import Dataset, LeakageWarning, split


def dataset(y, tasks=None, groups=None, official_test=None):
    y = np.asarray(y)
    names = tuple(f"t{j}" for j in range(y.shape[1])) if y.ndim == 2 else ()
    optional = {"tasks": tasks, "groups": groups, "official_test": official_test}
    given_ones = {name: np.asarray(v) for name, v in optional.items() if v is not None}
    return Dataset("made", np.zeros((len(y), 1)), y, target_names=names, **given_ones)


@st.composite
def problems(draw):
    """A dataset of one or several tasks, or of columns, with groups and an official split."""
    n = draw(st.integers(4, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        y, tasks = (rng.random((n, draw(st.integers(1, 4)))) < 0.2).astype(int), None
    else:
        y = rng.integers(draw(st.integers(1, 6)), size=n).astype(
            draw(st.sampled_from(["i8", "U3"]))
        )
        tasks = rng.integers(draw(st.integers(1, 3)), size=n) if draw(st.booleans()) else None
    groups = rng.integers(draw(st.integers(1, 12)), size=n)
    data = dataset(y, tasks, groups, rng.random(n) < 0.4)
    return data, draw(st.integers(1, n - 1)), draw(st.integers(0, 99))


def task_rows(data):
    if data.tasks is None:
        return [np.arange(len(data.y))]
    return [np.flatnonzero(data.tasks == task) for task in np.unique(data.tasks)]


def classes(y):
    """Every class; of columns every column's 1 and 0."""
    if y.ndim == 1:
        return set(y.tolist())
    return {(j, value) for j, column in enumerate(y.T) for value in column.tolist()}


@settings(deadline=None)
@given(problems(), st.sampled_from(["rows", "groups", "official"]))
def test_what_holds_of_every_split(problem, by):
    data, n_train, seed = problem
    rows_of = task_rows(data)
    if by == "groups" and any(len(np.unique(data.groups[rows])) < 2 for rows in rows_of):
        with pytest.raises(ValueError, match=r"at least two groups in every task"):
            split(data, n_train, by=by, seed=seed)
        return
    if by == "official" and any(data.official_test[rows].all() for rows in rows_of):
        with pytest.raises(ValueError, match=r"every task needs rows for training"):
            split(data, n_train, by=by, seed=seed)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakageWarning)
        draw = split(data, n_train, by=by, seed=seed)
        again = split(data, n_train, by=by, seed=seed)
    # The same seed gives the same split.
    np.testing.assert_array_equal(draw.train, again.train)
    np.testing.assert_array_equal(draw.test, again.test)
    # Ascending, different, apart.
    for rows in (draw.train, draw.test):
        assert (np.diff(rows) > 0).all()
    assert not set(draw.train) & set(draw.test)
    if by == "rows":
        assert len(draw.train) + len(draw.test) == len(data.y)
    elif by == "groups":
        for rows in rows_of:
            train, test = (np.intersect1d(rows, side) for side in (draw.train, draw.test))
            assert not set(data.groups[train]) & set(data.groups[test])
    else:
        np.testing.assert_array_equal(draw.test, np.flatnonzero(data.official_test))
        assert not data.official_test[draw.train].any()
    # Every task's order goes through its own training rows.
    assert len(draw.order) == len(rows_of)
    np.testing.assert_array_equal(np.sort(np.concatenate(draw.order)), np.arange(len(draw.train)))
    for rows, order, needed in zip(rows_of, draw.order, draw.needed, strict=True):
        own = draw.train[order]
        assert set(own) <= set(rows)
        # What is shown first has every class that training rows could have.
        pool = rows if by == "rows" else own
        if by == "official":
            pool = rows[~data.official_test[rows]]
        assert classes(data.y[own[:needed]]) == classes(data.y[pool])


@settings(deadline=None)
@given(problems(), st.lists(st.floats(0.001, 1.0), min_size=2, max_size=4))
def test_labels_shown_grow_with_their_share(problem, shares):
    data, n_train, seed = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakageWarning)
        draw = split(data, n_train, seed=seed)
    before = np.zeros(len(draw.train), dtype=bool)
    for share in sorted(shares):
        shown = draw.labeled(share)
        assert not (before & ~shown).any()
        before = shown
        for order, needed in zip(draw.order, draw.needed, strict=True):
            assert shown[order].sum() == max(needed, round(share * len(order)))
    assert draw.labeled(1.0).all()


@settings(deadline=None)
@given(
    st.lists(st.integers(20, 60), min_size=1, max_size=4), st.floats(0.3, 0.9), st.integers(0, 99)
)
def test_tasks_in_proportion(sizes, share, seed):
    """With two classes everywhere, the number asked for is the number drawn."""
    tasks = np.repeat(np.arange(len(sizes)), sizes)
    data = dataset(np.arange(len(tasks)) % 2, tasks)
    wanted = int(share * len(tasks))
    draw = split(data, wanted, seed=seed)
    assert len(draw.train) == wanted
    drawn = np.bincount(tasks[draw.train], minlength=len(sizes))
    assert (np.abs(drawn - share * np.array(sizes)) < 2).all()


def test_a_share_of_rows():
    data = dataset(np.arange(40) % 2)
    assert len(split(data, 0.25).train) == 10


def test_every_row_is_drawn_equally_often():
    """4,000 draws of 5 of 10 rows: each row half of the time, within five standard errors."""
    data = dataset(np.repeat([0, 1], 5))
    counts = np.zeros(10)
    shown = np.zeros(10)
    for seed in range(4000):
        draw = split(data, 5, seed=seed)
        counts[draw.train] += 1
        shown[draw.train[draw.labeled(0.4)]] += 1
    assert np.abs(counts / 4000 - 0.5).max() < 5 * np.sqrt(0.25 / 4000)
    # Two labels, one of each class, whose members have equal chances.
    assert np.abs(shown / 4000 - 0.2).max() < 5 * np.sqrt(0.16 / 4000)


def test_one_label_of_every_class_at_any_share():
    """27 classes of three tasks, one of them with a single sample: 1% shows one label of each."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.integers(9, size=300) for _ in range(3)]).astype(str)
    y[0] = "lonely"
    tasks = np.repeat(["a", "b", "c"], 300)
    data = dataset(y, tasks)
    for seed in range(5):
        draw = split(data, 500, seed=seed)
        shown = draw.train[draw.labeled(0.01)]
        for task in "abc":
            own = shown[tasks[shown] == task]
            assert sorted(y[own]) == sorted(set(y[tasks == task]))


def test_rare_concepts_are_shown():
    """81 columns, the last with two positives: every column shows a 1 and a 0 at 1%."""
    rng = np.random.default_rng(0)
    Y = (rng.random((2000, 81)) < np.geomspace(0.3, 0.002, 81)).astype(int)
    Y[:, 80] = 0
    Y[[5, 700], 80] = 1
    draw = split(dataset(Y), 1000, seed=1)
    shown = Y[draw.train[draw.labeled(0.01)]]
    assert (shown.max(axis=0) == 1).all()
    assert (shown.min(axis=0) == 0).all()
    assert len(shown) <= 1 + 2 * 81


def test_unlabelled_entries_count_for_nothing():
    y = np.array([0.0, 1.0] * 10)
    y[4:] = np.nan
    text = np.where(np.isnan(y), None, y.astype(str))
    for labels in (y, np.where(np.isnan(y), -1, y).astype(int), text):
        draw = split(dataset(labels), 10, seed=0)
        assert draw.needed == (2,)
        # Unlabelled rows serve for training, and are neither shown nor tested on.
        assert len(draw.train) == 10
        shown = np.sort(draw.train[draw.labeled(0.01)])
        assert sorted(y[shown].tolist()) == [0.0, 1.0]
        assert not np.isnan(y[draw.train[draw.labeled(1.0)]]).any()
        assert not np.isnan(y[draw.test]).any()
        assert not draw.labeled(1.0).all()


def test_a_warning_where_rows_of_a_group_stand_on_both_sides():
    groups = np.repeat(["s1", "s2", "s3"], 10)
    data = dataset(np.arange(30) % 2, groups=groups)
    with pytest.warns(
        LeakageWarning, match=r"3 of 3 groups of made .* by='groups' keeps"
    ) as caught:
        split(data, 15)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split(data, 15, by="groups")
        split(dataset(np.arange(30) % 2), 15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": 0}, "n_train must be a share below 1, or a number of rows from 1 to 9. Got 0"),
        ({"n_train": 10}, "from 1 to 9. Got 10"),
        ({"n_train": 1.5}, "Got 1.5"),
        ({"n_train": -0.5}, "Got -0.5"),
        ({"n_train": 5, "by": "sequence"}, "by must be one of 'rows', .* Got 'sequence'"),
        ({"n_train": 5, "by": "official"}, "by='official' needs an official split; made has none"),
        ({"n_train": 5, "by": "groups"}, "by='groups' needs groups of samples; made has none"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        split(dataset(np.arange(10) % 2), **arguments)


@pytest.mark.parametrize("share", [0, -0.1, 1.1, np.nan])
def test_wrong_shares(share):
    draw = split(dataset(np.arange(10) % 2), 5)
    with pytest.raises(ValueError, match=r"share must be a number above 0 and at most 1"):
        draw.labeled(share)
