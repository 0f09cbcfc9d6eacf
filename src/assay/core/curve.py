"""The curve of a score: precision, recall and others at every threshold, with simultaneous bands.

Labels of a stratum are a random sample of it, and so, given how many fell into each, are those of
any cells that it is cut into by score (post-stratification). Along the cells the log odds of a yes
are a straight line plus a random walk. The line's slope and the walk's step size are estimated from
the labels. The prior of a cell's log odds is flat, so its expected share of yes is that of its
labels unless its neighbours disagree. On a grid of log odds the posterior is exact: evidence by a
forward pass, independent draws by a backward one [1]_. Labelled items are fixed; a fully labelled
population leaves nothing to draw.

References
----------
.. [1] Chib, Calculating posterior distributions and modal estimates in Markov mixture models,
   Journal of Econometrics 75 (1996).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np

from assay.core.bins import ScoreBins
from assay.core.curve_cells import Cells, Curves, Unseen
from assay.core.special import expit
from assay.core.types import Floats, Ints

DRAWS = 2000
THRESHOLDS = 400  # at most, if there is anything to draw
_TAIL = 0.01  # of the items at either end, where the bands are not for all at once
_STEP = 0.25  # of log odds
_FARTHEST = 14.0  # log odds at either end of the grid, at most
# Log odds from one end to the other: the rise of the line, and the standard deviation of the walk.
# Before any label all pairs are equally likely.
_SLOPES = np.array([-16.0, -8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0, 16.0])
_WALKS = 2.0 ** np.arange(6)
_NEGLIGIBLE = 1e-4  # of the weight of all of them


@dataclass(frozen=True, eq=False)
class Band:
    """A metric at every threshold, with pointwise and simultaneous intervals; shape (G,)."""

    value: Floats
    low: Floats
    high: Floats
    lowest: Floats
    highest: Floats

    def through(self, at: int, known: tuple[float, float, float], falls: int = 0) -> "Band":
        """Band with another estimate at one threshold.

        `known`: the value there and the ends of its interval; `falls`: whether the metric falls as
        the threshold rises (1), rises (-1), or may do either.
        """
        value, low, high = (each.copy() for each in (self.value, self.low, self.high))
        if falls:
            sides = (np.maximum, np.minimum)[::falls]
            for side, end in zip((slice(None, at), slice(at, None)), sides, strict=True):
                value[side] = end(value[side], known[0])
        value[at], low[at], high[at] = known
        low, high = np.minimum(low, value), np.maximum(high, value)
        return Band(value, low, high, np.minimum(self.lowest, low), np.maximum(self.highest, high))


@dataclass(frozen=True, eq=False)
class CurveBands:
    """Estimated curves with their bands."""

    # threshold, items, (G,): ascending thresholds, and the items from each on.
    threshold: Floats
    items: Floats
    total: float  # all items
    bands: Mapping[str, Band]  # by metric; only those that the labels determine
    # Average precision and the area under the ROC curve, with the ends of their intervals.
    areas: Mapping[str, tuple[float, float, float]]
    inner: slice  # the thresholds over which the bands hold at once


def curve_bands(
    bins: ScoreBins,
    *,
    confidence: float,
    rng: np.random.Generator,  # where the draws come from
    draws: int = DRAWS,  # populations to draw, given the labels
    thresholds: int = THRESHOLDS,  # at most so many, while items without a label are left
    own: float | None = None,  # a threshold that is always among them
) -> CurveBands:
    """Metrics at every threshold, or at some hundreds of them, with intervals.

    >>> one, zero = np.ones(4), np.zeros(4, dtype=int)
    >>> bins = ScoreBins(np.arange(4.0), one, one, np.array([0, 1, 0, 1.0]), zero, zero, one > 0)
    >>> curve = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0))
    >>> curve.bands["recall"].value, curve.areas["roc_auc"]
    (array([1. , 1. , 0.5, 0.5]), (0.75, 0.75, 0.75))
    """
    starts = bins.starts if bins.complete else _thinned(bins, thresholds, own)
    cells, names = Cells(bins, starts), bins.curves
    estimated, more = _drawn(cells, rng, draws)
    if cells.complete:
        worst = best = [estimated, estimated]
    else:
        unseen = Unseen(bins, starts)
        positives = more @ (cells.stratum[:, None] == np.arange(unseen.left.size))
        worst, best = unseen.around(cells.curves(more), positives, rng)
    total = float(bins.items.sum())
    inner = _inner(cells.items / total)
    values = estimated.measures(names)
    ends = _ends(worst, best, names)
    return CurveBands(
        threshold=bins.score[starts],
        items=cells.items,
        total=total,
        bands={name: _band(values[name][0], *ends[name], inner, confidence) for name in names},
        areas={
            name: _around(values[name][0], *ends[name], confidence)
            for name in values
            if name not in names
        },
        inner=inner,
    )


def _ends(
    worst: Sequence[Curves], best: Sequence[Curves], names: tuple[str, ...]
) -> dict[str, tuple[Floats, Floats]]:
    """Lowest and highest values of each measure, at every threshold."""
    lower, upper = ([each.measures(names) for each in way] for way in (worst, best))
    return {
        name: (
            np.minimum(*(each[name] for each in lower)),
            np.maximum(*(each[name] for each in upper)),
        )
        for name in lower[0]
    }


def drawn_positives(
    bins: ScoreBins, *, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[Floats, Floats]:
    """Count the positives from each of `starts` on: expected, (G,), and drawn.

    >>> n, none = np.array([10.0, 10.0]), np.zeros(2, dtype=int)
    >>> bins = ScoreBins(np.arange(2.0), 10 * n, n, n / 2, np.arange(2), none, none > 0)
    >>> expected, drawn = drawn_positives(bins, rng=np.random.default_rng(0), draws=100)
    >>> expected.round(), drawn.shape
    (array([100.,  50.]), (100, 2))
    """
    cells = Cells(bins, bins.starts)
    estimated, more = _drawn(cells, rng, draws)
    return estimated.above[0], cells.curves(more).above


def _drawn(cells: Cells, rng: np.random.Generator, draws: int) -> tuple[Curves, Floats]:
    """Estimated curves, and drawn positives among the unlabelled items of the cells, (D, C)."""
    if cells.complete:
        none = np.zeros((1, cells.left.size))
        return cells.curves(none), none
    walk = _Walk(cells)
    more = rng.binomial(cells.left.astype(np.int64), walk.draw(draws, rng)).astype(np.float64)
    return cells.curves((cells.left * walk.means())[None]), more


def _thinned(bins: ScoreBins, most: int, own: float | None) -> Ints:
    """Bins at which thresholds lie: all, or spaced evenly by items and by labels."""
    starts = bins.starts
    if starts.size <= most:
        return starts
    chosen = [np.array([0, starts.size - 1])]
    if own is not None:
        chosen.append(np.searchsorted(bins.score[starts], [own]))
    for counts in (bins.items, bins.labels):
        above = counts[::-1].cumsum()[::-1][starts]
        wanted = np.linspace(above[0], 0, most // 2, endpoint=False)
        chosen.append(np.searchsorted(-above, -wanted))
    return np.asarray(starts[np.unique(np.minimum(np.concatenate(chosen), starts.size - 1))])


def _inner(share: Floats) -> slice:
    """Thresholds between the 1% and the 99% quantile of the score."""
    inside = np.flatnonzero((share <= 1 - _TAIL) & (share >= _TAIL))
    return slice(int(inside[0]), int(inside[-1]) + 1) if inside.size else slice(0, share.size)


# Intervals: quantiles of the draws, pointwise or simultaneous.


def _quantiles(lower: Floats, upper: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Pointwise quantiles of the draws, corrected for their finite number."""
    tail = (1 - confidence) / 2
    low = np.quantile(lower, tail, axis=0, method="weibull")
    return np.asarray(low), np.asarray(np.quantile(upper, 1 - tail, axis=0, method="weibull"))


def _around(
    value: float, lower: Floats, upper: Floats, confidence: float
) -> tuple[float, float, float]:
    low, high = _quantiles(lower, upper, confidence)
    return float(value), min(float(low), float(value)), max(float(high), float(value))


def _band(value: Floats, lower: Floats, upper: Floats, inner: slice, confidence: float) -> Band:
    low, high = _quantiles(lower, upper, confidence)
    lowest, highest = simultaneous(lower, upper, confidence, inner)
    return Band(
        value=value,
        low=np.minimum(low, value),
        high=np.maximum(high, value),
        lowest=np.minimum(np.minimum(lowest, low), value),
        highest=np.maximum(np.maximum(highest, high), value),
    )


def simultaneous(
    lower: Floats, upper: Floats, confidence: float, inner: slice = slice(None)
) -> tuple[Floats, Floats]:
    """Band that contains this share of the drawn curves entirely.

    Its ends are the k-th lowest and the k-th highest curve at every threshold, for the largest such
    k: all thresholds count equally, however they vary. A curve's depth leaves out the curve itself,
    as for one more curve.

    `lower`, `upper`, (D, G): each drawn curve, at its lowest and at its highest.

    >>> drawn = np.random.default_rng(0).normal(size=(4000, 20))  # 20 independent thresholds
    >>> low, high = simultaneous(drawn, drawn, 0.95)
    >>> bool(2.9 < high.mean() < 3.2), bool(-3.2 < low.mean() < -2.9)
    (True, True)
    """
    number = len(lower)
    # The least number of curves, including itself, on either side.
    depth = np.minimum(*(_ranks(each[:, inner]).min(axis=1) for each in (lower, -upper)))
    k = max(int(np.sort(depth)[int((1 - confidence) * number)]) - 1, 1)
    return np.sort(lower, axis=0)[k - 1], np.sort(upper, axis=0)[number - k]


def _ranks(values: Floats) -> Ints:
    """Count the values in the column no larger than each value, shape (D, G)."""
    order = values.argsort(axis=0)
    line = np.take_along_axis(values, order, axis=0)
    rank = np.broadcast_to(np.arange(1, len(values) + 1)[:, None], values.shape).copy()
    rank[:-1][line[1:] == line[:-1]] = len(values)  # of equal values the last counts
    rank = np.minimum.accumulate(rank[::-1], axis=0)[::-1]
    ranks = np.empty_like(rank)
    np.put_along_axis(ranks, order, rank, axis=0)
    return ranks


# The walk of log odds along the cells.


class _Walk:
    """Posterior of the shares of yes along the cells: a hidden Markov chain on a grid."""

    def __init__(self, cells: Cells) -> None:
        end = ceil(min(_FARTHEST, log(2.0 * float(cells.items[0]))) / _STEP)
        number = 2 * end + 1
        log_odds = _SLOPES[:, None, None] * cells.place[:, None] + _STEP * np.arange(-end, end + 1)
        labels, positives = cells.labels[:, None], cells.positives[:, None]
        log_likelihood = positives * log_odds - labels * np.logaddexp(0.0, log_odds)
        # rates, likelihood, (D, C, L): the shares of yes at the points of the grid, which is even
        # in log odds around the line of each slope, and the likelihood of the cells' labels there.
        self.cells, self.rates = cells, expit(log_odds)
        self.likelihood = np.exp(log_likelihood - log_likelihood.max(axis=(0, 2), keepdims=True))
        # (S, D, C, L): the chances of the points given the labels up to a cell
        self.forward = np.empty((_WALKS.size, *self.likelihood.shape))
        evidence = np.zeros(self.forward.shape[:2])
        chances = np.full((*evidence.shape, number), 1 / number)
        # (S, L, L): transition probabilities of the points, by the gap between two cells
        self.moves = {gap: _moves(number, gap) for gap in set(cells.gap.tolist())}
        for c, gap in enumerate(cells.gap.tolist()):
            chances = chances @ self.moves[gap] * self.likelihood[:, c]
            total = chances.sum(axis=-1, keepdims=True)
            evidence += np.log(total[..., 0])
            self.forward[..., c, :] = chances = chances / total
        weight = np.exp(evidence - evidence.max())
        weight = np.where(weight < _NEGLIGIBLE * weight.sum(), 0.0, weight)
        # (S, D): posterior probability of each size of the walk and slope of the line
        self.weight = weight / weight.sum()

    def means(self) -> Floats:
        """Compute the expected share of yes in each cell, shape (C,)."""
        mean = np.zeros(self.cells.gap.size)
        later = np.ones_like(self.forward[..., 0, :])  # likelihood of each point by the later cells
        for c in reversed(range(mean.size)):
            chances = self.forward[..., c, :] * later
            rate = (chances * self.rates[:, c]).sum(axis=-1) / chances.sum(axis=-1)
            mean[c] = (self.weight * rate).sum()
            # The chain is reversible.
            later = (self.likelihood[:, c] * later) @ self.moves[float(self.cells.gap[c])]
            later /= later.max(axis=-1, keepdims=True)
        return mean

    def draw(self, draws: int, rng: np.random.Generator) -> Floats:
        """Joint draws of the shares of yes in the cells, shape (draws, C).

        Each has a step size of the walk and a slope, and goes from the last cell back to the first.
        """
        slopes, cells, number = self.rates.shape
        last = cells - 1
        counts = rng.multinomial(draws, self.weight.ravel())
        walk = np.repeat(np.arange(counts.size), counts)
        chance = np.concatenate([rng.random((last + 1, n)) for n in counts.tolist()], axis=1)
        drawn, point = np.empty((draws, last + 1)), np.zeros(draws, dtype=np.int64)
        for c in range(last, -1, -1):
            # A row for each walk and point of the next cell that draws stand at, few of all: the
            # chances of this cell's points.
            stands, row = np.unique(walk * number + point, return_inverse=True)
            each, at = np.divmod(stands, number)
            size, slope = np.divmod(each, slopes)
            table = self.forward[size, slope, c]
            if c < last:
                table = table * self.moves[float(self.cells.gap[c + 1])][size, :, at]
            table = np.cumsum(table, axis=-1)
            # A point without successors has probability 0, and no draw reaches it.
            table /= np.maximum(table[:, -1:], np.finfo(np.float64).tiny)
            # All rows as one ascending line: row r lies between r and r + 1.
            line = (table + np.arange(stands.size)[:, None]).ravel()
            place = np.searchsorted(line, row + chance[last - c], side="right")
            point = np.minimum(place - row * number, number - 1)
            drawn[:, c] = self.rates[walk % slopes, c, point]
        return drawn


def _moves(number: int, gap: float) -> Floats:
    """Transition probabilities of the grid, by the step size of the walk.

    Steps beyond the ends are not made, so the stationary distribution is uniform. At the beginning
    of a chain all points are equally likely. The shape is (S, number, number).
    """
    if gap == np.inf:
        return np.full((_WALKS.size, number, number), 1 / number)
    apart = np.subtract.outer(np.arange(number), np.arange(number))
    width = np.maximum(_WALKS * sqrt(gap) / _STEP, 0.5)[:, None]
    steps = np.exp(-0.5 * (np.arange(1 - number, number) / width) ** 2).sum(axis=-1)
    chances = np.exp(-0.5 * (apart / width[..., None]) ** 2) / steps[:, None, None]
    own = np.arange(number)
    chances[:, own, own] = 0.0
    chances[:, own, own] = 1 - chances.sum(axis=-1)
    return np.asarray(chances)
