"""Every metric against scikit-learn at full labelling, and its calculus against brute force."""

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics as sk

from assay.core.metrics import METRICS, Ratio, canonical_metric, ratio, sides
from assay.core.types import Bools, Floats
from assay.errors import DesignError


def false_omission_rate(truth: Bools, predicted: Bools) -> float:
    """1 - negative predictive value, which is the precision of the 'no' class."""
    return float(1 - Fraction(sk.precision_score(~truth, ~predicted)).limit_denominator(10**6))


SKLEARN: dict[str, Callable[[Bools, Bools], float]] = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "accuracy": sk.accuracy_score,
    "false_omission_rate": false_omission_rate,
    "prevalence": lambda truth, _: float(np.mean(truth)),
}


def population(seed: int) -> tuple[Bools, Bools, Floats, Floats, Bools]:
    """Return truth, predicted, and per stratum its size, positives and predicted label."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(20, 400))
    truth = rng.random(size) < rng.uniform(0.1, 0.9)
    predicted = np.where(rng.random(size) < 0.8, truth, ~truth)
    predicted[:2] = [True, False]
    truth[2:4] = [True, False]
    stratum = 2 * rng.integers(0, 3, size) + predicted  # no stratum straddles a predicted label
    used = np.unique(stratum)
    sizes = np.array([np.sum(stratum == h) for h in used], dtype=float)
    positives = np.array([np.sum(truth[stratum == h]) for h in used], dtype=float)
    return truth, predicted, sizes, positives, used % 2 == 1


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(30))
def test_at_full_labelling_it_is_scikit_learns_value(metric: str, seed: int) -> None:
    truth, predicted, sizes, positives, says_yes = population(seed)
    value = float(ratio(metric, sizes, says_yes).value(positives))
    assert value == SKLEARN[metric](truth, predicted)


@pytest.mark.parametrize("seed", range(10))
def test_accuracy_of_mixed_strata_counts_correct_predictions(seed: int) -> None:
    truth, predicted, *_ = population(seed)
    sizes, correct = np.array([float(len(truth))]), np.array([float(np.sum(truth == predicted))])
    value = float(ratio("accuracy", sizes, None).value(correct))
    assert value == sk.accuracy_score(truth, predicted)


def numeric_gradient(metric: Ratio, totals: Floats) -> Floats:
    steps = 1e-4 * np.eye(len(totals))
    return np.array([(metric.value(totals + s) - metric.value(totals - s)) / 2e-4 for s in steps])


@pytest.mark.parametrize("metric", METRICS)
def test_the_gradient_is_the_slope(metric: str) -> None:
    _, _, sizes, positives, says_yes = population(7)
    form = ratio(metric, sizes, says_yes)
    slope = numeric_gradient(form, positives)
    np.testing.assert_allclose(form.gradient(positives), slope, atol=1e-9)
    if form.b.any():  # the same check catches a gradient that forgets the denominator
        forgetful = form.a / form.denominator(positives)
        with pytest.raises(AssertionError):
            np.testing.assert_allclose(forgetful, slope, atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_extremes_are_those_of_every_case(metric: str) -> None:
    sizes, says_yes = np.array([3.0, 2.0, 4.0]), np.array([True, True, False])
    form = ratio(metric, sizes, says_yes)
    least, most = np.array([1.0, 0.0, 1.0]), np.array([2.0, 2.0, 3.0])
    boxes = [range(int(low), int(high) + 1) for low, high in zip(least, most, strict=True)]
    values = [float(form.value(np.array(case, dtype=float))) for case in itertools.product(*boxes)]
    low, high = form.extremes(least, most)
    assert (float(low), float(high)) == (min(values), max(values))


def test_replications_stand_side_by_side() -> None:
    form = ratio("f1", np.array([10.0, 90.0]), np.array([True, False]))
    totals = np.array([[8.0, 2.0], [0.0, 5.0]])
    assert form.value(totals).tolist() == [16 / 20, 0.0]
    assert form.gradient(totals).shape == (2, 2)


def test_without_a_positive_recall_is_zero_and_says_it_is_not_defined() -> None:
    form = ratio("recall", np.array([10.0, 90.0]), np.array([True, False]))
    nothing = np.zeros(2)
    assert float(form.value(nothing)) == 0.0
    assert float(form.denominator(nothing)) == 0.0
    assert form.gradient(nothing).tolist() == [0.0, 0.0]


def test_names_are_forgiving_and_unknown_ones_are_not() -> None:
    assert canonical_metric(" False-Omission rate") == "false_omission_rate"
    with pytest.raises(DesignError, match="did you mean 'precision'"):
        canonical_metric("precison")
    assert sides("false_omission_rate") == (False,)


def test_only_accuracy_can_be_read_off_mixed_strata() -> None:
    with pytest.raises(DesignError, match="mix predicted labels"):
        ratio("precision", np.array([5.0]), None)
