"""Runs that take turns, so that all of them meet the same machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

ROUNDS = 3
# What takes so many seconds runs once.
LONG = 20.0


def in_turn(*runs: Callable[[], tuple[float, Answer]]) -> list[tuple[float, Answer]]:
    """Call all runs in turn; of each, its least seconds and what it answered last.

    A run returns its seconds and an answer.
    """
    found = [one() for one in runs]
    for _ in range(ROUNDS - 1):
        for i, one in enumerate(runs):
            if found[i][0] < LONG:
                seconds, answer = one()
                found[i] = min(seconds, found[i][0]), answer
    return found
