"""Weights in comparisons and series: labels, labels used again, and how often intervals hold.

    python -m benchmarks.weighted_weeks compare 400     # two versions, 12,000 items in both
    python -m benchmarks.weighted_weeks follow 200      # three weeks, weights of their own

Real campaigns, answered from the truth: 20,000 items with lognormal weights of spread 1.5, where
items with much weight are classified worse. Each run has a seed of its own.
"""

import sys
import tempfile
from typing import Any

import numpy as np

import assay

SIZE = 20_000
COLUMNS: dict[str, Any] = {"id": "url", "score": "p", "threshold": 0.5, "sample_weight": "views"}
_RNG = np.random.default_rng(3)
VIEWS = _RNG.lognormal(3, 1.5, SIZE)
BASE = _RNG.normal(0, 1, SIZE)
TRUTH = _RNG.random(SIZE) < 1 / (1 + np.exp(-2 * BASE + 0.02 * VIEWS.clip(0, 50)))


def week(first: int, last: int, noise: float, seed: int, drift: float) -> dict[str, Any]:
    """Return predictions of some items, whose weights are the week's own where they drift."""
    rng, items = np.random.default_rng(seed), np.arange(first, last)
    return {
        "url": items,
        "p": 1 / (1 + np.exp(-BASE[items] - rng.normal(0, noise, items.size))),
        "views": np.round(VIEWS[items] * rng.lognormal(0, drift, items.size)),
    }


def precision(rows: dict[str, Any]) -> float:
    """Return the precision over all impressions of a week."""
    yes = rows["p"] >= 0.5
    return float(np.average(TRUTH[rows["url"][yes]], weights=rows["views"][yes]))


def label(campaign: assay.Campaign) -> None:
    """Answer from the truth until the campaign is done."""
    while not campaign.done:
        campaign.tell({item.id: bool(TRUTH[int(item.id)]) for item in campaign.ask(50)})


def compare(runs: int) -> None:
    """Print what comparisons of two versions over the same traffic took, and what held."""
    old, new = week(0, 16_000, 1.0, 1, 0.0), week(4_000, SIZE, 0.5, 2, 0.0)
    truth = np.array([precision(new) - precision(old), precision(new)])
    held, labels = np.zeros(2), 0
    for seed in range(runs):
        campaign = assay.compare_campaign(
            old, new, **COLUMNS, within=0.03, level_within=0.04, seed=seed
        )
        label(campaign)
        found = list(campaign.estimates().values())
        held += [each.low <= true <= each.high for each, true in zip(found, truth, strict=True)]
        labels += len(campaign.answers())
    print(
        f"{runs} runs: {labels / runs:.0f} labels; difference held {held[0] / runs:.3f}, ", end=""
    )
    print(f"precision held {held[1] / runs:.3f}")


def follow(runs: int) -> None:
    """Print what three weeks took, and what held."""
    weeks = [week(2_000 * k, 16_000 + 2_000 * k, 1 - 0.2 * k, k + 1, 0.3) for k in range(3)]
    truth = np.array([precision(rows) for rows in weeks])
    held, changes, labels = np.zeros(3), np.zeros(2), np.zeros((3, 2))
    for seed in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            storage = f"sqlite:///{folder}/labels.db"
            given: dict[str, Any] = {**COLUMNS, "within": 0.04, "seed": seed}
            for number, rows in enumerate(weeks):
                label(
                    assay.follow_campaign(
                        rows, series="s", period=f"w{number}", storage=storage, **given
                    )
                )
                given = {}
            found = assay.trend("s", storage=storage).rows
        held += [
            row.estimate.low <= true <= row.estimate.high
            for row, true in zip(found, truth, strict=True)
        ]
        told = [row.change for row in found if row.change is not None]
        changes += [
            each.low <= true <= each.high for each, true in zip(told, np.diff(truth), strict=True)
        ]
        labels += [(row.labels, row.reused) for row in found]
    for number, (judged, reused) in enumerate((labels / runs).tolist()):
        change = "" if number == 0 else f", change held {changes[number - 1] / runs:.3f}"
        print(f"week {number}: {judged:.0f} labels, {reused:.0f} of them from before; ", end="")
        print(f"held {held[number] / runs:.3f}{change}")


if __name__ == "__main__":
    {"compare": compare, "follow": follow}[sys.argv[1]](int(sys.argv[2]))
