"""The examples run, as a reader would run them."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_runs_without_a_warning(example, tmp_path):
    subprocess.run([sys.executable, "-W", "error", example], check=True, cwd=tmp_path)
