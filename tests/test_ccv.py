"""CCV from files in its authors' layout, and from their own labels where these are at hand."""

import shutil
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from layouts import CCV_CATEGORIES, write_ccv

from cosift.datasets import TableError, load_ccv
from cosift.datasets._originals import CCV
from cosift.datasets.ccv import WORDS

SCENES = {"Beach", "Playground"}
OBJECTS = {"Cat", "Dog", "Bird"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ccv")
    return folder, write_ccv(folder, kinds=("STIP", "MFCC"))


@pytest.fixture
def copy(written, tmp_path):
    return shutil.copytree(written[0], tmp_path / "ccv")


def group_of(category):
    return "scenes" if category in SCENES else "objects" if category in OBJECTS else "events"


def test_what_was_written_is_read(written):
    folder, truth = written
    data = load_ccv(folder)
    kept = truth.Y.sum(axis=1) == 1
    assert sp.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), truth.bags["STIP"][kept])
    labels = np.array(CCV_CATEGORIES)[truth.Y[kept].argmax(axis=1)]
    np.testing.assert_array_equal(data.y, labels)
    assert data.tasks.tolist() == [group_of(label) for label in labels]
    np.testing.assert_array_equal(data.official_test, truth.is_test[kept])
    assert data.feature_names[[0, 4999]].tolist() == ["STIP0000", "STIP4999"]
    assert "2 videos of no category and 2 of several" in data.describe()


def test_bags_stand_side_by_side(written):
    folder, truth = written
    data = load_ccv(folder, features=["MFCC", "STIP"])
    assert data.X.shape[1] == len(data.feature_names) == 9000
    both = np.hstack([truth.bags["MFCC"], truth.bags["STIP"]])
    np.testing.assert_array_equal(data.X.toarray(), both[truth.Y.sum(axis=1) == 1])
    assert data.feature_names[4000] == "STIP0000"


def test_groups_of_ones_own(written):
    folder, truth = written
    groups = {"pets": ["Cat", "Dog"], "balls": ["Baseball", "Basketball", "Soccer"]}
    data = load_ccv(folder, groups=groups)
    kept = [CCV_CATEGORIES.index(name) for own in groups.values() for name in own]
    own = truth.Y[:, kept].sum(axis=1) == 1
    assert data.X.shape[0] == own.sum()
    for task, names in groups.items():
        assert set(data.y[data.tasks == task]) == set(names)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"pets": ["Cat", "Mouse"]}, "groups must consist of Baseball, .* Got 'Mouse' in 'pets'"),
        ({"a": ["Cat"], "b": ["Cat"]}, "groups must not overlap. Got 'Cat' in 'a' and 'b'"),
        ({}, "groups must name classes. Got {}"),
    ],
)
def test_wrong_groups(written, groups, message):
    with pytest.raises(ValueError, match=message):
        load_ccv(written[0], groups=groups)


@pytest.mark.parametrize("features", ["HOG", [], ["STIP", "HOG"]])
def test_wrong_features(written, features):
    with pytest.raises(ValueError, match=r"features must be among 'STIP', 'SIFT', 'MFCC'"):
        load_ccv(written[0], features=features)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("categoryName.txt", "one file categoryName.txt, a name a line"),
        ("trainLabel.txt", "one file trainLabel.txt, 0 or 1 for each category"),
        ("testVidID.txt", "one file testVidID.txt, a video's id a line"),
        ("STIP-testFeature.txt", r"one file STIP-testFeature\*, 5000 numbers a line"),
    ],
)
def test_missing_files_are_named(copy, missing, expected):
    (copy / missing).unlink()
    with pytest.raises(TableError, match=f"expected {expected}. Found none"):
        load_ccv(copy)


def test_folders(copy, tmp_path):
    with pytest.raises(TableError, match=r"nowhere: expected a folder. Found nothing"):
        load_ccv(tmp_path / "nowhere")
    with pytest.raises(TableError, match=r"categoryName.txt: expected a folder. Found a file"):
        load_ccv(copy / "categoryName.txt")
    shutil.copy(copy / "STIP-testFeature.txt", copy / "STIP-testFeature.old")
    with pytest.raises(TableError, match=r"one file STIP-testFeature\*.* Found 2: .*old.*txt"):
        load_ccv(copy)


def drop_last_line(text):
    return b"".join(text.splitlines(keepends=True)[:-1])


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("trainLabel.txt", drop_last_line, "expected 25 rows, as many as trainVidID.txt. Found 24"),
        ("testVidID.txt", drop_last_line, "testLabel.txt: expected 22 rows.* Found at least 23"),
        ("STIP-testFeature.txt", drop_last_line, "expected 23 rows.* Found 22"),
        ("STIP-trainFeature.txt", lambda t: t[:-3000], "line 25: expected 5000 numbers. Found"),
        ("STIP-trainFeature.txt", lambda t: t.replace(b" ", b","), "line 1: expected 5000 numbers"),
        ("trainLabel.txt", lambda t: b"2" + t[1:], "line 1: expected 0 or 1. Found 2"),
        ("trainLabel.txt", lambda t: t.decode().encode("utf-16"), "line 1: expected 20 numbers"),
        (
            "trainVidID.txt",
            lambda t: t.decode().encode("utf-16"),
            "cannot be read as text in UTF-8",
        ),
        ("trainVidID.txt", lambda t: b"", "expected lines of text. Found none"),
        ("categoryName.txt", drop_last_line, "the 20 categories.* 19 lines.*'Playground'"),
        ("categoryName.txt", lambda t: t + b"\nCat", "each once. Found 21 lines"),
        ("categoryName.txt", lambda t: t.replace(b"Cat", b"Rat"), "differ in 'Cat', 'Rat'"),
    ],
)
def test_broken_files_are_named(copy, file, change, message):
    (copy / file).write_bytes(change((copy / file).read_bytes()))
    named = message if "txt:" in message else f"{file}.*{message}"
    with pytest.raises(TableError, match=named):
        load_ccv(copy)


def test_sides_mixed_up_are_noticed(copy):
    # Other words: the number of columns is wrong; other videos: the number of rows.
    shutil.copy(copy / "MFCC-trainFeature.txt", copy / "STIP-trainFeature.txt")
    with pytest.raises(TableError, match=r"STIP-trainFeature.txt, line 1: expected 5000 numbers"):
        load_ccv(copy)
    shutil.copy(copy / "trainVidID.txt", copy / "testVidID.txt")
    with pytest.raises(TableError, match=r"testVidID.txt, line 1: .* Found 'train0000xyz'"):
        load_ccv(copy)


def test_no_usable_video(copy):
    for side in ("train", "test"):
        path = copy / f"{side}Label.txt"
        path.write_text(path.read_text().replace("1", "0"))
    with pytest.raises(TableError, match=r"expected videos of one category. Found none"):
        load_ccv(copy)


def test_the_authors_labels(real_data, tmp_path, monkeypatch):
    """Their 9,317 videos: those of one category are the ones in the prepared file of views."""
    folder = shutil.copytree(real_data / "ccv" / "official_labels", tmp_path / "ccv")
    sizes = {
        side: len((folder / f"{side}VidID.txt").read_text().split()) for side in ("train", "test")
    }
    assert sizes == {"train": 4659, "test": 4658}
    folder.chmod(0o755)
    monkeypatch.setitem(WORDS, "STIP", 20)
    for side, size in sizes.items():  # their bags of words are not at hand
        row = " ".join(["1"] + ["0"] * 19) + "\n"
        with (folder / f"STIP-{side}Feature.txt").open("w") as file:
            file.writelines([row] * size)
    data = load_ccv(folder)
    views = np.load(real_data / "ccv" / "ccv_60d.npz")
    assert data.X.shape == (6773, 20)
    assert data.X.nnz == 6773
    np.testing.assert_array_equal(data.y, views["category_names"][views["y"]])
    np.testing.assert_array_equal(data.official_test, views["is_test"] == 1)
    assert "1996 videos of no category and 548 of several" in data.describe()
    assert Counter(data.tasks.tolist()) == Counter(map(group_of, data.y))


def test_twins_have_the_authors_frequencies(real_data):
    Y = np.load(real_data / "ccv" / "ccv_official_labels_9317x20.npz")["Y"]
    names = (real_data / "ccv" / "official_labels" / "categoryName.txt").read_text().split()
    counts = {
        label: int(count)
        for line in CCV.values()
        for label, count in (entry.split() for entry in line.split(", "))
    }
    assert counts == dict(zip(names, Y.sum(axis=0).tolist(), strict=True))
