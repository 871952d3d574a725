"""LSDF: classes apart, members and neighbours together."""

from __future__ import annotations

from typing import Any

from cosift._sharing import shared
from cosift._typing import Array, Indices, Matrix
from cosift.labels import Task
from cosift.selectors._parameters import check_number
from cosift.selectors._scatter import class_scatter, ratio, units
from cosift.selectors._scores import ScoreSelector, class_codes
from cosift.similarity import edge_energy, neighbor_edges


class LSDF(ScoreSelector):
    r"""Rank features by two graphs: one of labels that differ, one of labels and neighbours.

    .. math::

        \mathrm{score}(f) = \frac{f^\top L_b f}{f^\top L_w f}
            = \frac{\sum_{i<j} B_{ij} (f_i - f_j)^2}{\sum_{i<j} W_{ij} (f_i - f_j)^2}

    over the values f of a feature in one task.  :math:`B_{ij}` is 1 if i and j have different
    labels, else 0.  :math:`W_{ij}` is gamma if they have the same label, 1 if at least one of them
    is unlabelled and either is among the k nearest neighbours of the other, else 0.  Class sums
    replace all pairs of labelled samples, so the cost is that of the neighbour search.

    A feature that is constant over the labelled rows scores 0.  One that differs between classes
    and nowhere along W would score infinity: it gets a finite score above all others, ordered
    among its like by the numerator relative to the squared range of the labelled values.

    Parameters
    ----------
    gamma : float, default=100.0
        Weight of pairs with the same label, above 0.
    n_neighbors : int, default=5
        k, the sample itself not counted; at most all others are taken.
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
    FisherScore : Labelled rows alone.
    SPEC : One graph, normalised, with or without labels.

    References
    ----------
    J. Zhao, K. Lu and X. He, *Locality sensitive semi-supervised feature selection*,
    Neurocomputing 71, 2008.

    Examples
    --------
    The pair of different labels is 3 apart; the unlabelled sample is 1 from its neighbour.

    >>> from cosift import LSDF
    >>> selector = LSDF(n_neighbors=1).fit([[0, 1], [3, 1], [4, 1]], [0, 1, -1])
    >>> selector.task_scores_
    array([[9., 0.]])
    """

    def __init__(
        self,
        *,
        gamma: float = 100.0,
        n_neighbors: int = 5,
        n_features_to_select: int | float | str | None = None,
        unlabeled: Any = -1,
    ) -> None:
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_features_to_select = n_features_to_select
        self.unlabeled = unlabeled

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("gamma", self.gamma, above=0)
        check_number("n_neighbors", self.n_neighbors, at_least=1, integer=True)

    def _prepare(self, samples: Matrix) -> tuple[Array, Indices]:
        return units(samples), shared(neighbor_edges, samples, self.n_neighbors)

    def _score(self, samples: Matrix, task: Task, prepared: tuple[Array, Indices]) -> Array:
        unit, edges = prepared
        scatter = class_scatter(samples, class_codes(task), unit)
        sizes = scatter.sizes
        n = sizes.sum()
        between = (n - sizes) @ scatter.within + n * scatter.between
        within = self.gamma * (sizes @ scatter.within)
        free = ~task.labeled[edges].all(axis=1)
        within += edge_energy(samples, edges[free], unit)
        return ratio(between, within, scatter.spread)
