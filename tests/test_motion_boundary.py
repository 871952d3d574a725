"""Motion boundary histograms against longhand loops, geometry and known motions."""

import math
import os
import pickle
import weakref
from itertools import pairwise

import cv2
import numpy as np
import pytest
from joblib import parallel_config
from scipy.ndimage import median_filter
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from cosift.features import BagOfWords, MotionBoundaryHistograms
from cosift.features._flow import boundaries, cell_sums, dense_flow, integral, oriented
from cosift.features._tracks import Tracks
from cosift.features._video import grey_frames

WIDTH, HEIGHT = 160, 128
SQUARE = 48
WHERE = (50, 40)


@pytest.fixture(scope="module", autouse=True)
def quiet():
    """Broken files make the decoder talk; one thread keeps tests from competing."""
    os.environ["OPENCV_FFMPEG_LOGLEVEL"] = "-8"
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(threads)


def texture(seed, height, width):
    noise = np.random.default_rng(seed).integers(0, 256, size=(height, width), dtype=np.uint8)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 1.5), None, 0, 255, cv2.NORM_MINMAX)


BACKGROUND, OBJECT = texture(0, 300, 400), texture(1, SQUARE, SQUARE)


def clip(path, *, object_by=(0, 0), pan=(0, 0), n_frames=18, shape=(HEIGHT, WIDTH), still=None):
    """Write a textured square that moves over a textured background that moves by itself."""
    height, width = shape
    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 25, (width, height))
    video.set(cv2.VIDEOWRITER_PROP_QUALITY, 95)
    for t in range(n_frames):
        x, y = (120 - step * t for step in pan)
        frame = BACKGROUND[y : y + height, x : x + width].copy() if still is None else still.copy()
        x, y = (start + step * t for start, step in zip(WHERE, object_by, strict=True))
        if object_by != (0, 0):
            frame[y : y + SQUARE, x : x + SQUARE] = OBJECT
        video.write(cv2.cvtColor(frame, cv2.COLOR_GRAY2BGR))
    video.release()
    return path


def finished(path, **settings):
    """Positions and unscaled histograms of all tracks: by component, stage, cells, bin."""
    histograms = MotionBoundaryHistograms(n_scales=1, **settings)
    tracks = list(histograms._tracks(path))
    positions = np.concatenate([part.positions for part in tracks])
    gathered = np.concatenate([part.gathered for part in tracks]).swapaxes(1, 2)
    cells = histograms.n_cells
    return positions, gathered.reshape(*gathered.shape[:3], cells, cells, -1)


def longhand_oriented(a, b, n_bins):
    shares = np.zeros((*a.shape, n_bins))
    for y, x in np.ndindex(a.shape):
        place = math.atan2(b[y, x], a[y, x]) % (2 * math.pi) * n_bins / (2 * math.pi)
        lower = math.floor(place)
        magnitude = math.hypot(a[y, x], b[y, x])
        shares[y, x, lower % n_bins] += magnitude * (1 - place + lower)
        shares[y, x, (lower + 1) % n_bins] += magnitude * (place - lower)
    return shares


def longhand_cells(shares, x, y, patch, n_cells):
    height, width, n_bins = shares.shape
    left = min(max(x - patch // 2, 0), width - patch)
    top = min(max(y - patch // 2, 0), height - patch)
    sums = np.zeros((n_cells, n_cells, n_bins))
    for row in range(patch):
        for column in range(patch):
            cell = row * n_cells // patch, column * n_cells // patch
            sums[cell] += shares[top + row, left + column]
    return sums


def test_derivatives_are_central_differences():
    flow = np.random.default_rng(0).normal(size=(9, 13, 2)).astype(np.float32)
    padded = np.pad(flow, [(1, 1), (1, 1), (0, 0)], mode="edge").astype(float)
    for c, (along_x, along_y) in enumerate(boundaries(flow)):
        for y, x in np.ndindex(9, 13):
            f = padded[..., c]
            np.testing.assert_allclose(
                along_x[y, x], (f[y + 1, x + 2] - f[y + 1, x]) / 2, atol=1e-6
            )
            np.testing.assert_allclose(
                along_y[y, x], (f[y + 2, x + 1] - f[y, x + 1]) / 2, atol=1e-6
            )


@pytest.mark.parametrize("n_bins", [8, 5, 1])
def test_orientations_are_those_of_loops(n_bins):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 20, 24)).astype(np.float32)
    # Zero, every multiple of 45 degrees, and angles that round up to a full turn.
    a[0, :9] = [0, 1, 1, 0, -1, -1, -1, 0, 1]
    b[0, :9] = [0, 0, 1, 1, 1, 0, -1, -1, -1]
    a[1, :3], b[1, :3] = 1, [-1e-9, -1e-30, 1e-9]
    shares = oriented((a, b), n_bins)
    np.testing.assert_allclose(shares, longhand_oriented(a, b, n_bins), atol=2e-3)
    np.testing.assert_allclose(shares.sum(axis=2), np.hypot(a, b), rtol=1e-6)


@pytest.mark.parametrize(("patch", "n_cells"), [(8, 2), (6, 1), (9, 3)])
def test_cells_are_sums_of_loops_and_stay_inside(patch, n_cells):
    shares = np.random.default_rng(0).random((20, 24, 3)).astype(np.float32)
    points = np.array([[x, y] for x in (0, 3, 12, 23) for y in (0, 10, 19)])
    sums = cell_sums(integral(shares), points, patch, n_cells)
    expected = [longhand_cells(shares.astype(float), x, y, patch, n_cells) for x, y in points]
    np.testing.assert_allclose(sums, expected, rtol=1e-6)


def test_tracks_and_descriptors_are_those_of_loops(tmp_path):
    """One flow for both; all that follows from it by loops, for some of the tracks."""
    path = clip(tmp_path / "clip.avi", object_by=(2, 1), n_frames=12)
    settings = {"length": 6, "n_stages": 2, "patch": 16, "n_bins": 4}
    positions, gathered = finished(path, **settings)
    frames = list(grey_frames(path))
    flows = [dense_flow().calc(a, b, None) for a, b in pairwise(frames)]
    smooth = [
        np.stack([median_filter(flow[..., c], 3, mode="nearest") for c in (0, 1)], axis=-1)
        for flow in flows
    ]
    shares = [
        [longhand_oriented(*np.gradient(flow[..., c].astype(float))[::-1], 4) for c in (0, 1)]
        for flow in flows
    ]
    # Tracks in the order in which they ended: the first began in the first frame.
    starts = [i for i in range(len(positions)) if (positions[i, 0] % 5 == 2).all()][:4]
    assert len(starts) == 4
    descriptors = MotionBoundaryHistograms(n_scales=1, **settings).transform([path])[0]
    for i in starts:
        here = positions[i, 0]
        expected = np.zeros((2, 2, 2, 2, 4))
        for t in range(6):
            x, y = round(float(here[0])), round(float(here[1]))
            for c in (0, 1):
                expected[c, t // 3] += longhand_cells(shares[t][c], x, y, 16, 2)
            here = here + smooth[t][y, x]
            np.testing.assert_allclose(positions[i, t + 1], here, atol=1e-4)
        np.testing.assert_allclose(gathered[i], expected, atol=0.02)
        means = expected.reshape(2, -1) / (8 * 8 * 3)
        scaled = means / np.sqrt((means**2).sum(axis=1, keepdims=True) + 0.02**2)
        np.testing.assert_allclose(descriptors[i], scaled.ravel(), atol=2e-3)


@pytest.mark.parametrize("pan", [(2, 0), (-1, 2), (0, -3)])
def test_tracks_follow_what_they_are_on(tmp_path, pan):
    positions, _ = finished(clip(tmp_path / "clip.avi", pan=pan))
    assert len(positions) > 300
    np.testing.assert_array_equal(positions[:, 0] % 1, 0)
    drift = positions[:, -1] - positions[:, 0] - 15 * np.array(pan)
    inner = ((positions[:, -1] > 12) & (positions[:, -1] < [WIDTH - 12, HEIGHT - 12])).all(axis=1)
    lengths = np.linalg.norm(drift[inner], axis=1)
    assert np.median(lengths) < 0.3
    assert np.quantile(lengths, 0.95) < 1


# Where the square moves, in x and y (down), and the component that carries its motion.
MOTIONS = {"right": (2, 0), "left": (-2, 0), "down": (0, 2), "up": (0, -2)}


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_moving_square_activates_the_bins_of_its_edges(tmp_path, motion):
    """Across an edge the flow steps between 0 and the square's, along the edge it is constant.

    Moving right, u rises with x over the left edge (angle 0, bin 0) and falls over the right
    edge (bin 4); it rises with y (down) over the upper edge (90 degrees, bin 2) and falls over
    the lower (bin 6). Moving left all of them turn round. Down and up do to v what right and
    left do to u, and the other component has no boundary.
    """
    by = MOTIONS[motion]
    path = clip(tmp_path / "clip.avi", object_by=by)
    positions, gathered = finished(path)
    component = 0 if by[0] else 1
    turned = 0 if sum(by) > 0 else 4
    assert len(positions) > 30
    mine, other = gathered[:, component], gathered[:, 1 - component]
    assert other.sum() < 0.15 * mine.sum()
    total = mine.sum(axis=(0, 1, 2, 3))
    assert total[::2].sum() > 2 * total[1::2].sum()
    # Tracks all started on the square at rest; of a first frame the square's place is known.
    place = positions[:, 0] - WHERE
    middle = np.abs(place - SQUARE / 2) < 8
    for axis, edge, expected in [(0, 0, 0), (0, SQUARE, 4), (1, 0, 2), (1, SQUARE, 6)]:
        near = (np.abs(place[:, axis] - edge) < 10) & middle[:, 1 - axis]
        bins = mine[near].sum(axis=(0, 1, 2, 3))
        assert near.sum() > 0
        assert bins.argmax() == (expected + turned) % 8
        assert bins.max() > 0.6 * bins.sum()


def test_camera_pan_is_suppressed(tmp_path):
    """The same square over the same background, once before a still and once a moving camera."""
    by, pan = (2, 1), (-4, 2)
    seen = (by[0] + pan[0], by[1] + pan[1])
    paths = [
        clip(tmp_path / "still.avi", object_by=by, n_frames=3, shape=(160, 224)),
        clip(tmp_path / "pan.avi", object_by=seen, pan=pan, n_frames=3, shape=(160, 224)),
    ]
    flow_histograms, boundary_histograms = [], []
    x, y = WHERE
    edge = [(x, y + 24), (x + 48, y + 24), (x + 24, y), (x + 24, y + 48), (x + 8, y + 8)]
    background = [(140, 30), (190, 30), (140, 80), (190, 120), (140, 120)]
    points = np.array(edge + background)
    for path in paths:
        before, after, _ = grey_frames(path)
        flow = dense_flow().calc(before, after, None)
        fields = [(flow[..., 0], flow[..., 1]), *boundaries(flow)]
        sums = [
            cell_sums(integral(oriented(field, 8)), points, 32, 2).reshape(10, -1)
            for field in fields
        ]
        flow_histograms.append(sums[0])
        boundary_histograms.append(np.hstack(sums[1:]))

    def change(histograms):
        still, moving = (h[:5] / np.linalg.norm(h[:5], axis=1, keepdims=True) for h in histograms)
        return np.linalg.norm(still - moving, axis=1).mean()

    def share_of_background(histograms):
        return histograms[1][5:].sum() / histograms[1].sum()

    # What describes the edges of the square changes little, and the background says little.
    assert change(boundary_histograms) < 0.35 < 1.0 < change(flow_histograms)
    in_flow, in_boundaries = map(share_of_background, (flow_histograms, boundary_histograms))
    assert 8 * in_boundaries < 0.5 < in_flow
    # A scaled descriptor of the panned background is short, one of an edge is not.
    descriptors = MotionBoundaryHistograms(n_scales=1, length=2, n_stages=1).transform(paths[1:])
    lengths = np.linalg.norm(descriptors[0], axis=1) / np.sqrt(2)
    assert np.quantile(lengths, 0.3) < 0.4
    assert np.quantile(lengths, 0.95) > 0.9


def test_nothing_comes_of_a_still_or_short_or_flat_video(tmp_path):
    paths = [
        clip(tmp_path / "still.avi"),
        clip(tmp_path / "short.avi", pan=(2, 0), n_frames=15),
        clip(tmp_path / "flat.avi", still=np.full((HEIGHT, WIDTH), 90, np.uint8)),
        clip(tmp_path / "one.avi", n_frames=1),
    ]
    for descriptors in MotionBoundaryHistograms(n_scales=2).transform(paths):
        assert descriptors.shape == (0, 192)


def test_a_track_needs_texture_and_stays_in_the_frame():
    frame = np.zeros((40, 60), np.uint8)
    frame[10:30, 20:40] = texture(3, 20, 20)
    flow = np.full((40, 60, 2), [4.0, 0.0], dtype=np.float32)
    tracks = Tracks(frame.shape, 5, 6, (1,))
    ended = [tracks.step(frame, flow, lambda pixels: np.ones(len(pixels))) for _ in range(6)]
    assert [len(part.positions) for part in ended[:5]] == [0] * 5
    positions, gathered = ended[5]
    starts = positions[:, 0]
    assert len(starts) > 5
    assert (starts > 5).all()
    assert (starts[:, 0] + 24 <= 59).all()
    np.testing.assert_array_equal(positions[:, -1] - starts, np.tile([24, 0], (len(starts), 1)))
    np.testing.assert_array_equal(gathered, 6)


@pytest.mark.parametrize(
    ("steps", "kept"),
    [([0.2] * 6, False), ([3.0] * 6, True), ([40.0] * 6, False), ([0.5, 60, 0, 0, 0, 0.5], False)],
)
def test_tracks_that_rest_or_jump_are_dropped(steps, kept):
    frame = texture(3, 40, 400)
    tracks = Tracks(frame.shape, 5, 6, (1,))
    found = 0
    for step in steps:
        flow = np.full((40, 400, 2), [step, 0.0], dtype=np.float32)
        found = len(tracks.step(frame, flow, lambda pixels: np.ones(len(pixels))).positions)
    assert (found > 0) == kept


def test_few_frames_are_held_at_a_time(tmp_path, monkeypatch):
    alive = weakref.WeakSet()
    most = 0

    class Watched(np.ndarray):
        """An array that a set can hold weakly."""

        __hash__ = object.__hash__

    def watched(path):
        nonlocal most
        for frame in grey_frames(path):
            copy = frame.view(Watched)
            alive.add(copy)
            most = max(most, len(alive))
            yield copy

    monkeypatch.setattr("cosift.features.motion_boundary.grey_frames", watched)
    clip(tmp_path / "long.avi", pan=(1, 0), n_frames=40)
    MotionBoundaryHistograms(n_scales=1, spacing=20).transform([tmp_path / "long.avi"])
    assert 1 < most <= 3


def test_scales_add_tracks_of_smaller_frames(tmp_path):
    path = clip(tmp_path / "clip.avi", object_by=(2, 1))
    one, three, all_that_fit = (
        MotionBoundaryHistograms(n_scales=k).transform([path])[0] for k in (1, 3, 8)
    )
    assert len(one) < len(three) < len(all_that_fit)
    assert {row.tobytes() for row in one} <= {row.tobytes() for row in three}
    shapes = MotionBoundaryHistograms()._shapes((HEIGHT, WIDTH))
    assert shapes == [(128, 160), (91, 113), (64, 80), (45, 57), (32, 40)]


def test_a_sample_where_there_are_too_many(tmp_path):
    path = clip(tmp_path / "clip.avi", pan=(2, 0))
    every = MotionBoundaryHistograms(n_scales=1).transform([path])[0]
    some = MotionBoundaryHistograms(n_scales=1, max_descriptors=50).transform([path])[0]
    assert some.shape == (50, 192)
    assert some.dtype == every.dtype == np.float32
    assert {row.tobytes() for row in some} <= {row.tobytes() for row in every}


def test_scikit_learn_conventions(tmp_path):
    paths = [
        clip(tmp_path / "right.avi", object_by=(2, 0)),
        clip(tmp_path / "down.avi", object_by=(0, 2)),
        clip(tmp_path / "still.avi"),
    ]
    histograms = MotionBoundaryHistograms(n_scales=1, n_jobs=2)
    with parallel_config(backend="threading"):
        together = pickle.loads(pickle.dumps(histograms)).fit_transform(paths)
    alone = clone(histograms).set_params(n_jobs=None).transform(map(str, paths))
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_array_equal(a, b)
    chain = make_pipeline(MotionBoundaryHistograms(n_scales=1), BagOfWords(15, random_state=0))
    right, down, still = chain.fit_transform(paths)
    assert right @ down < 0.5 * min(right @ right, down @ down)
    np.testing.assert_array_equal(still, 0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"patch": 33}, "patch must be a multiple of n_cells = 2. Got 33"),
        ({"length": 10}, "length must be a multiple of n_stages = 3. Got 10"),
        ({"n_bins": 0}, "n_bins must be a whole number from 1. Got 0"),
        ({"spacing": 2.5}, "spacing must be.*Got 2.5"),
        ({"floor": -1}, "floor must be 0 or positive. Got -1"),
        ({"max_descriptors": 0}, "max_descriptors must be.*Got 0"),
    ],
)
def test_errors_say_what_would_do(params, message):
    with pytest.raises(ValueError, match=message):
        MotionBoundaryHistograms(**params).fit()


def test_broken_files_are_named(tmp_path):
    path = clip(tmp_path / "clip.avi", object_by=(2, 0))
    whole = path.read_bytes()
    for share, message in [
        (0.5, r"clip.avi: expected 18 frames.*Found \d+; it seems to be cut off"),
        (0.02, "clip.avi: expected a video"),
        (0, "clip.avi: expected a video"),
    ]:
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(ValueError, match=message):
            MotionBoundaryHistograms(n_scales=1).transform([path])
    path.write_text("no video\n" * 999)
    with pytest.raises(ValueError, match="expected a video"):
        MotionBoundaryHistograms().transform([path])
    with pytest.raises(FileNotFoundError):
        MotionBoundaryHistograms().transform([tmp_path / "none.avi"])
    small = clip(tmp_path / "small.avi", shape=(24, 48))
    with pytest.raises(ValueError, match=r"at least 32 pixels.*Found 48 x 24"):
        MotionBoundaryHistograms().transform([small])
