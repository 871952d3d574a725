"""Names for the array types that signatures repeat."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Matrix = Any  # a dense array or a SciPy sparse array or matrix, which have no common type
