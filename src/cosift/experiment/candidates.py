"""What a method is tried with: the cells of its grid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sklearn.base import clone

from cosift.experiment.draw import Training, child_seed
from cosift.experiment.plan import Plan
from cosift.methods import make_method, seeded
from cosift.selectors import AllFeatures

__all__ = ["Candidates"]

WEIGHTS = ("alpha", "beta", "gamma")


class Candidates:
    """A method under every combination of its weights.

    A method with a ``grid`` is tried with all combinations of those weights that its text does
    not set; any other has one cell.

    Parameters
    ----------
    plan : Plan
        For the values of the weights, the size of cliques and the numbers of features.
    method : str
        One of the plan's methods.

    Attributes
    ----------
    free : tuple of str
        The weights that are tried.

    Examples
    --------
    >>> plan = Plan("tiny", "f00", ("sfss(alpha=0.1)",), 100, (5, 10), weights=(0.01, 1, 100))
    >>> Candidates(plan, "sfss(alpha=0.1)").free
    ('beta',)
    >>> Candidates(plan, "sfss(alpha=0.1)").middle
    {'beta': 1.0}
    """

    def __init__(self, plan: Plan, method: str) -> None:
        self._selector: Any = seeded(make_method(method), child_seed(plan.seed))
        self._values = sorted(plan.weights)
        parameters = self._selector.get_params()
        own = [name for name in parameters if not re.search(rf"\b{name}\s*=", method)]
        has_grid = hasattr(self._selector, "grid")
        self.free = tuple(name for name in WEIGHTS if name in own) if has_grid else ()
        if has_grid and "n_neighbors" in own:
            self._selector.set_params(n_neighbors=plan.n_neighbors)
        # All features are one set; any other number of them would be no choice of theirs.
        self._all = isinstance(self._selector, AllFeatures)
        self._numbers = tuple(sorted(plan.n_features))

    def numbers(self, training: Training) -> tuple[int, ...]:
        """Numbers of features to try, ascending."""
        return (training.X.shape[1],) if self._all else self._numbers

    @property
    def middle(self) -> dict[str, float]:
        """The cell in the middle of every range."""
        return dict.fromkeys(self.free, self._values[(len(self._values) - 1) // 2])

    def fits(self, training: Training) -> Iterator[Any]:
        """The fitted selector of every cell, in an order that depends on the cells alone."""
        if not self.free:
            yield self.fit(training, {})
            return
        grid = dict.fromkeys(self.free, self._values)
        yield from self._selector.grid(training.X, training.y, training.tasks, **grid)

    def fit(self, training: Training, cell: dict[str, float]) -> Any:
        """The fitted selector of one cell."""
        selector = clone(self._selector).set_params(**cell)
        return selector.fit(training.X, training.y, training.tasks)

    def cell(self, selector: Any) -> dict[str, float]:
        """The cell of a selector of `fits`."""
        parameters = selector.get_params()
        return {name: float(parameters[name]) for name in self.free}
