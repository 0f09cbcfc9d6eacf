"""How several targets fare with a budget and no widths, each against a random sample of its own.

Mean squared errors over the variance of a simple random sample of the whole budget from the items
that the target is about, read with the sizes of the cells known: the yes-set for a precision, the
no-set for a false omission rate, the union for a difference of precisions, all items for a recall
or an accuracy. `--power` is p of `core.joint_allocation`: 1 the mean, 32 nearly the minimax. "least
possible" is the smallest worst ratio that any allocation has, with every rate known.

Run with ``python -m benchmarks.budget_of_several FILE [--runs 1000] [--power 1 2 4 32]``, FILE like
offensive_mix.parquet.
"""

import argparse
from functools import partial
from unittest.mock import patch

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.joint import Joint
from assay.core.joint_allocation import compromise_allocation
from assay.core.parts import View
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.core.types import Floats
from assay.simulation import Population, of_several, replay

NAMES = ("bilstm", "cnn", "logreg")
PRECISIONS = [f"precision:{name}" for name in NAMES]
TARGETS = {
    "precisions, a difference": [*PRECISIONS, "precision:bilstm - precision:cnn"],
    "precisions, another difference": [*PRECISIONS, "precision:bilstm - precision:logreg"],
    "precisions, a recall": [*PRECISIONS, "recall:cnn"],
    "accuracies, a precision, an omission rate": [
        *(f"accuracy:{name}" for name in NAMES),
        "precision:cnn",
        "false_omission_rate:cnn",
    ],
}


def main() -> None:
    """Print a row for each set of targets, budget and power."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--power", type=float, nargs="*", default=[2.0])
    asked = parser.parse_args()
    columns = {name: {"score": f"score_{name}", "predicted": f"pred_{name}"} for name in NAMES}
    ensemble = Population.read(asked.file, label="label", classifiers=columns)
    print("| targets | labels | p | each | least coverage | least possible |")
    print("|---|---:|---:|---|---:|---:|")
    for title, metrics in TARGETS.items():
        for labels in (300, 600, 1200):
            for power in asked.power:
                row = measure(ensemble, metrics, labels, power, asked.runs)
                print(f"| {title} | {labels:,} | {power:g} | {row} |", flush=True)


def measure(ensemble: Population, metrics: list[str], labels: int, power: float, runs: int) -> str:
    """Return what is found of one set of targets."""
    targets = parse_targets(metrics, ensemble.classifiers)
    goal = Goal(targets=targets, budget=labels)
    strata = cell_strata(ensemble, goal, Design())
    joint, outcomes = joint_of(Design(), goal, strata), ensemble.outcomes(strata)
    with patch(
        "assay.core.joint.compromise_allocation", partial(compromise_allocation, power=power)
    ):
        found = replay(
            *of_several(joint, outcomes), replications=runs, rng=np.random.default_rng(1)
        )
    truth = np.array([ensemble.value(target) for target in targets])
    own = np.array([of_a_random_sample(joint, view, outcomes, labels) for view in joint.views])
    errors = ((found.value - truth) ** 2).mean(axis=0) / own
    right = ((found.low <= truth) & (truth <= found.high)).mean(axis=0).min()
    each = " ".join(f"{value:.2f}" for value in errors)
    return f"{each} | {right:.3f} | {least_worst(joint, outcomes, own, labels):.2f}"


def of_a_random_sample(joint: Joint, view: View, outcomes: Floats, labels: int) -> float:
    """Return the variance of a target from `labels` of its items, cells' sizes known."""
    sizes, positives = view.gather(joint.parts.size), view.gather(outcomes)
    slope = view.metric.gradient(positives)
    within = 0.0
    for each in np.unique(slope):
        cell = sizes[slope == each].sum()
        rate = positives[slope == each].sum() / cell
        within += cell * each**2 * rate * (1 - rate)
    items = sizes.sum()
    return float((items / labels - 1) * items / (items - 1) * within)


def least_worst(joint: Joint, outcomes: Floats, own: Floats, labels: int) -> float:
    """Return the smallest worst ratio that a fixed allocation can have where all is known."""
    strata = joint.parts.strata_sizes
    spread = np.zeros((len(joint.views), strata.size))
    for t, view in enumerate(joint.views):
        sizes, positives = view.gather(joint.parts.size), view.gather(outcomes)
        rate, slope = positives / sizes, view.metric.gradient(positives)
        mine = (sizes * slope) ** 2 * rate * (1 - rate)
        spread[t, view.strata] = view.by_stratum(mine / view.share)
    return float(compromise_allocation(spread, own, labels, 1, strata, power=64).ratio.max())


if __name__ == "__main__":
    main()
