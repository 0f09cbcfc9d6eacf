"""How often the joint design's intervals are right, for many targets at once.

Made classifiers of 100,000 items, and those of a file like offensive_mix.parquet where it is given.
Batches of 20 labels, then of a fiftieth of those there are. "labels alone" is the sum of what each
target takes by a joint design of its own.

Run with ``python -m benchmarks.several_targets [FILE] [--runs 1000]``.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.core.types import Floats
from assay.simulation import Population, Runs, of_several, replay

WITHIN = 0.03
ITEMS = 100_000
_MISFILED = 0.015  # items that no classifier can be right about
_SHARED = 0.3  # of the variance of the scores' noise

# The scores' noise, the thresholds, and the value from which on an item is positive.
RECIPES = {
    "alike": ((0.5, 0.5, 0.5), (0.0, 0.0, 0.0), 0.0),
    "rare": ((0.3, 0.45, 0.6), (1.8, 1.8, 1.8), 1.6),
    "strict": ((0.3, 0.55, 0.8), (-0.3, 0.35, 1.0), 0.2),
}


def main() -> None:
    """Print a row for each population and set of targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--runs", type=int, default=1000)
    asked = parser.parse_args()
    print("| classifiers | targets | strata | labels | labels alone | least | mean | all right |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, ensemble in ensembles(asked.file):
        for title, metrics in target_sets(ensemble.classifiers).items():
            runs, truth, strata = evaluate(ensemble, metrics, asked.runs)
            alone = [evaluate(ensemble, [each], 50)[0].labels.mean() for each in metrics]
            right = (runs.low <= truth) & (truth <= runs.high)
            at_once, *_ = evaluate(ensemble, metrics, asked.runs, simultaneous=True)
            all_right = ((at_once.low <= truth) & (truth <= at_once.high)).all(axis=1).mean()
            print(
                f"| {name} | {title} | {strata} | {runs.labels.mean():,.0f} | {sum(alone):,.0f} | "
                f"{right.mean(axis=0).min():.3f} | {right.mean():.3f} | {all_right:.3f} |",
                flush=True,
            )


def ensembles(file: str | None) -> Iterator[tuple[str, Population]]:
    """Return the populations."""
    for number, (name, (noise, thresholds, positive_from)) in enumerate(RECIPES.items()):
        rng = np.random.default_rng([1, number])
        own, common = rng.standard_normal((2, ITEMS))
        scores = {
            f"m{k}": own
            + size * (np.sqrt(_SHARED) * common + np.sqrt(1 - _SHARED) * rng.standard_normal(ITEMS))
            for k, size in enumerate(noise)
        }
        said = {f"m{k}": scores[f"m{k}"] > at for k, at in enumerate(thresholds)}
        truth = (own > positive_from) ^ (rng.random(ITEMS) < _MISFILED)
        yield name, Population(y_true=truth, y_pred=said, y_score=scores)
    if file is not None:
        names = ("bilstm", "cnn", "logreg", "mve")
        columns = {name: {"score": f"score_{name}", "predicted": f"pred_{name}"} for name in names}
        yield "offensive_mix", Population.read(file, label="label", classifiers=columns)


def target_sets(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the targets that are wanted together."""
    a, b, c, *_ = names
    return {
        "precisions": [f"precision:{name}" for name in names],
        "accuracies": [f"accuracy:{name}" for name in names],
        "recalls and F1s": [f"{metric}:{name}" for metric in ("recall", "f1") for name in names],
        "a mix": [
            f"precision:{a}",
            f"recall:{b}",
            f"f1:{c}",
            f"false_omission_rate:{a}",
            "prevalence",
        ],
        "differences": [
            f"precision:{a} - precision:{b}",
            f"recall:{a} - recall:{c}",
            f"accuracy:{b} - accuracy:{c}",
            f"f1:{a} - f1:{b}",
        ],
    }


def evaluate(
    ensemble: Population, metrics: list[str], runs: int, *, simultaneous: bool = False
) -> tuple[Runs, Floats, int]:
    """Return the runs, the true values and the number of strata."""
    targets = parse_targets(metrics, ensemble.classifiers, within=WITHIN)
    goal = Goal(targets=targets, simultaneous=simultaneous)
    strata = cell_strata(ensemble, goal, Design())
    found = replay(
        *of_several(joint_of(Design(), goal, strata), ensemble.outcomes(strata)),
        replications=runs,
        rng=np.random.default_rng(1),
    )
    return found, np.array([ensemble.value(target) for target in targets]), strata.n_strata


if __name__ == "__main__":
    main()
