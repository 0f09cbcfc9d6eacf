"""Items that may have several classes: one campaign for all, beside one for each class.

    python -m benchmarks.multilabel DATA [--runs 20] [--within 0.05] [--random-runs 0]

DATA is the folder of `arxiv15`: fifteen classes, each with a score and a threshold of its own. All
precisions and recalls within 0.05: by one campaign whose reviewers name all classes of an item, by
a campaign of yes and no for each class, and by a random sample with the same estimates and
intervals. Rounds are of 100 items: smaller ones take longer, and hardly fewer labels.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow.parquet as pq

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.stratify import cell_strata, joint_of, random_strata
from assay.core.targets import parse_targets
from assay.simulation import Population
from assay.simulation.oracle import of_several
from assay.simulation.runs import replay

SEED = 20261117
METRICS = ("precision", "recall")
_SLACK = 1e-12
_ROUND = 100


def measured(
    found: Population, within: float, runs: int, *, random: bool = False
) -> tuple[float, float, float]:
    """Return the labels of a campaign for all metrics, the least coverage of one, and the mean.

    Parameters
    ----------
    found : Population
    within : float
        The half-width that is wanted of each.
    runs : int
    random : bool
        Whether items are drawn at random.
    """
    targets = parse_targets(METRICS, found.classifiers, within=within, classes=found.vocabulary)
    goal = Goal(targets=targets)
    strata = random_strata(found) if random else cell_strata(found, goal, Design())
    ended = replay(
        *of_several(
            joint_of(Design(), goal, strata),
            found.sets(strata) if found.vocabulary.multilabel else found.outcomes(strata),
        ),
        replications=runs,
        rng=np.random.default_rng(SEED),
        asked=_ROUND,
    )
    truth = np.array([found.value(target) for target in targets])
    held = (ended.low - _SLACK <= truth) & (truth <= ended.high + _SLACK)
    share = held.mean(axis=0)
    return float(ended.labels.mean()), float(share.min()), float(share.mean())


def main() -> None:
    """Print the labels that each way takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--random-runs", type=int, default=0)
    parser.add_argument("--within", type=float, default=0.05)
    parser.add_argument("--together-only", action="store_true")
    asked = parser.parse_args()
    table = pq.read_table(asked.data / "arxiv15.parquet")
    names = [name[6:] for name in table.column_names if name.startswith("score_")]
    began = perf_counter()
    found = Population.read(
        table, label="label_*", probabilities="score_*", predicted="pred_*", multilabel=True
    )
    labels, least, mean = measured(found, asked.within, asked.runs)
    print(
        f"one campaign for {len(names)} classes: {labels:,.0f} labels; intervals hold in "
        f"{mean:.3f} of all, {least:.3f} of the least ({perf_counter() - began:.0f} s)",
        flush=True,
    )
    if asked.random_runs:
        at_random, _, _ = measured(found, asked.within, asked.random_runs, random=True)
        print(f"a random sample: {at_random:,.0f} labels", flush=True)
    total = 0.0
    for name in [] if asked.together_only else names:
        alone = Population.read(
            table,
            label=f"label_{name}",
            classifiers={name: {"score": f"score_{name}", "predicted": f"pred_{name}"}},
        )
        labels, least, _ = measured(alone, asked.within, asked.runs)
        total += labels
        print(f"{name} alone: {labels:,.0f} labels, {least:.3f}", flush=True)
    if not asked.together_only:
        print(f"one campaign for each class: {total:,.0f} labels")


if __name__ == "__main__":
    main()
