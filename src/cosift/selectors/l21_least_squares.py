"""Least squares with row sparsity: each task by itself, labelled rows alone."""

from __future__ import annotations

from typing import Any

from cosift.selectors._convex import SupervisedSelector


class L21LeastSquares(SupervisedSelector):
    r"""Row-sparse least squares, one task at a time, from labelled rows alone.

    .. math::

        \min_{W_l, b_l} \sum_l \|X_l W_l + 1 b_l^\top - Y_l\|_F^2 + \alpha \sum_l \|W_l\|_{2,1}

    with X_l and Y_l the n_l labelled rows of task l: `FSSI` with gamma = 0.  For one task it is
    scikit-learn's ``MultiTaskLasso(alpha / (2 * n_l))`` on one-hot labels.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of row sparsity, above 0.
    n_features_to_select : int, float, "nonzero" or None, default=None
        How many features `transform` keeps: a count (at most all), a share below 1, those with a
        score above zero, or half. May be changed after fitting.
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

    See Also
    --------
    FSSI : Related tasks together.
    SFSS : The same with unlabelled rows.

    Examples
    --------
    >>> from cosift import L21LeastSquares
    >>> from cosift.datasets import make_related_tasks
    >>> data = make_related_tasks(1, 120, 60, labeled=0.3)
    >>> selector = L21LeastSquares(alpha=4, n_features_to_select="nonzero").fit(data.X, data.y)
    >>> selector.get_support().sum() == (selector.scores_ > 0).sum()
    np.True_
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        n_features_to_select: int | float | str | None = None,
        unlabeled: Any = -1,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> None:
        self.alpha = alpha
        self.n_features_to_select = n_features_to_select
        self.unlabeled = unlabeled
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
