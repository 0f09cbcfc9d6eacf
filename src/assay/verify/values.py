"""Metrics from counts, in plain sums: the formulas of `assay.core.metrics` written out again."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt

from assay.core.strata import Strata
from assay.core.venn import CellStrata
from assay.settings import Settings
from assay.targets import JointGoal, Target

__all__ = ["Counts", "values_of"]


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
        """Note an item that has an answer, whatever it is, with its weight."""
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
class _Group:
    """Items of one stratum that a metric makes no difference between.

    `total` is how many of them are positive, by estimate; `said` is what each classifier says, None
    where its metric is not about them.
    """

    size: int
    total: float
    said: tuple[bool | None, ...]


def values_of(settings: Settings, counts: Counts) -> Mapping[str, float]:
    """Return the value of every metric; not a number where it has none."""
    if isinstance(settings.goal, JointGoal) and isinstance(settings.strata, CellStrata):
        return {
            target.name: _of_target(settings.strata, counts, target)
            for target in settings.goal.targets
        }
    if isinstance(settings.goal, JointGoal) or not isinstance(settings.strata, Strata):
        return {}
    metric = settings.goal.metric
    return {metric: _of_one(settings, settings.strata, counts, metric)}


def _of_one(settings: Settings, strata: Strata, counts: Counts, metric: str) -> float:
    sizes: list[int] = strata.weights.tolist()
    known = not settings.design.replacement
    smooth = settings.design.estimator == "smoothed"
    straddles = strata.says_yes is None  # both predicted labels: right predictions are counted
    said = [True] * len(sizes) if strata.says_yes is None else strata.says_yes.tolist()

    def total(h: int) -> float:
        outcomes, others = counts.outcomes(h, straddles=straddles)
        size: float | None = sizes[h] if known else None
        if known and strata.weighted and len(counts.once.get(h, ())) == strata.sizes[h]:
            outcomes, others, size = counts.census(h, straddles=straddles)
        return sizes[h] * _rate(outcomes, others, size, smooth=smooth)

    def value(totals: Sequence[float]) -> float:
        if straddles:
            return fsum(totals) / sum(sizes)
        groups = [
            _Group(size, each, (bool(says),))
            for size, each, says in zip(sizes, totals, said, strict=True)
        ]
        yes_items = sum(group.size for group in groups if group.said[0])
        return _metric(metric, groups, 0, items=sum(sizes), yes_items=yes_items)

    strata_there = range(len(sizes))
    found = value([total(h) for h in strata_there])
    if not (strata.weighted and known):
        return found
    # What the items' own weights leave possible; more positives called no never raise these three.
    falls = [metric in ("accuracy", "recall", "f1") and not says for says in said]
    ends = [counts.possible(h, sizes[h], straddles=straddles) for h in strata_there]
    low = value([pair[fall] for pair, fall in zip(ends, falls, strict=True)])
    high = value([pair[not fall] for pair, fall in zip(ends, falls, strict=True)])
    return min(max(found, low), high)


def _of_target(strata: CellStrata, counts: Counts, target: Target) -> float:
    names = [name for name in (target.classifier, target.minus) if name is not None]
    parts: dict[tuple[int, tuple[bool | None, ...]], list[int]] = {}
    for stratum, code, size in strata.parts:
        said = tuple(_said(strata, code, name, target.slice) for name in names)
        sums = parts.setdefault((stratum, said), [0, 0, 0])
        more = (size, counts.yes[stratum, code], counts.no[stratum, code])
        sums[:] = [sum(pair) for pair in zip(sums, more, strict=True)]
    groups = [
        _Group(size, size * _rate(yes, no, size, smooth=False), said)
        for (_, said), (size, yes, no) in parts.items()
    ]
    each = []
    for place, name in enumerate(names):
        items, yes_items = _totals(strata, name, target.slice)
        each.append(_metric(target.metric, groups, place, items=items, yes_items=yes_items))
    return each[0] - each[1] if len(each) > 1 else each[0]


def _said(strata: CellStrata, code: int, name: str, slice: str | None) -> bool | None:
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


def _totals(strata: CellStrata, name: str, slice: str | None) -> tuple[int, int]:
    """Return how many items a metric is about, and to how many of these the classifier says yes."""
    if strata.items is not None and strata.yes_items is not None and not strata.groups:
        bit = strata.classifiers.index(name) if name else None
        return strata.items, strata.items if bit is None else strata.yes_items[bit]
    cells = [*((code, size) for _, code, size in strata.parts), *strata.rest]
    said = [(_said(strata, code, name, slice), size) for code, size in cells]
    items = sum(size for says, size in said if says is not None)
    return items, sum(size for says, size in said if says)


def _rate(yes: float, no: float, size: float | None, *, smooth: bool) -> float:
    """Return the share of positives of a stratum; its size is None where draws are put back."""
    labels = yes + no
    if smooth and (size is None or labels < size):
        m = 1 / sqrt(max(labels, 1)) if labels else 2.0
        return (yes + m / 2) / (labels + m)
    return yes / labels if labels else 0.5


def _metric(metric: str, groups: Iterable[_Group], of: int, *, items: int, yes_items: int) -> float:
    called = [(group.total, group.said[of]) for group in groups]
    found = fsum(total for total, says_yes in called if says_yes)
    missed = fsum(total for total, says_yes in called if says_yes is False)
    top, bottom = {
        "precision": (found, yes_items),
        "recall": (found, found + missed),
        "f1": (2 * found, yes_items + found + missed),
        "accuracy": (items - yes_items - missed + found, items),
        "false_omission_rate": (missed, items - yes_items),
        "prevalence": (found + missed, items),
    }[metric]
    return top / bottom if bottom > 0 else float("nan")
