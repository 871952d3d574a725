"""NUS-WIDE from files in its authors' layout: split or whole, held or mapped."""

import shutil

import numpy as np
import pytest
import scipy.sparse as sp
from layouts import write_nuswide

from cosift.datasets import TableError, load_nuswide
from cosift.datasets._originals import NUSWIDE

CONCEPTS = NUSWIDE.split()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nuswide") / "NUS-WIDE"
    return folder, write_nuswide(folder, CONCEPTS)


@pytest.fixture
def copy(tmp_path):
    write_nuswide(tmp_path / "copy", ["sky", "dog"])
    return tmp_path / "copy"


def test_there_are_81_concepts():
    assert len(set(CONCEPTS)) == 81


def test_what_was_written_is_read(written):
    folder, truth = written
    data = load_nuswide(folder)
    assert sp.issparse(data.X)
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X.toarray(), truth.X)
    np.testing.assert_array_equal(data.y, truth.Y)
    assert data.target_names == tuple(CONCEPTS)
    np.testing.assert_array_equal(data.official_test, truth.is_test)
    assert data.n_tasks == 81
    assert repr(data) == "<Dataset nuswide: 70 samples, 500 features (" + repr(data).split("(")[1]


def test_all_images_without_a_split(copy):
    truth = write_nuswide(copy.parent / "same", ["sky", "dog"])
    for side in ("Train", "Test"):
        (copy / "Features" / f"BoW_{side}_int.dat").unlink()
    data = load_nuswide(copy, concepts=["dog"])
    np.testing.assert_array_equal(data.X.toarray(), truth.X[truth.order])
    np.testing.assert_array_equal(data.y[:, 0], truth.Y[truth.order, 1])
    assert data.official_test is None


def test_mapped_is_the_same(written, tmp_path):
    folder, truth = written
    data = load_nuswide(folder, concepts=["zebra", "sky"], memory_map=tmp_path / "X.npy")
    assert isinstance(data.X, np.memmap)
    np.testing.assert_array_equal(data.X, truth.X)
    np.testing.assert_array_equal(data.y, truth.Y[:, [CONCEPTS.index("zebra"), 0]])


@pytest.mark.parametrize("concepts", [[], "sky", ["sky", "sky"], ["sky", "unicorn"]])
def test_wrong_concepts(written, concepts):
    with pytest.raises(ValueError, match=r"concepts must be different ones among sky, clouds"):
        load_nuswide(written[0], concepts=concepts)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("Features/BoW_Test_int.dat", "one file BoW_Test_int.dat, 500 counts a line. Found none"),
        (
            "Groundtruth/TrainTestLabels/Labels_dog_Test.txt",
            "one file Labels_dog_Test.txt, 0 or 1 a line. Found none",
        ),
        ("Groundtruth/TrainTestLabels", "one folder Groundtruth/TrainTestLabels.* Found 0"),
    ],
)
def test_missing_files_are_named(copy, missing, expected):
    path = copy / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(TableError, match=f"expected {expected}"):
        load_nuswide(copy, concepts=["sky", "dog"])


def test_no_folder(tmp_path):
    with pytest.raises(TableError, match=r"nowhere: expected a folder. Found nothing"):
        load_nuswide(tmp_path / "nowhere")


def drop_last_line(text):
    return b"".join(text.splitlines(keepends=True)[:-1])


@pytest.mark.parametrize(
    ("pattern", "change", "message"),
    [
        ("BoW_Train_int.dat", drop_last_line, "40 rows, as many as Labels_sky_Train.txt. Found 39"),
        ("BoW_Train_int.dat", lambda t: t + t, "40 rows, .* Found at least"),
        ("BoW_Test_int.dat", lambda t: t[:-200], "line 30: expected 500 numbers. Found"),
        ("BoW_Train_int.dat", lambda t: t.decode().encode("utf-16"), "line 1: expected 500"),
        ("Labels_dog_Train.txt", drop_last_line, "40 rows, .*sky_Train.txt. Found 39"),
        ("Labels_dog_Test.txt", lambda t: t.replace(b"1", b"3"), "expected 0 or 1. Found 3"),
        ("Labels_sky_Test.txt", lambda t: b"", "expected lines of numbers. Found none"),
    ],
)
def test_broken_files_are_named(copy, pattern, change, message):
    (path,) = copy.rglob(pattern)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(TableError, match=f"{pattern}.*{message}"):
        load_nuswide(copy, concepts=["sky", "dog"])
