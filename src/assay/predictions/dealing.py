"""The first cards of every deck, without sorting the decks."""

from collections.abc import Callable, Sequence

import numpy as np

from assay.core.types import Floats, Ints, Words
from assay.errors import PredictionsError

TOP = int(np.iinfo(np.uint64).max)
"""The largest number that an item can have."""


def first_cards(
    number: Words,
    stratum: Ints,
    counts: Ints,
    sizes: Ints,
    utf8: Callable[[Ints], Sequence[bytes]],
) -> list[Ints]:
    """Return where the first cards of each stratum are, in the order in which they are dealt.

    The numbers are spread evenly, so the first n of N lie below some n / N of their range. Only
    the items below a somewhat higher limit are sorted; a stratum that turns out short of cards,
    which happens once in many million deals, is tried again with a limit twice as high.

    Parameters
    ----------
    number, stratum : array, shape (N,)
        Each item's number in the deck, and its stratum.
    counts, sizes : array, shape (H,)
        For each stratum the cards wanted and the items held.
    utf8 : callable
        Returns the bytes of the ids of the items at some places; they order equal numbers.

    Examples
    --------
    >>> number = np.array([9, 3, 5, 4], dtype=np.uint64)
    >>> stratum, sizes = np.array([0, 0, 0, 1]), np.array([3, 1])
    >>> first_cards(number, stratum, np.array([2, 5]), sizes, lambda at: [b""] * at.size)
    [array([1, 2]), array([3])]
    """
    wanted = np.minimum(counts, sizes)
    share = first_shares(wanted, sizes)
    while True:
        below = np.flatnonzero(number <= limits(share)[stratum])
        held = np.bincount(stratum[below], minlength=sizes.size)
        short = (held < wanted) & (share < 1)
        if not short.any():
            break
        share[short] *= 2
    below = below[np.lexsort((number[below], stratum[below]))]
    if (number[below[1:]] == number[below[:-1]]).any():
        order = zip(stratum[below], number[below], utf8(below), below, strict=True)
        below = np.array([place for *_, place in sorted(order)], dtype=np.int64)
    ends = np.cumsum(held)
    return [
        below[end - size : end][:count] for end, size, count in zip(ends, held, wanted, strict=True)
    ]


def first_shares(wanted: Ints, sizes: Ints) -> Floats:
    """Return the share of all numbers below which the cards wanted of each stratum surely lie.

    Six standard deviations above what is expected: a limit that is too low costs a second look.

    Examples
    --------
    >>> first_shares(np.array([100]), np.array([17_600]))
    array([0.01])
    """
    share: Floats = (wanted + 6 * np.sqrt(wanted) + 16) / sizes
    return share


def limits(share: Floats) -> Words:
    """Return the number below which a share of all numbers lies.

    Examples
    --------
    >>> limits(np.array([0.5, 1.0]))
    array([ 9223372036854775808, 18446744073709551615], dtype=uint64)
    """
    whole = share >= 1
    return np.where(whole, TOP, (np.where(whole, 0, share) * 2.0**64).astype(np.uint64))


def checked_counts(counts: Sequence[int], n_strata: int) -> Ints:
    """Return the cards wanted of each stratum, or say why they are not that.

    Examples
    --------
    >>> checked_counts([3, 0], 2)
    array([3, 0])
    """
    wanted = np.array(counts)
    if wanted.shape != (n_strata,) or wanted.dtype.kind not in "iu" or wanted.min() < 0:
        raise PredictionsError(
            f"counts are {counts!r}",
            details=f"there is one for each of the {n_strata} strata, at least 0",
        )
    return wanted
