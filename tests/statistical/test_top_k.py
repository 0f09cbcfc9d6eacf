"""Intervals of top-k accuracy, and of a difference of two, hold the truth when they stop."""

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.simulation import Population, of_several, replay

SIZE, RUNS, WITHIN = 20_000, 700, 0.04
NAMES = np.array(list("abcd"))


@pytest.fixture(scope="module")
def both() -> Population:
    """Two classifiers, of which one is a little better, on items of four classes."""
    rng = np.random.default_rng(12)
    truth = rng.choice(4, SIZE, p=[0.4, 0.3, 0.2, 0.1])
    columns = {}
    for name, strength in (("new", 2.0), ("old", 1.5)):
        score = rng.gumbel(size=(SIZE, 4))
        score[np.arange(SIZE), truth] += strength * rng.exponential(size=SIZE)
        p = np.exp(1.5 * score)
        columns[name] = p / p.sum(axis=1, keepdims=True)
    return Population.read(
        {"y": NAMES[truth], **columns},
        label="y",
        classes=NAMES.tolist(),
        classifiers={name: {"probabilities": name} for name in columns},
        metrics=["top_2_accuracy"],
    )


@pytest.mark.parametrize(
    "metric",
    [
        "top_2_accuracy:new",
        "top_2_accuracy:new - top_2_accuracy:old",
        "top_2_accuracy:old - top_2_accuracy:new",
    ],
)
def test_the_interval_holds_the_truth_at_the_stop(both: Population, metric: str) -> None:
    """Below 646 of 700 there is a chance of 1 in 1,200 at 95%.

    An interval two thirds as wide about the same middle is found out.
    """
    targets = parse_targets([metric], both.classifiers, within=WITHIN, classes=both.classes)
    goal = Goal(targets=targets)
    strata = cell_strata(both, goal, Design())
    joint = joint_of(Design(), goal, strata)
    runs = replay(
        *of_several(joint, both.sets(strata, joint.tops)),
        replications=RUNS,
        rng=np.random.default_rng(17),
        asked=50,
    )
    low, high, truth = runs.low[:, 0], runs.high[:, 0], both.value(metric)
    middle, half = (low + high) / 2, (high - low) / 2
    assert (half <= WITHIN).all()
    assert int((np.abs(middle - truth) <= half).sum()) >= 646
    assert int((np.abs(middle - truth) <= half * 2 / 3).sum()) < 646
