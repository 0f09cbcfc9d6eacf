"""Decks of items: the order in which a simulated evaluation deals them, sorted as far as it deals.

Of half a million items an evaluation deals a few thousand. The first of all are sorted once, and
fall into the decks of any strata in that order; a deck that is dealt further is sorted whole then.
"""

from itertools import pairwise

import numpy as np

from assay.core.types import Bools, Floats, Ints

_SORTED = 8_000  # items, about, that are sorted before any is dealt


class Order:
    """The order of items: by their numbers, after those that lie on top.

    `number`, (N,): random numbers from 0 to 1; `on_top`, (N,): items that come before all others of
    their stratum.

    >>> order = Order(np.array([0.9, 0.2, 0.4]), np.array([True, False, False]))
    >>> order.decks(np.array([0, 0, 0]), 1).deal(0, 0, 2)
    array([0, 1])
    """

    def __init__(self, number: Floats, on_top: Bools) -> None:
        self.number, self.on_top = number, on_top
        self.first = self.sorted(np.flatnonzero((number < _SORTED / number.size) | on_top))

    def sorted(self, items: Ints) -> Ints:
        """Return items in their order; `items` ascend."""
        by_number = items[np.argsort(self.number[items], kind="stable")]
        on_top = self.on_top[by_number]
        return np.concatenate([by_number[on_top], by_number[~on_top]])

    def decks(self, stratum: Ints, n_strata: int) -> "Decks":
        """Return the decks of strata.

        `stratum`, (N,): of each item.
        """
        return Decks(self, stratum, n_strata)


class Decks:
    """The items of each stratum, in an order; as `Order.decks` makes them."""

    def __init__(self, order: Order, stratum: Ints, n_strata: int) -> None:
        self._order, self._stratum = order, stratum
        its = stratum[order.first]
        by_stratum = np.argsort(its, kind="stable")
        ends = np.searchsorted(its[by_stratum], np.arange(n_strata + 1))
        cards = order.first[by_stratum]
        self._cards = [cards[start:end] for start, end in pairwise(ends)]
        self._whole = np.zeros(n_strata, dtype=np.bool_)

    def deal(self, stratum: int, dealt: int, count: int) -> Ints:
        """Return the next `count` items of a stratum, after so many that were dealt."""
        if dealt + count > self._cards[stratum].size and not self._whole[stratum]:
            self._cards[stratum] = self._order.sorted(np.flatnonzero(self._stratum == stratum))
            self._whole[stratum] = True
        return self._cards[stratum][dealt : dealt + count]

    def round(self, dealt: Ints, counts: Ints) -> Ints:
        """Return the items of a round: of each stratum the next, after so many that were dealt."""
        return np.concatenate(
            [self.deal(int(h), int(dealt[h]), int(counts[h])) for h in np.flatnonzero(counts)]
        )
