"""Run the command line as a user does: in a process of its own."""

import subprocess
import sys


def cosift(*arguments, expect=0, cwd=None, options=()):
    """Run ``cosift ARGUMENTS``; its exit code must be as expected and nothing a traceback."""
    command = [sys.executable, *options, "-m", "cosift", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=300)
    assert done.returncode == expect, (done.stdout + done.stderr)[-3000:]
    assert "--debug" in arguments or "Traceback" not in done.stdout + done.stderr
    return done
