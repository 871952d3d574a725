"""``cosift demo``: the whole way from nothing to a table and words."""

import json

import pytest
from commands import here

from cosift.cli import demo
from cosift.experiment import PAPER_METHODS, Results


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """`make demo` runs all of it."""
    settings = {"labeled_percent": (50,), "repeats": 1, "weights": (1,), "n_features": (20,)}
    monkeypatch.setattr(demo, "EVERY", 16)
    monkeypatch.setattr(demo, "SETTINGS", {**demo.SETTINGS, **settings})


def test_from_nothing_to_a_table_and_words(tmp_path):
    done = here("demo", "--out", tmp_path / "run", "--workers", 1)
    assert "SYNTHETIC DATA" in done.stderr
    for method in PAPER_METHODS:
        assert f"{method} " in done.stdout
    assert "has the highest mean average precision" in done.stdout
    page = tmp_path / "run" / "report.html"
    assert f"Report: {page}" in done.stdout
    assert page.is_file()
    results = Results(tmp_path / "run")
    assert results.complete
    assert results.plan.split == "groups"  # no recording on both sides
    assert results.plan.tuning == "cv"


def test_continues_and_speaks_json(tmp_path):
    first, again = (
        json.loads(here("demo", "--out", tmp_path, "--workers", 1, "--no-report", "--json").stdout)
        for _ in range(2)
    )
    assert first == again
    assert first["complete"]
