"""Roles of columns, several files as tasks, and tables that people really have."""

import re

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.io import loadmat
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from cosift.datasets import TableError, read_table

TEXT = """who,run,size,kind,weight,note
Ann,1,1.5,cat,3,good
Ann,1,2.5,,4,bad
Bob,2,0.5,dog,5,good
Bob,3,1.0,cat,6,bad
"""

TEXTS = ["who", "kind", "note"]


@pytest.fixture
def pets(tmp_path):
    path = tmp_path / "pets.csv"
    path.write_text(TEXT)
    return path


def test_roles(pets):
    data = read_table(pets, target="kind", task="who", group="run", ignore=["note"])
    np.testing.assert_array_equal(data.X, [[1.5, 3], [2.5, 4], [0.5, 5], [1, 6]])
    assert data.feature_names.tolist() == ["size", "weight"]
    assert data.y.tolist() == ["cat", None, "dog", "cat"]
    assert data.tasks.tolist() == ["Ann", "Ann", "Bob", "Bob"]
    assert data.groups.tolist() == [1, 1, 2, 3]
    assert data.provenance["source"] == str(pets)
    assert read_table(str(pets), target="kind", ignore=["note", "who"]).tasks is None


def test_one_column_in_two_roles(pets):
    """A sequence may be a task; what stands aside twice is no feature once."""
    data = read_table(pets, target="kind", task="who", group="who", ignore=["note"])
    np.testing.assert_array_equal(data.tasks, data.groups)
    assert data.feature_names.tolist() == ["run", "size", "weight"]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({}, "target must name a column. The columns are 'run', 'size', 'weight'"),
        ({"target": "knd"}, "no column 'knd'. Did you mean 'kind'?"),
        ({"target": "kind", "task": "whom"}, "no column 'whom'. Did you mean 'who'?"),
        ({"target": "kind", "group": "zzz"}, "no column 'zzz'. The columns are 'who', 'run'"),
        ({"target": "run", "ignore": ["nte", *TEXTS]}, "no column 'nte'. The columns are 'size'"),
        (
            {"target": "who", "task": "kind"},
            "every row needs a task. Found none in row 2, .*'kind'",
        ),
        ({"target": "who", "group": "kind"}, "every row needs a group. Found none in row 2"),
        ({"target": ["size", "run"]}, "each of several targets must hold 0 and 1.* 1.5 in 'size'"),
        ({"target": ["who", "run"]}, "must hold 0 and 1.* Found Ann in 'who'"),
        ({"target": "kind", "ignore": ["note"]}, "Found String in 'who', such as 'Ann'"),
        ({"target": "kind", "task": "kind"}, "'kind' cannot be the target and the task as well"),
        ({"target": ["run", "who"], "group": "who"}, "'who' cannot be the target and the group"),
    ],
)
def test_wrong_roles(pets, roles, message):
    with pytest.raises(TableError, match=message):
        read_table(pets, **{"ignore": TEXTS} | roles)


def test_several_targets(tmp_path):
    frame = pl.DataFrame({"a": [1.0, 2, 3], "b": [1, 2, 3], "sky": [0, 1, 1], "sea": [1, None, 0]})
    frame.write_csv(tmp_path / "t.csv")
    data = read_table(tmp_path / "t.csv", target=["sky", "sea"])
    np.testing.assert_array_equal(data.y, [[0, 1], [1, np.nan], [1, 0]])
    assert data.target_names == ("sky", "sea")
    assert data.n_tasks == 2
    # A list of one is one target.
    assert read_table(tmp_path / "t.csv", target=["sky"], ignore=["sea"]).y.tolist() == [0, 1, 1]
    with pytest.raises(TableError, match=r"task is for one target. Found the targets 'sky', 'sea'"):
        read_table(tmp_path / "t.csv", target=["sky", "sea"], task="a")


def test_targets_that_a_file_declares_can_be_ignored(tmp_path):
    heads = "".join(f"@attribute {name} numeric\n" for name in ("x", "sky", "sea"))
    (tmp_path / "m.arff").write_text(f"@relation m\n{heads}@data\n1,0,1\n2,0,0\n")
    labels = "".join(f'<label name="{name}"/>' for name in ("sky", "sea"))
    (tmp_path / "m.xml").write_text(f"<labels>{labels}</labels>")
    assert read_table(tmp_path / "m.arff").target_names == ("sky", "sea")
    data = read_table(tmp_path / "m.arff", ignore=["sky"])
    assert data.y.tolist() == [1, 0]
    assert data.feature_names.tolist() == ["x"]


def test_files_are_tasks(tmp_path):
    first, second = tmp_path / "amazon.csv", tmp_path / "webcam.tsv"
    first.write_text("a,b,y\n1,2,u\n3,4,v\n")
    second.write_text("b\ty\ta\n6\tu\t5\n")  # the same columns in another order
    data = read_table([first, second], target="y")
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4], [5, 6]])
    assert data.tasks.tolist() == ["amazon", "amazon", "webcam"]
    assert data.name == tmp_path.name
    second.write_text("a\tc\ty\n1\t2\tu\n")
    message = r"webcam.tsv: expected the features of .*amazon.csv. Missing: 'b'. Not there: 'c'"
    with pytest.raises(TableError, match=message):
        read_table([first, second], target="y")
    with pytest.raises(TableError, match=r"different names. Found 'amazon', 'amazon'"):
        read_table([first, first], target="y")
    with pytest.raises(TableError, match=r"at least one file. Got none"):
        read_table([], target="y")


def test_files_with_a_task_column_are_joined(tmp_path):
    (tmp_path / "a.csv").write_text("x,who,y\n1,Ann,0\n2,Bob,1\n")
    (tmp_path / "b.csv").write_text("x,who,y\n3,Ann,u\n")
    data = read_table([tmp_path / "a.csv", tmp_path / "b.csv"], target="y", task="who")
    assert data.tasks.tolist() == ["Ann", "Bob", "Ann"]
    assert data.y.tolist() == ["0", "1", "u"]  # text in one file is text in all


def test_sparse_files_of_different_width(tmp_path):
    rng = np.random.default_rng(0)
    parts = {"books": sp.random_array((6, 9), density=0.3, rng=rng).toarray()}
    parts["dvd"] = parts["books"][:, :5].copy()
    parts["books"][0, 8] = parts["dvd"][0, 4] = 1.0
    for name, X in parts.items():
        dump_svmlight_file(
            X, np.arange(6) % 2, str(tmp_path / f"{name}.svmlight"), zero_based=False
        )
    data = read_table([tmp_path / "dvd.svmlight", tmp_path / "books.svmlight"])
    assert sp.issparse(data.X)
    wide = np.pad(parts["dvd"], ((0, 0), (0, 4)))
    np.testing.assert_allclose(data.X.toarray(), np.vstack([wide, parts["books"]]), rtol=1e-14)
    assert data.feature_names.tolist() == list("123456789")


def test_files_may_have_columns_of_their_own_to_ignore(tmp_path):
    (tmp_path / "a.csv").write_text("x,id,y\n1,7,0\n")
    (tmp_path / "b.csv").write_text("x,y\n3,1\n")
    data = read_table([tmp_path / "a.csv", tmp_path / "b.csv"], target="y", ignore=["id"])
    np.testing.assert_array_equal(data.X, [[1], [3]])


def test_many_features_in_several_files(tmp_path):
    """They are compared by name without waiting."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.svm").write_text("1 0:1 100000:1\n0 5:1\n")
    assert read_table([tmp_path / "a.svm", tmp_path / "b.svm"]).X.shape == (4, 100_001)


def test_an_error_is_one_line_with_the_path(pets):
    with pytest.raises(TableError) as caught:
        read_table(pets, target="kind")
    assert re.fullmatch(rf"{re.escape(str(pets))}[:,] [^\n]+\.", str(caught.value))


# Real tables


def test_amazon_reviews(real_data):
    paths = sorted((real_data / "amazon_reviews").glob("*_train.svmlight"))
    data = read_table(paths)
    assert sp.issparse(data.X)
    assert data.X.shape == (8000, 5000)
    for path in paths:
        X, y = load_svmlight_file(str(path), n_features=5000, zero_based=True)
        own = data.tasks == path.stem
        assert abs(data.X[own] - X).max() == 0
        np.testing.assert_array_equal(data.y[own], y == 1)


def test_corel5k(real_data):
    folder = real_data / "corel5k"
    data = read_table([folder / f"Corel5k-{side}-sparse.arff" for side in ("train", "test")])
    assert sp.issparse(data.X)
    assert data.X.shape == (5000, 499)
    assert data.y.shape == (5000, 374)
    assert data.target_names == tuple(
        re.findall(r'label name="([^"]+)"', (folder / "Corel5k.xml").read_text())
    )
    # Every row of the file by hand.
    text = (folder / "Corel5k-train-sparse.arff").read_text()
    rows = re.findall(r"^\{(.*)\}$", text, re.M)
    whole = np.hstack([data.X.toarray(), data.y])
    for row, found in zip(rows[:4500:50], whole[:4500:50], strict=True):
        assert [f"{j} 1" for j in np.flatnonzero(found)] == row.split(",")


def test_office_caltech(real_data):
    paths = sorted((real_data / "office_caltech").glob("*.mat"))
    data = read_table(paths, target="labels")
    assert data.X.shape == (2533, 800)
    assert len(np.unique(data.y)) == 10
    for path in paths:
        np.testing.assert_array_equal(data.X[data.tasks == path.stem], loadmat(path)["fts"])


def test_landmine(real_data):
    path = real_data / "landmine" / "LandmineData.mat"
    data = read_table(path, target="label", task="cell")
    assert data.X.shape == (14820, 9)
    assert data.n_tasks == 29
    cells = loadmat(path)
    for task in (1, 29):
        own = data.tasks == task
        np.testing.assert_array_equal(data.X[own], cells["feature"].ravel()[task - 1])
        np.testing.assert_array_equal(data.y[own], cells["label"].ravel()[task - 1].ravel())


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("COIL20", (1440, 1024), 20),
        ("Isolet", (1560, 617), 26),
        ("warpPIE10P", (210, 2420), 10),
        ("TOX-171", (171, 5748), 4),
    ],
)
def test_scikit_feature(real_data, name, shape, classes):
    data = read_table(real_data / "scikit_feature" / f"{name}.mat", target="Y")
    assert data.X.shape == shape
    assert len(np.unique(data.y)) == classes
    assert data.name == name


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "-1", "1"], [1, 0, 1]),
        (["1", "", "-1"], [1, np.nan, 0]),
        (["1.0", "-1.0", "-1.0"], [1, 0, 0]),
        (["1", "-1", "2"], [1, -1, 2]),
        (["-1", "-1", "-1"], [-1, -1, -1]),
    ],
)
def test_plus_and_minus_one_are_two_classes(tmp_path, values, expected):
    """Or else one of them would mean unlabelled, and the other be alone."""
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"1,{value}\n" for value in values))
    np.testing.assert_array_equal(read_table(tmp_path / "t.csv", target="y").y, expected)
