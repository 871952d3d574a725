"""Skeleton features against scipy, geometry and real skeletons."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import pdist
from scipy.spatial.transform import Rotation
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from cosift.features import JOINTS, SkeletonFeatures

rng = np.random.default_rng(0)
FRAMES = rng.normal(size=(7, 16, 3))


@pytest.mark.parametrize(
    ("n_joints", "n_features"), [(16, 48 + 120), (15, 45 + 105), (2, 7), (1, 3)]
)
def test_coordinates_and_distances(n_joints, n_features):
    frames = FRAMES[:, :n_joints]
    skeleton = SkeletonFeatures(root=n_joints - 1).fit(frames)
    features = skeleton.transform(frames)
    assert features.shape == (7, n_features) == (7, len(skeleton.get_feature_names_out()))
    for row, joints in zip(features, frames, strict=True):
        np.testing.assert_array_equal(row[: 3 * n_joints], (joints - joints[-1]).ravel())
        np.testing.assert_allclose(row[3 * n_joints :], pdist(joints), rtol=1e-14)


def test_names_say_which_joints():
    names = ["pelvis", "head", "left_knee"]
    skeleton = SkeletonFeatures(names, root="head").set_output(transform="pandas")
    frames = FRAMES[:, :3]
    table = skeleton.fit_transform(frames)
    for j, name in enumerate(names):
        for k, axis in enumerate("xyz"):
            np.testing.assert_array_equal(
                table[f"{axis}({name})"], frames[:, j, k] - frames[:, 1, k]
            )
    between = np.linalg.norm(frames[:, 1] - frames[:, 2], axis=1)
    np.testing.assert_allclose(table["distance(head, left_knee)"], between)
    assert table.shape[1] == 9 + 3


def test_motions_of_the_whole_body():
    moved = (
        Rotation.from_rotvec([0.3, -1.0, 2.0]).apply(FRAMES.reshape(-1, 3)).reshape(FRAMES.shape)
    )
    skeleton = SkeletonFeatures()
    still = skeleton.fit_transform(FRAMES)
    np.testing.assert_allclose(
        skeleton.transform(FRAMES + np.array([5.0, -3.0, 2.0])), still, atol=1e-14
    )
    np.testing.assert_allclose(skeleton.transform(moved + 1.0)[:, 48:], still[:, 48:], rtol=1e-13)


def test_flat_and_stacked_frames_are_the_same():
    flat = FRAMES.reshape(7, 48)
    stacked = SkeletonFeatures().fit(FRAMES)
    expected = stacked.transform(FRAMES)
    for same in (flat, pd.DataFrame(flat), pl.DataFrame(flat), flat.tolist(), FRAMES.tolist()):
        np.testing.assert_array_equal(SkeletonFeatures().fit_transform(same), expected)
    np.testing.assert_array_equal(stacked.transform(flat), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stacked)).transform(flat), expected)


def test_input_is_left_alone_and_single_precision_stays():
    frames = FRAMES.astype(np.float32)
    before = frames.copy()
    features = SkeletonFeatures().fit_transform(frames)
    np.testing.assert_array_equal(frames, before)
    assert features.dtype == np.float32
    assert SkeletonFeatures().fit_transform(FRAMES.round().astype(int)).dtype == np.float64


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_no_unit_overflows_or_underflows(unit):
    features = SkeletonFeatures().fit_transform(FRAMES * unit)
    np.testing.assert_allclose(
        features, SkeletonFeatures().fit_transform(FRAMES) * unit, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("params", "frames", "message"),
    [
        ({}, FRAMES[:, :, :2], r"frames x joints x 3.*\(7, 16, 2\)"),
        ({}, np.ones((7, 20, 4)), r"X\[\.\.\., :3\]"),
        ({}, FRAMES.reshape(7, 48)[:, :47], "n_features = 47, which 3 does not divide"),
        ({"joint_names": ["a", "b"]}, FRAMES, "each of the 16 joints.*Got 2"),
        ({"joint_names": ["a"] * 16}, FRAMES, "Got 16 names, 1 of them different"),
        ({"joint_names": "humaneva"}, FRAMES, "each of the 16 joints.*Got 15"),
        ({"joint_names": "kinect"}, FRAMES, "'humaneva', 'msraction3d'. Got 'kinect'"),
        ({"root": 16}, FRAMES, "from 0 to 15. Got 16"),
        ({"root": -1}, FRAMES, "from 0 to 15. Got -1"),
        ({"root": "pelvis"}, FRAMES, "joint0, joint1.*Got 'pelvis'"),
    ],
)
def test_errors_say_what_would_do(params, frames, message):
    with pytest.raises(ValueError, match=message):
        SkeletonFeatures(**params).fit(frames)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_lost_joints_are_refused_by_frame_and_joint(value):
    frames = FRAMES.copy()
    frames[[2, 5], 3, 1] = value
    skeleton = SkeletonFeatures().fit(FRAMES)
    for run in (skeleton.transform, clone(skeleton).fit):
        with pytest.raises(ValueError, match="joint 3 in frame 2; 2 of 7 frames"):
            run(frames)


def test_another_number_of_joints_is_refused():
    with pytest.raises(ValueError, match=r"45 features.*expecting 48"):
        SkeletonFeatures().fit(FRAMES).transform(FRAMES[:, :15])


def test_scikit_learn_conventions():
    """The checks bring tables of 1, 2, 4, 5 and 10 columns, which cannot be joints."""
    results = check_estimator(SkeletonFeatures(), on_fail=None, on_skip=None)
    failures = [result["exception"] for result in results if result["status"] == "failed"]
    for failure in failures:
        reason = failure.__cause__ or failure.__context__ or failure
        assert "which 3 does not divide" in f"{failure} {reason}"
    assert len(failures) < 0.35 * len(results)


def rigid(frames, names, a, b):
    """How much the distance of two joints varies, relative to its mean."""
    distances = np.linalg.norm(frames[:, names.index(a)] - frames[:, names.index(b)], axis=1)
    return distances.std() / distances.mean()


LIMBS = [
    *[(f"{side}_hip", f"{side}_knee") for side in ("left", "right")],
    *[(f"{side}_knee", f"{side}_ankle") for side in ("left", "right")],
    *[(f"{side}_shoulder", f"{side}_elbow") for side in ("left", "right")],
    *[(f"{side}_elbow", f"{side}_wrist") for side in ("left", "right")],
]


def test_humaneva_joint_order(real_data):
    """Bones are rigid, heads are up, and left is left of where the body faces."""
    stored = np.load(real_data / "humaneva" / "humaneva_frames.npz")
    names = JOINTS["humaneva"]
    frames = stored["positions"].astype(float)
    for subject in (1, 2, 3):
        own = frames[stored["subject"] == subject]
        for bone in [*LIMBS, ("thorax", "head"), ("pelvis", "left_hip")]:
            assert rigid(own, names, *bone) < 0.08, bone
        for a, b in [("left_wrist", "right_wrist"), ("left_ankle", "right_ankle")]:
            assert rigid(own, names, a, b) > 0.2
    height = dict(zip(names, np.median(frames[:, :, 2], axis=0), strict=True))
    assert max(height, key=height.get) == "head"
    assert min(height, key=height.get).endswith("ankle")
    # Shanks fold backwards: ankle - knee has a component against facing = left x up.
    joint = {name: frames[:, j] for j, name in enumerate(names)}
    facing = np.cross(joint["left_hip"] - joint["right_hip"], [0, 0, 1])
    for side in ("left", "right"):
        shank = joint[f"{side}_ankle"] - joint[f"{side}_knee"]
        assert np.mean((shank * facing).sum(axis=1) < 0) > 0.8
    skeleton = SkeletonFeatures("humaneva").fit(frames)
    pairs = stored["pairs"].tolist()
    assert [list(pair) for pair in zip(*np.triu_indices(15, 1), strict=True)] == pairs
    # The file's own distances, in single precision.
    np.testing.assert_allclose(
        skeleton.transform(frames)[:, 45:], stored["joint_distances"], atol=1e-5
    )


def test_msraction3d_joint_order(real_data):
    """Arms and legs keep their lengths, and one-armed actions are done with the right arm."""
    stored = np.load(real_data / "msraction3d" / "msraction3d.npz")
    names = JOINTS["msraction3d"]
    frames = stored["frames"][:, :, :3].astype(float)
    action = np.repeat(stored["action"], np.diff(stored["offsets"]))
    tracked = frames.any(axis=(1, 2))
    frames, action = frames[tracked], action[tracked]
    for bone in LIMBS:
        assert rigid(frames, names, *bone) < 0.15, bone
    height = dict(zip(names, np.median(frames[:, :, 1], axis=0), strict=True))
    assert sorted(height, key=height.get)[-2:] == ["neck", "head"]
    assert {name.split("_")[1] for name in sorted(height, key=height.get)[:2]} == {"foot"}
    for joints, one_armed in [(("left_hand", "right_hand"), 1), (("left_foot", "right_foot"), 14)]:
        left, right = (frames[action == one_armed, names.index(joint)] for joint in joints)
        assert right.std(axis=0).max() > 1.5 * left.std(axis=0).max()
    assert SkeletonFeatures("msraction3d", root="pelvis").fit(frames).root_ == 6
