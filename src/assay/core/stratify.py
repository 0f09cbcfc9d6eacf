"""Stratification: from profiles and a goal to strata, for one metric or several."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from assay.core.cells import Heap, Part, cut_heaps, merge_cells
from assay.core.cut_methods import Facing, canonical_method, cut, spread_of
from assay.core.cuts import Cuts
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.groups import Groups
from assay.core.joint import Joint
from assay.core.metrics import METRICS, sides
from assay.core.parts import Parts
from assay.core.profile import Profile
from assay.core.ranking import tops_of
from assay.core.strata import Side, Strata
from assay.core.types import Floats
from assay.core.views import views_of
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError

# A heap with this share of a target's items gets at most this number of strata by score. More
# strata would cost labels without information (docs/several.md).
_BINS = ((0.1, 4), (0.03, 2))
# With two weeks side by side: cells are few, and scores are equally informative in each.
_BINS_OF_TWO = 8
_BINS_OF_NO = 8  # for items that every classifier predicts no, as for a single metric
# Classes are grouped if they are predicted about equally often, in steps of this many octaves from
# the largest, and each group is cut into at least this number of strata.
_OCTAVES = 1
_LEAST_BINS = 3
# Share of the maximum labels of a goal. Each stratum has three labels first, a sixteenth of that: a
# random sample may be done after an eighth, where nearly all predictions are right.
_LABELS_A_STRATUM = 48
_LABELS_A_CLASS = 3  # minimum per stratum for each class in a mean over classes


class Cells(Protocol):
    """Source of strata: `Predictions`, or a population whose truth is known."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The classes."""

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Their names, in the order of the bits of a code."""

    @property
    def groups(self) -> Groups:
        """Meaning of the bits behind the classifiers'."""

    def cells(self) -> dict[int, int]:
        """Count or weigh the items of each code that occurs."""

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Distribution of the mean rank among the items with each heap's codes."""

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Count the items in each part of the strata that the heaps are cut into."""


def cell_strata(source: Cells, goal: Goal, design: Design, *, by_model: bool = False) -> Strata:
    """Cut the items that some target needs labels of.

    Cells that are too small or too many are merged (`core.cells`). The number of strata of a heap,
    by mean rank, follows its largest share of any target's items, and is at most ``design.bins``.
    With one classifier there are at most two cells, which are cut as for a single metric.
    """
    every = source.cells()
    if design.recycles:  # samples are of cells, for any rank
        return replace(
            _uncut(source, [[code] for code in sorted(every)]), yes_items=_yes_items(source)
        )
    known = source.vocabulary
    if known.has_matrix:
        return _class_strata(source, goal, design, every)
    share = _shares(every, goal, source)
    heaps = merge_cells({code: part for code, part in share.items() if part > 0})
    cut_by = _cut_by_model if by_model else _cut_by_rank
    heaped = cut_by(source, goal, design, heaps, every)
    return Strata(
        source.classifiers,
        tuple(heaped),
        source.count_parts(heaped),
        items=sum(every.values()),
        yes_items=_yes_items(source),
        groups=source.groups,
        rest=tuple(item for item in every.items() if not share[item[0]])
        if source.groups or not known.is_yes_or_no
        else (),
        vocabulary=known,
    )


def _bits(source: Cells) -> int:
    """Count the yes-or-no bits of a code: one per classifier, or one per class of each.

    If an item may have several classes, each is a yes-or-no question.
    """
    return len(source.classifiers) * source.vocabulary.bits


def _yes_items(source: Cells) -> tuple[int, ...]:
    """Count the items that each classifier predicts yes, or predicts each class for."""
    every = source.cells()
    return tuple(
        sum(items for code, items in every.items() if code >> bit & 1)
        for bit in range(_bits(source))
    )


def _class_strata(source: Cells, goal: Goal, design: Design, every: Mapping[int, int]) -> Strata:
    """Cut items of more than two classes by predicted class and by rank.

    A class that a target is about is sampled on its own. The others are grouped with classes of
    similar predicted frequency: an item of a small class weighs more in a macro average, so labels
    must be able to go there. In other metrics items weigh about the same, and the score alone shows
    where the errors are. All classes are counted separately. With two weeks, items that are in only
    one are sampled separately from those of both. Items that no target needs labels of are in no
    stratum.

    `every`: the items of each code.
    """
    by_size = any(target.is_class_mean for target in goal.targets)
    heaps = _class_heaps(source, goal, every, by_size=by_size)
    profiles = source.profile_heaps(heaps)
    total = sum(sum(every[code] for code in heap) for heap in heaps)
    bins = []
    for heap, profile in zip(heaps, profiles, strict=True):
        share = max(len(heap) / max(len(every), 1), sum(every[code] for code in heap) / total)
        # As many as the labels support, or some for each predicted class.
        most = max(goal.worst_case // _LABELS_A_STRATUM, 4)
        if by_size:
            most = max(goal.worst_case // (_LABELS_A_CLASS * len(heap)), 2)
        number = min(max(round(design.bins * share), _LEAST_BINS), most)
        bins.append(min(number, design.bins, profile.count.size))
    facing = [Facing(False, sum(every[code] for code in heap)) for heap in heaps]
    method = "depth" if design.strata == "auto" else design.strata
    cut_up = cut_heaps(profiles, heaps, bins, method=method, facing=facing)
    inside = {code for heap in heaps for code in heap}
    return Strata(
        source.classifiers,
        tuple(cut_up),
        source.count_parts(cut_up),
        items=sum(every.values()),
        groups=source.groups,
        rest=tuple(item for item in sorted(every.items()) if item[0] not in inside),
        vocabulary=source.vocabulary,
    )


def _class_heaps(
    source: Cells, goal: Goal, every: Mapping[int, int], *, by_size: bool
) -> list[list[int]]:
    """Codes that are sampled together; with `by_size`, those of classes of similar frequency."""
    known = source.vocabulary
    about = {known.numbers[target.label] for target in goal.targets if target.label}
    unit = known.kinds ** len(source.classifiers)
    whose = [source.groups.within(unit, name, None) for name in source.classifiers]
    heaps: dict[tuple[int, ...], list[int]] = {}
    needed = _needed(source, goal, every)
    largest = max(every[code] for code in needed)
    for code in needed:
        labels = {known.predicted(code, j) for j, among in enumerate(whose) if among.holds(code)}
        apart = len(labels) > 1  # classifiers disagree: one of them is wrong
        size = int(np.log2(largest / max(every[code], 1)) / _OCTAVES) if by_size else 0
        own = sorted(labels & about)
        key = (0, code // unit, *own) if own else (1 + apart, code // unit, size)
        heaps.setdefault(key, []).append(code)
    return list(heaps.values())


def _needed(source: Cells, goal: Goal, every: Mapping[int, int]) -> list[int]:
    """Codes of items that some target needs labels of, ascending."""
    codes = np.array(sorted(every))
    sizes = np.array([every[code] for code in codes.tolist()], dtype=np.float64)
    parts = Parts(np.arange(codes.size), codes, sizes, vocabulary=source.vocabulary)
    views = views_of(goal, source.classifiers, parts, source.groups)
    needed = np.unique(np.concatenate([view.parts for view in views]))
    return [int(code) for code in codes[needed]]


def random_strata(source: Cells) -> Strata:
    """Single stratum of all items, for any predicted label: a random sample."""
    return _uncut(source, [sorted(source.cells())])


def _uncut(source: Cells, heaps: Sequence[Sequence[int]]) -> Strata:
    """Strata of whole heaps, each with these codes."""
    every, whole = source.cells(), Cuts(method="perc", points=(), owner=(0,))
    return Strata(
        source.classifiers,
        tuple(Heap(tuple(codes), whole) for codes in heaps),
        tuple((h, code, every[code]) for h, codes in enumerate(heaps) for code in codes),
        items=sum(every.values()),
        groups=source.groups,
        vocabulary=source.vocabulary,
    )


def _cut_by_rank(
    source: Cells,
    goal: Goal,
    design: Design,
    heaps: Sequence[Sequence[int]],  # the codes of each
    every: Mapping[int, int],  # the items of each code
) -> list[Heap]:
    """Cut heaps by the mean rank."""
    profiles, share = source.profile_heaps(heaps), _shares(every, goal, source)
    finest = [_bins(sum(share[code] for code in heap)) for heap in heaps]
    if source.groups.among:
        finest = [_BINS_OF_TWO] * len(heaps)
    elif _bits(source) == 1 and not source.groups:
        finest = [design.bins if len(heaps) == 1 else max(design.bins // 2, 1)] * len(heaps)
    bins = [
        # If no classifier has a score, all ranks are equal.
        min(design.bins, profile.count.size, each)
        for profile, each in zip(profiles, finest, strict=True)
    ]
    facing = _facing_heaps(heaps, every, _bits(source))
    method = "depth" if design.strata == "auto" else design.strata
    bins = [
        # Nearly all missed positives may lie in a thin layer of the items that all predict no.
        min(max(number, _BINS_OF_NO), profile.count.size, design.bins)
        if each is not None and each.up
        else number
        for number, profile, each in zip(bins, profiles, facing, strict=True)
    ]
    return cut_heaps(profiles, heaps, bins, method=method, facing=facing)


def _cut_by_model(
    source: Cells,
    goal: Goal,
    design: Design,
    heaps: Sequence[Sequence[int]],
    every: Mapping[int, int],
) -> list[Heap]:
    """Cut heaps by log odds, each into the largest number of strata that any target needs.

    A target alone would have ``design.bins``, allocated by the total of sqrt(q (1 - q)).
    """
    profiles = source.profile_heaps(heaps)
    spread = {
        code: float(spread_of(profile).sum()) * every[code] / profile.total
        for profile, heap in zip(profiles, heaps, strict=True)
        for code in heap
    }
    share = _shares(every, goal, source, spread)
    bins = [
        min(max(round(design.bins * sum(share[code] for code in heap)), 1), profile.count.size)
        for profile, heap in zip(profiles, heaps, strict=True)
    ]
    return cut_heaps(profiles, heaps, bins, method="spread")


def joint_of(
    # design, goal, strata: the design, the goal, and the sampled cells.
    design: Design,
    goal: Goal,
    strata: Strata,
    # Labels and positives of the previous period, by part: where to look first.
    prior: tuple[Floats, Floats] | None = None,
) -> Joint:
    """Set up the evaluation of a goal's targets on strata."""
    parts = parts_of(strata)
    views = views_of(goal, strata.classifiers, parts, strata.groups)
    tops = tops_of(goal.targets, strata.classifiers)
    return Joint(design, parts, views, goal.budget, prior, tops)


def parts_of(strata: Strata) -> Parts:
    """Parts by which labels are counted."""
    return Parts(
        strata.part_stratum,
        strata.part_code,
        strata.part_weight.astype(np.float64),
        strata.items,
        strata.yes_items,
        strata.rest,
        strata.part_size.astype(np.float64) if strata.weighted else None,
        strata.vocabulary,
    )


def _shares(
    cells: Mapping[int, int],  # the items of each code
    goal: Goal,
    source: Cells,
    # Weights of the shares, for both predicted labels together; default: numbers of items.
    spread: Mapping[int, float] | None = None,
) -> dict[int, float]:
    """Each cell's largest share of a target's items with one predicted label."""
    codes = np.array(sorted(cells))
    sizes = np.array([cells[code] for code in codes.tolist()], dtype=np.float64)
    weight = sizes
    if spread is not None:
        weight = np.array([spread.get(code, 0.0) for code in codes.tolist()])
    parts = Parts(np.arange(codes.size), codes, sizes, vocabulary=source.vocabulary)
    share = np.zeros(codes.size)
    for view in views_of(goal, source.classifiers, parts, source.groups):
        rises = view.metric.rises(view.gather(sizes) / 2)
        for side in (rises, ~rises) if spread is None else (np.ones_like(rises),):
            which = view.parts[side]
            total = max(float(weight[which].sum()), 1e-300)
            share[which] = np.maximum(share[which], weight[which] / total)
    return dict(zip(codes.tolist(), share.tolist(), strict=True))


def _facing_heaps(
    heaps: Sequence[Sequence[int]], cells: Mapping[int, int], classifiers: int
) -> list[Facing | None]:
    """Position of the threshold for heaps of unanimous classifiers.

    In other heaps, where the classifiers disagree, every item is near the threshold.
    """
    all_yes = (1 << classifiers) - 1
    total = sum(cells.values())
    facing: list[Facing | None] = []
    for heap in heaps:
        codes = {code & all_yes for code in heap}
        others = max(total - sum(cells[code] for code in heap), 1)
        facing.append(Facing(codes == {0}, others) if codes in ({0}, {all_yes}) else None)
    return facing


def _bins(share: float) -> int:
    return next((bins for least, bins in _BINS if share >= least), 1)


# For one metric of one classifier: its sides, and their cuts.


def sides_to_cut(design: Design, metric: str, positives: int, size: int, source: str) -> list[Side]:
    """Sides that are cut into strata: yes, no, or None for both together.

    `positives`: of this number of items, those that are predicted yes; `source`: where they are
    from, for people.

    Accuracy by confidence mixes both predicted labels in its strata (paper 2); all others keep them
    apart, and leave out the side of which the metric needs no labels.

    Raises PredictionsError: the metric does not depend on labels, because one class is never
    predicted.

    >>> sides_to_cut(Design(), "recall", 3, 9, "arrays")
    [True, False]
    >>> sides_to_cut(Design.kumar_raj(), "accuracy", 3, 9, "arrays")
    [None]
    """
    none, every = positives == 0, positives == size
    if (none or every) and not METRICS[metric].depends_on_labels(predicted=every):
        what = "positive" if none else "negative"
        raise PredictionsError(
            f"no row of {source} is predicted {what}, so there is no {metric} to estimate",
            details=f"{size:,} rows, {positives:,} predicted positive",
            hint="check the predicted column, `positive` and `threshold`",
        )
    if design.variable == "confidence" and metric == "accuracy":
        return [None]
    there = {True: not none, False: not every}
    return [side for side in sides(metric) if there[side]]


def stratify(
    profiles: Mapping[bool | None, Profile], *, variable: str, method: str, bins: int
) -> Strata:
    """Cut the profile of each predicted label into strata.

    `profiles`: the scores of the items with each predicted label; None for items of both.

    With one heap for each profile, in their order.
    """
    facing = _facing(profiles)
    number = dict.fromkeys(profiles, bins)
    if canonical_method(method) == "auto" and facing:
        method, number = "depth", dict.fromkeys(profiles, max(bins // 2, 1))
    elif canonical_method(method) == "spread":
        total = {side: float(spread_of(profile).sum()) for side, profile in profiles.items()}
        every = sum(total.values())
        number = {side: max(2, round(bins * each / every)) for side, each in total.items()}
    cuts = {
        side: cut(profile, method, number[side], facing.get(side))
        for side, profile in profiles.items()
    }
    sizes = [size for side, each in cuts.items() for size in each.sizes(profiles[side]).tolist()]
    return Strata.of_sides(variable, cuts, sizes)


def _facing(profiles: Mapping[bool | None, Profile]) -> dict[bool | None, Facing]:
    """Position of the threshold seen from either side; empty if there is one side only.

    For a score that falls where others rise, yes has the lower scores.
    """
    yes, no = profiles.get(True), profiles.get(False)
    if yes is None or no is None:
        return {}
    upright = _median(yes) >= _median(no)
    return {True: Facing(not upright, no.total), False: Facing(upright, yes.total)}


def _median(profile: Profile) -> float:
    return float(profile.mean[np.searchsorted(np.cumsum(profile.count), profile.total / 2)])
