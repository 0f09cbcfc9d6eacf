"""Bins of a score, by a rule that every engine computes alike.

The rules, in full (IEEE 754 double precision, each operation correctly rounded)::

    probability:  bin = rint(2047 (sqrt(x) - sqrt(1 - x)))                   for 0 <= x <= 1
    tail:         bin = rint(2047 (r(x) - r(1 - x)))                         for 0 <= x <= 1
    margin:       bin = rint(16383 (s(-x) - s(x)))                           for any finite x

    r(x) = sqrt(sqrt(sqrt(x)))       s(x) = 1 / (1 + r(max(x, 0)))

rint rounds halves to the even neighbour. They use only +, -, *, / and sqrt, because these are the
same bit for bit in numpy, DuckDB and Java; a logarithm is not. Each step is monotone, also after
rounding: a larger score never has a smaller bin.

Scores of a classifier pile up near 0 and 1. There the first rule's bins are narrow: the outermost
hold what is within 6e-8 of an end, those in the middle are 1/2896 wide. Where that is not enough,
as for a rare class whose scores are mostly below 1e-6, the second one is used: its bins are 3% of
the distance to the end at 1e-9, and 1/939 wide in the middle. `assay.core.profile` decides when.
The third resolves scores of any size: its bins are 0.2% wide around 1, 0.4% around 1e6 and 1e-6,
1.7% around 1e12. Scores closer together than that, such as margins of 10,000 ± 50, share few bins.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from assay.core.types import Bools, Floats, Ints

Scale = Literal["probability", "margin"]

SCALES: tuple[str, ...] = get_args(Scale)


def scale_of(low: float, high: float) -> Scale:
    """Whether scores are probabilities or margins, by their range.

    Scores that all lie in [0, 1] count as probabilities. The guess is printed and can be
    overridden, because margins may fall into that range, too.

    >>> scale_of(0.02, 0.97), scale_of(-3.1, 4.5)
    ('probability', 'margin')
    """
    return "probability" if low >= 0.0 and high <= 1.0 else "margin"


Rule = Literal["probability", "tail", "margin"]
Singles = np.ndarray[tuple[int], np.dtype[np.float32]]
Places = np.ndarray[tuple[int], np.dtype[np.uint16]]

PROBABILITY_STEPS = 2047
MARGIN_STEPS = 16383
LARGEST_BIN = max(PROBABILITY_STEPS, MARGIN_STEPS)


def bins_of(values: Floats, rule: Rule) -> Ints:
    """Bin of each score.

    `values`, (N,): finite, of float64 or float32; between 0 and 1 unless the rule is for margins;
    `rule`: the one for the scores of the whole population.

    >>> bins_of(np.array([0.0, 1e-6, 0.5, 1.0]), "probability")
    array([-2047, -2045,     0,  2047])
    >>> bins_of(np.array([-3.0, 0.0, 3.0, 1e300]), "margin")
    array([-8753,     0,  8753, 16383])
    """
    if rule == "probability":
        return _nearest(values).astype(np.int64)
    values = values.astype(np.float64, copy=False)
    if rule == "tail":
        spread = PROBABILITY_STEPS * (_root(values) - _root(1.0 - values))
    else:
        # Of s(-x) and s(x) one is exactly 1: the other, of the magnitude, is all that is computed.
        shrunk = 1.0 / (1.0 + _root(np.abs(values)))
        spread = MARGIN_STEPS * np.copysign(1.0 - shrunk, values)
    bins: Ints = np.rint(spread).astype(np.int64)
    return bins


# In float32, whose roots take a quarter of the time, 2047 (sqrt(x) - sqrt(1 - x)) is off by less
# than 2047 * 5.5 * 2^-24 = 0.0007: x, 1 - x, the roots, the difference and the product are each
# rounded to a part 2^-24, or 1 - x twice, and the roots halve what they are given. So what is no
# nearer than this to a half is rounded to the same whole number as in float64.
_NEAR_A_HALF = np.float32(0.001)


def _nearest(values: Floats) -> Singles:
    """Bins of probabilities as whole numbers; NaN for invalid probabilities."""
    spread = np.sqrt(values, dtype=np.float32, casting="same_kind")
    other = (1.0 - values).astype(np.float32, copy=False)
    spread -= np.sqrt(other, out=other)
    spread *= np.float32(PROBABILITY_STEPS)
    nearest = np.rint(spread, out=other)
    spread -= nearest
    # NaN is neither near nor far: it is computed in full.
    unsure = np.flatnonzero(~(np.abs(spread, out=spread) < 0.5 - _NEAR_A_HALF))
    if unsure.size:
        x = values[unsure].astype(np.float64)
        exact = PROBABILITY_STEPS * (np.sqrt(x) - np.sqrt(1.0 - x))
        nearest[unsure] = np.rint(exact)
    return nearest


def _root(values: Floats) -> Floats:
    root: Floats = np.sqrt(np.sqrt(np.sqrt(values)))
    return root


# Number of scores at each of a few thousand places, and their ranges.


STEPS: dict[Rule, int] = {
    "probability": PROBABILITY_STEPS,
    "tail": PROBABILITY_STEPS,
    "margin": MARGIN_STEPS,
}
"""Bins range from minus this number to plus this number."""


def bins_by(rule: Rule) -> int:
    """Count the bins of a rule.

    >>> bins_by("probability")
    4095
    """
    return 2 * STEPS[rule] + 1


def find_places(values: Floats, rule: Rule, predicted: Bools | Ints, places: Places | Ints) -> bool:
    """Find the place of each score and label: its bin, from 0, after the bins of smaller labels.

    `values`, (N,): of float64 or float32; `rule`: the one for the scores of the whole population;
    `predicted`, (N,): the predicted labels, or codes; `places`, (N,): receives the places.

    False if a score is not finite, or is off its scale.

    >>> places = np.empty(3, dtype=np.uint16)
    >>> find_places(np.array([0.0, 0.5, 1.0]), "probability", np.array([0, 0, 1]), places), places
    (True, array([   0, 2047, 8189], dtype=uint16))
    """
    with np.errstate(invalid="ignore"):
        if rule == "probability":
            nearest: Any = _nearest(values)
            there = bool(np.isfinite(nearest.sum()))
        else:
            there = bool(np.isfinite(values).all())
            nearest = bins_of(values, rule)
        nearest += STEPS[rule]
        places[:] = nearest
    places += np.multiply(predicted, bins_by(rule), dtype=places.dtype, casting="unsafe")
    return there


# Intermediate arrays of this size stay in a processor's cache; full-size ones would not even fit
# into the memory of a small machine. A float64 of each is less than 128 KB, from which on the C
# library asks the operating system for memory each time, which takes twice as long as a root.
_AT_ONCE = 15 * 1024


def pieces(size: int, at_once: int = _AT_ONCE) -> Iterator[slice]:
    """Cut a range of that many items into chunks that are processed in turn.

    >>> list(pieces(20_000))
    [slice(0, 15360, None), slice(15360, 20000, None)]
    """
    for start in range(0, size, at_once):
        yield slice(start, min(start + at_once, size))


class Ranges:
    """Number of scores at each place, and the smallest and the largest of them.

    `places`: places are numbered from 0.

    >>> ranges = Ranges(3)
    >>> ranges.add(np.array([2, 0, 2]), np.array([0.9, 0.1, 0.8]))
    >>> ranges.count, ranges.low[2], ranges.high[2]
    (array([1, 0, 2]), np.float64(0.8), np.float64(0.9))
    """

    def __init__(self, places: int) -> None:
        self.count: Ints = np.zeros(places, dtype=np.int64)
        # Of the type of the scores: to compare two types takes three times as long.
        self.low: Any = np.full(places, np.inf, dtype=np.float32)
        self.high: Any = -self.low

    def add(self, place: Ints, values: Floats) -> None:
        """Count scores at their places."""
        np.add.at(self.count, place, 1)  # np.bincount would make a counter for every place anew
        self._fit(values)
        # Few scores are beyond those seen before: find them first, which lets other threads run.
        lower = np.flatnonzero(values < self.low.take(place))
        np.minimum.at(self.low, place[lower], values[lower])
        higher = np.flatnonzero(values > self.high.take(place))
        np.maximum.at(self.high, place[higher], values[higher])

    def extend(self, place: Ints, count: Ints, low: Floats, high: Floats) -> None:
        """Add the numbers and ends of scores at distinct places."""
        self._fit(low)
        self.count[place] += count
        self.low[place] = np.minimum(self.low[place], low)
        self.high[place] = np.maximum(self.high[place], high)

    def _fit(self, values: Floats) -> None:
        kind = np.result_type(self.low, values)
        self.low, self.high = (ends.astype(kind, copy=False) for ends in (self.low, self.high))


# Items and labels by score: the input of the curve of a score.

CURVES = ("precision", "recall", "f1", "specificity")
"""Metrics that depend on labels; the share of items above a threshold is known."""
FALLS = {"recall": 1, "specificity": -1}
"""Direction of each curve as the threshold rises, where certain: 1 falls, -1 rises."""


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Items by ascending score, and their labels; arrays of shape (M,)."""

    # The smallest score in each bin, from which on a classifier with this threshold says yes.
    score: Floats
    # items, labels, positives: its items, those with a yes or no, and those with a yes.
    items: Floats
    labels: Floats
    positives: Floats
    stratum: Ints  # whose labels are a random sample; -1 for items outside of the strata
    chain: Ints  # within a chain, neighbours in score are assumed to be alike
    tied: Bools  # whether all items of the bin have the same score, or all have labels

    @property
    def complete(self) -> bool:
        """Whether every item has a label."""
        return bool((self.labels == self.items).all())

    @cached_property
    def covered(self) -> Bools:
        """Whether strata cover all bins from each one on, shape (M,)."""
        return np.logical_and.accumulate((self.stratum >= 0)[::-1])[::-1]

    @cached_property
    def curves(self) -> tuple[str, ...]:
        """Curves of `CURVES` that the labels determine: recall needs a yes, specificity a no."""
        yes = float(self.positives.sum())
        no = float(self.labels.sum()) - yes
        needed = {"recall": yes, "f1": yes, "specificity": no}
        every = bool(self.covered[0])
        return tuple(name for name in CURVES if name not in needed or (every and needed[name] > 0))

    @cached_property
    def starts(self) -> Ints:
        """Bins at which a threshold may lie: strata cover all items from there on.

        Each has a score that no earlier bin has.
        """
        return np.flatnonzero((np.diff(self.score, prepend=-np.inf) > 0) & self.covered)
