"""Run directories that are damaged, foreign or hostile: an error, and nothing lost."""

import ctypes
import os
import shutil
import sqlite3

import pytest
from experiments import assert_same_results, tiny_data, tiny_plan

from cosift.experiment import PlanChangedError, Results, RunDirectoryError, run
from cosift.experiment import store as store_module
from cosift.experiment.evaluate import Failure
from cosift.experiment.store import Store

DATA = tiny_data()
PLAN = tiny_plan(DATA, methods=["all-features", "fisher-score"], repeats=1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("finished")
    run(PLAN, DATA, directory)
    return directory


@pytest.fixture
def directory(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def truncated_to(size):
    def truncate(path):
        os.truncate(path, size)

    return truncate


def scrambled(path):
    """Zeros where the middle was."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle - 5_000 : middle + 5_000] = bytes(10_000)
    path.write_bytes(content)


def text(path):
    path.write_text("the results of many weeks")


def executing(statement):
    def execute(path):
        connection = sqlite3.connect(path)
        connection.executescript(statement)
        connection.close()

    return execute


def a_database_of_others(path):
    path.unlink()
    executing("CREATE TABLE results (value)")(path)


def with_a_plan(text):
    return executing(
        f"DROP TRIGGER facts_keep_update; UPDATE facts SET value = '{text}' WHERE key = 'plan';"
    )


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (truncated_to(0), "no results of cosift"),
        (truncated_to(50), "no results of cosift"),
        (truncated_to(5_000), "malformed|not a database"),
        (truncated_to(20_000), "malformed"),
        (scrambled, "malformed|database"),
        (text, "not a database"),
        (a_database_of_others, "no results of cosift"),
        (executing("PRAGMA user_version = 99"), "version 99, and this one knows"),
        (executing("DROP TABLE facts"), "no such table: facts"),
        (executing("DROP TRIGGER facts_keep_delete; DELETE FROM facts"), "lacks its plan"),
        (with_a_plan('{"colour": "red"}'), "another version of cosift: fields"),
        (with_a_plan("null"), "another version of cosift"),
        (with_a_plan("{"), "run.sqlite"),
    ],
)
def test_what_is_not_a_whole_store_is_refused_and_kept(directory, spoil, reason):
    path = directory / "run.sqlite"
    spoil(path)
    before = path.read_bytes()
    for use in (lambda: run(PLAN, DATA, directory), lambda: Results(directory)):
        with pytest.raises(RunDirectoryError, match=reason) as caught:
            use()
        assert str(path) in str(caught.value)
        assert path.read_bytes() == before
    # Beginning anew works beside it.
    assert run(PLAN, DATA, directory, anew=True).executed == 4
    assert (directory / "run.sqlite.1").read_bytes() == before


@pytest.mark.parametrize("name", ["run.sqlite", "run.lock"])
@pytest.mark.parametrize("there", [False, True])
def test_links_are_not_followed(directory, tmp_path, name, there):
    precious = tmp_path / "precious"
    if there:
        precious.write_text("data")
    (directory / name).unlink()
    (directory / name).symlink_to(precious)
    with pytest.raises(RunDirectoryError):
        run(PLAN, DATA, directory)
    assert precious.exists() == there
    assert not there or precious.read_text() == "data"
    assert (directory / name).is_symlink()


@pytest.mark.parametrize("name", ["run.sqlite", "run.lock"])
def test_a_directory_in_the_place_of_a_file(directory, name):
    (directory / name).unlink()
    (directory / name).mkdir()
    with pytest.raises(RunDirectoryError, match=name if name == "run.sqlite" else "written"):
        run(PLAN, DATA, directory)
    assert (directory / name).is_dir()


def test_a_file_in_the_place_of_the_directory(tmp_path):
    (tmp_path / "run").write_text("precious")
    with pytest.raises(RunDirectoryError, match="cannot be written to"):
        run(PLAN, DATA, tmp_path / "run")
    assert (tmp_path / "run").read_text() == "precious"


def test_no_results(tmp_path):
    with pytest.raises(RunDirectoryError, match="holds no results"):
        Results(tmp_path)


@pytest.fixture
def obeying_permissions():
    """Root obeys permissions too once it has put down the right to override them."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this thread
    rights = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; low words, then high
    assert libc.capget(header, rights) == 0
    before = rights[0]
    rights[0] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert libc.capset(header, rights) == 0
    try:
        yield
    finally:
        rights[0] = before
        assert libc.capset(header, rights) == 0


@pytest.fixture
def permissions(directory):
    yield directory.chmod
    directory.chmod(0o755)


@pytest.mark.usefixtures("obeying_permissions")
def test_a_directory_that_may_only_be_read(directory, permissions, finished):
    permissions(0o555)
    (directory / "run.lock").chmod(0o444)
    with pytest.raises(RunDirectoryError, match="Permission denied"):
        run(PLAN, DATA, directory)
    assert_same_results(Results(directory), Results(finished))


@pytest.mark.usefixtures("obeying_permissions")
def test_a_directory_that_may_not_be_read(directory, permissions):
    permissions(0o000)
    for use in (lambda: run(PLAN, DATA, directory), lambda: Results(directory)):
        with pytest.raises(RunDirectoryError, match="Permission denied"):
            use()


@pytest.mark.usefixtures("obeying_permissions")
def test_a_file_that_may_only_be_read(directory):
    path = directory / "run.sqlite"
    path.chmod(0o444)
    before = path.read_bytes()
    with pytest.raises(RunDirectoryError, match="readonly"):
        run(PLAN, DATA, directory)
    assert path.read_bytes() == before
    assert Results(directory).complete


def test_a_full_disk_costs_what_does_not_fit(directory):
    unit = PLAN.units()[0]
    with Store.open(directory, PLAN, {}) as store:
        store.begin({})
        (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(RunDirectoryError, match="full"):
            store.add(Failure(unit, "x" * 1_000_000, ""))
    assert Results(directory).complete


@pytest.mark.parametrize("statement", ["DELETE FROM attempts", "UPDATE facts SET value = ''"])
def test_results_are_only_ever_added(directory, statement):
    connection = sqlite3.connect(directory / "run.sqlite")
    with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
        connection.execute(statement)
    connection.close()


def test_results_of_another_version_of_the_code_are_not_mixed(directory, monkeypatch):
    monkeypatch.setattr(store_module, "version", lambda package: "99")
    with pytest.raises(PlanChangedError, match="version of cosift: '99'"):
        run(PLAN, DATA, directory)


def test_what_a_killed_beginning_left_is_replaced(tmp_path):
    for suffix in ("", "-wal", "-journal"):
        (tmp_path / f"run.sqlite.new{suffix}").write_text("rubbish")
    assert run(PLAN, DATA, tmp_path).done == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.lock", "run.sqlite"]


def test_setting_aside_takes_what_is_in_the_log_along(directory):
    """A writer that was killed leaves results in the write-ahead log alone."""
    path = directory / "run.sqlite"
    writer = Store.open(directory, PLAN, {})
    writer.begin({"mark": "in the log"})
    copy = directory.with_name("copy")
    shutil.copytree(directory, copy)  # as it is while the writer lives
    writer.close()
    assert (copy / "run.sqlite-wal").stat().st_size > 0
    run(PLAN, DATA, copy, anew=True)
    assert not (copy / "run.sqlite.1-wal").exists()
    (copy / "run.sqlite.1").rename(path)
    assert Results(directory).sessions[-1]["mark"] == "in the log"
