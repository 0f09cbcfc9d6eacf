"""Cells along a score with constant shares of yes, and errors along it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from assay.core.bins import CURVES, ScoreBins
from assay.core.types import Bools, Floats, Ints

# Errors along the curve of a score, observed and unobserved.


@dataclass(frozen=True, eq=False)
class Curves:
    """Errors at each threshold, of one population or several: shape (D, G).

    `missed` are the positives below a threshold, `wrong` the negatives from it on. `items` and
    `tied` are of shape (G,): the items from each threshold on, and whether those below the next one
    have one score.
    """

    missed: Floats
    wrong: Floats
    items: Floats
    tied: Bools

    @property
    def above(self) -> Floats:
        """Positives from each threshold on."""
        return self.items - self.wrong

    def metrics(self, names: Sequence[str]) -> dict[str, Floats]:
        """Select some of `CURVES`, each of shape (D, G)."""
        above, below = self.above, self.items[0] - self.items
        metrics = {"precision": (above, self.wrong)}
        if "recall" in names:
            metrics["recall"] = (above, self.missed)
            metrics["f1"] = (2 * above, self.missed + self.wrong)
        if "specificity" in names:
            metrics["specificity"] = (below - self.missed, self.wrong)
        return {name: _share(right, errors) for name, (right, errors) in metrics.items()}

    def measures(self, names: Sequence[str]) -> dict[str, Floats]:
        """Select some of `CURVES`; with areas if all are requested."""
        return self.metrics(names) | (self.areas() if tuple(names) == CURVES else {})

    def areas(self) -> dict[str, Floats]:
        """Average precision and the area under the ROC curve, shape (D,).

        Items of one score enter together, as in scikit-learn. Where thresholds were left out the
        items between are spread evenly, except where they are perfectly ordered.
        """
        recall = _share(self.above, self.missed)
        fallout = 1 - _share(self.items[0] - self.items - self.missed, self.wrong)
        gained, fell, more = (-np.diff(each, append=0.0) for each in (recall, fallout, self.wrong))
        next_ = self.wrong - more
        first = ~self.tied & (self.missed == 0) & (next_ == 0)  # positives before negatives
        part = np.where(self.tied, 0.0, np.where(first, 1.0, 0.5))
        hits = self.above + np.where(self.tied, 0.0, 0.5) * np.diff(self.above, append=0.0)
        return {
            "average_precision": (gained * _share(hits, self.wrong - part * more)).sum(axis=-1),
            "roc_auc": (gained * (1 - fallout + np.maximum(part, 0.5) * fell)).sum(axis=-1),
        }


def _share(right: Floats, errors: Floats) -> Floats:
    """Share right / (right + errors); 1 where both are 0."""
    every = right + errors
    return np.clip(np.divide(right, every, out=np.ones_like(every), where=every > 0), 0.0, 1.0)


class Unseen:
    """How far the truth may be from what neighbouring scores suggest, given the labels alone.

    A stratum of W items with n labels and no find may hold W Beta(1, n) positives (Clopper and
    Pearson), wherever in it they have the largest effect. Only the stratum with the largest effect
    counts, as in Fay and Feuer (1997) for sums of unequal weights. Below the lowest find and above
    the highest one there may be none at all. Half of the drawn populations are moved that far
    (mid-p): without a find one end of an interval cannot miss, and the other allows for 3.0 W/n at
    95%.
    """

    def __init__(self, bins: ScoreBins, thresholds: Ints) -> None:  # given by their bins
        known = bins.stratum >= 0
        place = np.searchsorted(thresholds, np.arange(bins.score.size), side="right")[known]
        shape = (int(bins.stratum.max()) + 1, thresholds.size + 1)

        def table(counts: Floats) -> Floats:
            counts_at = np.zeros(shape)
            np.add.at(counts_at, (bins.stratum[known], place), counts[known])
            return counts_at

        open_, labels = table(bins.items - bins.labels), table(bins.labels).sum(axis=1)
        # The threshold below which no label is negative, or positive, and that from which on none
        # is.
        self.no, self.yes = (
            _finds(table(counts)[:, 1:].sum(axis=0))
            for counts in (bins.labels - bins.positives, bins.positives)
        )
        # left, one, (S,): unlabelled items by stratum, and the number of them that one more label
        # would stand for; below, (S, G): those below each threshold.
        self.left = open_.sum(axis=1)
        self.one, self.below = self.left / (labels + 1), open_.cumsum(axis=1)[:, :-1]

    def around(
        self, drawn: Curves, positives: Floats, rng: np.random.Generator
    ) -> tuple[list[Curves], list[Curves]]:
        """Drawn populations at their worst, in two ways, and at their best, in two.

        `positives`, (D, S): positives among the unlabelled items.
        """
        moved = np.arange(len(positives))[:, None] % 2
        most = moved * rng.exponential(size=moved.shape) * self.one
        yes, no = np.maximum(most - positives, 0.0), np.maximum(most - self.left + positives, 0.0)
        below, above = self.below, self.left[:, None] - self.below
        items, under = drawn.items, drawn.items[0] - drawn.items
        kept = _between(under - drawn.missed, *self.no, moved)
        hits = _between(drawn.above, *self.yes[::-1], moved)
        missed = _between(drawn.missed, *self.yes, moved)
        wrong = _between(drawn.wrong, *self.no[::-1], moved)
        worst = replace(drawn, missed=under - kept, wrong=items - hits)
        best = replace(drawn, missed=missed, wrong=wrong)
        return (
            [
                replace(worst, missed=np.minimum(worst.missed + _largest(yes, below), under)),
                replace(worst, wrong=np.minimum(worst.wrong + _largest(no, above), items)),
            ],
            [
                replace(best, missed=np.maximum(missed - _largest(no, below), 0.0)),
                replace(best, wrong=np.maximum(wrong - _largest(yes, above), 0.0)),
            ],
        )


def _finds(outcomes: Floats) -> tuple[int, int]:
    """Last threshold with no finds below it, and the first with no finds from it on."""
    at = np.flatnonzero(outcomes)
    return (int(at[0]), int(at[-1]) + 1) if at.size else (outcomes.size - 1, 0)


def _between(counts: Floats, start: int, end: int, moved: Ints) -> Floats:
    """Count the items between two thresholds, on one side of each threshold."""
    place = np.arange(counts.shape[1])
    place = np.minimum(place, end) if start < end else np.maximum(place, end)
    beyond = counts[:, start : start + 1].sum(axis=1, keepdims=True)
    return np.where(moved, np.maximum(counts[:, place] - beyond, 0.0), counts)


def _largest(more: Floats, there: Floats) -> Floats:
    """Upper bound of a stratum's items, (D, S), on one side of each threshold, (S, G)."""
    largest = np.zeros((len(more), there.shape[1]))
    for each, most in zip(more.T, there, strict=True):
        if each.any():
            np.maximum(largest, np.minimum(each[:, None], most), out=largest)
    return largest


_LABELS_A_CELL = 8.0
_CELLS = 64  # at least


class Cells:
    """C cells of items assumed to be alike, and G thresholds, given by their bins."""

    def __init__(self, bins: ScoreBins, thresholds: Ints) -> None:
        # (C,): distance of a cell from the previous one, as a share of all; infinite at the start
        # of a chain; and its stratum.
        cell, self.gap, self.stratum = _cut(bins)
        number = thresholds.size
        place = np.searchsorted(thresholds, np.arange(bins.score.size), side="right") - 1
        reached = place >= 0  # by some threshold; where every item is reported, by the lowest
        known = reached & (cell >= 0)
        open_ = bins.items - bins.labels

        def by_cell(counts: Floats) -> Floats:
            return np.bincount(cell[known], counts[known], self.gap.size).astype(np.float64)

        def from_each(counts: Floats) -> Floats:
            each = np.bincount(place[reached], counts[reached], number)
            return np.asarray(each[::-1].cumsum()[::-1])

        # (C,): labels, those with a yes, and unlabelled items
        self.labels, self.positives, self.left = map(by_cell, (bins.labels, bins.positives, open_))
        share = np.zeros((self.gap.size, number))
        at = cell[known], place[known]
        np.add.at(share, at, open_[known] / np.maximum(self.left[at[0]], 1.0))
        # (C, G): of its unlabelled items, those from each threshold on
        self.share = share[:, ::-1].cumsum(axis=-1)[:, ::-1]
        # (G,): positives among the labels, and items, from each threshold on
        self.known, self.items = from_each(bins.positives), from_each(bins.items)
        scores = np.bincount(place[bins.starts], minlength=number)
        mixed = np.bincount(place[reached], ~bins.tied[reached], number)
        self.tied = (scores == 1) & (mixed == 0)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to draw."""
        return not self.left.any()

    @property
    def place(self) -> Floats:
        """Signed distance from the middle of its chain, shape (C,); negative below it."""
        first = np.isinf(self.gap)
        far = np.where(first, 0.0, self.gap).cumsum()
        starts = np.flatnonzero(first)
        middle = (far[starts] + far[np.append(starts[1:], far.size) - 1]) / 2
        return np.asarray(far - middle[first.cumsum() - 1])

    def curves(self, more: Floats) -> Curves:
        """Curves with this many positives among the unlabelled items, (D, C)."""
        above = more @ self.share + self.known
        return Curves(above[:, :1] - above, self.items - above, self.items, self.tied)


def _cut(bins: ScoreBins) -> tuple[Ints, Floats, Ints]:
    """Cell of each bin (-1 outside of the strata), and the cells' gaps and strata.

    A run of neighbouring bins of one stratum is cut into cells of equal size: as many as its number
    of labels allows, and enough for narrow cells; cells without labels borrow from others. The
    choice ignores which items have labels, and the labels themselves. Half of a gap is by strata,
    each equally wide, because strata are made to differ. The other half is by the log odds of the
    rank: a few items in a tail differ as much in score as many in the middle.
    """
    cell, gap, stratum = np.full(bins.score.size, -1), list[float](), list[int]()
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
        stratum += [int(bins.stratum[run[0]])] * number
    known = cell >= 0
    size = np.bincount(cell[known], bins.items[known], len(gap)).astype(np.float64)
    return cell, _mixed(np.array(gap), size), np.array(stratum)


def _mixed(gap: Floats, items: Floats) -> Floats:
    """Mean of the gaps and of the differences in log odds of the rank.

    Rounded to powers of the root of 2, so that few differ.
    """
    first = np.isinf(gap)
    chain = np.cumsum(first) - 1
    total = np.bincount(chain, items)
    below = items.cumsum() - items / 2 - (total.cumsum() - total)[chain]
    ranks = np.log(np.maximum(below, 0.5) / np.maximum(total[chain] - below, 0.5))
    apart = np.where(first, 0.0, np.diff(ranks, prepend=0.0))
    mean = (gap + apart / max(float(apart.sum()), 1.0)) / 2
    return np.asarray(2 ** (np.round(2 * np.log2(mean)) / 2))
