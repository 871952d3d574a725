"""The report in a real browser: what it shows, what its controls do, what it says is missing."""

import csv
import json
import re
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import opened, started
from experiments import tiny_data, tiny_plan
from fickle import fickle

from cosift.datasets import Dataset, make_humaneva
from cosift.experiment import Plan, Results, conclude, run
from cosift.report._figures import make_figures
from cosift.report.page import write_report
from cosift.report.tables import make_tables

SCRIPT, FORMULA, TEMPLATE, END = (
    "<script>alert(1)</script>",
    "=cmd()",
    "{{7*7}}",
    "</script><img src=x onerror=alert(2)>",
)
METHODS = ("all-features", "fisher-score", "lsdf", "fssi", "sfss", "sfmc")


@pytest.fixture(scope="module")
def browser():
    with started() as browser:
        yield browser


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A run in which all that a user may name has a hostile name."""
    data = tiny_data(n_samples=60)
    data = Dataset(
        TEMPLATE,
        data.X,
        np.array([SCRIPT, "plain"])[data.y],
        tasks=np.array([END, FORMULA])[data.tasks],
        feature_names=np.array([SCRIPT, FORMULA, TEMPLATE, END, *map(str, range(6))]),
        provenance={"source": SCRIPT},
    )
    plan = tiny_plan(data, METHODS, labeled_percent=[20, 50, 100], n_neighbors=5)
    directory = tmp_path_factory.mktemp("run")
    run(plan, data, directory, origin={"command": f"cosift compare '{SCRIPT}'"})
    return Results(directory)


@pytest.fixture(scope="module")
def report(results):
    return write_report(results)[0]


@pytest.fixture
def page(browser, report):
    with opened(browser, report) as page:
        yield page


def table_of(page, place):
    """A table as it is shown, once it is there: heads and rows of text."""
    page.locator(f"{place} thead th button").first.wait_for()
    heads = page.locator(f"{place} thead th button").all_inner_texts()
    rows = page.locator(f"{place} tbody tr").all()
    return heads, [row.locator("th, td").all_inner_texts() for row in rows]


def drawing(page, figure):
    return page.locator(f"#{figure} .chart svg").inner_html()


def expected_rows(results, task, metric="map"):
    tables = make_tables(results, conclude(results, metric))
    (table,) = (table for table in tables if table.task == task)
    return [[row.method, *(f"{c.mean:.3f} ± {c.std:.3f}" for c in row.cells)] for row in table.rows]


def test_is_one_small_file(report):
    text = report.read_text(encoding="utf-8")
    assert len(text.encode()) < 3_000_000
    assert not re.search(r"<(link|img|iframe)\b|\bsrc=[\"']?http", text.split("data-run")[0])


def test_every_figure_has_marks(page, results):
    drawn = page.locator("figure[data-drawn]")
    figures = make_figures(results, {"map": conclude(results)})
    assert [figure.name for figure in figures if figure.charts] == [
        figure.get_attribute("id") for figure in drawn.all()
    ]
    assert drawn.count() == 13
    for figure in drawn.all():
        marks = figure.locator(".mark-symbol path, .mark-rect path, .mark-rule line")
        assert marks.count() >= 3, figure.get_attribute("id")
        assert figure.locator(".chart").get_attribute("aria-label")


def test_table_is_that_of_the_results(page, results):
    heads, rows = table_of(page, "#results-table")
    assert heads == ["Method", "20%", "50%", "100%", "all"]
    assert rows == expected_rows(results, None)
    best = page.locator("#results-table td.best").all_inner_texts()
    assert len(best) >= 4


def test_choosing_a_task_changes_table_and_figures(page, results):
    before = [drawing(page, name) for name in ("learning_curves", "sensitivity_weights")]
    for position, task in enumerate(results.about["tasks"]):
        page.select_option("#task", str(position))
        page.wait_for_timeout(300)
        assert table_of(page, "#results-table")[1] == expected_rows(results, task)
        after = [drawing(page, name) for name in ("learning_curves", "sensitivity_weights")]
        assert all(a != b for a, b in zip(before, after, strict=True))
        assert task in page.locator("#learning_curves .chart").get_attribute("aria-label")
        before = after


def test_choosing_share_and_metric(page, results):
    before = [drawing(page, name) for name in ("feature_counts", "learning_curves")]
    page.select_option("#percent", "100%")
    page.wait_for_timeout(300)
    assert page.locator("#results-table thead .current").inner_text().startswith("100%")
    assert drawing(page, "feature_counts") != before[0]
    assert drawing(page, "learning_curves") == before[1]  # it shows all shares
    page.select_option("#metric", "accuracy")
    page.wait_for_timeout(300)
    assert table_of(page, "#results-table")[1] == expected_rows(results, None, "accuracy")
    assert drawing(page, "learning_curves") != before[1]


def test_a_figure_of_one_method_shows_another(page):
    before = drawing(page, "top_features"), drawing(page, "sensitivity_weights")
    page.locator("#top_features select").select_option("fssi")
    page.wait_for_timeout(300)
    assert page.locator("#convergence select").input_value() == "fssi"  # they go together
    assert page.locator("#sensitivity_weights select").input_value() == "fssi"
    assert (drawing(page, "top_features"), drawing(page, "sensitivity_weights")) != before


def test_methods_are_hidden_and_shown_by_keyboard(page):
    chip = page.get_by_role("button", name="sfmc", exact=True)
    marks = page.locator("#learning_curves .mark-symbol.role-mark path")
    count = marks.count()
    chip.focus()
    page.keyboard.press("Space")
    page.wait_for_timeout(300)
    assert chip.get_attribute("aria-pressed") == "false"
    assert marks.count() == count - 3  # one a share of labels
    assert "sfmc" not in [row[0] for row in table_of(page, "#results-table")[1]]
    page.keyboard.press("Space")
    page.wait_for_timeout(300)
    assert marks.count() == count
    assert "sfmc" in [row[0] for row in table_of(page, "#results-table")[1]]


def test_sorts_and_filters(page):
    place = "#results-table"
    means = [float(row[1].split()[0]) for row in table_of(page, place)[1]]
    head = page.locator(f"{place} thead button").nth(1)
    for order, name in ((-1, "descending"), (1, "ascending")):
        head.click()
        assert page.locator(f"{place} thead th").nth(1).get_attribute("aria-sort") == name
        shown = [float(row[1].split()[0]) for row in table_of(page, place)[1]]
        assert shown == sorted(means, key=lambda value, order=order: order * value)
    page.locator(f"{place} input").fill("sfs")
    assert [row[0] for row in table_of(page, place)[1]] == ["sfss"]
    page.locator(f"{place} input").fill("no such method")
    assert table_of(page, place)[1] == []


def test_numbers_of_a_figure_are_those_it_draws(page, results):
    page.select_option("#percent", "50%")
    page.locator("#feature_counts summary").click()
    heads, rows = table_of(page, "#feature_counts .numbers")
    assert heads == ["Method", "Features", "Mean", "Deviation"]
    tried = results.cells("sfmc").filter(labeled_percent=50)["n_features"].unique().to_list()
    assert [int(row[1]) for row in rows if row[0] == "sfmc"] == sorted(tried)


def test_values_appear_under_the_pointer(page, results):
    tooltip = page.locator("#vg-tooltip-element.visible")
    page.locator("#learning_curves .mark-symbol.role-mark path").first.hover()
    tooltip.wait_for()
    told = tooltip.inner_text().split()
    assert told[0] == "method"
    assert told[1] in METHODS
    page.locator("#top_features .mark-rect path").first.hover(position={"x": 30, "y": 9})
    page.wait_for_function(
        "document.getElementById('vg-tooltip-element').innerText.startsWith('feature')"
    )
    names = [SCRIPT, FORMULA, TEMPLATE, END, *map(str, range(6))]
    assert any(name in tooltip.inner_text() for name in names[:4])
    assert tooltip.locator("script, img").count() == 0


def test_copies_a_table(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#results-table").get_by_role("button", name="Copy").click()
    page.wait_for_function("document.getElementById('said').textContent.includes('copied')")
    text = page.evaluate("navigator.clipboard.readText()")
    heads, rows = table_of(page, "#results-table")
    assert [line.split("\t") for line in text.splitlines()] == [heads, *rows]


def downloaded(page, button, path):
    with page.expect_download() as download:
        button.click()
    download.value.save_as(path)
    return path


def test_downloads_parse_and_are_complete(page, results, tmp_path):
    path = downloaded(page, page.get_by_role("button", name="Every result"), tmp_path / "r.csv")
    with path.open(newline="", encoding="utf-8") as file:
        heads, *rows = csv.reader(file)
    assert heads == results.metrics.columns
    # What a spreadsheet would run has an apostrophe before it.
    found = [[*row[:3], row[3].removeprefix("'"), row[4], float(row[5])] for row in rows]
    wanted = [
        [str(r), f"{p:g}", *text, pytest.approx(value)]
        for r, p, *text, value in results.metrics.iter_rows()
    ]
    assert found == wanted
    assert {row[3] for row in rows} == {END, f"'{FORMULA}"}
    path = downloaded(page, page.get_by_role("button", name="Everything"), tmp_path / "r.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert Plan.from_json(json.dumps(content["plan"])) == results.plan
    assert content["results"]["value"] == results.metrics["value"].to_list()
    assert content["data"]["tasks"] == results.about["tasks"]


def test_hostile_names_are_text(page, results, tmp_path):
    # No dialog came up and nothing was loaded: `opened` sees to that.
    assert page.title() == f"{TEMPLATE}: cosift report"
    text = page.inner_text("body")
    for name in (SCRIPT, TEMPLATE, END):
        assert name in text
    assert "49" not in page.inner_text("h1")
    assert page.locator("main script, main img").count() == 0
    page.locator("#top_features summary").click()
    _, rows = table_of(page, "#top_features .numbers")
    assert {SCRIPT, FORMULA, TEMPLATE, END} <= {row[0] for row in rows}
    path = downloaded(page, page.locator("#top_features .tools button").last, tmp_path / "f.csv")
    with path.open(newline="", encoding="utf-8") as file:
        assert f"'{FORMULA}" in {row[0] for row in csv.reader(file)}
    page.select_option("#task", "0")
    page.wait_for_timeout(300)
    assert END in page.inner_text("#results-table caption")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_is_accessible(browser, report, scheme):
    with opened(browser, report, color_scheme=scheme) as page:
        page.locator("#top_features summary").click()
        page.get_by_text("Every result, one by one").click()
        violations = Axe().run(page).response["violations"]
    grave = [v for v in violations if v["impact"] in ("serious", "critical")]
    assert not grave, [(v["id"], v["nodes"][0]["html"][:300]) for v in grave]


@pytest.mark.parametrize("width", [360, 700])
def test_narrow_pages_do_not_scroll_sideways(browser, report, width):
    with opened(browser, report, width=width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for chart in page.locator(".chart").all():
            outside = chart.evaluate(
                "chart => chart.querySelector('svg').getBoundingClientRect().right"
                " - chart.getBoundingClientRect().right"
            )
            assert outside <= 1


def test_light_dark_and_paper(browser, report):
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, report, color_scheme="dark") as page:
        dark = page.evaluate(ground)
        button = page.get_by_role("button", name="Dark")
        assert button.get_attribute("aria-pressed") == "true"
        page.emulate_media(media="print")
        light = page.evaluate(ground)
        page.emulate_media(media="screen")
        assert page.evaluate(ground) == dark != light
        button.click()
        assert page.evaluate(ground) == light
        lines = page.locator("#learning_curves .mark-line path").first
        assert lines.evaluate("path => getComputedStyle(path).stroke") == "rgb(34, 33, 117)"


class StopError(Exception):
    pass


def test_a_partial_run_says_what_is_missing(browser, tmp_path):
    data = tiny_data()
    hostile = fickle("<img src=x onerror=alert(3)>/trace")  # there is no such folder
    plan = tiny_plan(data, ["fisher-score", hostile, "fssi"], repeats=3)

    def stop(state):
        if state.executed == 8:
            raise StopError

    with pytest.raises(StopError):
        run(plan, data, tmp_path / "run", progress=stop)
    results = Results(tmp_path / "run")
    with opened(browser, write_report(results)[0]) as page:
        text = page.inner_text(".caution")
        done, failed = len(results.choices), len(results.failures)
        assert failed > 0
        assert f"{done} of 18 units have a result, {failed} failed" in text
        rows = page.locator("#progress tbody tr").all()
        shown = [int(n) for row in rows for n in row.locator("td").all_inner_texts()]
        assert sum(shown) == done
        assert page.locator(".failures li").count() == failed
        for place in (".failures", "#methods", "#progress", "#again"):
            assert hostile in page.inner_text(place)
        assert page.locator("#learning_curves[data-drawn]").count() == 1


def test_a_run_without_results_has_a_page(browser, tmp_path):
    data = tiny_data()

    def stop(state):
        raise StopError

    with pytest.raises(StopError):
        run(tiny_plan(data), data, tmp_path, progress=stop)
    with opened(browser, write_report(Results(tmp_path))[0]) as page:
        assert "No method has a result yet" in page.inner_text("#answer")
        assert page.locator("figure .none").count() == page.locator("figure").count() > 5
        assert "0 of 12 units" in page.inner_text(".caution")


def test_a_body_is_drawn_and_leaks_are_told(browser, tmp_path):
    data = make_humaneva(scale=0.03)
    plan = Plan.of(
        data, ["fisher-score"], labeled_percent=[50], repeats=1, n_features=[12], split="rows"
    )
    with pytest.warns(UserWarning, match="both sides"):
        run(plan, data, tmp_path)
    with opened(browser, write_report(Results(tmp_path))[0]) as page:
        cautions = " ".join(page.locator(".caution").all_inner_texts())
        assert "Synthetic data" in cautions
        assert "Leakage" in cautions
        assert page.locator("#body .mark-symbol path").count() > 16  # joints, and some chosen
        assert page.locator("#stability .none").inner_text().endswith("It needs two repeats.")
        assert not page.locator("#percent").is_visible()  # there is one share only
        classes = page.inner_text("#data tbody")
        assert all(f"{label} " in classes for label in np.unique(data.y))


def test_figures_and_tables_are_files_too(results, tmp_path):
    written = write_report(results, tmp_path)
    names = {path.relative_to(tmp_path).as_posix() for path in written}
    assert {"report.html", "tables/map.tex", "tables/auc.csv"} <= names
    assert "figures/sensitivity_weights-sfmc.svg" in names
    for path in written:
        if path.suffix == ".svg":
            tree = ElementTree.parse(path)
            assert not [node for node in tree.iter() if node.tag.endswith("script")]
        if path.suffix == ".pdf":
            assert path.read_bytes().startswith(b"%PDF")
    assert pl.read_csv(tmp_path / "tables" / "map.csv").height == 3 * len(METHODS)
