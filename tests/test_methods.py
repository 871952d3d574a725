"""Methods from a line of text: what can be said, what is refused, and that nothing is run."""

import sys

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectKBest, chi2, f_classif, mutual_info_classif
from sklearn.svm import LinearSVC

import cosift
from cosift.datasets import make_related_tasks
from cosift.methods import METHODS, make_method, method_names
from cosift.selectors.foreign import ForeignSelector

DATA = make_related_tasks(2, 40, 12, labeled=0.5, seed=1)
SAMPLES = np.abs(DATA.X), DATA.y, DATA.tasks


def test_every_method_of_ours_has_a_name():
    assert {METHODS[name] for name in method_names()} == set(cosift.__all__) - {"ForeignSelector"}
    for name in method_names():
        method = make_method(name)
        assert type(method).__name__ == METHODS[name]
        assert name == name.lower()
        assert "_" not in name
        assert method.fit(*SAMPLES).ranking_.shape == (12,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec(function='phi3', n_neighbors=10)", {"function": "phi3", "n_neighbors": 10}),
        (" sfmc ( alpha = 1e-3, solver='reweighted' ) ", {"alpha": 1e-3, "solver": "reweighted"}),
        ("fsnm(0.5)", {"gamma": 0.5}),
        ("lsdf(n_features_to_select='nonzero')", {"n_features_to_select": "nonzero"}),
        ("fisher-score(unlabeled=None)", {"unlabeled": None}),
        ("fisher-score(unlabeled=-9)", {"unlabeled": -9}),
    ],
)
def test_ours_with_parameters(text, expected):
    params = make_method(text).get_params()
    assert {key: params[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "kind", "params"),
    [
        ("sklearn.ensemble:RandomForestClassifier", RandomForestClassifier, {}),
        (
            "sklearn.ensemble:RandomForestClassifier(n_estimators=7, random_state=0)",
            RandomForestClassifier,
            {"n_estimators": 7, "random_state": 0},
        ),
        (
            "sklearn.feature_selection:SelectKBest(score_func=mutual_info_classif)",
            SelectKBest,
            {"score_func": mutual_info_classif},
        ),
        ("sklearn.feature_selection:SelectKBest(f_classif, k=3)", SelectKBest, {"k": 3}),
        (
            # A name of another module of scikit-learn, and a call within a call.
            "sklearn.feature_selection:RFE(LinearSVC(C=0.1), step=2)",
            RFE,
            {"estimator__C": 0.1, "step": 2},
        ),
        (
            "sklearn.ensemble:RandomForestClassifier(class_weight={0: 1.5, 1: 2})",
            RandomForestClassifier,
            {"class_weight": {0: 1.5, 1: 2}},
        ),
    ],
)
def test_foreign_classes(text, kind, params):
    method = make_method(text)
    assert isinstance(method, ForeignSelector)
    assert type(method.estimator) is kind
    own = method.estimator.get_params()
    assert {key: own[key] for key in params} == params


def test_foreign_functions():
    assert make_method("sklearn.feature_selection:chi2").estimator is chi2
    bound = make_method("sklearn.feature_selection:mutual_info_classif(random_state=3)").estimator
    assert bound.func is mutual_info_classif
    assert bound.keywords == {"random_state": 3}


@pytest.mark.parametrize(
    "text",
    [
        "sklearn.feature_selection:SelectKBest(score_func=mutual_info_classif, k='all')",
        "sklearn.feature_selection:f_classif",
        "sklearn.ensemble:RandomForestClassifier(n_estimators=5, random_state=0)",
        "sklearn.feature_selection:RFE(LogisticRegression(), n_features_to_select=3)",
        "sklearn.svm:LinearSVC(random_state=0)",
    ],
)
def test_foreign_methods_get_the_labelled_rows_of_each_task(text):
    method = make_method(text)
    scores = method.fit(*SAMPLES).task_scores_
    X, y, tasks = SAMPLES
    assert scores.shape == (2, 12)
    assert np.isfinite(scores).all()
    if text.endswith("f_classif"):
        for task in (0, 1):
            rows = (tasks == task) & (y != -1)
            np.testing.assert_allclose(scores[task], f_classif(X[rows], y[rows])[0])


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module whose members would leave a trace if called or looked into."""
    (tmp_path / "trap_of_the_tests.py").write_text(
        "ran = []\n"
        "def spring(*args, **kwargs):\n    ran.append(args)\n"
        "class Plain:\n    def __init__(self, *args):\n        ran.append(args)\n"
        "class _Hidden:\n    fit = get_params = set_params = __init__ = spring\n"
        "def _scores(X, y):\n    ran.append(X)\n"
        "import os\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "trap_of_the_tests"
    module = sys.modules.pop("trap_of_the_tests", None)
    assert module is None or module.ran == []


@pytest.mark.parametrize(
    "expression",
    [
        "spring",
        "spring()",
        "Plain",
        "Plain(1)",
        "_Hidden",
        "_Hidden()",
        "_scores",
        "os",
        "os.system('true')",
        "os.system",
        "__import__('os')",
        "__builtins__",
        "eval('1')",
        "(lambda: spring())()",
        "[spring() for _ in [1]]",
        "spring() or spring()",
        "spring if spring() else spring",
        "Plain.__init__",
        "LogisticRegression(C=spring())",
        "LogisticRegression(C=Plain(1))",
        "LogisticRegression(C=os.getpid())",
        "LogisticRegression(C=1 + 1)",
        "LogisticRegression(C=f'{spring()}')",
        "LogisticRegression(C=[spring()])",
        "LogisticRegression(C={spring(): 1})",
        "LogisticRegression(C=(x := 1))",
        "LogisticRegression(*[1])",
        "LogisticRegression(**{'C': 1})",
        "LogisticRegression(C=1)(C=2)",
        "LogisticRegression(C=1).fit",
        "LogisticRegression().__class__",
        "LogisticRegression; spring()",
        "LogisticRegression\nspring()",
        "all_estimators()",
        "",
        ")",
        "LogisticRegression(",
        "LogisticRegression(C=1, C=2)",
        "-LogisticRegression()",
        "'LogisticRegression'",
    ],
)
def test_nothing_else_can_be_said(trap, expression):
    with pytest.raises(ValueError, match="Cannot make a method of"):
        make_method(f"{trap}:{expression}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1 to 2000 characters"),
        (None, "1 to 2000 characters. Got None"),
        ("sfmc" + " " * 3000, "1 to 2000 characters. Got 3004"),
        ("sfcm", "No method is named 'sfcm'. Did you mean 'sfmc'"),
        ("Fisher_Score", "Did you mean 'fisher-score'"),
        ("sfmc(alhpa=1)", "SFMC has the parameters alpha, beta"),
        ("sfmc(alpha=one)", "'one' is not a value; a string needs quotation marks"),
        ("sfmc(alpha=LogisticRegression())", "is not a value"),
        ("sfmc(alpha=1)(beta=2)", "takes parameters once"),
        ("sfmc()()", "takes parameters once"),
        ("sfmc(alpha=__import__('os'))", "Cannot make a method"),
        ("no.such.module:Name", "'no.such.module' cannot be imported"),
        ("..cosift:SFMC", "No method is named"),
        ("os path:join", "No method is named"),
        ("sklearn.linear_model:LogisticRegresion", "did you mean 'LogisticRegression'"),
        ("sklearn.linear_model:LogisticRegression(D=1)", "has the parameters penalty"),
        ("sklearn.feature_selection:chi2(1)", "by keyword"),
        ("sklearn.feature_selection:chi2(z=1)", "chi2 has the parameters"),
        ("sklearn.metrics:accuracy_score", "neither a class of estimators"),
        ("sklearn.linear_model:LogisticRegression(C=" + "[" * 900 + "]" * 900 + ")", "Cannot make"),
    ],
)
def test_refusals_say_what_would_do(text, message):
    with pytest.raises(ValueError, match=message):
        make_method(text)


def test_a_module_that_fails_to_import_is_a_refusal(tmp_path, monkeypatch):
    (tmp_path / "exits_of_the_tests.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="'exits_of_the_tests' cannot be imported"):
        make_method("exits_of_the_tests:Name")


def test_a_class_that_fails_to_be_made_is_a_refusal():
    with pytest.raises(ValueError, match="SelectFromModel has the parameters"):
        make_method("sklearn.feature_selection:SelectFromModel")


def test_estimators_are_fresh():
    one, other = (make_method("sklearn.svm:LinearSVC") for _ in range(2))
    assert isinstance(one.estimator, LinearSVC)
    assert one.estimator is not other.estimator
