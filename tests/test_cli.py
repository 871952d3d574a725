"""The command itself: help, version, completion, and what it must not import."""

from importlib.metadata import version

import pytest
from commands import cosift


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


def test_unknown_command_is_bad_usage():
    assert "bogus" in cosift("bogus", expect=2).stderr
