"""Run a plan under the eyes of a user: where, how far, how to stop and go on."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from cosift.cli._common import PANEL, Output, UsageError

if TYPE_CHECKING:
    from cosift.datasets import Dataset
    from cosift.experiment import Plan, Progress, Results
    from cosift.experiment.backends import Backend

__all__ = ["Anew", "Out", "RetryFailed", "Scheduler", "Workers", "execute", "stored"]

# Seconds between lines of progress where no bar can be drawn.
PAUSE = 15.0

Out = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Where results are kept. The same command continues what it holds.",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Processes that share the work.",
        show_default="one a core",
        rich_help_panel=PANEL,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the Dask cluster with this scheduler, such as tcp://host:8786; 'local' starts "
        "one here, with so many --workers.",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Anew = Annotated[
    bool,
    typer.Option("--anew", help="Set aside what DIR holds, and begin again."),
]
RetryFailed = Annotated[
    bool,
    typer.Option("--retry-failed", help="Try again what failed before."),
]


def execute(
    out: Output,
    plan: Plan,
    data: Dataset,
    directory: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    anew: bool = False,
    retry_failed: bool = False,
    **origin: str,
) -> Results:
    """Run what of a plan has no result yet, and read all results; ``origin`` is as of `run`."""
    from cosift.experiment import PlanChangedError, Results, run

    backend, threads = _backend(workers, scheduler)
    with _followed(out, directory) as follow, stored():
        try:
            run(
                plan,
                data,
                directory,
                backend=backend,
                threads=threads,
                retry_failed=retry_failed,
                anew=anew,
                progress=follow,
                origin={"command": shlex.join(["cosift", *sys.argv[1:]]), **origin},
            )
        except PlanChangedError as error:
            raise UsageError(f"{error}\n--anew starts anew.") from error
        return Results(directory)


@contextmanager
def stored() -> Iterator[None]:
    """Refuse run directories that cannot be used."""
    from cosift.experiment import RunDirectoryError

    try:
        yield
    except RunDirectoryError as error:
        raise UsageError(str(error)) from error


def _backend(workers: int | None, scheduler: str | None) -> tuple[Backend, int]:
    """Where units run, and threads for each."""
    from cosift.experiment import Dask, Processes, Serial

    cores = len(os.sched_getaffinity(0))
    if scheduler not in (None, "local"):
        if workers is not None:
            raise UsageError("--workers is for this machine; a cluster has its own.")
        return Dask(scheduler), 1
    workers = workers or cores
    threads = max(1, cores // workers)
    if scheduler == "local":
        return Dask(workers=workers), threads
    return (Serial() if workers == 1 else Processes(workers)), threads


@contextmanager
def cluster(workers: int | None, scheduler: str) -> Iterator[None]:
    """Let Dask compute on a cluster."""
    from cosift.experiment import Dask

    backend, _ = _backend(workers, scheduler)
    assert isinstance(backend, Dask)
    with backend.client() as client, client.as_current():
        yield


class _Followed:
    """What is shown of a run, and what a user who stops it is told."""

    def __init__(self, out: Output, bar: Bar) -> None:
        self._out, self._bar = out, bar
        self._task = bar.add_task("", total=None, deadline=None, rate="")
        self._told = time.monotonic()
        self.state: Progress | None = None

    def __call__(self, state: Progress) -> None:
        """Take note of the end of a unit."""
        begins = self.state is None
        self.state = state
        over = state.done + state.failed
        if begins and over:
            self._out.note(f"{over} of {state.total} results are there already.")
        if state.error:
            self._out.note(f"Failed: {state.last}: {state.error}", style="yellow")
        rate = f"{60 * state.executed / state.seconds:.3g} a minute" if state.executed else ""
        left = state.seconds_left
        deadline = None if left is None else time.monotonic() + left
        self._bar.update(
            self._task, total=state.total, completed=over, deadline=deadline, rate=rate
        )
        if not self._out.draws and time.monotonic() - self._told >= PAUSE:
            self._told = time.monotonic()
            time_left = "" if left is None else f", {_duration(left)} left"
            self._out.note(f"{over} of {state.total} results, {rate}{time_left}")


@contextmanager
def _followed(out: Output, directory: Path) -> Iterator[_Followed]:
    bar = Bar(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        _TimeLeft(),
        console=out.progress,
        transient=True,
        disable=not out.draws,
    )
    with bar:
        followed = _Followed(out, bar)
        try:
            yield followed
        except KeyboardInterrupt:
            kept = "Nothing was begun."
            if state := followed.state:
                kept = f"{state.done} of {state.total} results are kept in {directory}; "
                kept += "the same command continues."
            raise KeyboardInterrupt(f"Interrupted. {kept}") from None


class _TimeLeft(ProgressColumn):
    """Time until the estimated end."""

    def render(self, task: Task) -> Text:
        deadline = task.fields["deadline"]
        if deadline is None or task.finished:
            return Text("")
        return Text(f"{_duration(max(0.0, deadline - time.monotonic()))} left")


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
