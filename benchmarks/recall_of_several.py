"""Recall and F1 of several classifiers: the joint design against paper 3's route (section 6).

The paper's route: precisions from recycled samples (RSFP-Shuffle), one false omission rate by
stratified sampling, the rest by the delta method. It names no sizes, so they are chosen for it with
the truth known: the false omission rate has Neyman's allocation over the strata of the parent's
no-set by mean rank, and the samples of the classifiers are scaled together until the total is
least. Nobody could do so well; the joint design knows nothing beforehand.

Run with ``python -m benchmarks.recall_of_several FILE`` for a file with the columns of
offensive_mix.parquet; 200 evaluations of the joint design.
"""

import sys

import numpy as np
from scipy.special import ndtri

from assay.core.goal import Goal
from assay.core.recycling.route import Route
from assay.core.recycling.samples import covariance_of_hits
from assay.core.targets import parse_targets
from assay.simulation import Population, expected_savings, sample_size, simulate

NAMES = ("mve", "bilstm", "cnn", "logreg")  # the parent first
WITHIN, CONFIDENCE = 0.03, 0.95
METRICS = [f"{metric}:{name}" for metric in ("recall", "f1") for name in NAMES]


def main() -> None:
    """Print the labels of either, and how often the joint design was right."""
    columns = {name: {"score": f"score_{name}", "predicted": f"pred_{name}"} for name in NAMES}
    ensemble = Population.read(sys.argv[1], label="label", classifiers=columns)
    found = simulate(
        ensemble,
        metrics=METRICS,
        designs=["joint"],
        within=WITHIN,
        confidence=CONFIDENCE,
        parent="mve",
        replications=200,
        seed=1,
    )
    joint = found.rows[-1]
    print("| route | labels | joint's share |\n|---|---:|---:|")
    print(f"| joint | {joint.labels_mean:,.0f} | |")
    for strata in (1, 4, 16):
        for text, best in (("1,068 each", False), ("best sizes", True)):
            labels = route_labels(ensemble, strata, best=best)
            how = "at random" if strata == 1 else f"in {strata} strata"
            share = joint.labels_mean / labels
            print(f"| paper's, {text}, omission rate {how} | {labels:,.0f} | {share:.0%} |")
    print("\n| metric | truth | within ±0.03 | interval right |\n|---|---:|---:|---:|")
    for each in joint.metrics:
        print(f"| {each.metric} | {each.value:.3f} | {each.within:.3f} | {each.coverage:.3f} |")


def route_labels(ensemble: Population, strata: int, *, best: bool) -> float:
    """Return the labels of the paper's route, with the truth known.

    `best`: the samples are in proportion to what each precision needs, and scaled to the least
    total; otherwise they are of the published size, scaled up if that is too small.
    """
    goal = Goal(targets=parse_targets(METRICS, ensemble.classifiers, within=WITHIN))
    route = Route.of(ensemble.by_cell, goal, parent=NAMES[0])
    cells, yes = ensemble.by_cell, ensemble.by_cell.yes(route.names)
    sizes, hits = yes @ cells.sizes, yes @ cells.positives
    p = hits / sizes
    start = np.full(p.size, float(sample_size(WITHIN, 1 - CONFIDENCE)))
    if best:
        start = start * 4 * p * (1 - p)
    totals = np.append(hits, (1 - yes[0]) @ cells.positives)
    spread = _omission_spread(ensemble, strata)
    bound = (WITHIN / ndtri((1 + CONFIDENCE) / 2)) ** 2
    both = yes * cells.sizes @ yes[0]
    least = np.inf
    for factor in 1.02 ** np.arange(0 if not best else -60, 200):
        n = np.ceil(factor * start)
        covariance = covariance_of_hits(ensemble.by_cell, "recycle-shuffle", route.names, n)
        needed = 0.0
        for metric in route.metrics:
            slope = metric.gradient(totals)
            left = bound - slope[:-1] @ covariance @ slope[:-1]
            needed = max(needed, slope[-1] ** 2 * spread / left if left > 0 else np.inf)
        saved = sum(
            expected_savings(int(n[0]), int(n[k]), both[k] / sizes[0], both[k] / sizes[k])
            for k in range(1, p.size)
        )
        least = min(least, float(n.sum()) - saved + needed)
    return least


def _omission_spread(ensemble: Population, strata: int) -> float:
    """Return n times the variance of the misses, by Neyman's allocation: (sum N_h S_h)^2."""
    no = ~ensemble.says_yes(NAMES[0])
    rank, truth = ensemble.rank[no], ensemble.truth[no]
    groups = np.array_split(np.argsort(rank, kind="stable"), strata)
    rates = np.array([truth[group].mean() for group in groups])
    sizes = np.array([group.size for group in groups])
    return float((sizes * np.sqrt(rates * (1 - rates))).sum() ** 2)


if __name__ == "__main__":
    main()
