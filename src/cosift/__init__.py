"""Feature selection with few labels and several related tasks."""

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
