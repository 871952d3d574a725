"""Feature selection with few labels and several related tasks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cosift.selectors import (
        FSNM,
        FSSI,
        LSDF,
        SFMC,
        SFSS,
        SPEC,
        AllFeatures,
        FisherScore,
        ForeignSelector,
        L21LeastSquares,
    )

__all__ = [
    "FSNM",
    "FSSI",
    "LSDF",
    "SFMC",
    "SFSS",
    "SPEC",
    "AllFeatures",
    "FisherScore",
    "ForeignSelector",
    "L21LeastSquares",
]


def __getattr__(name: str) -> Any:
    # Not before somebody asks: they bring scikit-learn along, which `cosift --help` need not wait
    # for.
    if name in __all__:
        return getattr(import_module("cosift.selectors"), name)
    raise AttributeError(f"module 'cosift' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
