"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Directory of the real data sets, which are not part of the project."""
    beside_the_project = Path(__file__).parents[2] / "shared" / "data"
    directory = Path(os.environ.get("COSIFT_DATA", beside_the_project))
    if not directory.is_dir():
        pytest.skip(f"no real data: {directory} is not a directory (set COSIFT_DATA)")
    return directory
