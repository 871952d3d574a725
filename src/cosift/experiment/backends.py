"""Where units run: here, in processes of this machine, or on a Dask cluster.

A backend is anything with ``workers`` and ``map(function, shared, items)``, which yields
``function(shared, item)`` for every item, in the order in which they end.  ``shared`` travels to
every worker once.  ``function`` does not raise; if a worker dies, its item alone runs again
elsewhere, and after some deaths the backend yields a `Death` for it.

What a unit computes does not depend on the backend: it limits its own threads, and sees nothing of
other units.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

__all__ = ["Backend", "Dask", "Death", "Processes", "Serial"]

# Workers that one item may cost; Dask has a setting of its own.
LIVES = 3
# Seconds that a Dask scheduler has to answer.
PATIENCE = 20

Function = Callable[[Any, Any], Any]
Results = Generator[Any, None, None]


class Death(NamedTuple):
    """An item that ended its workers."""

    item: Any

    def __str__(self) -> str:
        return (
            "The worker that ran it ended, and so did those that tried again: killed, out of "
            "memory, or crashed."
        )


class Backend(Protocol):
    """Something that runs a function on many items."""

    @property
    def workers(self) -> int:
        """Items that run at a time."""

    def map(self, function: Function, shared: Any, items: Iterable[Any]) -> Results:
        """Results in the order in which they end."""


class Serial:
    """One item after the other, in this process."""

    workers = 1

    def map(self, function: Function, shared: Any, items: Iterable[Any]) -> Results:
        """Results in the order of the items."""
        for item in items:
            yield function(shared, item)


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, each with its own copy of the data.

    They start afresh (``spawn``), so a script that uses them needs the usual
    ``if __name__ == "__main__":``.  They end with the process that started them, however it ends.

    Parameters
    ----------
    workers : int
        Number of processes.
    """

    workers: int

    def map(self, function: Function, shared: Any, items: Iterable[Any]) -> Results:
        """Results in the order in which they end; closing the iterator ends the processes."""
        waiting = deque(items)
        deaths: Counter[Any] = Counter()
        team = {_Worker(function, shared) for _ in range(min(self.workers, len(waiting)))}
        try:
            for worker in team:
                worker.give(waiting.popleft())
            while busy := {worker.connection: worker for worker in team if worker.busy}:
                for ready in wait(list(busy)):
                    worker = busy[ready]  # type: ignore[index]
                    try:
                        message = worker.receive()
                    except (EOFError, OSError):
                        team.remove(worker)
                        worker.end()
                        deaths[worker.item] += 1
                        if deaths[worker.item] < LIVES:
                            waiting.appendleft(worker.item)
                        else:
                            yield Death(worker.item)
                        if waiting:
                            team.add(worker := _Worker(function, shared))
                    else:
                        if message is None:  # it has only begun
                            continue
                        yield message
                    if waiting:
                        worker.give(waiting.popleft())
        finally:
            for worker in team:
                worker.end()


class _Worker:
    """A process that is given one item at a time."""

    def __init__(self, function: Function, shared: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, there = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(there, function, shared), daemon=True, name="cosift worker"
        )
        self._process.start()
        there.close()  # so that the end of the process is the end of the file
        self._began = False
        self.item: Any = None
        self.busy = False

    def give(self, item: Any) -> None:
        self.item, self.busy = item, True
        # If the process is gone, `receive` will tell.
        with suppress(BrokenPipeError):
            self.connection.send(item)

    def receive(self) -> Any:
        """None when the process has begun, then one result for every item."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError) as error:
            if self._began:
                raise
            raise RuntimeError(
                "A worker process ended before it began. A script that uses processes must keep "
                "what it does under `if __name__ == '__main__':`, and memory must hold one more "
                "copy of the data for every worker."
            ) from error
        self._began = True
        self.busy = message is None
        return message

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(connection: Connection[Any, Any], function: Function, shared: Any) -> None:
    """What a worker does: items until there are no more."""
    # Ctrl-C reaches all processes of a terminal; the one that started the run deals with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    connection.send(None)
    while True:
        connection.send(function(shared, connection.recv()))


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


class Dask:
    """The workers of a Dask cluster, which must have the same cosift installed.

    Parameters
    ----------
    address : str, optional
        Of the cluster's scheduler, such as "tcp://host:8786"; by default a cluster is started on
        this machine, and ended with the run.
    workers : int, default=1
        Processes of the cluster that is started.
    """

    def __init__(self, address: str | None = None, workers: int = 1) -> None:
        self._address, self._started = address, workers

    @cached_property
    def workers(self) -> int:
        """Workers of the cluster when this was first asked."""
        if self._address is None:
            return self._started
        with self.client() as client:
            return max(1, len(client.nthreads()))

    def map(self, function: Function, shared: Any, items: Iterable[Any]) -> Results:
        """Results in the order in which they end."""
        dask = _distributed()
        waiting = deque(items)
        running: dict[Any, Any] = {}
        deaths: Counter[Any] = Counter()
        with self.client() as client:
            finished = dask.as_completed(loop=client.loop)
            data = None
            while waiting or running:
                client.wait_for_workers(1)
                if data is None or data.status != "finished":
                    (data,) = client.scatter([shared], broadcast=True, hash=False)
                # No more than can run, so that a death is nobody else's.
                for _ in range(min(len(waiting), len(client.nthreads()) - len(running))):
                    future = client.submit(function, data, waiting[0], pure=False)
                    running[future] = waiting.popleft()
                    finished.add(future)
                if not running:  # the only worker has just gone
                    continue
                future = next(finished)
                item = running.pop(future)
                if future.status == "finished":
                    yield future.result()
                elif future.status == "error" and not isinstance(
                    future.exception(), dask.KilledWorker
                ):
                    raise future.exception()
                else:
                    # Killed too often for Dask, or the data went with the last worker that had it.
                    deaths[item] += LIVES if future.status == "error" else 1
                    if deaths[item] < LIVES:
                        waiting.appendleft(item)
                    else:
                        yield Death(item)
                future.release()

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A client of the cluster, not the default one."""
        dask = _distributed()
        with ExitStack() as stack:
            place: Any = self._address or stack.enter_context(
                dask.LocalCluster(
                    n_workers=self._started, threads_per_worker=1, dashboard_address=":0"
                )
            )
            try:
                client = dask.Client(place, set_as_default=False, timeout=PATIENCE)
            except (OSError, ValueError) as error:
                raise ConnectionError(
                    f"No Dask scheduler answers at {self._address!r} ({error})."
                ) from error
            yield stack.enter_context(client)


def _distributed() -> Any:
    try:
        return import_module("dask.distributed")
    except ImportError as error:
        raise ImportError("Running on Dask needs the extra: pip install cosift[dask]") from error
