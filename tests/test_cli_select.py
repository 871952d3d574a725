"""``cosift select`` against the selectors themselves."""

import json

import numpy as np
import polars as pl
import pytest
from commands import cosift, refusal
from sklearn.datasets import dump_svmlight_file

from cosift import SFMC, FisherScore
from cosift.datasets import make_related_tasks

MADE = make_related_tasks(2, 40, 8, labeled=0.4, n_classes=2, n_shared=3, n_private=1)
NAMES = [f"f{j}" for j in range(8)]
KIND = [None if label == -1 else "yes" if label else "no" for label in MADE.y.tolist()]
PEOPLE = [f"p{task}" for task in MADE.tasks.tolist()]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    frame = pl.DataFrame(dict(zip(NAMES, MADE.X.T, strict=True)))
    frame.with_columns(person=pl.Series(PEOPLE), kind=pl.Series(KIND)).write_csv(path)
    return path


def test_ranks_as_the_selector_does(table, tmp_path):
    weights = ["--alpha", 0.3, "--gamma", 2, "--scaling", "none"]
    roles = ["--target", "kind", "--task", "person"]
    files = ["-o", tmp_path / "best.csv", "--reduced", tmp_path / "small.parquet"]
    done = cosift("select", table, *roles, "-k", 3, *weights, *files, "--json")
    selector = SFMC(alpha=0.3, gamma=2, n_features_to_select=3, unlabeled="-1")
    selector.fit(MADE.X, np.array(KIND, dtype=object), PEOPLE)
    best = np.argsort(selector.ranking_)[:3]

    found = json.loads(done.stdout)
    assert [line["index"] for line in found["features"]] == best.tolist()
    assert [line["score"] for line in found["features"]] == pytest.approx(selector.scores_[best])
    for i, name in enumerate(["p0", "p1"]):
        own = np.argsort(selector.task_ranking_[i])[:3]
        assert [line["feature"] for line in found["tasks"][name]] == [f"f{j}" for j in own]
    assert found["certificate"]["objective"] == pytest.approx(selector.objective_)

    rows = pl.read_csv(tmp_path / "best.csv")
    assert rows["task"].to_list() == [None] * 3 + ["p0"] * 3 + ["p1"] * 3
    assert rows["index"][:3].to_list() == best.tolist()
    small = pl.read_parquet(tmp_path / "small.parquet")
    assert small.columns == [f"f{j}" for j in sorted(best)] + ["kind", "person"]
    np.testing.assert_allclose(small[:, :3].to_numpy(), MADE.X[:, np.sort(best)])
    assert small["kind"].to_list() == KIND


def test_people_read_a_table_and_a_certificate(table):
    done = cosift("select", table, "--target", "kind", "--task", "person", "-k", "nonzero")
    assert "features for all 2 tasks together" in done.stdout
    assert "Certificate: converged" in done.stdout
    assert "80 samples, 8 features, 2 tasks" in done.stderr
    quiet = cosift("select", table, "--target", "kind", "--ignore", "person", "-k", 0.5, "-q")
    assert "The 4 best of 8 features\n" in quiet.stdout
    assert not quiet.stderr


def test_weights_that_leave_nothing_are_told(table):
    done = cosift("select", table, "--target=kind", "--ignore=person", "-k", 2, "--gamma", 1e6)
    assert "every feature scores 0" in done.stderr


def test_sparse_yes_no_columns_and_markers(tmp_path):
    y = np.tile([0, 1, 7], 20)
    dump_svmlight_file(np.abs(MADE.X[:60]), y, str(tmp_path / "words.svmlight"))
    file = tmp_path / "best.json"
    options = ["--method", "fisher-score", "--unlabeled", 7, "--scaling", "none", "-o", file]
    done = cosift("select", tmp_path / "words.svmlight", "-k", 2, *options)
    assert "No certificate" in done.stdout
    expected = FisherScore(unlabeled=7).fit(np.abs(MADE.X[:60]), y)
    best = [line["index"] for line in json.loads(file.read_text())["features"]]
    assert best == np.argsort(expected.ranking_)[:2].tolist()

    answers = {"wet": [0, 1] * 20, "cold": [0, 0, 1, None] * 10}
    frame = pl.DataFrame({**dict(zip(NAMES, MADE.X[:40].T, strict=True)), **answers})
    frame.write_parquet(tmp_path / "weather.parquet")
    targets = ["--target", "wet", "--target", "cold"]
    small = ["--reduced", tmp_path / "small.csv"]
    done = cosift("select", tmp_path / "weather.parquet", *targets, "-k", 2, *small, "--json")
    assert list(json.loads(done.stdout)["tasks"]) == ["wet", "cold"]
    assert pl.read_csv(tmp_path / "small.csv").columns[-2:] == ["wet", "cold"]


def test_methods_from_packages(table):
    method = "sklearn.feature_selection:f_classif"
    roles = ["--target", "kind", "--task", "person"]
    done = cosift("select", table, *roles, "-k", 1, "--method", method, "--json")
    assert len(json.loads(done.stdout)["features"]) == 1


def test_the_seed_decides_where_a_method_draws(table):
    method = "sklearn.ensemble:ExtraTreesClassifier(n_estimators=2)"
    given = ["--target", "kind", "--ignore", "person", "-k", 3, "--method", method, "--workers", 1]
    first, again, other = (
        json.loads(cosift("select", table, *given, "--json", "--seed", seed).stdout)["features"]
        for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--target", "knid"], "Did you mean 'kind'?"),
        (["--target", "kind", "--method", "fisher"], "Did you mean 'fisher-score'?"),
        (["--target", "kind", "--method", "spec", "--alpha", 1], "spec takes no --alpha"),
        (["--target", "kind", "--method", "all-features"], "all-features takes no -k"),
        (["--target", "kind", "--alpha", -1], "alpha must be a number above 0. Got -1.0"),
        (["--target", "kind", "--unlabeled", "yes"], "Got one class only: 'no'"),
        (["--target", "kind", "-o", "best.xls"], "ends in .json, .csv, .tsv, .parquet"),
        (["--target", "kind", "-o", "nowhere/best.csv"], "there is no folder nowhere"),
        (["--target", "kind", "--reduced", "."], "ends in .csv"),
        (["--target", "kind", "-k", "many"], "-k must be a number"),
        (["--target", "f0", "--ignore", "kind"], "Unknown label type: continuous"),
        (["--target", "kind", "--scaling", "odd"], "'odd'"),
    ],
)
def test_bad_usage(table, arguments, told):
    assert told in refusal("select", table, "-k", 2, "--ignore", "person", *arguments)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.csv", None),
        ("empty.csv", b""),
        ("junk.csv", bytes(range(256)) * 8),
        ("junk.parquet", b"PAR1" + bytes(range(256))),
        ("one-class.csv", b"a,kind\n1,x\n2,x\n3,\n"),
        ("words.csv", b"a,kind\nred,x\nblue,y\n"),
        ("table.xls", b"a,kind\n"),
    ],
)
def test_bad_files(tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    told = refusal("select", tmp_path / name, "--target", "kind", "-k", 1)
    assert told.startswith("Error: ") or "Error: y must have at least two classes" in told


def test_errors_are_sentences_unless_debugging(tmp_path):
    done = cosift("select", tmp_path / "no.csv", "-k", 1, expect=2)
    assert done.stderr == f"Error: {tmp_path / 'no.csv'}: No such file or directory.\n"
    assert not done.stdout
    done = cosift("select", tmp_path / "no.csv", "-k", 1, "--debug", expect=2)
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: ")
