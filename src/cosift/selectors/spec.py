"""SPEC: features that vary smoothly over a graph of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from cosift._typing import Array, Matrix
from cosift.labels import Task
from cosift.selectors._parameters import check_number, check_option
from cosift.selectors._scatter import class_scatter, units
from cosift.selectors._scores import ScoreSelector, class_codes
from cosift.similarity import Similarity, label_similarity, rbf_similarity
from cosift.spectrum import Spectrum

FUNCTIONS = ("phi1", "phi2", "phi3")
SIMILARITIES = ("rbf", "label", "combined")
# Numbers in a dense block of columns: 64 MB.
BLOCK_SIZE = 2**23
# Largest eigenvalue that a normalised Laplacian can have.
LARGEST = 2.0


class SPEC(ScoreSelector):
    r"""Rank features by how smoothly they vary over a graph of samples.

    S holds the similarities of the samples of one task, D its row sums on the diagonal, and
    :math:`N = D^{-1/2} (D - S) D^{-1/2}` has the eigenpairs
    :math:`(\lambda_j, \xi_j)`, :math:`0 = \lambda_1 \le \dots \le \lambda_n \le 2`, of which
    :math:`\xi_1 \propto D^{1/2} 1` is known.  With
    :math:`g = D^{1/2} f / \lVert D^{1/2} f \rVert` for the values f of a feature and a spectral
    function :math:`\gamma` (by default :math:`\gamma(\lambda) = \lambda`),

    .. math::

        \varphi_1 = \sum_j \gamma(\lambda_j) (g^\top \xi_j)^2 , \qquad
        \varphi_2 = \frac{\sum_{j \ge 2} \gamma(\lambda_j) (g^\top \xi_j)^2}
                         {\sum_{j \ge 2} (g^\top \xi_j)^2} , \qquad
        \varphi_3 = \sum_{j=2}^k (\gamma(2) - \gamma(\lambda_j)) (g^\top \xi_j)^2 .

    A good feature has small :math:`\varphi_1` and :math:`\varphi_2` and large :math:`\varphi_3`.
    ``task_scores_`` are :math:`\gamma(2) - \varphi_1`, :math:`\gamma(2) - \varphi_2` and
    :math:`\varphi_3`: at least 0, and larger is better.  A constant feature scores 0, also by
    :math:`\varphi_1`, which taken literally would put it first.

    Parameters
    ----------
    function : {"phi2", "phi1", "phi3"}, default="phi2"
        Which score. phi2 ignores the mean of a feature and needs no number of eigenvectors.
    similarity : {"rbf", "label", "combined"}, default="rbf"
        - "rbf": ``exp(-|x_i - x_j|^2 / (2 bandwidth^2))``, from all rows, whatever their labels.
        - "label": ``1/n_c`` between the n_c labelled rows of a class, else 0; other rows do not
          take part. phi2 is then ``1 / (1 + Fisher)``.
        - "combined": "rbf" where either row is unlabelled, and labels where both are labelled,
          scaled so that they weigh as much, see `cosift.similarity.label_similarity`.
    n_neighbors : int, optional
        Keep the RBF similarity only where one row is among so many nearest others of the other.
        Without it, all pairs count, in n x n numbers.
    bandwidth : float, optional
        By default the median of the distances that count.
    spectral_function : callable, optional
        gamma, which takes and returns an array; it must not decrease on [0, 2].
    n_eigenvectors : int, optional
        k of phi3, at least 2; by default the number of classes of the task. With
        ``similarity="label"`` it must be that, for N has but two eigenvalues.
    n_features_to_select : int, float, "nonzero" or None, default=None
        How many features `transform` keeps: a count (at most all), a share below 1, those with a
        score above zero, or half. May be changed after fitting.
    unlabeled : number, str or None, default=-1
        The label that means "unlabelled"; missing values always do.

    Attributes
    ----------
    tasks_, classes_
        Task ids and the classes of each.
    task_scores_ : ndarray of shape (n_tasks, n_features)
        The scores within each task.
    scores_ : ndarray of shape (n_features,)
        Mean over the tasks of the scores divided by the task's largest.
    ranking_, task_ranking_ : ndarray of shape (n_features,) and (n_tasks, n_features)
        1 is best; ties by column.

    See Also
    --------
    FisherScore : What it is with labels alone.
    LSDF : Two graphs, one for what should differ.

    References
    ----------
    Z. Zhao and H. Liu, *Spectral feature selection for supervised and unsupervised learning*,
    ICML 2007.

    Examples
    --------
    Two groups of samples; the first feature tells them apart, the second does not.

    >>> from cosift import SPEC
    >>> X = [[0, 1], [1, 0], [0, 0], [9, 1], [8, 0], [9, 0]]
    >>> selector = SPEC(n_features_to_select=1).fit(X, [0, -1, -1, 1, -1, -1])
    >>> selector.get_support(indices=True)
    array([0])
    """

    def __init__(
        self,
        *,
        function: str = "phi2",
        similarity: str = "rbf",
        n_neighbors: int | None = None,
        bandwidth: float | None = None,
        spectral_function: Callable[[Array], Array] | None = None,
        n_eigenvectors: int | None = None,
        n_features_to_select: int | float | str | None = None,
        unlabeled: Any = -1,
    ) -> None:
        self.function = function
        self.similarity = similarity
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.spectral_function = spectral_function
        self.n_eigenvectors = n_eigenvectors
        self.n_features_to_select = n_features_to_select
        self.unlabeled = unlabeled

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("function", self.function, FUNCTIONS)
        check_option("similarity", self.similarity, SIMILARITIES)
        if self.n_neighbors is not None:
            check_number("n_neighbors", self.n_neighbors, at_least=1, integer=True)
        if self.bandwidth is not None:
            check_number("bandwidth", self.bandwidth, above=0)
        if self.n_eigenvectors is not None:
            check_number("n_eigenvectors", self.n_eigenvectors, at_least=2, integer=True)
        if self.spectral_function is not None:
            _check_spectral_function(self.spectral_function)

    def _prepare(self, samples: Matrix) -> _Prepared:
        if self.similarity == "label":
            return _Prepared(None, {})
        return _Prepared(rbf_similarity(samples, self.n_neighbors, self.bandwidth), {})

    def _score(self, samples: Matrix, task: Task, prepared: _Prepared) -> Array:
        k = self.n_eigenvectors or len(task.classes)
        if prepared.similarity is None:
            if k != len(task.classes):
                raise ValueError(
                    "n_eigenvectors must be None, or the number of classes, if similarity="
                    f"'label'. Got {k} and task {task.name!r} with {len(task.classes)} classes."
                )
            return self._combine(self._from_labels(samples, task))
        if self.similarity == "combined":
            similarity = label_similarity(prepared.similarity, class_codes(task))
            return self._combine(self._from_graph(samples, similarity, k))
        # Without labels, tasks over the same rows share their scores.
        if k not in prepared.scores:
            prepared.scores[k] = self._combine(self._from_graph(samples, prepared.similarity, k))
        return prepared.scores[k]

    def _combine(self, parts: _Parts) -> Array:
        """The score that was asked for, 0 where a feature is constant."""
        lowest, highest = (float(self._gamma(np.array([end]))[0]) for end in (0.0, LARGEST))
        energy, value = parts.total, highest * parts.total - parts.rough
        if self.function != "phi2":
            energy = parts.mean + parts.total
            value = value + (highest - lowest) * parts.mean
        if self.function == "phi3":
            value = parts.smooth
        scores = np.zeros_like(value)
        np.divide(value, energy, out=scores, where=parts.total > 0)
        return np.maximum(scores, 0.0)

    def _from_labels(self, samples: Matrix, task: Task) -> _Parts:
        """N projects out class means: eigenvalue 0 along them, 1 across."""
        scatter = class_scatter(samples, class_codes(task), units(samples))
        none, one, most = self._gamma(np.array([0.0, 1.0, LARGEST]))
        within = scatter.within.sum(axis=0)
        return _Parts(
            mean=scatter.sizes.sum() * scatter.mean**2,
            total=scatter.between + within,
            rough=none * scatter.between + one * within,
            smooth=(most - none) * scatter.between,
        )

    def _from_graph(self, samples: Matrix, similarity: Similarity, k: int) -> _Parts:
        degrees = similarity.degrees
        spectrum = Spectrum(similarity)
        unit = units(samples)
        parts = []
        for columns in _column_blocks(*samples.shape):
            F = _dense_columns(samples, columns) * unit[columns]
            shift = F[0].copy()  # about a value of its own, a constant is exactly 0
            F -= shift
            mean = degrees @ F / degrees.sum()
            F -= mean
            total = degrees @ np.square(F)
            rough = smooth = np.zeros_like(total)
            if self.function == "phi3":
                smooth = spectrum.smooth_energy(F, k, self._gamma)
            else:
                rough = spectrum.energy(F, self.spectral_function)
            parts.append(_Parts(degrees.sum() * (shift + mean) ** 2, total, rough, smooth))
        return _Parts(*map(np.concatenate, zip(*parts, strict=True)))

    def _gamma(self, values: Array) -> Array:
        function = self.spectral_function
        return values if function is None else np.asarray(function(values), dtype=np.float64)


class _Prepared(NamedTuple):
    similarity: Similarity | None
    scores: dict[int, Array]  # by number of eigenvectors


class _Parts(NamedTuple):
    """Of ``|D^1/2 f|^2 (g' xi_j)^2`` for every feature, sums over some j, (d,) each."""

    mean: Array  # j = 1
    total: Array  # j >= 2
    rough: Array  # j >= 2, times gamma(lambda_j)
    smooth: Array  # j = 2..k, times gamma(2) - gamma(lambda_j)


def _check_spectral_function(function: Any) -> None:
    if not callable(function):
        raise ValueError(
            "spectral_function must be None or a function of an array of eigenvalues, such as "
            f"numpy.square. Got {function!r}."
        )
    grid = np.linspace(0.0, LARGEST, 101)
    values = np.asarray(function(grid))
    if values.shape != grid.shape or not np.isfinite(values).all() or (np.diff(values) < 0).any():
        raise ValueError(
            "spectral_function must give every eigenvalue in [0, 2] a finite number, and no "
            f"smaller one to a larger eigenvalue. Got {function!r}."
        )


def _column_blocks(n: int, d: int) -> Iterator[slice]:
    step = max(1, BLOCK_SIZE // n)
    return (slice(start, start + step) for start in range(0, d, step))


def _dense_columns(X: Matrix, columns: slice) -> Array:
    block = X[:, columns]
    block = block if isinstance(block, np.ndarray) else block.toarray()
    return np.asarray(block, dtype=np.float64)
