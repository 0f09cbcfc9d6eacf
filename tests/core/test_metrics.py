"""Every metric against scikit-learn at full labelling, and its calculus against brute force."""

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics as sk

from assay.core.metrics import METRICS, Ratio, canonical_metric, difference, ratio, sides
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


def two_classifiers(seed: int) -> tuple[Bools, Bools, Bools, Floats, Floats, Bools, Bools]:
    """Return truth, two predictions, and per stratum size, positives and what the two say."""
    rng = np.random.default_rng([seed, 2])
    size = int(rng.integers(40, 400))
    truth = rng.random(size) < rng.uniform(0.2, 0.8)
    first, second = (np.where(rng.random(size) < right, truth, ~truth) for right in (0.8, 0.7))
    stratum = 4 * rng.integers(0, 3, size) + 2 * first + second
    used = np.unique(stratum)
    sizes = np.array([np.sum(stratum == h) for h in used], dtype=float)
    positives = np.array([np.sum(truth[stratum == h]) for h in used], dtype=float)
    return truth, first, second, sizes, positives, used % 4 >= 2, used % 2 == 1


COMPARABLE = ("precision", "recall", "accuracy", "false_omission_rate")


@pytest.mark.parametrize("metric", COMPARABLE)
@pytest.mark.parametrize("seed", range(20))
def test_a_difference_at_full_labelling_is_scikit_learns(metric: str, seed: int) -> None:
    truth, first, second, sizes, positives, one, other = two_classifiers(seed)
    both = difference(ratio(metric, sizes, one), ratio(metric, sizes, other))
    wanted = SKLEARN[metric](truth, first) - SKLEARN[metric](truth, second)
    assert float(both.value(positives)) == pytest.approx(wanted, abs=1e-12)
    with pytest.raises(AssertionError):
        assert float(both.value(positives)) == pytest.approx(-wanted, abs=1e-12)


def over_four_strata(metric: str, says: tuple[str, str]) -> Ratio:
    """Return the difference over strata of 3, 2, 4 and 2 items; `says` is like ("yyn", "yny")."""
    sizes = np.array([3.0, 2.0, 4.0, 2.0])
    one, other = (ratio(metric, sizes, np.array([said == "y" for said in each])) for each in says)
    return difference(one, other)


MIXED, FIRST_YES_MORE, SECOND_YES_MORE = ("yynn", "ynyn"), ("yyyn", "yynn"), ("yynn", "yyyn")


@pytest.mark.parametrize("metric", COMPARABLE)
@pytest.mark.parametrize("says", [MIXED, FIRST_YES_MORE, SECOND_YES_MORE])
def test_a_differences_extremes_are_those_of_every_case(metric: str, says: tuple[str, str]) -> None:
    both = over_four_strata(metric, says)
    for least, most in (([1, 0, 1, 0], [2, 2, 3, 2]), ([0, 2, 0, 0], [3, 2, 1, 1])):
        boxes = [range(low, high + 1) for low, high in zip(least, most, strict=True)]
        cases = np.array(list(itertools.product(*boxes)), dtype=float)
        values = both.value(cases)
        low, high = both.extremes(np.array(least, dtype=float), np.array(most, dtype=float))
        assert (float(low), float(high)) == (values.min(), values.max())
        assert -1 <= values.min() <= values.max() <= 1


@pytest.mark.parametrize("metric", COMPARABLE)
@pytest.mark.parametrize("says", [MIXED, FIRST_YES_MORE, SECOND_YES_MORE])
def test_a_difference_rises_where_its_slope_does(metric: str, says: tuple[str, str]) -> None:
    both = over_four_strata(metric, says)
    cases = np.array(list(itertools.product(range(1, 4), (1, 2), range(1, 5), (1, 2))), dtype=float)
    slopes = both.gradient(cases)

    def check(rises: Bools) -> None:
        assert (np.where(rises, slopes, -slopes) >= 0).all()

    rises = both.rises(cases)
    check(rises)
    with pytest.raises(AssertionError):
        check(~rises)


def test_items_on_which_two_classifiers_agree_say_nothing_of_their_accuracy() -> None:
    both = over_four_strata("accuracy", MIXED)
    assert both.a.tolist() == pytest.approx([0, 2 / 11, -2 / 11, 0])
    # 1 of 2 right where the first says yes alone; 1 of 4 positives where the second does.
    assert float(both.value(np.array([3.0, 1.0, 1.0, 2.0]))) == pytest.approx((1 - 1 + 3 - 1) / 11)


def test_f1_can_be_compared_only_where_both_say_yes_equally_often() -> None:
    sizes = np.array([5.0, 5.0, 9.0])
    f1 = [ratio("f1", sizes, np.array(says)) for says in ([1, 0, 0], [0, 1, 0], [1, 1, 0])]
    # 2 x 4 / (5 + 7) - 2 x 2 / (5 + 7)
    assert float(difference(f1[0], f1[1]).value(np.array([4.0, 2.0, 1.0]))) == pytest.approx(4 / 12)
    with pytest.raises(DesignError, match="two denominators that depend on the labels"):
        difference(f1[0], f1[2])
    with pytest.raises(DesignError, match="two denominators that depend on the labels"):
        difference(f1[0], ratio("precision", sizes, np.array([True, False, False])))


def test_what_has_no_difference_is_told() -> None:
    sizes, yes, no = np.array([5.0, 5.0]), np.array([True, False]), np.array([False, False])
    with pytest.raises(DesignError, match=r"no label tells the two metrics apart: .* is 0"):
        difference(ratio("accuracy", sizes, yes), ratio("accuracy", sizes, yes))
    with pytest.raises(DesignError, match="a metric over no items"):
        difference(ratio("precision", sizes, yes), ratio("precision", sizes, no))
    with pytest.raises(DesignError, match="metrics over 2 and 1 strata"):
        difference(ratio("accuracy", sizes, yes), ratio("accuracy", sizes[:1], yes[:1]))
