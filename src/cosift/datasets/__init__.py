"""Data to try things on."""

from cosift.datasets.synthetic import RelatedTasks, make_related_tasks

__all__ = ["RelatedTasks", "make_related_tasks"]
