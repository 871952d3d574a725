"""Options that say how methods are compared: fields of `cosift.experiment.Plan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from cosift.cli._common import UsageError

__all__ = [
    "C",
    "Folds",
    "Labeled",
    "Methods",
    "NFeatures",
    "NNeighbors",
    "NTrain",
    "Repeats",
    "Split",
    "Tuning",
    "Weights",
    "settings",
]

PANEL = "How methods are compared"
OPENING, CLOSING, QUOTES = "([{", ")]}", "'\""


def _option(metavar: str, help: str, default: str) -> Any:
    return typer.Option(metavar=metavar, help=help, show_default=default, rich_help_panel=PANEL)


def _choice(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel=PANEL)


Methods = Annotated[
    str | None,
    _option(
        "NAME,...",
        "Methods, parameters in parentheses; from other packages as "
        "'sklearn.feature_selection:f_classif'.",
        "the paper's eight",
    ),
]
Labeled = Annotated[
    str | None,
    _option("P,...", "Percentages of the training rows that show labels.", "1,5,10,25,50,100"),
]
Repeats = Annotated[int | None, _option("N", "Independent draws of the training rows.", "5")]
Tuning = Annotated[
    Literal["cv", "oracle"],
    _choice(
        "What picks weights and numbers of features: cv, cross-validation on the labels shown; "
        "oracle, the test rows, as the paper does, for an upper bound."
    ),
]
Split = Annotated[
    Literal["rows", "groups", "official"] | None,
    _choice(
        "How training and test rows are told apart: by whole groups if there are any, else by rows."
    ),
]
NTrain = Annotated[float | None, _option("N", "Training rows, or their share if below 1.", "0.5")]
NFeatures = Annotated[
    str | None, _option("N,...", "Numbers of features to try.", "5% to all of them")
]
Weights = Annotated[
    str | None, _option("W,...", "Values to try for each of alpha, beta, gamma.", "1e-6,1e-4...1e6")
]
NNeighbors = Annotated[int | None, _option("K", "Samples of a clique of the graph.", "15")]
Folds = Annotated[int | None, _option("N", "Folds of cross-validation.", "3")]
C = Annotated[
    str | None, _option("C,...", "Of the linear SVM that judges; of several, one by folds.", "1")
]


def settings(
    *,
    methods: str | None = None,
    labeled: str | None = None,
    n_features: str | None = None,
    weights: str | None = None,
    svm_c: str | None = None,
    n_train: float | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Fields of a plan that were given, with the names and kinds that it has."""
    found: dict[str, Any] = {
        "methods": None if methods is None else _parts(methods),
        "labeled_percent": _numbers("--labeled", labeled, float),
        "n_features": _numbers("--n-features", n_features, int),
        "weights": _numbers("--weights", weights, float),
        "C": _numbers("--svm-c", svm_c, float),
        "n_train": int(n_train) if n_train is not None and n_train >= 1 else n_train,
        **others,
    }
    return {name: value for name, value in found.items() if value is not None}


def _numbers(option: str, text: str | None, kind: Callable[[str], Any]) -> list[Any] | None:
    if text is None:
        return None
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise UsageError(f"{option} must be {what} between commas. Got {text!r}.") from None


def _parts(text: str) -> list[str]:
    """What stands between commas, but for those within brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in QUOTES:
            quote = character
        depth += not quote and (character in OPENING) - (character in CLOSING)
        if character == "," and not quote and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
