"""Names, groups and frequencies of the classes of the paper's four datasets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cosift.datasets.splits import _quotas

__all__ = ["CCV", "HMDB", "HUMANEVA", "class_sizes", "concept_sizes", "n_samples"]

N_SAMPLES = {"ccv": 9317, "hmdb": 6766, "humaneva": 10_000, "nuswide": 269_648}

# Task: class and how many labels the authors' files give it. There a video may have none, or two.
CCV = {
    "events": "Basketball 364, Baseball 304, Soccer 328, IceSkating 386, Skiing 394, Swimming 404, "
    "Biking 274, Graduation 290, Birthday 319, WeddingReception 259, WeddingCeremony 224, "
    "WeddingDance 351, MusicPerformance 806, NonMusicPerformance 692, Parade 389",
    "scenes": "Beach 377, Playground 336",
    "objects": "Cat 388, Dog 654, Bird 340",
}

# Task: class and number of its clips. The tasks are the authors' five groups of actions.
HMDB = {
    "facial": "smile 102, laugh 128, chew 109, talk 120",
    "facial with object": "smoke 109, eat 108, drink 164",
    "body": "cartwheel 107, clap 130, climb 108, climb_stairs 112, dive 127, fall_floor 136, "
    "flic_flac 107, handstand 113, jump 151, pullup 104, pushup 103, run 232, sit 142, situp 105, "
    "somersault 140, stand 154, turn 240, walk 548, wave 104",
    "body with object": "brush_hair 107, catch 102, draw_sword 103, dribble 145, golf 105, "
    "hit 127, kick_ball 128, pick 106, pour 106, push 116, ride_bike 103, ride_horse 116, "
    "shoot_ball 131, shoot_bow 112, shoot_gun 103, swing_baseball 143, sword_exercise 127, "
    "throw 102",
    "interaction": "fencing 116, hug 118, kick 130, kiss 102, punch 126, shake_hands 162, "
    "sword 127",
}

# Concepts, the frequent ones first.
NUSWIDE = (
    "sky clouds person water animal grass buildings window plants lake ocean road flowers sunset "
    "reflection rocks vehicle tree snow beach mountain airport bear birds boats book bridge cars "
    "castle cat cityscape computer coral cow dancing dog earthquake elk fire fish flags food fox "
    "frost garden glacier harbor horses house leaf map military moon nighttime plane police "
    "protest railroad rainbow running sand sign soccer sports statue street sun surf swimmers "
    "tattoo temple tiger tower town toy train valley waterfall wedding whales zebra"
)
# The share of images with the concept of rank r is FIRST * r^-POWER * exp(-DECAY * (r - 1)), which
# is 27.5% for the first, 0.02% (60 of all images) for the last, 1.87 concepts an image together.
FIRST, POWER, DECAY = 0.275, 0.406, 0.0667

# Subject: action and number of its frames in 15-joint HumanEva. S3 has no ThrowCatch there.
HUMANEVA = {
    "S1": "Box 497, Gestures 796, Jog 434, ThrowCatch 217, Walking 1171",
    "S2": "Box 463, Gestures 681, Jog 790, ThrowCatch 804, Walking 871",
    "S3": "Box 928, Gestures 209, Jog 826, Walking 890",
}


def n_samples(name: str, scale: float) -> int:
    """Number of samples of the original of this name, times ``scale``."""
    if not 0 < scale <= 1:
        raise ValueError(f"scale must be a number above 0 and at most 1. Got {scale!r}.")
    return round(scale * N_SAMPLES[name])


def class_sizes(name: str, table: Mapping[str, str], scale: float) -> dict[str, dict[str, int]]:
    """Samples of each class of each task: ``n_samples`` together, in the table's proportions."""
    found = {
        task: {label: int(count) for label, count in (entry.split() for entry in line.split(", "))}
        for task, line in table.items()
    }
    published = np.array([count for classes in found.values() for count in classes.values()])
    sizes = _quotas(published, n_samples(name, scale))
    if sizes.min() < 2:
        least = 2.5 * published.sum() / (published.min() * N_SAMPLES[name])
        raise ValueError(
            f"scale must be at least {least:.3f}, so that every class has two samples. "
            f"Got {scale!r}."
        )
    following = iter(sizes.tolist())
    return {task: {label: next(following) for label in classes} for task, classes in found.items()}


def concept_sizes(n: int) -> dict[str, int]:
    """Number of images among n that have each concept of NUS-WIDE; two at least."""
    concepts = NUSWIDE.split()
    ranks = np.arange(1.0, 1 + len(concepts))
    shares = FIRST * ranks**-POWER * np.exp(-DECAY * (ranks - 1.0))
    return dict(zip(concepts, np.maximum(2, np.rint(shares * n)).astype(int).tolist(), strict=True))
