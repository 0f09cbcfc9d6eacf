"""The array types that the formulas speak."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]

__all__ = ["Bools", "Floats", "Ints", "Words"]
