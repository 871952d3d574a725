"""Figures of a run or a fitted selector, as charts of `altair`: the same that the report shows.

Charts show themselves in notebooks, with lists to choose task, share of labels and method from;
``chart.save("figure.svg")`` writes one.
"""

from cosift.plot.body import body, is_body
from cosift.plot.convergence import convergence, gaps
from cosift.plot.cost import memory, seconds
from cosift.plot.features import overlap, stability, top_features
from cosift.plot.ranks import critical_difference
from cosift.plot.scores import feature_counts, learning_curves
from cosift.plot.weights import sensitivity

__all__ = [
    "body",
    "convergence",
    "critical_difference",
    "feature_counts",
    "gaps",
    "is_body",
    "learning_curves",
    "memory",
    "overlap",
    "seconds",
    "sensitivity",
    "stability",
    "top_features",
]
