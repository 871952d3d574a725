"""What a notebook shows of a selector, read as a browser reads it."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from cosift import LSDF, SFMC, AllFeatures, FisherScore, L21LeastSquares
from cosift.datasets import make_related_tasks

DATA = make_related_tasks(n_tasks=2, n_samples=30, n_features=14, labeled=0.3, seed=1)
X, Y, TASKS = DATA.X, DATA.y, DATA.tasks
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"


class Page(HTMLParser):
    """Tables as lists of rows of texts, widths of bars, and elements in the order they open."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.captions, self.widths, self.elements = [], [], [], []
        self.inside = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "caption":
            self.captions.append("")
        elif "style" in dict(attrs):
            self.widths.append(int(re.fullmatch(r"width:(\d+)%", dict(attrs)["style"])[1]))
        if tag in ("td", "th", "caption"):
            self.inside = tag

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = None

    def handle_data(self, data):
        if self.inside == "caption":
            self.captions[-1] += data
        elif self.inside:
            self.tables[-1][-1][-1] += data


def own(selector):
    """Our part of the representation, below scikit-learn's diagram."""
    html = selector._repr_mimebundle_()["text/html"]
    assert selector._repr_html_().count('<div class="cosift">') == html.count(
        '<div class="cosift">'
    )
    diagram, _, ours = html.partition('<div class="cosift">')
    assert "sk-top-container" in diagram
    assert "sk-top-container" not in ours
    return Page(ours)


@pytest.fixture(scope="module")
def fitted():
    names = [f"{HOSTILE} {i}" for i in range(14)]
    tasks = np.where(TASKS == 0, "left", HOSTILE)
    return SFMC(alpha=0.1, beta=0.1, gamma=1).fit(pd.DataFrame(X, columns=names), Y, tasks=tasks)


def test_names_stay_text(fitted):
    page = own(fitted)
    assert set(page.elements) == {"style", "table", "caption", "tr", "th", "td", "span"}
    assert page.tables[1][0][2:] == ["All tasks", f"Task {HOSTILE}", "Task left"]
    assert all(row[1].startswith(HOSTILE) for row in page.tables[1][1:])
    assert "<img" not in fitted._repr_html_()
    assert HOSTILE not in fitted._repr_html_()


def test_best_features_come_first_with_their_scores(fitted):
    head, *rows = own(fitted).tables[1]
    assert head[:2] == ["Rank", "Feature"]
    assert [row[0] for row in rows] == [str(rank) for rank in range(1, 11)]
    for rank, (_, name, *scores) in enumerate(rows, start=1):
        (feature,) = np.flatnonzero(fitted.ranking_ == rank)
        assert name == fitted.feature_names_in_[feature]
        every = [fitted.scores_[feature], *fitted.task_scores_[:, feature]]
        assert scores == [f"{score:.3g}" for score in every]


def test_bars_are_as_long_as_scores_are_large(fitted):
    widths = np.array(own(fitted).widths).reshape(10, 3)
    columns = np.column_stack([fitted.scores_, *fitted.task_scores_])
    expected = 100 * columns / columns.max(axis=0)
    np.testing.assert_allclose(widths, expected[np.argsort(fitted.ranking_)][:10], atol=0.51)


def test_certificate(fitted):
    page = own(fitted)
    assert page.captions == ["Certificate", "Best 10 of 14 features"]
    shown = dict(page.tables[0])
    assert float(shown["Objective"]) == pytest.approx(fitted.objective_, rel=1e-5)
    bound = shown["Lower bound on the least"]
    assert float(bound) == pytest.approx(fitted.dual_bound_, rel=1e-5)
    gap, share = re.fullmatch(r"(\S+) \((\S+) of the objective\)", shown["Gap"]).groups()
    assert float(gap) == pytest.approx(fitted.dual_gap_, rel=0.1)
    assert float(share) == pytest.approx(fitted.dual_gap_ / fitted.objective_, rel=0.1)
    assert shown["Converged"] == "yes"
    assert shown["Iterations"] == str(fitted.n_iter_)


def test_no_convergence_is_said():
    with pytest.warns(ConvergenceWarning):
        selector = L21LeastSquares(0.5, max_iter=1, tol=1e-13).fit(X, Y, TASKS)
    assert dict(own(selector).tables[0])["Converged"] == "no, not to tol=1e-13: raise max_iter"


@pytest.mark.parametrize("selector", [FisherScore(), LSDF(), AllFeatures()])
def test_scores_need_no_certificate(selector):
    page = own(selector.fit(X, Y))
    assert page.captions == ["Best 10 of 14 features"]
    assert page.tables[0][0] == ["Rank", "Feature", "Score"]
    (best,) = np.flatnonzero(selector.ranking_ == 1)
    assert page.tables[0][1][1] == f"x{best}"
    assert all(0 <= width <= 100 for width in page.widths)


def test_few_features_and_many_tasks():
    columns = np.column_stack([X[:, 0] > shift for shift in np.linspace(-1.0, 1.0, 9)]).astype(int)
    page = own(FisherScore().fit(X[:, :3], columns))
    assert page.captions == ["Best 3 of 3 features, first 6 of 9 tasks"]
    assert [len(row) for row in page.tables[0]] == [2 + 1 + 6] * 4


def test_scores_without_size_have_no_bar():
    selector = L21LeastSquares(1e6).fit(X, Y, TASKS)
    assert not selector.scores_.any()
    assert own(selector).widths == [0] * 30


def test_unfitted_selectors_show_the_diagram_alone():
    html = SFMC()._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in html
    assert "cosift" not in html
    assert SFMC()._repr_html_().count("sk-top-container") == html.count("sk-top-container")


def test_as_text(fitted):
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted)}
    assert fitted._repr_mimebundle_()["text/plain"] == repr(fitted)


def test_in_a_pipeline():
    pipeline = make_pipeline(FisherScore(), LogisticRegression()).fit(X, DATA.y_true)
    html = pipeline._repr_mimebundle_()["text/html"]
    assert "FisherScore" in html
    assert "cosift" not in html
