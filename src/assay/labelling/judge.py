"""Quality of a judge: its verdicts in a column, against people's answers to the same items.

The answers were drawn for the campaign's metric, and out of proportion. Each is weighted by its
stratum, as in slices (`labelling.slices`); an item without a verdict is outside of the slice.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from numbers import Real
from typing import TypeAlias

import numpy as np

from assay.core.answers import parse_verdict, probable_yes
from assay.core.metrics import kind_of
from assay.core.strata import Strata
from assay.core.subgroups import (
    Domain,
    Share,
    Term,
    as_contrast,
    as_metric,
    contrast_reach,
    contrast_share,
    kinds,
    share_of,
)
from assay.core.targets import Target
from assay.core.types import Bools, Ints, percent
from assay.errors import InputError, LabelError, PredictionsError, did_you_mean
from assay.labelling.slice_items import (
    SliceAnswers,
    SliceCounts,
    column_values,
    count_slices,
    slice_values,
)
from assay.labelling.slices import (
    CountedTarget,
    counted_target,
    doubt_of,
    effective_at,
    figures_at,
    possible_kinds,
    slots_of,
)
from assay.labelling.state import Labelling
from assay.results import JudgeFigure, JudgeGap, JudgeQuality

FIGURES = {
    "sensitivity": "recall",
    "specificity": "specificity",
    "agreement": "accuracy",
    "kappa": "kappa",
}
"""A judge's figures, each with the metric of the judge as a classifier."""

_MOST_PAIRS = 10  # of classifiers, beside the differences among the campaign's metrics
_SHOWN = 3  # values in an error

_Kinds: TypeAlias = Callable[[Ints, Bools, Bools], Ints]


@dataclass(frozen=True, eq=False)
class _Verdicts:
    """Verdicts of the judge; `yes` has no meaning without a verdict."""

    there: Bools
    yes: Bools


@dataclass(frozen=True, eq=False)
class Quantity:
    """Quantity estimated from predictions, the judge's verdicts and the answers.

    `kinds`: the kinds of items, by these three; `possible`: which strata may hold items of each
    kind; `on_scale`: converts the estimate of the share to that of the quantity.
    """

    kinds: _Kinds
    possible: Bools
    share: Share
    on_scale: Callable[[Domain], Domain]


def judge_of(
    labelling: Labelling,
    column: str,
    *,
    at: float | None = None,
    positive: object = None,
    by: str | None = None,
    predictions: object = None,
) -> JudgeQuality:
    """Quality of a judge; the parameters are those of `Campaign.judge`."""
    _refuse_no_number(at, positive)
    items = [*labelling.rounds.answers, *(card.item_id for card in labelling.rounds.outstanding)]
    verdicts = _verdicts(_opinions(labelling, items, column, predictions), column, at, positive)
    whole = _Part(labelling, items, verdicts, np.zeros(len(items), dtype=np.int64), ("",))
    parts = [whole]
    if by is not None:
        values = slice_values(labelling, items, by, predictions)
        slots, names, others = slots_of(values, verdicts.there, whole.answered.judged)
        if others:
            names = names[:-1]  # merged values are not a slice
            slots = np.where(slots < len(names), slots, 0)
            inside = np.isin(values, names)
            verdicts = replace(verdicts, there=verdicts.there & inside)
        if names:
            parts.append(_Part(labelling, items, verdicts, slots, tuple(names)))
    return JudgeQuality(
        column=column,
        at=None if at is None else float(at),
        confidence=whole.confidence,
        judged=int(whole.answered.judged.sum()),
        with_verdict=int((whole.answered.judged & whole.verdicts.there).sum()),
        share=whole.share,
        by=by or "",
        rows=tuple(row for part in parts for row in part.figures()),
        gaps=tuple(gap for part in parts for gap in part.gaps()),
        notes=tuple(_notes(labelling, whole)),
    )


def judges_of(labelling: Labelling) -> tuple[JudgeQuality, ...]:
    """Quality of every second opinion that says yes or no, from values kept with the cards.

    For pages that are built often: columns that would have to be read again are left out.
    """
    judges, source = [], labelling.settings.source
    for column in source.aux if labelling.rounds.answers else ():
        if column in source.kept:
            with suppress(InputError):  # numbers are not verdicts; a bundle has no such values
                judges.append(judge_of(labelling, column))
    return tuple(each for each in judges if each.with_verdict)


@dataclass(frozen=True, eq=False)
class _Part:
    """Items in slices, with answers and verdicts; all items are one slice without a name."""

    labelling: Labelling
    items: Sequence[str]
    verdicts: _Verdicts
    slots: Ints
    names: tuple[str, ...]

    @property
    def strata(self) -> Strata:
        return self.labelling.settings.strata

    @cached_property
    def answered(self) -> SliceAnswers:
        return SliceAnswers.on(self.labelling, self.items)

    @property
    def confidence(self) -> float:
        return self.labelling.settings.goal.confidence

    @cached_property
    def share(self) -> float | None:
        """Estimated share of the items that have a verdict."""
        possible = np.ones((self.strata.n_strata, 2), dtype=np.bool_)
        counts = self._counts(self.answered, np.where(self.verdicts.there, 0, 1), possible)
        there, missing = counts.sums.sum(axis=0).tolist()
        return there / (there + missing) if there + missing else None

    def figures(self) -> Iterator[JudgeFigure]:
        """Yield every figure of each slice."""
        figures = {name: self._known(figure_of(self.strata, name)) for name in FIGURES}
        for at, slice in enumerate(self.names):
            for name, known in figures.items():
                lowest = kind_of(FIGURES[name]).lowest
                yield JudgeFigure(
                    slice=slice,
                    figure=name,
                    **figures_at(known, at),
                    effective=effective_at(known, at),
                    doubt=doubt_of(known, at, lowest),
                )

    def gaps(self) -> Iterator[JudgeGap]:
        """Yield, for each slice, the difference between metrics by the judge and by people."""
        gaps = []
        for name, sides in _contrasts(self.labelling):
            terms, quantity = gap_of(self.strata, sides, self.confidence)
            sums = self._counted(quantity, self.answered).sums
            judge = sum(term.sign * term.value(sums) for term in terms[: len(sides)])
            people = -sum(term.sign * term.value(sums) for term in terms[len(sides) :])
            gaps.append((name, self._known(quantity), np.asarray(judge), np.asarray(people)))
        for at, slice in enumerate(self.names):
            for name, known, judge, people in gaps:
                figures = figures_at(known, at)
                gap = figures.pop("value")
                by_judge, by_people = (
                    None if gap is None else float(each[at]) for each in (judge, people)
                )
                yield JudgeGap(slice, name, by_judge, by_people, gap, **figures)

    def _known(self, quantity: Quantity) -> Domain:
        """Estimate of a quantity; items that wait for an answer are at their worst."""
        counts = self._counted(quantity, self.answered)
        domain = quantity.on_scale(counts.domain(quantity.share, self.confidence))
        if not self.answered.open.any():
            return domain
        raises = self._raises(quantity, counts)
        for supposed in (raises, ~raises):
            answered = SliceAnswers.on(self.labelling, self.items, supposed=supposed)
            then = self._counted(quantity, answered).domain(quantity.share, self.confidence)
            end = quantity.on_scale(then)
            low, high = np.minimum(domain.low, end.low), np.maximum(domain.high, end.high)
            domain = replace(domain, low=low, high=high)
        return domain

    def _raises(self, quantity: Quantity, counts: SliceCounts) -> Bools:
        """For which items a yes raises the quantity, by its slopes."""
        _, slopes, _ = quantity.share(counts.sums)
        # An item that does not count changes nothing: the last, of the kind -1.
        slopes = np.concatenate([slopes, np.zeros((len(self.names), 1))], axis=-1)
        predicted, yes = self.answered.predicted, self.verdicts.yes
        up, down = (
            slopes[self.slots, quantity.kinds(predicted, yes, np.full(yes.shape, positive))]
            for positive in (True, False)
        )
        return np.asarray(up > down)

    def _counted(self, quantity: Quantity, answered: SliceAnswers) -> SliceCounts:
        kind = quantity.kinds(answered.predicted, self.verdicts.yes, answered.positive)
        return self._counts(answered, np.where(self.verdicts.there, kind, -1), quantity.possible)

    def _counts(self, answered: SliceAnswers, kind: Ints, possible: Bools) -> SliceCounts:
        return count_slices(
            self.labelling,
            answered,
            self.slots,
            kind,
            n_slices=len(self.names),
            possible=possible,
            alike=_alike(self.strata),
        )


def figure_of(strata: Strata, name: str) -> Quantity:
    """Figure of the judge as a classifier; any stratum may hold items of each kind."""
    metric = FIGURES[name]
    number, share = share_of(metric)

    def kinds_of(_: Ints, yes: Bools, positive: Bools) -> Ints:
        return kinds(metric, yes, positive)

    return Quantity(
        kinds_of,
        np.ones((strata.n_strata, number), dtype=np.bool_),
        share,
        lambda domain: as_metric(metric, domain),
    )


def _contrasts(labelling: Labelling) -> Iterator[tuple[str, list[tuple[int, CountedTarget]]]]:
    """Yield the contrasts that the judge may favour: every metric, and classifiers' differences."""
    settings = labelling.settings
    targets = list(settings.goal.targets)
    single = [target for target in targets if target.minus is None and target.classifier != ""]
    pairs = [
        Target(one.metric, one.classifier, minus=other.classifier, slice=one.slice)
        for one, other in combinations(single, 2)
        if (one.metric, one.slice) == (other.metric, other.slice)
    ]
    named = {target.name for target in targets}
    pairs = [pair for pair in pairs if pair.name not in named][:_MOST_PAIRS]
    for target in [*targets, *pairs]:
        whose = [(1, target.classifier), *([] if target.minus is None else [(-1, target.minus)])]
        alone = ((sign, replace(target, classifier=name, minus=None)) for sign, name in whose)
        sides = [(sign, counted_target(settings, each, 0.0)) for sign, each in alone]
        yield target.name, sides


def gap_of(
    strata: Strata, sides: Sequence[tuple[int, CountedTarget]], confidence: float
) -> tuple[list[Term], Quantity]:
    """Metric, or difference of two, by the judge minus the same by people.

    An item's kind combines, for each classifier, whether the metric is about it and its predicted
    label; the verdict; and the answer. The judge's terms come first.
    """
    number = 4 * 3 ** len(sides)
    kind = np.arange(number)
    digits = [kind // (4 * 3**place) % 3 for place in range(len(sides))]
    labels = (kind % 4 < 2, kind % 2 == 0)  # the judge's, and people's
    terms = [
        Term(sign * whose, target.metric, np.where(digit > 0, 2 * (digit == 1) + ~label, -1))
        for whose, label in zip((1, -1), labels, strict=True)
        for digit, (sign, target) in zip(digits, sides, strict=True)
    ]

    def kinds_of(predicted: Ints, yes: Bools, positive: Bools) -> Ints:
        kinds = 2 * ~yes + ~positive
        about = np.zeros(predicted.shape, dtype=np.bool_)
        for place, (_, target) in enumerate(sides):
            inside = target.among.holds(predicted)
            says_yes = (predicted >> target.bit & 1) > 0
            kinds = kinds + 4 * 3**place * np.where(inside, 1 + says_yes, 0)
            about |= inside
        return np.where(about, kinds, -1)

    possible = np.logical_or(
        *(
            possible_kinds(strata, partial(_by_verdict, kinds_of, yes=yes), number)
            for yes in (True, False)
        )
    )
    reach = contrast_reach(terms)
    return terms, Quantity(
        kinds_of,
        possible,
        contrast_share(terms),
        lambda kinds: as_contrast(kinds, reach, confidence),
    )


def _by_verdict(kinds: _Kinds, predicted: Ints, positive: Bools, *, yes: bool) -> Ints:
    return kinds(predicted, np.full(predicted.shape, yes), positive)


def _alike(strata: Strata) -> Ints:
    """Numbers of the strata, equal for strata that hold the same predictions."""
    codes_in: dict[int, set[int]] = {}
    for stratum, code in strata.possible_codes:
        codes_in.setdefault(stratum, set()).add(code)
    numbers: dict[frozenset[int], int] = {}
    return np.array(
        [
            numbers.setdefault(frozenset(codes_in.get(stratum, ())), len(numbers))
            for stratum in range(strata.n_strata)
        ],
        dtype=np.int64,
    )


def _opinions(
    labelling: Labelling, items: Sequence[str], column: str, predictions: object
) -> list[object]:
    """Values of the column: those kept with the cards, or those that the model reads."""
    settings = labelling.settings
    is_read = column in settings.source.aux and column not in settings.source.kept
    if predictions is None and is_read and items:
        with suppress(PredictionsError):  # reported below, for this column
            source = labelling.predictions()
            return list(source.opinions([settings.item_id(item) for item in items])[column])
    return column_values(labelling, items, column, predictions)


def _verdicts(
    values: Sequence[object], column: str, at: float | None, positive: object
) -> _Verdicts:
    verdicts, strange = list[bool | None](), dict[str, object]()
    for value in values:
        try:
            verdicts.append(parse_verdict(value, at, positive))
        except LabelError:
            strange[repr(value)] = value
    if strange:
        some = ", ".join(list(strange)[:_SHOWN])
        wanted = "true and false, 1 and 0, yes and no" if at is None else "numbers"
        raise InputError(
            f"column {column!r} has values that are not verdicts: {some}",
            details=f"verdicts are {wanted}; a missing value is not a verdict",
            hint=_meaning_hint([*strange.values()], at),
        )
    if positive is not None and values and True not in verdicts:
        known = sorted({str(value) for value in values if value is not None})
        raise InputError(
            f"no labelled item has {positive!r} in column {column!r}",
            details=f"values: {', '.join(map(repr, known[:_SHOWN]))}",
            hint=did_you_mean(str(positive), known) or "name the value that means yes",
        )
    there = np.array([each is not None for each in verdicts], dtype=np.bool_)
    return _Verdicts(there, np.array([each is True for each in verdicts], dtype=np.bool_))


def _meaning_hint(strange: Sequence[object], at: float | None) -> str:
    """Hint how to say what values mean, of which some are neither yes nor no."""
    if at is not None:
        return "leave at out where the verdicts are words"
    if all(isinstance(value, Real) for value in strange):
        return "give the number from which on it is a yes: at=0.5"
    words = [str(value) for value in strange]
    return f"name the value that means yes: positive={probable_yes(words) or words[0]!r}"


def _refuse_no_number(at: object, positive: object) -> None:
    if at is not None and positive is not None:
        raise InputError(
            "at= and positive= exclude each other",
            details="at is for numbers, positive is for words",
            hint="leave one of them out",
        )
    good = isinstance(at, Real) and not isinstance(at, bool) and np.isfinite(float(at))
    if at is not None and not good:
        raise InputError(f"at must be a number, got {at!r}", hint="at=0.5")


def _notes(labelling: Labelling, whole: _Part) -> Iterator[str]:
    """Yield the notes on the figures."""
    answered, there = whole.answered, whole.verdicts.there
    missing = int((answered.judged & ~there).sum())
    if missing and whole.share is not None:
        yield (
            f"{missing:,} of {int(answered.judged.sum()):,} judged items have no verdict and do "
            f"not count: the judge has one on about {whole.share:.1%} of the items"
        )
    strata = labelling.settings.strata
    if not any(
        code & ((1 << len(strata.classifiers)) - 1) == 0 for _, code in strata.possible_codes
    ):
        who = "the classifier" if len(strata.classifiers) == 1 else "any classifier"
        yield (
            f"all is about items that {who} says yes to: this campaign draws no others; one of "
            "accuracy draws both"
        )
    empty = ~np.isin(np.arange(strata.n_strata), answered.stratum[answered.judged])
    if answered.judged.any() and empty.any() and whole.share is None:
        yield "some strata have no label yet, and nothing can be told before they have"
    if unjudged := int((~answered.judged & ~answered.open).sum()):
        yield f"{unjudged:,} items that people could not judge are left out"
    if waits := int(answered.open.sum()):
        yield f"{waits:,} drawn items have no label yet and count as the worst case"
    yield f"each interval is at {percent(whole.confidence)} on its own"
