"""A run as one page, with its figures and tables as files beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import vl_convert
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from cosift.experiment import Conclusions, Results, conclude
from cosift.experiment.metrics import METRICS
from cosift.plot._choices import ALL_TASKS, percent_name, percent_names
from cosift.plot._picks import told_apart
from cosift.plot._style import COLORS, in_order, series
from cosift.report._account import account
from cosift.report._data import VARIABLES, embedded, pack, packed_chart
from cosift.report._figures import Figure, make_figures
from cosift.report.tables import Table, make_tables, printed_numbers, write_tables

__all__ = ["write_report"]

ASSETS = files("cosift.report") / "assets"
SCRIPTS = ("data.js", "table.js", "figures.js", "page.js")


def write_report(results: Results, directory: str | Path | None = None) -> list[Path]:
    """Write ``report.html``, and its tables and figures as files.

    Parameters
    ----------
    results : Results
        Of a run, complete or not.
    directory : path, optional
        Where to; by default where the results are.

    Returns
    -------
    list of Path
        The page; tables (CSV, LaTeX, Markdown) of every metric; figures (SVG, PDF), as the page
        shows them at first.
    """
    directory = Path(directory or results.directory)
    found = _conclusions(results)
    figures = make_figures(results, found)
    written = [directory / "report.html"]
    directory.mkdir(parents=True, exist_ok=True)
    written[0].write_text(_page(results, found, figures), encoding="utf-8")
    for metric, own in found.items():
        beside = printed_numbers(results) if metric == "map" else None
        written += write_tables(results, own, directory / "tables", beside)
    return [*written, *_write_figures(figures, directory / "figures")]


def _conclusions(results: Results) -> dict[str, Conclusions]:
    """Of every metric that the run has; of the first at least."""
    present = results.metrics.drop_nulls("value")["metric"].unique().to_list()
    return {name: conclude(results, name) for name in METRICS if name in present or name == "map"}


def _page(results: Results, conclusions: Mapping[str, Conclusions], figures: list[Figure]) -> str:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string((ASSETS / "page.html").read_text(encoding="utf-8"))
    scripts = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return template.render(
        account(results, conclusions["map"]),
        figures=figures,
        style=Markup((ASSETS / "page.css").read_text(encoding="utf-8")),
        colors=Markup("".join(f"--{n}: light-dark({a}, {b}); " for n, (a, b) in COLORS.items())),
        charting=_charting_library(),
        scripts=Markup(scripts),
        data=dict(_data(results, conclusions, figures)),
    )


@lru_cache(maxsize=1)
def _charting_library() -> Markup:
    """Vega, Vega-Lite and Vega-Embed, as they may stand in a script element."""
    library = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return Markup(library.replace("</script", "<\\/script"))


def _data(
    results: Results, conclusions: Mapping[str, Conclusions], figures: list[Figure]
) -> Iterator[tuple[str, Markup]]:
    """What the page's scripts read, by the name of its element."""
    printed = printed_numbers(results)
    tables = {
        metric: make_tables(results, found, printed if metric == "map" else None)
        for metric, found in conclusions.items()
    }
    yield "run", embedded(_run(results, conclusions))
    yield "tables", embedded({metric: [*map(_table, own)] for metric, own in tables.items()})
    yield "units", embedded(pack(_units(results)))
    yield "metrics", embedded(pack(results.metrics))
    for figure in figures:
        if figure.charts:
            charts = {key: packed_chart(chart) for key, chart in figure.charts.items()}
            content = {
                "by": figure.by,
                "charts": charts,
                "columns": figure.columns,
                "stretches": figure.stretches,
            }
            yield f"figure-{figure.name}", embedded(content)


def _run(results: Results, conclusions: Mapping[str, Conclusions]) -> dict[str, Any]:
    plan = results.plan
    colors = series(plan.methods)[0]
    percents = [percent_name(p) for p in sorted(plan.labeled_percent)]
    return {
        "plan": json.loads(plan.to_json()),
        "data": {k: v for k, v in results.about.items() if k not in ("truth", "feature_names")},
        "sessions": results.sessions,
        "complete": results.complete,
        "percents": percents,
        "metrics": {metric: found.measure for metric, found in conclusions.items()},
        "summaries": {metric: found.summary for metric, found in conclusions.items()},
        "notes": {metric: found.notes for metric, found in conclusions.items()},
        "all_tasks": ALL_TASKS,
        "methods": {
            text: VARIABLES[color] for text, color in zip(colors.domain, colors.range, strict=True)
        },
        "failures": results.failures.to_dicts(),
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "legend": table.legend,
        "notes": table.notes,
        "heads": table.heads,
        "rows": [
            {
                "method": row.method,
                "published": row.published,
                "cells": [
                    cell and [cell.mean, cell.std, cell.n, cell.mark, cell.note]
                    for cell in row.cells
                ],
            }
            for row in table.rows
        ],
    }


def _units(results: Results) -> pl.DataFrame:
    """One row a unit with a result: its score, what was chosen, and what it cost."""
    keys = ["repeat", "labeled_percent", "method"]
    scores = results.means.filter(metric="map").select(*keys, score="value")
    names = ["alpha", "beta", "gamma", "n_features", "dual_gap", "seconds_total", "note"]
    rank = {text: i for i, text in enumerate(in_order(results.plan.methods))}
    return (
        results.choices.join(scores, on=keys, how="left")
        .sort(pl.col("method").replace_strict(rank, return_dtype=pl.Int64), *keys[:2])
        .select(
            "method",
            labelled=percent_names(),
            repeat=pl.col("repeat") + 1,
            score=pl.col("score").round_sig_figs(5),
            **{name: pl.col(name) for name in names},
        )
    )


def _write_figures(figures: list[Figure], directory: Path) -> Iterator[Path]:
    """Every figure once, or once for every value that it is made by."""
    directory.mkdir(exist_ok=True)
    for figure in figures:
        names = told_apart([_file_name(figure.name, key) for key in figure.charts])
        for name, chart in zip(names, figure.charts.values(), strict=True):
            svg = vl_convert.vegalite_to_svg(chart.to_dict(validate=False))
            path = directory / name
            svg_path, pdf_path = (path.with_name(f"{path.name}.{end}") for end in ("svg", "pdf"))
            svg_path.write_text(svg, encoding="utf-8")
            pdf_path.write_bytes(vl_convert.svg_to_pdf(svg))
            yield from (svg_path, pdf_path)


def _file_name(name: str, key: str) -> str:
    """A name for a file; texts of methods may be long, and hold what no such name can."""
    kept = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in key)
    return "-".join(filter(None, [name, kept[:80]]))
