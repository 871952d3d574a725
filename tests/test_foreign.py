"""Other people's selectors, estimators and score functions as methods."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    VarianceThreshold,
    chi2,
    f_classif,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from cosift import ForeignSelector
from cosift.datasets import make_related_tasks
from cosift.selectors.foreign import read_scores

DATA = make_related_tasks(2, 60, 12, n_shared=3, n_private=1, labeled=0.5, seed=2)
X, Y, TASKS = DATA.X, DATA.y, DATA.tasks


def rows_of(task):
    return (task == TASKS) & (Y != -1)


def fitted(estimator, samples=X):
    return ForeignSelector(estimator).fit(samples, Y, TASKS)


class Stub(BaseEstimator):
    """Learns what it is told to."""

    def __init__(self, learned=None):
        self.learned = learned

    def fit(self, X, y):
        self.seen_ = X, y
        for name, value in (self.learned or {}).items():
            setattr(self, name, value)
        return self


# Where scores come from


@pytest.mark.parametrize(
    ("estimator", "scores"),
    [
        (SelectKBest(f_classif, k=2), lambda e: e.scores_),
        (RandomForestClassifier(5, random_state=0), lambda e: e.feature_importances_),
        (LogisticRegression(), lambda e: np.sqrt((e.coef_**2).sum(axis=0))),
        (RFE(LogisticRegression(), n_features_to_select=2), lambda e: 11 + 1 - e.ranking_),
        (
            SelectFromModel(DecisionTreeClassifier(random_state=0)),
            lambda e: e.estimator_.feature_importances_,
        ),
        (
            GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
            lambda e: np.linalg.norm(e.best_estimator_.coef_, axis=0),
        ),
        (
            SequentialFeatureSelector(
                DecisionTreeClassifier(random_state=0), n_features_to_select=1, cv=2
            ),
            lambda e: e.get_support().astype(float),
        ),
        (VarianceThreshold(0.9), lambda e: e.get_support().astype(float)),
    ],
)
def test_scores_are_what_the_estimator_learned_from_labelled_rows(estimator, scores):
    selector = fitted(estimator)
    for index, task in enumerate((0, 1)):
        own = selector.estimators_[index]
        assert own is not estimator
        alone = type(own)(**own.get_params(deep=False)).fit(X[rows_of(task)], Y[rows_of(task)])
        np.testing.assert_allclose(selector.task_scores_[index], scores(alone))


def test_the_estimator_sees_labelled_rows_and_their_own_labels():
    words = np.where(Y == -1, None, np.array(["ant", "bee", "cat"])[Y])
    selector = ForeignSelector(Stub({"scores_": np.ones(12), "get_support": 1}))
    selector.fit(X, words, TASKS)
    for index, task in enumerate((0, 1)):
        seen_X, seen_y = selector.estimators_[index].seen_
        np.testing.assert_array_equal(seen_X, X[rows_of(task)])
        assert seen_y.tolist() == words[rows_of(task)].tolist()


def test_functions_may_return_scores_or_scores_first():
    both = fitted(chi2, np.abs(X)), fitted(lambda X, y: chi2(X, y)[0], np.abs(X))
    np.testing.assert_array_equal(both[0].task_scores_, both[1].task_scores_)
    assert both[0].estimators_ == []


@pytest.mark.parametrize(
    ("learned", "expected"),
    [
        ({"coef_": [-3.0, 4.0]}, [3.0, 4.0]),
        ({"coef_": [[3.0, 0.0], [-4.0, 1.0]]}, [5.0, 1.0]),
        ({"coef_": sp.csr_array([[0.0, -2.0]])}, [0.0, 2.0]),
        ({"ranking_": [2, 1]}, [1.0, 2.0]),
        ({"ranking_": np.array([7, 3], dtype=np.uint8)}, [1.0, 5.0]),
        ({"feature_importances_": [0.1, 0.9], "coef_": [1.0, 0.0]}, [0.1, 0.9]),
        # scores_ of what is no selector are those of folds; wrong shapes are passed over.
        ({"scores_": [1.0, 2.0], "coef_": [5.0, 6.0]}, [5.0, 6.0]),
        ({"feature_importances_": [1.0, 2.0, 3.0], "coef_": [5.0, 6.0]}, [5.0, 6.0]),
        ({"estimator_": Stub({"coef_": [5.0, 6.0]}).fit(0, 0)}, [5.0, 6.0]),
    ],
)
def test_reading(learned, expected):
    np.testing.assert_allclose(read_scores(Stub(learned).fit(0, 0), 2), expected)


def test_nothing_to_read():
    with pytest.raises(
        ValueError, match=r"one of scores_, .* one value for each of the 2 features"
    ):
        read_scores(Stub().fit(0, 0), 2)


# What scores can hold


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ([1.0, np.inf, 3.0, np.nan], [1, 2, 0, 3]),
        ([np.nan, -1.0, -5.0, 2.0], [3, 1, 2, 0]),
        ([-np.inf, 0.0, np.inf, np.nan], [2, 1, 0, 3]),
        ([np.nan, np.nan, np.nan, np.nan], [0, 1, 2, 3]),
        ([np.inf, np.inf, 0.0, -np.inf], [0, 1, 2, 3]),
        ([-3.0, -1.0, -2.0, -4.0], [1, 2, 0, 3]),
    ],
)
def test_infinite_and_missing_scores_are_in_order_and_finite(scores, order):
    selector = ForeignSelector(lambda X, y: np.array(scores)).fit(X[:, :4], Y, TASKS)
    assert np.isfinite(selector.task_scores_).all()
    assert np.isfinite(selector.scores_).all()
    assert np.argsort(selector.ranking_).tolist() == order


def test_constant_columns_go_last():
    padded = np.column_stack([np.ones(len(X)), X])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # f_classif's own
        selector = fitted(f_classif, padded)
    assert selector.ranking_[0] == 13


# Use


def test_how_many_is_up_to_us_not_to_the_estimator():
    selector = ForeignSelector(SelectKBest(k=2), n_features_to_select=5).fit(X, Y, TASKS)
    assert selector.get_support().sum() == 5
    assert selector.get_support(task=1).sum() == 5


def test_the_estimator_given_is_not_fitted():
    estimator = Stub({"coef_": np.ones(12)})
    ForeignSelector(estimator).fit(X, Y, TASKS)
    assert not hasattr(estimator, "seen_")


def test_what_cannot_take_sparse_samples_says_so():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        fitted(LinearDiscriminantAnalysis(), sp.csr_array(X))


@pytest.mark.parametrize("estimator", [None, 3, "chi2", LogisticRegression])
def test_what_is_neither_estimator_nor_function_is_refused(estimator):
    with pytest.raises(ValueError, match="estimator must be an estimator with a fit method"):
        fitted(estimator)


@pytest.mark.parametrize("result", [np.ones(3), np.ones((12, 2)), 1.0, (np.ones(5), np.ones(12))])
def test_functions_must_return_one_score_a_feature(result):
    with pytest.raises(ValueError, match="must return one score for each of the 12 features"):
        fitted(lambda X, y: result)
