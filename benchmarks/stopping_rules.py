"""How often the present stopping rules are right, and what they cost.

A million predicted positives whose score is uniform in (0, 1) and whose chance of being right
rises with it; true precision p; `REPLICATIONS` evaluations a cell through the campaign's own loop,
in batches of 20. Monte Carlo error of a share: at most 0.016 (one standard error at 0.5), about
0.007 near 0.95.

Run with ``python benchmarks/stopping_rules.py``.
"""

import numpy as np

from assay.core.metrics import ratio
from assay.core.types import Floats
from assay.design import Design, Goal
from assay.simulation import replay

REPLICATIONS = 1000
ITEMS = 1_000_000
DESIGNS = {
    "Bennett and Carvalho (perc, opt)": Design.bennett_carvalho(),
    "Assay's Design()": Design(),
    "simple random sampling, Wilson": Design.simple_random(),
}


def strata(p: float, bins: int) -> tuple[Floats, Floats]:
    """Return sizes and positives of equal-size score strata: errors fall with the score's cube."""
    score = (np.arange(ITEMS) + 0.5) / ITEMS
    wrong = (1 - score) ** 3
    wrong = np.minimum(wrong * (1 - p) / wrong.mean(), 1.0)
    cells = np.array_split(1 - wrong, bins)
    sizes = np.array([float(cell.size) for cell in cells])
    return sizes, np.round([cell.sum() for cell in cells])


def main() -> None:
    """Print one Markdown row for each design and cell."""
    print("| precision | ±delta | design | labels | estimate within delta | interval covers |")
    print("|---|---|---|---|---|---|")
    for p, delta in ((0.7, 0.02), (0.9, 0.02), (0.97, 0.02), (0.97, 0.01)):
        for name, design in DESIGNS.items():
            sizes, positives = strata(p, design.bins)
            runs = replay(
                design,
                Goal("precision", within=delta),
                ratio("precision", sizes, np.ones(len(sizes), dtype=bool)),
                sizes=sizes,
                outcomes=positives,
                replications=REPLICATIONS,
                rng=np.random.default_rng(1),
            )
            truth = positives.sum() / sizes.sum()
            within = np.mean(np.abs(runs.value - truth) <= delta)
            covers = np.mean((runs.low <= truth) & (truth <= runs.high))
            labels = runs.labels.mean()
            print(f"| {p} | {delta} | {name} | {labels:.0f} | {within:.3f} | {covers:.3f} |")


if __name__ == "__main__":
    main()
