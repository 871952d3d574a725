"""HumanEva from arrays and tables a sequence, from one file of frames, and the real one."""

import numpy as np
import pytest
from layouts import write_humaneva
from scipy.spatial.distance import pdist

from cosift.datasets import TableError, load_humaneva
from cosift.features import JOINTS, SkeletonFeatures


@pytest.fixture
def written(tmp_path):
    return tmp_path / "h", write_humaneva(tmp_path / "h")


def frames(**changes):
    """Arrays of a file of frames: two subjects, two actions, three frames each."""
    rng = np.random.default_rng(0)
    arrays = {
        "positions": rng.normal(size=(12, 15, 3)).astype(np.float32),
        "subject": np.repeat([1, 2], 6),
        "action": np.tile(np.repeat([0, 1], 3), 2),
        "sequence": np.repeat([0, 1, 2, 3], 3),
        "action_names": np.array(["Box", "Walking"]),
        "sequence_names": np.array(["S1 Box", "S1 Walking", "S2 Box", "S2 Walking"]),
        "is_validate": np.tile([0, 0, 1], 4),
    } | changes
    return {name: values for name, values in arrays.items() if values is not None}


@pytest.mark.parametrize("joints", [15, 16])
def test_a_folder_a_subject(tmp_path, joints):
    rows = write_humaneva(tmp_path, joints=joints)
    data = load_humaneva(tmp_path)
    positions = np.concatenate([row[3] for row in rows])
    assert data.X.shape == (48, 3 * joints + joints * (joints - 1) // 2)
    np.testing.assert_allclose(
        data.X[:, 3 * joints :], [pdist(frame) for frame in positions], rtol=1e-12
    )
    assert data.tasks.tolist() == [row[0] for row in rows for _ in range(6)]
    assert data.y.tolist() == [row[1] for row in rows for _ in range(6)]
    assert data.groups.tolist() == [row[2] for row in rows for _ in range(6)]
    known = joints == 15
    assert ("distance(pelvis, head)" in data.feature_names) == known
    assert ("distance(joint0, joint14)" in data.feature_names) == (not known)


def test_positions_and_transformers(written):
    folder, rows = written
    positions = np.concatenate([row[3] for row in rows])
    data = load_humaneva(folder, features="positions")
    np.testing.assert_array_equal(data.X, positions.reshape(48, 45))
    assert data.feature_names[:4].tolist() == ["x(pelvis)", "y(pelvis)", "z(pelvis)", "x(thorax)"]
    own = SkeletonFeatures("humaneva", root="head")
    data = load_humaneva(folder, features=own)
    head = JOINTS["humaneva"].index("head")
    assert not data.X[:, 3 * head : 3 * head + 3].any()
    with pytest.raises(ValueError, match=r"features must be 'skeleton', 'positions' or a transf"):
        load_humaneva(folder, features="angles")


def test_subjects(written):
    folder, _ = written
    assert load_humaneva(folder, subjects=["S2"]).tasks.tolist() == ["S2"] * 24
    for wrong in ([], ["S3"], "S1"):
        with pytest.raises(ValueError, match=r"subjects must be among 'S1', 'S2'"):
            load_humaneva(folder, subjects=wrong)


def test_a_file_of_frames(tmp_path):
    arrays = frames()
    np.savez(tmp_path / "frames.npz", **arrays)
    data = load_humaneva(tmp_path / "frames.npz")
    np.testing.assert_array_equal(data.X, load_humaneva(tmp_path).X)  # the folder that holds it
    np.testing.assert_array_equal(
        data.X, SkeletonFeatures("humaneva").fit_transform(arrays["positions"])
    )
    assert data.tasks.tolist() == ["S1"] * 6 + ["S2"] * 6
    assert data.y.tolist() == (["Box"] * 3 + ["Walking"] * 3) * 2
    assert data.groups[[0, 11]].tolist() == ["S1 Box", "S2 Walking"]
    assert data.official_test.tolist() == [False, False, True] * 4
    np.savez(tmp_path / "frames.npz", **frames(is_validate=None))
    assert load_humaneva(tmp_path).official_test is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positions": None}, "expected the arrays .* Found no 'positions'"),
        ({"subject": None, "action_names": None}, "Found no 'subject', 'action_names'"),
        ({"subject": np.ones(11, int)}, "'subject' must hold a whole number .*12 frames"),
        ({"action": np.full(12, 0.5)}, "'action' must hold a whole number"),
        ({"action": np.full(12, 2)}, "'action' must count the 2 names from 0. Found 2 to 2"),
        ({"sequence": np.full(12, -1)}, "'sequence' must count the 4 names"),
        ({"action_names": np.array([1, 2])}, "'action_names' must hold names. Found int64"),
        ({"is_validate": np.zeros((12, 2), int)}, r"'is_validate' must .* shape \(12, 2\)"),
        ({"positions": np.zeros((12, 15, 2))}, r"frames x joints x 3.* shape \(12, 15, 2\)"),
        ({"positions": np.full((12, 45), np.nan)}, "joint 0 lost in frame 0, 180 such"),
        ({"positions": np.zeros((12, 45), complex)}, "complex128 of shape"),
        (
            {"positions": np.zeros((0, 15, 3))},
            r"expected frames and joints. Found shape \(0, 15, 3",
        ),
        ({"action_names": np.array(["Box", None])}, "'action_names' holds Python objects"),
    ],
)
def test_wrong_frames(tmp_path, changes, message):
    np.savez(tmp_path / "frames.npz", **frames(**changes))
    with pytest.raises(TableError, match=f"frames.npz: .*{message}"):
        load_humaneva(tmp_path / "frames.npz")


def test_truncated_and_missing_files(tmp_path):
    path = tmp_path / "frames.npz"
    np.savez(path, **frames())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TableError, match=r"frames.npz: cannot be read as .npz"):
        load_humaneva(path)
    with pytest.raises(TableError, match=r"nowhere.npz: No such file"):
        load_humaneva(tmp_path / "nowhere.npz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match=r"empty: expected a folder a subject.* Found no such"):
        load_humaneva(tmp_path / "empty")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("S1/Box_1.npy", b"nonsense", "Box_1.npy: cannot be read as .npy"),
        ("S2/Box_1.csv", b"", "Box_1.csv: expected a line of names"),
        ("S2/Box_1.csv", b"x,y\n1,2\n", r"Box_1.csv: .*three columns .* shape \(1, 2\)"),
        ("S2/Box_1.csv", b"x,y,z\n1,2,\n", "Box_1.csv: .*joint 0 lost in frame 0"),
        ("S2/Box_1.csv", b"1e-3,2,-3\n4,5,6\n", "Box_1.csv: expected a line of names"),
        ("S2/Box_1.csv", b"x,y,z\n1,2,3\n", "Box_1.csv: expected 15 joints, as in .* Found 1"),
        ("S2/Box_1.csv", b"x,y,z\n1,2,left\n", "Box_1.csv: features must be numbers"),
    ],
)
def test_wrong_sequences(written, file, content, message):
    folder, _ = written
    (folder / file).write_bytes(content)
    with pytest.raises(TableError, match=message):
        load_humaneva(folder)


def test_the_real_one(real_data):
    data = load_humaneva(real_data / "humaneva")
    stored = np.load(real_data / "humaneva" / "humaneva_frames.npz")
    assert data.X.shape == (9577, 150)
    # The file's own distances, in single precision.
    np.testing.assert_allclose(data.X[:, 45:], stored["joint_distances"], atol=1e-5)
    assert {task: int((data.tasks == task).sum()) for task in ("S1", "S2", "S3")} == {
        "S1": 3115,
        "S2": 3609,
        "S3": 2853,
    }
    np.testing.assert_array_equal(data.y, stored["action_names"][stored["action"]])
    np.testing.assert_array_equal(data.official_test, stored["is_validate"] == 1)
    # The official split keeps whole sequences on one side.
    assert not set(data.groups[data.official_test]) & set(data.groups[~data.official_test])
    two = load_humaneva(real_data / "humaneva", subjects=("S1", "S2"))
    assert two.X.shape == (3115 + 3609, 150)
