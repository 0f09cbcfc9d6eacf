"""The curve of a score: precision, recall and others at every threshold, with simultaneous bands.

Labels of a stratum are a random sample of it, and so, given how many fell into each, are those of
any cells that it is cut into by score (post-stratification). Along the cells the log odds of a yes
are taken to be a random walk, as far from each stratum to the next, whose step is learned from the
labels. Before any label a cell may have any log odds alike, so that its expected share of yes is
that of its labels where no neighbour says otherwise. On a grid of log odds the posterior is exact:
evidence by a forward pass, independent draws by a backward one [1]_. Items with a label are what
they are; of a population that is wholly labelled nothing is left to draw.

References
----------
.. [1] Chib, Calculating posterior distributions and modal estimates in Markov mixture models,
   Journal of Econometrics 75 (1996).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log, sqrt
from typing import Self

import numpy as np

from assay.core.special import expit
from assay.core.types import Bools, Floats, Ints

DRAWS = 2000
_THRESHOLDS = 400  # at most, where there is anything to draw
_TAIL = 0.01  # of the items at either end, where the bands are not for all at once
_LABELS_A_CELL = 8.0
_CELLS = 64  # at least: within one, shares of yes are taken to be alike
_STEP = 0.25  # of log odds
_FARTHEST = 14.0  # log odds at either end of the grid, at most
# Standard deviations of the walk from one end to the other, all equally likely before.
_WALKS = np.geomspace(1.0, 32.0, 11)
_NEGLIGIBLE = 1e-4  # of the weight of all of them

CURVES = ("precision", "recall", "f1", "specificity")
"""What depends on labels; the share of items above a threshold is known."""


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Items by score, in ascending order, and what labels say of them; arrays of one shape, (M,).

    Parameters
    ----------
    score : array
        The smallest score in each bin, from which on a classifier with this threshold says yes.
    items, labels, positives : array
        Its items, those with a yes or no, and those with a yes.
    stratum : array of int
        Whose labels are a random sample; -1 of items that no label can tell of.
    chain : array of int
        Within a chain, neighbours in score are taken to be alike.
    tied : array of bool
        Whether all items of the bin have the same score, or all have labels.
    """

    score: Floats
    items: Floats
    labels: Floats
    positives: Floats
    stratum: Ints
    chain: Ints
    tied: Bools

    @property
    def complete(self) -> bool:
        """Whether every item has a label."""
        return bool((self.labels == self.items).all())

    @cached_property
    def told(self) -> Bools:
        """Whether labels tell of all items from each bin on, shape (M,)."""
        return np.logical_and.accumulate((self.stratum >= 0)[::-1])[::-1]

    @cached_property
    def curves(self) -> tuple[str, ...]:
        """Which of `CURVES` labels can tell: recall needs a yes, specificity a no."""
        yes = float(self.positives.sum())
        no = float(self.labels.sum()) - yes
        needed = {"recall": yes, "f1": yes, "specificity": no}
        every = bool(self.told[0])
        return tuple(name for name in CURVES if name not in needed or (every and needed[name] > 0))

    @cached_property
    def starts(self) -> Ints:
        """The bins at which a threshold may lie: labels tell of all items from there on.

        Each has a score that no bin before has.
        """
        return np.flatnonzero((np.diff(self.score, prepend=-np.inf) > 0) & self.told)


@dataclass(frozen=True, eq=False)
class Band:
    """A metric at every threshold, with intervals for each and for all at once; shape (G,)."""

    value: Floats
    low: Floats
    high: Floats
    lowest: Floats
    highest: Floats


@dataclass(frozen=True, eq=False)
class CurveBands:
    """What is known of the curve.

    Attributes
    ----------
    threshold, items : array, shape (G,)
        Ascending thresholds, and the items from each on.
    total : float
        All items.
    bands : mapping of str to Band
        By metric; only those that labels can tell.
    areas : mapping of str to (float, float, float)
        Average precision and the area under the ROC curve, with the ends of their intervals.
    inner : slice
        The thresholds over which the bands hold at once.
    """

    threshold: Floats
    items: Floats
    total: float
    bands: Mapping[str, Band]
    areas: Mapping[str, tuple[float, float, float]]
    inner: slice


def curve_bands(
    bins: ScoreBins, *, confidence: float, rng: np.random.Generator, draws: int = DRAWS
) -> CurveBands:
    """Return the metrics at every threshold, or at some hundreds of them, with intervals.

    Parameters
    ----------
    bins : ScoreBins
    confidence : float
    rng : numpy.random.Generator
        Where the draws come from.
    draws : int
        Populations to draw, given the labels.

    Examples
    --------
    >>> one, zero = np.ones(4), np.zeros(4, dtype=int)
    >>> bins = ScoreBins(np.arange(4.0), one, one, np.array([0, 1, 0, 1.0]), zero, zero, one > 0)
    >>> found = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0))
    >>> found.bands["recall"].value, found.areas["roc_auc"]
    (array([1. , 1. , 0.5, 0.5]), (0.75, 0.75, 0.75))
    """
    thresholds = bins.starts if bins.complete else _thinned(bins)
    cells, names = _Cells.of(bins, thresholds), bins.curves
    if cells.complete:
        estimated = drawn = cells.curves(np.zeros((1, cells.left.size)))
    else:
        walk = _Walk.learned(cells)
        estimated = cells.curves((cells.left * walk.means())[None])
        rates = walk.draw(draws, rng)
        drawn = cells.curves(rng.binomial(cells.left.astype(np.int64), rates).astype(np.float64))
    total, every = float(bins.items.sum()), drawn.metrics(names)
    inner = _inner(cells.items / total)
    areas = {}
    if names == CURVES:
        among = drawn.areas()
        for name, (value, *_) in estimated.areas().items():
            low, high = _quantiles(among[name], confidence)
            areas[name] = (float(value), min(float(low), value), max(float(high), value))
    return CurveBands(
        threshold=bins.score[thresholds],
        items=cells.items,
        total=total,
        bands={
            name: _band(value[0], every[name], inner, confidence)
            for name, value in estimated.metrics(names).items()
        },
        areas=areas,
        inner=inner,
    )


def drawn_positives(
    bins: ScoreBins, *, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[Floats, Floats]:
    """Return how many positives there are from each of `starts` on: expected, (G,), and drawn.

    Parameters
    ----------
    bins : ScoreBins
    rng : numpy.random.Generator
    draws : int
        Populations to draw, given the labels: the second array is of shape (draws, G).

    Examples
    --------
    >>> told, none = np.array([10.0, 10.0]), np.zeros(2, dtype=int)
    >>> bins = ScoreBins(np.arange(2.0), 10 * told, told, told / 2, np.arange(2), none, none > 0)
    >>> expected, drawn = drawn_positives(bins, rng=np.random.default_rng(0), draws=100)
    >>> expected.round(), drawn.shape
    (array([100.,  50.]), (100, 2))
    """
    cells = _Cells.of(bins, bins.starts)
    if cells.complete:
        known = cells.curves(np.zeros((1, cells.left.size))).above
        return known[0], known
    walk = _Walk.learned(cells)
    left, rates = cells.left.astype(np.int64), walk.draw(draws, rng)
    found = cells.curves(rng.binomial(left, rates).astype(np.float64)).above
    return cells.curves((cells.left * walk.means())[None]).above[0], found


def _thinned(bins: ScoreBins) -> Ints:
    """Return the bins at which thresholds lie: all, or else evenly by items and by labels."""
    starts = bins.starts
    if starts.size <= _THRESHOLDS:
        return starts
    chosen = [np.array([0, starts.size - 1])]
    for counts in (bins.items, bins.labels):
        above = counts[::-1].cumsum()[::-1][starts]
        wanted = np.linspace(above[0], 0, _THRESHOLDS // 2, endpoint=False)
        chosen.append(np.searchsorted(-above, -wanted))
    return np.asarray(starts[np.unique(np.minimum(np.concatenate(chosen), starts.size - 1))])


def _inner(share: Floats) -> slice:
    """Return the thresholds between the 1% and the 99% quantile of the score."""
    inside = np.flatnonzero((share <= 1 - _TAIL) & (share >= _TAIL))
    return slice(int(inside[0]), int(inside[-1]) + 1) if inside.size else slice(0, share.size)


@dataclass(frozen=True, eq=False)
class _Curves:
    """Positives from each threshold on, `above`, of one population or several: shape (D, G).

    `items` and `tied` are of shape (G,): the items from each threshold on, and whether those below
    the next one have one score.
    """

    above: Floats
    items: Floats
    tied: Bools

    def metrics(self, names: Sequence[str]) -> dict[str, Floats]:
        """Return some of `CURVES`, each of shape (D, G)."""
        positives = self.above[:, :1]
        found = {"precision": self.above / self.items}
        if "recall" in names:
            found["recall"] = self.above / positives
            found["f1"] = 2 * self.above / (self.items + positives)
        if "specificity" in names:
            found["specificity"] = 1 - (self.items - self.above) / (self.items[0] - positives)
        return {name: np.clip(values, 0.0, 1.0) for name, values in found.items()}  # of rounding

    def areas(self) -> dict[str, Floats]:
        """Return average precision and the area under the ROC curve, of shape (D,).

        Items of one score come all at once, as scikit-learn has it. Where thresholds were left out
        the items between come evenly: precision is taken in their middle.
        """
        size = -np.diff(self.items, append=0.0)
        gained = -np.diff(self.above, append=0.0)
        positives = self.above[:, 0]
        negatives = self.items[0] - positives
        middle = (self.above - gained / 2) / (self.items - size / 2)
        precision = np.where(self.tied, self.above / self.items, middle)
        outranked = negatives[:, None] - (self.items - self.above) + (size - gained) / 2
        return {
            "average_precision": (gained * precision).sum(axis=-1) / positives,
            "roc_auc": (gained * outranked).sum(axis=-1) / (positives * negatives),
        }


# Intervals: quantiles of what was drawn, at each threshold or widened for all of them at once.


def _quantiles(drawn: Floats, confidence: float) -> tuple[Floats, Floats]:
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return np.asarray(low), np.asarray(high)


def _band(value: Floats, drawn: Floats, inner: slice, confidence: float) -> Band:
    low, high = _quantiles(drawn, confidence)
    lowest, highest = simultaneous(drawn, confidence, inner)
    return Band(
        value=value,
        low=np.minimum(low, value),
        high=np.maximum(high, value),
        lowest=np.minimum(np.minimum(lowest, low), value),
        highest=np.maximum(np.maximum(highest, high), value),
    )


def simultaneous(
    drawn: Floats, confidence: float, inner: slice = slice(None)
) -> tuple[Floats, Floats]:
    """Return the band that so large a share of the drawn curves never leaves.

    Its ends are the k-th lowest and the k-th highest curve at every threshold. k is the largest
    with which that holds: no threshold counts more than another, however they vary. A curve's
    depth is counted among the others, as that of one more curve would be.

    Parameters
    ----------
    drawn : array, shape (D, G)
    confidence : float
    inner : slice
        The thresholds at which it counts.

    Examples
    --------
    >>> low, high = simultaneous(np.random.default_rng(0).normal(size=(4000, 20)), 0.95)
    >>> bool(2.9 < high.mean() < 3.2), bool(-3.2 < low.mean() < -2.9)  # 20 independent thresholds
    (True, True)
    """
    number = len(drawn)
    order = np.sort(drawn, axis=0)
    depth = np.full(number, number)  # the least number of curves, with itself, on either side
    places = np.arange(number)
    for values in drawn[:, inner].T:
        by_value = np.argsort(values)
        line = values[by_value]
        # Of equal values the first has the fewest below, and the last the fewest above.
        equal = (line[1:] == line[:-1]) | np.isnan(line[:-1])
        first, last = places.copy(), places.copy()
        first[1:][equal] = 0
        last[:-1][equal] = number - 1
        below = np.minimum.accumulate(last[::-1])[::-1] + 1
        above = number - np.maximum.accumulate(first)
        depth[by_value] = np.minimum(depth[by_value], np.minimum(below, above))
    k = max(int(np.sort(depth)[int((1 - confidence) * number)]) - 1, 1)
    return order[k - 1], order[number - k]


# Cells, and the walk of log odds along them.


@dataclass(frozen=True, eq=False)
class _Cells:
    """Items that are taken to be alike, C cells of them, beside G thresholds.

    Parameters
    ----------
    labels, positives, left : array, shape (C,)
        Labels, those with a yes, and items without a label.
    gap : array, shape (C,)
        How far each is from the one before, as a share of all; infinite where a chain begins.
    share : array, shape (C, G)
        Of its items without a label, those from each threshold on.
    known, items : array, shape (G,)
        Positives among the labels, and items, from each threshold on.
    tied : array of bool, shape (G,)
    """

    labels: Floats
    positives: Floats
    left: Floats
    gap: Floats
    share: Floats
    known: Floats
    items: Floats
    tied: Bools

    @classmethod
    def of(cls, bins: ScoreBins, thresholds: Ints) -> Self:
        cell, gap = _cut(bins)
        number = thresholds.size
        place = np.searchsorted(thresholds, np.arange(bins.score.size), side="right") - 1
        reached = place >= 0  # by some threshold; where all is told, by the lowest
        told = reached & (cell >= 0)
        open_ = bins.items - bins.labels

        def by_cell(counts: Floats) -> Floats:
            return np.bincount(cell[told], counts[told], gap.size).astype(np.float64)

        def from_each(counts: Floats) -> Floats:
            each = np.bincount(place[reached], counts[reached], number)
            return np.asarray(each[::-1].cumsum()[::-1])

        left = by_cell(open_)
        share = np.zeros((gap.size, number))
        np.add.at(share, (cell[told], place[told]), open_[told] / np.maximum(left[cell[told]], 1.0))
        scores = np.bincount(place[bins.starts], minlength=number)
        mixed = np.bincount(place[reached], ~bins.tied[reached], number)
        return cls(
            labels=by_cell(bins.labels),
            positives=by_cell(bins.positives),
            left=left,
            gap=gap,
            share=share[:, ::-1].cumsum(axis=-1)[:, ::-1],
            known=from_each(bins.positives),
            items=from_each(bins.items),
            tied=(scores == 1) & (mixed == 0),
        )

    @property
    def complete(self) -> bool:
        """Whether nothing is left to draw."""
        return not self.left.any()

    def curves(self, more: Floats) -> _Curves:
        """Return the curves with so many positives among the items without a label, (D, C)."""
        return _Curves(more @ self.share + self.known, self.items, self.tied)


def _cut(bins: ScoreBins) -> tuple[Ints, Floats]:
    """Return the cell of each bin, -1 where labels cannot tell, and the gaps between the cells.

    A run of neighbouring bins of one stratum is cut into cells of equal size: as many as its number
    of labels allows, and so many that all are narrow; those without labels lean on others. Which of
    its items have labels, and what they say, is not looked at. Every run is as wide as another:
    strata are made to differ, whatever labels they have.
    """
    cell, gap = np.full(bins.score.size, -1), list[float]()
    order = np.lexsort((np.arange(bins.score.size), bins.chain))
    order = order[bins.stratum[order] >= 0]
    changes = np.diff(bins.stratum[order]) != 0
    changes |= np.diff(bins.chain[order]) != 0
    runs = np.split(order, np.flatnonzero(changes) + 1)
    before, chain = 0.0, None
    for run in runs:
        labels, items = bins.labels[run].sum(), bins.items[run]
        middle = (items.cumsum() - items / 2) / items.sum()
        wanted = max(int(labels // _LABELS_A_CELL), ceil(_CELLS / len(runs)))
        _, within = np.unique((middle * wanted).astype(np.int64), return_inverse=True)
        number = int(within.max()) + 1
        each = 1 / (number * len(runs))
        cell[run] = len(gap) + within
        same = bins.chain[run[0]] == chain
        gap += [(before + each) / 2 if same else np.inf, *[each] * (number - 1)]
        before, chain = each, bins.chain[run[0]]
    return cell, np.array(gap)


@dataclass(frozen=True, eq=False)
class _Walk:
    """The posterior of the shares of yes along the cells: a hidden Markov chain on a grid.

    Parameters
    ----------
    cells : _Cells
    rates : array, shape (L,)
        The shares of yes at the points of the grid, which are even in log odds.
    likelihood : array, shape (C, L)
        Of the cells' labels.
    weight : array, shape (S,)
        What the labels make of each size of the walk.
    forward : array, shape (S, C, L)
        The chances of the points given the labels up to a cell.
    """

    cells: _Cells
    rates: Floats
    likelihood: Floats
    weight: Floats
    forward: Floats

    @classmethod
    def learned(cls, cells: _Cells) -> Self:
        """Return the posterior, given the cells' labels."""
        end = ceil(min(_FARTHEST, log(2.0 * float(cells.items[0]))) / _STEP)
        points = _STEP * np.arange(-end, end + 1)
        labels, positives = cells.labels[:, None], cells.positives[:, None]
        log_likelihood = positives * points - labels * np.logaddexp(0.0, points)
        likelihood = np.exp(log_likelihood - log_likelihood.max(axis=-1, keepdims=True))
        forward = np.empty((_WALKS.size, *likelihood.shape))
        evidence = np.zeros(_WALKS.size)
        for s, size in enumerate(_WALKS):
            moves = _moves(points.size, size, cells.gap)
            chances = np.full(points.size, 1 / points.size)
            for c, gap in enumerate(cells.gap.tolist()):
                chances = chances @ moves[gap] * likelihood[c]
                total = chances.sum()
                evidence[s] += np.log(total)
                forward[s, c] = chances = chances / total
        weight = np.exp(evidence - evidence.max())
        weight = np.where(weight < _NEGLIGIBLE * weight.sum(), 0.0, weight)
        return cls(cells, expit(points), likelihood, weight / weight.sum(), forward)

    def means(self) -> Floats:
        """Return the expected share of yes in each cell, of shape (C,)."""
        mean = np.zeros(self.cells.gap.size)
        for s in np.flatnonzero(self.weight):
            moves = _moves(self.rates.size, _WALKS[s], self.cells.gap)
            later = np.ones(self.rates.size)  # what the cells after say of each point
            for c in reversed(range(mean.size)):
                chances = self.forward[s, c] * later
                mean[c] += self.weight[s] * float(chances @ self.rates / chances.sum())
                later = moves[float(self.cells.gap[c])] @ (self.likelihood[c] * later)
                later /= later.max()
        return mean

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Return shares of yes in the cells, drawn together: of shape (draws, C)."""
        counts = rng.multinomial(draws, self.weight)
        sizes = np.flatnonzero(counts).tolist()
        return np.concatenate([self._draw(s, int(counts[s]), rng) for s in sizes])

    def _draw(self, s: int, draws: int, rng: np.random.Generator) -> Floats:
        """Draw with one size of the walk, from the last cell back to the first."""
        number, last = self.rates.size, self.cells.gap.size - 1
        moves = _moves(number, _WALKS[s], self.cells.gap)
        drawn, point = np.empty((draws, last + 1)), np.zeros(draws, dtype=np.int64)
        for c in range(last, -1, -1):
            # Row r: the chances of this cell's points where the next cell's point is r. Rows are
            # made for the points that draws stand at, which are few of all.
            stands, row = np.unique(point, return_inverse=True)
            ways = 1.0 if c == last else moves[float(self.cells.gap[c + 1])][:, stands].T
            table = np.cumsum(self.forward[s, c] * np.broadcast_to(ways, (stands.size, number)), -1)
            # A point that no way leads from has no chances, and is never where a draw stands.
            table /= np.maximum(table[:, -1:], np.finfo(np.float64).tiny)
            # All rows as one ascending line: that of point r lies between r and r + 1.
            line = (table + stands[:, None]).ravel()
            place = np.searchsorted(line, point + rng.random(draws), side="right")
            point = np.minimum(place - row * number, number - 1)
            drawn[:, c] = self.rates[point]
        return drawn


def _moves(number: int, size: float, gaps: Floats) -> dict[float, Floats]:
    """Return the chances to go from one point of the grid to another, by the gap between.

    A normal step that would lead beyond the ends is not made. So no point is better than another
    in the long run. At the beginning of a chain all points are equally likely.
    """
    apart = np.subtract.outer(np.arange(number), np.arange(number))
    found = {}
    for gap in np.unique(gaps).tolist():
        if gap == np.inf:
            found[gap] = np.full((number, number), 1 / number)
            continue
        width = max(size * sqrt(gap) / _STEP, 0.5)
        steps = np.exp(-0.5 * (np.arange(1 - number, number) / width) ** 2)
        moves = np.exp(-0.5 * (apart / width) ** 2) / steps.sum()
        np.fill_diagonal(moves, 0.0)
        np.fill_diagonal(moves, 1 - moves.sum(axis=-1))
        found[gap] = moves
    return found
