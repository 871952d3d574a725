"""The selectors, one method a file; import them from `cosift`."""

from cosift.selectors.fssi import FSSI
from cosift.selectors.l21_least_squares import L21LeastSquares
from cosift.selectors.sfmc import SFMC
from cosift.selectors.sfss import SFSS

__all__ = ["FSSI", "SFMC", "SFSS", "L21LeastSquares"]
