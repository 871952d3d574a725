"""Bags of words against scikit-learn's k-means and longhand histograms."""

import pickle
import sys

import cv2
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cosift.features import BagOfWords, sift_descriptors
from cosift.features._sample import RowSample

LENGTHS = (30, 0, 1, 200, 75)


def bags(seed=0, width=6, centers=12):
    """Descriptors about a few centers, and the center of each."""
    rng = np.random.default_rng(seed)
    places = rng.normal(scale=8, size=(centers, width))
    owner = rng.integers(centers, size=sum(LENGTHS))
    rows = places[owner] + rng.normal(size=(len(owner), width))
    return np.split(rows, np.cumsum(LENGTHS)[:-1]), owner


ITEMS, OWNER = bags()
ALL = np.concatenate(ITEMS)


def longhand(items, codebook, assignment, n_nearest, bandwidth):
    """Counts by loops over descriptors and words."""
    counts = np.zeros((len(items), len(codebook)))
    for row, item in zip(counts, items, strict=True):
        for x in item:
            distances = [np.sqrt(((x - word) ** 2).sum()) for word in codebook]
            order = np.argsort(distances)
            if assignment == "hard":
                row[order[0]] += 1
                continue
            weight = {k: np.exp(-(distances[k] ** 2) / (2 * bandwidth**2)) for k in order}
            total = sum(weight[k] for k in order[:n_nearest])
            for k in order[:n_nearest]:
                row[k] += weight[k] / total
    return counts


@pytest.mark.parametrize(
    ("assignment", "n_nearest", "bandwidth"),
    [("hard", 5, None), ("soft", 3, None), ("soft", 20, 4.0), ("soft", 99, 2.0), ("soft", 1, 1.0)],
)
def test_counts_are_those_of_loops(assignment, n_nearest, bandwidth):
    bag = BagOfWords(
        20,
        assignment=assignment,
        n_nearest=n_nearest,
        bandwidth=bandwidth,
        norm=None,
        random_state=0,
    ).fit(ITEMS)
    expected = longhand(ITEMS, bag.codebook_, assignment, n_nearest, bag.bandwidth_)
    np.testing.assert_allclose(bag.transform(ITEMS), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(expected.sum(axis=1), LENGTHS)


def test_narrow_soft_assignment_is_hard():
    hard = BagOfWords(20, random_state=0).fit_transform(ITEMS)
    soft = BagOfWords(20, assignment="soft", bandwidth=1e-3, random_state=0).fit_transform(ITEMS)
    np.testing.assert_allclose(soft, hard, atol=1e-12)


def test_codebook_finds_what_k_means_finds():
    """Well parted clusters: the words are their means; one word each, as by full k-means."""
    bag = BagOfWords(12, random_state=0).fit(ITEMS)
    full = KMeans(12, n_init=5, random_state=0).fit(ALL)
    words = cdist(ALL, bag.codebook_).argmin(axis=1)
    assert adjusted_rand_score(words, OWNER) == 1.0
    assert adjusted_rand_score(words, full.labels_) == 1.0
    inertia = (cdist(ALL, bag.codebook_).min(axis=1) ** 2).sum()
    assert inertia <= 1.01 * full.inertia_
    np.testing.assert_allclose(bag.bandwidth_, np.sqrt(inertia / len(ALL)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_codebook_is_near_the_best_where_there_are_no_clusters(dtype):
    rows = np.random.default_rng(1).normal(size=(3000, 8)).astype(dtype)
    bag = BagOfWords(50, random_state=0).fit([rows])
    full = KMeans(50, n_init=3, random_state=0).fit(rows)
    assert (cdist(rows, bag.codebook_).min(axis=1) ** 2).sum() < 1.06 * full.inertia_
    assert bag.codebook_.dtype == dtype
    assert len(np.unique(bag.codebook_, axis=0)) == 50


def test_norms():
    counts = BagOfWords(20, norm=None, random_state=0).fit_transform(ITEMS)
    some = np.array(LENGTHS) > 0
    full = counts[some]
    for norm, expected in {
        "l1": full / full.sum(axis=1, keepdims=True),
        "l2": full / np.sqrt((full**2).sum(axis=1, keepdims=True)),
        "sqrt": np.sqrt(full / full.sum(axis=1, keepdims=True)),
    }.items():
        histograms = BagOfWords(20, norm=norm, random_state=0).fit_transform(ITEMS)
        np.testing.assert_allclose(histograms[some], expected, rtol=1e-14)
        np.testing.assert_array_equal(histograms[~some], 0)


@pytest.mark.parametrize("assignment", ["hard", "soft"])
def test_sparse_is_dense_and_batches_do_not_matter(assignment, monkeypatch):
    bag = BagOfWords(20, assignment=assignment, norm="sqrt", random_state=0).fit(ITEMS)
    dense = bag.transform(ITEMS)
    sparse = clone(bag).set_params(sparse_output=True).fit(ITEMS).transform(ITEMS)
    assert isinstance(sparse, sp.csr_array)
    np.testing.assert_array_equal(sparse.toarray(), dense)
    for batch in (1, 31, 100):
        monkeypatch.setattr("cosift.features.bag_of_words.BATCH", batch)
        np.testing.assert_allclose(bag.transform(ITEMS), dense, atol=1e-12)
    np.testing.assert_allclose(np.vstack([bag.transform([x]) for x in ITEMS]), dense, atol=1e-12)


def test_seed_decides_and_generators_will_do():
    bag = BagOfWords(10, sample_size=100, random_state=3).fit(ITEMS)
    assert bag.n_sampled_ == 100
    np.testing.assert_array_equal(clone(bag).fit(iter(ITEMS)).codebook_, bag.codebook_)
    assert (clone(bag).set_params(random_state=4).fit(ITEMS).codebook_ != bag.codebook_).any()
    again = pickle.loads(pickle.dumps(bag))
    np.testing.assert_array_equal(again.transform(x for x in ITEMS), bag.transform(ITEMS))


def test_scikit_learn_conventions():
    bag = BagOfWords(20, random_state=0)
    with pytest.raises(NotFittedError):
        bag.transform(ITEMS)
    frame = bag.set_output(transform="polars").fit_transform(ITEMS)
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == [f"word{k}" for k in range(20)]
    chain = make_pipeline(BagOfWords(20, random_state=0), StandardScaler()).fit(ITEMS)
    assert chain.transform(ITEMS).shape == (5, 20)
    assert chain[:-1].get_feature_names_out().tolist() == frame.columns
    assert chain[:-1].transform(np.ones((3, 4, 6))).shape == (3, 20)


def test_items_are_left_alone():
    before = [item.copy() for item in ITEMS]
    BagOfWords(5, norm="sqrt", random_state=0).fit_transform(ITEMS)
    for item, copy in zip(ITEMS, before, strict=True):
        np.testing.assert_array_equal(item, copy)


def with_nan():
    items = [item.copy() for item in ITEMS]
    items[3][[7, 9], 2] = np.nan
    return items


@pytest.mark.parametrize(
    ("params", "items", "message"),
    [
        ({"n_words": 400}, ITEMS, "as there are words, 400. Got 306; lower n_words"),
        ({"n_words": 5}, [np.ones((9, 2)), np.zeros((4, 2))], "5 different.*Got 2 among 13"),
        ({"n_words": 5}, [], "Got 0"),
        ({"n_words": 5}, [[], []], "Got 0"),
        ({"n_words": 5}, with_nan(), "without NaN.*descriptor 7 of item 3, one of 2"),
        ({"n_words": 5}, [*ITEMS, np.ones((2, 5))], "item 5 must be 6 wide.*Got 5"),
        ({"n_words": 5}, [ITEMS[0][0]], r"matrix of numbers.*\(6,\) as item 0"),
        ({"n_words": 5}, [np.array([["a", "b"]])], "Got <U1"),
        ({"n_words": 0}, ITEMS, "n_words must be a whole number from 1. Got 0"),
        ({"n_nearest": 1.5}, ITEMS, "n_nearest must be.*Got 1.5"),
        ({"n_words": 50, "sample_size": 49}, ITEMS, "at least n_words = 50. Got 49"),
        ({"assignment": "fuzzy"}, ITEMS, "'hard' or 'soft'. Got 'fuzzy'"),
        ({"norm": "max"}, ITEMS, "or None. Got 'max'"),
        ({"bandwidth": 0.0}, ITEMS, "positive number or None. Got 0.0"),
        ({"n_words": 2, "assignment": "soft"}, [np.eye(2)], "bandwidth must be given"),
    ],
)
def test_errors_say_what_would_do(params, items, message):
    with pytest.raises(ValueError, match=message):
        BagOfWords(**params).fit(items)


def test_errors_of_transform():
    bag = BagOfWords(5, random_state=0).fit(ITEMS)
    with pytest.raises(ValueError, match=r"item 1 must be 6 wide, as the codebook\. Got 7"):
        bag.transform([ITEMS[0], np.ones((1, 7))])
    with pytest.raises(ValueError, match="at least one item"):
        bag.transform([])


def test_sample_is_the_smallest_keys_however_rows_are_cut():
    rows = np.arange(500.0)[:, None]
    keys = np.random.RandomState(5).random_sample(500)
    expected = np.sort(np.argsort(keys)[:40])
    for cuts in ([], [250], range(1, 500), [3, 3, 90, 480]):
        sample = RowSample(40, np.random.RandomState(5))
        for block in np.split(rows, cuts):
            sample.add(block)
        assert sample.seen == 500
        np.testing.assert_array_equal(sample.rows()[:, 0], expected)


def test_sample_is_uniform():
    drawn = np.zeros(50)
    random_state = np.random.RandomState(0)
    for _ in range(2000):
        sample = RowSample(5, random_state)
        for block in np.split(np.arange(50), [20, 21, 44]):
            sample.add(block)
        drawn[sample.rows()] += 1
    assert drawn.sum() == 10_000
    assert chisquare(drawn).pvalue > 0.01


def picture(seed=0, shape=(96, 128)):
    noise = np.random.default_rng(seed).integers(0, 256, size=shape, dtype=np.uint8)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), 3), None, 0, 255, cv2.NORM_MINMAX)


def save(path, image):
    path.write_bytes(cv2.imencode(path.suffix, image)[1])
    return path


def test_sift_of_a_file_is_that_of_its_pixels(tmp_path):
    image = picture()
    _, expected = cv2.SIFT_create().detectAndCompute(image, None)
    path = save(tmp_path / "näme.png", image)
    descriptors = sift_descriptors(path)
    np.testing.assert_array_equal(descriptors, expected)
    assert sift_descriptors(path, longest_edge=128).shape == expected.shape
    half = cv2.resize(image, (64, 48), interpolation=cv2.INTER_AREA)
    _, expected = cv2.SIFT_create().detectAndCompute(half, None)
    np.testing.assert_array_equal(sift_descriptors(path, longest_edge=64), expected)
    empty = sift_descriptors(save(tmp_path / "grey.png", np.full((40, 40), 128, np.uint8)))
    assert empty.shape == (0, 128)


def test_sift_recognises_a_turned_image(tmp_path):
    """The same picture upside down has the same words, another picture has not."""
    files = [
        save(tmp_path / f"{k}.png", image)
        for k, image in enumerate([picture(1), cv2.rotate(picture(1), cv2.ROTATE_180), picture(2)])
    ]
    items = [sift_descriptors(file) for file in files]
    first, turned, other = BagOfWords(30, norm="sqrt", random_state=0).fit_transform(items)
    # Angles: histograms have length 1.
    assert 2 * np.arccos(first @ turned) < np.arccos(first @ other)


@pytest.mark.parametrize("ending", [".png", ".jpg"])
def test_broken_images_are_refused(tmp_path, ending):
    path = save(tmp_path / f"image{ending}", picture())
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no image"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"image{ending}: expected a whole image"):
            sift_descriptors(path)
    with pytest.raises(FileNotFoundError):
        sift_descriptors(tmp_path / "none.png")


def test_without_opencv_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(ImportError, match=r"cosift\[video\]"):
        sift_descriptors(tmp_path / "any.png")
