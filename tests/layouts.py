"""Files as the authors of the paper's datasets lay them out, small and made up by the tests.

Every function writes one folder and returns what was written, for the loaders to find again.
"""

from types import SimpleNamespace

import numpy as np

CCV_CATEGORIES = (
    *("Basketball", "Baseball", "Soccer", "IceSkating", "Skiing", "Swimming", "Biking"),
    *("Cat", "Dog", "Bird", "Graduation", "Birthday", "WeddingReception", "WeddingCeremony"),
    *("WeddingDance", "MusicPerformance", "NonMusicPerformance", "Parade", "Beach", "Playground"),
)
CCV_WORDS = {"STIP": 5000, "SIFT": 5000, "MFCC": 4000}

HMDB_GROUPS = {
    "facial": "chew laugh smile talk",
    "facial with object": "drink eat smoke",
    "body": "cartwheel clap climb climb_stairs dive fall_floor flic_flac handstand jump pullup "
    "pushup run sit situp somersault stand turn walk wave",
    "body with object": "brush_hair catch draw_sword dribble golf hit kick_ball pick pour push "
    "ride_bike ride_horse shoot_ball shoot_bow shoot_gun swing_baseball sword_exercise throw",
    "interaction": "fencing hug kick kiss punch shake_hands sword",
}


def sparse_counts(rng, n, d, share=0.05):
    return rng.poisson(3.0, size=(n, d)) * (rng.random((n, d)) < share)


def write_matrix(path, matrix, *, end=" \n"):
    """Numbers with blanks between them, and one after the last as in the authors' files."""
    path.write_text("".join(" ".join(f"{v:g}" for v in row) + end for row in matrix))


def write_ccv(folder, *, n_train=25, n_test=23, kinds=("STIP",), seed=0):
    """CCV: some videos have no category, some have two."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "categoryName.txt").write_text("\n".join(CCV_CATEGORIES))
    Y, bags = {}, {kind: {} for kind in kinds}
    for side, n in (("train", n_train), ("test", n_test)):
        Y[side] = np.eye(20, dtype=int)[rng.permutation(np.arange(n) % 20)]
        Y[side][0] = 0
        Y[side][1, [3, 18]] = 1
        write_matrix(folder / f"{side}Label.txt", Y[side])
        ids = "".join(f"{side}{i:04d}xyz\n" for i in range(n))
        (folder / f"{side}VidID.txt").write_text(ids)
        for kind in kinds:
            bags[kind][side] = sparse_counts(rng, n, CCV_WORDS[kind])
            write_matrix(folder / f"{kind}-{side}Feature.txt", bags[kind][side])
    return SimpleNamespace(
        Y=np.vstack(list(Y.values())),
        bags={kind: np.vstack(list(own.values())) for kind, own in bags.items()},
        is_test=np.repeat([False, True], [n_train, n_test]),
    )


def write_nuswide(folder, concepts, *, n_train=40, n_test=30, seed=0):
    """NUS-WIDE: the split files, and all images in another order."""
    rng = np.random.default_rng(seed)
    n = n_train + n_test
    X = sparse_counts(rng, n, 500, share=0.1)
    Y = (rng.random((n, len(concepts))) < 0.2).astype(int)
    truth = folder / "Groundtruth"
    for name in ("TrainTestLabels", "AllLabels"):
        (truth / name).mkdir(parents=True)
    (folder / "Features").mkdir()
    order = rng.permutation(n)
    for side, rows in (("_Train", slice(n_train)), ("_Test", slice(n_train, n))):
        write_matrix(folder / "Features" / f"BoW{side}_int.dat", X[rows])
        for c, name in enumerate(concepts):
            write_matrix(
                truth / "TrainTestLabels" / f"Labels_{name}{side}.txt", Y[rows, c : c + 1], end="\n"
            )
    write_matrix(folder / "Features" / "BoW_int.dat", X[order])
    for c, name in enumerate(concepts):
        write_matrix(truth / "AllLabels" / f"Labels_{name}.txt", Y[order, c : c + 1], end="\n")
    return SimpleNamespace(X=X, Y=Y, order=order, is_test=np.arange(n) >= n_train)


def write_hmdb(folder, *, clips=4, films=2):
    """HMDB51: three lists an action, clips in folders of actions, the films' names in theirs."""
    lists = folder / "testTrainMulti_7030_splits"
    lists.mkdir(parents=True)
    rows = []
    for task, actions in HMDB_GROUPS.items():
        for action in actions.split():
            (folder / action).mkdir()
            names = [f"Film_{k % films}_{action}_f_cm_np1_fr_med_{k}.avi" for k in range(clips)]
            sides = np.array([np.roll([1, 1, 2, 0], shift)[:clips] for shift in range(3)])
            for number, own in enumerate(sides, 1):
                text = "".join(f"{n} {side} \n" for n, side in zip(names, own, strict=True))
                (lists / f"{action}_test_split{number}.txt").write_text(text)
            for k, name in enumerate(names):
                (folder / action / name).touch()
                rows.append((name, action, task, f"Film_{k % films}", tuple(sides[:, k])))
    return rows


def write_humaneva(folder, *, joints=15, frames=6, seed=0):
    """A folder a subject, a file a sequence: arrays for one subject, tables for the other."""
    rng = np.random.default_rng(seed)
    rows = []
    for subject in ("S1", "S2"):
        (folder / subject).mkdir(parents=True)
        for action in ("Box", "Walking"):
            for number in (1, 2):
                positions = rng.normal(size=(frames, joints, 3)).round(4)
                file = folder / subject / f"{action}_{number}"
                if subject == "S1":
                    np.save(file.with_suffix(".npy"), positions)
                else:
                    names = ",".join(f"joint{j}_{axis}" for j in range(joints) for axis in "xyz")
                    flat = positions.reshape(frames, -1)
                    np.savetxt(
                        file.with_suffix(".csv"), flat, delimiter=",", header=names, comments=""
                    )
                rows.append((subject, action, f"{subject} {action}_{number}", positions))
    return rows
