"""``cosift compare``: plans as asked for, runs that stop and go on, codes and words at the end."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import polars as pl
import pytest
from commands import command, cosift, here, refusal
from experiments import tiny_data
from fickle import fickle, traces
from sklearn.datasets import dump_svmlight_file

from cosift.cli._run import _backend
from cosift.datasets import read_table
from cosift.experiment import Dask, Plan, Processes, Results, Serial

MADE = tiny_data()
SMALL = [
    "--labeled",
    "20,100",
    "--repeats",
    2,
    "--n-features",
    "2,5",
    "--workers",
    1,
    "--no-report",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    frame = pl.DataFrame(MADE.X, schema=[f"f{j}" for j in range(10)])
    frame.with_columns(who=MADE.tasks, kind=MADE.y).write_csv(path)
    return path


@pytest.fixture(scope="module")
def compare(table):
    """Arguments of a small comparison into a directory."""

    def arguments(directory, methods="all-features,fisher-score", *more):
        roles = ["--target", "kind", "--task", "who"]
        return ["compare", table, *roles, "--methods", methods, *SMALL, *more, "--out", directory]

    return arguments


def test_runs_the_plan_asked_for(compare, table, tmp_path):
    options = ["--weights", "0.1,10", "--tuning", "oracle", "--split", "rows", "--n-train", 40]
    options += ["--folds", 2, "--svm-c", "0.5,1", "--n-neighbors", 5, "--seed", 3]
    methods = "sfss(alpha=0.1), spec(function='phi3', n_neighbors=4)"
    done = cosift(*compare(tmp_path, methods, *options, "--scaling", "none", "--json"))
    plan = Plan.of(
        read_table(table, target="kind", task="who"),
        ["sfss(alpha=0.1)", "spec(function='phi3', n_neighbors=4)"],
        labeled_percent=[20, 100],
        repeats=2,
        n_features=[2, 5],
        weights=[0.1, 10],
        tuning="oracle",
        split="rows",
        n_train=40,
        folds=2,
        C=[0.5, 1],
        n_neighbors=5,
        seed=3,
        scaling="none",
    )
    results = Results(tmp_path)
    assert results.plan == plan
    found = json.loads(done.stdout)
    assert found["complete"] is True
    assert found["failures"] == []
    assert "upper" in found["summary"] or "test rows" in found["summary"]
    (mean,) = (
        row["mean"]
        for row in found["results"]
        if row["method"].startswith("spec") and row["labeled_percent"] == 20 and not row["task"]
    )
    own = results.means.filter(labeled_percent=20, metric="map").filter(
        pl.col("method").str.starts_with("spec")
    )
    assert mean == pytest.approx(own["value"].mean())
    assert len(found["choices"]) == len(plan.units())
    assert all(row["seconds_total"] > 0 for row in found["choices"])
    assert {row["metric"] for row in found["metrics"]} == {"map", "accuracy", "macro_f1", "auc"}
    assert {row["method"] for row in found["stability"]} == set(plan.methods)


@pytest.mark.parametrize("ending", ["svmlight", "arff"])
def test_sparse_files(tmp_path, ending):
    path = tmp_path / f"people.{ending}"
    if ending == "svmlight":
        dump_svmlight_file(MADE.X, MADE.y, str(path), zero_based=True)
    else:
        heads = [f"@attribute f{j} numeric" for j in range(10)] + ["@attribute kind {a,b,c,d}"]
        rows = [
            "{" + ", ".join(f"{j} {v}" for j, v in enumerate(x)) + f", 10 {'abcd'[label]}}}"
            for x, label in zip(MADE.X.tolist(), MADE.y.tolist(), strict=True)
        ]
        path.write_text("\n".join(["@relation people", *heads, "@data", *rows]))
    target = [] if ending == "svmlight" else ["--target", "kind"]
    methods = ["--methods", "fisher-score,l21-least-squares", "--weights", "1"]
    here("compare", path, *target, *methods, *SMALL, "--out", tmp_path)
    assert Results(tmp_path).complete


def test_a_changed_plan_is_refused_until_anew(compare, tmp_path):
    here(*compare(tmp_path))
    again = here(*compare(tmp_path))
    assert "8 of 8 results are there already" in again.stderr
    assert "highest mean average precision" in again.stdout
    told = refusal(*compare(tmp_path, "fisher-score"))
    assert "without 'all-features'" in told
    assert "--anew" in told
    here(*compare(tmp_path, "fisher-score", "--anew"))
    assert Results(tmp_path).plan.methods == ("fisher-score",)
    assert (tmp_path / "run.sqlite.1").exists()


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, 1), (signal.SIGKILL, 2)])
def test_continues_after_it_was_stopped(compare, tmp_path, number, workers):
    log, gate, directory = tmp_path / "log", tmp_path / "gate", tmp_path / "run"
    options = ["--workers", workers, "--tuning", "oracle"]  # the oracle fits once a unit and task
    arguments = compare(directory, f"fisher-score,{fickle(log, gate=gate)}", *options)
    line, environment = command(*arguments)
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment)
    while not (traces(log) and len(Results(directory).choices)):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    before = len(Results(directory).choices)
    assert 1 <= before < 8
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert said.splitlines()[-1] == (
            f"Interrupted. {before} of 8 results are kept in {directory}; the same command "
            "continues."
        )
    gate.touch()
    log.unlink()
    done = cosift(*arguments)
    assert f"{before} of 8 results are there already" in done.stderr
    assert Results(directory).complete
    # Each of its four units fits two tasks; none had ended.
    assert len(traces(log)) == 8


def test_failures_end_with_code_1_and_are_retried_on_request(compare, tmp_path):
    method = fickle(tmp_path / "log", cure=tmp_path / "cure")
    arguments = compare(tmp_path / "run", f"fisher-score,{method}")
    done = here(*arguments, expect=1)
    assert "RuntimeError: not today" in done.stderr
    assert "4 of 8 results are missing" in done.stderr
    (tmp_path / "cure").touch()
    again = here(*arguments, "--json", expect=1)
    assert [row["method"] for row in json.loads(again.stdout)["failures"]] == [method] * 4
    here(*arguments, "--retry-failed")


def test_rows_without_a_label_are_left_out_loudly(compare, table, tmp_path):
    frame = pl.read_csv(table)
    label = np.where(np.arange(len(frame)) % 6 == 0, -1, frame["kind"])
    frame.with_columns(kind=label).write_csv(tmp_path / "part.csv")
    arguments = compare(tmp_path / "run")
    arguments[1] = tmp_path / "part.csv"
    done = here(*arguments)
    assert "Note: 10 of 60 rows lack a label and are left out" in done.stderr
    assert "50 samples, 10 features, 2 tasks" in done.stderr
    frame.with_columns(kind=pl.lit(-1)).write_csv(tmp_path / "part.csv")
    assert "no row has every label" in refusal(*arguments)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--methods", "sfmcc"], "Did you mean 'sfmc'?"),
        (["--workers", "none"], "--workers"),
        (["--workers", 0], "--workers"),
        (["--labeled", "5,x"], "--labeled must be numbers between commas. Got '5,x'."),
        (["--labeled", "500"], "at most 100"),
        (["--n-features", "99.5"], "--n-features must be whole numbers"),
        (["--split", "official"], "needs an official split"),
        (["--n-train", 60], "n_train must be below 60"),
        (["--scheduler", "tcp://host:1"], "--workers is for this machine"),
        (["--out", "/proc/nowhere"], "cannot be written to"),
        (["--group", "nobody"], "nobody"),
    ],
)
def test_bad_usage(compare, tmp_path, options, told):
    assert told in refusal(*compare(tmp_path / "run"), *options)


def test_a_directory_in_use_is_refused(compare, tmp_path):
    import fcntl

    with (tmp_path / "run.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "is in use by another run" in refusal(*compare(tmp_path))


def test_where_units_run(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)))
    assert _backend(None, None) == (Processes(6), 1)
    assert _backend(4, None) == (Processes(4), 1)
    for arguments, wanted, threads in (
        ((2, "local"), Dask(workers=2), 3),
        ((None, "tcp://host:1"), Dask("tcp://host:1"), 1),
    ):
        backend, each = _backend(*arguments)
        assert isinstance(backend, Dask)
        assert (vars(backend), each) == (vars(wanted), threads)
    backend, threads = _backend(1, None)
    assert isinstance(backend, Serial)
    assert threads == 6
