"""Views: how each target reads the labels of the parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.core.differences import subtract
from assay.core.forms import Metric, Ratio, ratio
from assay.core.goal import Goal
from assay.core.groups import NO_GROUPS, Groups
from assay.core.linear import Linear
from assay.core.matrix import Matrix, MatrixGap
from assay.core.metrics import METRICS, sides
from assay.core.parts import ClassView, MatrixView, Parts, TopGapView, View
from assay.core.ranking import tops_of, tops_of_target
from assay.core.targets import Target
from assay.core.types import Bools, Floats, Ints
from assay.errors import PredictionsError


def views_of(
    goal: Goal,
    classifiers: Sequence[str],  # the k-th has bit k in the parts' codes
    parts: Parts,  # of all items that any target needs labels of
    groups: Groups = NO_GROUPS,  # meaning of the bits behind the classifiers'
) -> tuple[View, ...]:
    """How each target of a goal reads the parts.

    Two classifiers; the first part has items that both predict yes.

    >>> parts = Parts(np.array([0, 1, 2]), np.array([3, 1, 2]), np.array([80.0, 20.0, 20.0]))
    >>> goal = Goal(targets=(Target("precision", "new", within=0.1),
    ...                   Target("precision", "new", minus="old", within=0.1)))
    >>> for view in views_of(goal, ["new", "old"], parts):
    ...     print(view.name, view.parts, view.stratum)
    precision:new [0 1] [0 1]
    precision:new - precision:old [1 2] [1 2]
    """
    views = []
    every_top = tops_of(goal.targets, classifiers)
    for target, each in zip(goal.targets, goal.goals, strict=True):
        if tops := tops_of_target(target, classifiers):
            columns = [parts.classes + 1 + every_top.index(top) for top in tops]
            views.append(_top_view(target, each, parts, columns))
            continue
        if target.label == "":
            views.append(_matrix_view(target, each, classifiers, parts, groups))
            continue
        number = 1 if target.label is None else parts.vocabulary.numbers[target.label]
        readings = _readings(target, classifiers, parts, groups, number)
        kind = View if target.label is None else partial(ClassView, columns=number)
        views.append(_view(kind, target, each, readings, parts))
    return tuple(views)


def _top_view(target: Target, goal: Goal, parts: Parts, columns: Sequence[int]) -> View:
    """View of top-k accuracy: of every stratum, with an outcome of its own.

    `columns`: columns of `Tallies.by_class` that count its outcomes.
    """
    sizes = parts.strata_sizes
    none, items = np.zeros_like(sizes), parts.all_items()
    metric: Metric = Ratio(0.0, np.ones_like(sizes), items, none)
    if target.minus is not None:
        metric = Linear(none, np.zeros(()), none + 1 / items, -1.0)
    every, strata = np.arange(parts.size.size), np.arange(sizes.size)
    common = (target.name, goal, metric, every, parts.starts, strata, np.ones_like(sizes))
    if target.minus is None:
        return ClassView(*common, columns=columns[0])
    return TopGapView(*common, columns=columns[0], against=columns[1])


class _Calls:
    """One classifier's predicted label of each part, and the parts to which it was applied."""

    def __init__(
        self, classifier: str | None, classifiers: Sequence[str], parts: Parts, groups: Groups
    ) -> None:
        number = classifiers.index(classifier or "")
        among = groups.within(parts.classes ** len(classifiers), classifier or "", None)
        self.predicted, self.inside = parts.says(number), parts.inside(among)
        # All items predicted as each class, (K,).
        self.items = parts.items_by_prediction(number, among)

    def matrix(self, metric: str, parts: Parts, which: Ints) -> Matrix:
        """Metric over some of the parts, to all of which the classifier was applied."""
        return Matrix(
            metric, parts.stratum[which], self.predicted[which], parts.size[which], self.items
        )


def _matrix_view(
    target: Target, goal: Goal, classifiers: Sequence[str], parts: Parts, groups: Groups
) -> View:
    """View of a metric of all classes: of every stratum, with the outcome "correct"."""
    calls = _Calls(target.classifier, classifiers, parts, groups)
    if target.minus is not None:
        other = _Calls(target.minus, classifiers, parts, groups)
        return _gap_view(target, goal, calls, other, parts)
    # A mean over classes separates the classes of a stratum.
    key = np.arange(parts.size.size) if target.is_class_mean else parts.stratum
    sizes, strata = _merged(parts, calls.inside, key)
    mine, *_ = strata
    accuracy = Ratio(0.0, np.ones_like(sizes), float(calls.items.sum()), np.zeros_like(sizes))
    common = (target.name, goal, accuracy, *strata)
    if target.metric == "accuracy":
        return ClassView(*common, columns=calls.predicted[mine])
    matrix = calls.matrix(target.metric, parts, mine)
    return MatrixView(*common, columns=calls.predicted[mine], matrix=matrix)


def _gap_view(target: Target, goal: Goal, first: _Calls, second: _Calls, parts: Parts) -> View:
    """View of a difference of metrics of all classes.

    A stratum's items are split into those of one classifier alone, those of the other, and those of
    both; the latter into agreement and disagreement. For accuracy, items with agreement do not
    count if both classifiers have equally many items.
    """
    both = first.inside & second.inside
    apart = both & (first.predicted != second.predicted)
    if np.array_equal(first.inside, second.inside) and not apart.any():
        raise PredictionsError(
            f"{target.classifier} and {target.minus} call every item the same: {target.name} is 0",
            hint=f"check that their columns are not the same, or leave {target.name} out",
        )
    alike, alone = both & ~apart, first.inside != second.inside
    key = 4 * parts.stratum + apart + alone * (2 + second.inside)
    counts = first.inside | second.inside
    if target.metric == "accuracy" and first.items.sum() == second.items.sum():
        counts &= ~alike
    sizes, strata = _merged(parts, counts, key)
    order, starts, *_ = strata
    new, old = (np.flatnonzero(each.inside[order]) for each in (first, second))
    gap = MatrixGap(
        first.matrix(target.metric, parts, order[new]),
        second.matrix(target.metric, parts, order[old]),
        new,
        old,
        parts.size[order],
        np.where(first.inside, first.predicted, second.predicted)[order],
        np.repeat(np.arange(starts.size), np.diff(starts, append=order.size)),
    )
    none = np.zeros_like(sizes)
    metric = Linear(none, np.zeros(()), none + 1 / float(first.items.sum()), -1.0)
    return MatrixView(target.name, goal, metric, *strata, columns=gap.reads, matrix=gap)


def _merged(
    parts: Parts, counts: Bools, key: Ints
) -> tuple[Floats, tuple[Ints, Ints, Ints, Floats]]:
    """Sizes of a view's strata, and its parts, starts, strata and shares.

    The parts that count and have equal keys become a stratum; keys rise with the parts' strata.
    """
    order = np.flatnonzero(counts)[np.argsort(key[counts], kind="stable")]
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    stratum = parts.stratum[order][starts]
    sizes = np.add.reduceat(parts.size[order], starts)
    return sizes, (order, starts, stratum, sizes / parts.strata_sizes[stratum])


def whole_view(goal: Goal, says_yes: Bools | None, parts: Parts) -> View:
    """Single metric's view of the parts: each is a stratum."""
    metric = ratio(goal.metric, parts.size, says_yes)
    every, share = np.arange(parts.size.size), np.ones(parts.size.size)
    return View(goal.metric, goal, metric, every, every, every, share, parts.count, is_whole=True)


@dataclass(frozen=True, eq=False)
class _Reading:
    """One classifier's predicted labels of the parts, and the parts that its metric is about."""

    name: str
    says: Bools
    inside: Bools
    items: float
    yes_items: float

    def ratio(self, metric: str, order: Ints, sizes: Floats) -> Ratio:
        """Metric over the parts that begin the strata of a view."""
        says, inside = self.says[order], self.inside[order].astype(np.float64)
        whole = ratio(metric, sizes, says, items=self.items, yes_items=self.yes_items)
        return replace(whole, a=whole.a * inside, b=whole.b * inside)

    def same_as(self, other: "_Reading") -> bool:
        """Whether another is about the same parts, with the same predicted labels."""
        both = (self.inside & self.says, other.inside & other.says)
        return np.array_equal(self.inside, other.inside) and np.array_equal(*both)


def _readings(
    target: Target, classifiers: Sequence[str], parts: Parts, groups: Groups, number: int
) -> list[_Reading]:
    """How the target's classifiers read the parts; without a classifier for prevalence."""
    readings = []
    for name in [name for name in (target.classifier, target.minus) if name] or [""]:
        among = groups.within(parts.classes ** len(classifiers), name, target.slice)
        inside, items = parts.inside(among), parts.all_items(among)
        if not name:  # predicted labels do not matter
            readings.append(_Reading(name, np.ones_like(inside), inside, items, items))
            continue
        place = classifiers.index(name)
        yes_items = parts.predicted_items(place, number, among)
        readings.append(_Reading(name, parts.calls(place, number), inside, items, yes_items))
    return readings


def _view(
    kind: Callable[..., View], target: Target, goal: Goal, readings: list[_Reading], parts: Parts
) -> View:
    _refuse_undefined(target, readings)
    counts = np.zeros(parts.size.size, dtype=np.bool_)
    # Parts of a stratum with the same labels by its classifiers are merged; nothing else matters.
    key = parts.stratum.copy()
    for each in readings:
        counts |= each.inside & np.isin(each.says, sides(target.metric))
        key = 4 * key + 2 * each.inside + (each.inside & each.says)
    sizes, strata = _merged(parts, counts, key)
    order, starts, *_ = strata
    forms = [each.ratio(target.metric, order[starts], sizes) for each in readings]
    metric = subtract(*forms) if target.minus else forms[0]
    view = kind(target.name, goal, metric, *strata)
    if parts.count is not None:
        view = replace(view, items=np.add.reduceat(parts.count[order], starts))
    return _without_idle(view)


def _without_idle(view: View) -> View:
    """View without the strata on which its classifiers do not differ."""
    counts = view.metric.counts
    length = np.diff(view.starts, append=view.parts.size)
    return replace(
        view,
        metric=view.metric.over(counts),
        parts=view.parts[np.repeat(counts, length)],
        starts=np.cumsum(length[counts]) - length[counts],
        stratum=view.stratum[counts],
        share=view.share[counts],
        items=None if view.items is None else view.items[counts],
    )


def _refuse_undefined(target: Target, readings: list[_Reading]) -> None:
    """Raise if a metric is undefined as one label is never predicted, or a difference is 0."""
    among = f" with {target.slice}" if target.slice else ""
    for each in readings:
        if not each.inside.any():
            raise PredictionsError(
                f"no item{among} needs a label for {target.name}",
                hint=f"check the columns, or leave {target.name} out",
            )
        predicted = each.says[each.inside]
        none, every = not predicted.any(), bool(predicted.all())
        if (
            each.name
            and (none or every)
            and not METRICS[target.metric].depends_on_labels(predicted=every)
        ):
            what = "yes" if none else "no"
            raise PredictionsError(
                f"{each.name} says {what} to no item{among}, so there is no {target.metric} to "
                "estimate",
                hint=f"check the predicted column of {each.name}, or leave {target.name} out",
            )
    if len(readings) == 2 and readings[0].same_as(readings[1]):
        raise PredictionsError(
            f"{target.classifier} and {target.minus} say the same of every item{among}, "
            f"so {target.name} is 0",
            hint=f"check that their columns are not the same, or leave {target.name} out",
        )
