"""The selectors, one method a file; import them from `cosift`."""

from cosift.selectors.all_features import AllFeatures
from cosift.selectors.fisher_score import FisherScore
from cosift.selectors.foreign import ForeignSelector
from cosift.selectors.fsnm import FSNM
from cosift.selectors.fssi import FSSI
from cosift.selectors.l21_least_squares import L21LeastSquares
from cosift.selectors.lsdf import LSDF
from cosift.selectors.sfmc import SFMC
from cosift.selectors.sfss import SFSS
from cosift.selectors.spec import SPEC

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
