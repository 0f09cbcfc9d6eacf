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


def labels(found: Population, metric: str, within: float) -> tuple[float, float]:
    """Mean labels of 300 campaigns for one metric, and its variance."""
    targets = parse_targets([metric], found.classifiers, within=within, classes=found.vocabulary)
    goal = Goal(targets=targets)
    strata = cell_strata(found, goal, Design())
    joint = joint_of(Design(), goal, strata)
    truth = found.truth_in(strata, goal)
    rng = np.random.default_rng(3)
    taken = replay(*of_several(joint, truth), replications=300, rng=rng).labels
    return float(taken.mean()), float(taken.var() / taken.size)


def test_shares_of_probabilities_take_fewer_labels_than_one_probability() -> None:
    """Classifiers of one class each: what they say of an item adds up to anything.

    The old strata are the wrong variants: by the probability of the predicted class as it stands,
    and by its share where the class is to be among two. If they took as few labels, either
    difference would be above three standard errors with a chance of 1 in 700.
    """
    rng = np.random.default_rng(21)
    chance = rng.dirichlet(np.full(4, 0.25), SIZE)
    truth = (chance.cumsum(axis=1) < rng.random((SIZE, 1))).sum(axis=1).clip(0, 3)
    loud = chance * rng.uniform(0.1, 1, (SIZE, 1))
    items = {"is": NAMES[truth], **{f"p_{name}": loud[:, k] for k, name in enumerate(NAMES)}}

    def shares(*metrics: str) -> Population:
        return Population.read(items, label="is", probabilities="p_*", metrics=metrics)

    said, score = NAMES[loud.argmax(axis=1)], loud.max(axis=1)
    by_one = Population(y_true=NAMES[truth], y_pred=said, y_score=score)
    one = shares("top_2_accuracy", "accuracy")
    for metric, within, old in (("cohen_kappa", 0.05, by_one), ("top_2_accuracy", 0.03, one)):
        few, spread = labels(shares(metric), metric, within)
        many, further = labels(old, metric, within)
        assert many - few > 3 * np.sqrt(spread + further), metric


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
    targets = parse_targets([metric], both.classifiers, within=WITHIN, classes=both.vocabulary)
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
