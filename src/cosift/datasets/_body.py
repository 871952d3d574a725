"""A kinematic body that performs five actions, and which of its features depend on the action.

Bones are rigid and turn in their joints by angles that are periodic in time, as the action says, or
wander slowly whatever the action.  docs/twins.md has the formulas and the argument about features.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from cosift._typing import Array

__all__ = ["ACTIONS", "JOINTS", "Subject", "draw_subject", "perform", "relevant_features"]

# Joint: its parent and where it is from there, in metres, x to the right, y ahead, z up.
BONES: dict[str, tuple[str, tuple[float, float, float]]] = {
    "spine": ("pelvis", (0.0, 0.0, 0.20)),
    "thorax": ("spine", (0.0, 0.0, 0.26)),
    "head": ("thorax", (0.0, 0.03, 0.29)),
    "left_shoulder": ("thorax", (-0.18, 0.0, -0.02)),
    "left_elbow": ("left_shoulder", (0.0, 0.0, -0.29)),
    "left_wrist": ("left_elbow", (0.0, 0.0, -0.25)),
    "right_shoulder": ("thorax", (0.18, 0.0, -0.02)),
    "right_elbow": ("right_shoulder", (0.0, 0.0, -0.29)),
    "right_wrist": ("right_elbow", (0.0, 0.0, -0.25)),
    "left_hip": ("pelvis", (-0.11, 0.0, -0.03)),
    "left_knee": ("left_hip", (0.0, 0.0, -0.41)),
    "left_ankle": ("left_knee", (0.0, 0.0, -0.41)),
    "right_hip": ("pelvis", (0.11, 0.0, -0.03)),
    "right_knee": ("right_hip", (0.0, 0.0, -0.41)),
    "right_ankle": ("right_knee", (0.0, 0.0, -0.41)),
}
JOINTS = ("pelvis", *BONES)

# Angles by which a bone is turned about the x axis (1: forwards for a bone that hangs down) or the
# y axis (1: outwards for a left limb), and whether the action decides on them.
X, Y = 0, 1
ACTING: tuple[tuple[str, int, int], ...] = (
    ("thorax", X, -1),
    ("left_elbow", X, 1),
    ("right_elbow", X, 1),
    ("left_elbow", Y, 1),
    ("right_elbow", Y, -1),
    ("left_wrist", X, 1),
    ("right_wrist", X, 1),
    ("left_knee", X, 1),
    ("right_knee", X, 1),
    ("left_ankle", X, -1),
    ("right_ankle", X, -1),
)
# Standard deviations, in degrees, of angles that wander whatever the action: of the whole body
# (about x, y, z), of the trunk sideways, of the head, and of the left hip.
IDLE: tuple[tuple[str, int, float], ...] = (
    ("pelvis", X, 4.0),
    ("pelvis", Y, 4.0),
    ("pelvis", 2, 25.0),
    ("thorax", Y, 4.0),
    ("head", X, 8.0),
    ("head", Y, 5.0),
    ("left_hip", Y, 6.0),
)
# An angle that one subject, unlike the others, changes with the action, by so many degrees
# (standard deviation over the actions).
HABITS = {"S1": ("head", X, 12.0), "S2": ("left_hip", Y, 9.0)}


@dataclass(frozen=True)
class Action:
    """Angles of ACTING in degrees: centre + swing * sin(2 pi (frequency * seconds + phase))."""

    frequency: float
    centre: tuple[float, ...]
    swing: tuple[float, ...]
    phase: tuple[float, ...]


ACTIONS = {
    "Box": Action(
        frequency=1.2,
        centre=(12, 45, 40, 12, 10, 95, 100, 12, -6, 22, 18),
        swing=(4, 25, 28, 5, 5, 30, 32, 4, 4, 5, 5),
        phase=(0, 0, 0.5, 0, 0.5, 0.5, 0, 0, 0.5, 0, 0.5),
    ),
    "Gestures": Action(
        frequency=0.5,
        centre=(3, 12, 40, 8, 20, 30, 75, 2, 2, 6, 6),
        swing=(2, 6, 28, 3, 14, 12, 32, 1, 1, 2, 2),
        phase=(0, 0, 0, 0, 0.25, 0, 0.25, 0, 0.5, 0, 0.5),
    ),
    "Jog": Action(
        frequency=1.4,
        centre=(10, 2, 2, 10, 10, 80, 80, 12, 12, 48, 48),
        swing=(3, 28, 28, 3, 3, 12, 12, 30, 30, 32, 32),
        phase=(0, 0.5, 0, 0, 0, 0.5, 0, 0, 0.5, 0.7, 0.2),
    ),
    "ThrowCatch": Action(
        frequency=0.4,
        centre=(6, 30, 48, 10, 18, 55, 72, 5, -2, 12, 12),
        swing=(7, 20, 36, 5, 12, 28, 36, 6, 6, 6, 6),
        phase=(0.5, 0, 0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0.5),
    ),
    "Walking": Action(
        frequency=0.9,
        centre=(4, 0, 0, 7, 7, 22, 22, 6, 6, 26, 26),
        swing=(2, 20, 20, 2, 2, 8, 8, 22, 22, 24, 24),
        phase=(0, 0.5, 0, 0, 0, 0.5, 0, 0, 0.5, 0.7, 0.2),
    ),
}

# How subjects differ: sizes, sizes of single bones, centres (degrees) and swings of their actions.
SIZE, BONE, SUBJECT_CENTRE, SUBJECT_SWING = 0.06, 0.05, 5.0, 0.15
# How sequences of one subject differ: centres (degrees), swings, speeds.
SEQUENCE_CENTRE, SEQUENCE_SWING, SEQUENCE_SPEED = 6.0, 0.2, 0.1
# Slow wandering of the angles of an action, in degrees, and its frequencies in Hz.
WANDER = 4.0
SLOW = (0.05, 0.5)
N_WAVES = 3


@dataclass(frozen=True)
class Subject:
    """One body and its way of doing things.

    Attributes
    ----------
    offsets : ndarray of shape (16, 3)
        Each joint as seen from its parent, in metres; the pelvis at 0.
    centre, swing : ndarray of shape (5, 11)
        Angles of ACTING in degrees, for every action.
    habit : tuple of str, int and ndarray of shape (5,), optional
        A bone, an axis, and the centre of this angle in every action, in degrees.
    """

    offsets: Array
    centre: Array
    swing: Array
    habit: tuple[str, int, Array] | None


def draw_subject(name: str, rng: np.random.Generator) -> Subject:
    """Draw proportions and style of the subject of this name, which decides on its habit."""
    scale = 1.0 + SIZE * rng.normal()
    lengths = {}
    for joint in BONES:
        lengths[joint.removeprefix("left_").removeprefix("right_")] = 1.0 + BONE * rng.normal()
    offsets = np.zeros((len(JOINTS), 3))
    for j, (joint, (_, offset)) in enumerate(BONES.items(), start=1):
        own = lengths[joint.removeprefix("left_").removeprefix("right_")]
        offsets[j] = np.multiply(offset, scale * own)
    shape = (len(ACTIONS), len(ACTING))
    centre = np.array([action.centre for action in ACTIONS.values()], dtype=np.float64)
    swing = np.array([action.swing for action in ACTIONS.values()], dtype=np.float64)
    centre += SUBJECT_CENTRE * rng.normal(size=shape)
    swing *= np.exp(SUBJECT_SWING * rng.normal(size=shape))
    habit = None
    if name in HABITS:
        bone, axis, size = HABITS[name]
        # Evenly spread over the actions, so that each of them has its own.
        levels = np.linspace(-1.0, 1.0, len(ACTIONS)) * (size * np.sqrt(2.0))
        habit = (bone, axis, rng.permutation(levels))
    return Subject(offsets, centre, swing, habit)


def perform(subject: Subject, action: str, seconds: Array, rng: np.random.Generator) -> Array:
    """Positions of the joints at the given times of one sequence, the pelvis at 0.

    Parameters
    ----------
    subject : Subject
        Who does it.
    action : str
        What is done, one of ACTIONS.
    seconds : ndarray of shape (n,)
        Times.
    rng : Generator
        What is particular to this sequence.

    Returns
    -------
    ndarray of shape (n, 16, 3)
        Positions in metres.
    """
    which, plan = list(ACTIONS).index(action), ACTIONS[action]
    angles = np.zeros((len(JOINTS), 3, len(seconds)))
    # In the same order for every action: what is idle must not depend on it.
    for joint, axis, size in IDLE:
        angles[JOINTS.index(joint), axis] = _wander(size, seconds, rng)
    speed = np.exp(SEQUENCE_SPEED * rng.normal())
    vigour = np.exp(SEQUENCE_SWING * rng.normal())
    begin = rng.uniform()
    for k, (joint, axis, sign) in enumerate(ACTING):
        turns = plan.frequency * speed * seconds + plan.phase[k] + begin
        angle = subject.centre[which, k] + vigour * subject.swing[which, k] * np.sin(
            2.0 * np.pi * turns
        )
        angle += SEQUENCE_CENTRE * rng.normal() + _wander(WANDER, seconds, rng)
        angles[JOINTS.index(joint), axis] = sign * angle
    if subject.habit is not None:
        joint, axis, centre = subject.habit
        angles[JOINTS.index(joint), axis] += centre[which]
    return _positions(subject.offsets, np.moveaxis(angles, 2, 0))


def _wander(size: float, seconds: Array, rng: np.random.Generator) -> Array:
    """A few slow waves of random phase; the variance is size^2 on average."""
    frequencies, phases = rng.uniform(*SLOW, size=N_WAVES), rng.uniform(size=N_WAVES)
    heights = rng.normal(size=N_WAVES) * (size * np.sqrt(2.0 / N_WAVES))
    waves = np.sin(2.0 * np.pi * (np.outer(seconds, frequencies) + phases))
    return np.asarray((waves * heights).sum(axis=1))


def _positions(offsets: Array, angles: Array) -> Array:
    """Forward kinematics: every bone turns with its parent, then by its own angles (n, 16, 3)."""
    turns = {"pelvis": _turn(angles[:, 0])}
    positions = np.zeros(angles.shape)
    for j, (joint, (parent, _)) in enumerate(BONES.items(), start=1):
        turns[joint] = turns[parent] * _turn(angles[:, j])
        positions[:, j] = positions[:, JOINTS.index(parent)] + turns[joint].apply(offsets[j])
    return positions


def _turn(degrees: Array) -> Rotation:
    return Rotation.from_euler("ZYX", degrees[:, ::-1], degrees=True)


def relevant_features(name: str) -> NDArray[np.bool_]:
    """Which of the 48 coordinates and 120 distances depend on the action for this subject.

    A coordinate of a joint about the pelvis depends on the turns of all bones from the pelvis to
    it.  A distance depends on the turns of the bones between the two joints; where one joint lies
    above the other, the first bone on the way down turns both ends alike and drops out.
    """
    acting = {joint for joint, _, _ in ACTING} | ({HABITS[name][0]} if name in HABITS else set())
    above = {joint: _bones_above(joint) for joint in JOINTS}
    coordinates = [not acting.isdisjoint(above[joint]) for joint in JOINTS for _ in range(3)]
    distances = []
    for a, b in combinations(JOINTS, 2):
        sides = [
            [bone for bone in above[one] if bone not in above[other]]
            for one, other in ((a, b), (b, a))
        ]
        if not all(sides):
            sides = [side[:-1] for side in sides]
        distances.append(not acting.isdisjoint(sides[0] + sides[1]))
    return np.array(coordinates + distances)


def _bones_above(joint: str) -> list[str]:
    """The bones from a joint up to the pelvis, named by their lower ends."""
    bones = []
    while joint in BONES:
        bones.append(joint)
        joint = BONES[joint][0]
    return bones
