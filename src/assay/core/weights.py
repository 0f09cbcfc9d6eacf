"""Weighted draws: items drawn in proportion to their weight, by permanent numbers.

A metric over weighted items is the plain metric over impressions: item i owns w_i of them. Think of
every item as arriving again and again, by a Poisson process of rate w_i. Its j-th arrival comes at

    t_ij = (e_i1 + ... + e_ij) / w_i,    e_ij = -log(1 - v_ij),

where v_i1 in (0, 1) is made from the item's permanent number under the seed (`core.deck`), and v_ij
from its number under a seed that is derived for j. All arrivals of a stratum, merged by time, are
independent draws in proportion to weight, with replacement: the next arrival of superposed Poisson
processes is item i with probability w_i / sum(w), whatever came before [1]_.

So a weighted deck is dealt like any other, except that a card may come again. Items in the order of
their first arrivals are a sample in proportion to weight *without* replacement [2]_, and the first
M arrivals are all of items among the first M of these. With equal weights that order is the deck's.
And the numbers are permanent: where an item's weight changes a little from week to week, its
arrivals move a little, and most of what was judged is drawn again.

References
----------
.. [1] J. F. C. Kingman (1993). Poisson Processes. Oxford University Press, sections 2.2 and 2.3.
.. [2] P. S. Efraimidis and P. G. Spirakis (2006). Weighted random sampling with a reservoir.
   Information Processing Letters 97, 181-185.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import chain
from math import frexp, fsum, log1p

import numpy as np

from assay.core.deck import Id, number
from assay.core.forms import Metric
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints, Words

_BITS = 52  # of a number that make v, so that neither v nor 1 - v is ever rounded to 0
_UNIT = 2.0**-_BITS
_ALL = 50  # all weights together are at most 2^50 impressions
_LARGEST = 1024  # 2^1024 is more than float64 can hold

CardAt = Callable[[int], tuple[Id, int] | None]
"""The id and the weight of the card at a position of a deck; None if it is not there yet."""


def impressions(weights: Floats) -> Ints:
    """Weights as whole numbers of impressions, 2^49 to 2^50 in all.

    This is enough that drawing with or without replacement makes no difference, and few enough that
    sums are exact. The factor is a power of two: whole weights keep their proportions exactly,
    others to one impression. None above 0 gets none.

    `weights`, (N,): above 0, with a finite sum.

    >>> impressions(np.array([1.0, 2.0, 5.0])) // 2**46
    array([1, 2, 5])
    """
    return as_impressions(
        weights, factor_exponent(float(weights.sum()), weights.size, lambda: [weights])
    )


def as_impressions(weights: Floats, exponent: int) -> Ints:
    """Weights above 0 as impressions: times a power of two, rounded, at least 1.

    >>> as_impressions(np.array([0.1, 2.5, 3.0]), 1)
    array([1, 5, 6])
    """
    return np.maximum(np.rint(np.ldexp(weights, exponent)), 1.0).astype(np.int64)


def factor_exponent(total: float, size: int, weights: Callable[[], Iterable[Floats]]) -> int:
    """Power of two that scales weights to impressions, for any order of summation.

    It follows from the exact sum S: with 2^(e - 1) <= S < 2^e it is 50 - e. A sum in floating point
    is off by less than a part n 2^-52 of it, in any order. Only if a power of two lies within that
    is the side of S computed: `fsum`, which rounds once, gives the exact sign of the difference.

    `weights`: returns them all, in pieces.

    Ten times 0.1, which as a float is a little more than a tenth, is a little more than 1.

    >>> tenths = np.full(10, 0.1)
    >>> float(np.cumsum(tenths)[-1]), factor_exponent(np.cumsum(tenths)[-1], 10, lambda: [tenths])
    (0.9999999999999999, 49)
    """
    error = (size + 4) * 2.0**-52
    mantissa, exponent = frexp(total)
    low = exponent - (mantissa * (1 - error) < 0.5)
    high = exponent + (mantissa * (1 + error) >= 1)
    if low < high and low < _LARGEST:
        each = chain.from_iterable(piece.tolist() for piece in weights())
        low += fsum(chain(each, [-(2.0**low)])) >= 0
    return _ALL - low


def first_arrivals(numbers: Words, weights: Ints) -> Floats:
    """Time of each item's first arrival, by its number in the deck and its impressions.

    >>> first_arrivals(np.array([2**63, 2**63], dtype=np.uint64), np.array([1, 2])).round(4)
    array([0.6931, 0.3466])
    """
    v = ((numbers >> np.uint64(64 - _BITS)).astype(np.float64) + 0.5) * _UNIT
    return np.asarray(-np.log1p(-v) / weights)


def waiting_time(id: Id, weight: int, seed: int, j: int) -> float:
    """Time between an item's arrivals j - 1 and j (from 0), in plain Python.

    >>> once, twice = waiting_time("a", 1, seed=7, j=0), waiting_time("a", 2, seed=7, j=0)
    >>> once == 2 * twice
    True
    """
    v = ((number(id, seed_of_arrival(seed, j)) >> 64 - _BITS) + 0.5) * _UNIT
    return -log1p(-v) / weight


@lru_cache(maxsize=1024)
def seed_of_arrival(seed: int, j: int) -> int:
    """Seed under which an item's number gives its arrival j, from 0.

    Arrival 0 has the deck's own seed: the item with the smallest number arrives first.

    >>> seed_of_arrival(7, 0), seed_of_arrival(7, 1)
    (7, 5745583054860762835)
    """
    if j == 0:
        return seed
    text = f"assay-arrival-1:{seed}:{j}".encode("ascii")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") >> 1


class Arrivals:
    """The arrivals at one stratum, in order, computed on demand.

    `seed`: of the deck; `size`: the items of the stratum.

    >>> cards = [("b", 5), ("a", 1)]
    >>> arrivals = Arrivals(seed=3, size=2)
    >>> arrivals.reach(6, cards.__getitem__)
    True
    >>> arrivals.order
    [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]
    """

    def __init__(self, seed: int, size: int) -> None:
        self._seed, self._size = seed, size
        self._next: list[tuple[float, int, int]] = []  # each item's next arrival: when, who, which
        self._cards: list[tuple[Id, int]] = []  # from the top of the deck
        self._met = 0  # items that have arrived
        self.order: list[tuple[int, int]] = []
        """Each arrival: the card's position in the deck, and the number of its arrival."""

    def reach(self, count: int, card_at: CardAt) -> bool:
        """Find the first `count` arrivals; return whether the deck reaches that far."""
        while len(self.order) < count:
            # Cards lie in the order of their first arrivals: the next comes before all below it.
            if self._met == len(self._cards) < self._size:
                card = card_at(self._met)
                if card is None:
                    return False
                self._cards.append(card)
                self._expect(self._met, 0, 0.0)
            when, position, j = heappop(self._next)
            self.order.append((position, j))
            self._met += j == 0
            self._expect(position, j + 1, when)
        return True

    def _expect(self, position: int, j: int, since: float) -> None:
        id, weight = self._cards[position]
        heappush(self._next, (since + waiting_time(id, weight, self._seed, j), position, j))


# Draws with replacement from strata that are soon fully known.
#
# If impressions are drawn in proportion to weight (`core.weights`), a few items may have most of
# the weight: they are drawn repeatedly, at no cost. Draws with replacement never show that all is
# known. But a stratum whose items have all been looked at is known, as by a census, and `settle`
# puts that into the tallies: the statistics then treat it like any fully labelled stratum. In other
# strata the weight of the found outcomes and the remaining weight bound the possible outcomes.

_GRID = 2.0**20  # parts of a draw; so that judged and unjudged items add up to the last bit


@dataclass(frozen=True, eq=False)
class DistinctItems:
    """The items behind the draws, each counted once, by stratum; arrays of shape (H,)."""

    dealt: Floats  # all items that were drawn
    # judged, unjudged: those with a yes or no, and those that could not be judged.
    judged: Floats
    unjudged: Floats
    # judged_weight, outcome_weight, unjudged_weight: the impressions of the judged items, of those
    # with the outcome, and of the unjudged ones.
    judged_weight: Floats
    outcome_weight: Floats
    unjudged_weight: Floats

    def gathered(self, gather: Callable[[Floats], Floats]) -> "DistinctItems":
        """Copy of the counts, each aggregated by a function."""
        return DistinctItems(*map(gather, vars(self).values()))


@dataclass(frozen=True, eq=False)
class Settled:
    """Tallies and metric with fully known strata settled.

    `least` and `most` are the fewest and the most outcomes that each stratum can have.
    """

    tallies: Tallies
    metric: Metric
    least: Floats
    most: Floats


def settle(tallies: Tallies, metric: Metric, once: DistinctItems, items: Floats) -> Settled:
    """Tallies and metric in which fully known strata are known to the statistics, too.

    `items`, (H,): the items of each stratum.

    A stratum that is known is counted in draws instead of impressions: N is the number n + u of
    draws from it, and of these the same share is judged, and has the outcome, as of its
    impressions. A draw then weighs N_impressions / N_draws times as much in the metric.

    Two items of weights 3 and 1, drawn four times: a yes and a no. The share is 3/4 exactly.

    >>> from assay.core.forms import ratio
    >>> tallies = Tallies(N=[4000], n=[4], x=[2])
    >>> precision = ratio("precision", tallies.N, np.array([True]))
    >>> one, three = np.array([1000.0]), np.array([3000.0])
    >>> two = np.array([2.0])
    >>> once = DistinctItems(two, two, 0 * two, one + three, three, 0 * two)
    >>> known = settle(tallies, precision, once, items=two)
    >>> known.tallies.N, known.tallies.n, known.tallies.x, known.metric.value(known.tallies.x)
    (array([4.]), array([4.]), array([3.]), array(0.75))
    """
    known = once.judged + once.unjudged >= items
    N = np.where(known, tallies.n + tallies.u, tallies.N)
    share = N / tallies.N
    u = np.rint(once.unjudged_weight * share * _GRID) / _GRID
    u = np.where(known, u, tallies.u)
    n = np.where(known, N - u, tallies.n)
    rate = once.outcome_weight / np.maximum(once.judged_weight, 1.0)
    x = np.where(known, n * rate, tallies.x)
    return Settled(
        Tallies.trusted(N, n, x, u),
        metric.per(share),
        least=np.where(known, x, once.outcome_weight),
        most=np.where(known, x + u, tallies.N - once.judged_weight + once.outcome_weight),
    )
