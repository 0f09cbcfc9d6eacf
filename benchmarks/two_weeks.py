"""What it takes to find a planted drop between two weeks, and how often there is a false alarm.

Two weeks of 100,000 messages each (`assay.demo`), a share of them in both. An item is what it is in
both, so precision falls by 3 points because of new ones: some of those that are called spam are
none, whatever their score ("anywhere"), or rather where it is low ("low scores"). And two versions
of a model, which say the same of 95% of the items. The comparison runs as `compare_campaign` does,
with answers from the truth (`assay.simulation.runs`), until its interval has the half-width
that finds the drop in about 85 of 100 runs. Beside it the labels that two random samples of what is
called spam need for the same power, by the normal formula, and how often such samples found the
drop when drawn; and the least that such strata take where all error rates are known. A false alarm
is an interval that lies below, or above, 0 where nothing changed.

Run with ``python -m benchmarks.two_weeks [--runs 2000]``.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.strata import Strata
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.core.types import Bools, Floats, Ints
from assay.demo import make_population
from assay.predictions import read_compared
from assay.simulation import Runs, of_several, replay

ITEMS = 100_000
DROP = 0.03
POWER = 0.85
_AGREE = 0.95
_KEPT = (0.8, 0.5, 0.0)
_COLUMNS = {"score": "score", "predicted": "said"}


@dataclass(frozen=True, eq=False)
class Week:
    """The items of a week: ids, scores, and what the classifier says."""

    id: Ints
    score: Floats
    said: Bools

    @property
    def yes(self) -> Ints:
        """The ids of what is called spam."""
        return self.id[self.said]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two weeks, or two model versions, and the truth by id."""

    old: Week
    new: Week
    truth: Bools

    @property
    def precisions(self) -> tuple[float, float]:
        """The true ones, of old and new."""
        old, new = (float(self.truth[week.yes].mean()) for week in (self.old, self.new))
        return old, new

    def planted(self, drop: float, *, low: bool = False) -> "Pair":
        """Return the pair with a truth by which the new precision is lower by `drop`.

        Only what nobody called spam before changes: `low` says that it does where scores are low.
        """
        truth, rng = self.truth.copy(), np.random.default_rng(2)
        surplus = truth[self.new.yes].sum() - round((self.precisions[0] - drop) * self.new.yes.size)
        fresh = self.new.said & ~np.isin(self.new.id, self.old.yes)
        rows = np.flatnonzero(fresh & (truth[self.new.id] == (surplus > 0)))
        weight = 1.001 - self.new.score[rows] if low else np.ones(rows.size)
        changed = rng.choice(rows, abs(int(surplus)), replace=False, p=weight / weight.sum())
        truth[self.new.id[changed]] = surplus < 0
        return Pair(self.old, self.new, truth)


def two_weeks(kept: float) -> Pair:
    """Return two weeks with a share of the items in both."""
    made = make_population(seed=1)
    ids = np.arange(ITEMS)
    held = np.random.default_rng(1).permutation(ITEMS)[: round(kept * ITEMS)]
    later = np.concatenate([held, np.arange(ITEMS, 2 * ITEMS - held.size)])
    old, new = (Week(each, made.score[each], made.predicted[each]) for each in (ids, later))
    return Pair(old, new, made.truth)


def two_versions() -> Pair:
    """Return two classifiers of the same items, either a blurred view of the demo's."""
    made = make_population(seed=1)
    ids, rng = np.arange(ITEMS), np.random.default_rng(3)
    margin, blurs = logit(made.score[:ITEMS]), rng.standard_normal((2, ITEMS))

    def blurred(noise: float) -> list[Week]:
        scores = [expit(margin + noise * blur) for blur in blurs]
        return [Week(ids, score, score >= 0.5) for score in scores]

    little, much = 0.0, 8.0
    for _ in range(30):
        noise = (little + much) / 2
        old, new = blurred(noise)
        agree = (old.said == new.said).mean() > _AGREE
        little, much = (noise, much) if agree else (little, noise)
    return Pair(old, new, made.truth)


class Comparison:
    """The comparison of a pair, which may be run many times."""

    def __init__(self, pair: Pair) -> None:
        tables = [
            {"id": week.id, "score": week.score, "said": week.said} for week in (pair.old, pair.new)
        ]
        self._found = read_compared(tables, classifiers={"old": _COLUMNS, "new": _COLUMNS}, id="id")
        self._truth = pair.truth

    def run(self, within: float, runs: int, seed: int) -> Runs:
        """Return how runs to a half-width ended."""
        goal, strata = self._strata(within)
        return replay(
            *of_several(joint_of(Design(), goal, strata), self._outcomes(strata)),
            replications=runs,
            rng=np.random.default_rng(seed),
        )

    def least(self, within: float) -> float:
        """Return the labels that a half-width takes where all error rates are known (Neyman)."""
        _, strata = self._strata(within)
        old, new = strata.yes_items or (0, 0)
        rate = self._outcomes(strata) / strata.part_size
        counts_for = (strata.part_code >> 1 & 1) / new - (strata.part_code & 1) / old
        spread = np.abs(strata.part_size * counts_for) * np.sqrt(rate * (1 - rate))
        return float((spread.sum() * norm.ppf(0.975) / within) ** 2)

    def _strata(self, within: float) -> tuple[Goal, Strata]:
        metric = f"precision:new - precision:old within {within!r}"
        goal = Goal(targets=parse_targets([metric], ["old", "new"]))
        return goal, cell_strata(self._found, goal, Design())

    def _outcomes(self, strata: Strata) -> Floats:
        decks = self._found.deal(strata, scale="probability", seed=0, counts=strata.sizes.tolist())
        outcomes = np.zeros(len(strata.parts))
        for stratum, deck in enumerate(decks):
            for card in deck:
                place = strata.part_of(stratum, int(card.predicted))
                outcomes[place] += self._truth[int(card.id)]
        return outcomes


def half_width(comparison: Comparison, runs: int) -> float:
    """Return the half-width at which the drop is found about as often as wanted."""
    tight, wide = DROP / 4, DROP * 1.5
    for step in range(7):
        within = (tight + wide) / 2
        found = (comparison.run(within, runs, seed=step).high < 0).mean()
        tight, wide = (within, wide) if found > POWER else (tight, within)
    return round((tight + wide) / 2, 4)


def random_labels(pair: Pair, power: float) -> int:
    """Return the labels of two random samples that find the drop so often."""
    old, new = pair.precisions
    sure = norm.ppf(0.975) + norm.ppf(power)
    return 2 * ceil(sure**2 * (old * (1 - old) + new * (1 - new)) / (old - new) ** 2)


def random_power(pair: Pair, labels: int, runs: int) -> float:
    """Return how often two random samples with so many labels in all find the drop."""
    rng, each = np.random.default_rng(4), labels // 2
    rates = []
    for week in (pair.old, pair.new):
        good = int(pair.truth[week.yes].sum())
        rates.append(rng.hypergeometric(good, week.yes.size - good, each, size=runs) / each)
    old, new = rates
    error = np.sqrt((old * (1 - old) + new * (1 - new)) / each)
    return float((new - old + norm.ppf(0.975) * error < 0).mean())


def share(which: Bools) -> str:
    """Return how many there are, with the standard error."""
    mean = float(which.mean())
    return f"{mean:.1%} ±{(mean * (1 - mean) / which.size) ** 0.5:.1%}"


def cases() -> Iterator[tuple[str, Pair, bool]]:
    """Return what is compared, and whether the drop is where scores are low."""
    for kept in _KEPT:
        for low in (False, True):
            where = "low scores" if low else "anywhere"
            yield f"weeks, {kept:.0%} kept; {where}", two_weeks(kept), low
    yield "versions, 95% alike; anywhere", two_versions(), False


def main() -> None:
    """Print a row for each pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print(
        "| compared; drop | precisions | within | labels | least | finds it | random samples "
        "| (drawn: find it) | share | covers | false drop | false rise | labels |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, pair, low in cases():
        fallen, same = pair.planted(DROP, low=low), pair.planted(0.0)
        comparison = Comparison(fallen)
        within = half_width(comparison, min(runs, 400))
        found = comparison.run(within, runs, seed=100)
        power = float((found.high < 0).mean())
        truth = fallen.precisions[1] - fallen.precisions[0]
        covers = float(((found.low <= truth) & (truth <= found.high)).mean())
        labels, at_random = float(found.labels.mean()), random_labels(fallen, power)
        drawn = random_power(fallen, at_random, 20_000)
        quiet = Comparison(same).run(within, runs, seed=200)
        old, new = fallen.precisions
        print(
            f"| {name} | {old:.3f}, {new:.3f} | {within:g} | {labels:,.0f} "
            f"| {comparison.least(within):,.0f} "
            f"| {share(found.high < 0)} | {at_random:,} | {drawn:.1%} | {labels / at_random:.0%} "
            f"| {covers:.1%} | {share(quiet.high < 0)} | {share(quiet.low > 0)} "
            f"| {quiet.labels.mean():,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
