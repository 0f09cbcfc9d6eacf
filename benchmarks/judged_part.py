"""Whether campaigns with a part of the items judged take the labels that a plan says, and hold.

    python -m benchmarks.judged_part                # generated items, 400 campaigns of each way
    python -m benchmarks.judged_part --runs 1000 --of-all 100

Of 200,000 items a judge that is wrong in 6% is asked about as many as double sampling says.
Campaigns of these alone (`sample_of`) are compared with the plan, with and without what the drawing
of the part adds to the interval. Then campaigns of all items: as many judged, half of them, and as
many as are cheapest in strata of their own. All intervals are for all items.
"""

import argparse
from dataclasses import replace
from math import ceil, sqrt

import numpy as np
from scipy.special import expit

import assay
from assay.core.design import Design, fitted
from assay.core.double_sampling import Question, double_sampling, labels_with
from assay.core.goal import Goal
from assay.core.learning import FIRST
from assay.core.types import Bools, Floats, Ints
from assay.simulation import Population
from assay.simulation.second_opinion import RecutRun, run_together

ITEMS, WITHIN = 200_000, 0.02
PRICES = {"judge_cost": 0.02, "label_cost": 1.5}
BESIDE = 40  # campaigns that run side by side


def correlation(score: Floats, agrees: Bools, right: Bools) -> float:
    """Return the correlation of the judge's verdict with the outcome among items of one score."""
    bins = np.digitize(score, np.quantile(score, np.linspace(0, 1, 41)[1:-1]))
    x, y = (each - (np.bincount(bins, each) / np.bincount(bins))[bins] for each in (agrees, right))
    return float((x * y).sum() / sqrt((x * x).sum() * (y * y).sum()))


class World:
    """Items whose truth is known, and a judge."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        quality = rng.normal(size=ITEMS)
        self.truth = rng.random(ITEMS) < expit(4 * quality)
        self.score = expit(2.5 * (quality + 0.6 * rng.normal(size=ITEMS)))
        self.judge = (self.truth ^ (rng.random(ITEMS) < 0.06)).astype(np.float64)
        self.right = self.truth == (self.score >= 0.5)

    @property
    def rho(self) -> float:
        """The correlation of verdict and outcome among items of one score."""
        return correlation(self.score, (self.judge > 0) == (self.score >= 0.5), self.right)

    def campaign(self, items: Ints, judged: Ints, goal: Goal, rng: np.random.Generator) -> RecutRun:
        """Return a campaign of some items, of which some are judged."""
        verdict = np.full(ITEMS, np.nan)
        verdict[judged] = self.judge[judged]
        population = Population(
            y_true=self.truth[items], y_score=self.score[items], threshold=0.5,
            aux={"judge": verdict[items]},
        )  # fmt: skip
        opined = population.opined("accuracy")
        if opined is None:
            raise ValueError("the items have no second opinion")
        return RecutRun(opined, fitted(Design(), goal), goal, rng)

    def study(self, judged: int, goal: Goal, runs: int, *, alone: bool) -> Floats:
        """Return, of each campaign, its labels, its half-width, and whether its interval holds.

        Parameters
        ----------
        judged : int
            Items that the judge is asked about.
        goal : Goal
        runs : int
        alone : bool
            Whether the campaign is of these alone.
        """
        found, value = [], self.right.mean()
        for first in range(0, runs, BESIDE):
            some = []
            for run in range(first, min(first + BESIDE, runs)):
                rng = np.random.default_rng([20261117, run])
                part = np.sort(rng.choice(ITEMS, judged, replace=False))
                items = part if alone else np.arange(ITEMS)
                some.append(self.campaign(items, part, goal, rng))
            for campaign, (_, seen) in zip(some, run_together(some), strict=True):
                (last,) = seen.looks
                holds = last.low[0] <= value <= last.high[0]
                found.append((campaign.labels, last.half_width[0], holds))
        return np.array(found, dtype=np.float64)


def told(what: str, found: Floats, planned: float | None = None) -> None:
    """Print what campaigns of one kind took."""
    labels, width, holds = found.mean(axis=0)
    plan = "" if planned is None else f" (planned {planned:,.0f})"
    print(
        f"{what}: {labels:,.0f} labels{plan}, ±{width:.4f}, held in {holds:.3f} of {len(found):,}",
        flush=True,
    )


def main() -> None:
    """Print the plan, and what campaigns took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--of-all", type=int, default=100)
    given = parser.parse_args()
    world = World()
    simulated = assay.simulate(
        assay.Population(y_true=world.truth, y_score=world.score, threshold=0.5),
        metric="accuracy", within=WITHIN, replications=500, designs=["default"], workers=1,
    )  # fmt: skip
    labels = {row.design: row.labels_mean for row in simulated.rows}
    question = Question(labels["default"], ITEMS, labels["random"], FIRST)
    effort = double_sampling(question, world.rho, **PRICES)
    judged = ceil(effort.judgements)
    print(
        f"accuracy {world.right.mean():.3f} ±{WITHIN}: {labels['default']:,.0f} labels without a "
        f"judge, {labels['random']:,.0f} at random; rho {world.rho:.2f}\n"
        f"plan: {judged:,} judgements, {effort.labels:,.0f} labels; "
        f"{effort.cost(**PRICES):,.0f} instead of {PRICES['label_cost'] * labels['default']:,.0f}"
    )
    goal = Goal("accuracy", within=WITHIN)
    sampled = replace(goal, sample_of=ITEMS, sample_size=judged)
    told("campaigns of the judged items", world.study(judged, sampled, given.runs, alone=True),
         effort.labels)  # fmt: skip
    told("the same, without sample_of", world.study(judged, goal, given.runs, alone=True))
    for part in (judged, ITEMS // 2, ITEMS):
        told(
            f"campaigns of all items, {part:,} judged",
            world.study(part, goal, given.of_all, alone=False),
            labels_with(question, world.rho, part / ITEMS),
        )


if __name__ == "__main__":
    main()
