"""Folds, and the choice of weights, numbers of features and C: against loops and leaks."""

from dataclasses import replace

import numpy as np
import pytest
from experiments import annotated_data, tiny_data, tiny_plan
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from cosift._sharing import digest
from cosift.datasets.splits import LeakageWarning
from cosift.experiment import Results, conclude, run
from cosift.experiment import evaluate as evaluate_module
from cosift.experiment.candidates import Candidates
from cosift.experiment.classifier import Judge
from cosift.experiment.draw import HIDDEN, Training, draw
from cosift.experiment.evaluate import Experiment, Failure, evaluate_unit
from cosift.experiment.folds import deal
from cosift.experiment.plan import Unit
from cosift.methods import make_method, seeded

DATA = tiny_data()


def training_of(y, tasks=None, groups=None, n_tasks=1):
    return Training(np.eye(len(y)), np.asarray(y), tasks, groups, n_tasks)


def labels_of(training):
    """Sets of rows that carry a label: a class of a task, or the 1 or 0 of a column."""
    y = training.y if training.y.ndim == 2 else training.y[:, None]
    tasks = np.zeros(len(y), dtype=int) if training.tasks is None else training.tasks
    for task in np.unique(tasks):
        for column in y.T:
            for value in np.unique(column[(tasks == task) & (column != HIDDEN)]):
                yield np.flatnonzero((tasks == task) & (column == value))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("kind", ["classes", "tasks", "columns", "groups"])
def test_folds(kind, seed):
    rng = np.random.default_rng(seed)
    n, n_folds = int(rng.integers(4, 60)), int(rng.integers(2, 6))
    shape = (n, 3) if kind == "columns" else n
    y = rng.integers(0, 2 if kind == "columns" else 4, size=shape)
    y[rng.random(n) < 0.3] = HIDDEN
    y[0] = 0
    training = training_of(
        y,
        tasks=rng.integers(0, 2, size=n) if kind == "tasks" else None,
        groups=rng.integers(0, 8, size=n) if kind == "groups" else None,
    )
    folds = deal(training, n_folds, seed)
    assert all(
        np.array_equal(a, b) for a, b in zip(folds, deal(training, n_folds, seed), strict=True)
    )
    dealt = np.concatenate([np.empty(0, dtype=int), *folds])
    assert len(np.unique(dealt)) == len(dealt)
    assert training.labeled[dealt].all()
    assert len(folds) <= n_folds
    assert all(len(rows) and np.array_equal(rows, np.sort(rows)) for rows in folds)
    for label in labels_of(training):
        # Whatever is held out, a row of every label is left to learn from.
        assert all(np.setdiff1d(label, rows).size for rows in folds)
    if kind == "groups":
        carriers = [set(training.groups[label]) for label in labels_of(training) if len(label) > 1]
        for rows in folds:
            for group in np.unique(training.groups[rows]):
                own = np.flatnonzero(training.labeled & (training.groups == group))
                assert np.isin(own, rows).all() or {group} in carriers
    if kind in ("classes", "tasks"):
        for label in labels_of(training):
            inside = [np.isin(label, rows).sum() for rows in folds]
            inside += [0] * (n_folds - len(folds))
            if len(label) > 1:
                assert sum(inside) == len(label)
                assert max(inside) - min(inside) <= 1
            else:
                assert sum(inside) == 0


def test_folds_with_two_labels_a_class_hold_each_out_once():
    folds = deal(training_of([0, 0, 1, 1, 2, 2, HIDDEN]), 3, 0)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(6))


def test_a_group_that_alone_carries_a_label_is_dealt_row_by_row():
    y, groups = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 2, 2]
    folds = deal(training_of(y, groups=np.array(groups)), 2, 0)
    assert len(folds) == 2
    for rows in folds:
        assert len(rows) == 4
        assert sum(np.isin(group, rows).all() for group in ([0, 1], [2, 3])) == 1
        assert np.isin([4, 5, 6, 7], rows).sum() == 2


def poisoned(data, plan, unit):
    """An experiment whose test labels, test samples and hidden labels are wrong."""
    experiment = Experiment(plan, data)
    sample = experiment.draw(unit.repeat)
    shown = sample.split.labeled(unit.labeled_percent / 100)
    secret = np.union1d(sample.split.test, sample.split.train[~shown])
    rng = np.random.default_rng(0)
    y, X = data.y.copy(), data.X.copy()
    y[secret] = rng.permutation(y[secret])
    X[sample.split.test] = rng.permutation(X[sample.split.test], axis=1)
    assert (y != data.y).sum() > len(secret) / 4
    wrong = draw(data, plan, unit.repeat)
    experiment._draws[unit.repeat] = replace(wrong, data=replace(data, X=X, y=y))
    return experiment


@pytest.mark.parametrize("method", ["fisher-score", "fssi", "sfss"])
@pytest.mark.parametrize("tuning", ["cv", "oracle"])
def test_cross_validation_sees_no_secret_and_the_oracle_does(tuning, method):
    """Wrong test rows and hidden labels change nothing in a choice by cross-validation."""
    plan = tiny_plan(
        DATA,
        methods=[method],
        labeled_percent=[40],
        tuning=tuning,
        weights=[0.01, 0.1, 1, 10],
        n_features=range(1, 11),
        C=[0.01, 1, 100],
    )
    (unit, _) = plan.units()
    honest = evaluate_unit(Experiment(plan, DATA), unit)
    misled = evaluate_unit(poisoned(DATA, plan, unit), unit)
    assert not isinstance(honest, Failure), honest.traceback
    assert not isinstance(misled, Failure), misled.traceback
    assert honest.metrics != misled.metrics
    assert honest.summary["C"] == misled.summary["C"]
    if tuning == "oracle":
        assert not np.array_equal(honest.arrays["scores"], misled.arrays["scores"])
        assert honest.summary["tuning_score"] != misled.summary["tuning_score"]
        return
    for name in ("cell", "n_features", "tuning_score", "objective"):
        assert honest.summary[name] == misled.summary[name]
    for name in ("scores", "gaps", "selected", "task_scores"):
        np.testing.assert_array_equal(honest.arrays[name], misled.arrays[name])


def longhand_score(selector, task, k, inside, outside):
    """Mean average precision by scikit-learn."""
    (X, y), (Z, z) = inside, outside
    best = np.argsort(selector.task_ranking_[task])[:k]
    svm = LinearSVC(dual="auto", random_state=0, max_iter=10_000).fit(X[:, best], y)
    decision = svm.decision_function(Z[:, best])
    classes = svm.classes_
    if len(classes) == 2:
        decision = np.column_stack([-decision, decision])
    return np.mean(
        [
            average_precision_score(z == own, decision[:, i])
            for i, own in enumerate(classes)
            if (z == own).any()
        ]
    )


def test_folds_that_part_a_group_are_remarked_on(tmp_path):
    groups = np.array([f"{task}-{label}" for task, label in zip(DATA.tasks, DATA.y, strict=True)])
    data = replace(DATA, groups=groups)
    settings = {"split": "rows", "tuning": "cv", "labeled_percent": [50], "weights": [0.1, 1, 10]}
    with pytest.warns(LeakageWarning):
        run(tiny_plan(data, methods=["fssi"], **settings), data, tmp_path)
    results = Results(tmp_path)
    assert results.choices["note"].str.starts_with("Folds parted rows of one group").all()
    assert results.choices["tuning_score"].is_not_null().all()
    found = conclude(results)
    assert "Not without reserve" in found.summary
    assert any("units: Folds parted rows of one group" in note for note in found.notes)


@pytest.mark.parametrize("tuning", ["cv", "oracle"])
def test_the_choice_is_that_of_plain_loops(tuning):
    data = tiny_data(n_samples=60, n_classes=3)
    plan = tiny_plan(
        data, methods=["l21-least-squares"], labeled_percent=[50], tuning=tuning, repeats=1
    )
    (unit,) = plan.units()
    outcome = evaluate_unit(Experiment(plan, data), unit)
    sample = draw(data, plan, 0)
    training = sample.training(50)
    tests = [sample.test(task) for task in range(2)]
    shown = np.flatnonzero(training.labeled)
    if tuning == "oracle":
        rounds = [(training, shown, tests)]
    else:
        folds = deal(training, 3, evaluate_module.child_seed(0, 0, evaluate_module.FOLDS))
        rounds = [
            (
                training.hide(rows),
                np.setdiff1d(shown, rows),
                [training.of_task(task, rows) for task in range(2)],
            )
            for rows in folds
        ]
    means = {}
    for alpha in (0.1, 10.0):
        for k in (2, 5):
            scores = []
            for visible, inside, outside in rounds:
                selector = make_method(f"l21-least-squares(alpha={alpha})")
                selector.fit(visible.X, visible.y, visible.tasks)
                scores.append(
                    [
                        longhand_score(
                            selector, task, k, training.of_task(task, inside), outside[task]
                        )
                        for task in range(2)
                    ]
                )
            means[alpha, k] = np.mean(np.mean(scores, axis=0))
    best = max(means, key=means.__getitem__)
    assert outcome.summary["tuning_score"] == pytest.approx(means[best], abs=1e-4)
    assert (outcome.summary["cell"]["alpha"], outcome.summary["n_features"]) == best
    assert len({round(mean, 3) for mean in means.values()}) > 2


def test_the_choice_without_rows_to_hold_out_is_the_middle_and_says_so():
    plan = tiny_plan(
        DATA, methods=["fssi"], labeled_percent=[0.1], tuning="cv", weights=[0.1, 1, 10]
    )
    outcome = evaluate_unit(Experiment(plan, DATA), plan.units()[0])
    assert outcome.summary["n_labeled"] == 4  # a row for each class of each task
    assert outcome.summary["cell"] == {"alpha": 1.0, "gamma": 1.0}
    assert outcome.summary["n_features"] == 2
    assert outcome.summary["note"].startswith("No choice by cross-validation")
    assert np.isnan(outcome.summary["tuning_score"])


@pytest.mark.parametrize("tuning", ["cv", "oracle"])
def test_equal_sets_of_features_are_judged_once(tuning, monkeypatch):
    fitted, asked = [], []
    fit_svm = evaluate_module.Judge._decision

    def counted(judge, features):
        fitted.append((id(judge), features.tobytes()))
        return fit_svm(judge, features)

    score = Judge.score

    def noted(judge, features):
        asked.append((id(judge), np.sort(features).tobytes()))
        return score(judge, features)

    judges = []  # kept, so that no id comes twice
    start = Judge.__init__

    def kept(judge, *arguments, **settings):
        judges.append(judge)
        start(judge, *arguments, **settings)

    monkeypatch.setattr(Judge, "__init__", kept)
    monkeypatch.setattr(Judge, "_decision", counted)
    monkeypatch.setattr(Judge, "score", noted)
    plan = tiny_plan(DATA, methods=["fssi"], tuning=tuning, weights=[0.1, 1, 10, 100], repeats=1)
    outcome = evaluate_unit(Experiment(plan, DATA), plan.units()[-1])
    n_rounds = 1 if tuning == "oracle" else 3
    assert len(asked) == n_rounds * 16 * 2 * 2  # cells, numbers, tasks
    final = 2  # the metrics of the choice, a fit a task
    assert fitted[:-final] == list(dict.fromkeys(asked))
    assert outcome.summary["n_judged"] == len(set(asked)) < len(asked) / 2


def test_all_methods_see_the_same_rows_and_labels(monkeypatch):
    seen = {}

    def seen_by(what, unit, *arrays):
        seen.setdefault((what, unit.repeat, unit.labeled_percent), []).append(digest(*arrays))

    def fits(candidates, training):
        seen_by("training", now, training.X, training.y, training.tasks)
        return original(candidates, training)

    original = Candidates.fits
    monkeypatch.setattr(Candidates, "fits", fits)

    class Watched(Judge):
        def __init__(self, training, held_out, **settings):
            seen_by("judged", now, *training, *held_out)
            super().__init__(training, held_out, **settings)

    monkeypatch.setattr(evaluate_module, "Judge", Watched)
    methods = ["all-features", "fisher-score", "fssi", "sklearn.feature_selection:f_classif"]
    plan = tiny_plan(DATA, methods=methods)
    for now in plan.units()[::-1]:
        outcome = evaluate_unit(Experiment(plan, DATA), now)
        assert not isinstance(outcome, Failure), outcome.traceback
    assert len(seen) == 2 * 4
    for (what, *_), digests in seen.items():
        n_each = 1 if what == "training" else 2  # a judge a task
        assert len(digests) == 4 * n_each
        assert len(set(digests)) == n_each
    by_draw = [digests[0] for (what, *_), digests in seen.items() if what == "training"]
    assert len(set(by_draw)) == 4


@pytest.mark.parametrize("data", [DATA, tiny_data(n_classes=3), annotated_data()])
def test_judges_decide_as_scikit_learn_does(data):
    plan = tiny_plan(data, methods=["all-features"], C=[0.3])
    sample = draw(data, plan, 0)
    training = sample.training(100)
    features = np.array([4, 1, 2])
    for task in range(training.n_tasks):
        inside, outside = training.of_task(task, np.arange(len(training.y))), sample.test(task)
        judge = Judge(inside, outside, yes_no=data.y.ndim == 2, C=0.3)
        own = np.sort(features)
        svm = LinearSVC(C=0.3, tol=1e-10, max_iter=100_000, random_state=0)
        svm.fit(inside[0][:, own], inside[1])
        expected = svm.decision_function(outside[0][:, own]).reshape(len(outside[1]), -1)
        decision = judge._decision(own)
        np.testing.assert_allclose(decision[:, -expected.shape[1] :], expected, atol=1e-3)
        predicted = svm.predict(outside[0][:, own])
        metrics = judge.metrics(features)
        assert metrics["accuracy"] == np.mean(predicted == outside[1])


def test_the_best_C_is_taken_and_is_the_same_for_every_method():
    data = tiny_data(n_samples=80)
    values = (1e-4, 1e-2, 1.0)
    chosen = {}
    for method in ("all-features", "fisher-score"):
        plan = tiny_plan(data, methods=[method], C=values, labeled_percent=[100], tuning="cv")
        chosen[method] = evaluate_unit(Experiment(plan, data), plan.units()[0]).summary["C"]
    assert chosen["all-features"] == chosen["fisher-score"]
    training = draw(data, plan, 0).training(100)
    folds = deal(training, 3, evaluate_module.child_seed(0, 0, evaluate_module.FOLDS))
    for task, C in enumerate(chosen["all-features"]):
        means = {}
        for value in values:
            scores = []
            for rows in folds:
                X, y = training.of_task(task, np.setdiff1d(np.arange(len(training.y)), rows))
                Z, z = training.of_task(task, rows)
                svm = LinearSVC(C=value, random_state=0, max_iter=10_000).fit(X, y)
                decision = svm.decision_function(Z)
                scores.append(
                    [
                        average_precision_score(z == 0, -decision),
                        average_precision_score(z == 1, decision),
                    ]
                )
            means[value] = np.mean(scores)
        assert means[C] == pytest.approx(max(means.values()))


def test_units_are_named_by_what_they_do():
    assert str(Unit(1, 5.0, "sfmc")) == "sfmc, 5% labelled, repeat 2"


@pytest.mark.parametrize(
    "method",
    [
        "sklearn.ensemble:ExtraTreesClassifier(n_estimators=3)",
        "sklearn.feature_selection:SelectKBest(score_func=mutual_info_classif)",
        "sklearn.feature_selection:mutual_info_classif(n_neighbors=2)",
    ],
)
def test_methods_that_draw_at_random_follow_the_seed_of_the_plan(method):
    plan = tiny_plan(DATA, methods=[method], seed=1)
    training = draw(DATA, plan, 0).training(100)
    first, again = (Candidates(plan, method).fit(training, {}).task_scores_ for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_a_seed_of_ones_own_is_kept():
    method = "sklearn.ensemble:ExtraTreesClassifier(random_state=7)"
    assert seeded(make_method(method), 1).estimator.random_state == 7
