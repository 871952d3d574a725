"""Bags of local descriptors -> histograms over a codebook of visual words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from cosift._typing import Matrix
from cosift.features._sample import RowSample

__all__ = ["BagOfWords"]

ASSIGNMENTS = ("hard", "soft")
NORMS = ("l1", "l2", "sqrt", None)
# Descriptors that are compared with the codebook at a time.
BATCH = 20_000


class BagOfWords(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Histograms of local descriptors over a codebook learned by k-means.

    An item (an image, a clip) is a bag of any number of descriptors :math:`x_1, \dots, x_m` of
    the same width.  With the words :math:`c_1, \dots, c_K` it becomes the histogram

    .. math::

        h_k = \sum_{i=1}^{m} a_k(x_i), \qquad
        a_k(x) = \begin{cases}
            1 \text{ if } c_k \text{ is the word nearest to } x \text{, else } 0
                & \text{(hard)} \\
            e^{-\lVert x - c_k \rVert^2 / 2 \sigma^2} \Big/
            \sum_{j \in N(x)} e^{-\lVert x - c_j \rVert^2 / 2 \sigma^2}
            \text{ if } k \in N(x) \text{, else } 0
                & \text{(soft)}
        \end{cases}

    where N(x) are the ``n_nearest`` words nearest to x; then it is normalised.  An item without
    descriptors is a row of zeros.

    Parameters
    ----------
    n_words : int, default=2000
        Size K of the codebook.
    assignment : {"hard", "soft"}, default="hard"
        Whether a descriptor counts for one word or is shared among the nearest.
    n_nearest : int, default=5
        Words that share a descriptor, for soft assignment.
    bandwidth : float, optional
        The width sigma of soft assignment. By default the root mean square distance of the
        descriptors in the sample to their nearest word.
    norm : {"l1", "l2", "sqrt", None}, default="l1"
        Divide a histogram by its sum, or by its Euclidean length, or ("sqrt") by its sum and take
        square roots, or leave the counts as they are.
    sample_size : int, default=100_000
        Descriptors that the codebook is learned from, drawn uniformly from all.
    sparse_output : bool, default=False
        Return a csr array. It pays where items have far fewer descriptors than there are words.
    random_state : int, RandomState or None, default=None
        Seed of sample and k-means.

    Attributes
    ----------
    codebook_ : ndarray of shape (n_words, n_descriptor_features)
        The words.
    bandwidth_ : float
        The width sigma.
    n_sampled_ : int
        Descriptors that the codebook was learned from.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = [[0.0, 0.0], [0.2, 0.0]], [[5.0, 5.0]]
    >>> items = [low + high, high, np.empty((0, 2))]
    >>> bag = BagOfWords(n_words=2, random_state=0).fit(items)
    >>> bag.codebook_[np.argsort(bag.codebook_[:, 0])]
    array([[0.1, 0. ],
           [5. , 5. ]])
    >>> np.sort(bag.transform(items))
    array([[0.33, 0.67],
           [0.  , 1.  ],
           [0.  , 0.  ]])
    """

    def __init__(
        self,
        n_words: int = 2000,
        *,
        assignment: str = "hard",
        n_nearest: int = 5,
        bandwidth: float | None = None,
        norm: str | None = "l1",
        sample_size: int = 100_000,
        sparse_output: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_words = n_words
        self.assignment = assignment
        self.n_nearest = n_nearest
        self.bandwidth = bandwidth
        self.norm = norm
        self.sample_size = sample_size
        self.sparse_output = sparse_output
        self.random_state = random_state

    def fit(self, X: Iterable[Any], y: Any = None) -> Self:
        """Learn the codebook from a sample of the descriptors of all items.

        Parameters
        ----------
        X : iterable of array-like of shape (n_descriptors, n_descriptor_features)
            Items; read once, one by one, so that a generator will do. An item may be empty.
        y : ignored
            Present because scikit-learn passes it.

        Returns
        -------
        self
            The fitted transformer.
        """
        self._check_parameters()
        random_state = check_random_state(self.random_state)
        sample = RowSample(self.sample_size, random_state)
        for item in _checked(X, None):
            if len(item):
                sample.add(item)
        if sample.seen < self.n_words:
            raise ValueError(
                f"X must hold at least as many descriptors as there are words, {self.n_words}. "
                f"Got {sample.seen}; lower n_words or bring more items."
            )
        self._learn(sample.rows(), random_state)
        return self

    def transform(self, X: Iterable[Any]) -> Any:
        """Histograms of items.

        Parameters
        ----------
        X : iterable of array-like of shape (n_descriptors, n_descriptor_features)
            Items; read once, one by one.

        Returns
        -------
        ndarray, csr_array or data frame of shape (n_items, n_words)
            One row an item, as ``sparse_output`` and ``set_output`` ask.
        """
        check_is_fitted(self)
        blocks = [self._histograms(batch) for batch in _batches(_checked(X, self.codebook_))]
        if not blocks:
            raise ValueError("X must hold at least one item. Got none.")
        histograms = sp.csr_array(sp.vstack(blocks))
        if self.norm is not None:
            normalize(histograms, norm="l2" if self.norm == "l2" else "l1", copy=False)
        if self.norm == "sqrt":
            histograms = histograms.sqrt()
        return histograms if self.sparse_output else histograms.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names ``word0``, ``word1``, ...

        Parameters
        ----------
        input_features : ignored
            Words have no names of their own.

        Returns
        -------
        ndarray of object
            One name for each word.
        """
        check_is_fitted(self)
        return np.array([f"word{k}" for k in range(len(self.codebook_))], dtype=object)

    def _learn(self, sample: Any, random_state: np.random.RandomState) -> None:
        n_different = len(np.unique(sample, axis=0))
        if n_different < self.n_words:
            raise ValueError(
                f"X must hold at least n_words = {self.n_words} different descriptors. "
                f"Got {n_different} among {len(sample)}."
            )
        # Reassignment may draw one descriptor as two words.
        means = MiniBatchKMeans(
            self.n_words, batch_size=4096, reassignment_ratio=0, random_state=random_state
        ).fit(sample)
        self.n_sampled_ = len(sample)
        self._use(means.cluster_centers_, float(np.sqrt(means.inertia_ / len(sample))))

    def _use(self, codebook: NDArray[Any], spread: float) -> None:
        """Take a codebook whose words are about as far from descriptors as the spread."""
        self._check_parameters()
        self.codebook_ = codebook
        self.bandwidth_ = self.bandwidth or spread
        if self.assignment == "soft" and not self.bandwidth_ > 0:
            raise ValueError("bandwidth must be given where all descriptors are words. Got None.")

    def _histograms(self, items: list[NDArray[np.floating]]) -> Matrix:
        """Counts of a few items, as a csr array."""
        shape = len(items), len(self.codebook_)
        if not any(map(len, items)):
            return sp.csr_array(shape, dtype=self.codebook_.dtype)
        k = min(self.n_nearest, shape[1]) if self.assignment == "soft" else 1
        nearest = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.codebook_)
        distances, words = nearest.kneighbors(np.concatenate(items))
        shares = np.ones_like(distances)
        if self.assignment == "soft":
            shares = softmax(-((distances / self.bandwidth_) ** 2) / 2, axis=1)
        owners = np.repeat(np.arange(len(items)), [len(item) * k for item in items])
        # Entries at the same place are summed.
        return sp.csr_array((shares.ravel(), (owners, words.ravel())), shape=shape)

    def _check_parameters(self) -> None:
        for name in ("n_words", "n_nearest", "sample_size"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} must be a whole number from 1. Got {value!r}.")
        if self.sample_size < self.n_words:
            raise ValueError(
                f"sample_size must be at least n_words = {self.n_words}. Got {self.sample_size}."
            )
        if self.assignment not in ASSIGNMENTS:
            raise ValueError(f"assignment must be 'hard' or 'soft'. Got {self.assignment!r}.")
        if self.norm not in NORMS:
            raise ValueError(f"norm must be 'l1', 'l2', 'sqrt' or None. Got {self.norm!r}.")
        bandwidth = self.bandwidth
        if bandwidth is not None and not (isinstance(bandwidth, Real) and 0 < bandwidth < np.inf):
            raise ValueError(f"bandwidth must be a positive number or None. Got {bandwidth!r}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _checked(items: Iterable[Any], codebook: NDArray[Any] | None) -> Iterator[NDArray[Any]]:
    """Items as matrices as wide and as precise as the codebook, or else as the first; or empty."""
    width = None if codebook is None else codebook.shape[1]
    wanted_by = "the items before" if codebook is None else "the codebook"
    for number, item in enumerate(items):
        rows = np.asarray(item)
        if rows.size == 0 and rows.ndim <= 2:
            yield np.empty((0, width or 0))
            continue
        if rows.ndim != 2 or rows.dtype.kind not in "biuf":
            raise ValueError(
                f"Every item of X must be a matrix of numbers, one descriptor a row. Got "
                f"{rows.dtype} of shape {rows.shape} as item {number}."
            )
        width = width or rows.shape[1]
        if rows.shape[1] != width:
            raise ValueError(
                f"Descriptors of item {number} must be {width} wide, as {wanted_by}. "
                f"Got {rows.shape[1]}."
            )
        if codebook is not None:
            rows = rows.astype(codebook.dtype, copy=False)
        elif rows.dtype != np.float32:
            rows = rows.astype(np.float64, copy=False)
        lost = ~np.isfinite(rows).all(axis=1)
        if lost.any():
            raise ValueError(
                f"X must hold numbers only, without NaN or infinity. Got descriptor "
                f"{np.argmax(lost)} of item {number}, one of {lost.sum()} such there."
            )
        yield rows


def _batches(items: Iterable[NDArray[Any]]) -> Iterator[list[NDArray[Any]]]:
    """Items in groups that hold about as many descriptors as a batch."""
    batch: list[NDArray[Any]] = []
    size = 0
    for item in items:
        batch.append(item)
        size += len(item)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
