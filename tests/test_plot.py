"""Figures: what they show is recomputed by loops, and every one draws marks."""

import json
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
import vl_convert
from experiments import tiny_data, tiny_plan

from cosift import SFMC, FisherScore, plot
from cosift.datasets import make_humaneva
from cosift.experiment import Results, conclude, run
from cosift.plot._picks import told_apart
from cosift.plot._style import COLORS, SERIES, series
from cosift.plot.features import in_turn

HOSTILE = "<script>alert(1)</script>"
METHODS = ("all-features", "fisher-score", "lsdf", "fssi", "sfss", "sfmc")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    data = tiny_data(n_samples=60, feature_names=np.array([HOSTILE, *map(str, range(9))]))
    plan = tiny_plan(data, METHODS, labeled_percent=[20, 50, 100], n_neighbors=5)
    directory = tmp_path_factory.mktemp("run")
    run(plan, data, directory)
    return Results(directory)


def rows_of(figure):
    """Rows of the data of every layer."""
    spec = figure.to_dict()
    every = spec.get("data", {})
    names = [layer.get("data", every)["name"] for layer in spec["layer"]]
    return [json.loads(spec["datasets"][name]) for name in names]


def drawn(figure):
    """The figure as a tree of SVG, and its marks."""
    tree = ElementTree.fromstring(vl_convert.vegalite_to_svg(figure.to_dict()))
    return tree, [node for node in tree.iter() if node.get("role") == "graphics-symbol"]


FIGURES = {
    "learning_curves": plot.learning_curves,
    "semi-supervised": lambda r: plot.learning_curves(r, methods=["sfmc", "sfss", "lsdf"]),
    "feature_counts": plot.feature_counts,
    "critical_difference": lambda r: plot.critical_difference(conclude(r)),
    "weights": plot.sensitivity,
    "gamma and number": lambda r: plot.sensitivity(r, "sfmc", ("gamma", "n_features")),
    "convergence": plot.convergence,
    "gaps": plot.gaps,
    "top_features": plot.top_features,
    "overlap": plot.overlap,
    "stability": plot.stability,
    "seconds": plot.seconds,
    "memory": plot.memory,
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_marks(results, name):
    figure = FIGURES[name](results)
    tree, marks = drawn(figure)
    assert len(marks) >= 3
    assert not [node for node in tree.iter() if node.tag.endswith("script")]
    assert figure.to_dict()["description"]


def test_hostile_names_are_text(results):
    tree, _ = drawn(plot.top_features(results))
    assert any(node.text == HOSTILE for node in tree.iter(f"{SVG}text"))


def test_learning_curves_show_means_and_deviations(results):
    rows = rows_of(plot.learning_curves(results))[0]
    assert len(rows) == 5 * 3 * 6 * 3  # metrics, tasks and their mean, methods, shares
    for row in rows[::7]:
        own = results.metrics.filter(
            metric=row["metric"], labeled_percent=float(row["percent"].rstrip("%"))
        )
        own = own.filter(method=row["method"])
        if row["task"] >= 0:
            own = own.filter(task=results.about["tasks"][row["task"]])
        values = own.group_by("repeat").agg(pl.col("value").mean())["value"].to_numpy()
        assert row["mean"] == pytest.approx(values.mean(), rel=1e-4)
        assert row["std"] == pytest.approx(values.std(ddof=1), rel=1e-4, abs=1e-4)
        assert row["high"] - row["low"] == pytest.approx(2 * row["std"], rel=1e-3, abs=1e-4)


def test_feature_counts_take_the_best_cell_on_average(results):
    rows = rows_of(plot.feature_counts(results))[1]
    cells = results.cells("sfmc").filter(labeled_percent=50)
    tasks = results.about["tasks"]
    for k in (2, 5):
        expected = []
        for repeat in range(2):
            here = cells.filter(repeat=repeat, n_features=k)
            scores = {}
            for row in here.iter_rows(named=True):
                cell = (row["alpha"], row["beta"], row["gamma"])
                scores.setdefault(cell, {})[row["task"]] = row["score"]
            expected.append(max(scores.values(), key=lambda own: sum(own.values())))
        for task in (-1, 0, 1):
            (row,) = (
                row
                for row in rows
                if (row["method"], row["percent"], row["task"], row["n_features"])
                == ("sfmc", "50%", task, k)
            )
            own = [
                np.mean([*scores.values()]) if task < 0 else scores[tasks[task]]
                for scores in expected
            ]
            assert row["mean"] == pytest.approx(np.mean(own), rel=1e-4)


@pytest.mark.parametrize("axes", [("alpha", "beta"), ("gamma", "n_features")])
def test_sensitivity_is_a_slice_through_the_best_cell(results, axes):
    rows = rows_of(plot.sensitivity(results, "sfmc", axes))[0]
    every = ["alpha", "beta", "gamma", "n_features"]
    means = (
        results.cells("sfmc").filter(labeled_percent=20).group_by(every).agg(pl.col("score").mean())
    )
    here = [row for row in rows if row["percent"] == "20%" and row["task"] == -1]
    assert len(here) == 4
    (best,) = [row for row in here if row["best"]][:1]
    assert best["score"] == pytest.approx(means["score"].max(), rel=1e-4)
    assert {row["score"] for row in here} <= set(means["score"].round(5).to_list())


def test_sensitivity_needs_what_was_tried(results):
    with pytest.raises(ValueError, match="axes must be two of 'alpha', 'beta', 'n_features'"):
        plot.sensitivity(results, "sfss", ("alpha", "gamma"))


def test_gap_closes_and_bounds_the_optimum(results):
    rows = rows_of(plot.convergence(results))[0]
    ours = [row for row in rows if (row["method"], row["percent"]) == ("sfmc", "50%")]
    last = max(row["iteration"] for row in ours)
    chosen = results.choices.filter(method="sfmc", labeled_percent=50, repeat=0)
    ends = {row["side"]: row["value"] for row in ours if row["iteration"] == last}
    assert ends["objective"] == pytest.approx(chosen["objective"].item(), rel=1e-4)
    assert ends["dual bound"] <= ends["objective"] * (1 + 1e-4)
    assert all(row["gap"] > 0 for row in rows_of(plot.gaps(results))[0])


def test_overlap_is_the_share_in_common(results):
    rows = rows_of(plot.overlap(results))[0]
    (row,) = (
        row for row in rows if (row["percent"], row["one"], row["other"]) == ("50%", "sfmc", "fssi")
    )
    chosen = results.selected().filter(labeled_percent=50, rank=1)  # a tenth of ten features
    same = [
        chosen.filter(method="sfmc", repeat=r, task=t)["feature"].item()
        == chosen.filter(method="fssi", repeat=r, task=t)["feature"].item()
        for r in range(2)
        for t in results.about["tasks"]
    ]
    assert row["share"] == np.mean(same)


def test_stability_is_that_of_the_results(results):
    rows = rows_of(plot.stability(results))[0]
    found = results.stability().filter(method="fssi", labeled_percent=50)
    for task, value in enumerate([found["stability"].mean(), *found["stability"]], start=-1):
        (row,) = (
            row
            for row in rows
            if (row["method"], row["percent"], row["task"]) == ("fssi", "50%", task)
        )
        assert row["stability"] == pytest.approx(value, rel=1e-4, abs=1e-4)


def test_features_in_turn_share_the_table():
    scores = np.array([[9.0, 8, 7, 0, 0, 0], [0, 0, 0, 7, 8, 9]])
    assert in_turn(scores, 4) == [0, 5, 1, 4]
    assert in_turn(np.vstack([scores[0], scores[0]]), 4) == [0, 1, 2, 3]
    assert told_apart(["a", "b", "a"]) == ["a (0)", "b", "a (2)"]


def test_shared_features_come_before_private_ones():
    fitted = fit(SFMC(alpha=0.1, beta=1.0, gamma=0.1, n_neighbors=5))
    rows = rows_of(plot.top_features(fitted, n=4))[0]
    tasks = [int(row["shared"].split()[0]) for row in sorted(rows, key=lambda row: row["row"])]
    assert tasks == sorted(tasks, reverse=True)
    best = max(rows, key=lambda row: row["score"])
    assert best["score"] == 1.0
    top = {row["feature"] for row in rows if row["top"] and row["task"] == "0"}
    order = np.argsort(-fitted.task_scores_[0])[:4]
    assert top <= {f"x{j}" for j in order}


def test_selectors_have_figures_too():
    fitted = fit(SFMC(n_neighbors=5))
    for figure in (plot.convergence(fitted), plot.gaps(fitted), plot.top_features(fitted)):
        assert len(drawn(figure)[1]) >= 2
    assert len(drawn(plot.top_features(fit(FisherScore())))[1]) > 2


def fit(selector):
    data = tiny_data(n_samples=60)
    return selector.fit(data.X, data.y, tasks=data.tasks)


def test_critical_difference_joins_the_groups(results):
    conclusions = conclude(results)
    layers = rows_of(plot.critical_difference(conclusions))
    (bars,) = {json.dumps(rows) for rows in layers if "to" in rows[0] and "text" not in rows[0]}
    ranks = dict(conclusions.ranks.select("method", "mean_rank").iter_rows())
    groups = [group for group in conclusions.groups if len(group) > 1]
    ends = [(bar["rank"], bar["to"]) for bar in json.loads(bars)]
    assert ends == [(ranks[group[0]], ranks[group[-1]]) for group in groups]


def test_body_draws_what_matters():
    data = make_humaneva(scale=0.02)
    fitted = FisherScore().fit(
        pl.DataFrame(data.X, [*data.feature_names]), data.y, tasks=data.tasks
    )
    figure = plot.body(fitted)
    bones, joints, lines, circles = rows_of(figure)
    assert (len(bones), len(joints)) == (15, 16)
    named = [name for row in [*lines, *circles] if row["task"] == 0 for name in split(row["what"])]
    order = np.argsort(-fitted.task_scores_[0], kind="stable")[:12]
    assert sorted(named) == sorted(data.feature_names[order])
    assert not plot.is_body(["x(pelvis)", "weight"])
    with pytest.raises(ValueError, match="SkeletonFeatures"):
        plot.body(fit(FisherScore()))


def split(text):
    return text.replace("), ", ")\n").split("\n")


def test_methods_keep_their_colours():
    some, all_of_them = series(["sfmc", "lsdf"])[0], series(METHODS)[0]
    for name, color in zip(some.domain, some.range, strict=True):
        assert dict(zip(all_of_them.domain, all_of_them.range, strict=True))[name] == color
    colors, shapes = series(["sfmc(alpha=2)", "sfmc", "package:Foreign"])
    assert len(set(colors.range)) == len(set(shapes.range)) == 3
    many = series([f"sfmc(alpha={i})" for i in range(20)])
    assert len(set(zip(many[0].range, many[1].range, strict=True))) == 20


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("vision", VISIONS)
def test_series_can_be_told_apart(theme, vision):
    seen = [lab(np.array(VISIONS[vision]) @ linear(COLORS[name][theme])) for name in SERIES]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) >= 20


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_stand_out(theme):
    ground = luminance(COLORS["paper"][theme])
    for names, least in ((SERIES, 2.95), (("ink", "soft"), 4.5)):
        for name in names:
            pair = sorted([ground, luminance(COLORS[name][theme])])
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= least, name


def linear(color):
    values = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def luminance(color):
    return linear(color) @ [0.2126, 0.7152, 0.0722]


def lab(color):
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = to_xyz @ np.clip(color, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
