"""Results on disk: one SQLite file a run directory, to which is only ever added.

    facts      what holds for the whole run, by key: plan, description of the data
    sessions   one row a start of the run: when, versions, machine, how it ran
    attempts   one row a unit that was run: its result, or why there is none

Every unit is committed by itself, so a run that dies loses the units in flight and no other.  The
file appears complete, with its plan, or not at all.  Triggers refuse changes and deletions.

Whoever writes holds a lock (`flock`) on a file beside it, which the system takes back however its
process ends.
"""

from __future__ import annotations

import fcntl
import io
import json
import math
import os
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cosift.experiment.evaluate import Failure, Measurement
from cosift.experiment.plan import Plan, Unit

__all__ = ["LockedError", "PlanChangedError", "RunDirectoryError", "Store"]

FILE = "run.sqlite"
LOCK = "run.lock"
# "cosi" in ASCII, and the version of the tables.
APPLICATION = 0x636F7369
VERSION = 1

TABLES = """
CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, environment TEXT NOT NULL
);
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions,
    finished TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    labeled_percent REAL NOT NULL,
    method TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    summary TEXT NOT NULL,
    arrays BLOB
);
CREATE UNIQUE INDEX one_result ON attempts (repeat, labeled_percent, method)
    WHERE status = 'done';
"""
KEEP = """
CREATE TRIGGER {table}_keep_{verb} BEFORE {verb} ON {table}
    BEGIN SELECT RAISE(ABORT, 'results are only ever added'); END;
"""


class RunDirectoryError(RuntimeError):
    """A run directory that cannot be used as asked; nothing in it was changed."""


class LockedError(RunDirectoryError):
    """Another process is running in the directory."""


class PlanChangedError(RunDirectoryError):
    """The directory holds results of another plan.

    Attributes
    ----------
    difference : list of str
        How the plan asked for differs, a line a field.
    """

    def __init__(self, message: str, difference: list[str]) -> None:
        super().__init__(message)
        self.difference = difference


class Store:
    """The results of a run directory, see the module's text.

    Make one with `open` to write or `read` to look; close it, or use it as a context manager.

    Attributes
    ----------
    directory : Path
        The run directory.
    plan : Plan
        What the results are of.
    """

    def __init__(self, directory: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self.directory = directory
        self._connection, self._lock = connection, lock
        self._session: int | None = None
        try:
            self.plan = Plan.from_json(self.fact("plan"))
        except ValueError as error:
            connection.close()
            raise RunDirectoryError(f"{directory / FILE}: {error}") from error
        except RunDirectoryError:
            connection.close()
            raise

    @classmethod
    def open(
        cls, directory: str | Path, plan: Plan, about: dict[str, Any], *, anew: bool = False
    ) -> Self:
        """Open a run directory to add results, made if there is none.

        Parameters
        ----------
        directory : path
            The run directory.
        plan : Plan
            What will be run: it must be what the directory holds.
        about : dict
            What `Results` should know of the data, plain values.
        anew : bool, default=False
            Whether to set an existing file aside, under a name with a number, and begin again.

        Raises
        ------
        RunDirectoryError
            If the directory cannot be used; see its subclasses.
        """
        directory = Path(directory)
        lock = _lock(directory)
        try:
            path = directory / FILE
            if path.is_symlink():
                raise RunDirectoryError(
                    f"{path} is a symbolic link, which no lock of this directory protects. Use "
                    "the directory that it leads to."
                )
            if anew:
                _set_aside(path)
            if not path.exists():
                _create(path, plan, about)
            store = cls(directory, _connect(path, write=True), lock)
        except BaseException:
            os.close(lock)
            raise
        try:
            store._refuse_changes(plan)
        except RunDirectoryError:
            store.close()
            raise
        return store

    @classmethod
    def read(cls, directory: str | Path) -> Self:
        """Open a run directory to look at it, also while it is written or cannot be."""
        directory = Path(directory)
        path = directory / FILE
        with _explained(path):
            found = path.exists()
        if not found:
            raise RunDirectoryError(f"{directory} holds no results: there is no {FILE} in it.")
        return cls(directory, _connect(path, write=False), None)

    def begin(self, environment: dict[str, Any]) -> None:
        """Begin a session: what is added belongs to it."""
        with self._guarded() as connection:
            cursor = connection.execute(
                "INSERT INTO sessions (started, environment) VALUES (?, ?)",
                (_now(), json.dumps(environment)),
            )
        self._session = cursor.lastrowid

    def add(self, outcome: Measurement | Failure) -> None:
        """Add the outcome of a unit; it is safe once this returns."""
        if isinstance(outcome, Failure):
            status, arrays = "failed", None
            summary: dict[str, Any] = {"message": outcome.message, "traceback": outcome.traceback}
        else:
            status, arrays = "done", _packed(outcome.arrays)
            summary = {**outcome.summary, "metrics": outcome.metrics}
        with self._guarded() as connection:
            connection.execute(
                "INSERT INTO attempts (session, finished, repeat, labeled_percent, method, status,"
                " summary, arrays) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._session, _now(), *outcome.unit, status, _to_json(summary), arrays),
            )

    def fact(self, key: str) -> str:
        """What holds for the whole run under a key."""
        with self._guarded() as connection:
            row = connection.execute("SELECT value FROM facts WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise RunDirectoryError(f"{self.directory / FILE} lacks its {key}; it is damaged.")
        return str(row[0])

    def sessions(self) -> list[dict[str, Any]]:
        """When the run was started, and its environment each time."""
        with self._guarded() as connection:
            rows = connection.execute("SELECT id, started, environment FROM sessions ORDER BY id")
            return [{"id": i, "started": t, **json.loads(text)} for i, t, text in rows]

    def done(self) -> dict[Unit, dict[str, Any]]:
        """Summaries of the units that have a result, "metrics" and "session" among them."""
        return dict(self._attempts("status = 'done'"))

    def failures(self) -> dict[Unit, dict[str, Any]]:
        """The "message" and "traceback" of the last attempt at units without a result."""
        done = self.done()
        failed = dict(self._attempts("status = 'failed'"))
        return {unit: summary for unit, summary in failed.items() if unit not in done}

    def arrays(self, unit: Unit) -> dict[str, NDArray[Any]]:
        """Arrays of a unit that has a result, see `Measurement`."""
        with self._guarded() as connection:
            row = connection.execute(
                "SELECT arrays FROM attempts WHERE status = 'done' AND repeat = ? "
                "AND labeled_percent = ? AND method = ?",
                unit,
            ).fetchone()
        if row is None:
            raise KeyError(unit)
        with np.load(io.BytesIO(row[0]), allow_pickle=False) as stored:
            return dict(stored)

    def close(self) -> None:
        """Give back file and lock."""
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _attempts(self, where: str) -> Iterator[tuple[Unit, dict[str, Any]]]:
        with self._guarded() as connection:
            rows = connection.execute(
                "SELECT repeat, labeled_percent, method, session, finished, summary FROM attempts "
                f"WHERE {where} ORDER BY id"
            ).fetchall()
        for *unit, session, finished, text in rows:
            yield Unit(*unit), {**json.loads(text), "session": session, "finished": finished}

    def _refuse_changes(self, plan: Plan) -> None:
        difference = self.plan.difference(plan)
        ours, theirs = version("cosift"), self.fact("cosift")
        if ours != theirs:
            difference.append(f"version of cosift: {ours!r} instead of {theirs!r}")
        if difference:
            raise PlanChangedError(
                "\n".join(
                    [
                        f"{self.directory} holds results of another plan. The one asked for "
                        "differs:",
                        *(f"  - {line}" for line in difference),
                        "Choose another directory, go back to that plan, or start anew: the "
                        "results are then set aside, not lost.",
                    ]
                ),
                difference,
            )

    @contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection]:
        with _explained(self.directory / FILE):
            yield self._connection


def _connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Connect to a file that is one of ours, and whole."""
    with _explained(path):
        connection = _reader(path) if not write else sqlite3.connect(path, isolation_level=None)
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION:
                raise RunDirectoryError(
                    f"{path} is an SQLite file, but holds no results of cosift. Choose another "
                    "directory, or move the file away."
                )
            if version != VERSION:
                raise RunDirectoryError(
                    f"{path} was written by another version of cosift: its tables have version "
                    f"{version}, and this one knows {VERSION}. Use that version, or choose "
                    "another directory."
                )
            (health,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if health != "ok":
                raise sqlite3.DatabaseError(health)
            if write:
                # Raises at once where the file, or a log beside it, cannot be written.
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
    return connection


def _reader(path: Path) -> sqlite3.Connection:
    # A write-ahead log needs a writable directory even to read, unless nobody writes.
    writable = all(os.access(p, os.W_OK, effective_ids=True) for p in (path.parent, path))
    log = path.with_name(FILE + "-wal")
    quiet = not log.exists() or log.stat().st_size == 0
    mode = "immutable=1" if quiet and not writable else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None)


def _create(path: Path, plan: Plan, about: dict[str, Any]) -> None:
    """Make the file elsewhere and move it into place, so that it is never there in part."""
    unfinished = path.with_name(FILE + ".new")
    with _explained(path):
        for suffix in ("", "-wal", "-shm", "-journal"):
            unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)
        connection = sqlite3.connect(unfinished, isolation_level=None)
        connection.executescript(TABLES)
        for table in ("facts", "sessions", "attempts"):
            for verb in ("UPDATE", "DELETE"):
                connection.executescript(KEEP.format(table=table, verb=verb))
        facts = {
            "plan": plan.to_json(),
            "cosift": version("cosift"),
            "about": json.dumps(about),
            "created": _now(),
        }
        connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        unfinished.rename(path)


def _set_aside(path: Path) -> None:
    if not path.exists():
        return
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        # Into one file, which moves at once; a damaged one moves as it is.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    number = 1
    while path.with_name(f"{FILE}.{number}").exists():
        number += 1
    with _explained(path):
        for suffix in ("-wal", "-shm", ""):
            part = path.with_name(FILE + suffix)
            if part.exists():
                part.rename(path.with_name(f"{FILE}.{number}{suffix}"))


def _lock(directory: Path) -> int:
    """Take the lock of a directory; the number of the open file that holds it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise RunDirectoryError(
            f"{directory} cannot be written to ({error.strerror}). Choose another directory, or "
            "mend its permissions."
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(file, 200, 0).decode(errors="replace").strip() or "unknown"
        os.close(file)
        raise LockedError(
            f"{directory} is in use by another run ({holder}). Wait for it, stop it, or choose "
            "another directory."
        ) from error
    os.ftruncate(file, 0)
    os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}, since {_now()}".encode(), 0)
    return file


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Errors of SQLite and of the file system as ours."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except (sqlite3.Error, OSError) as error:
        raise RunDirectoryError(
            f"{path} cannot be used ({error}). Nothing in it was changed. If it is damaged, "
            "restore it from a copy; to begin again without it, choose another directory or "
            "start anew, which sets it aside."
        ) from error


def _packed(arrays: dict[str, NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _to_json(value: Any) -> str:
    """JSON as others read it, which has null for NaN."""
    return json.dumps(_without_nan(value), allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
