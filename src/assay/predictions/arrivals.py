"""The first to arrive of items with weights (`assay.core.weights`), and how to ask for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from assay.core import deck
from assay.core.types import Floats, Ints, Words
from assay.core.weights import first_arrivals

_NUMBERS = 2.0**64
# An item's v times 2^64 is its number to within half of the 12 bits that v leaves out.
_LEFT_OUT = 2.0**11
# More than any logarithm, quotient or product of a few roundings is off by.
_ROUNDED = 1e-9


def first_to_arrive(
    # number, weights, stratum, (N,): each item's number in the deck, its impressions and its
    # stratum.
    number: Words,
    weights: Ints,
    stratum: Ints,
    counts: Ints,  # (H,): the items wanted of each stratum
    utf8: Callable[[Ints], Sequence[bytes]],
) -> list[Ints]:
    """Return where the items of each stratum are that arrive first, in their order.

    >>> number = np.array([2**61, 2**62, 2**63], dtype=np.uint64)
    >>> weights, stratum = np.array([1, 1, 9]), np.zeros(3, dtype=np.int64)
    >>> first_to_arrive(number, weights, stratum, np.array([2]), lambda at: [b""] * at.size)
    [array([2, 0])]
    """
    when = first_arrivals(number, weights)
    decks = []
    for each, count in enumerate(counts.tolist()):
        rows = np.flatnonzero(stratum == each)
        if 0 < count < rows.size:
            last = np.partition(when[rows], count - 1)[count - 1]
            rows = rows[when[rows] <= last]
        facts = zip(when[rows].tolist(), number[rows].tolist(), utf8(rows), rows, strict=True)
        order = [row for *_, row in sorted(facts)][:count]
        decks.append(np.array(order, dtype=np.int64))
    return decks


@dataclass(frozen=True, eq=False)
class Fetched:
    """Items that were found: their numbers in the deck, strata and impressions, shape (n,)."""

    number: Words
    stratum: Ints
    weights: Ints


class ArrivalTimes:
    """A time for each stratum by which the items wanted have arrived; later where they have not.

    An engine need not compute a logarithm. As -log(1 - v) >= v, whoever has come by the time T has
    v <= w T, and that is what it is asked for: all of these, and some that come later. When each of
    them came is computed in numpy, as in memory.

    `wanted`, `weights`, `sizes`, (H,): of each stratum the items that are wanted, its impressions,
    and the items that it holds. If all of these are wanted, there is nothing to wait for: the
    lightest may come very late.

    >>> times = ArrivalTimes(np.array([4]), np.array([2**20]), np.array([900]))
    >>> (times.limits * 2**20 / 2**64).round(6)  # in that time so many impressions are expected
    array([32.])
    """

    def __init__(self, wanted: Ints, weights: Ints, sizes: Ints) -> None:
        self._wanted, self._weights = wanted, weights
        soon = _surely(wanted) / np.maximum(weights, 1)
        self._time = np.where(wanted < sizes, soon, np.inf)

    @property
    def limits(self) -> Floats:
        """What v * 2^64 of an impression is at most, with room for what is rounded.

        2^64 is all items of a stratum, as each has an impression at least.
        """
        return np.minimum(self._time * _NUMBERS * (1 + _ROUNDED) + _LEFT_OUT, _NUMBERS)

    def wait(self, found: Fetched) -> bool:
        """Choose a later time for strata that are short, and tell whether there are any.

        A stratum is short while fewer than are wanted have come: others, which were not found, may
        come before the last of them. The heavy ones have been found by then; those that are missing
        are among the others, whose weight is what the found leave. The time is doubled at least,
        so that this comes to an end.
        """
        stratum, weights = found.stratum, found.weights
        came = stratum[first_arrivals(found.number, weights) <= self._time[stratum]]
        held = np.bincount(came, minlength=self._wanted.size)
        short = (held < self._wanted) & (self.limits < _NUMBERS)
        seen = np.zeros_like(self._weights)
        np.add.at(seen, stratum, weights)
        missing = _surely(np.maximum(self._wanted - held, 0))
        later = self._time + missing / np.maximum(self._weights - seen, 1)
        self._time = np.where(short, np.maximum(later, 2 * self._time), self._time)
        return bool(short.any())


def _surely(wanted: Ints) -> Floats:
    """Return so many arrivals that the wanted are among them: six standard deviations more."""
    return np.asarray(wanted + 6 * np.sqrt(wanted) + 16)


# A text that changes when a weight does, or who has it.


def weight_words(digest: Words, weights: Ints) -> Words:
    """Return a word for each item and its impressions, ``h(d(id) xor h(impressions))``."""
    return deck.mix(digest ^ deck.mix(weights.astype(np.uint64)))


def with_weights(fingerprint: str, word: int) -> str:
    """Return a fingerprint that also tells of weights, by the exclusive or of their words.

    >>> with_weights("assay-predictions-2:tail:3:00ff", 7)
    'assay-predictions-2:tail:3:00ff:weights-...'
    """
    seen = sha256(np.uint64(word).tobytes()).hexdigest()[:8]
    return f"{fingerprint}:weights-{seen}"
