"""Every metric against scikit-learn at full labelling, and its calculus against brute force."""

import itertools
import warnings
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as sk

from assay.core.design import Design
from assay.core.differences import Gap, difference, subtract
from assay.core.engine import begin, look
from assay.core.forecast import by_place
from assay.core.forms import Metric, Ratio, ratio
from assay.core.goal import Goal
from assay.core.metrics import METRICS, canonical_metric, sides
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats
from assay.errors import DesignError
from tests.sklearn_metrics import SKLEARN

OF_CLASSES = ("balanced_accuracy", "matthews_correlation")


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
def test_at_full_labelling_it_is_scikit_learns_value(metric: str) -> None:
    for seed in range(30):
        truth, predicted, sizes, positives, says_yes = population(seed)
        value = float(ratio(metric, sizes, says_yes).value(positives))
        wanted = SKLEARN[metric](truth, predicted)
        # Of both classes it is a root, or a mean of two quotients: equal but for rounding.
        assert value == (wanted if metric not in OF_CLASSES else pytest.approx(wanted, abs=1e-12))
        counts = by_place(sizes, positives, says_yes)
        assert float(METRICS[metric].value(counts)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("metric", OF_CLASSES)
def test_where_one_class_is_not_there_it_is_not_defined_and_as_scikit_learn_has_it(
    metric: str,
) -> None:
    """Balanced accuracy is then the recall of the class that is there, Matthews correlation 0."""
    for positive in [True, False]:
        N, yes = np.array([3.0, 7.0]), np.array([True, False])
        form, T = ratio(metric, N, yes), N * positive
        truth, said = np.full(10, positive), np.repeat(yes, [3, 7])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert float(form.value(T)) == pytest.approx(SKLEARN[metric](truth, said), abs=1e-12)
        assert float(form.denominator(T)) == 0.0
        assert not METRICS[metric].defined(by_place(N, T, yes))
        assert METRICS[metric].lacks(by_place(N, T, yes)) == (
            "negative" if positive else "positive"
        )
        assert form.gradient(T).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("metric", METRICS)
def test_slopes_by_kind_of_item_are_the_slopes(metric: str) -> None:
    kind, counts = METRICS[metric], np.array([40.0, 13.0, 9.0, 70.0])
    steps = 1e-4 * np.eye(4)
    slope = np.array([(kind.value(counts + s) - kind.value(counts - s)) / 2e-4 for s in steps])
    np.testing.assert_allclose(kind.gradient(counts), slope, atol=1e-9)
    # Twice as many of each kind are as good: the slopes, weighed by the counts, come to nothing.
    assert float(counts @ kind.gradient(counts)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("metric", OF_CLASSES)
def test_the_level_is_that_of_a_recall_with_the_same_slopes(metric: str) -> None:
    _, _, sizes, positives, says_yes = population(7)
    form = ratio(metric, sizes, says_yes)
    level, slopes = form.level(positives), form.gradient(positives)
    same = form.slopes_at(level)
    np.testing.assert_allclose(same / np.abs(same).sum(), slopes / np.abs(slopes).sum(), atol=1e-12)
    assert 0 < level < 1
    assert same[says_yes] == pytest.approx(1 - float(level))
    assert same[~says_yes] == pytest.approx(-float(level))


def test_accuracy_of_mixed_strata_counts_correct_predictions() -> None:
    for seed in range(10):
        truth, predicted, *_ = population(seed)
        sizes, correct = (
            np.array([float(len(truth))]),
            np.array([float(np.sum(truth == predicted))]),
        )
        value = float(ratio("accuracy", sizes, None).value(correct))
        assert value == sk.accuracy_score(truth, predicted)


def numeric_gradient(metric: Metric, totals: Floats) -> Floats:
    steps = 1e-4 * np.eye(len(totals))
    return np.array([(metric.value(totals + s) - metric.value(totals - s)) / 2e-4 for s in steps])


@pytest.mark.parametrize("metric", METRICS)
def test_gradient_weights_and_direction_are_those_of_the_slope(metric: str) -> None:
    _, _, sizes, positives, says_yes = population(7)
    form = ratio(metric, sizes, says_yes)
    slope = numeric_gradient(form, positives)
    np.testing.assert_allclose(form.gradient(positives), slope, atol=1e-9)
    assert (form.rises(positives) == (slope > 0)).all()
    weights, size = form.weights(positives), np.abs(slope)
    np.testing.assert_allclose(weights / weights.sum(), size / size.sum(), atol=1e-6)
    # Without a positive the gradient of recall is not there; its weights are.
    assert (form.weights(np.zeros_like(sizes)) > 0).any()


@pytest.mark.parametrize("metric", METRICS)
def test_extremes_are_those_of_every_case(metric: str) -> None:
    sizes, says_yes = np.array([3.0, 2.0, 4.0]), np.array([True, True, False])
    form = ratio(metric, sizes, says_yes)
    rounding = 1e-12 if metric in OF_CLASSES else 0.0
    boxes = [(least, sizes) for least in itertools.product((0.0, 1.0), (0.0, 2.0), (0.0, 3.0))]
    for least, most in [*boxes, ((1.0, 0.0, 1.0), np.array([2.0, 2.0, 3.0]))]:
        values = form.value(every_case(least, most))
        low, high = form.extremes(np.array(least), most)
        wanted = pytest.approx((values.min(), values.max()), abs=rounding, rel=0)
        assert (float(low), float(high)) == wanted


def every_case(least: Iterable[float], most: Iterable[float]) -> Floats:
    """All totals in whole numbers within a box."""
    boxes = [range(int(low), int(high) + 1) for low, high in zip(least, most, strict=True)]
    return np.array(list(itertools.product(*boxes)), dtype=float)


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


def over_four_strata(metric: str, says: tuple[str, str]) -> Ratio:
    """Return the difference over strata of 3, 2, 4 and 2 items; `says` is like ("yyn", "yny")."""
    sizes = np.array([3.0, 2.0, 4.0, 2.0])
    one, other = (ratio(metric, sizes, np.array([said == "y" for said in each])) for each in says)
    return difference(one, other)


MIXED, FIRST_YES_MORE, SECOND_YES_MORE = ("yynn", "ynyn"), ("yyyn", "yynn"), ("yynn", "yyyn")


@pytest.mark.parametrize("metric", COMPARABLE)
def test_a_differences_extremes_are_those_of_every_case(metric: str) -> None:
    for says in [MIXED, FIRST_YES_MORE, SECOND_YES_MORE]:
        both = over_four_strata(metric, says)
        for least, most in (([1, 0, 1, 0], [2, 2, 3, 2]), ([0, 2, 0, 0], [3, 2, 1, 1])):
            values = both.value(every_case(least, most))
            low, high = both.extremes(np.array(least, dtype=float), np.array(most, dtype=float))
            assert (float(low), float(high)) == (values.min(), values.max())
            assert -1 <= values.min() <= values.max() <= 1


@pytest.mark.parametrize("metric", COMPARABLE)
def test_a_difference_rises_where_its_slope_does(metric: str) -> None:
    for says in [MIXED, FIRST_YES_MORE, SECOND_YES_MORE]:
        both = over_four_strata(metric, says)
        cases = every_case((1, 1, 1, 1), (3, 2, 4, 2))
        slopes, rises = both.gradient(cases), both.rises(cases)
        assert (np.where(rises, slopes, -slopes) >= 0).all()


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
    with pytest.raises(DesignError, match=r"no label can distinguish the two metrics: .* is 0"):
        difference(ratio("accuracy", sizes, yes), ratio("accuracy", sizes, yes))
    with pytest.raises(DesignError, match="a metric over no items"):
        difference(ratio("precision", sizes, yes), ratio("precision", sizes, no))
    with pytest.raises(DesignError, match="metrics over 2 and 1 strata"):
        difference(ratio("accuracy", sizes, yes), ratio("accuracy", sizes[:1], yes[:1]))


def gap(seed: int, metric: str = "f1") -> tuple[Gap, Floats, Floats, float]:
    """Return a difference, its strata's sizes and positives, and its value by scikit-learn."""
    truth, first, second, sizes, positives, one, other = two_classifiers(seed)
    wanted = SKLEARN[metric](truth, first) - SKLEARN[metric](truth, second)
    return Gap(ratio(metric, sizes, one), ratio(metric, sizes, other)), sizes, positives, wanted


@pytest.mark.parametrize("metric", METRICS)
def test_a_gap_at_full_labelling_is_scikit_learns(metric: str) -> None:
    for seed in range(10):
        both, _, positives, wanted = gap(seed, metric)
        assert float(both.value(positives)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("metric", OF_CLASSES)
def test_no_two_metrics_of_both_classes_are_taken_apart_as_one_ratio(metric: str) -> None:
    both, *_ = gap(3, metric)
    assert isinstance(subtract(both.first, both.second), Gap)
    with pytest.raises(DesignError, match="two denominators that depend on the labels"):
        difference(both.first, both.second)


@pytest.mark.parametrize("metric", COMPARABLE)
def test_a_gap_is_the_difference_where_there_is_one(metric: str) -> None:
    both, sizes, positives, _ = gap(3, metric)
    one = difference(both.first, both.second)
    assert both.bends == one.bends
    for T in (positives, sizes / 3, sizes):
        np.testing.assert_allclose(both.value(T), one.value(T), atol=1e-12)
        np.testing.assert_allclose(both.gradient(T), one.gradient(T), atol=1e-12)


@pytest.mark.parametrize("metric", ["f1", *OF_CLASSES])
def test_a_gaps_gradient_is_the_slope_and_it_rises_where_that_is_above_zero(metric: str) -> None:
    for seed in range(5):
        both, _, positives, _ = gap(seed, metric)
        slope = numeric_gradient(both, positives)
        np.testing.assert_allclose(both.gradient(positives), slope, atol=1e-9)
        np.testing.assert_allclose(both.weights(positives), np.abs(slope), atol=1e-9)
        clear = np.abs(slope) > 1e-8
        assert clear.sum() > len(slope) / 2
        assert (both.rises(positives) == (slope > 0))[clear].all()


@pytest.mark.parametrize("metric", ["f1", *OF_CLASSES])
def test_a_gap_lies_between_its_extremes_in_every_case(metric: str) -> None:
    for says in [MIXED, FIRST_YES_MORE, SECOND_YES_MORE]:
        sizes = np.array([3.0, 2.0, 4.0, 2.0])
        one, other = (
            ratio(metric, sizes, np.array([said == "y" for said in each])) for each in says
        )
        both = Gap(one, other)
        for least, most in (([1, 0, 1, 0], [2, 2, 3, 2]), ([0, 2, 0, 0], [3, 2, 1, 1])):
            values = both.value(every_case(least, most))
            low, high = both.extremes(np.array(least, dtype=float), np.array(most, dtype=float))
            most_apart = 1 - one.lowest
            assert -most_apart <= float(low) <= values.min()
            assert values.max() <= float(high) <= most_apart
        known = np.array([2.0, 1.0, 3.0, 0.0])
        assert both.extremes(known, known) == (both.value(known), both.value(known))


def test_a_gap_is_defined_where_both_are() -> None:
    sizes = np.array([5.0, 5.0])
    one, other = (ratio("recall", sizes, np.array(says)) for says in ([True, False], [False, True]))
    both = Gap(one, other)
    assert float(both.denominator(np.zeros(2))) == 0.0
    assert float(both.value(np.zeros(2))) == 0.0
    assert both.gradient(np.zeros(2)).tolist() == [0.0, 0.0]
    assert float(both.denominator(np.array([2.0, 1.0]))) == 3.0
    assert both.bends


@pytest.mark.parametrize("metric", METRICS)
def test_what_follows_from_a_row_of_the_table_by_enumeration(metric: str) -> None:
    """With every item predicted alike: whether labels tell anything, and which way it goes."""
    for said in [True, False]:
        kind, N = METRICS[metric], np.array([5.0])
        form = ratio(metric, N, np.array([said]))
        totals = [np.array([float(T)]) for T in range(6)]
        values = [float(form.value(T)) for T in totals if form.denominator(T) > 0]
        assert kind.depends_on_labels(predicted=said) == (len(set(values)) > 1)
        if len(set(values)) > 1:
            assert kind.rises(predicted=said) == (values[-1] > values[0])
        # With items of both kinds: whether a label of this side changes anything.
        both = ratio(metric, np.array([5.0, 5.0]), np.array([said, not said]))
        changes = {float(both.value(np.array([T, 2.0]))) for T in range(6)}
        assert (said in kind.sides) == (len(changes) > 1)
        denominators = {float(both.denominator(np.array([T, 2.0]))) for T in range(6)}
        assert kind.bends >= (len(denominators) > 1)
        assert kind.lowest == form.lowest


def test_only_prevalence_does_not_depend_on_what_the_classifier_says() -> None:
    assert [name for name, kind in METRICS.items() if not kind.is_of_classifier] == ["prevalence"]


def test_what_counts_in_a_numerator_counts_as_often_in_the_denominator() -> None:
    for kind in METRICS.values():
        for top, bottom in zip(kind.top, kind.bottom, strict=True):
            assert bottom == top or (top == 0 and bottom in (0, 1))


@pytest.mark.parametrize(
    ("metric", "other"),
    [("specificity", "false_positive_rate"), ("negative_predictive_value", "false_omission_rate")],
)
def test_complements_have_mirrored_intervals(metric: str, other: str) -> None:
    """What is measured of one of the two holds for the other: every interval is its mirror."""
    N, yes = np.array([300.0, 500.0, 2000.0]), np.array([True, False, False])
    tallies = Tallies(N, np.array([40.0, 30.0, 60.0]), np.array([33.0, 9.0, 1.0]))
    looks = []
    for name in (metric, other):
        form = ratio(name, N, yes)
        used = form.counts
        of = Tallies(N[used], tallies.n[used], tallies.x[used])
        state = replace(begin(Design(), Goal(name, within=0.05), of.N), tallies=of)
        looks.append(look(Design(), Goal(name, within=0.05), form.over(used), state))
    one, mirror = looks
    assert one.low == pytest.approx(1 - mirror.high, abs=1e-9)
    assert one.high == pytest.approx(1 - mirror.low, abs=1e-9)
    assert one.moments.value == pytest.approx(1 - mirror.moments.value, abs=1e-9)
    assert one.low != pytest.approx(mirror.low, abs=1e-3)
