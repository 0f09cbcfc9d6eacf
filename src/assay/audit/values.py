"""Metrics from counts, in plain sums: an independent version of the formulas of `assay.core`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import TypeVar

from assay.audit.recompute import Form, Stratum, form_of, left_of, quoted
from assay.core.design import Design
from assay.core.strata import EITHER, Strata
from assay.core.targets import Target
from assay.core.vocabulary import Vocabulary
from assay.labelling import Settings

T = TypeVar("T")
NEITHER = ("cannot judge", "broken")
"""Answers that say that the item cannot be judged."""


@dataclass
class Counts:
    """Answers by stratum and by prediction.

    `tops` are those that name one of the k most probable classes, also by target.
    """

    judged: dict[tuple[int, int], Counter[str]] = field(default_factory=dict)
    draws: Counter[tuple[int, int]] = field(default_factory=Counter)
    once: dict[tuple[int, int], list[tuple[str, int]]] = field(default_factory=dict)
    tops: Counter[tuple[str, int, int]] = field(default_factory=Counter)

    def add(self, stratum: int, predicted: int, answer: str) -> None:
        """Count an answer; one that does not judge the item counts only as a draw."""
        self.draws[stratum, predicted] += 1
        if answer not in NEITHER:
            self.judged.setdefault((stratum, predicted), Counter())[answer] += 1

    def rank(
        self, settings: Settings, place: tuple[int, int], answer: str, ranked: Sequence[list[int]]
    ) -> None:
        """Count an answer for targets of top-k accuracy.

        `place`: the item's stratum and prediction; `ranked`: for each classifier, the numbers of
        the item's most probable classes.
        """
        for target in settings.goal.targets:
            if (k := _k_of(target)) is not None:
                classifier = settings.strata.classifiers.index(target.classifier or "")
                first = [settings.strata.classes[number] for number in ranked[classifier][:k]]
                self.tops[target.name, *place] += answer in first

    def weigh(self, stratum: int, predicted: int, answer: str, weight: int) -> None:
        """Record an item that has any answer, with its weight."""
        self.once.setdefault((stratum, predicted), []).append((answer, weight))


@dataclass
class _Part:
    """Items of one stratum that a metric treats alike: their answers and predictions.

    `predicted` is the prediction of each classifier, None if its metric excludes the items. If
    items have weights, `size` is theirs, and `weights` are those of items with the outcome, without
    it, and of items that nobody could judge.
    """

    predicted: tuple[bool | None, ...]
    size: int = 0
    items: int = 0
    outcomes: int = 0
    others: int = 0
    draws: int = 0
    answered: int = 0
    weights: list[int] = field(default_factory=lambda: [0, 0, 0])

    def take(
        self, counts: Counts, place: tuple[int, int], *, outcome: str, classes: Vocabulary
    ) -> None:
        """Add the answers to a stratum's items with a prediction."""
        answers = counts.judged.get(place, Counter())
        counted = sum(n for answer, n in answers.items() if outcome in classes.parted(answer))
        self.outcomes += counted
        self.others += answers.total() - counted
        self.draws += counts.draws[place]
        for answer, weight in counts.once.get(place, ()):
            self.answered += 1
            judged = answer not in NEITHER
            self.weights[answer != outcome if judged else 2] += weight

    def take_top(self, counts: Counts, place: tuple[int, int], target: str) -> None:
        """Add the answers to a stratum's items, with those that name one of the first classes."""
        hits = counts.tops[target, *place]
        self.outcomes += hits
        self.others += counts.judged.get(place, Counter()).total() - hits
        self.draws += counts.draws[place]

    def possible(self, *, weighted: bool) -> tuple[int, int]:
        """Least and greatest possible number with the outcome, given the answers."""
        least, less = self.weights[:2] if weighted else (self.outcomes, self.others)
        return least, self.size - less

    def census(self) -> tuple[float, float, float]:
        """Answers by the weights of all items, as shares of the draws; and the draws."""
        outcome, other, neither = self.weights
        whole = outcome + other + neither
        judged = self.draws - round(self.draws * neither / whole * 2**20) / 2**20
        share = outcome / (outcome + other) if outcome + other else 0.0
        return judged * share, judged * (1 - share), self.draws


def values_of(settings: Settings, counts: Counts) -> Mapping[str, Sequence[float]]:
    """Value of every metric, or two if rounding decides between them.

    Excludes metrics of the whole confusion matrix, other than the accuracy or top-k accuracy of one
    classifier.
    """
    return {
        target.name: _of_target(settings.design, settings.strata, counts, target)
        for target in settings.goal.targets
        if target.label != "" or _k_of(target) or _is_accuracy(target)
    }


def _is_accuracy(target: Target) -> bool:
    return target.metric == "accuracy" and target.minus is None


def _k_of(target: Target) -> int | None:
    """Find the k of a single classifier's top-k accuracy; None for all else."""
    match = re.fullmatch(r"top_(\d+)_accuracy", target.metric)
    return None if match is None or target.minus is not None else int(match[1])


def _of_target(design: Design, strata: Strata, counts: Counts, target: Target) -> list[float]:
    names = [target.classifier or "", *([] if target.minus is None else [target.minus])]
    parts = _parts(strata, counts, names, target)
    # With both predicted labels, or all classes, correct predictions are a share of all items.
    metric = "prevalence" if strata.straddles or target.label == "" else target.metric
    forms = _together(
        [
            _form(metric, _totals(strata, name, target), [part.predicted[place] for part in parts])
            for place, name in enumerate(names)
        ]
    )
    counted = [any(form.a[h] or form.b[h] for form in forms) for h in range(len(parts))]
    forms = [replace(form, a=_only(form.a, counted), b=_only(form.b, counted)) for form in forms]
    parts = _only(parts, counted)
    observed = [_observed(design, part, weighted=strata.weighted) for part in parts]
    values = _quoted(design, forms, observed, within=target.within)
    if design.replacement:
        return values
    ends = [part.possible(weighted=strata.weighted) for part in parts]
    bounds = [form.ends(*zip(*ends, strict=True)) for form in forms]
    low, high = bounds[0]
    if len(bounds) > 1:
        low, high = low - bounds[1][1], high - bounds[1][0]
    return [min(max(value, low), high) for value in values]


def _parts(strata: Strata, counts: Counts, names: Sequence[str], target: Target) -> list[_Part]:
    """Parts of the strata with equal predictions of the classifiers, with their answers.

    For accuracy over all classes, every item is predicted to be correct.
    """
    parts: dict[tuple[int, tuple[bool | None, ...]], _Part] = {}
    for (stratum, code, items), size in zip(strata.parts, strata.part_weight.tolist(), strict=True):
        predicted = tuple(_prediction(strata, code, name, target) for name in names)
        part = parts.setdefault((stratum, predicted), _Part(predicted))
        part.size += size
        part.items += items
        if code == EITHER:
            part.take(counts, (stratum, 0), outcome="no", classes=strata.vocabulary)
            part.take(counts, (stratum, 1), outcome="yes", classes=strata.vocabulary)
        elif _k_of(target):
            part.take_top(counts, (stratum, code), target.name)
        else:
            outcome = "yes" if target.label is None else target.label
            outcome = outcome or called(strata, code, names[0])
            part.take(counts, (stratum, code), outcome=outcome, classes=strata.vocabulary)
    return list(parts.values())


def _observed(design: Design, part: _Part, *, weighted: bool) -> Stratum:
    if weighted and not design.replacement and part.answered == part.items:
        outcomes, others, whole = part.census()
        return _stratum(design, part.size, outcomes, others, whole)
    return _stratum(design, part.size, part.outcomes, part.others, part.size)


def _form(metric: str, totals: tuple[int, int], predicted: Sequence[bool | None]) -> Form:
    """Metric of a classifier over parts; zero for parts that it excludes.

    `totals`: as in `_totals`; `predicted`: the classifier's predictions of the parts.
    """
    items, yes_items = totals
    form = form_of(metric, [each is True for each in predicted], items=items, yes_items=yes_items)
    a, b = (
        [0.0 if each is None else one for each, one in zip(predicted, factors, strict=True)]
        for factors in (form.a, form.b)
    )
    return replace(form, a=a, b=b)


def _together(forms: list[Form]) -> list[Form]:
    """Difference as one ratio, if the denominators are known or equal."""
    if len(forms) == 1:
        return forms
    if not any(forms[0].b) and not any(forms[1].b):
        forms = [
            Form(form.a0 / form.b0, [each / form.b0 for each in form.a], 1.0, form.b)
            for form in forms
        ]
    one, other = forms
    if one.items is not None or one.b0 != other.b0 or list(one.b) != list(other.b):
        return forms
    a = [first - second for first, second in zip(one.a, other.a, strict=True)]
    return [Form(one.a0 - other.a0, a, one.b0, one.b)]


def _stratum(design: Design, size: int, yes: float, no: float, whole: float) -> Stratum:
    """Labels of a stratum; `whole` is their number if every item were labelled."""
    labels = yes + no
    left = 1.0 if design.replacement else left_of(whole, labels)
    if design.estimator == "smoothed" and (design.replacement or labels < whole):
        m = 1 / sqrt(max(labels, 1)) if labels else 2.0
        return Stratum(size, labels + m, yes + m / 2, left)
    return Stratum(size, labels, yes, left)


def _quoted(
    design: Design, forms: Sequence[Form], strata: Sequence[Stratum], *, within: float | None
) -> list[float]:
    stratified = design.interval == "stratified"
    explored = stratified and design.allocation == "explore"
    stops = stratified and design.stop != "budget" and within is not None
    return quoted(forms, strata, explored=explored, stops=stops)


def _only(values: Sequence[T], which: Sequence[bool]) -> list[T]:
    return [value for value, is_selected in zip(values, which, strict=True) if is_selected]


def _prediction(strata: Strata, code: int, name: str, target: Target) -> bool | None:
    """Prediction of a classifier for items; without a name, yes to all.

    None if a metric excludes the items: outside the slice, or the classifier was not applied to
    them. For one class, yes means its name; for all, that the prediction is correct.
    """
    if not is_applied(strata, code, name, target.slice):
        return None
    if target.label is not None:
        every = name not in strata.classifiers or target.label == ""
        return every or target.label in strata.vocabulary.parted(called(strata, code, name))
    return name not in strata.classifiers or bool(code >> strata.classifiers.index(name) & 1)


def is_applied(strata: Strata, code: int, name: str, slice: str | None = None) -> bool:
    """Whether a classifier was applied to items of a code, and they are in a slice."""
    for _ in strata.classifiers:  # the rest is bits of the groups that contain the items
        code //= strata.vocabulary.kinds
    within = [group for whose, group in strata.groups.among if whose == name]
    within += [] if slice is None else [slice]
    return all(code >> strata.groups.names.index(group) & 1 for group in within)


def called(strata: Strata, code: int, name: str) -> str:
    """Text of the label that a classifier predicts for items of a code: a digit of it, in base K.

    If an item may have several classes, a digit in base 2^K has a bit for each.
    """
    classes, kinds = strata.vocabulary, strata.vocabulary.kinds
    return classes.joined(
        classes.classes_in(code // kinds ** strata.classifiers.index(name) % kinds)
    )


def _totals(strata: Strata, name: str, target: Target) -> tuple[int, int]:
    """Count the items of a metric, and those that are predicted yes."""
    binary = strata.classes == ("no", "yes")
    if strata.items is not None and strata.yes_items is not None and not strata.groups and binary:
        bit = strata.classifiers.index(name) if name else None
        return strata.items, strata.items if bit is None else strata.yes_items[bit]
    cells = [*zip(strata.part_code.tolist(), strata.part_weight.tolist(), strict=True)]
    cells += strata.rest
    predicted = [(_prediction(strata, code, name, target), size) for code, size in cells]
    items = sum(size for says, size in predicted if says is not None)
    return items, sum(size for says, size in predicted if says)
