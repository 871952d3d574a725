"""What methods that score one feature at a time have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from cosift._typing import Array, Indices, Matrix
from cosift.labels import Task
from cosift.selectors._base import TaskSelector


class ScoreSelector(TaskSelector):
    """Base class of selectors that score every feature within every task.

    A subclass says in ``_score`` what the scores of one task are, larger being better.  What it
    computes of the samples alone goes into ``_prepare``, which runs once for tasks that share
    their rows.
    """

    @abstractmethod
    def _score(self, samples: Matrix, task: Task, prepared: Any) -> Array:
        """Scores of all features, from the rows of one task (array or CSR)."""

    def _prepare(self, samples: Matrix) -> Any:
        """What of a task depends on its samples alone."""
        return None

    def _fit_tasks(self, X: Matrix, tasks: list[Task]) -> None:
        X = X if isinstance(X, np.ndarray) else X.tocsr()
        task_scores = np.empty((len(tasks), X.shape[1]))
        rows: Indices | None = None
        for index, task in enumerate(tasks):
            if rows is None or not np.array_equal(rows, task.rows):
                rows = task.rows
                samples = X if len(rows) == X.shape[0] else X[rows]
                prepared = self._prepare(samples)
            task_scores[index] = self._score(samples, task, prepared)
        scores = np.mean([scaled(own) for own in task_scores], axis=0)
        self._rank(tasks, task_scores, scores)


def scaled(scores: Array) -> Array:
    """Scores from 0 to 1: divided by the largest, shifted first only if one is negative.

    So 0, which says that a feature is worth nothing, stays 0.

    Examples
    --------
    >>> scaled(np.array([0.0, 1.0, 4.0])).tolist(), scaled(np.array([-1.0, 0.0, 3.0])).tolist()
    ([0.0, 0.25, 1.0], [0.0, 0.25, 1.0])
    """
    lifted = scores - min(0.0, scores.min())
    top = lifted.max()
    return np.asarray(lifted / top if top > 0 else lifted)


def class_codes(task: Task) -> Indices:
    """The position in ``task.classes`` of every row's class, -1 where unlabelled: (n,)."""
    # A yes/no column has two classes and one column of labels.
    codes = task.Y[:, 0] if task.Y.shape[1] == 1 else task.Y.argmax(axis=1)
    return np.where(task.labeled, codes, -1).astype(np.intp)
