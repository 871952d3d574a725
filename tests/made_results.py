"""Results with chosen values, kept and read back as those of a real run are."""

from dataclasses import replace

import numpy as np
from experiments import tiny_data, tiny_plan

from cosift.experiment import Results
from cosift.experiment.evaluate import Failure, Measurement
from cosift.experiment.store import Store

HALF = {"n_train": 50, "n_test": 50}


def made_results(
    directory,
    values,
    *,
    methods,
    shares=(10.0,),
    tasks=None,
    metric="map",
    failed=(),
    dataset="made",
    **settings,
):
    """Results whose metric is ``values[method, repeat, share, task]``; NaN is a unit not run.

    Units in ``failed`` (method, repeat, share) failed.
    """
    values = np.asarray(values, dtype=float)
    _, n_repeats, _, n_tasks = values.shape
    plan = tiny_plan(tiny_data(), labeled_percent=shares, repeats=n_repeats, **settings)
    plan = replace(plan, methods=tuple(methods), dataset=dataset)
    tasks = tasks or [f"task {i}" for i in range(n_tasks)]
    about = {"name": dataset, "tasks": tasks}
    with Store.open(directory, plan, about) as store:
        store.begin({})
        for unit in plan.units():
            place = (methods.index(unit.method), unit.repeat, shares.index(unit.labeled_percent))
            own = values[place]
            if place in failed:
                store.add(Failure(unit, "ValueError: not today", ""))
            elif not np.isnan(own).all():
                summary = {**HALF, "cell": {}, "seconds": {}}
                store.add(Measurement(unit, summary, [{metric: float(v)} for v in own], {}))
    return Results(directory)
