"""Classes grouped into tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["classes_of", "task_of_class"]


def classes_of(table: Mapping[str, str]) -> dict[str, list[str]]:
    """Names of the classes of each task, from a table of `_originals`."""
    return {
        task: [entry.split()[0] for entry in entries.split(", ")] for task, entries in table.items()
    }


def task_of_class(
    groups: Mapping[str, Collection[str]], classes: Collection[str]
) -> dict[str, str]:
    """The task of each class that has one.

    Raises
    ------
    ValueError
        If a group names a class that does not exist or that another group has too, or none does.
    """
    if not any(groups.values()):
        raise ValueError(f"groups must name classes. Got {dict(groups)!r}.")
    task_of: dict[str, str] = {}
    for task, members in groups.items():
        for name in members:
            if name not in classes:
                raise ValueError(
                    f"groups must consist of {', '.join(sorted(classes))}. "
                    f"Got {name!r} in {task!r}."
                )
            if name in task_of:
                raise ValueError(
                    f"groups must not overlap. Got {name!r} in {task_of[name]!r} and {task!r}."
                )
            task_of[name] = task
    return task_of
