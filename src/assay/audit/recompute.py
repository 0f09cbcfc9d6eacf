"""Work out the estimate of this bundle again, with Python alone: ``python recompute.py``.

In each stratum the share of yes among the answers stands for all of its items. Where labels
followed the errors, and the campaign could stop at a narrow interval, that leans towards what luck
showed: the value allows for both, as `assay.core.estimate` does in the same steps with arrays.
"""

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from pathlib import Path
from typing import Any

_TIE = 1e-9  # so near to one half, rounding decides which outcome is the rarer


@dataclass(frozen=True)
class Form:
    """A ratio of two sums over the strata's positives T: (a0 + a.T) / (b0 + b.T).

    Where `items` are given, the denominator is (P (items - P))^power instead, P = b.T the
    positives, and `middle` is added.
    """

    a0: float
    a: Sequence[float]
    b0: float
    b: Sequence[float]
    items: float | None = None
    power: float = 1.0
    middle: float = 0.0

    def over(self, totals: Sequence[float]) -> float:
        """Numerator."""
        return self.a0 + _dot(self.a, totals)

    def under(self, totals: Sequence[float]) -> float:
        """Denominator."""
        sum_ = self.b0 + _dot(self.b, totals)
        if self.items is None:
            return sum_
        both = sum_ * (self.items - sum_)
        return both**self.power if both > 0 else 0.0

    def at(self, totals: Sequence[float]) -> float:
        """Ratio at these totals; 0 where it has no value, and of both classes the value of one."""
        under = self.under(totals)
        if under > 0:
            return self.middle + self.over(totals) / under
        return self._alone(totals) if self.items is not None and self.middle else 0.0

    def slopes(self, totals: Sequence[float]) -> list[float]:
        """Change of the ratio with each T."""
        under = self.under(totals)
        return [one / under if under > 0 else 0.0 for one in self.weights(totals)]

    def weights(self, totals: Sequence[float]) -> list[float]:
        """Slopes without the denominator: defined where that is 0."""
        under = self.under(totals)
        value = self.over(totals) / under if under > 0 else 0.0
        return [a - value * b for a, b in zip(self.a, self.under_slopes(totals), strict=True)]

    def under_slopes(self, totals: Sequence[float]) -> list[float]:
        """Change of the denominator with each T."""
        return [self.steepness(totals)[0] * b for b in self.b]

    def steepness(self, totals: Sequence[float]) -> tuple[float, float]:
        """First and second derivative of the denominator by the sum b0 + b.T."""
        if self.items is None:
            return 1.0, 0.0
        under, yes = self.under(totals), self.b0 + _dot(self.b, totals)
        no = self.items - yes
        if under <= 0:
            return 0.0, 0.0
        first = self.power * (no - yes) / (yes * no)
        return under * first, under * (first**2 - self.power * (1 / yes**2 + 1 / no**2))

    def _alone(self, totals: Sequence[float]) -> float:
        """Share of items that are called so, if there are items of one class only."""
        slants = [a / b for a, b in zip(self.a, self.b, strict=True) if b]
        yes = -min(slants) / (max(slants) - min(slants))
        return yes if _dot(self.b, totals) > 0 else 1 - yes

    def ends(self, least: Sequence[float], most: Sequence[float]) -> tuple[float, float]:
        """Smallest and largest value with every T between the two."""
        each = list(zip(self.a, least, most, strict=True))
        low, high = [], []
        for free in (0, 1):
            low.append(self.at([(x, y)[(a < 0) if a else free] for a, x, y in each]))
            high.append(self.at([(x, y)[(a > 0) if a else free] for a, x, y in each]))
        return min(low), max(high)


@dataclass(frozen=True)
class Stratum:
    """Items, labels, those with the outcome, and the share of the variance that is left."""

    N: float
    n: float
    x: float
    left: float

    @property
    def total(self) -> float:
        """How many have the outcome, by its labels."""
        return self.N * (self.x / self.n if self.n > 0 else 0.5)


def quoted(
    forms: Sequence[Form], strata: Sequence[Stratum], *, explored: bool, stops: bool
) -> list[float]:
    """Value as quoted, of a ratio or of the first of two minus the second.

    It is one value, or two where rounding decides which.

    `forms`: the ratio, or two of which the second is taken away; `strata`: sizes and labels.
    """
    shifted = _stopped(forms, strata) if stops else strata
    ways = _unhidden(forms, shifted) if explored else [shifted]
    return [_value(forms, _possible(_totals(way), strata)) for way in ways]


def _possible(totals: Sequence[float], strata: Sequence[Stratum]) -> list[float]:
    """Keep totals to what there can be with the items that are left."""
    return [
        min(max(total, each.x), each.x + each.N - each.n) if each.left < 1 else total
        for total, each in zip(totals, strata, strict=True)
    ]


def _stopped(forms: Sequence[Form], strata: Sequence[Stratum]) -> list[Stratum]:
    """Make the shift good that a stop at a narrow interval makes."""
    g = _slopes(forms, _totals(strata))
    labels = [max(each.n, 1.0) for each in strata]
    seen = [each.x / each.n if each.n > 0 else 0.5 for each in strata]
    parts = [
        (slope * each.N) ** 2 * rate * (1 - rate) / n * each.left
        for slope, each, rate, n in zip(g, strata, seen, labels, strict=True)
    ]
    total = fsum(parts)
    one = fsum(  # the variance of a single outcome, where there is variance
        part / (total or 1.0) * (slope * each.N / n) ** 2 * each.left
        for part, slope, each, n in zip(parts, g, strata, labels, strict=True)
    )
    plain = [
        part * (1 - 2 * rate) / n / ((total + one) or 1.0) * each.left
        for part, rate, n, each in zip(parts, seen, labels, strata, strict=True)
    ]
    p = [(each.x + 0.5) / (each.n + 1) for each in strata]
    v = [q * (1 - q) / n * each.left for q, n, each in zip(p, labels, strata, strict=True)]
    turns = _slopes_of_variance(
        forms,
        [each.N * q for each, q in zip(strata, p, strict=True)],
        [each.N**2 * one for each, one in zip(strata, v, strict=True)],
    )
    corrected = []
    for each, q, variance, turn, more in zip(strata, p, v, turns, plain, strict=True):
        shift = 0.5 * variance * each.N * turn + more
        down = each.x / (1 + max(-shift, 0.0) / q)
        up = each.n - (each.n - each.x) / (1 + max(shift, 0.0) / (1 - q))
        corrected.append(replace(each, x=down if shift < 0 else up))
    return corrected


def _slopes_of_variance(
    forms: Sequence[Form], totals: Sequence[float], variance: Sequence[float]
) -> list[float]:
    """Change of the logarithm of the variance with each T, by the slopes alone."""
    g = _slopes(forms, totals)
    whole = fsum(slope * slope * one for slope, one in zip(g, variance, strict=True))
    slopes = [0.0] * len(g)
    for sign, form in zip((1, -1), forms, strict=False):
        under, own, value = form.under(totals), form.slopes(totals), form.at(totals) - form.middle
        under = under if under > 0 else 1.0
        first, second = form.steepness(totals)
        shared = fsum(s * b * one for s, b, one in zip(g, form.b, variance, strict=True))
        mixed = fsum(s * o * one for s, o, one in zip(g, own, variance, strict=True))
        per, part = (shared / whole, mixed / whole) if whole > 0 else (shared, 0.0)
        part = 1.0 if len(forms) == 1 else part
        slopes = [
            so_far - 2 * sign * (first * (o * per + b * part) + value * second * b * per) / under
            for so_far, o, b in zip(slopes, own, form.b, strict=True)
        ]
    return slopes


def _unhidden(forms: Sequence[Form], strata: Sequence[Stratum]) -> list[list[Stratum]]:
    """Give back the outcomes that allocation by errors has hidden."""
    totals = _totals(strata)
    slopes = _slopes(forms, totals)
    rises, weights = [slope > 0 for slope in slopes], [abs(slope) for slope in slopes]
    if len(forms) == 1:
        form = forms[0]
        each_weight = form.weights(totals)
        rises = [(a or weight) > 0 for a, weight in zip(form.a, each_weight, strict=True)]
        weights = [abs(weight) for weight in each_weight]
    w = _shared([weight * each.N for weight, each in zip(weights, strata, strict=True)])
    bad = [each.n - each.x if up else each.x for each, up in zip(strata, rises, strict=True)]
    rates = [b / each.n if each.n > 0 else 0.5 for b, each in zip(bad, strata, strict=True)]
    share = _dot(w, rates)
    either = [True, False] if abs(share - 0.5) < _TIE else [share > 0.5]
    ways = []
    for common in either:
        turned = [up != common for up in rises]
        rare = [
            each.n - each.x if turn else each.x for each, turn in zip(strata, turned, strict=True)
        ]
        pull = _pull(w, rare, strata)
        given = [
            min(max(x + one, 0.0), each.n) - x if each.left > 0 else 0.0
            for x, each, one in zip(rare, strata, pull, strict=True)
        ]
        ways.append(
            [
                replace(each, x=each.x - more if turn else each.x + more)
                for each, more, turn in zip(strata, given, turned, strict=True)
            ]
        )
    return ways


def _pull(w: Sequence[float], x: Sequence[float], strata: Sequence[Stratum]) -> list[float]:
    """Percent by which a stratum's labels rise with its outcomes."""
    tiny = 1e-9
    n = [each.n for each in strata]
    labels, outcomes = fsum(n), fsum(x)
    rate = fsum(a * b / max(c, 1.0) for a, b, c in zip(w, x, n, strict=True))
    overall = min(max((labels * rate + 0.5) / (labels + 1), tiny), 1 - tiny)
    pooled = min(max((outcomes + 0.5) / (labels + 1), tiny), 1 - tiny)
    chi2 = fsum(
        (b - c * pooled) ** 2 / max(c * pooled * (1 - pooled), tiny)
        for b, c in zip(x, n, strict=True)
    )
    believed = 1 - min(1.0, (len(w) - 1) / max(chi2, tiny))
    own = [(b + 0.5) / (c + 1) for b, c in zip(x, n, strict=True)]
    q = [min(max((1 - believed) * overall + believed * o, tiny), 1 - tiny) for o in own]
    spread = [a * sqrt(b * (1 - b)) for a, b in zip(w, q, strict=True)]
    total = fsum(spread)
    c = 1.96 / (total * sqrt(max(labels, 1.0)))
    k = c / sqrt(1 + c)
    remains = fsum(a * each.left for a, each in zip(w, strata, strict=True))
    by_weight = 1 - (1 - max(k / (1 + k), 0.05)) * remains
    pulls = []
    for a, s, o, b, outcomes, m in zip(w, spread, own, q, x, n, strict=True):
        neyman = (1 - by_weight) * s / total
        if b < 0.5:
            follows = believed * (o / b) * outcomes / (outcomes + 0.5) * (0.5 - b) / (1 - b)
        else:  # the other outcome is the rarer one of this stratum
            others = m - outcomes
            follows = -believed * ((1 - o) / (1 - b)) * others / (others + 0.5) * (b - 0.5) / b
        pulls.append(follows * (1 - s / total) * neyman / max(neyman + by_weight * a, tiny))
    return pulls


def _value(forms: Sequence[Form], totals: Sequence[float]) -> float:
    return fsum(sign * form.at(totals) for sign, form in zip((1, -1), forms, strict=False))


def _slopes(forms: Sequence[Form], totals: Sequence[float]) -> list[float]:
    first, *others = (form.slopes(totals) for form in forms)
    return first if not others else [a - b for a, b in zip(first, *others, strict=True)]


def _totals(strata: Sequence[Stratum]) -> list[float]:
    return [each.total for each in strata]


def _shared(weights: Sequence[float]) -> list[float]:
    total = fsum(weights)
    return [weight / total if total > 0 else 1 / len(weights) for weight in weights]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return fsum(x * y for x, y in zip(a, b, strict=True))


def form_of(metric: str, says: Sequence[bool], *, items: float, yes_items: float) -> Form:
    """Metric over strata with predicted label yes, or no.

    `says`: what the classifier says of each stratum's items.
    """
    yes, one = [float(each) for each in says], [1.0] * len(says)
    none = [0.0] * len(says)
    no, negatives = [1 - each for each in yes], [-1.0] * len(says)
    no_items = items - yes_items
    # TP TN - FP FN, of which both classes' metrics are a share.
    apart, mean = (
        [no_items if yes_set else -yes_items for yes_set in says],
        sqrt(yes_items * no_items) or 1.0,
    )
    return {
        "precision": Form(0, yes, yes_items, none),
        "recall": Form(0, yes, 0, one),
        "f1": Form(0, [2 * each for each in yes], yes_items, one),
        "accuracy": Form(no_items, [2 * each - 1 for each in yes], items, none),
        "false_omission_rate": Form(0, no, no_items, none),
        "prevalence": Form(0, one, items, none),
        "specificity": Form(no_items, [-each for each in no], items, negatives),
        "false_positive_rate": Form(yes_items, [-each for each in yes], items, negatives),
        "negative_predictive_value": Form(no_items, [-each for each in no], no_items, none),
        "balanced_accuracy": Form(0, [each / 2 for each in apart], 0, one, items, 1.0, 0.5),
        "matthews_correlation": Form(0, [each / mean for each in apart], 0, one, items, 0.5),
    }[metric]


def left_of(size: float, labels: float) -> float:
    """Share of a stratum's variance that is left after so many labels."""
    return (size - labels) / max(size - 1, 1.0)


def main(folder: Path) -> int:
    """Print the value from the tables and the one that was stored; return 1 where they differ."""
    [(metric, stored)] = json.loads((folder / "estimate.json").read_text()).items()
    settings = json.loads((folder / "settings.json").read_text())
    if settings["goal"].get("threshold_for"):
        sys.stdout.write(f"{metric} at a threshold is smoothed over scores: see assay verify\n")
        return 0
    rows, cards = (_rows(folder / name) for name in ("strata.csv", "cards.csv"))
    yes, no = ([0] * len(rows) for _ in range(2))
    for card in cards:
        # Where strata hold items of both predicted labels, predictions that are right are counted.
        straddles = rows[int(card["stratum"])]["predicted"] == ""
        outcome = {"yes": True, "no": False}.get(card["answer"])
        if outcome is not None:
            counts = yes if outcome == (not straddles or card["predicted"] == "1") else no
            counts[int(card["stratum"])] += 1
    sizes = [int(row["size"]) for row in rows]
    mixed = any(row["predicted"] == "" for row in rows)
    says = [row["predicted"] == "1" for row in rows]
    form = form_of(
        "prevalence" if mixed else metric,  # right predictions are a share of all items
        says,
        items=sum(sizes),
        yes_items=sum(size for size, yes_set in zip(sizes, says, strict=True) if yes_set),
    )
    values = _values(form, sizes, yes, no, settings)
    value = min(values, key=lambda one: abs(one - (stored["value"] or 0.0)))
    sys.stdout.write(f"{metric}: {value!r} from the tables, {stored['value']!r} as stored\n")
    return 0 if stored["value"] is None or abs(value - stored["value"]) < 1e-12 else 1


def _values(
    form: Form,
    sizes: Sequence[int],
    yes: Sequence[int],
    no: Sequence[int],
    settings: Mapping[str, Any],
) -> list[float]:
    design, goal = settings["design"], settings["goal"]
    back = design["replacement"]
    strata = [
        Stratum(size, x + y, x, 1.0 if back else left_of(size, x + y))
        for size, x, y in zip(sizes, yes, no, strict=True)
    ]
    stratified = design["interval"] == "stratified"
    values = quoted(
        [form],
        strata,
        explored=stratified and design["allocation"] == "explore",
        stops=stratified and design["stop"] != "budget" and goal["within"] is not None,
    )
    if back:
        return values
    most = [size - y for size, y in zip(sizes, no, strict=True)]
    low, high = form.ends(yes, most)
    return [min(max(value, low), high) for value in values]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
