"""What weights cost: labels to the goal, and how often the interval holds, by how uneven they are.

Real campaigns, answered from the truth. Items with much weight are classified worse, so that the
weighted and the plain precision differ. Beside it, what a uniform sample would need whose answers
are weighed afterwards: (1 + cv^2) times the labels of an unweighted sample, with cv the weights'
coefficient of variation, less what the end of the population saves.

Run with ``python -m benchmarks.weights [CAMPAIGNS]``.
"""

import sys
from dataclasses import dataclass

import numpy as np

import assay
from assay.predictions import from_arrays

SIZE = 20_000
WITHIN = 0.05


@dataclass(frozen=True)
class Run:
    """What one campaign took, and whether its interval held."""

    labels: int
    draws: float
    holds: bool
    holds_plain: bool
    uniform: float


def run(seed: int, sigma: float) -> Run:
    """Label one population to its goal."""
    rng = np.random.default_rng(seed)
    score, unit = np.sqrt(rng.random(SIZE)), rng.normal(size=SIZE)
    weight = np.exp(sigma * unit)
    truth = rng.random(SIZE) < np.clip(0.15 + 0.8 * score - 0.05 * unit, 0.0, 1.0)
    campaign = assay.create_campaign(
        from_arrays(y_score=score, threshold=0.5, sample_weight=weight), within=WITHIN, seed=seed
    )
    while items := campaign.ask(50):
        estimate = campaign.tell({item.id: bool(truth[int(item.id)]) for item in items})
    yes = score >= 0.5
    right = float((weight * (truth & yes)).sum() / (weight * yes).sum())
    plain = float(truth[yes].mean())
    uneven = 1 + float(np.var(weight[yes]) / np.mean(weight[yes]) ** 2)
    endless = uneven * 1.96**2 * right * (1 - right) / WITHIN**2
    return Run(
        labels=estimate.labels,
        draws=float(campaign.desk.labelling.rounds.state.tallies.answers),
        holds=estimate.low <= right <= estimate.high,
        holds_plain=estimate.low <= plain <= estimate.high,
        uniform=endless / (1 + endless / yes.sum()),
    )


def main(campaigns: int) -> None:
    """Print a line for each spread of the weights."""
    print(f"{campaigns} campaigns each, {SIZE:,} items, precision within ±{WITHIN:g} at 95%")
    print("| sigma | labels | draws | uniform sample | holds | holds the plain one |")
    print("|---" * 6 + "|")
    for sigma in (0.0, 1.0, 1.5, 2.0, 3.0):
        runs = [run(seed, sigma) for seed in range(campaigns)]
        labels, draws, uniform = (
            np.mean([getattr(each, name) for each in runs])
            for name in ("labels", "draws", "uniform")
        )
        holds = np.mean([each.holds for each in runs])
        plain = np.mean([each.holds_plain for each in runs])
        cells = (f"{sigma:g}", f"{labels:,.0f}", f"{draws:,.0f}", f"{uniform:,.0f}")
        print(f"| {' | '.join(cells)} | {holds:.1%} | {plain:.1%} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
