"""Feature selection with few labels and several related tasks."""

from cosift.selectors import FSSI, SFMC, SFSS, L21LeastSquares

__all__ = ["FSSI", "SFMC", "SFSS", "L21LeastSquares"]
