"""Environments of their own for the packages we are compared with, which need not suit ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1] / ".venv-peers"


def python_with(name: str, *requirements: str) -> Path:
    """A Python of our version that has the requirements, installed once a name and list."""
    home = ROOT / name
    python, installed = home / "bin" / "python", home / "requirements.txt"
    wanted = "\n".join(requirements)
    if not (installed.exists() and installed.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        installed.write_text(wanted)
    return python


def versions(python: Path, *packages: str) -> str:
    """What is installed there, as in "numpy 2.1.0, scipy 1.14.1"."""
    code = (
        "import sys, importlib.metadata as m\n"
        "print(', '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    )
    answer = subprocess.run(
        [python, "-c", code, *packages], check=True, capture_output=True, text=True
    )
    return answer.stdout.strip()
