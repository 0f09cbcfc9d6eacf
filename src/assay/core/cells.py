"""Groups of Venn cells: where the items of several classifiers lie, with counts of each part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.core.bins import Scale
from assay.core.cut_methods import Facing, cut
from assay.core.cuts import Cuts
from assay.core.profile import Profile, as_scores, profile_of
from assay.core.types import Floats, Ints
from assay.errors import DesignError, InputError

Part = tuple[int, int, int]
"""A stratum, a code, and the number of the stratum's items that have the code."""


@dataclass(frozen=True)
class Heap:
    """Cells that are sampled together, and how their items are cut into strata."""

    # The cells: bit k of a code is set where classifier k says yes. Ascending.
    codes: tuple[int, ...]
    cuts: Cuts  # how the heap is cut by the stratification variable

    def __post_init__(self) -> None:
        """Refuse missing codes and codes out of order."""
        if not self.codes or self.codes[0] < 0 or list(self.codes) != sorted(set(self.codes)):
            raise DesignError(
                f"a heap of {len(self.codes)} codes that begin with {self.codes[:5]}",
                details="there is at least one; they are at least 0, and ascending",
            )

    @property
    def side(self) -> bool | None:
        """A single classifier's label of the items; None if it has both."""
        return None if len(self.codes) > 1 else self.codes[0] == 1


def count_cells(codes: Ints, weights: Ints | None = None) -> dict[int, int]:
    """Count the items of each code that occurs, or sum their weights.

    >>> count_cells(np.array([3, 0, 3, 1]))
    {0: 1, 1: 1, 3: 2}
    >>> count_cells(np.array([3, 0, 3, 1]), np.array([5, 1, 2, 9]))
    {0: 1, 1: 9, 3: 7}
    """
    if weights is not None:
        there, place = np.unique(codes, return_inverse=True)
        sums = np.zeros(there.size, dtype=np.int64)  # whole: a sum of floats could be rounded
        np.add.at(sums, place, weights)
        return dict(zip(there.tolist(), sums.tolist(), strict=True))
    if codes.size and codes.max() < codes.size:  # no more counters than items: no need to sort
        counts = np.bincount(codes)
        there = np.flatnonzero(counts)
        counts = counts[there]
    else:
        there, counts = np.unique(codes, return_counts=True)
    return dict(zip(there.tolist(), counts.tolist(), strict=True))


def profile_heaps(
    # values, codes, (N,): the items' mean ranks, from 0 to 1, and codes of their predicted labels.
    values: Floats,
    codes: Ints,
    # The codes of each heap; each occurs among the items, and in one heap only.
    heaps: Sequence[Sequence[int]],
    scale: Scale = "probability",  # the kind of values; log odds are margins
) -> list[Profile]:
    """Distribution of the mean rank, or of a model's log odds, in each heap.

    >>> values, codes = np.array([0.1, 0.2, 0.3]), np.array([0, 1, 2])
    >>> [profile.total for profile in profile_heaps(values, codes, [(0,), (1, 2)])]
    [1, 2]
    """
    items = items_by_heap(codes, heaps)
    return [replace(profile_of(values[rows], scale), scale=scale) for rows in items]


def cut_heaps(
    profiles: Sequence[Profile],  # the distribution of the stratification variable in each heap
    heaps: Sequence[Sequence[int]],  # their codes
    # Number of strata for each; fewer if its values are too similar.
    bins: Sequence[int],
    *,
    method: str = "perc",  # one of `assay.core.cut_methods.METHODS`
    # Position of the threshold for each, as in `cut`.
    facing: Sequence[Facing | None] | None = None,
) -> list[Heap]:
    """Cut each heap into strata.

    >>> values, codes = np.array([0.1, 0.2, 0.3]), np.array([0, 1, 2])
    >>> heaps = [(0,), (1, 2)]
    >>> [heap.cuts.points for heap in cut_heaps(profile_heaps(values, codes, heaps), heaps, [1, 2])]
    [(), (0.3,)]
    """
    return [
        Heap(tuple(sorted(codes)), cut(profile, method, number, towards))
        for profile, codes, number, towards in zip(
            profiles, heaps, bins, facing or [None] * len(heaps), strict=True
        )
    ]


def assign_strata(values: Floats, codes: Ints, heaps: Sequence[Heap]) -> Ints:
    """Stratum of each item, numbered through the heaps.

    `values`, `codes`, (N,): the items' stratification variable, and the codes of their predicted
    labels; `heaps`: without common codes.

    -1 for an item whose code is in no heap.

    >>> whole = Cuts(method="perc", points=(), owner=(0,))
    >>> halves = Cuts(method="perc", points=(0.5,), owner=(0, 1))
    >>> heaps = [Heap((0,), whole), Heap((1, 3), halves)]
    >>> assign_strata(np.array([0.9, 0.9, 0.2, 0.7]), np.array([0, 1, 3, 2]), heaps)
    array([ 0,  2,  1, -1])
    """
    scores = as_scores(values)
    if codes.dtype.kind not in "iu" or codes.shape != scores.shape:
        raise InputError(
            f"codes are {codes.dtype} of shape {codes.shape}",
            details=f"they must be whole numbers of shape {scores.shape}, one for each value",
        )
    number = np.full(scores.size, -1, dtype=np.int64)
    first = 0
    items = items_by_heap(codes, [heap.codes for heap in heaps])
    for heap, rows in zip(heaps, items, strict=True):
        number[rows] = first + (heap.cuts.assign(scores[rows]) if heap.cuts.points else 0)
        first += heap.cuts.n_strata
    return number


def count_parts(
    values: Floats, codes: Ints, heaps: Sequence[Heap], weights: Ints | None = None
) -> tuple[Part, ...]:
    """Count the items of each stratum and code.

    `weights`, (N,): each item's weight; default 1.

    Ascending; parts without items are left out.

    >>> heaps = [Heap((1, 3), Cuts(method="perc", points=(0.5,), owner=(0, 1)))]
    >>> count_parts(np.array([0.9, 0.8, 0.2, 0.7]), np.array([1, 1, 3, 3]), heaps)
    ((0, 3, 1), (1, 1, 2), (1, 3, 1))
    """
    stratum = assign_strata(values, codes, heaps)
    known = np.sort([code for heap in heaps for code in heap.codes])
    taken = stratum >= 0
    pair = stratum[taken] * known.size + np.searchsorted(known, codes[taken])
    return tuple(
        (place // known.size, int(known[place % known.size]), items)
        for place, items in count_cells(pair, None if weights is None else weights[taken]).items()
    )


def items_by_heap(codes: Ints, heaps: Sequence[Sequence[int]]) -> list[Ints]:
    """Rows of each heap's items, ascending.

    The cost hardly depends on the number of heaps and codes: each code is looked up by bisection,
    and the small heap numbers are sorted by radix.
    """
    known = np.array([code for heap in heaps for code in heap], dtype=np.int64)
    order = np.argsort(known)
    known = known[order]
    twice = known[1:][known[1:] == known[:-1]]
    if twice.size:
        raise InputError(f"the code {twice[0]} is in two heaps", details="it must be in one only")
    small = np.min_scalar_type(len(heaps))
    of_code = np.repeat(np.arange(len(heaps), dtype=small), [len(heap) for heap in heaps])[order]
    place = np.minimum(np.searchsorted(known, codes), known.size - 1)
    heap_of = np.where(known[place] == codes, of_code[place], small.type(len(heaps)))
    rows = np.argsort(heap_of, kind="stable")
    ends = np.cumsum(np.bincount(heap_of, minlength=len(heaps) + 1))
    return np.split(rows, ends[:-1])[: len(heaps)]


# Which cells of a Venn diagram are sampled on their own, and which together.

_MOST_HEAPS = 8


def merge_cells(
    shares: Mapping[int, float], *, most: int = 24, least: float = 0.005
) -> list[tuple[int, ...]]:
    """Merge cells that are too small or too many.

    A cell stands alone if its share is one of the `most` largest and at least `least`. The others
    are sorted by the number of classifiers that predict yes, then by code, and cut into heaps of
    neighbours. A heap is full when its cells' shares reach an eighth of all the others', and
    `least`; the last one, if not full, joins the one before.

    No metric becomes biased: labels are counted by cell also where cells are sampled together.
    Intervals may become wider, since labels of a heap cannot be directed to one of its cells. So a
    share is of the items that a target is about, not of all items: a classifier that says yes to
    one item in a thousand needs labels of just these.

    `shares`: each cell's importance, by its code (bit k is set where classifier k says yes): its
    largest share of the items that any target is about. Only cells that some target needs.

    The codes of each heap, ascending: first the cells that stand alone, in the order of their
    codes, then at most eight heaps. Each code is in exactly one of them.

    >>> merge_cells({0b00: 0.9, 0b01: 0.099, 0b10: 0.0008, 0b11: 0.0002})
    [(0,), (1,), (2, 3)]
    """
    largest = sorted(shares, key=lambda code: (-shares[code], code))[:most]
    alone = sorted(code for code in largest if shares[code] >= least)
    others = sorted(set(shares).difference(alone), key=lambda code: (code.bit_count(), code))
    full = max(least, sum(shares[code] for code in others) / _MOST_HEAPS)
    heaps: list[list[int]] = []
    share = full  # so that the first cell opens a heap
    for code in others:
        if share >= full:
            heaps.append([])
            share = 0.0
        heaps[-1].append(code)
        share += shares[code]
    if share < full and len(heaps) > 1:
        last = heaps.pop()
        heaps[-1] += last
    return [*((code,) for code in alone), *(tuple(sorted(heap)) for heap in heaps)]
