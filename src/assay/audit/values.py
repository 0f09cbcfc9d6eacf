"""Metrics from counts, in plain sums: the formulas of `assay.core` written out again."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import TypeVar

from assay.audit.recompute import Form, Stratum, form_of, left_of, quoted
from assay.core.design import Design
from assay.core.goal import Goal, JointGoal, Target
from assay.core.strata import Strata
from assay.labelling import Settings

T = TypeVar("T")


@dataclass
class Counts:
    """Answers by stratum and by what was predicted."""

    yes: Counter[tuple[int, int]] = field(default_factory=Counter)
    no: Counter[tuple[int, int]] = field(default_factory=Counter)
    draws: Counter[int] = field(default_factory=Counter)
    once: dict[int, list[tuple[int, str, int]]] = field(default_factory=dict)

    def add(self, stratum: int, predicted: int, answer: str) -> None:
        """Count an answer; those that are neither yes nor no tell nothing."""
        self.draws[stratum] += 1
        if answer in ("yes", "no"):
            (self.yes if answer == "yes" else self.no)[stratum, predicted] += 1

    def weigh(self, stratum: int, predicted: int, answer: str, weight: int) -> None:
        """Note an item that has an answer, whatever it is, with its weight.

        Parameters
        ----------
        stratum, predicted : int
            Where the item lies, and what was predicted of it.
        answer : str
        weight : int
            How often the item counts.
        """
        self.once.setdefault(stratum, []).append((predicted, answer, weight))

    def outcomes(self, h: int, *, straddles: bool) -> tuple[float, float]:
        """Return a stratum's answers with the outcome, and those without."""
        if straddles:
            return self.yes[h, 1] + self.no[h, 0], self.no[h, 1] + self.yes[h, 0]
        return self.yes[h, 0] + self.yes[h, 1], self.no[h, 0] + self.no[h, 1]

    def possible(self, h: int, size: int, *, straddles: bool) -> tuple[int, int]:
        """Return the least and the most weight with the outcome, by the items that were judged."""
        outcome, other, _ = self._weights(h, straddles=straddles)
        return outcome, size - other

    def _weights(self, h: int, *, straddles: bool) -> tuple[int, int, int]:
        """Return the weights with the outcome, without it, and of items nobody could judge."""
        outcome = other = neither = 0
        for predicted, answer, weight in self.once.get(h, ()):
            if answer not in ("yes", "no"):
                neither += weight
            elif (answer == "yes") == (predicted == 1 or not straddles):
                outcome += weight
            else:
                other += weight
        return outcome, other, neither

    def census(self, h: int, *, straddles: bool) -> tuple[float, float, float]:
        """Return the same by the weights of all its items, as shares of its draws; and these."""
        outcome, other, neither = self._weights(h, straddles=straddles)
        draws, whole = self.draws[h], outcome + other + neither
        judged = draws - round(draws * neither / whole * 2**20) / 2**20
        share = outcome / (outcome + other) if outcome + other else 0.0
        return judged * share, judged * (1 - share), draws


@dataclass(frozen=True)
class _Part:
    """Items of one stratum that a metric makes no difference between: answers, and who says what.

    `said` is what each classifier says, None where its metric is not about them.
    """

    size: int
    yes: int
    no: int
    said: tuple[bool | None, ...]


def values_of(settings: Settings, counts: Counts) -> Mapping[str, Sequence[float]]:
    """Return the value of every metric, or two where rounding decides which of them it is."""
    if isinstance(settings.goal, JointGoal):
        design, goal = settings.design, settings.goal
        return {
            target.name: _of_target(design, settings.strata, counts, target)
            for target in goal.targets
        }
    return {settings.goal.metric: _of_one(settings, settings.goal, settings.strata, counts)}


def _of_one(settings: Settings, goal: Goal, strata: Strata, counts: Counts) -> list[float]:
    sizes: list[int] = strata.weights.tolist()
    known = not settings.design.replacement
    straddles = strata.says_yes is None  # both predicted labels: right predictions are counted
    says = [True] * len(sizes) if strata.says_yes is None else strata.says_yes.tolist()
    yes_items = sum(size for size, said in zip(sizes, says, strict=True) if said)
    metric = "prevalence" if straddles else goal.metric
    form = form_of(metric, says, items=sum(sizes), yes_items=yes_items)
    there, ends = [], []
    for h, size in enumerate(sizes):
        outcomes, others = counts.outcomes(h, straddles=straddles)
        whole: float = size
        least, most = outcomes, size - others
        if strata.weighted:
            least, most = counts.possible(h, size, straddles=straddles)
            if known and len(counts.once.get(h, ())) == strata.sizes[h]:
                outcomes, others, whole = counts.census(h, straddles=straddles)
        there.append(_stratum(settings.design, size, outcomes, others, whole))
        ends.append((least, most))
    values = _quoted(settings.design, [form], there, within=goal.within)
    if not known:
        return values
    low, high = form.ends(*zip(*ends, strict=True))
    return [min(max(value, low), high) for value in values]


def _of_target(design: Design, strata: Strata, counts: Counts, target: Target) -> list[float]:
    names = [name for name in (target.classifier, target.minus) if name is not None]
    sums: dict[tuple[int, tuple[bool | None, ...]], list[int]] = {}
    for stratum, code, size in strata.parts:
        said = tuple(_said(strata, code, name, target.slice) for name in names)
        so_far = sums.setdefault((stratum, said), [0, 0, 0])
        more = (size, counts.yes[stratum, code], counts.no[stratum, code])
        so_far[:] = [sum(pair) for pair in zip(so_far, more, strict=True)]
    parts = [_Part(size, yes, no, said) for (_, said), (size, yes, no) in sums.items()]
    forms = _together(
        [
            _form(strata, target, name, [part.said[place] for part in parts])
            for place, name in enumerate(names)
        ]
    )
    counted = [any(form.a[h] or form.b[h] for form in forms) for h in range(len(parts))]
    forms = [replace(form, a=_only(form.a, counted), b=_only(form.b, counted)) for form in forms]
    parts = _only(parts, counted)
    there = [_stratum(design, part.size, part.yes, part.no, part.size) for part in parts]
    values = _quoted(design, forms, there, within=target.within)
    if design.replacement:
        return values
    least, most = [part.yes for part in parts], [part.size - part.no for part in parts]
    ends = [form.ends(least, most) for form in forms]
    low, high = ends[0]
    if len(ends) > 1:
        low, high = low - ends[1][1], high - ends[1][0]
    return [min(max(value, low), high) for value in values]


def _form(strata: Strata, target: Target, name: str, said: Sequence[bool | None]) -> Form:
    """Return a classifier's metric over parts; nothing where it is not about them."""
    items, yes_items = _totals(strata, name, target.slice)
    form = form_of(target.metric, [each is True for each in said], items=items, yes_items=yes_items)
    a, b = (
        [0.0 if each is None else one for each, one in zip(said, factors, strict=True)]
        for factors in (form.a, form.b)
    )
    return replace(form, a=a, b=b)


def _together(forms: list[Form]) -> list[Form]:
    """Return a difference as one ratio where the denominators are known, or the same."""
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
    """Return a stratum's labels; `whole` is what they would be if it were labelled to the last."""
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
    return [value for value, wanted in zip(values, which, strict=True) if wanted]


def _said(strata: Strata, code: int, name: str, slice: str | None) -> bool | None:
    """Return what a classifier says of items; nobody, whose name is empty, says yes to all.

    None where a metric is not about them: they are not of the slice, or the classifier was not
    applied to them.
    """
    first = len(strata.classifiers)
    within = [group for whose, group in strata.groups.among if whose == name]
    within += [] if slice is None else [slice]
    if not all(code >> first + strata.groups.names.index(group) & 1 for group in within):
        return None
    return not name or bool(code >> strata.classifiers.index(name) & 1)


def _totals(strata: Strata, name: str, slice: str | None) -> tuple[int, int]:
    """Return how many items a metric is about, and to how many of these the classifier says yes."""
    if strata.items is not None and strata.yes_items is not None and not strata.groups:
        bit = strata.classifiers.index(name) if name else None
        return strata.items, strata.items if bit is None else strata.yes_items[bit]
    cells = [*((code, size) for _, code, size in strata.parts), *strata.rest]
    said = [(_said(strata, code, name, slice), size) for code, size in cells]
    items = sum(size for says, size in said if says is not None)
    return items, sum(size for says, size in said if says)
