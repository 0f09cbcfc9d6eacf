"""Means over classes of unequal size: their intervals hold when campaigns stop."""

import numpy as np
import pytest

from assay.core.class_means import ClassMean
from assay.core.confusion import class_score
from assay.core.design import Design
from assay.core.engine import State
from assay.core.goal import Goal
from assay.core.stratify import cell_strata, joint_of, random_strata
from assay.core.targets import parse_targets
from assay.core.types import Bools, Ints
from assay.simulation import Population
from assay.simulation.runs import replay_jointly

WITHIN, RUNS = 0.1, 200


def population() -> Population:
    """Return six classes of 0.5 to 60%, and a classifier that misses rare ones most."""
    rng, size = np.random.default_rng(17), 60_000
    share = np.array([0.6, 0.25, 0.1, 0.035, 0.01, 0.005])
    truth = rng.choice(6, size, p=share)
    logit = np.log(share) + rng.normal(size=(size, 6))
    logit[np.arange(size), truth] += 6 * rng.gamma(3.0, 1 / 3, size)
    said, names = logit.argmax(axis=1), np.array(list("abcdef"))
    chance = np.exp(logit - logit.max(axis=1, keepdims=True))
    return Population(y_true=names[truth], y_pred=names[said], y_score=1 / chance.sum(axis=1))


@pytest.mark.parametrize(("metric", "random"), [("balanced_accuracy", False), ("macro_f1", True)])
def test_the_interval_holds_the_truth_when_it_stops(metric: str, random: bool) -> None:
    # If an interval holds the truth with 94.5%, fewer than 178 of 200 do with a chance below 0.2%.
    # The wrong variant, value -+ 1.96 sd from the rates seen, holds the truth in fewer than 170.
    found = population()
    targets = parse_targets([metric], found.classifiers, within=WITHIN, classes=found.classes)
    goal, value = Goal(targets=targets), found.value(targets[0])
    strata = random_strata(found) if random else cell_strata(found, goal, Design())
    joint, plain = joint_of(Design(), goal, strata), []

    def end(_: Ints, state: State) -> None:
        plain.append(_plainly_held(joint.views[0].seen(state)[1], value))

    rng, outcomes = np.random.default_rng(3), found.outcomes(strata)
    runs = replay_jointly(joint, outcomes=outcomes, replications=RUNS, rng=rng, ended=end)
    held = (runs.low[:, 0] <= value) & (value <= runs.high[:, 0])
    assert held.sum() >= 178
    assert np.concatenate(plain).sum() < 170
    assert abs(float(runs.value.mean()) - value) < 0.3 * WITHIN


def _plainly_held(metric: object, value: float) -> Bools:
    """Tell where the interval of a first-order variance at the rates seen holds the truth."""
    assert isinstance(metric, ClassMean)
    wrong, missed = metric.sample.wrong, metric.sample.missed
    name = metric.sample.kind.mean_of
    score = class_score(name, wrong.items - wrong.total, missed.total, wrong.items)
    each = score.by_right**2 * wrong.variance + score.by_missed**2 * missed.variance
    sd = np.sqrt(each.sum(axis=-1)) / wrong.items.size
    return np.asarray(np.abs(score.value.mean(axis=-1) - value) <= 1.96 * sd)
