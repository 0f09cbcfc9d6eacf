"""The array types that the formulas speak, and the one way into them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]

LARGEST_EXACT = 2.0**53  # beyond it float64 can no longer count one by one


def amounts(name: str, value: ArrayLike) -> Floats:
    """Return finite numbers that are not negative as an array, or raise.

    Examples
    --------
    >>> amounts("room", [3, 4])
    array([3., 4.])
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must hold numbers, got {value!r}") from None
    if not (np.isfinite(array) & (array >= 0)).all():
        raise InputError(f"{name} must hold finite numbers of at least 0, got {value!r}")
    return array
