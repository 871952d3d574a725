"""Runs that are killed or interrupted from outside, as a user or the system would do it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from experiments import assert_same_results, tiny_data, tiny_plan
from fickle import fickle, traces

from cosift.experiment import LockedError, Results, run

HERE = Path(__file__).parent
RUN = """
import sys
from experiments import tiny_data, tiny_plan
from cosift.experiment import Processes, Serial, run

if __name__ == "__main__":
    directory, backend, *methods = sys.argv[1:]
    backend = {"serial": Serial(), "processes": Processes(1)}[backend]
    run(tiny_plan(tiny_data(), methods), tiny_data(), directory, backend=backend)
"""


def started(script, *arguments):
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, script, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(process):
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    return "State:\tZ" not in status


@pytest.mark.parametrize(
    ("backend", "how"),
    [
        ("serial", signal.SIGKILL),
        ("processes", signal.SIGKILL),
        ("processes", signal.SIGINT),
    ],
)
def test_a_run_that_is_stopped_loses_the_unit_in_flight_alone(backend, how, tmp_path):
    trace, gate = tmp_path / "trace", tmp_path / "gate"
    script = tmp_path / "script.py"
    script.write_text(RUN)
    data = tiny_data()
    plan = tiny_plan(data, methods=["all-features", "fssi", fickle(trace, gate=gate)])
    other = started(script, tmp_path, backend, *plan.methods)
    try:
        wait_until(lambda: traces(trace) or other.poll() is not None)
        assert other.poll() is None, other.stderr.read()
        # While it runs nobody else may, and anybody may look.
        with pytest.raises(LockedError, match=f"process {other.pid}"):
            run(plan, data, tmp_path)
        assert len(Results(tmp_path).choices) == 2
        other.send_signal(how)
        _, errors = other.communicate(timeout=60)
    finally:
        other.kill()
    assert other.returncode != 0
    if how == signal.SIGINT:
        assert errors.strip().endswith("KeyboardInterrupt")
        assert errors.count("Traceback") == 1
    (in_flight,) = traces(trace)
    wait_until(lambda: not alive(in_flight[0]))

    gate.touch()
    state = run(plan, data, tmp_path)
    assert (state.done, state.executed) == (12, 10)
    assert len(traces(trace)) == 1 + 2 * 4  # a fit for each of two tasks
    run(plan, data, tmp_path / "at once")
    assert_same_results(Results(tmp_path), Results(tmp_path / "at once"))


ADD = """
import os, random, signal, sys, time
from experiments import tiny_data, tiny_plan
from cosift.experiment.evaluate import Failure
from cosift.experiment.store import Store

random.seed(0)
plan, directory = tiny_plan(tiny_data()), sys.argv[1]
unit, told = plan.units()[0], 0
for n_kills in range(20):
    inlet, outlet = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(inlet)
        store = Store.open(directory, plan, {})
        store.begin({})
        while True:
            store.add(Failure(unit, "x" * random.randrange(10_000), ""))
            os.write(outlet, b".")
    os.close(outlet)
    os.read(inlet, 1)
    told += 1
    time.sleep(random.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(inlet, 100_000):
        told += len(more)
    os.close(inlet)
    with Store.read(directory) as store:
        kept = sum(1 for _ in store._attempts("status = 'failed'"))
    # What was told is kept; of what was not told, at most the one that was being added.
    assert told <= kept <= told + n_kills + 1, (told, kept)
print("whole")
"""


def test_a_store_is_whole_whenever_its_writer_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(ADD)
    output, errors = started(script, tmp_path / "run").communicate(timeout=120)
    assert output == "whole\n", errors
