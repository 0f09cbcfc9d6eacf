"""A campaign's metric in every slice of its items, from the labels so far.

The labels were drawn for the whole population. `core.subgroups` estimates parts of it; this module
counts labels by stratum and slice.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.core.answers import Answer
from assay.core.goal import Goal
from assay.core.groups import Within
from assay.core.metrics import METRICS
from assay.core.standing import Standing
from assay.core.strata import Strata
from assay.core.subgroups import Domain, Doubt, as_metric, doubts, kinds, share_of
from assay.core.targets import Target
from assay.core.types import Bools, Floats, Ints, percent
from assay.core.vocabulary import Vocabulary
from assay.errors import DesignError, InputError, did_you_mean
from assay.labelling.settings import Settings
from assay.labelling.slice_items import SliceAnswers, SliceCounts, count_slices, slice_values
from assay.labelling.state import Labelling
from assay.results import SliceRow, Slices

_MOST = 50  # slices; those with the fewest labels are merged if there are more
_WHY = {
    Doubt.FEW_LABELS: "{counted} of 30 labels",
    Doubt.FEW_EFFECTIVE: "worth {effective:.0f} of 30 labels",
    Doubt.WIDE: "wider than 0.30",
    Doubt.WIDE_FOR_ITS_VALUE: "wider than 130% of itself",
}


@dataclass(frozen=True)
class CountedTarget:
    """Metric that a campaign estimates: its confidence, and the items it is about.

    `bit`: the classifier's bit in the codes of predictions; `among`: items that the metric is
    about. With more classes than yes and no, `of` is the class that counts as yes. If `of` is "",
    every item is predicted to be right, and positive if it is.
    """

    name: str
    metric: str
    confidence: float
    bit: int
    among: Within
    classes: Vocabulary
    of: str

    def is_positive(self, answer: Answer, predicted: int) -> bool:
        """Whether an answer makes an item positive."""
        if self.of:
            return self.of in self.classes.parted(answer)
        return self.classes.number(answer) == self.classes.predicted(predicted, self.bit)

    def says_yes(self, predicted: Ints) -> Bools:
        """Where the classifier says yes."""
        labels = self.classes.predicted(predicted, self.bit)
        if not self.of:
            return np.ones_like(labels, dtype=np.bool_)
        return self.classes.says(labels, self.classes.numbers[self.of])

    def kinds(self, predicted: Ints, positive: Bools) -> Ints:
        """Kinds of items in the metric, -1 for those that do not count."""
        inside = self.among.holds(predicted)
        return np.where(inside, kinds(self.metric, self.says_yes(predicted), positive), -1)

    def raises(self, predicted: Ints) -> Bools:
        """Where a positive item raises the metric, and a negative one does not."""
        yes, no = (METRICS[self.metric].rises(predicted=side) for side in (True, False))
        return np.where(self.says_yes(predicted), yes, no)

    def about(self, predicted: Ints) -> Bools:
        """Items that may be in the metric's denominator, before they are judged."""
        either = (np.full(predicted.shape, positive) for positive in (True, False))
        return np.logical_or(*(self.kinds(predicted, positive) >= 0 for positive in either))


def slices_of(
    labelling: Labelling,
    column: str,
    *,
    metric: str | None = None,
    predictions: object = None,
    simultaneous: bool = False,
) -> Slices:
    """Metric in every slice; the parameters are those of `Campaign.slices`."""
    target = _target(labelling.settings, metric)
    items = [*labelling.rounds.answers, *(card.item_id for card in labelling.rounds.outstanding)]
    values = slice_values(labelling, items, column, predictions)
    answered = SliceAnswers.on(labelling, items, is_positive=target.is_positive)
    about = target.about(answered.predicted)
    slots, names, others = slots_of(values, about, answered.judged)
    confidence = 1 - (1 - target.confidence) / (max(len(names), 1) if simultaneous else 1)
    estimates, share = _Sliced(labelling, target, items, slots, len(names), confidence).known
    labels, unjudged, waiting = (
        np.bincount(slots[about & which], minlength=len(names)).tolist()
        for which in (answered.judged, ~answered.judged & ~answered.open, answered.open)
    )
    estimated = {(each.name, each.goal.confidence): each for each in labelling.rounds.standings}
    rows = [
        _as_estimated(
            estimated.get((f"{target.name}[{column}={name}]", confidence)),
            _row(
                name,
                estimates,
                at,
                lowest=METRICS[target.metric].lowest,
                share=share[at],
                labels=labels[at],
                cannot_judge=unjudged[at],
                waiting=waiting[at],
            ),
        )
        for at, name in enumerate(names)
    ]
    notes = _notes(len(rows), target.confidence, others=others, simultaneous=simultaneous)
    notes += _notes_on_items(labelling.settings.goal, sum(waiting))
    return Slices(column, target.name, target.confidence, simultaneous, tuple(rows), tuple(notes))


def _notes_on_items(goal: Goal, waiting: int) -> list[str]:
    notes = []
    if waiting:
        notes.append(f"{waiting:,} drawn items have no label yet and count as the worst case")
    if (of := goal.sample_of) is not None:
        notes.append(f"about the items that are there, not the {of:,} they were drawn from")
    return notes


def slots_of(values: Sequence[str], about: Bools, judged: Bools) -> tuple[Ints, list[str], int]:
    """Slice of each item, the slices' names, and the number of slices that were merged.

    Slices with most labels come first.
    """
    labels: Counter[str] = Counter()
    for value, covered, has_label in zip(values, about.tolist(), judged.tolist(), strict=True):
        if covered:
            labels[value] += has_label
    names = sorted(labels, key=lambda name: (-labels[name], name))
    kept, others = names[:_MOST], len(names[_MOST:])
    place = {name: min(at, _MOST) for at, name in enumerate(names)}
    slots = np.array([place.get(value, 0) for value in values], dtype=np.int64)
    return slots, [*kept, f"({others:,} others)"] if others else kept, others


def _target(settings: Settings, metric: str | None) -> CountedTarget:
    """Find the requested metric of the campaign; default: the first that slices support."""
    goal = settings.goal
    names = [target.name for target in goal.targets]
    _refuse_unknown(metric, names)
    can_be = [
        at
        for at, target in enumerate(goal.targets)
        if target.minus is None and (target.label != "" or target.metric == "accuracy")
    ]
    if metric is None and not can_be and not settings.is_binary:
        target = Target("accuracy", settings.strata.classifiers[0], label="")
        return counted_target(settings, target, goal.confidence)
    at = names.index(metric) if metric is not None else (*can_be, 0)[0]
    target = goal.targets[at]
    if target.label == "" and target.metric != "accuracy":
        raise DesignError(
            f"{target.name} is of all classes, and slices are of accuracy, or of one class",
            hint="leave out metric= for accuracy; or name one of a class that is estimated",
        )
    if target.minus is not None:
        raise DesignError(
            f"{target.name} is a difference, and slices are of one metric of one classifier",
            hint="name one that the campaign estimates, metric='precision:new'; for differences in "
            "a slice, make the slice a target: 'precision:new[lang=de] - precision:old[lang=de]'",
        )
    return counted_target(settings, target, goal.goals[at].confidence)


def counted_target(settings: Settings, target: Target, confidence: float) -> CountedTarget:
    """Express a metric of one classifier in its counted form."""
    strata, of = settings.strata, "yes" if target.label is None else target.label
    among = strata.groups.within(strata.unit, target.classifier or "", target.slice)
    bit = strata.classifiers.index(target.classifier) if target.classifier else 0
    return CountedTarget(target.name, target.metric, confidence, bit, among, settings.classes, of)


def _refuse_unknown(metric: str | None, names: Sequence[str]) -> None:
    if metric is not None and metric not in names:
        raise InputError(
            f"this campaign does not estimate {metric!r}",
            details=f"metrics: {', '.join(names)}",
            hint=did_you_mean(metric, names),
        )


@dataclass(frozen=True, eq=False)
class _Sliced:
    """Drawn items in slices."""

    labelling: Labelling
    target: CountedTarget
    items: Sequence[str]
    slots: Ints
    n_slices: int
    confidence: float

    @property
    def known(self) -> tuple[Domain, Floats]:
        """Estimate in each slice, and the slice's share of the items that the metric is about.

        Items that wait for an answer are at their worst.
        """
        answered = self._answered()
        estimates, share = self._estimate(answered)
        if answered.open.any():
            raises = self.target.raises(answered.predicted)
            (worst, _), (best, _) = (
                self._estimate(self._answered(supposed)) for supposed in (~raises, raises)
            )
            low, high = np.minimum(estimates.low, worst.low), np.maximum(estimates.high, best.high)
            estimates = replace(estimates, low=low, high=high)
        return estimates, share

    def _answered(self, supposed: Bools | None = None) -> SliceAnswers:
        positive = self.target.is_positive
        return SliceAnswers.on(self.labelling, self.items, supposed=supposed, is_positive=positive)

    def _estimate(self, answered: SliceAnswers) -> tuple[Domain, Floats]:
        target = self.target
        number, share_of_counts = share_of(target.metric)
        possible = possible_kinds(self.labelling.settings.strata, target.kinds, number)

        def counted(kind: Ints) -> SliceCounts:
            return count_slices(
                self.labelling,
                answered,
                self.slots,
                kind,
                n_slices=self.n_slices,
                possible=possible,
                alike=possible @ (1 << np.arange(number)),
            )

        counts = counted(target.kinds(answered.predicted, answered.positive))
        items = counted(np.where(target.about(answered.predicted), 0, -1)).sums[:, 0]
        share = items / max(items.sum(), 1.0)
        return as_metric(target.metric, counts.domain(share_of_counts, self.confidence)), share


def possible_kinds(strata: Strata, kinds: Callable[[Ints, Bools], Ints], number: int) -> Bools:
    """Which strata may hold items of each kind, (H, K)."""
    stratum, code = np.array(strata.possible_codes, dtype=np.int64).T
    possible = np.zeros((strata.n_strata, number), dtype=np.bool_)
    for positive in (True, False):
        kind = kinds(code, np.full(code.shape, positive))
        possible[stratum[kind >= 0], kind[kind >= 0]] = True
    return possible


def _row(
    name: str,
    estimates: Domain,
    at: int,
    *,
    lowest: float,
    share: float,
    labels: int,
    cannot_judge: int,
    waiting: int,
) -> SliceRow:
    return SliceRow(
        slice=name,
        **figures_at(estimates, at),
        labels=labels,
        effective=effective_at(estimates, at),
        share=float(share),
        cannot_judge=cannot_judge,
        doubt=doubt_of(estimates, at, lowest),
        open=waiting,
    )


def figures_at(estimates: Domain, at: int) -> dict[str, Any]:
    """Value, interval, standard error and labels of a slice, for its row."""
    known = bool(estimates.effective[at])
    return {
        "value": float(estimates.value[at]) if known else None,
        "low": float(estimates.low[at]),
        "high": float(estimates.high[at]),
        "standard_error": float(np.sqrt(estimates.variance[at])) if known else None,
        "counted": int(estimates.labels[at]),
    }


def effective_at(estimates: Domain, at: int) -> float | None:
    """Effective number of labels of a slice; None if infinite."""
    effective = float(estimates.effective[at])
    return effective if np.isfinite(effective) else None


def _as_estimated(standing: Standing | None, row: SliceRow) -> SliceRow:
    """Row of a slice, with the figures of its own target if it has one."""
    if standing is None or row.value is None:
        return row
    now = standing.look
    return replace(
        row,
        value=float(now.moments.value),
        low=float(now.low),
        high=float(now.high),
        standard_error=float(np.sqrt(now.moments.variance)),
    )


def doubt_of(estimates: Domain, at: int, lowest: float) -> str:
    """Reason why a slice has too few labels, in words; empty if it has enough."""
    why = _WHY.get(Doubt(int(doubts(estimates, lowest)[at])), "")
    return why.format(counted=int(estimates.labels[at]), effective=float(estimates.effective[at]))


def _notes(slices: int, confidence: float, *, others: int, simultaneous: bool) -> list[str]:
    notes = []
    if others:
        notes.append(
            f"{slices - 1 + others:,} slices: the {_MOST} with most labels are listed, the "
            "others are merged"
        )
    sure = percent(confidence)
    if simultaneous:
        notes.append(f"the {sure} confidence applies to all intervals together")
    elif slices > 1:
        notes.append(
            f"each interval is at {sure} on its own; simultaneous=True applies the confidence to "
            "all together"
        )
    return notes
