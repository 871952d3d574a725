"""Joint positions -> coordinates about the root joint and all distances between joints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from cosift._typing import Array

__all__ = ["JOINTS", "SkeletonFeatures"]

AXES = "xyz"

# Joint orders that datasets use; docs/features.md says how each was checked.
JOINTS: dict[str, tuple[str, ...]] = {
    "humaneva": (
        *("pelvis", "thorax"),
        *("left_shoulder", "left_elbow", "left_wrist"),
        *("right_shoulder", "right_elbow", "right_wrist"),
        *("left_hip", "left_knee", "left_ankle"),
        *("right_hip", "right_knee", "right_ankle"),
        "head",
    ),
    "msraction3d": (
        *("left_shoulder", "right_shoulder", "neck", "spine"),
        *("left_hip", "right_hip", "pelvis"),
        *("left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_hand", "right_hand"),
        *("left_knee", "right_knee", "left_ankle", "right_ankle", "left_foot", "right_foot"),
        "head",
    ),
}


class SkeletonFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Coordinates of joints about the root joint, and the distances of all pairs of joints.

    A frame of J joints at the positions :math:`p_1, \dots, p_J` with the root r becomes

    .. math::

        \big( p_1 - p_r, \dots, p_J - p_r, \;
              \lVert p_1 - p_2 \rVert, \lVert p_1 - p_3 \rVert, \dots,
              \lVert p_{J-1} - p_J \rVert \big)

    which are 3J coordinates (three of them, those of the root, 0) and J(J - 1)/2 distances: 168
    features of 16 joints, 150 of 15.  Neither depends on where the body stands, and distances not
    on where it faces either.

    Parameters
    ----------
    joint_names : sequence of str or {"humaneva", "msraction3d"}, optional
        Names of the joints in the order of the data, or of one of the orders in `JOINTS`; by
        default ``joint0, joint1, ...``.
    root : int or str, default=0
        The joint that coordinates are about, by position or by name. In "humaneva" it is the
        pelvis; in "msraction3d" say ``root="pelvis"``.

    Attributes
    ----------
    joint_names_ : ndarray of str, shape (n_joints,)
        Names of the joints.
    root_ : int
        Position of the root among them.
    n_features_in_ : int
        Three numbers a joint.

    Examples
    --------
    >>> frame = [[[0, 0, 1], [0, 0, 2], [4, 3, 1]]]  # one frame of three joints
    >>> skeleton = SkeletonFeatures(["pelvis", "head", "hand"])
    >>> skeleton.fit_transform(frame)
    array([[0. , 0. , 0. , 0. , 0. , 1. , 4. , 3. , 0. , 1. , 5. , 5.1]])
    >>> skeleton.get_feature_names_out()[[0, 5, -1]]
    array(['x(pelvis)', 'z(head)', 'distance(head, hand)'], dtype=object)
    """

    def __init__(
        self, joint_names: Sequence[str] | str | None = None, *, root: int | str = 0
    ) -> None:
        self.joint_names = joint_names
        self.root = root

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the number of joints, and check that names and root agree with it.

        Parameters
        ----------
        X : array-like of shape (n_frames, n_joints, 3) or (n_frames, 3 * n_joints)
            Positions: x, y, z of the first joint, of the second, and so on.
        y : ignored
            Present because scikit-learn passes it.

        Returns
        -------
        self
            The fitted transformer.
        """
        positions = self._positions(X, reset=True)
        n_joints = positions.shape[1]
        self.joint_names_ = self._names(n_joints)
        self.root_ = self._root(self.joint_names_.tolist())
        return self

    def transform(self, X: Any) -> Any:
        """Coordinates about the root, then distances.

        Parameters
        ----------
        X : array-like of shape (n_frames, n_joints, 3) or (n_frames, 3 * n_joints)
            Positions of the joints seen in ``fit``; never changed.

        Returns
        -------
        array or data frame of shape (n_frames, 3 * n_joints + n_joints * (n_joints - 1) / 2)
            Features in the order of ``get_feature_names_out``.
        """
        check_is_fitted(self)
        positions = self._positions(X, reset=False)
        n, n_joints, _ = positions.shape
        relative = positions - positions[:, self.root_ : self.root_ + 1]
        n_features = 3 * n_joints + n_joints * (n_joints - 1) // 2
        features = np.empty((n, n_features), dtype=positions.dtype)
        features[:, : 3 * n_joints] = relative.reshape(n, -1)
        start = 3 * n_joints
        for j in range(n_joints - 1):
            x, y, z = np.moveaxis(positions[:, j + 1 :] - positions[:, j : j + 1], 2, 0)
            stop = start + n_joints - 1 - j
            # Squares of coordinates could overflow where the distance does not.
            np.hypot(np.hypot(x, y), z, out=features[:, start:stop])
            start = stop
        return features

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names such as ``z(head)`` and ``distance(head, left_knee)``.

        Parameters
        ----------
        input_features : ignored
            Names come from the joints.

        Returns
        -------
        ndarray of object
            One name for each column that ``transform`` returns.
        """
        check_is_fitted(self)
        names = self.joint_names_
        coordinates = [f"{axis}({name})" for name in names for axis in AXES]
        distances = [f"distance({a}, {b})" for a, b in combinations(names, 2)]
        return np.array(coordinates + distances, dtype=object)

    def _positions(self, X: Any, *, reset: bool) -> Array:
        """X as frames x joints x 3, all of it finite."""
        if np.asarray(X).ndim == 3:
            stacked = check_array(
                X, dtype=[np.float64, np.float32], allow_nd=True, ensure_all_finite=False
            )
            if stacked.shape[2] != 3:
                raise ValueError(
                    "X of three dimensions must be frames x joints x 3 (x, y, z). Got shape "
                    f"{stacked.shape}; leave out what is no coordinate, as in X[..., :3]."
                )
            X = stacked.reshape(len(stacked), -1)
        X = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        if X.shape[1] % 3:
            raise ValueError(
                "X must have three columns (x, y, z) for each joint, or the shape "
                f"(frames, joints, 3). Got n_features = {X.shape[1]}, which 3 does not divide."
            )
        positions: Array = X.reshape(len(X), -1, 3)
        self._check_finite(positions)
        return positions

    def _check_finite(self, positions: Array) -> None:
        lost = np.asarray(~np.isfinite(positions).all(axis=2))
        if lost.any():
            frame, joint = np.argwhere(lost)[0]
            raise ValueError(
                "X must hold numbers only, without NaN or infinity. Got "
                f"{positions[frame, joint].tolist()} for joint {joint} in frame {frame}; "
                f"{lost.any(axis=1).sum()} of {len(lost)} frames have such joints. Leave these "
                "frames out, or fill them in from their neighbours in time."
            )

    def _names(self, n_joints: int) -> NDArray[np.object_]:
        names = self.joint_names
        if names is None:
            names = [f"joint{j}" for j in range(n_joints)]
        if isinstance(names, str):
            if names not in JOINTS:
                raise ValueError(
                    f"joint_names must be names of joints, or one of {', '.join(map(repr, JOINTS))}"
                    f". Got {names!r}."
                )
            names = JOINTS[names]
        if len(names) != n_joints or len(set(names)) != n_joints:
            raise ValueError(
                f"joint_names must name each of the {n_joints} joints of X once. Got {len(names)} "
                f"names, {len(set(names))} of them different."
            )
        return np.array(names, dtype=object)

    def _root(self, names: list[str]) -> int:
        if isinstance(self.root, str):
            if self.root not in names:
                raise ValueError(f"root must be one of {', '.join(names)}. Got {self.root!r}.")
            return names.index(self.root)
        if not 0 <= self.root < len(names):
            raise ValueError(f"root must be from 0 to {len(names) - 1}. Got {self.root!r}.")
        return int(self.root)
