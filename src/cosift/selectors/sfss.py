"""SFSS: each task by itself, with unlabelled rows."""

from __future__ import annotations

from typing import Any

from cosift.selectors._convex import SemiSupervisedSelector


class SFSS(SemiSupervisedSelector):
    r"""Semi-supervised feature selection, one task at a time.

    Solves, for each task,

    .. math::

        \min_{F, W, b} \operatorname{tr} (F - Y)^\top U (F - Y) + \operatorname{tr} F^\top L F
            + \alpha \bigl( \|W\|_{2,1} + \beta \|X W + 1 b^\top - F\|_F^2 \bigr) ,

    which is `SFMC` with gamma = 0: the tasks are fitted in one call and know nothing of each
    other.  ``objective_`` is the sum over the tasks.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of row sparsity, above 0. Doubling it doubles mu as well, see beta.
    beta : float, default=1.0
        Weight of the fit relative to row sparsity, above 0: the fit's own weight is
        ``mu = alpha * beta``.
    n_features_to_select : int, float, "nonzero" or None, default=None
        How many features `transform` keeps: a count (at most all), a share below 1, those with a
        score above zero, or half. May be changed after fitting.
    n_neighbors : int, default=15
        Size of a clique, the sample itself included; at most the task's number of rows.
    local_ridge : float, default=1.0
        Penalty of the cliques' local models, in squared units of X.
    label_weight : float, default=1e6
        Weight of the given label on a labelled row (a diagonal entry of U).
    unlabeled_weight : float, default=1.0
        Weight of the label 0 on an unlabelled row; 0 leaves those rows to the graph, which then
        must connect each to a labelled row. The larger it is beside L, the more an unlabelled
        row counts as one of no class.
    unlabeled : number, str or None, default=-1
        The label that means "unlabelled"; missing values always do.
    solver : {"auto", "reweighted"}, default="auto"
        See `cosift.solvers`.
    tol : float, default=1e-6
        The gap that counts as converged, as a share of the objective at W = 0.
    max_iter : int, default=10000
        Iterations at most.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_outputs, n_features) and (n_outputs,)
        W transposed and b, rows ordered by task, then class.
    tasks_, classes_, task_slices_
        Task ids, the classes of each, and the rows of ``coef_`` that each owns.
    task_scores_ : ndarray of shape (n_tasks, n_features)
        Row norms ``||w_l^j||``.
    scores_ : ndarray of shape (n_features,)
        Row norms of the whole W.
    ranking_, task_ranking_ : ndarray of shape (n_features,) and (n_tasks, n_features)
        1 is best. Features whose score is exactly zero are ordered by how near they are to
        entering, which is the row norm of Theta, the negative gradient of the smooth part.
    objective_, dual_bound_, dual_gap_, converged_, n_iter_, history_
        The certificate: the least objective lies between the bound and the objective.
    transduction_ : list of ndarray
        The learned label matrix F_l of each task, (n_l, c_l), its rows those of the task in X.
    neighbor_recall_ : ndarray of shape (n_tasks,)
        The share of true nearest neighbours that the cliques of each task hold: 1 where the search
        is exact, measured on a sample where it is not, see docs/scale.md.

    See Also
    --------
    SFMC : Related tasks together.
    L21LeastSquares : The same from labelled rows alone.

    Examples
    --------
    >>> from cosift import SFSS
    >>> from cosift.datasets import make_related_tasks
    >>> data = make_related_tasks(1, 120, 60, labeled=0.3)
    >>> selector = SFSS(alpha=0.3, n_features_to_select="nonzero").fit(data.X, data.y)
    >>> selector.converged_
    True
    """

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        *,
        n_features_to_select: int | float | str | None = None,
        n_neighbors: int = 15,
        local_ridge: float = 1.0,
        label_weight: float = 1e6,
        unlabeled_weight: float = 1.0,
        unlabeled: Any = -1,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.local_ridge = local_ridge
        self.label_weight = label_weight
        self.unlabeled_weight = unlabeled_weight
        self.unlabeled = unlabeled
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
