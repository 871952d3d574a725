"""What the page says in words: question and answer, data, what is missing, how to do it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from cosift.experiment import Conclusions, Results
from cosift.experiment._sentences import p_value, remarks
from cosift.experiment.draw import child_seed
from cosift.experiment.significance import LEVEL
from cosift.plot._choices import percent_name

__all__ = ["account"]

TUNING = {
    "cv": "weights chosen on the labelled training rows alone, by cross-validation",
    "oracle": "weights picked on the test rows, as in the paper: an upper bound",
}
# Classes of a task that are named one by one.
MANY = 12


def account(results: Results, found: Conclusions) -> dict[str, Any]:
    """What the template of the page needs, but for figures and tables.

    Parameters
    ----------
    results : Results
        Of a run, complete or not.
    found : Conclusions
        Of its first metric.
    """
    return {
        "name": results.plan.dataset,
        "question": _question(results),
        "answer": found.summary,
        "notes": found.notes,
        "tiles": list(_tiles(results, found)),
        "size": _size(results),
        "cautions": list(_cautions(results)),
        "tasks": list(_tasks(results)),
        "shares": list(_shares(results)),
        "provenance": results.about["provenance"],
        "progress": _progress(results),
        "failures": results.failures.to_dicts(),
        **_origin(results),
    }


def _question(results: Results) -> str:
    plan = results.plan
    ends = [percent_name(p) for p in (min(plan.labeled_percent), max(plan.labeled_percent))]
    labels = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    if len(plan.methods) == 1:
        start = f"How well do the features that {plan.methods[0]} selects serve a linear classifier"
    else:
        start = f"Which of {len(plan.methods)} methods selects the features that serve a linear "
        start += "classifier best"
    return f"{start} on {plan.dataset}, with {labels} of the labels shown?"


def _tiles(results: Results, found: Conclusions) -> Iterator[tuple[str, str, str]]:
    """Name, value and remark of the answer's parts."""
    overall = found.paired.filter(pl.col("labeled_percent").is_null()).sort("difference", "method")
    if found.best is not None:
        mean = found.table.filter(
            pl.col("labeled_percent").is_null(), pl.col("task").is_null(), method=found.best
        )
        yield "Highest score", found.best, f"{found.measure} {mean['mean'][0]:.3f}"
        row = overall.row(0, named=True)
        yield "Lead", f"{row['difference']:.3f}", f"over {row['method']}, which comes next"
        if row["p_holm"] is None:
            yield "Significant?", "unknown", "the repeats do not allow a test"
        else:
            verdict = "yes" if row["p_holm"] <= LEVEL else "no"
            yield "Significant?", verdict, f"{p_value(row['p_holm'])}, corrected for all pairs"
    yield "Tuning", results.plan.tuning, TUNING[results.plan.tuning]


def _size(results: Results) -> str:
    about = results.about
    counts = {
        "sample": about["n_samples"],
        "feature": about["n_features"],
        "task": len(about["tasks"]),
    }
    return ", ".join(f"{n:,} {name}{'' if n == 1 else 's'}" for name, n in counts.items())


def _cautions(results: Results) -> Iterator[tuple[str, str]]:
    """What a reader must know before any number: heading and text."""
    provenance = results.about["provenance"]
    source = provenance.get("source", "")
    if source.startswith("SYNTHETIC"):
        yield (
            "Synthetic data",
            f"It was {source.removeprefix('SYNTHETIC: ')}; {provenance['remark']}.",
        )
    for text in results.about["leaks"]:
        yield "Leakage", text
    for remark in remarks(results.choices):
        yield "Choice of weights", remark
    if not results.complete:
        done, total = len(results.choices), len(results.plan.units())
        failed = len(results.failures)
        left = total - done - failed
        yield (
            "Partial results",
            f"{done} of {total} units have a result, {failed} failed, {left} have not been run. "
            "What follows rests on those that have one; the table under Data says which.",
        )


def _tasks(results: Results) -> Iterator[dict[str, Any]]:
    for name, sizes in results.about["classes"].items():
        total = sum(sizes.values())
        named = [f"{label} {n}" for label, n in sizes.items()]
        more = [f"and {len(named) - MANY} more"] if len(named) > MANY else []
        yield {
            "name": name,
            "n": total,
            "n_classes": len(sizes),
            "classes": ", ".join([*named[:MANY], *more]),
            "shares": [n / total for n in sizes.values()] if total else [],
            "rarest": min(sizes.values(), default=0) / total if total else 0,
        }


def _shares(results: Results) -> Iterator[dict[str, str]]:
    """Rows with labels, for training and for the test, by share of labels."""
    columns = ("n_labeled", "n_train", "n_test")
    for percent in sorted(results.plan.labeled_percent):
        own = results.choices.filter(labeled_percent=percent)
        yield {
            "share": percent_name(percent),
            **{name: _range(own[name].drop_nulls()) for name in columns},
        }


def _range(values: pl.Series) -> str:
    ends = sorted({*values.to_list()})
    return "–".join(f"{end:,}" for end in dict.fromkeys([*ends[:1], *ends[-1:]])) or "not known yet"


def _progress(results: Results) -> dict[str, Any] | None:
    """Units with a result by method and share of labels, of a run that lacks some."""
    if results.complete:
        return None
    plan = results.plan
    shares = sorted(plan.labeled_percent)
    done = results.choices.group_by("method", "labeled_percent").len().rows()
    counts = {(method, percent): n for method, percent, n in done}
    return {
        "heads": [percent_name(p) for p in shares],
        "repeats": plan.repeats,
        "rows": [(m, [counts.get((m, p), 0) for p in shares]) for m in plan.methods],
    }


def _origin(results: Results) -> dict[str, Any]:
    """Commands, settings, versions and seeds."""
    sessions, plan = results.sessions, results.plan
    settings = json.loads(plan.to_json())
    commands = dict.fromkeys(own["command"] for own in sessions if "command" in own)
    environments = []
    for own in sessions:
        versions = ", ".join(f"{name} {text}" for name, text in own.get("versions", {}).items())
        system = f"Python {own.get('python', '?')}, {own.get('system', 'unknown system')}"
        ran = f"{own.get('backend', '?')}, workers: {own.get('workers', '?')}, threads in each: "
        ran += f"{own.get('threads', '?')}"
        environments.append((own["started"], versions, f"{system}; {ran}"))
    return {
        "commands": list(commands),
        "settings": [
            (name, ", ".join(f"{v}" for v in value) if isinstance(value, list) else f"{value}")
            for name, value in settings.items()
        ],
        "plan": json.dumps(settings),
        "environments": environments,
        "seeds": [child_seed(plan.seed, repeat) for repeat in range(plan.repeats)],
    }
