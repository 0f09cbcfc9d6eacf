"""Evaluations item by item, in plain Python: what `simulation.runs` must agree with.

Written from the papers with loops over items and the standard library alone; nothing of `assay`
is imported. The outcome of every item is known, and the metric is the share of items that have it
(precision, where all of them were called yes). Slow, and simple to check by reading.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import NormalDist


@dataclass
class Stratum:
    """Some of the items, and what has been seen of them."""

    items: list[bool]
    seen: int = 0
    hits: int = 0

    def label(self, replacement: bool, rng: random.Random) -> None:
        """Look at one more item; the items were shuffled before."""
        item = rng.choice(self.items) if replacement else self.items[self.seen]
        self.seen += 1
        self.hits += item

    def full(self, replacement: bool) -> bool:
        return not replacement and self.seen == len(self.items)

    def left_open(self, replacement: bool) -> float:
        """The finite population correction."""
        return 1.0 if replacement else 1 - self.seen / len(self.items)


Rate = Callable[[Stratum], float]
Ends = tuple[float, float]


def smoothed_rate(stratum: Stratum) -> float:
    """Paper 1, section 5: the m-estimate."""
    m = 2.0 if stratum.seen == 0 else 1 / sqrt(stratum.seen)
    return (stratum.hits + m / 2) / (stratum.seen + m)


def observed_rate(stratum: Stratum) -> float:
    return stratum.hits / stratum.seen


def smoothed_spread(stratum: Stratum) -> float:
    """Paper 1, Figure 1."""
    p = smoothed_rate(stratum)
    return sqrt(p * (1 - p))


def observed_spread(stratum: Stratum) -> float:
    """Paper 2, Eq. 3."""
    p = observed_rate(stratum)
    return sqrt(p * (1 - p) * stratum.seen / (stratum.seen - 1))


def no_spread(stratum: Stratum) -> float:
    """All strata alike, so that their sizes alone count: wrong on purpose."""
    return float(len(stratum.items) > 0)


def normal_ends(value: float, variance: float, _labels: int, z: float) -> Ends:
    reach = z * sqrt(variance)
    return max(value - reach, 0.0), min(value + reach, 1.0)


def wilson_ends(value: float, variance: float, labels: int, z: float) -> Ends:
    """Wilson's interval at the size of a random sample that would vary as much."""
    if variance == 0:
        size = float(labels)
    else:
        size = value * (1 - value) / variance * labels / (labels - 1)
    centre = (size * value + z * z / 2) / (size + z * z)
    reach = z / (size + z * z) * sqrt(size * value * (1 - value) + z * z / 4)
    return centre - reach, centre + reach


@dataclass(frozen=True)
class Rule:
    """How to sample, and when to stop.

    `drawn` strata are drawn at random for each label (paper 1); otherwise labels are shared out
    by the largest remainders (paper 2), after a first round of the same number for each stratum.
    `round_size` None spends all that is left at once (OPT-A1).
    """

    rate: Rate
    spread: Callable[[Stratum], float]
    ends: Callable[[float, float, int, float], Ends]
    drawn: bool
    first: int
    round_size: int | None
    replacement: bool
    within: float | None = None
    budget: int | None = None
    rounds_in_a_row: int = 2
    confidence: float = 0.95


@dataclass
class Runs:
    """How the evaluations ended, one entry each."""

    labels: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)


def strata_of_equal_size(
    items: Sequence[tuple[float, bool]], bins: int
) -> tuple[tuple[bool, ...], ...]:
    """Return the outcomes of the items in each of `bins` strata; `items` are (score, outcome)."""
    ordered = [outcome for _, outcome in sorted(items)]
    size = len(ordered) // bins
    return tuple(tuple(ordered[k * size : (k + 1) * size]) for k in range(bins))


def evaluate(strata: Sequence[Sequence[bool]], rule: Rule, *, replications: int, seed: int) -> Runs:
    """Run the evaluation so many times, from shuffling the items to the stop."""
    rng = random.Random(seed)
    runs = Runs()
    for _ in range(replications):
        _evaluate_once([Stratum(list(items)) for items in strata], rule, rng, runs)
    return runs


def _evaluate_once(strata: list[Stratum], rule: Rule, rng: random.Random, runs: Runs) -> None:
    if not rule.replacement:
        for stratum in strata:
            rng.shuffle(stratum.items)
    rounds = labels = streak = 0
    while True:
        left = None if rule.budget is None else rule.budget - labels
        for stratum in _next_round(strata, rule, rounds, left, rng):
            stratum.label(rule.replacement, rng)
            labels += 1
        rounds += 1
        value, low, high = _look(strata, rule, labels)
        # Paper 1, Figure 1: the criterion is checked from the second draw on.
        if rule.within is not None and rounds > 1:
            streak = streak + 1 if (high - low) / 2 <= rule.within else 0
        everything = all(stratum.full(rule.replacement) for stratum in strata)
        if streak == rule.rounds_in_a_row or labels == rule.budget or everything:
            runs.labels.append(labels)
            runs.value.append(value)
            runs.low.append(low)
            runs.high.append(high)
            return


def _next_round(
    strata: list[Stratum], rule: Rule, rounds: int, left: int | None, rng: random.Random
) -> list[Stratum]:
    """Return the strata to take an item from, one entry for each label."""
    if not rule.drawn and rounds == 0:
        return [stratum for stratum in strata for _ in range(rule.first)]
    wanted = rule.first if rounds == 0 else rule.round_size
    total = left if wanted is None else wanted if left is None else min(wanted, left)
    assert total is not None, "a rule without rounds needs a budget"
    weights = [len(stratum.items) * rule.spread(stratum) for stratum in strata]
    if rule.drawn:
        return _drawn(strata, weights, total, rule, rng)
    if sum(weights) == 0:
        weights = [float(len(stratum.items)) for stratum in strata]
    return _shared(strata, weights, total)


def _drawn(
    strata: list[Stratum], weights: list[float], total: int, rule: Rule, rng: random.Random
) -> list[Stratum]:
    """Paper 1, Figure 1: draw a stratum for each label; one that is used up is drawn again."""
    chosen: list[Stratum] = []
    taken = [0] * len(strata)
    for _ in range(total):
        able = [
            weight if rule.replacement or stratum.seen + more < len(stratum.items) else 0.0
            for stratum, weight, more in zip(strata, weights, taken, strict=True)
        ]
        if sum(able) == 0:
            break
        k = rng.choices(range(len(strata)), able)[0]
        taken[k] += 1
        chosen.append(strata[k])
    return chosen


def _shared(strata: list[Stratum], weights: list[float], total: int) -> list[Stratum]:
    """Paper 2, Eq. 9, in whole numbers by the largest remainders."""
    shares = [total * weight / sum(weights) for weight in weights]
    counts = [int(share + 1e-9) for share in shares]
    order = sorted(range(len(strata)), key=lambda k: counts[k] - shares[k])
    for k in order[: total - sum(counts)]:
        counts[k] += 1
    for stratum, count in zip(strata, counts, strict=True):
        assert stratum.seen + count <= len(stratum.items), "populations must be large enough"
    return [stratum for stratum, count in zip(strata, counts, strict=True) for _ in range(count)]


def _look(strata: list[Stratum], rule: Rule, labels: int) -> tuple[float, float, float]:
    """Return the estimate and the ends of its interval: paper 1, Eq. 1; paper 2, Eqs. 4 and 6."""
    size = sum(len(stratum.items) for stratum in strata)
    value = variance = guessed = 0.0
    for stratum in strata:
        weight = len(stratum.items) / size
        known = stratum.full(rule.replacement)
        p = observed_rate(stratum) if known else rule.rate(stratum)
        value += weight * p
        if stratum.seen == 0:
            guessed += weight / 2  # guesses of 1/2 may all be wrong the same way
            continue
        v = p * (1 - p) / max(stratum.seen - 1, 1) * stratum.left_open(rule.replacement)
        variance += weight**2 * v
    variance = min(variance + guessed**2, 0.25)
    z = NormalDist().inv_cdf((1 + rule.confidence) / 2)
    low, high = rule.ends(value, variance, labels, z)
    if not rule.replacement:
        # At least the hits have the outcome, and at most all but the misses.
        least = sum(stratum.hits for stratum in strata) / size
        most = 1 - sum(stratum.seen - stratum.hits for stratum in strata) / size
        low, high = min(max(low, least), most), min(max(high, least), most)
    return value, min(low, value), max(high, value)
