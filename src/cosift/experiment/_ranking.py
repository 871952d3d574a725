"""Methods ranked within every task."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from cosift.experiment import significance as tests
from cosift.experiment._cube import Block, Cube, plain_frame

RANKS = {"method": pl.String, "mean_rank": pl.Float64, "p": pl.Float64, "p_holm": pl.Float64}


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranks over tasks and what tests say of them, see `conclusions.Conclusions`."""

    ranks: pl.DataFrame
    friedman: tests.Friedman | None
    critical_difference: float | None
    groups: tuple[tuple[str, ...], ...]


def rank(cube: Cube, block: Block) -> Ranking:
    """Rank the methods of a block within every task, by the mean over its repeats and shares."""
    methods = [cube.methods[i] for i in block.methods]
    k, n = len(methods), len(cube.tasks)
    if k < 2:
        return Ranking(plain_frame([], RANKS), None, None, ())
    values = cube.part(block).mean(axis=1)
    ranks = tests.mean_ranks(values.T)
    p = np.full((k, k), np.nan)
    for one, other in combinations(range(k), 2):
        p[one, other] = p[other, one] = tests.signed_rank(values[one] - values[other])
    p_holm = tests.holm_of_pairs(p)
    # Of equals the first in the alphabet, so that the order of methods means nothing.
    order = sorted(range(k), key=lambda i: (ranks[i], methods[i]))
    first = order[0]
    rows = [
        {
            "method": methods[i],
            "mean_rank": ranks[i],
            "p": p[first, i],
            "p_holm": p_holm[first, i],
        }
        for i in order
    ]
    frame = plain_frame(rows, RANKS)
    if n < 2:
        return Ranking(frame, None, None, ())
    critical = tests.critical_difference(k, n)
    together = tests.groups(ranks[order], critical)
    return Ranking(
        frame,
        tests.friedman(values.T) if k > 2 else None,
        critical,
        tuple(tuple(methods[order[i]] for i in group) for group in together),
    )
