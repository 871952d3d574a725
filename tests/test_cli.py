"""The command itself: help, version, completion, and what it must not import."""

from importlib.metadata import version

import pytest
import typer
from commands import cosift, here

from cosift.cli import app


def test_version():
    assert cosift("--version").stdout == f"cosift {version('cosift')}\n"


def test_help_imports_nothing_heavy():
    seen = cosift("--help", options=["-X", "importtime"]).stderr
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in seen.splitlines()}
    assert "typer" in imported
    assert not imported & {"numpy", "scipy", "sklearn", "polars", "altair", "dask", "cv2"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell, monkeypatch):
    monkeypatch.setenv("_COSIFT_COMPLETE", f"source_{shell}")
    assert "cosift" in cosift().stdout


def examples(command, *names):
    """Whether the help of each command shows how to call it, by its name."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from examples(inner, *names, name)
    if not hasattr(command, "commands"):
        words = " ".join(here(*names, "--help").stdout.split())
        yield names, f"Example: cosift {' '.join(names)} " in words


def test_help_of_every_command_has_an_example():
    found = dict(examples(typer.main.get_command(app)))
    assert ("select",) in found
    assert ("features", "bow") in found
    assert all(found.values()), found


def test_unknown_command_is_bad_usage():
    assert "bogus" in cosift("bogus", expect=2).stderr
