"""Run the command line: as a user does, in a process of its own; or in this one, for speed."""

import io
import os
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace

from cosift.cli import app

HERE = Path(__file__).parent


def command(*arguments, options=()):
    """The command ``cosift ARGUMENTS`` and an environment in which methods of tests are found."""
    found = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    line = [sys.executable, *options, "-m", "cosift", *map(str, arguments)]
    return line, {**os.environ, "PYTHONPATH": found}


def cosift(*arguments, expect=0, options=()):
    """Run ``cosift ARGUMENTS``, which must end with the code expected and without a traceback."""
    line, environment = command(*arguments, options=options)
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env=environment)
    return _checked(done.returncode, done.stdout, done.stderr, expect, arguments)


def here(*arguments, expect=0):
    """The same in this process."""
    results, said = io.StringIO(), io.StringIO()
    code = None
    with redirect_stdout(results), redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("default")  # as in a process of its own
        try:
            app(list(map(str, arguments)), prog_name="cosift")
        except SystemExit as ended:
            code = ended.code
    return _checked(code, results.getvalue(), said.getvalue(), expect, arguments)


def refusal(*arguments):
    """What ``cosift ARGUMENTS`` says when it refuses them."""
    done = here(*arguments, expect=2)
    assert not done.stdout
    return " ".join(done.stderr.split())


def _checked(code, stdout, stderr, expect, arguments):
    assert code == expect, (stdout + stderr)[-3000:]
    assert "--debug" in arguments or "Traceback" not in stdout + stderr
    return SimpleNamespace(stdout=stdout, stderr=stderr)
