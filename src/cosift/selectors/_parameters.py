"""Checks of hyper-parameters whose errors say what would do."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    integer: bool = False,
) -> None:
    """Raise a ValueError unless ``value`` is a finite number within its bounds.

    Examples
    --------
    >>> check_number("alpha", -1.0, above=0)
    Traceback (most recent call last):
        ...
    ValueError: alpha must be a number above 0. Got -1.0.
    """
    kind = Integral if integer else Real
    bounds = [("above", above), ("of at least", at_least), ("below", below)]
    limits = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
    # True and False are integers to Python, and no weight or count to anyone.
    number = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
    if not (
        number
        and np.isfinite(value)
        and (above is None or value > above)
        and (at_least is None or value >= at_least)
        and (below is None or value < below)
    ):
        what = "an integer" if integer else "a number"
        raise ValueError(f"{name} must be {what} {limits}. Got {value!r}.")


def check_option(name: str, value: Any, options: Iterable[str]) -> None:
    """Raise a ValueError unless ``value`` is one of a few names."""
    options = list(options)
    if not (isinstance(value, str) and value in options):
        known = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {known}. Got {value!r}.")


def check_count(value: Any) -> None:
    """Raise a ValueError unless ``value`` can be ``n_features_to_select``."""
    if value is None or (isinstance(value, str) and value == "nonzero"):
        return
    number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not (number and (int(value) >= 1 if isinstance(value, Integral) else 0 < value < 1)):
        raise ValueError(
            "n_features_to_select must be None (half the features), an integer of at least 1 "
            f"(a count), a float between 0 and 1 (a share) or 'nonzero'. Got {value!r}."
        )


def count_of(value: float | None, n_features: int) -> int:
    """How many of ``n_features`` a checked ``n_features_to_select`` means.

    Examples
    --------
    >>> count_of(None, 7), count_of(3, 7), count_of(99, 7), count_of(0.29, 100)
    (3, 3, 7, 29)
    """
    if isinstance(value, Integral):
        return min(int(value), n_features)
    share = 0.5 if value is None else float(value)
    # Rounded down, but 0.29 * 100 = 28.999999999999996 means 29.
    return max(1, int(share * n_features + 1e-9))
