"""The score's distribution in a few thousand exact counts, whatever the number of items."""

from dataclasses import dataclass

import numpy as np

from assay.core.types import Floats, Ints
from assay.errors import InputError

__all__ = ["Profile", "as_scores", "profile_of", "refuse_non_finite"]

# Twice 2520, the smallest number that every K up to 10 divides: half of the cells are of equal
# count, so that strata of equal size come out exact for these K (and for 12, 14, 15, 18, 20).
_MAX_CELLS = 5040

# Counts are summed as float64 in places; up to here that is exact.
_MAX_TOTAL = 2**53


@dataclass(frozen=True, eq=False)
class Profile:
    """Sorted, disjoint score cells, each with the number of items in it.

    Parameters
    ----------
    low, high, mean : array, shape (M,)
        The smallest, the largest and the mean score in each cell.
    count : array of int64, shape (M,)
        The items in each cell; at least one.

    Examples
    --------
    >>> cells = np.array([0.1, 0.5, 0.9])
    >>> profile = Profile(low=cells, high=cells, mean=cells, count=np.array([2, 1, 4]))
    >>> profile.total, profile.exact
    (7, True)
    """

    low: Floats
    high: Floats
    mean: Floats
    count: Ints

    def __post_init__(self) -> None:
        """Refuse cells that are not finite, not in order or empty."""
        for name in ("low", "high", "mean"):
            scores = as_scores(getattr(self, name))
            refuse_non_finite(scores)
            if scores.shape != self.low.shape or scores.size == 0:
                raise InputError(
                    f"a profile's {name} has {scores.size} cells",
                    details="low, high, mean and count have one entry for each cell, at least one",
                )
        if self.count.dtype.kind not in "iu" or self.count.shape != self.low.shape:
            raise InputError(
                f"a profile's count is {self.count.dtype} of shape {self.count.shape}",
                details=f"it would be one whole number for each of the {self.low.size} cells",
            )
        if self.count.min() < 1 or self.count.sum(dtype=np.float64) > _MAX_TOTAL:
            raise InputError(
                f"a profile's counts run from {self.count.min()} to {self.count.max()}",
                details=f"each is at least 1, and their sum at most {_MAX_TOTAL}",
            )
        inside = (self.low <= self.mean) & (self.mean <= self.high)
        if not inside.all() or not (self.high[:-1] < self.low[1:]).all():
            raise InputError(
                "a profile's cells are not in order",
                details="low <= mean <= high in each cell, and high below the next cell's low",
            )

    @property
    def exact(self) -> bool:
        """Whether every cell is one single score."""
        return bool((self.low == self.high).all())

    @property
    def total(self) -> int:
        """The number of items."""
        return int(self.count.sum())

    @property
    def min(self) -> float:
        """The smallest score."""
        return float(self.low[0])

    @property
    def max(self) -> float:
        """The largest score."""
        return float(self.high[-1])


def profile_of(values: Floats, *, max_cells: int = _MAX_CELLS) -> Profile:
    """Count the scores in cells.

    Parameters
    ----------
    values : array, shape (N,)
        The items' scores, in any order; finite.
    max_cells : int
        The most cells that the profile may have.

    Returns
    -------
    Profile
        With at most `max_cells` distinct scores, one cell each. Otherwise the cells lie between
        edges of equal count and edges of equal width, half of `max_cells` each, so that both a
        pile-up and a sparse tail are resolved; a score shared by more items than two edges of
        equal count are apart has a cell of its own. Equal scores are never in different cells.

    Examples
    --------
    >>> profile_of(np.array([0.9, 0.1, 0.9, 0.5])).count
    array([1, 1, 2])
    """
    scores = as_scores(values)
    if scores.size == 0:
        raise InputError("there are no scores to profile", details="at least one is needed")
    if max_cells < 1:
        raise InputError(f"max_cells is {max_cells}", details="it must be at least 1")
    ordered = np.sort(scores)
    # Sorted, the infinite scores are at the ends and NaN is last: two look-ups see them all.
    if not np.isfinite(ordered[[0, -1]]).all():
        refuse_non_finite(scores)
    changes = ordered[1:] != ordered[:-1]
    if np.count_nonzero(changes) < max_cells:
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    else:
        starts = _cell_starts(ordered, max(1, max_cells // 2))
    count = np.diff(starts, append=ordered.size)
    # Adding zero turns -0.0, which sorts anywhere among the zeros, into 0.0.
    low = ordered[starts] + 0.0
    high = ordered[starts + count - 1] + 0.0
    return Profile(low=low, high=high, mean=_cell_means(ordered, starts, low, high), count=count)


def _cell_starts(ordered: Floats, half: int) -> Ints:
    """Return the positions in `ordered` at which the cells of a binned profile begin."""
    size = ordered.size
    at_equal_count = ordered[np.rint(np.arange(half) * (size / half)).astype(np.int64)]
    share = np.arange(1, half) / half
    at_equal_width = ordered[0] * (1 - share) + ordered[-1] * share  # max - min could overflow
    piled = at_equal_count[1:][at_equal_count[1:] == at_equal_count[:-1]]
    starts = np.concatenate(
        [
            np.searchsorted(ordered, at_equal_count, side="left"),
            np.searchsorted(ordered, at_equal_width, side="left"),
            np.searchsorted(ordered, piled, side="right"),
        ]
    )
    return np.unique(starts[starts < size])


def _cell_means(ordered: Floats, starts: Ints, low: Floats, high: Floats) -> Floats:
    """Return the mean of each cell, also where the sum of its scores overflows."""
    count = np.diff(starts, append=ordered.size)
    share = 1.0 / ordered.size
    with np.errstate(over="ignore"):
        means = np.add.reduceat(ordered * share, starts) / (count * share)
    return np.clip(means, low, high)


def as_scores(values: Floats) -> Floats:
    """Return the values as a line of float64 numbers, or say why they are none.

    Examples
    --------
    >>> as_scores(np.array([1, 2]))
    array([1., 2.])
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iuf" or array.ndim != 1:
        raise InputError(
            f"scores are {array.dtype} of shape {array.shape}",
            details="they must be numbers in one dimension",
        )
    return array.astype(np.float64, copy=False)


def refuse_non_finite(scores: Floats) -> None:
    """Raise an error that names the first score that is NaN or infinite, if there is one.

    Examples
    --------
    >>> refuse_non_finite(np.array([0.5, np.nan]))
    Traceback (most recent call last):
    assay.errors.InputError: score 1 is nan
    1 of 2 scores are not finite
    """
    finite = np.isfinite(scores)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        raise InputError(
            f"score {bad[0]} is {scores[bad[0]]}",
            details=f"{bad.size} of {scores.size} scores are not finite",
        )
