"""``cosift reproduce``: the paper's experiments, with our numbers beside the printed ones."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cosift.cli import _data, _protocol, _run
from cosift.cli._common import Debug, Json, Output, Quiet, Seed
from cosift.cli._results import NoReport

if TYPE_CHECKING:
    from cosift.datasets import Dataset

__all__ = ["EXAMPLE", "reproduce"]

EXAMPLE = "cosift reproduce humaneva --data HumanEva --out humaneva-run"
# The paper takes two subjects of HumanEva.
SUBJECTS = ("S1", "S2")
# What --quick leaves of samples and training rows.
SHARES = {"ccv": 0.05, "nuswide": 0.01, "hmdb": 0.1, "humaneva": 0.2}
SYNTHETIC = (
    "SYNTHETIC DATA: a twin of {name}, made by a random generator. What follows says nothing about "
    "{name}, nor about the paper. For the real data: --data DIR."
)
QUICK = {"labeled_percent": (10, 50), "repeats": 2, "weights": (1e-2, 1, 1e2)}


class Name(StrEnum):
    """The paper's datasets."""

    ccv = "ccv"
    nuswide = "nuswide"
    hmdb = "hmdb"
    humaneva = "humaneva"


def reproduce(
    name: Annotated[Name, typer.Argument(help="Which of the paper's datasets.")],
    directory: _run.Out,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Its files as their authors distribute them.",
            show_default="a synthetic twin",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A small version: fewer samples, shares, repeats, weights."),
    ] = False,
    methods: _protocol.Methods = None,
    tuning: _protocol.Tuning = "oracle",
    split: _protocol.Split = "rows",
    anew: _run.Anew = False,
    retry_failed: _run.RetryFailed = False,
    workers: _run.Workers = None,
    scheduler: _run.Scheduler = None,
    no_report: NoReport = False,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Repeat an experiment of the paper under its settings, printed numbers beside ours.

    Without --data it runs on a synthetic twin of the dataset: of its size and shape, made by a
    random generator.  Numbers from a twin say nothing about the dataset.
    """
    with Output(json=json, quiet=quiet, debug=debug) as out:
        from cosift.cli._results import finish
        from cosift.experiment import Plan

        given = _protocol.settings(methods=methods, tuning=tuning, split=split, seed=seed)
        source = _twin(name, quick, seed) if data is None else _load(name, data)
        banner = [SYNTHETIC.format(name=name)] if data is None else []
        for line in (*banner, source.describe()):
            out.note(line)
        plan = Plan.paper(name, source, **(_quick(name) if quick else {}), **given)
        results = _run.execute(
            out,
            plan,
            source,
            directory,
            workers=workers,
            scheduler=scheduler,
            anew=anew,
            retry_failed=retry_failed,
            published=name.value,
        )
        out.show(*banner)
        finish(out, results, no_report=no_report, synthetic=data is None)


def _quick(name: str) -> dict[str, Any]:
    """The small version of the paper's settings."""
    from cosift.experiment import PAPER_SETTINGS

    paper = PAPER_SETTINGS[name]
    numbers = paper["n_features"]
    return {
        **QUICK,
        "n_train": round(paper["n_train"] * SHARES[name]),
        "n_features": (numbers[0], numbers[-1]),
    }


def _twin(name: str, quick: bool, seed: int) -> Dataset:
    from cosift.datasets import make_twin

    twin = make_twin(name, scale=SHARES[name] if quick else 1.0, seed=seed)
    return _two_subjects(twin) if name == "humaneva" else twin


def _two_subjects(data: Dataset) -> Dataset:
    import numpy as np

    return _data.take(data, np.flatnonzero(np.isin(np.asarray(data.tasks), SUBJECTS)))


def _load(name: str, path: Path) -> Dataset:
    from cosift import datasets

    match name:
        case "ccv":
            return datasets.load_ccv(path)
        case "nuswide":
            return datasets.load_nuswide(path)
        case "hmdb":
            return datasets.load_hmdb(path)
    archives = sorted(path.glob("*.npz"))
    return datasets.load_humaneva(archives[0] if len(archives) == 1 else path, subjects=SUBJECTS)
