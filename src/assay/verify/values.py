"""Metrics from counts, in plain sums: the formulas of `assay.core.metrics` written out again."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum, sqrt

from assay.core.strata import Strata
from assay.core.venn import CellStrata
from assay.settings import Settings
from assay.targets import JointGoal

__all__ = ["Counts", "values_of"]


@dataclass
class Counts:
    """Answers by stratum and by what was predicted."""

    yes: Counter[tuple[int, int]] = field(default_factory=Counter)
    no: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, stratum: int, predicted: int, answer: str) -> None:
        """Count an answer; those that are neither yes nor no tell nothing."""
        if answer in ("yes", "no"):
            (self.yes if answer == "yes" else self.no)[stratum, predicted] += 1


@dataclass(frozen=True)
class _Group:
    """Items of one stratum that a metric makes no difference between.

    `total` is how many of them are positive, by estimate; `said` is what each classifier says.
    """

    size: int
    total: float
    said: tuple[bool, ...]


def values_of(settings: Settings, counts: Counts) -> Mapping[str, float]:
    """Return the value of every metric; not a number where it has none."""
    if isinstance(settings.goal, JointGoal) and isinstance(settings.strata, CellStrata):
        return {
            target.name: _of_target(settings.strata, counts, target.metric, names)
            for target in settings.goal.targets
            for names in [[name for name in (target.classifier, target.minus) if name]]
        }
    if isinstance(settings.goal, JointGoal) or not isinstance(settings.strata, Strata):
        return {}
    metric = settings.goal.metric
    return {metric: _of_one(settings, settings.strata, counts, metric)}


def _of_one(settings: Settings, strata: Strata, counts: Counts, metric: str) -> float:
    sizes: list[int] = strata.sizes.tolist()
    known = not settings.design.replacement
    smooth = settings.design.estimator == "smoothed"
    if strata.says_yes is None:  # items of both predicted labels: right predictions are counted
        right = [
            size
            * _rate(
                counts.yes[h, 1] + counts.no[h, 0],
                counts.no[h, 1] + counts.yes[h, 0],
                size if known else None,
                smooth=smooth,
            )
            for h, size in enumerate(sizes)
        ]
        return fsum(right) / sum(sizes)
    groups = [
        _Group(
            size,
            size
            * _rate(
                counts.yes[h, 0] + counts.yes[h, 1],
                counts.no[h, 0] + counts.no[h, 1],
                size if known else None,
                smooth=smooth,
            ),
            (bool(says),),
        )
        for h, (size, says) in enumerate(zip(sizes, strata.says_yes.tolist(), strict=True))
    ]
    yes_items = sum(group.size for group in groups if group.said[0])
    return _metric(metric, groups, 0, items=sum(sizes), yes_items=yes_items)


def _of_target(strata: CellStrata, counts: Counts, metric: str, names: list[str]) -> float:
    bits = [strata.classifiers.index(name) for name in names]
    parts: dict[tuple[int, tuple[bool, ...]], list[int]] = {}
    for stratum, code, size in strata.parts:
        said = tuple(bool(code >> bit & 1) for bit in bits)
        sums = parts.setdefault((stratum, said), [0, 0, 0])
        more = (size, counts.yes[stratum, code], counts.no[stratum, code])
        sums[:] = [sum(pair) for pair in zip(sums, more, strict=True)]
    groups = [
        _Group(size, size * _rate(yes, no, size, smooth=False), said)
        for (_, said), (size, yes, no) in parts.items()
    ]
    items = strata.items or int(strata.sizes.sum())
    totals = strata.yes_items
    each = [
        _metric(
            metric,
            groups,
            place,
            items=items,
            yes_items=totals[bit] if totals else sum(g.size for g in groups if g.said[place]),
        )
        for place, bit in enumerate(bits)
    ]
    if not each:
        return _metric(metric, groups, None, items=items, yes_items=0)
    return each[0] - each[1] if len(each) > 1 else each[0]


def _rate(yes: int, no: int, size: int | None, *, smooth: bool) -> float:
    """Return the share of positives of a stratum; its size is None where draws are put back."""
    labels = yes + no
    if smooth and (size is None or labels < size):
        m = 1 / sqrt(labels) if labels else 2.0
        return (yes + m / 2) / (labels + m)
    return yes / labels if labels else 0.5


def _metric(
    metric: str, groups: Iterable[_Group], of: int | None, *, items: int, yes_items: int
) -> float:
    called = [(group.total, of is None or group.said[of]) for group in groups]
    found = fsum(total for total, says_yes in called if says_yes)
    missed = fsum(total for total, says_yes in called if not says_yes)
    top, bottom = {
        "precision": (found, yes_items),
        "recall": (found, found + missed),
        "f1": (2 * found, yes_items + found + missed),
        "accuracy": (items - yes_items - missed + found, items),
        "false_omission_rate": (missed, items - yes_items),
        "prevalence": (found + missed, items),
    }[metric]
    return top / bottom if bottom > 0 else float("nan")
