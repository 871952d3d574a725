"""``cosift features`` from raw files to tables that ``cosift select`` reads."""

import json
import signal
import subprocess
import time

import cv2
import numpy as np
import polars as pl
import pytest
from commands import command, cosift, here, refusal

from cosift.datasets import load_hmdb, read_table
from cosift.features import (
    BagOfWords,
    MotionBoundaryHistograms,
    SkeletonFeatures,
    load_codebook,
    save_codebook,
    sift_descriptors,
)

rng = np.random.default_rng(0)
FRAMES = rng.normal(size=(12, 4, 3))
JOINTS = ["pelvis", "head", "hand", "foot"]


def texture(height, width, blur=1.5):
    noise = rng.integers(0, 256, size=(height, width), dtype=np.uint8)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), blur), None, 0, 255, cv2.NORM_MINMAX)


def save_image(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(cv2.imencode(path.suffix, image)[1])


def save_clip(path, by, n_frames=18):
    """A textured square that moves over a background at rest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25, (96, 80))
    background, square = texture(80, 96), texture(32, 32)
    for t in range(n_frames):
        frame = background.copy()
        x, y = 10 + by[0] * t, 8 + by[1] * t
        frame[y : y + 32, x : x + 32] = square
        video.write(cv2.cvtColor(frame, cv2.COLOR_GRAY2BGR))
    video.release()


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    for label, blur in [("fine", 1), ("coarse", 4)]:
        for k in range(4):
            save_image(folder / "lab" / label / f"{k}.jpg", texture(64, 80, blur))
    save_image(folder / "lab" / "coarse" / "grey.png", np.full((40, 40), 99, np.uint8))
    (folder / "lab" / "fine" / "broken.jpg").write_bytes(b"\xff\xd8 no picture")
    (folder / "lab" / "fine" / "._0.jpg").write_bytes(b"what another system leaves behind")
    (folder / "lab" / "readme.txt").write_text("no picture either")
    return folder


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Clips as HMDB51 has them, one of them cut off, with the official lists."""
    folder = tmp_path_factory.mktemp("hmdb")
    lists = folder / "lists"
    lists.mkdir()
    for label, by in [("jump", (0, 1)), ("walk", (2, 0))]:
        names = [f"Film{k}_{label}_f_cm_np1_fr_med_{k}.avi" for k in range(3)]
        for name in names:
            save_clip(folder / "clips" / label / name, by)
        for number in (1, 2, 3):
            sides = zip(names, (1, 1, 2), strict=True)
            lines = "".join(f"{name} {side} \n" for name, side in sides)
            (lists / f"{label}_test_split{number}.txt").write_text(lines)
    whole = next((folder / "clips" / "walk").iterdir()).read_bytes()
    (folder / "clips" / "walk" / "cut.avi").write_bytes(whole[: len(whole) // 2])
    return folder


def test_skeletons_of_arrays_as_published(tmp_path):
    """Numbers get their names, what is said once a sequence is said of its frames."""
    frames = FRAMES.copy()
    frames[3] = 0.0
    frames[5, 1, 2] = np.nan
    np.savez(
        tmp_path / "motion.npz",
        frames=np.dstack([frames, np.ones((12, 4))]),
        offsets=[0, 7, 12],
        action=np.array([1, 0]),
        action_names=["sit", "run"],
        frame=np.arange(12),
        unrelated=np.arange(5),
    )
    out = tmp_path / "features.parquet"
    joints = ["--joints", ",".join(JOINTS)]
    done = here("features", "skeleton", tmp_path / "motion.npz", *joints, "-o", out, "--json")
    assert "Left out 2 frames" in done.stderr
    found = json.loads(done.stdout)
    assert found["n_rows"] == 10
    assert found["left_out"] == 2
    assert found["columns"] == ["action", "frame", "sequence"]
    kept = np.setdiff1d(np.arange(12), [3, 5])
    expected = SkeletonFeatures(JOINTS).fit(FRAMES)
    roles = {"target": "action", "group": "sequence"}
    table = read_table(out, **roles, ignore=["frame"])
    np.testing.assert_array_equal(table.X, expected.transform(FRAMES[kept]))
    assert table.feature_names.tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(table.y, np.where(kept < 7, "run", "sit"))
    np.testing.assert_array_equal(table.groups, (kept >= 7).astype(int))


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "parquet"])
def test_every_table_is_read_back(tmp_path, ending):
    columns = [f"{name}_{axis}" for name in JOINTS for axis in "xyz"]
    frame = pl.DataFrame(dict(zip(columns, FRAMES.reshape(12, 12).T, strict=True)))
    frame.with_columns(kind=pl.Series(["a", "b"] * 6)).write_csv(tmp_path / "motion.csv")
    out = tmp_path / f"features.{ending}"
    options = ["--keep", "kind", "--root", "head", "-q"]
    done = here("features", "skeleton", tmp_path / "motion.csv", *options, "-o", out)
    assert not done.stderr
    table = read_table(out, target="kind")
    expected = SkeletonFeatures(JOINTS, root="head").fit(FRAMES)
    np.testing.assert_allclose(table.X, expected.transform(FRAMES), rtol=1e-12)
    assert table.feature_names.tolist() == expected.get_feature_names_out().tolist()
    assert table.y.tolist() == ["a", "b"] * 6


def test_skeletons_of_a_folder(tmp_path):
    for k, name in enumerate(["S1/Walking_1.npy", "S1/Jog_1.npy", "S2/Walking_1.npy"]):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, FRAMES[4 * k : 4 * k + 4])
    np.save(tmp_path / "data" / "S2" / "Jog_1.npy", FRAMES[:, :3])
    (tmp_path / "data" / "S2" / "Box_1.npy").write_bytes(b"nothing")
    out = tmp_path / "features.csv"
    done = here("features", "skeleton", tmp_path / "data", "-o", out, "--json")
    skipped = {row["file"]: row["reason"] for row in json.loads(done.stdout)["skipped"]}
    assert sorted(skipped) == ["S2/Box_1.npy", "S2/Jog_1.npy"]
    assert "expected the 4 joints" in skipped["S2/Jog_1.npy"]
    assert "2 of 5 files could not be read" in done.stderr
    frame = pl.read_csv(out)
    assert frame["folder"].to_list() == ["S1"] * 8 + ["S2"] * 4
    # In the order of their names: Jog before Walking.
    order = [*range(4, 8), *range(4), *range(8, 12)]
    expected = SkeletonFeatures().fit_transform(FRAMES[order])
    np.testing.assert_allclose(frame.drop("file", "folder").to_numpy(), expected)


def test_images_to_words_to_histograms(photos, tmp_path):
    out, codebook = tmp_path / "photos.parquet", tmp_path / "words.npz"
    options = ["--words", 12, "--codebook", codebook, "--seed", 3, "--workers", 2]
    done = cosift("features", "bow", photos, *options, "-o", out, "--json")
    found = json.loads(done.stdout)
    assert [row["file"] for row in found["skipped"]] == ["lab/fine/broken.jpg"]
    assert (
        "1 of 10 files could not be read:\n  lab/fine/broken.jpg: expected a whole" in done.stderr
    )
    assert found["n_rows"] == 9
    assert found["empty"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"photos.parquet", "words.npz"}

    frame = pl.read_parquet(out)
    items = [sift_descriptors(photos / name) for name in frame["file"]]
    bag = BagOfWords(12, random_state=3).fit(items)
    np.testing.assert_allclose(
        frame.drop("file", "class", "folder").to_numpy(), bag.transform(items), rtol=1e-6
    )
    assert frame["class"].to_list() == ["coarse"] * 5 + ["fine"] * 4
    assert set(frame["folder"]) == {"lab"}

    # The same words again, for one picture, counted in another way.
    save_image(tmp_path / "new" / "one.png", texture(64, 80))
    options = ["--codebook", codebook, "--assignment", "soft", "--norm", "none", "--workers", 1]
    done = here("features", "bow", tmp_path / "new", *options, "-o", tmp_path / "new.npz")
    assert "Using the 12 words" in done.stderr
    stored = np.load(tmp_path / "new.npz")
    item = sift_descriptors(tmp_path / "new" / "one.png")
    soft = load_codebook(codebook, assignment="soft", norm=None)
    np.testing.assert_allclose(stored["X"], soft.transform([item]), rtol=1e-6)
    assert stored["file"].tolist() == ["one.png"]
    assert "class" not in stored.files


def test_descriptors_of_ones_own(tmp_path):
    items = [rng.normal(size=(m, 5)) for m in (20, 30, 1)]
    folder = tmp_path / "items"
    folder.mkdir()
    np.save(folder / "a.npy", items[0])
    np.savez(folder / "b.npz", descriptors=items[1], about=np.arange(3))
    np.save(folder / "c.npy", items[2])
    np.save(folder / "wide.npy", rng.normal(size=(3, 6)))
    np.save(folder / "objects.npy", np.array([{}]), allow_pickle=True)
    np.save(folder / "lost.npy", np.full((2, 5), np.nan))
    out = tmp_path / "items.csv"
    done = here("features", "bow", folder, "--words", 4, "-o", out, "--json", "-q")
    skipped = {row["file"]: row["reason"] for row in json.loads(done.stdout)["skipped"]}
    assert sorted(skipped) == ["lost.npy", "objects.npy", "wide.npy"]
    assert "5 wide. Found 6" in skipped["wide.npy"]
    assert "unpickling" in skipped["objects.npy"]
    assert "3 of 6 files could not be read" in done.stderr
    frame = pl.read_csv(out)
    assert frame["file"].to_list() == ["a.npy", "b.npz", "c.npy"]
    expected = BagOfWords(4, random_state=0).fit_transform(items)
    np.testing.assert_allclose(frame.drop("file").to_numpy(), expected)


def test_clips_to_histograms_to_hmdb(clips, tmp_path):
    out, kept = tmp_path / "mbh.parquet", tmp_path / "kept"
    options = ["--words", 10, "--scales", 2, "--workers", 1]
    arguments = ["features", "mbh", clips / "clips", "-o", out, *options]
    done = cosift(*arguments, "--descriptors", kept)
    assert "mbh.parquet: 6 rows, 10 features" in done.stdout
    assert "1 of 7 files could not be read:\n  walk/cut.avi: expected 18 frames" in done.stderr

    frame = pl.read_parquet(out)
    transformer = MotionBoundaryHistograms(n_scales=2)
    items = transformer.transform(clips / "clips" / name for name in frame["file"])
    # Kept in half precision.
    items = [item.astype(np.float16).astype(np.float32) for item in items]
    bag = BagOfWords(10, random_state=0).fit(items)
    np.testing.assert_allclose(
        frame.drop("file", "class").to_numpy(), bag.transform(items), rtol=1e-6
    )
    table = read_table(out, target="class", ignore=["file"])
    assert table.y.tolist() == ["jump"] * 3 + ["walk"] * 3
    hmdb = load_hmdb(clips, features=out, split=1, groups={"legs": ["jump", "walk"]})
    assert hmdb.X.shape == (6, 10)
    assert hmdb.official_test.sum() == 2

    # What is described already is not described again, and bow makes the same of it.
    here(*arguments, "--descriptors", kept, "-q")
    assert pl.read_parquet(out).equals(frame)
    again = tmp_path / "again.parquet"
    done = here("features", "bow", kept, "--words", 10, "-o", again)
    assert pl.read_parquet(again).equals(frame)
    said = refusal(*arguments, "--descriptors", kept, "--scales", 1)
    assert "choose the same settings or another folder" in said


def test_an_interrupted_command_continues(clips, tmp_path):
    kept, out = tmp_path / "kept", tmp_path / "mbh.csv"
    arguments = ["features", "mbh", clips / "clips", "-o", out, "--words", 10, "--workers", 1]
    line, environment = command(*arguments, "--descriptors", kept)
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment)
    while len(list(kept.rglob("*.npy"))) < 1:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"Descriptors are kept in {kept}" in said
    assert not out.exists()
    done = here(*arguments, "--descriptors", kept)
    assert "files are described already" in done.stderr
    assert len(pl.read_csv(out)) == 6


def test_nothing_to_read_ends_with_code_1(tmp_path):
    folder = tmp_path / "broken"
    folder.mkdir()
    for name in ("a.avi", "b.mp4", "c.jpg", "d.npy"):
        (folder / name).write_bytes(b"broken")
    commands = {
        "mbh": ["a.avi", "b.mp4"],
        "skeleton": ["d.npy"],
    }
    for name, files in commands.items():
        out = tmp_path / "table.csv"
        workers = ["--workers", 1] if name == "mbh" else []
        done = here("features", name, folder, "-o", out, "--json", *workers, expect=1)
        assert [row["file"] for row in json.loads(done.stdout)["skipped"]] == files
        assert f"{len(files)} of {len(files)} files could not be read" in done.stderr
        assert not out.exists()


def test_usage_errors(photos, tmp_path):
    out = tmp_path / "out.csv"
    np.savez(tmp_path / "motion.npz", positions=FRAMES)
    np.savez(tmp_path / "no_codebook.npz", positions=FRAMES)
    np.savez(tmp_path / "two.npz", a=FRAMES, b=FRAMES)
    np.savez(tmp_path / "offsets.npz", frames=FRAMES, offsets=[0, 13])
    np.save(tmp_path / "still.npy", np.ones((3, 4, 3)))
    (tmp_path / "text.csv").write_text("x,y,z,who\n1,2,3,Ann\n")
    save_image(tmp_path / "mixed" / "a.png", texture(40, 40))
    save_image(tmp_path / "mixed" / "b" / "c.png", texture(40, 40))
    np.save(tmp_path / "mixed" / "b" / "d.npy", FRAMES[0])
    save_codebook(tmp_path / "words.npz", BagOfWords(4, random_state=0).fit([FRAMES[:, 0]]))

    def skeleton(name, *options):
        return refusal("features", "skeleton", tmp_path / name, "-o", out, *options)

    def bow(folder, *options):
        return refusal("features", "bow", folder, "-o", out, *options)

    assert "none.npz: No such file" in skeleton("none.npz")
    assert "'humaneva', 'msraction3d'. Got 'kinect'" in skeleton("motion.npz", "--joints", "kinect")
    assert "Got 2 names" in skeleton("motion.npz", "--joints", "a,b")
    assert "root must be" in skeleton("motion.npz", "--root", "tail")
    assert "called positions, frames" in skeleton("two.npz")
    assert "'offsets' must rise from 0" in skeleton("offsets.npz")
    assert "lost in every one of 3" in skeleton("still.npy")
    assert "'who'" in skeleton("text.csv")
    assert "no column 'whom'" in skeleton("text.csv", "--keep", "who", "--keep", "whom")
    assert "ends in .csv" in refusal("features", "bow", photos, "-o", tmp_path / "out.xlsx")
    assert "expected a folder. Found nothing" in bow(tmp_path / "none")
    assert "expected a folder. Found a file" in bow(tmp_path / "motion.npz")
    assert "Found a.png beside b/c.png" in bow(tmp_path / "mixed")
    assert "Found 1 and 1" in bow(tmp_path / "mixed" / "b")
    assert "expected files that end in .avi" in refusal("features", "mbh", photos, "-o", out)
    assert "a matrix 'words'" in bow(photos, "--codebook", tmp_path / "no_codebook.npz")
    assert "holds 4 words" in bow(photos, "--codebook", tmp_path / "words.npz", "--words", 5)
    assert "expected a .npz file" in bow(photos, "--codebook", tmp_path / "words.txt")
    said = bow(photos, "--words", 90_000, "--workers", 1)
    assert "--words 90000: X must hold" in said
    assert not out.exists()
    assert not list(tmp_path.glob(".cosift-*"))


def test_codebooks_are_plain_arrays(tmp_path):
    items = [rng.normal(size=(30, 3)).astype(np.float32)]
    bag = BagOfWords(5, assignment="soft", random_state=0).fit(items)
    path = tmp_path / "words.npz"
    save_codebook(path, bag)
    again = load_codebook(path, assignment="soft")
    np.testing.assert_array_equal(again.transform(items), bag.transform(items))
    assert again.codebook_.dtype == np.float32
    assert load_codebook(path, bandwidth=0.5).bandwidth_ == 0.5
    broken = {"words": bag.codebook_, "bandwidth": np.nan}
    np.savez(path, **broken)
    with pytest.raises(ValueError, match="must be finite"):
        load_codebook(path)
    np.savez(path, words=bag.codebook_, bandwidth=0.0)
    with pytest.raises(ValueError, match="bandwidth must be given"):
        load_codebook(path, assignment="soft")


def test_real_skeletons(real_data, tmp_path):
    """Both layouts of the data at hand, from the shell."""
    for name, joints, n_features, columns in [
        ("humaneva/humaneva_frames.npz", "humaneva", 150, {"action", "subject", "sequence"}),
        ("msraction3d/msraction3d.npz", "msraction3d", 250, {"action", "subject", "sequence"}),
    ]:
        out = tmp_path / "table.npz"
        options = ["--joints", joints, "-o", out, "--json"]
        done = here("features", "skeleton", real_data / name, *options)
        found = json.loads(done.stdout)
        assert found["n_features"] == n_features
        assert columns <= set(found["columns"])
        table = read_table(out, target="action", task="subject", group="sequence")
        assert len(table.X) == found["n_rows"]
