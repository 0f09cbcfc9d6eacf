"""How many scores there are at each of a few thousand places, and from where to where they run."""

from collections.abc import Iterator

import numpy as np

from assay.core.types import Floats, Ints

# What is made of so many scores on the way stays in a processor's cache; of all, it would not even
# stay in the memory of a small machine.
_AT_ONCE = 1 << 15


def pieces(size: int) -> Iterator[slice]:
    """Cut a line of that many items into pieces that are worked on one after the other.

    Examples
    --------
    >>> list(pieces(40_000))
    [slice(0, 32768, None), slice(32768, 40000, None)]
    """
    for start in range(0, size, _AT_ONCE):
        yield slice(start, min(start + _AT_ONCE, size))


class Ranges:
    """The number of scores at each place, and the smallest and the largest of them.

    Parameters
    ----------
    places : int
        Places are numbered from 0.

    Examples
    --------
    >>> ranges = Ranges(3)
    >>> ranges.add(np.array([2, 0, 2]), np.array([0.9, 0.1, 0.8]))
    >>> ranges.count, ranges.low[2], ranges.high[2]
    (array([1, 0, 2]), np.float64(0.8), np.float64(0.9))
    """

    def __init__(self, places: int) -> None:
        self.count: Ints = np.zeros(places, dtype=np.int64)
        self.low: Floats = np.full(places, np.inf)
        self.high: Floats = np.full(places, -np.inf)

    def add(self, place: Ints, values: Floats) -> None:
        """Count scores, each at its place."""
        self.count += np.bincount(place, minlength=self.count.size)
        np.minimum.at(self.low, place, values)
        np.maximum.at(self.high, place, values)
