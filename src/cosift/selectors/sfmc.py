"""SFMC: related tasks together, with unlabelled rows."""

from __future__ import annotations

from typing import Any

from cosift.selectors._convex import SemiSupervisedSelector


class SFMC(SemiSupervisedSelector):
    r"""Semi-supervised feature selection for several related tasks at once.

    With one block of samples X_l, labels Y_l and coefficients W_l a task, it solves

    .. math::

        \min_{F_l, W_l, b_l} \sum_l
            \operatorname{tr} (F_l - Y_l)^\top U_l (F_l - Y_l) + \operatorname{tr} F_l^\top L_l F_l
            + \alpha \bigl( \|W_l\|_{2,1}
            + \beta \|X_l W_l + 1 b_l^\top - F_l\|_F^2 \bigr)
            + \gamma \|[W_1 \dots W_t]\|_*

    A label matrix F_l is learned that agrees with the given labels (U_l is diagonal) and varies
    little within cliques of neighbours (L_l); few features, of few directions shared by all tasks,
    must explain it.  The problem is convex and solved to a certified gap.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of row sparsity, above 0. Doubling it doubles mu as well, see beta.
    beta : float, default=1.0
        Weight of the fit relative to row sparsity, above 0: the fit's own weight is
        ``mu = alpha * beta``.
    gamma : float, default=1.0
        Weight of the trace norm, at least 0: how much the tasks share.
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
    SFSS : The same for each task by itself.
    FSSI : The same from labelled rows alone.

    Examples
    --------
    Two problems, 120 samples each, of which 36 are labelled; 8 of 60 features matter to both,
    2 more to either:

    >>> from cosift import SFMC
    >>> from cosift.datasets import make_related_tasks
    >>> data = make_related_tasks(2, 120, 60, labeled=0.3)
    >>> selector = SFMC(alpha=0.1, gamma=3, unlabeled_weight=0.01, n_features_to_select=8)
    >>> selector.fit(data.X, data.y, data.tasks).transform(data.X).shape
    (240, 8)
    >>> selector.converged_
    True
    """

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
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
        self.gamma = gamma
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.local_ridge = local_ridge
        self.label_weight = label_weight
        self.unlabeled_weight = unlabeled_weight
        self.unlabeled = unlabeled
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
