"""What every selector promises, and what the convex family promises beyond that."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, MultiTaskLasso
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from cosift import (
    FSNM,
    FSSI,
    LSDF,
    SFMC,
    SFSS,
    SPEC,
    AllFeatures,
    FisherScore,
    ForeignSelector,
    L21LeastSquares,
)
from cosift.datasets import make_related_tasks
from cosift.graph import local_laplacian

DATA = make_related_tasks(
    n_tasks=2, n_samples=60, n_features=12, n_shared=3, n_private=1, labeled=0.4, seed=3
)
X, Y, TASKS = DATA.X, DATA.y, DATA.tasks
# Weights at which about half of the features matter.
SELECTORS = {
    "SFMC": SFMC(alpha=2.0, beta=0.3, gamma=2.0),
    "SFSS": SFSS(alpha=2.0, beta=0.3),
    "FSSI": FSSI(alpha=5.0, gamma=5.0),
    "L21LeastSquares": L21LeastSquares(alpha=5.0),
    "FSNM": FSNM(gamma=5.0),
}
SCORES = {
    "FisherScore": FisherScore(),
    "SPEC": SPEC(),
    "SPEC by label": SPEC(function="phi1", similarity="label"),
    "SPEC combined": SPEC(function="phi3", similarity="combined", n_neighbors=3),
    "LSDF": LSDF(),
    "AllFeatures": AllFeatures(),
    "score function": ForeignSelector(f_classif),
    "selector": ForeignSelector(SelectKBest(k="all")),
    "estimator": ForeignSelector(LogisticRegression()),
}
every_selector = pytest.mark.parametrize("name", SELECTORS)
every_score = pytest.mark.parametrize("name", SCORES)
every_method = pytest.mark.parametrize("name", SELECTORS | SCORES)
semi_supervised = pytest.mark.parametrize("name", ["SFMC", "SFSS"])
ACCURATE = {"tol": 1e-10}


def make(name, **params):
    return clone((SELECTORS | SCORES)[name]).set_params(**params)


def fitted(name, **params):
    return make(name, **params).fit(X, Y, TASKS)


def assert_same_model(one, other, atol=1e-4):
    """Equal up to what a gap of 1e-10 leaves open: the gap is quadratic in the distance."""
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-8)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=20 * atol)


# Without the score function: its address would be in the names of the tests.
NAMED = [method for name, method in SCORES.items() if name != "score function"]


@parametrize_with_checks([type(selector)() for selector in SELECTORS.values()] + NAMED)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# The objective and its certificate


def written_objective(selector, X, y, tasks):
    """The objective as the docstrings print it, from public attributes alone."""
    weights = selector.get_params()
    robust = "alpha" not in weights
    total = 0.0 if robust else weights.get("gamma", 0.0) * np.linalg.norm(selector.coef_, "nuc")
    for index, task in enumerate(selector.tasks_):
        own = selector.task_slices_[index]
        rows = tasks == task
        labeled = y[rows] != -1
        X_l, Y_l = X[rows], (y[rows][:, None] == selector.classes_[index]).astype(float)
        W, b = selector.coef_[own].T, selector.intercept_[own]
        total += weights["gamma" if robust else "alpha"] * np.linalg.norm(W, axis=1).sum()
        if "beta" in weights:
            F = selector.transduction_[index]
            U = np.where(labeled, weights["label_weight"], weights["unlabeled_weight"])
            L = local_laplacian(X_l, weights["n_neighbors"], weights["local_ridge"])
            total += (U[:, None] * (F - Y_l) ** 2).sum() + np.vdot(F, L @ F)
            total += weights["alpha"] * weights["beta"] * ((X_l @ W + b - F) ** 2).sum()
        else:
            misfits = np.linalg.norm((X_l @ W + b - Y_l)[labeled], axis=1)
            total += (misfits if robust else misfits**2).sum()
    return total


@every_selector
def test_objective_is_the_one_in_the_docstring(name):
    unusual = {"n_neighbors": 6, "local_ridge": 30.0, "label_weight": 1e3, "unlabeled_weight": 0.1}
    known = make(name).get_params()
    selector = fitted(name, **{key: unusual[key] for key in unusual if key in known})
    assert np.count_nonzero(selector.scores_) > 0
    np.testing.assert_allclose(
        selector.objective_, written_objective(selector, X, Y, TASKS), rtol=1e-6
    )


@every_selector
def test_no_other_point_undercuts_the_dual_bound(name):
    selector = fitted(name)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-3, 1e-2):
        other = pickle.loads(pickle.dumps(selector))
        other.coef_ = selector.coef_ * (1.0 + size * rng.normal(size=selector.coef_.shape))
        other.intercept_ = selector.intercept_ + size * rng.normal(size=len(selector.intercept_))
        assert written_objective(other, X, Y, TASKS) > selector.dual_bound_


@every_selector
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_converged_means_a_small_gap(name, tol):
    selector = fitted(name, tol=tol)
    strong = {"alpha": 1e9, "beta": 0.6e-9, "gamma": 1e9 if name == "FSNM" else 2.0}
    at_zero = fitted(name, **{key: strong[key] for key in strong if hasattr(selector, key)})
    assert not at_zero.coef_.any()
    assert selector.converged_
    assert selector.dual_gap_ == selector.objective_ - selector.dual_bound_
    assert selector.dual_gap_ <= tol * at_zero.objective_


@every_selector
def test_reaching_no_convergence_warns(name):
    selector = make(name, max_iter=1, tol=1e-12)
    count = 2 if name == "FSNM" else 1  # it solves task by task, one iteration each
    with pytest.warns(
        ConvergenceWarning, match=rf"did not converge in {count} iter.* max_iter \(now 1\)"
    ):
        selector.fit(X, Y, TASKS)
    assert selector.converged_ is False
    assert selector.n_iter_ == count
    assert selector.dual_gap_ > 0


@every_selector
def test_history_ends_at_the_reported_certificate(name):
    selector = fitted(name)
    last = selector.history_[-1]
    assert (last.objective, last.dual_bound) == (selector.objective_, selector.dual_bound_)
    assert last.iteration == selector.n_iter_
    seconds = [line.seconds for line in selector.history_]
    assert seconds == sorted(seconds)


@every_selector
def test_solvers_agree(name):
    ours = fitted(name, tol=1e-7)
    theirs = fitted(name, tol=1e-5, solver="reweighted")
    assert theirs.converged_
    np.testing.assert_allclose(ours.objective_, theirs.objective_, rtol=1e-4)


# How the methods relate


def test_sfmc_without_trace_norm_is_sfss():
    assert_same_model(fitted("SFMC", gamma=0.0, **ACCURATE), fitted("SFSS", **ACCURATE))


def test_fssi_without_trace_norm_is_l21_least_squares():
    assert_same_model(fitted("FSSI", gamma=0, **ACCURATE), fitted("L21LeastSquares", **ACCURATE))


def test_sfss_fits_each_task_by_itself():
    both = fitted("SFSS", **ACCURATE)
    for index, task in enumerate(both.tasks_):
        rows = task == TASKS
        alone = make("SFSS", **ACCURATE).fit(X[rows], Y[rows])
        np.testing.assert_allclose(alone.coef_, both.coef_[both.task_slices_[index]], atol=1e-4)
        np.testing.assert_allclose(alone.transduction_[0], both.transduction_[index], atol=1e-3)


def test_sfmc_with_every_row_labelled_is_fssi():
    alpha = 5.0
    semi = SFMC(alpha, 1 / alpha, 5.0, label_weight=1e8, **ACCURATE).fit(X, DATA.y_true, TASKS)
    supervised = FSSI(alpha, 5.0, **ACCURATE).fit(X, DATA.y_true, TASKS)
    np.testing.assert_allclose(semi.coef_, supervised.coef_, atol=1e-4)
    for index, task in enumerate(semi.tasks_):
        truth = np.eye(3)[DATA.y_true[task == TASKS]]
        np.testing.assert_allclose(semi.transduction_[index], truth, atol=1e-6)


def test_l21_least_squares_is_scikit_learns_multi_task_lasso():
    rows = (TASKS == 0) & (Y != -1)
    alpha = 5.0
    ours = L21LeastSquares(alpha, **ACCURATE).fit(X[TASKS == 0], Y[TASKS == 0])
    theirs = MultiTaskLasso(alpha / (2 * rows.sum()), tol=1e-10, max_iter=100_000)
    theirs.fit(X[rows], np.eye(3)[Y[rows]])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert 0 < np.count_nonzero(ours.scores_) < X.shape[1]


@every_selector
def test_unlabelled_rows_matter_to_the_semi_supervised_alone(name):
    full = fitted(name)
    keep = Y != -1
    reduced = make(name).fit(X[keep], Y[keep], TASKS[keep])
    if name in ("SFMC", "SFSS"):
        assert np.abs(full.coef_ - reduced.coef_).max() > 1e-3
    else:
        np.testing.assert_array_equal(full.coef_, reduced.coef_)


# Fitted attributes


@every_selector
def test_fitted_attributes(name):
    selector = fitted(name)
    assert selector.tasks_.tolist() == [0, 1]
    assert [classes.tolist() for classes in selector.classes_] == [[0, 1, 2], [0, 1, 2]]
    assert selector.task_slices_ == [slice(0, 3), slice(3, 6)]
    assert selector.coef_.shape == (6, 12)
    assert selector.intercept_.shape == (6,)
    np.testing.assert_allclose(selector.scores_, np.linalg.norm(selector.coef_, axis=0))
    for own, scores in zip(selector.task_slices_, selector.task_scores_, strict=True):
        np.testing.assert_allclose(scores, np.linalg.norm(selector.coef_[own], axis=0))
    assert sorted(selector.ranking_) == list(range(1, 13))
    assert [sorted(ranks) for ranks in selector.task_ranking_] == [list(range(1, 13))] * 2
    assert (np.diff(selector.scores_[np.argsort(selector.ranking_)]) <= 0).all()
    assert selector.n_features_in_ == 12


@semi_supervised
def test_transduction_keeps_the_given_labels_and_the_order_of_rows(name):
    shuffled = np.random.default_rng(0).permutation(len(X))
    selector = make(name).fit(X[shuffled], Y[shuffled], TASKS[shuffled])
    for index, task in enumerate(selector.tasks_):
        given = Y[shuffled][TASKS[shuffled] == task]
        F = selector.transduction_[index]
        assert F.shape == (60, 3)
        labeled = given != -1
        np.testing.assert_allclose(F[labeled], np.eye(3)[given[labeled]], atol=1e-4)


@semi_supervised
def test_transduction_recovers_the_classes_of_clusters(name):
    """Chance is a third; here the classes are well apart."""
    selector = fitted(name, unlabeled_weight=0.01)
    guessed = np.concatenate([F.argmax(axis=1) for F in selector.transduction_])
    assert (guessed == DATA.y_true).mean() > 0.9


@pytest.mark.parametrize("name", ["FSSI", "L21LeastSquares"])
def test_zero_rows_rank_by_how_near_they_are_to_entering(name):
    selector = make(name, alpha=12.0).fit(X, Y, TASKS)
    thetas = []
    for index, task in enumerate(selector.tasks_):
        own, rows = selector.task_slices_[index], (task == TASKS) & (Y != -1)
        residual = np.eye(3)[Y[rows]] - X[rows] @ selector.coef_[own].T - selector.intercept_[own]
        thetas.append(np.linalg.norm(2.0 * X[rows].T @ residual, axis=1))
    cases = [(selector.scores_, selector.ranking_, np.hypot(*thetas))]
    cases += zip(selector.task_scores_, selector.task_ranking_, thetas, strict=True)
    for scores, ranking, theta in cases:
        zeros = np.flatnonzero(scores == 0.0)
        assert 2 < len(zeros) < len(scores)
        assert ranking[scores > 0].max() < ranking[zeros].min()
        by_rank = zeros[np.argsort(ranking[zeros])]
        np.testing.assert_array_equal(by_rank, zeros[np.argsort(-theta[zeros], kind="stable")])


def test_ties_rank_by_column():
    """Columns of zeros have neither score nor gradient."""
    padded = np.hstack([np.zeros((len(X), 2)), X, np.zeros((len(X), 1))])
    selector = make("FSSI").fit(padded, Y, TASKS)
    assert selector.ranking_[[0, 1, -1]].tolist() == [13, 14, 15]
    assert selector.task_ranking_[:, [0, 1, -1]].tolist() == [[13, 14, 15]] * 2


# Selecting


@pytest.mark.parametrize(
    ("wanted", "count"), [(None, 6), (1, 1), (5, 5), (12, 12), (99, 12), (0.26, 3), (0.01, 1)]
)
def test_number_of_features(wanted, count):
    selector = fitted("FSSI", n_features_to_select=wanted)
    for task, ranking in [(None, selector.ranking_), (1, selector.task_ranking_[1])]:
        mask = selector.get_support(task=task)
        assert mask.dtype == bool
        np.testing.assert_array_equal(mask, ranking <= count)
        np.testing.assert_array_equal(selector.get_support(True, task), np.flatnonzero(mask))


@every_selector
def test_nonzero_keeps_what_has_a_coefficient(name):
    selector = fitted(name, n_features_to_select="nonzero")
    mask = selector.coef_.any(axis=0)
    assert 0 < mask.sum() < 12
    np.testing.assert_array_equal(selector.get_support(), mask)
    for task, own in zip(selector.tasks_, selector.task_slices_, strict=True):
        np.testing.assert_array_equal(
            selector.get_support(task=task), selector.coef_[own].any(axis=0)
        )


@pytest.mark.parametrize("container", ["default", "pandas", "polars"])
def test_nonzero_of_nothing_is_nothing_with_a_reason(container):
    selector = fitted("FSSI", alpha=1e6, n_features_to_select="nonzero")
    selector.set_output(transform=container)
    with pytest.warns(UserWarning, match="every score is zero") as caught:
        selected = selector.transform(X)
    assert len(caught) == 1
    assert selected.shape[1] == 0
    assert selector.get_feature_names_out().tolist() == []


@pytest.mark.parametrize("wanted", [0, -1, 0.0, 1.0, 1.5, True, "half", [3], np.nan])
def test_number_of_features_errors(wanted):
    selector = make("FSSI", n_features_to_select=wanted)
    with pytest.raises(ValueError, match=r"n_features_to_select must be None .* Got "):
        selector.fit(X, Y, TASKS)


def test_number_of_features_may_change_after_fitting():
    selector = fitted("FSSI")
    assert selector.set_params(n_features_to_select=2).transform(X).shape == (120, 2)
    with pytest.raises(ValueError, match="n_features_to_select must be"):
        selector.set_params(n_features_to_select=0).transform(X)


def test_selection_for_one_task():
    selector = fitted("SFMC", n_features_to_select=3)
    chosen = selector.get_support(indices=True, task=1)
    assert chosen.tolist() != selector.get_support(indices=True, task=0).tolist()
    np.testing.assert_array_equal(selector.transform(X, task=1), X[:, chosen])
    back = selector.inverse_transform(selector.transform(X, task=1), task=1)
    expected = np.zeros_like(X)
    expected[:, chosen] = X[:, chosen]
    np.testing.assert_array_equal(back, expected)
    assert selector.get_feature_names_out(task=1).tolist() == [f"x{j}" for j in chosen]
    # Asking for one task leaves no trace.
    np.testing.assert_array_equal(selector.get_support(), selector.ranking_ <= 3)


def test_inverse_transform_of_sparse_samples():
    selector = fitted("FSSI", n_features_to_select=3)
    chosen = selector.get_support(indices=True, task=0)
    back = selector.inverse_transform(sp.csr_array(X[:, chosen]), task=0)
    expected = np.zeros_like(X)
    expected[:, chosen] = X[:, chosen]
    np.testing.assert_array_equal(back.toarray(), expected)


@pytest.mark.parametrize("method", ["transform", "decision_function"])
def test_unknown_task(method):
    selector = make("FSSI").fit(X, Y, np.where(TASKS == 0, "left", "right"))
    with pytest.raises(ValueError, match=r"task must be one of 'left', 'right'\. Got 'middle'\."):
        getattr(selector, method)(X, task="middle")
    with pytest.raises(ValueError, match=r"Got \['left'\]"):
        selector.get_support(task=["left"])
    with pytest.raises(ValueError, match=r"task must be one of .* Got several at once\."):
        selector.get_support(task=np.array(["left", "right"]))


@every_selector
def test_decision_function(name):
    selector = fitted(name)
    for task, own in zip(selector.tasks_, selector.task_slices_, strict=True):
        expected = X @ selector.coef_[own].T + selector.intercept_[own]
        np.testing.assert_allclose(selector.decision_function(X, task=task), expected)
        np.testing.assert_allclose(selector.decision_function(sp.csr_array(X), task=task), expected)
    with pytest.raises(ValueError, match=r"needs task=, one of 0, 1"):
        selector.decision_function(X)
    alone = make(name).fit(X[TASKS == 0], Y[TASKS == 0])
    expected = X @ alone.coef_.T + alone.intercept_
    np.testing.assert_allclose(alone.decision_function(X), expected)


@pytest.mark.parametrize("method", ["transform", "decision_function", "get_support"])
def test_before_fitting(method):
    arguments = () if method == "get_support" else (X,)
    with pytest.raises(NotFittedError):
        getattr(make("SFMC"), method)(*arguments)
    with pytest.raises(NotFittedError):
        getattr(make("SFMC"), method)(*arguments, task=0)


# Labels and tasks


def labels_as(kind):
    """The same labels in another dress."""
    names = np.array(["ant", "bee", "cat"])
    unlabeled = Y == -1
    if kind == "float with nan":
        return np.where(unlabeled, np.nan, Y)
    objects = names[Y].astype(object)
    objects[unlabeled] = {"strings with None": None, "strings with nan": np.nan}.get(kind, -1)
    if kind == "pandas":
        return pd.Series(objects).where(~unlabeled, pd.NA).astype("string")
    if kind == "polars":
        pairs = zip(objects, unlabeled, strict=True)
        return pl.Series([None if missing else str(value) for value, missing in pairs])
    return objects


@pytest.mark.parametrize(
    "kind",
    [
        "float with nan",
        "strings with None",
        "strings with nan",
        "strings with -1",
        "pandas",
        "polars",
    ],
)
def test_kinds_of_labels(kind):
    selector = make("SFMC").fit(X, labels_as(kind), TASKS)
    np.testing.assert_array_equal(selector.coef_, fitted("SFMC").coef_)
    expected = [0, 1, 2] if kind == "float with nan" else ["ant", "bee", "cat"]
    assert selector.classes_[0].tolist() == expected


def test_another_marker():
    selector = make("FSSI", unlabeled=99).fit(X, np.where(Y == -1, 99, Y), TASKS)
    np.testing.assert_array_equal(selector.coef_, fitted("FSSI").coef_)


def test_tasks_may_have_different_classes():
    two = np.where((TASKS == 1) & (Y == 2), 1, Y)
    selector = make("SFMC").fit(X, two, TASKS)
    assert selector.task_slices_ == [slice(0, 3), slice(3, 5)]
    assert [F.shape for F in selector.transduction_] == [(60, 3), (60, 2)]
    assert selector.decision_function(X, task=1).shape == (120, 2)


@every_selector
def test_columns_of_y_are_tasks(name):
    """Columns 0 and 2 share their labelled rows, 1 has others: the blocks interleave."""
    X_0, y_0 = X[TASKS == 0], DATA.y_true[TASKS == 0]
    some = np.arange(60) % 3 > 0
    labeled = np.column_stack([some, ~some | (np.arange(60) < 20), some])
    columns = np.where(labeled, (y_0[:, None] == np.arange(3)).astype(int), -1)
    frame = pd.DataFrame(columns, columns=["sea", "sky", "sun"])
    # Without a trace norm the columns know nothing of each other.
    weights = {"gamma": 0.0} if name in ("SFMC", "FSSI") else {}
    selector = make(name, **weights, **ACCURATE).fit(X_0, frame)
    assert selector.tasks_.tolist() == ["sea", "sky", "sun"]
    assert selector.coef_.shape == (3, 12)
    for index, task in enumerate(selector.tasks_):
        alone = make(name, **weights, **ACCURATE).fit(X_0, columns[:, [index]])
        np.testing.assert_allclose(alone.coef_[0], selector.coef_[index], atol=1e-4)
        np.testing.assert_allclose(
            alone.decision_function(X_0), selector.decision_function(X_0, task=task), atol=1e-2
        )
        if name in ("SFMC", "SFSS"):
            np.testing.assert_allclose(
                alone.transduction_[0], selector.transduction_[index], atol=1e-3
            )


@pytest.mark.parametrize("names", [[1, 2], ["a", "b"], ["a", 1], [("a", 1), ("a", 2)]])
def test_column_names_come_back_as_they_were(names):
    frame = pd.DataFrame(np.eye(3)[DATA.y_true[:60]][:, :2].astype(int))
    frame.columns = pd.Index(names, tupleize_cols=False)
    selector = make("FSSI").fit(X[:60], frame)
    assert selector.tasks_.tolist() == names
    assert selector.get_support(task=names[1]).sum() == 6


@pytest.mark.parametrize(
    "tasks",
    [
        np.array(["left", "right"])[TASKS],
        pd.Series(["left", "right"]).take(TASKS).reset_index(drop=True),
        pl.Series(["left", "right"]).gather(TASKS),
        np.array(["left", "right"])[TASKS].tolist(),
    ],
)
def test_kinds_of_task_ids(tasks):
    selector = make("FSSI").fit(X, Y, tasks)
    np.testing.assert_array_equal(selector.coef_, fitted("FSSI").coef_)
    assert selector.tasks_.tolist() == ["left", "right"]


@every_method
def test_minus_one_as_a_class_is_a_trap_that_explains_itself(name):
    y = np.where(DATA.y_true == 0, 1, -1)
    with pytest.raises(ValueError, match=r"Got one class only: 1\. -1 means unlabelled.*=None"):
        make(name).fit(X, y)
    assert make(name, unlabeled=None).fit(X, y).classes_[0].tolist() == [-1, 1]


# Ways to pass samples


def sparse_samples():
    return np.where(np.abs(X) < 0.5, 0.0, X)


@every_selector
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
def test_sparse_samples_give_what_dense_ones_give(name, kind):
    dense = make(name, **ACCURATE).fit(sparse_samples(), Y, TASKS)
    sparse = make(name, **ACCURATE).fit(kind(sparse_samples()), Y, TASKS)
    assert_same_model(dense, sparse)
    kept = sparse.transform(kind(sparse_samples()))
    assert sp.issparse(kept)
    np.testing.assert_array_equal(kept.toarray(), dense.transform(sparse_samples()))


@every_selector
def test_memory_order_and_memory_maps(name, tmp_path):
    expected = fitted(name, **ACCURATE)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for samples in (np.asfortranarray(X), mapped, X.tolist()):
        assert_same_model(make(name, **ACCURATE).fit(samples, Y, TASKS), expected)


@every_selector
def test_single_precision(name):
    double, single = fitted(name), make(name).fit(X.astype(np.float32), Y, TASKS)
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-4)
    assert single.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_keep_their_names(frame):
    names = [f"gene {j}" for j in range(12)]
    table = frame(dict(zip(names, X.T, strict=True)))
    selector = make("SFMC", n_features_to_select=4).fit(table, Y, TASKS)
    assert selector.feature_names_in_.tolist() == names
    chosen = selector.get_support()
    assert selector.get_feature_names_out().tolist() == np.array(names)[chosen].tolist()
    np.testing.assert_array_equal(selector.coef_, fitted("SFMC").coef_)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(frame(dict(zip(reversed(names), X.T, strict=True))))


@pytest.mark.parametrize(
    ("container", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
@pytest.mark.parametrize("task", [None, 0, 1])
def test_set_output(container, frame, task):
    names = [f"gene {j}" for j in range(12)]
    table = frame(dict(zip(names, X.T, strict=True)))
    selector = make("SFMC", n_features_to_select=3).set_output(transform=container)
    selected = selector.fit(table, Y, TASKS).transform(table, task=task)
    chosen = selector.get_support(task=task)
    assert isinstance(selected, frame)
    assert list(selected.columns) == np.array(names)[chosen].tolist()
    np.testing.assert_array_equal(selected.to_numpy(), X[:, chosen])


def test_fit_transform_takes_tasks():
    selected = make("FSSI").fit_transform(X, Y, tasks=TASKS)
    np.testing.assert_array_equal(selected, fitted("FSSI").transform(X))


@every_selector
def test_pickle_and_clone(name):
    selector = fitted(name)
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.transform(X, task=1), selector.transform(X, task=1))
    assert again.history_ == selector.history_
    np.testing.assert_array_equal(clone(selector).fit(X, Y, TASKS).coef_, selector.coef_)


@every_method
def test_arguments_are_not_changed(name):
    arrays = [X.copy(), Y.copy(), TASKS.copy()]
    make(name).fit(*arrays)
    for array, original in zip(arrays, (X, Y, TASKS), strict=True):
        np.testing.assert_array_equal(array, original)
    sparse = sp.csr_array(sparse_samples())
    make(name).fit(sparse, Y, TASKS)
    np.testing.assert_array_equal(sparse.toarray(), sparse_samples())
    for array in arrays:
        array.flags.writeable = False
    make(name).fit(*arrays)


# Symmetries


@every_selector
def test_order_of_samples_does_not_matter(name):
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = make(name, **ACCURATE).fit(X[order], Y[order], TASKS[order])
    assert_same_model(shuffled, fitted(name, **ACCURATE))


@every_selector
def test_order_of_features_does_not_matter(name):
    order = np.random.default_rng(2).permutation(X.shape[1])
    shuffled = make(name, **ACCURATE).fit(X[:, order], Y, TASKS)
    straight = fitted(name, **ACCURATE)
    np.testing.assert_allclose(shuffled.coef_, straight.coef_[:, order], atol=1e-4)
    np.testing.assert_allclose(shuffled.intercept_, straight.intercept_, atol=2e-3)


@every_selector
def test_order_of_tasks_does_not_matter(name):
    swapped, straight = make(name, **ACCURATE).fit(X, Y, 1 - TASKS), fitted(name, **ACCURATE)
    np.testing.assert_allclose(swapped.coef_, np.roll(straight.coef_, 3, axis=0), atol=1e-4)
    np.testing.assert_allclose(swapped.task_scores_, straight.task_scores_[::-1], atol=1e-4)


@every_selector
def test_adding_a_constant_to_a_feature_changes_the_intercept_alone(name):
    straight = fitted(name, **ACCURATE)
    shift = np.zeros(12)
    shift[[np.argmin(straight.scores_), np.argmax(straight.scores_)]] = 100.0, -7.0
    shifted = make(name, **ACCURATE).fit(X + shift, Y, TASKS)
    np.testing.assert_allclose(shifted.coef_, straight.coef_, atol=1e-4)
    expected = straight.intercept_ - straight.coef_ @ shift
    assert np.abs(expected - straight.intercept_).max() > 0.1
    np.testing.assert_allclose(shifted.intercept_, expected, atol=1e-3)


# Edges


@every_selector
def test_fewer_rows_than_a_clique(name):
    rows = np.flatnonzero(TASKS == 0)[:8]
    y = DATA.y_true[rows].copy()
    assert make(name).fit(X[rows], y).converged_


@every_selector
def test_one_feature(name):
    strongest = DATA.shared[:1]
    selector = make(name).fit(X[:, strongest], Y, TASKS)
    assert selector.converged_
    assert selector.get_support().tolist() == [True]


@every_selector
def test_constant_and_duplicate_columns(name):
    source = int(np.argmax(fitted(name).scores_))
    padded = np.column_stack([X, np.full(len(X), 3.0), X[:, source]])
    selector = make(name, **ACCURATE).fit(padded, Y, TASKS)
    assert selector.converged_
    assert selector.scores_[12] == 0.0
    # Under a norm of rows, twins share: their rows point the same way.
    one, other = selector.coef_[:, source], selector.coef_[:, 13]
    cosine = one @ other / max(np.linalg.norm(one) * np.linalg.norm(other), 1e-300)
    assert cosine == pytest.approx(1.0, abs=1e-3)


@every_selector
def test_constant_samples_give_zero(name):
    selector = make(name).fit(np.ones((120, 3)), Y, TASKS)
    assert selector.converged_
    assert not selector.coef_.any()
    assert selector.ranking_.tolist() == [1, 2, 3]


@every_selector
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_small_units_give_zero_and_huge_ones_a_reason(name, container):
    tiny = make(name).fit(container(1e-150 * X), Y, TASKS)
    assert tiny.converged_
    assert not tiny.coef_.any()
    for factor in (1e100, -1e150):
        with pytest.raises(ValueError, match=r"X must hold numbers of at most 1e\+60.* scale"):
            make(name).fit(container(factor * X), Y, TASKS)


@pytest.mark.parametrize("name", ["FisherScore", "SPEC", "SPEC by label", "SPEC combined", "LSDF"])
@pytest.mark.parametrize("factor", [1e-150, 1e8, 1e100, 1e150])
def test_scores_in_any_unit(name, factor):
    scores, expected = make(name).fit(factor * X, Y, TASKS).task_scores_, fitted(name).task_scores_
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


@semi_supervised
def test_weights_may_be_integers(name):
    whole = fitted(name, alpha=2, beta=1, label_weight=1000, unlabeled_weight=1)
    np.testing.assert_array_equal(
        whole.coef_,
        fitted(name, alpha=2.0, beta=1.0, label_weight=1e3, unlabeled_weight=1.0).coef_,
    )


@every_method
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.full_like(X, np.nan)}, "Input X contains NaN"),
        ({"X": np.where(X > 1, np.inf, X)}, "Input X contains infinity"),
        ({"X": X[:1], "y": Y[:1], "tasks": None}, "minimum of 2 is required"),
        ({"X": X[:, :0]}, r"0 feature\(s\)"),
        ({"X": X[0]}, "Expected 2D array"),
        ({"y": Y[:7]}, "y must have one entry for each of the 120 samples of X. Got 7"),
        ({"tasks": TASKS[:7]}, "tasks must have one entry for each of the 120 samples"),
        ({"y": np.full_like(Y, -1)}, "task 0 has no labelled sample"),
        ({"y": np.where(TASKS == 1, -1, Y)}, "task 1 has no labelled sample"),
        ({"y": np.where(TASKS == 1, 2, Y)}, "task 1 must have at least two classes.*Got one class"),
        ({"y": None}, "requires y to be passed"),
        ({"y": np.eye(2, dtype=int)[TASKS]}, "tasks cannot be combined with a two-dimensional y"),
        ({"y": X[:, 0]}, "Unknown label type: continuous"),
    ],
)
def test_bad_data(name, change, message):
    with pytest.raises(ValueError, match=message):
        make(name).fit(**{"X": X, "y": Y, "tasks": TASKS} | change)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0}, "alpha must be a number above 0. Got 0"),
        ({"alpha": "1"}, "alpha must be a number above 0. Got '1'"),
        ({"alpha": np.inf}, "alpha must be .* Got inf"),
        ({"beta": -1.0}, "beta must be a number above 0. Got -1.0"),
        ({"gamma": -1e-9}, "gamma must be a number of at least 0. Got -1e-09"),
        ({"gamma": np.nan}, "gamma must be .* Got nan"),
        ({"alpha": 1e-200, "beta": 1e-200}, r"alpha \* beta must be .* = 0.0"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1. Got 0"),
        ({"n_neighbors": 2.0}, "n_neighbors must be an integer of at least 1. Got 2.0"),
        ({"local_ridge": 0.0}, "local_ridge must be a number above 0. Got 0.0"),
        ({"label_weight": 0}, "label_weight must be a number above 0. Got 0"),
        ({"unlabeled_weight": -1}, "unlabeled_weight must be a number of at least 0. Got -1"),
        ({"tol": 0}, "tol must be a number above 0. Got 0"),
        ({"max_iter": True}, "max_iter must be an integer of at least 1. Got True"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1. Got 0"),
        ({"solver": "newton"}, "solver must be one of 'auto', 'reweighted'. Got 'newton'"),
        ({"unlabeled": [1]}, r"unlabeled must be a number, a string or None. Got \[1\]"),
    ],
)
@every_selector
def test_bad_parameters(name, params, message):
    selector = make(name)
    if not set(params) <= set(selector.get_params()):
        selector = make("SFMC")
    if name == "FSNM":
        message = message.replace(
            "gamma must be a number of at least", "gamma must be a number above"
        )
    with pytest.raises(ValueError, match=message):
        selector.set_params(**params).fit(X, Y, TASKS)


@semi_supervised
def test_no_weight_on_unlabelled_rows_is_the_limit_of_a_small_one(name):
    limit = fitted(name, unlabeled_weight=0, **ACCURATE)
    near = fitted(name, unlabeled_weight=1e-7, **ACCURATE)
    far = fitted(name, unlabeled_weight=1e-1, **ACCURATE)
    np.testing.assert_allclose(limit.coef_, near.coef_, atol=2e-4)
    assert np.abs(limit.coef_ - far.coef_).max() > 2e-3


@semi_supervised
def test_no_weight_needs_a_path_to_a_label(name):
    """Two far clusters, the second without labels, and cliques smaller than either."""
    apart = X[:60] + np.where(np.arange(60) < 40, 0.0, 1e3)[:, None]
    y = np.where(np.arange(60) < 40, DATA.y_true[:60], -1)
    selector = make(name, unlabeled_weight=0, n_neighbors=5)
    with pytest.raises(ValueError, match=r"unlabeled_weight=0 .* 20 rows connect to no labelled"):
        selector.fit(apart, y)
    selector.set_params(unlabeled_weight=1e-3).fit(apart, y)


# In scikit-learn's company


@pytest.fixture
def metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("metadata_routing")
def test_tasks_travel_through_a_pipeline():
    selector = make("FSSI", n_features_to_select=3).set_fit_request(tasks=True)
    pipeline = make_pipeline(selector, LogisticRegression())
    pipeline.fit(X, DATA.y_true, tasks=TASKS)
    direct = make("FSSI", n_features_to_select=3).fit(X, DATA.y_true, TASKS)
    np.testing.assert_array_equal(pipeline[0].coef_, direct.coef_)


@pytest.mark.usefixtures("metadata_routing")
def test_tasks_are_sliced_with_the_folds():
    seen = []

    class Recording(FSSI):
        def _fit_tasks(self, X, tasks):
            seen.append([(task.name, len(task.rows)) for task in tasks])
            super()._fit_tasks(X, tasks)

    selector = Recording(alpha=5.0).set_fit_request(tasks=True)
    pipeline = make_pipeline(selector, LogisticRegression())
    cross_val_score(pipeline, X, DATA.y_true, params={"tasks": TASKS}, cv=3)
    assert [sum(size for _, size in fold) for fold in seen] == [80, 80, 80]
    assert all([name for name, _ in fold] == [0, 1] for fold in seen)


def test_a_method_of_scores_alone_is_one_small_class():
    """What a selector without an objective needs from the shell."""
    from cosift.selectors._base import TaskSelector

    class Variance(TaskSelector):
        def __init__(self, n_features_to_select=None, unlabeled=-1):
            self.n_features_to_select = n_features_to_select
            self.unlabeled = unlabeled

        def _fit_tasks(self, X, tasks):
            scores = np.stack([X[task.rows].var(axis=0) for task in tasks])
            self._rank(tasks, scores, scores.mean(axis=0))

    selector = Variance(2).fit(X, Y, TASKS)
    best = np.argsort(-X[TASKS == 1].var(axis=0))[:2]
    assert set(selector.get_support(indices=True, task=1)) == set(best)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert selector.set_output(transform="pandas").transform(X, task=1).shape == (120, 2)
    assert not hasattr(selector, "objective_")


# Methods of scores

# The solver behind one stops early.
LOOSE = {"estimator": 1e-2}


def assert_same_scores(one, other, **tolerances):
    np.testing.assert_allclose(one.task_scores_, other.task_scores_, **tolerances)
    np.testing.assert_allclose(one.scores_, other.scores_, **tolerances)


@every_score
def test_scores_and_rankings(name):
    selector = fitted(name)
    assert selector.tasks_.tolist() == [0, 1]
    assert [classes.tolist() for classes in selector.classes_] == [[0, 1, 2], [0, 1, 2]]
    assert selector.task_scores_.shape == (2, 12)
    assert (selector.task_scores_ >= 0).all()
    scaled = selector.task_scores_ / selector.task_scores_.max(axis=1, keepdims=True)
    np.testing.assert_allclose(selector.scores_, scaled.mean(axis=0))
    pairs = [(selector.scores_, selector.ranking_)]
    pairs += zip(selector.task_scores_, selector.task_ranking_, strict=True)
    for scores, ranking in pairs:
        np.testing.assert_array_equal(np.argsort(ranking), np.argsort(-scores, kind="stable"))
    assert not hasattr(selector, "objective_")


@every_score
def test_scores_go_task_by_task(name):
    both = fitted(name)
    for index, task in enumerate(both.tasks_):
        rows = task == TASKS
        alone = make(name).fit(X[rows], Y[rows])
        np.testing.assert_array_equal(alone.task_scores_[0], both.task_scores_[index])


@every_score
def test_scores_of_columns_of_y(name):
    columns = np.where(Y[:60, None] == -1, -1, np.eye(3, dtype=int)[Y[:60]])
    selector = make(name).fit(X[:60], columns)
    for index in range(3):
        alone = make(name).fit(X[:60], columns[:, index])
        np.testing.assert_array_equal(alone.task_scores_[0], selector.task_scores_[index])


@every_score
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
def test_scores_of_sparse_samples(name, kind):
    samples = sparse_samples()
    if name not in ("score function", "selector"):  # which warn of constants
        samples[:, 3] = 0.0
        samples[:, 4] = 2.0
    dense = make(name).fit(samples, Y, TASKS)
    sparse = make(name).fit(kind(samples), Y, TASKS)
    assert_same_scores(sparse, dense, rtol=1e-9, atol=LOOSE.get(name, 1e-9))


@every_score
def test_scores_in_every_container(name, tmp_path):
    expected = fitted(name)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(12)])
    for samples in (np.asfortranarray(X), mapped, X.tolist(), frame):
        assert_same_scores(make(name).fit(samples, Y, TASKS), expected, rtol=1e-6)


@every_score
def test_scores_of_integers_and_single_precision(name):
    counts = np.round(3 * X).astype(int)
    expected = make(name).fit(counts.astype(float), Y, TASKS)
    assert_same_scores(make(name).fit(counts, Y, TASKS), expected)
    single = make(name).fit(counts.astype(np.float32), Y, TASKS)
    assert_same_scores(single, expected, rtol=1e-3, atol=LOOSE.get(name, 0.0))
    assert single.task_scores_.dtype == np.float64


@every_score
def test_scores_survive_pickling(name):
    selector = fitted(name)
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.transform(X, task=1), selector.transform(X, task=1))
    assert_same_scores(clone(selector).fit(X, Y, TASKS), selector)


@every_score
def test_scores_of_duplicates_tie(name):
    doubled = make(name).fit(np.hstack([X, X]), Y, TASKS)
    np.testing.assert_allclose(doubled.task_scores_[:, :12], doubled.task_scores_[:, 12:])


@every_score
def test_scores_follow_the_columns(name):
    order = np.random.default_rng(0).permutation(12)
    shuffled = make(name).fit(X[:, order], Y, TASKS)
    expected = fitted(name).task_scores_[:, order]
    np.testing.assert_allclose(shuffled.task_scores_, expected, rtol=1e-5)


@every_score
def test_scores_follow_the_rows(name):
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = make(name).fit(X[order], Y[order], TASKS[order])
    np.testing.assert_allclose(shuffled.task_scores_, fitted(name).task_scores_, rtol=1e-5)


@every_score
def test_one_labelled_row_a_class(name):
    few = np.full(len(Y), -1)
    for task in (0, 1):
        for label in range(3):
            few[np.flatnonzero((task == TASKS) & (DATA.y_true == label))[0]] = label
    if name in ("score function", "selector"):
        pytest.skip("an F statistic divides by n - c = 0")
    selector = make(name).fit(X, few, TASKS)
    assert np.isfinite(selector.task_scores_).all()


@every_score
def test_a_class_without_labels_and_a_class_of_one_task(name):
    y = np.where(Y == 2, -1, Y)
    y[np.flatnonzero(TASKS == 1)[0]] = 7
    selector = make(name).fit(X, y, TASKS)
    assert [classes.tolist() for classes in selector.classes_] == [[0, 1], [0, 1, 7]]
    assert np.isfinite(selector.scores_).all()


@pytest.mark.parametrize("name", [name for name in SCORES if name != "AllFeatures"])
def test_a_planted_feature_is_first(name):
    """One clean copy of the classes among noise."""
    rng = np.random.default_rng(1)
    y = np.arange(90) % 3
    noise = rng.normal(size=(90, 7))
    noise[:, 5] = 3.0 * y + 0.2 * rng.normal(size=90)
    labels = np.where(rng.random(90) < 0.5, y, -1)
    selector = make(name).fit(noise, labels)
    assert selector.ranking_[5] == 1
    assert selector.task_scores_.argmax() == 5


def test_all_features_are_kept_in_order():
    selector = fitted("AllFeatures")
    np.testing.assert_array_equal(selector.transform(X), X)
    np.testing.assert_array_equal(selector.transform(X, task=1), X)
    assert selector.ranking_.tolist() == list(range(1, 13))
