"""Whether campaigns with a part of the items judged take the labels that a plan says.

    python -m benchmarks.judged_part                # generated items, 100 campaigns of judged ones
    python -m benchmarks.judged_part --runs 40 --of-all 10

Of 200,000 items a judge that is wrong in 6% is asked about as many as double sampling says.
Campaigns of these alone are compared with the plan, and campaigns of all items, as many judged.
"""

import argparse
from collections.abc import Mapping
from math import ceil, sqrt

import numpy as np
from scipy.special import expit, ndtri

import assay
from assay.core.double_sampling import Question, double_sampling, part_of_variance
from assay.core.error_model import FIRST
from assay.core.types import Bools, Floats

ITEMS, WITHIN = 200_000, 0.02
PRICES = {"judge_cost": 0.02, "label_cost": 1.5}


def correlation(score: Floats, agrees: Bools, right: Bools) -> float:
    """Return the correlation of the judge's verdict with the outcome among items of one score."""
    bins = np.digitize(score, np.quantile(score, np.linspace(0, 1, 41)[1:-1]))
    x, y = (each - (np.bincount(bins, each) / np.bincount(bins))[bins] for each in (agrees, right))
    return float((x * y).sum() / sqrt((x * x).sum() * (y * y).sum()))


def campaign_of(
    table: Mapping[str, object], truth: Bools, within: float, seed: int
) -> tuple[int, assay.Estimate]:
    """Return the labels of one campaign, and what it found."""
    campaign = assay.create_campaign(
        table, id="id", score="p", threshold=0.5, aux=["judge"], metric="accuracy",
        within=within, seed=seed,
    )  # fmt: skip
    asked = 0
    while not campaign.done:
        batch = campaign.ask(20)
        asked += len(batch)
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in batch})
    return asked, campaign.estimate()


def main() -> None:
    """Print the plan, and what campaigns took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--of-all", type=int, default=10)
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    quality = rng.normal(size=ITEMS)
    truth = rng.random(ITEMS) < expit(4 * quality)
    score = expit(2.5 * (quality + 0.6 * rng.normal(size=ITEMS)))
    judge = truth ^ (rng.random(ITEMS) < 0.06)
    said = score >= 0.5
    right = truth == said
    rho = correlation(score, judge == said, right)
    simulated = assay.simulate(
        assay.Population(y_true=truth, y_score=score, y_pred=said),
        metric="accuracy", within=WITHIN, replications=500, designs=["default"], workers=1,
    )  # fmt: skip
    labels = {row.design: row.labels_mean for row in simulated.rows}
    question = Question(labels["default"], ITEMS, labels["random"], FIRST)
    effort = double_sampling(question, rho, **PRICES)
    judged, within = ceil(effort.judgements), WITHIN * sqrt(part_of_variance(question, rho, effort))
    print(
        f"accuracy {right.mean():.3f} ±{WITHIN}: {labels['default']:,.0f} labels without a judge, "
        f"{labels['random']:,.0f} at random; rho {rho:.2f}\n"
        f"plan: {judged:,} judgements, {effort.labels:,.0f} labels, within ±{within:.4f}; "
        f"{effort.cost(**PRICES):,.0f} instead of {PRICES['label_cost'] * labels['default']:,.0f}"
    )
    took, widths, held = [], [], 0
    for run in range(given.runs):
        part = rng.choice(ITEMS, judged, replace=False)
        table = {"id": part, "p": score[part], "judge": judge[part].astype(np.float64)}
        asked, found = campaign_of(table, truth, within, run)
        value, low, high = found.value or 0.0, found.low or 0.0, found.high or 1.0
        first = ndtri(0.975) ** 2 * value * (1 - value) * (1 / judged - 1 / ITEMS)
        width = sqrt(((high - low) / 2) ** 2 + first)
        held += abs((high + low) / 2 - right.mean()) <= width
        took.append(asked)
        widths.append(width)
    print(
        f"campaigns of the judged items: {np.mean(took):,.0f} labels, ±{np.mean(widths):.4f} for "
        f"all items, which held in {held} of {given.runs}"
    )
    took = []
    for run in range(given.of_all):
        known = np.full(ITEMS, np.nan)
        part = rng.choice(ITEMS, judged, replace=False)
        known[part] = judge[part]
        table = {"id": np.arange(ITEMS), "p": score, "judge": known}
        took.append(campaign_of(table, truth, WITHIN, run)[0])
    if took:
        print(f"campaigns of all items, as many judged: {np.mean(took):,.0f} labels")


if __name__ == "__main__":
    main()
