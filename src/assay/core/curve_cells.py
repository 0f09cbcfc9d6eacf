"""Cells along a score, within which shares of yes are taken to be alike."""

from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np

from assay.core.bins import ScoreBins
from assay.core.curve_errors import Curves
from assay.core.types import Bools, Floats, Ints

_LABELS_A_CELL = 8.0
_CELLS = 64  # at least


@dataclass(frozen=True, eq=False)
class Cells:
    """Items that are taken to be alike, C cells of them, beside G thresholds."""

    # labels, positives, left, (C,): labels, those with a yes, and items without a label.
    labels: Floats
    positives: Floats
    left: Floats
    stratum: Ints  # (C,)
    # (C,): how far each is from the one before, as a share of all; infinite where a chain begins.
    gap: Floats
    share: Floats  # (C, G): of its items without a label, those from each threshold on
    # known, items, (G,): positives among the labels, and items, from each threshold on.
    known: Floats
    items: Floats
    tied: Bools  # (G,)

    @classmethod
    def of(cls, bins: ScoreBins, thresholds: Ints) -> Self:
        """Return the cells of these bins, beside thresholds given by the bins where they lie."""
        cell, gap, stratum = _cut(bins)
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
            stratum=stratum,
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

    @property
    def place(self) -> Floats:
        """How far each is from the middle of its chain, shape (C,); negative below it."""
        first = np.isinf(self.gap)
        far = np.where(first, 0.0, self.gap).cumsum()
        starts = np.flatnonzero(first)
        middle = (far[starts] + far[np.append(starts[1:], far.size) - 1]) / 2
        return np.asarray(far - middle[first.cumsum() - 1])

    def curves(self, more: Floats) -> Curves:
        """Return the curves with so many positives among the items without a label, (D, C)."""
        above = more @ self.share + self.known
        return Curves(above[:, :1] - above, self.items - above, self.items, self.tied)


def _cut(bins: ScoreBins) -> tuple[Ints, Floats, Ints]:
    """Return the cell of each bin, -1 where labels cannot tell; the cells' gaps and strata.

    A run of neighbouring bins of one stratum is cut into cells of equal size: as many as its number
    of labels allows, and so many that all are narrow; those without labels lean on others. Which of
    its items have labels, and what they say, is not looked at. Half of a gap is by strata, each as
    wide as another: they are made to differ, whatever labels they have. The other half is by the
    log odds of the rank: few items in a tail differ as much in score as many in the middle.
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
    told = cell >= 0
    size = np.bincount(cell[told], bins.items[told], len(gap)).astype(np.float64)
    return cell, _mixed(np.array(gap), size), np.array(stratum)


def _mixed(gap: Floats, items: Floats) -> Floats:
    """Return the mean of the gaps and of the differences in log odds of the rank.

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
