"""Simulated evaluations of more classes than yes and no."""

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

from assay.simulation import Population, simulate
from tests.sklearn_metrics import value_of

SIZE = 4000


def population(seed: int = 0, **more: Any) -> tuple[Population, Any, Any]:
    """Return items of five classes, of which one is rare, with the truth and what is said."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(5, SIZE, p=[0.4, 0.3, 0.2, 0.08, 0.02])
    score = rng.uniform(0.4, 1, SIZE)
    said = np.where(rng.random(SIZE) < score, truth, rng.integers(0, 5, SIZE))
    names = np.array(list("abcde"))
    made = Population(y_true=names[truth], y_pred=names[said], y_score=score, **more)
    return made, names[truth], names[said]


@pytest.mark.parametrize(
    "target", ["accuracy", "macro_f1", "cohen_kappa", "recall:e", "precision:a"]
)
def test_true_values_are_those_of_scikit_learn(target: str) -> None:
    made, truth, said = population()
    assert made.value(target) == pytest.approx(value_of(target, truth, said), abs=1e-12)


def test_intervals_hold_the_truth_and_take_fewer_labels_than_a_random_sample() -> None:
    # 400 runs at 95%: if each interval holds the truth with 94%, fewer than 365 do with a chance
    # below one in a thousand. The wrong variant, half as wide, holds it in fewer than 340.
    made, _, _ = population()
    found = simulate(
        made, metrics=["accuracy", "macro_f1"], within=0.03, replications=400, seed=5, workers=1
    )
    random, joint = found.rows
    assert (random.design, joint.design) == ("random", "joint")
    assert joint.labels_mean < random.labels_mean
    for each in joint.metrics:
        assert each.coverage is not None
        assert each.coverage >= 365 / 400
        assert each.rmse > 0.03 / 4  # half as wide an interval could not hold it


def pair(seed: int = 0) -> tuple[Population, Any, Any, Any]:
    """Return two classifiers of the same items, with the truth and what each says."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(4, SIZE, p=[0.4, 0.3, 0.2, 0.1])
    score = rng.uniform(0.4, 1, SIZE)
    old = np.where(rng.random(SIZE) < score, truth, rng.integers(0, 4, SIZE))
    new = np.where(rng.random(SIZE) < 0.5, old, np.where(rng.random(SIZE) < 0.85, truth, 3))
    names = np.array(list("abcd"))
    columns = {"is": names[truth], "old": names[old], "new": names[new], "p": score}
    each = {"new": {"predicted": "new"}, "old": {"predicted": "old", "score": "p"}}
    found = Population.read(columns, label="is", classifiers=each, classes=list("abcd"))
    return found, names[truth], names[new], names[old]


def test_differences_over_all_classes_are_those_of_scikit_learn() -> None:
    found, truth, new, old = pair()
    for name in ("accuracy", "macro_f1", "balanced_accuracy", "cohen_kappa"):
        true = value_of(name, truth, new) - value_of(name, truth, old)
        assert found.value(f"{name}:new - {name}:old") == pytest.approx(true, abs=1e-12)


def test_two_classes_with_names_of_their_own_are_classes_too() -> None:
    rng = np.random.default_rng(3)
    spam = rng.random(SIZE) < 0.4
    score = rng.uniform(0.5, 1, SIZE)
    names = np.array(["ham", "spam"])
    truth, said = names[spam * 1], names[(spam ^ (rng.random(SIZE) > score)) * 1]
    columns = {"is": truth, "said": said, "p": score}
    made = Population.read(
        columns, label="is", predicted="said", score="p", classes=["ham", "spam"]
    )
    value = sk.f1_score(truth, said, average="macro")
    assert made.value("macro_f1") == pytest.approx(value, abs=1e-12)
    found = simulate(made, metric="macro_f1", within=0.04, replications=50, seed=5, workers=1)
    # Of 50 runs at 95%, fewer than 42 hold it with a chance below one in a thousand.
    assert (found.rows[-1].metrics[0].coverage or 0.0) >= 42 / 50
