"""Weeks of a series, again and again: labels used again, false alarms, and what it costs.

    python -m benchmarks.following [--series 150] [--weeks 2] [--kept 0.8] [--drop 0 0.03]

Weeks of 100,000 messages of the demo's classifier, of which `kept` are in the week before, too.
New messages of a kind that it does not know lower the precision of the last week by `drop`, or
nothing changes. Every series is run as people would run it: `assay.follow_campaign` every week,
with answers from the truth. What is printed is of the last week, and of the alarms of all.

Printed beside it: the labels that two independent random samples, one a week, need for the same
power by a two-sided test at 95% (normal approximation with the true rates).
"""

import argparse
import warnings
from dataclasses import dataclass
from math import ceil
from tempfile import TemporaryDirectory

import numpy as np
from scipy.special import ndtri

import assay
from assay.core.types import Bools, Ints
from assay.demo import make_population

WEEK = 100_000
Z = float(ndtri(0.975))
POPULATION = make_population(seed=7)


@dataclass(frozen=True)
class Outcome:
    """How one series went: its first week and its last, and whether any week raised an alarm."""

    first: int
    last: int
    asked: int
    low: float
    high: float
    covered: bool
    level_covered: bool
    own: int
    alarms: int
    p: tuple[float, float]


def some_weeks(
    rng: np.random.Generator, number: int, kept: float, drop: float
) -> tuple[list[Ints], Bools]:
    """Return the messages of each week, and the truth about all."""
    rows = rng.permutation(POPULATION.score.size)
    gone = round((1 - kept) * WEEK)
    if WEEK + (number - 1) * gone > rows.size:
        raise SystemExit(f"{rows.size:,} messages are too few for {number} weeks")
    weeks = [rows[week * gone : week * gone + WEEK] for week in range(number)]
    truth = POPULATION.truth.copy()
    if drop:
        last, fresh = weeks[-1], weeks[-1][WEEK - gone :]
        right = fresh[POPULATION.predicted[fresh] & truth[fresh]]
        wrong = round(drop * int(POPULATION.predicted[last].sum()))
        truth[rng.choice(right, wrong, replace=False)] = False
    return weeks, truth


def one_series(seed: int, number: int, kept: float, drop: float, within: float) -> Outcome:
    """Follow the precision over so many weeks."""
    rows, truth = some_weeks(np.random.default_rng([20261115, seed]), number, kept, drop)
    weeks = [
        assay.from_arrays(
            y_score=POPULATION.score[week], y_pred=POPULATION.predicted[week], ids=week
        )
        for week in rows
    ]

    def answer(campaign: assay.Campaign) -> int:
        asked = 0
        while batch := campaign.ask(20):
            asked += len(batch)
            campaign.tell({item.id: bool(truth[int(item.id)]) for item in batch})
        return asked

    with TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/series.db"
        campaign = assay.follow_campaign(
            weeks[0], series="spam", period="1", within=within, storage=storage, seed=seed
        )
        labels = answer(campaign)
        for week in range(1, number):
            campaign = assay.follow_campaign(
                weeks[week],
                series="spam",
                period=f"{week + 1}",
                previous=weeks[week - 1],
                storage=storage,
            )
            asked = answer(campaign)
        trend = assay.trend("spam", storage=storage)
    row, said = trend.latest, POPULATION.predicted
    before, after = (float(truth[week][said[week]].mean()) for week in rows[-2:])
    if row.change is None:
        raise RuntimeError("the last week has no change")
    return Outcome(
        first=labels,
        last=row.labels,
        asked=asked,
        low=row.change.low,
        high=row.change.high,
        covered=row.change.low <= after - before <= row.change.high,
        level_covered=row.estimate.low <= after <= row.estimate.high,
        own=row.estimate.labels,
        alarms=sum(each.moved is not None for each in trend.rows),
        p=(before, after),
    )


def labels_of_two_samples(p: tuple[float, float], power: float) -> int:
    """Return the labels of two random samples of equal size that find the change so often."""
    spread = sum(rate * (1 - rate) for rate in p)
    return 2 * ceil((Z + float(ndtri(power))) ** 2 * spread / (p[1] - p[0]) ** 2)


def main() -> None:
    """Run the series and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=150)
    parser.add_argument("--weeks", type=int, default=2)
    parser.add_argument("--kept", type=float, default=0.8)
    parser.add_argument("--drop", type=float, nargs="+", default=[0.0, 0.03])
    parser.add_argument("--within", type=float, default=0.02)
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    for drop in told.drop:
        runs = [
            one_series(seed, told.weeks, told.kept, drop, told.within)
            for seed in range(told.series)
        ]
        print(f"{len(runs)} series of {told.weeks} weeks, ", end="")
        print(f"{told.kept:.0%} of the messages kept, a drop of {drop:g}:")
        tell(runs)
        if drop and told.weeks == 2:
            tell_of_random_samples(runs)


def tell(runs: list[Outcome]) -> None:
    """Print the labels and the alarms."""
    n = len(runs)
    first, last, asked, own = (
        np.array([getattr(run, name) for run in runs]) for name in ("first", "last", "asked", "own")
    )
    fell = np.mean([run.high < 0 for run in runs])
    moved = np.mean([run.high < 0 or run.low > 0 for run in runs])
    covered = np.mean([run.covered for run in runs])
    level = np.mean([run.level_covered for run in runs])
    alarmed = sum(run.alarms > 0 for run in runs)
    print(f"  labels in the first week {first.mean():.0f}; of the last ", end="")
    print(f"{last.mean():.0f} count, asked for {asked.mean():.0f}; ", end="")
    print(f"re-used {1 - asked.sum() / last.sum():.1%}, ", end="")
    print(f"of the {own.mean():.0f} for its precision {1 - asked.sum() / own.sum():.1%} or more")
    print(f"  last week said to have fallen {fell:.1%}, moved {moved:.1%} ", end="")
    print(f"(standard error {100 * np.sqrt(moved * (1 - moved) / n):.1f}%); ", end="")
    print(f"the change is in its interval in {covered:.1%}, the precision in {level:.1%}")
    print(f"  any week said to have moved: {alarmed} of {n} series")


def tell_of_random_samples(runs: list[Outcome]) -> None:
    """Print what the same power would cost without Assay."""
    fell = float(np.mean([run.high < 0 for run in runs]))
    before, after = np.mean([run.p for run in runs], axis=0).tolist()
    random = labels_of_two_samples((before, after), min(fell, 1 - 1 / len(runs)))
    both = float(np.mean([run.first + run.asked for run in runs]))
    print(f"  labels of both weeks {both:.0f}; two random samples of the same power ", end="")
    print(f"{random:,}: {both / random:.2f} of them")


if __name__ == "__main__":
    main()
