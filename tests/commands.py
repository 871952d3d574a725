"""Run the command line as a user does: in a process of its own."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from cosift.cli import app


def cosift(*arguments, expect=0, cwd=None, options=()):
    """Run ``cosift ARGUMENTS``; its exit code must be as expected and nothing a traceback."""
    command = [sys.executable, *options, "-m", "cosift", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)
    assert done.returncode == expect, (done.stdout + done.stderr)[-3000:]
    assert "--debug" in arguments or "Traceback" not in done.stdout + done.stderr
    return done


def refusal(*arguments):
    """What ``cosift ARGUMENTS`` says when it refuses them; in this process, for speed."""
    said, results = io.StringIO(), io.StringIO()
    with redirect_stderr(said), redirect_stdout(results), pytest.raises(SystemExit) as ended:
        app(list(map(str, arguments)), prog_name="cosift")
    assert ended.value.code == 2, said.getvalue()
    assert not results.getvalue()
    return " ".join(said.getvalue().split())
