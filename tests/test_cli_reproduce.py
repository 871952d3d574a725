"""``cosift reproduce``: the paper's plan, twins that are called so, printed numbers beside ours."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import cosift, here, refusal

from cosift.cli import reproduce
from cosift.experiment import PAPER_METHODS, PAPER_SETTINGS, Plan, Results
from cosift.experiment.published import published

FEW = ["--methods", "all-features,spec,lsdf", "--workers", 1, "--no-report"]


def test_a_twin_is_called_synthetic(tmp_path):
    done = cosift("reproduce", "humaneva", "--quick", *FEW, "--out", tmp_path)
    assert "SYNTHETIC DATA: a twin of humaneva" in done.stdout
    assert "no data of HumanEva in it" in done.stderr
    assert "rows on both sides of this split" in done.stderr
    assert "TEST" in done.stdout or "test rows (oracle)" in done.stdout
    assert done.stdout.count("as printed ") == 2  # LSDF's numbers were not printed
    # The mean of Subject 1 and Subject 2 as the paper has them, and a misprint.
    assert f"{(0.881 + 0.913) / 2:.3f}" in done.stdout
    assert "S1: printed SEPC" in done.stdout
    results = Results(tmp_path)
    assert results.about["tasks"] == ["S1", "S2"]
    assert results.plan.tuning == "oracle"
    again = here("reproduce", "humaneva", "--quick", *FEW, "--out", tmp_path, "--json")
    document = json.loads(again.stdout)
    assert document["synthetic"] is True
    assert document["published"] == published("humaneva").to_dicts()


@pytest.fixture
def plans(monkeypatch):
    """Data and plans, instead of running them."""
    seen = []

    def execute(out, plan, data, directory, **options):
        seen.append((plan, data))
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce._run, "execute", execute)
    return seen


@pytest.mark.parametrize("name", ["ccv", "hmdb", "humaneva"])
def test_settings_are_the_papers(plans, monkeypatch, name, tmp_path):
    monkeypatch.setattr(reproduce, "SHARES", {name: 0.9})  # what --quick does not leave out
    here("reproduce", name, "--out", tmp_path, "--seed", 2, expect=130)
    ((plan, data),) = plans
    assert plan == Plan.paper(name, data, seed=2)
    assert plan.methods == PAPER_METHODS
    assert plan.n_train == PAPER_SETTINGS[name]["n_train"]


def test_reads_the_authors_files(plans, tmp_path):
    rng = np.random.default_rng(0)
    n = 4000
    subject, action = np.repeat([1, 2, 3, 1], n // 4), np.arange(n) % 2
    arrays = {
        "positions": rng.normal(size=(n, 15, 3)).astype(np.float32),
        "subject": subject,
        "action": action,
        "sequence": subject * 2 + action,
        "action_names": np.array(["Box", "Jog"]),
        "sequence_names": np.array([f"{i}" for i in range(8)]),
    }
    np.savez(tmp_path / "frames.npz", **arrays)
    for place in (tmp_path, tmp_path / "frames.npz"):
        done = here("reproduce", "humaneva", "--data", place, "--quick", "--out", "x", expect=130)
        assert "SYNTHETIC" not in done.stderr
        plan, data = plans.pop()
        assert np.unique(data.tasks).tolist() == ["S1", "S2"]
        assert plan.n_train == 600
        assert max(plan.n_features) == 150  # 45 coordinates and 105 distances of 15 joints


@pytest.mark.parametrize("name", PAPER_SETTINGS)
def test_folders_without_the_files_are_refused(name, tmp_path):
    told = refusal("reproduce", name, "--data", tmp_path, "--out", tmp_path / "run")
    assert str(tmp_path) in told
    assert "expected" in told


def test_unknown_datasets_are_refused():
    assert "'mnist' is not one of" in refusal("reproduce", "mnist", "--out", Path("x"))
