"""Running, stopping, continuing: what is run is counted by an estimator that leaves a trace."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from experiments import annotated_data, assert_same_results, tiny_data, tiny_plan

from cosift.datasets import LeakageWarning
from cosift.experiment import PlanChangedError, Progress, Results, run
from cosift.experiment.draw import HIDDEN, draw
from cosift.experiment.evaluate import Experiment, Failure, evaluate_unit
from cosift.experiment.metrics import stability
from cosift.graph import local_graph
from cosift.selectors import _convex

DATA = tiny_data()
HERE = Path(__file__).parent


def executed(plan, directory, **options):
    """Units that a run executed, in order."""
    seen = []
    run(plan, DATA, directory, progress=lambda state: seen.append(state.last), **options)
    return seen[1:]


def test_everything_runs_once(tmp_path):
    plan = tiny_plan(DATA)
    assert executed(plan, tmp_path) == plan.units()
    assert executed(plan, tmp_path) == []


def test_another_order_is_the_same_plan(tmp_path):
    plan = tiny_plan(DATA)
    run(plan, DATA, tmp_path)
    turned = replace(plan, methods=plan.methods[::-1], labeled_percent=(100.0, 20.0))
    assert executed(turned, tmp_path) == []


def test_another_plan_is_refused_and_nothing_is_lost(tmp_path):
    plan = tiny_plan(DATA)
    run(plan, DATA, tmp_path)
    before = Results(tmp_path)
    with pytest.raises(PlanChangedError, match="set aside, not lost") as caught:
        run(replace(plan, repeats=3), DATA, tmp_path)
    assert caught.value.difference == ["repeats: 3 instead of 2"]
    assert_same_results(Results(tmp_path), before)
    assert executed(plan, tmp_path) == []


def test_starting_anew_sets_the_old_results_aside(tmp_path):
    plan = tiny_plan(DATA)
    run(plan, DATA, tmp_path)
    fewer = replace(plan, repeats=1)
    assert executed(fewer, tmp_path, anew=True) == fewer.units()
    for number in (1, 2):
        assert (tmp_path / f"run.sqlite.{number}").exists() == (number == 1)
    (tmp_path / "run.sqlite.1").rename(tmp_path / "run.sqlite")
    assert executed(plan, tmp_path) == []


def test_interrupted_runs_continue(tmp_path):
    plan = tiny_plan(DATA)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run(plan, DATA, tmp_path, progress=interrupt_after(3))
    assert executed(plan, tmp_path) == plan.units()[9:]
    run(plan, DATA, tmp_path / "at once")
    assert_same_results(Results(tmp_path), Results(tmp_path / "at once"))


def interrupt_after(n_units):
    def progress(state):
        if state.executed == n_units:
            raise KeyboardInterrupt

    return progress


def test_progress_counts(tmp_path):
    plan = tiny_plan(DATA, repeats=1)
    states: list[Progress] = []
    end = run(plan, DATA, tmp_path, progress=states.append)
    assert [state.executed for state in states] == list(range(7))
    assert [state.done for state in states] == list(range(7))
    assert states[0].seconds_left is None
    assert states[3].seconds_left > 0
    assert end == states[-1]
    assert end.seconds_left == 0


def test_all_methods_work_on_the_same_draw():
    """Every unit sees the same rows and labels, whoever asks and in whatever order."""
    plan = tiny_plan(DATA)
    first, again = draw(DATA, plan, 0), draw(DATA, plan, 0)
    other = draw(DATA, plan, 1)
    np.testing.assert_array_equal(first.split.train, again.split.train)
    assert not np.array_equal(first.split.train, other.split.train)
    few, all_of_them = (first.training(percent).y for percent in (20.0, 100.0))
    assert (few == HIDDEN).any()
    assert (all_of_them != HIDDEN).all()
    np.testing.assert_array_equal(few[few != HIDDEN], all_of_them[few != HIDDEN])


def test_recorded_draws_are_paired(tmp_path):
    plan = tiny_plan(DATA)
    run(plan, DATA, tmp_path)
    choices = Results(tmp_path).choices
    for column in ("n_train", "n_labeled", "n_test"):
        by_draw = choices.group_by("repeat", "labeled_percent")
        assert by_draw.agg(choices[column].implode().list.n_unique()).height == 4


def test_units_do_not_depend_on_each_other():
    """Nor on the graphs, which those of one draw share."""
    plan = tiny_plan(DATA, methods=["fssi", "sfss", "lsdf"])
    together, apart = Experiment(plan, DATA), {}
    for unit in plan.units():
        apart[unit] = evaluate_unit(Experiment(plan, DATA), unit)
    for unit in reversed(plan.units()):
        one, other = evaluate_unit(together, unit), apart[unit]
        assert not isinstance(one, Failure), one.traceback
        assert one.metrics == other.metrics
        for name in ("scores", "selected", "task_scores", "gaps"):
            np.testing.assert_array_equal(one.arrays[name], other.arrays[name])


@pytest.mark.parametrize("tuning", ["oracle", "cv"])
def test_a_graph_is_computed_once_a_split(tuning, tmp_path, monkeypatch):
    graphs = []

    def counted(X, *arguments):
        graphs.append(arguments)
        return local_graph(X, *arguments)

    monkeypatch.setattr(_convex, "local_graph", counted)
    methods = ["sfss", "sfmc(gamma=1)", "sfss(n_neighbors=5)"]
    plan = tiny_plan(DATA, methods=methods, weights=[0.1, 1], tuning=tuning)
    run(plan, DATA, tmp_path)
    n_splits, n_tasks = 2, 2
    assert sorted(graphs) == sorted([(15, 1.0), (5, 1.0)] * n_splits * n_tasks)
    shared = Results(tmp_path).choices["seconds_shared"].to_list()
    if tuning == "oracle":  # with folds every unit shares with itself
        assert [seconds > 0 for seconds in shared] == ([False, True, False] + [True] * 3) * n_splits


def test_annotations_and_sparse_samples(tmp_path):
    data = annotated_data()
    plan = tiny_plan(data, methods=["l21-least-squares", "lsdf"])
    assert run(plan, data, tmp_path / "dense").failed == 0
    results = Results(tmp_path / "dense")
    assert results.metrics["task"].unique().sort().to_list() == ["blue", "green", "red"]
    assert results.means.filter(metric="map")["value"].min() > 0.3

    sparse = replace(data, X=sp.csr_array(data.X))
    plan = tiny_plan(sparse, methods=["l21-least-squares", "lsdf"])
    assert run(plan, sparse, tmp_path / "sparse").failed == 0


def test_results_are_consistent(tmp_path):
    plan = tiny_plan(DATA, methods=["fssi", "sfmc", "fisher-score"], repeats=1)
    run(plan, DATA, tmp_path)
    results = Results(tmp_path)
    assert results.complete
    assert results.about["tasks"] == ["0", "1"]
    cells = results.cells("sfmc")
    assert cells.height == 2 * 2**3 * 2 * 2  # shares, cells, numbers, tasks
    assert results.cells("fisher-score")["alpha"].is_null().all()
    # The oracle's score is the best mean over tasks, and what the metrics say of the choice.
    keys = ["labeled_percent", "alpha", "beta", "gamma", "n_features"]
    best = cells.group_by(keys).agg(pl.col("score").mean())
    chosen = results.choices.filter(method="sfmc")
    for percent, score in chosen.select("labeled_percent", "tuning_score").iter_rows():
        top = best.filter(labeled_percent=percent)["score"].max()
        assert score == pytest.approx(top, abs=1e-6)
        means = results.means.filter(labeled_percent=percent, method="sfmc", metric="map")
        assert means["value"].item() == pytest.approx(score)
    selected = results.selected("sfmc").filter(labeled_percent=20, task="0")
    assert selected["rank"].to_list() == list(range(1, len(selected) + 1))
    assert selected["score"].is_sorted(descending=True)
    assert results.history("fssi").columns[-1] == "dual_bound"
    assert results.history("fisher-score").is_empty()
    assert results.choices["converged"].to_list()[:3] == [True, True, None]
    with pytest.raises(ValueError, match="'fssi', 'sfmc', 'fisher-score'"):
        results.cells("spec")


def test_stability_is_that_of_the_selected_features(tmp_path):
    plan = tiny_plan(DATA, methods=["all-features", "fisher-score"], labeled_percent=[100])
    run(plan, DATA, tmp_path)
    results = Results(tmp_path)
    every, chosen = results.stability().partition_by("method", maintain_order=True)
    assert every["stability"].is_null().all()
    for task, value in chosen.select("task", "stability").iter_rows():
        own = results.selected("fisher-score").filter(task=task)
        held = np.zeros((2, 10), dtype=bool)
        held[own["repeat"], own["feature"]] = True
        assert value == stability(held).value


def test_leaks_are_told_once(tmp_path):
    data = tiny_data(groups=np.repeat(np.arange(12), 5))
    plan = tiny_plan(data, split="rows", methods=["all-features"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(plan, data, tmp_path)
    assert [warning.category for warning in caught] == [LeakageWarning]


def test_environment_is_kept(tmp_path):
    run(tiny_plan(DATA, repeats=1), DATA, tmp_path)
    (session,) = Results(tmp_path).sessions
    assert session["versions"]["numpy"] == np.__version__
    assert (session["backend"], session["workers"], session["threads"]) == ("Serial", 1, 1)


def test_keeps_what_a_reader_of_the_data_must_know(tmp_path):
    data = tiny_data(groups=np.arange(30 * 2) // 4)
    plan = tiny_plan(data, ["fisher-score"], split="rows")
    with pytest.warns(LeakageWarning) as caught:
        run(plan, data, tmp_path, origin={"command": "cosift compare x.csv"})
    results = Results(tmp_path)
    assert results.about["leaks"] == [str(caught[0].message)]
    for task, name in enumerate(results.about["tasks"]):
        labels, counts = np.unique(data.y[data.tasks == task], return_counts=True)
        expected = dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True))
        assert results.about["classes"][name] == expected
    assert results.sessions[0]["command"] == "cosift compare x.csv"
