"""The first cards of every deck, without sorting the decks."""

from collections.abc import Callable, Sequence

import numpy as np

from assay.core.types import Ints, Words

__all__ = ["first_cards"]

_TOP = np.iinfo(np.uint64).max


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
    # Six standard deviations above the number of items expected below the limit.
    share = (wanted + 6 * np.sqrt(wanted) + 16) / sizes
    while True:
        below = np.flatnonzero(number <= _limits(share)[stratum])
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


def _limits(share: np.ndarray) -> Words:
    """Return the number below which a share of all numbers lies."""
    whole = share >= 1
    return np.where(whole, _TOP, (np.where(whole, 0, share) * 2.0**64).astype(np.uint64))
