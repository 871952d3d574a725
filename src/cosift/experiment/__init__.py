"""From data to evidence: many methods, draws and shares of labels, compared and kept."""

from cosift.experiment.backends import Dask, Processes, Serial
from cosift.experiment.conclusions import Conclusions, conclude
from cosift.experiment.plan import PAPER_METHODS, PAPER_SETTINGS, Plan, PlanError, Unit
from cosift.experiment.results import Results
from cosift.experiment.run import Progress, run
from cosift.experiment.store import LockedError, PlanChangedError, RunDirectoryError

__all__ = [
    "PAPER_METHODS",
    "PAPER_SETTINGS",
    "Conclusions",
    "Dask",
    "LockedError",
    "Plan",
    "PlanChangedError",
    "PlanError",
    "Processes",
    "Progress",
    "Results",
    "RunDirectoryError",
    "Serial",
    "Unit",
    "conclude",
    "run",
]
