"""One suite for every place to run: here, processes, and workers of a Dask cluster."""

import os
from dataclasses import replace

import pytest
from dask.distributed import LocalCluster
from experiments import assert_same_results, tiny_data, tiny_plan
from fickle import Luggage, carry, die, fickle, traces

from cosift.experiment import Dask, Processes, Results, Serial, backends, run
from cosift.experiment.backends import LIVES, Death

DATA = tiny_data()
# A fit for each of two tasks.
FITS = 2


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture(params=["serial", "processes", "dask"])
def backend(request):
    if request.param == "dask":
        return Dask(request.getfixturevalue("cluster").scheduler_address)
    return {"serial": Serial(), "processes": Processes(2)}[request.param]


def test_every_unit_runs_once_with_the_same_results_anywhere(backend, tmp_path):
    trace, sick_trace, cure = tmp_path / "trace", tmp_path / "sick", tmp_path / "cure"
    methods = ["fssi", fickle(trace), fickle(sick_trace, cure=cure)]
    plan = tiny_plan(DATA, methods=methods)
    states = []
    run(plan, DATA, tmp_path, backend=backend, threads=3, progress=states.append)
    assert [state.executed for state in states] == list(range(13))
    assert (states[-1].total, states[-1].done, states[-1].failed) == (12, 8, 4)
    assert Results(tmp_path).failures["message"].to_list() == ["RuntimeError: not today"] * 4

    turned = replace(plan, methods=plan.methods[::-1], labeled_percent=plan.labeled_percent[::-1])
    for same in (plan, turned):
        run(same, DATA, tmp_path, backend=backend)
    assert [threads for _, threads in traces(trace)] == [3] * FITS * 4
    assert len(traces(sick_trace)) == 4

    # What failed runs again on request, and what began at one place goes on at another.
    cure.touch()
    state = run(plan, DATA, tmp_path, threads=3, retry_failed=True)
    assert (state.done, state.failed, state.executed) == (12, 0, 4)
    assert len(traces(trace)) == FITS * 4
    first, second = Results(tmp_path).sessions
    assert (first["backend"], first["threads"]) == (type(backend).__name__, 3)
    assert first["workers"] == (1 if isinstance(backend, Serial) else 2)
    assert second["backend"] == "Serial"

    run(plan, DATA, tmp_path / "here", threads=3)
    assert_same_results(Results(tmp_path), Results(tmp_path / "here"))


@pytest.mark.parametrize("backend", ["processes", "dask"], indirect=True)
def test_a_worker_that_is_killed_costs_its_unit_alone(backend, tmp_path):
    """The estimator kills its process (``kill -9``) at the first fit of all."""
    trace = tmp_path / "trace"
    plan = tiny_plan(DATA, methods=["all-features", fickle(trace, deaths=1)])
    state = run(plan, DATA, tmp_path, backend=backend)
    assert (state.done, state.failed) == (8, 0)
    assert len(traces(trace)) == 1 + FITS * 4
    assert traces(trace)[0][0] not in {process for process, _ in traces(trace)[1:]}

    run(plan, DATA, tmp_path / "here")  # where nobody is killed any more
    assert_same_results(Results(tmp_path), Results(tmp_path / "here"))


def test_a_unit_that_kills_every_worker_fails_and_the_others_do_not(tmp_path):
    trace = tmp_path / "trace"
    methods = ["all-features", fickle(trace, deaths=1000)]
    plan = tiny_plan(DATA, methods=methods, repeats=1, labeled_percent=[100])
    state = run(plan, DATA, tmp_path, backend=Processes(1))
    assert (state.done, state.failed) == (1, 1)
    assert len(traces(trace)) == LIVES
    (message,) = Results(tmp_path).failures["message"]
    assert "worker that ran it ended" in message


def test_data_travel_once(backend, tmp_path):
    trace = tmp_path / "trace"
    results = list(backend.map(carry, Luggage(trace), range(20)))
    assert sorted(item for item, _ in results) == list(range(20))
    # For two workers, not for 20 items. One worker of Dask passes it on to the other, which may ask
    # for it twice.
    at_most = {"Serial": 0, "Processes": 2, "Dask": 4}[type(backend).__name__]
    assert len(traces(trace)) <= at_most
    assert (os.getpid() in {process for _, process in results}) == (at_most == 0)


def test_dask_starts_a_cluster_of_its_own_and_gives_up_a_deadly_unit(monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    assert list(Dask(workers=1).map(die, None, ["unit"])) == [Death("unit")]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://"])
def test_where_no_scheduler_answers(address, monkeypatch):
    monkeypatch.setattr(backends, "PATIENCE", 0.2)
    with pytest.raises(ConnectionError, match="No Dask scheduler answers at '"):
        list(Dask(address).map(die, None, ["unit"]))
