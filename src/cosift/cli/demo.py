"""``cosift demo``: the main job on built-in data, with nothing to download."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cosift.cli import _data, _run
from cosift.cli._common import Debug, Json, Output, Quiet, Seed
from cosift.cli._results import NoReport

__all__ = ["EXAMPLE", "demo"]

EXAMPLE = "cosift demo --out my-demo"
ABOUT = (
    "Three people perform five actions. Which coordinates and distances of their joints tell the "
    "actions apart, if few moments are labelled? SYNTHETIC DATA: a generated body in place of "
    "HumanEva's, every eighth frame. Whole recordings are kept for the test, and weights are "
    "chosen by cross-validation on the labels shown."
)
# Few frames of many recordings: small enough for two cores and two minutes.
EVERY = 8
SETTINGS = {
    "labeled_percent": (5, 20, 50),
    "repeats": 3,
    "n_train": 0.7,  # of recordings: fewer, and folds had to part some
    "weights": (1e-2, 1, 1e2),
    "n_features": (10, 20, 40, 80, 168),
}


def demo(
    directory: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where results are kept. The same command continues what it holds.",
        ),
    ] = Path("cosift-demo"),
    anew: _run.Anew = False,
    workers: _run.Workers = None,
    scheduler: _run.Scheduler = None,
    no_report: NoReport = False,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """See it work: the paper's eight methods on a built-in problem, in a minute or two.

    Ends with a table, what it says in words, and a report to open in a browser.
    """
    with Output(json=json, quiet=quiet, debug=debug) as out:
        import numpy as np

        from cosift.cli._results import finish
        from cosift.datasets import make_humaneva
        from cosift.experiment import PAPER_METHODS, Plan

        whole = make_humaneva(seed=seed)
        data = _data.take(whole, np.arange(0, len(whole.y), EVERY))
        out.note(ABOUT)
        out.note(data.describe())
        plan = Plan.of(data, PAPER_METHODS, seed=seed, **SETTINGS)
        results = _run.execute(
            out, plan, data, directory, workers=workers, scheduler=scheduler, anew=anew
        )
        finish(out, results, no_report=no_report)
