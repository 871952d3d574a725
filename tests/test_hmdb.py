"""HMDB51 from lists in its authors' layout, joined with features by the clips' names."""

import shutil

import numpy as np
import polars as pl
import pytest
from layouts import HMDB_GROUPS, write_hmdb

from cosift.datasets import TableError, hmdb_clips, load_hmdb

D = 5


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hmdb") / "HMDB51"
    return folder, write_hmdb(folder)


def write_features(path, rows, seed=0):
    """A row of random features a clip, in another order than the lists'."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(len(rows), D))
    order = rng.permutation(len(rows))
    names = [f"somewhere/{rows[i][1]}/{rows[i][0]}" for i in order]
    frame = pl.DataFrame({"file": names, **{f"word{j}": X[order, j] for j in range(D)}})
    frame.write_parquet(path)
    return X


@pytest.fixture
def copy(tmp_path):
    rows = write_hmdb(tmp_path / "copy")
    return tmp_path / "copy", rows


def test_clips(written):
    folder, rows = written
    clips = hmdb_clips(folder)
    assert len(clips) == 51 * 4
    found = {clip.file.name: clip for clip in clips}
    assert len(found) == len(clips)
    number = {0: "unused", 1: "train", 2: "test"}
    for name, action, task, film, sides in rows:
        clip = found[name]
        assert clip.file == folder / action / name
        assert (clip.label, clip.task, clip.source) == (action, task, film)
        assert clip.sides == tuple(number[side] for side in sides)
    assert [*dict.fromkeys(clip.task for clip in clips)] == list(HMDB_GROUPS)


def test_official_names_of_films(tmp_path):
    """Names as the authors give them: actions of two words, numbers and marks in titles."""
    rows = write_hmdb(tmp_path / "h")
    assert rows
    official = {
        "brush_hair": (
            "April_09_brush_hair_u_nm_np1_ba_goo_0.avi",
            "#20_Rhythm_clap_u_nm_np1_fr_goo_0.avi",
        ),
    }
    for action, names in official.items():
        for number in (1, 2, 3):
            path = (
                tmp_path / "h" / "testTrainMulti_7030_splits" / f"{action}_test_split{number}.txt"
            )
            path.write_text("".join(f"{name} 1 \n" for name in names))
    clips = hmdb_clips(tmp_path / "h", groups={"hair": ["brush_hair"]})
    assert [clip.source for clip in clips] == ["April_09", "#20_Rhythm_clap"]


def test_features_are_joined_by_name(written, tmp_path):
    folder, rows = written
    X = write_features(tmp_path / "mbh.parquet", rows)
    data = load_hmdb(folder, features=tmp_path / "mbh.parquet")
    of_clip = {
        (action, film): X[[i for i, row in enumerate(rows) if row[1] == action and row[3] == film]]
        for _, action, _, film, _ in rows
    }
    for (action, film), expected in of_clip.items():
        own = (data.y == action) & (data.groups == film)
        np.testing.assert_array_equal(data.X[own], expected)
    assert {
        task: " ".join(sorted(set(data.y[data.tasks == task]))) for task in set(data.tasks)
    } == {task: " ".join(sorted(actions.split())) for task, actions in HMDB_GROUPS.items()}
    assert data.official_test is None
    assert data.feature_names.tolist() == [f"word{j}" for j in range(D)]


@pytest.mark.parametrize("split", [1, 2, 3])
def test_official_splits(written, tmp_path, split):
    folder, rows = written
    X = write_features(tmp_path / "mbh.parquet", rows)
    data = load_hmdb(folder, features=tmp_path / "mbh.parquet", split=split)
    sides = np.array([row[4][split - 1] for row in rows])
    assert data.X.shape[0] == np.count_nonzero(sides)
    for is_test, side in ((False, 1), (True, 2)):
        found = data.X[data.official_test == is_test]
        expected = X[sides == side]
        np.testing.assert_array_equal(np.sort(found[:, 0]), np.sort(expected[:, 0]))


def test_features_in_the_folder_and_clips_without(copy):
    folder, rows = copy
    write_features(folder / "mbh.parquet", rows[:20])
    data = load_hmdb(folder)
    assert data.X.shape == (20, D)
    assert f"{51 * 4 - 20} clips without features" in data.describe()


def test_groups_of_ones_own(written, tmp_path):
    folder, rows = written
    write_features(tmp_path / "mbh.parquet", rows)
    groups = {"legs": ["run", "walk"], "arms": ["wave", "throw"]}
    data = load_hmdb(folder, features=tmp_path / "mbh.parquet", groups=groups)
    assert {task: set(data.y[data.tasks == task]) for task in groups} == {
        task: set(own) for task, own in groups.items()
    }
    with pytest.raises(ValueError, match=r"groups must consist of .* Got 'swim' in 'legs'"):
        hmdb_clips(folder, groups={"legs": ["swim"]})


def test_wrong_split(written):
    with pytest.raises(ValueError, match=r"split must be 1, 2, 3 or None. Got 4"):
        load_hmdb(written[0], split=4)


def line_dropped(text):
    return "".join(text.splitlines(keepends=True)[1:])


@pytest.mark.parametrize("number", [1, 2, 3])
def test_truncated_lists_are_named(copy, number):
    lists = copy[0] / "testTrainMulti_7030_splits"
    path = lists / f"wave_test_split{number}.txt"
    path.write_text(line_dropped(path.read_text()))
    message = rf"wave_test_split{number}.txt: expected the clips of all three .* no 'Film_0_wave"
    with pytest.raises(TableError, match=message):
        hmdb_clips(copy[0])
    path.unlink()
    with pytest.raises(TableError, match=rf"wave_test_split{number}.txt: No such file"):
        hmdb_clips(copy[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace(" 1 ", " 7 "), "line 1: expected a clip and 0, 1 or 2. Found 'Film_0"),
        (lambda t: t.replace(" 1 ", ""), "line 1: expected a clip and 0, 1 or 2"),
        (lambda t: t + t, "line 5: expected a clip once. Found 'Film_0"),
        (lambda t: "", "expected lines of text. Found none"),
    ],
)
def test_broken_lists_are_named(copy, change, message):
    path = copy[0] / "testTrainMulti_7030_splits" / "chew_test_split1.txt"
    path.write_text(change(path.read_text()))
    with pytest.raises(TableError, match=f"chew_test_split1.txt.*{message}"):
        hmdb_clips(copy[0])


def test_wrong_encoding(copy):
    path = copy[0] / "testTrainMulti_7030_splits" / "chew_test_split1.txt"
    path.write_bytes(path.read_text().replace("Film", "Fi\xeflm").encode("latin-1"))
    with pytest.raises(TableError, match=r"chew_test_split1.txt: cannot be read as text in UTF-8"):
        hmdb_clips(copy[0])


def test_missing_lists(tmp_path):
    with pytest.raises(TableError, match=r"nowhere: expected a folder"):
        hmdb_clips(tmp_path / "nowhere")
    with pytest.raises(TableError, match=r"one folder of lists .*testTrainMulti_7030.* Found 0"):
        hmdb_clips(tmp_path)
    write_hmdb(tmp_path / "h")
    lists = tmp_path / "h" / "testTrainMulti_7030_splits"
    shutil.copytree(lists, lists.with_name("again"))
    with pytest.raises(TableError, match=r"one folder of lists .* Found 2"):
        hmdb_clips(tmp_path / "h")


def test_wrong_features(copy, tmp_path):
    folder, rows = copy
    with pytest.raises(TableError, match=r"one table mbh\.\* of features.* Found 0"):
        load_hmdb(folder)
    table = tmp_path / "t.parquet"
    write_features(table, [("other.avi", "wave", "body", "x", (0, 0, 0))])
    with pytest.raises(TableError, match=r"expected the clips of .* none of them, but 'other'"):
        load_hmdb(folder, features=table)
    write_features(table, [rows[0], rows[0]])
    with pytest.raises(TableError, match=r"one row for each clip. Found 'Film_0_.*' twice"):
        load_hmdb(folder, features=table)
    pl.read_parquet(table).drop("file").write_parquet(table)
    with pytest.raises(TableError, match=r"t.parquet: no column 'file'"):
        load_hmdb(folder, features=table)
