"""``cosift compare``: methods on a table, with fewer and more labels."""

from __future__ import annotations

from cosift.cli import _data, _protocol, _run
from cosift.cli._common import Debug, Json, Output, Quiet, Seed
from cosift.cli._results import NoReport

__all__ = ["EXAMPLE", "compare"]

EXAMPLE = (
    "cosift compare sensors.csv --target state --task person --methods sfmc,fisher-score "
    "--labeled 5,25 --out sensors-run"
)


def compare(
    data: _data.Files,
    directory: _run.Out,
    target: _data.Target = None,
    task: _data.Task = None,
    group: _data.Group = None,
    ignore: _data.Ignore = None,
    unlabeled: _data.Unlabeled = "-1",
    scaling: _data.Scaling = "standard",
    methods: _protocol.Methods = None,
    labeled: _protocol.Labeled = None,
    repeats: _protocol.Repeats = None,
    tuning: _protocol.Tuning = "cv",
    split: _protocol.Split = None,
    n_train: _protocol.NTrain = None,
    n_features: _protocol.NFeatures = None,
    weights: _protocol.Weights = None,
    n_neighbors: _protocol.NNeighbors = None,
    folds: _protocol.Folds = None,
    svm_c: _protocol.C = None,
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
    """Compare methods on a table: whose features serve a classifier best, with how few labels.

    Rows are drawn for training, labels hidden, features selected for every task, and a linear SVM
    judged on the other rows.  Stop it at any moment: the same command continues.
    """
    with Output(json=json, quiet=quiet, debug=debug) as out:
        from cosift.cli._results import finish
        from cosift.experiment import PAPER_METHODS, Plan

        given = _protocol.settings(
            methods=methods,
            labeled=labeled,
            repeats=repeats,
            tuning=tuning,
            split=split,
            n_train=n_train,
            n_features=n_features,
            weights=weights,
            n_neighbors=n_neighbors,
            folds=folds,
            svm_c=svm_c,
            scaling=scaling,
            seed=seed,
        )
        table = _data.load(data, target, task, group, ignore)
        table = _data.labeled_rows(out, table, unlabeled)
        out.note(table.describe())
        plan = Plan.of(table, given.pop("methods", PAPER_METHODS), **given)
        results = _run.execute(
            out,
            plan,
            table,
            directory,
            workers=workers,
            scheduler=scheduler,
            anew=anew,
            retry_failed=retry_failed,
        )
        finish(out, results, no_report=no_report)
