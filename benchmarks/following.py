"""Two weeks of a series, again and again: labels used again, false alarms, and what it costs.

    python -m benchmarks.following [--series 150] [--kept 0.8] [--drop 0 0.03]

Weeks of 100,000 messages of the demo's classifier, of which `kept` are the same in both. New
messages of a kind that it does not know lower the precision of the second week by `drop`, or
nothing changes. Every series is run as people would run it:
`assay.follow_campaign` twice, with answers from the truth.

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
    """How one series of two weeks went."""

    first: int
    second: int
    asked: int
    low: float
    high: float
    covered: bool
    level_covered: bool
    own: int
    p: tuple[float, float]


def two_weeks(rng: np.random.Generator, kept: float, drop: float) -> tuple[Ints, Ints, Bools]:
    """Return the messages of each week, and the truth about all."""
    rows = rng.permutation(POPULATION.score.size)
    fresh = rows[WEEK : WEEK + round((1 - kept) * WEEK)]
    first, second = rows[:WEEK], np.concatenate([rows[: round(kept * WEEK)], fresh])
    truth = POPULATION.truth.copy()
    if drop:
        right = fresh[POPULATION.predicted[fresh] & truth[fresh]]
        wrong = round(drop * int(POPULATION.predicted[second].sum()))
        truth[rng.choice(right, wrong, replace=False)] = False
    return first, second, truth


def one_series(seed: int, kept: float, drop: float, within: float) -> Outcome:
    """Follow the precision over two weeks."""
    first, second, truth = two_weeks(np.random.default_rng([20261115, seed]), kept, drop)
    weeks = [
        assay.from_arrays(
            y_score=POPULATION.score[week], y_pred=POPULATION.predicted[week], ids=week
        )
        for week in (first, second)
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
            weeks[0], series="spam", period="one", within=within, storage=storage, seed=seed
        )
        labels = answer(campaign)
        campaign = assay.follow_campaign(
            weeks[1], series="spam", period="two", previous=weeks[0], storage=storage
        )
        asked = answer(campaign)
        row = assay.trend("spam", storage=storage).latest
    said = POPULATION.predicted
    p = (float(truth[first][said[first]].mean()), float(truth[second][said[second]].mean()))
    if row.change is None:
        raise RuntimeError("the second week has no change")
    return Outcome(
        first=labels,
        second=row.labels,
        asked=asked,
        low=row.change.low,
        high=row.change.high,
        covered=row.change.low <= p[1] - p[0] <= row.change.high,
        level_covered=row.estimate.low <= p[1] <= row.estimate.high,
        own=row.estimate.labels,
        p=p,
    )


def labels_of_two_samples(p: tuple[float, float], power: float) -> int:
    """Return the labels of two random samples of equal size that find the change so often."""
    spread = sum(rate * (1 - rate) for rate in p)
    return 2 * ceil((Z + float(ndtri(power))) ** 2 * spread / (p[1] - p[0]) ** 2)


def main() -> None:
    """Run the series and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=150)
    parser.add_argument("--kept", type=float, default=0.8)
    parser.add_argument("--drop", type=float, nargs="+", default=[0.0, 0.03])
    parser.add_argument("--within", type=float, default=0.02)
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    for drop in told.drop:
        runs = [one_series(seed, told.kept, drop, told.within) for seed in range(told.series)]
        n = len(runs)
        first, second, asked = (
            np.array([getattr(run, name) for run in runs]) for name in ("first", "second", "asked")
        )
        fell = np.mean([run.high < 0 for run in runs])
        moved = np.mean([run.high < 0 or run.low > 0 for run in runs])
        covered = np.mean([run.covered for run in runs])
        own = np.array([run.own for run in runs])
        level = np.mean([run.level_covered for run in runs])
        print(f"{n} series, {told.kept:.0%} of the messages kept, a drop of {drop:g}:")
        print(
            f"  labels in week 1 {first.mean():.0f}; counted in week 2 {second.mean():.0f}, ",
            end="",
        )
        print(
            f"asked for {asked.mean():.0f}; re-used {1 - asked.sum() / second.sum():.1%}, ", end=""
        )
        print(
            f"of the {own.mean():.0f} for its precision {1 - asked.sum() / own.sum():.1%} or more"
        )
        print(f"  said to have fallen {fell:.1%}, moved {moved:.1%} ", end="")
        print(f"(standard error {100 * np.sqrt(moved * (1 - moved) / n):.1f}%); ", end="")
        print(f"the change is in its interval in {covered:.1%}, week 2's precision in {level:.1%}")
        if drop:
            random = labels_of_two_samples(
                (
                    float(np.mean([run.p[0] for run in runs])),
                    float(np.mean([run.p[1] for run in runs])),
                ),
                min(float(fell), 1 - 1 / n),
            )
            both = float(first.mean() + asked.mean())
            print(
                f"  labels of both weeks {both:.0f}; two random samples of the same power ", end=""
            )
            print(f"{random:,}: {both / random:.2f} of them")


if __name__ == "__main__":
    main()
