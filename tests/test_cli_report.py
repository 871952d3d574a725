"""``cosift report``: from a run directory to files, or to a sentence why not."""

import json

import pytest
from commands import here, refusal
from experiments import tiny_data, tiny_plan
from made_results import made_results

from cosift.experiment import Results, run
from cosift.experiment.published import published
from cosift.report.tables import printed_numbers


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    data = tiny_data()
    directory = tmp_path_factory.mktemp("run")
    run(tiny_plan(data, ["fisher-score", "lsdf"], n_neighbors=5), data, directory)
    return directory


def test_writes_beside_the_results_or_elsewhere(directory, tmp_path):
    done = here("report", directory)
    assert str(directory / "report.html") in done.stdout
    told = json.loads(here("report", directory, "--out", tmp_path / "new", "--json").stdout)
    assert told["report"] == str(tmp_path / "new" / "report.html")
    for name in (told["report"], *told["files"]):
        assert (tmp_path / name).stat().st_size > 100
    # The same run gives the same page.
    pages = [place / "report.html" for place in (directory, tmp_path / "new")]
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_the_page_tells_how_to_repeat_a_run_without_a_command(directory):
    text = (directory / "report.html").read_text(encoding="utf-8")
    assert "Plan.from_json" in text
    assert Results(directory).plan.fingerprint in text


def test_refuses_what_is_no_run(tmp_path):
    assert "holds no results" in refusal("report", tmp_path)
    assert "holds no results" in refusal("report", tmp_path / "nowhere")


def test_printed_numbers_stand_beside_runs_that_ask_for_them(tmp_path):
    data = tiny_data()
    plan = tiny_plan(data, ["fisher-score"])
    run(plan, data, tmp_path, origin={"published": "ccv"})
    assert printed_numbers(Results(tmp_path)).equals(published("ccv"))
    silent = made_results(tmp_path / "made", [[[[0.5]]]], methods=["sfmc"])
    assert printed_numbers(silent) is None
