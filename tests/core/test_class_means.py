"""Means over classes and counts in every class: values, slopes, ends for what was not found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2, poisson
from sklearn import metrics as sk

from assay.core.class_counts import ClassCounts, gamma_end
from assay.core.class_means import ClassMean, class_mean
from assay.core.confusion import class_score
from assay.core.matrix import Matrix
from assay.core.metrics import MATRIX_METRICS
from assay.core.types import Floats, Ints
from tests.sklearn_metrics import value_of

MEANS = [name for name, kind in MATRIX_METRICS.items() if kind.mean_of]


def of_parts(metric: str, stratum: Ints, said: Ints, drawn: Floats) -> ClassMean:
    """Return the mean where every item of the parts is labelled."""
    size = drawn.sum(axis=-1)
    return class_mean(MATRIX_METRICS[metric], stratum, said, size, n=size, by_class=drawn)


@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
def test_slopes_and_bends_are_those_of_small_steps(name: str) -> None:
    right, missed, called = (np.array([each]) for each in (30.0, 12.0, 45.0))
    step, here = 1e-3, class_score(name, right, missed, called)
    by_right, by_missed = here.bends
    less = class_score(name, right - step, missed, called)
    more = class_score(name, right, missed + step, called)
    assert (here.value - less.value) / step == pytest.approx(here.by_right, rel=1e-3)
    assert (here.value - more.value) / step == pytest.approx(here.by_missed, rel=1e-3)
    # The second slope in what is right is that of by_right; in what is missed, of -by_missed.
    assert (here.by_right - less.by_right) / step == pytest.approx(by_right, rel=1e-3, abs=1e-9)
    assert (here.by_missed - more.by_missed) / step == pytest.approx(by_missed, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("metric", MEANS)
def test_with_every_label_it_is_scikit_learns_and_certain(metric: str) -> None:
    # One class is never called, and one is called and does not exist.
    rng = np.random.default_rng(4)
    truth = rng.choice(6, 900, p=[0.4, 0.3, 0.2, 0.07, 0.03, 0.0])
    said = np.where(rng.random(900) < 0.8, truth, rng.choice([0, 1, 2, 3, 5], 900))
    said[said == 4] = 0
    parts = np.unique(said)
    drawn = np.stack([np.bincount(truth[said == each], minlength=7) for each in parts]).astype(
        float
    )
    found = of_parts(metric, np.zeros_like(parts), parts, drawn)
    with np.errstate(all="raise"):
        ends = found.sample.ends(1.96, 0.5)
    if metric == "balanced_accuracy":
        with pytest.warns(UserWarning, match="not in y_true"):
            value = sk.balanced_accuracy_score(truth, said)
    else:
        value = value_of(metric, truth, said)
    assert [float(found.value_at), *map(float, ends)] == pytest.approx([value] * 3, abs=1e-9)


def sample(n: list[float], told: list[list[float]]) -> ClassMean:
    """Return balanced accuracy of one stratum with 600, 300 and 100 items called three classes."""
    size, said = np.array([600.0, 300.0, 100.0]), np.arange(3)
    kind = MATRIX_METRICS["balanced_accuracy"]
    labels, named = np.array(n), np.array(told)
    return class_mean(kind, np.zeros(3, dtype=int), said, size, n=labels, by_class=named)


def test_a_class_without_labels_may_have_any_recall() -> None:
    # Every label is right, and none is of the third class or of what is called so. The wrong
    # variant leaves the class out: its interval would not reach below 0.9.
    seen = sample([60.0, 30.0, 0.0], [[60, 0, 0, 0], [0, 30, 0, 0], [0, 0, 0, 0]])
    low, high = seen.sample.ends(1.96, 0.5)
    assert float(low) < 2 / 3
    assert float(high) >= 1.0
    shown = sample([60.0, 30.0, 10.0], [[60, 0, 0, 0], [0, 30, 0, 0], [0, 0, 10, 0]])
    assert float(shown.sample.ends(1.96, 0.5)[0]) > float(low)


def test_a_rare_class_without_a_miss_is_not_certain() -> None:
    # Ten right labels of a class of about a tenth, and 190 labels elsewhere without one of it: up
    # to 3.7 * 900/190 = 17 items may be missed, so its recall may be 0.85 and the mean 0.955. The
    # wrong variant, a variance at the rates seen, is 0.
    told = [[120.0, 0, 0, 0], [0, 70.0, 0, 0], [0, 0, 10.0, 0]]
    seen = sample([120.0, 70.0, 10.0], told)
    low, _ = seen.sample.ends(1.96, 0.5)
    assert float(low) < 0.96
    assert not seen.sample.wrong.variance.any()
    assert not seen.sample.missed.variance.any()


def test_labels_do_not_follow_a_single_find() -> None:
    # Two strata alike, but that one has shown an item of a rare class. The wrong variant, shares by
    # the rates of each stratum, gives that one sqrt(1.5/0.5) = 1.7 times as many labels.
    size, said = np.array([300.0, 300.0, 50.0]), np.array([0, 0, 1])
    named = np.array([[29.0, 1, 0], [30, 0, 0], [0, 10, 0]])
    kind, strata = MATRIX_METRICS["balanced_accuracy"], np.arange(3)
    seen = class_mean(kind, strata, said, size, n=named.sum(axis=-1), by_class=named)
    assert float(seen.shares.sum()) == pytest.approx(1.0)
    assert 1.0 < seen.shares[0] / seen.shares[1] < 1.4


@st.composite
def labelled(draw: st.DrawFn) -> tuple[Ints, Ints, Floats, Floats]:
    """Draw parts of strata, their items, and labels by class; most counts are 0."""
    classes, strata = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    parts = [(g, c) for g in range(strata) for c in range(classes) if draw(st.booleans())]
    parts = parts or [(0, 0)]
    few = st.sampled_from([0, 0, 0, 1, 2, 7])
    named = np.array([[draw(few) for _ in range(classes + 1)] for _ in parts], dtype=float)
    more = np.array([draw(st.sampled_from([0, 1, 50, 10**6])) for _ in parts], dtype=float)
    size = np.maximum(named.sum(axis=-1) + more, 1.0)
    stratum, said = np.array(parts).T
    stratum = np.unique(stratum, return_inverse=True)[1]
    return stratum, said, size, named


@settings(max_examples=300, deadline=None, derandomize=True)
@given(labelled(), st.sampled_from(sorted(MATRIX_METRICS)))
def test_no_metric_of_the_matrix_is_nan(
    parts: tuple[Ints, Ints, Floats, Floats], metric: str
) -> None:
    stratum, said, size, named = parts
    items = np.array([size[said == k].sum() for k in range(named.shape[-1] - 1)])
    matrix, n = Matrix(metric, stratum, said, size, items), named.sum(axis=-1)
    whole = matrix.by_stratum(size)
    found = matrix.linear(whole, n, named)
    numbers = [found.value_at, found.w, found.at]
    if isinstance(found, ClassMean):
        low, high = found.sample.ends(1.96, 0.5)
        assert float(low) <= float(high) + 1e-12
        numbers += [low, high, found.shares]
    assert all(np.isfinite(each).all() for each in numbers)


def test_the_lean_of_few_misses_is_taken_in_their_steps() -> None:
    # A label stands for some 75 items, and the third class has 100. The recall's mean over Poisson
    # counts of rare misses lies above the recall at their mean. The wrong variant, half the second
    # slope times the variance, is 1.75 times as much.
    seen = sample([8.0, 4.0, 3.0], [[8.0, 0, 0, 0], [0, 4.0, 0, 0], [0, 0, 3.0, 0]]).sample
    step, rate, found = float(seen.missed.one[2]), 0.01, np.arange(9)
    chance = poisson.pmf(found, rate)
    exact = chance @ (100 / (100 + found * step)) - 100 / (100 + rate * step)
    variance = np.array([0.0, 0.0, rate * step**2])
    lean = 3 * float(seen._lean_at(np.zeros(3), variance))
    assert lean == pytest.approx(exact, rel=0.02)
    assert variance[2] / 100**2 > 1.7 * exact


Z = 1.959964


def counts(N: list[float], n: list[float], x: list[float]) -> ClassCounts:
    """Return strata of one class, each of one cell."""
    size, labels, found = (np.array(each, dtype=float)[:, None] for each in (N, n, x))
    return ClassCounts(size, labels, found, size / np.maximum(labels, 1.0))


def test_the_quantile_is_that_of_the_gamma_distribution() -> None:
    # Garwood's exact limits of a count are quantiles of gamma; the cube is within 1% of them.
    for count in (1, 3, 10, 50):
        exact = chi2.ppf(0.975, 2 * count) / 2
        assert gamma_end(np.array(count), np.array(count), Z) == pytest.approx(exact, rel=0.01)


def test_no_find_leaves_as_many_as_three_labels_stand_for() -> None:
    # Nothing found in 100 labels of 10,000 items. An exact limit of one look has 3.0 W / n on one
    # side and 3.7 on two. The wrong variant, a variance at the rate that was seen, has none.
    seen = counts([10_000.0], [100.0], [0.0])
    low, high = seen.ends(Z, 0.5)
    assert float(low[0]) == 0.0
    assert float(high[0]) == pytest.approx(367, rel=0.02)
    assert float(seen.variance[0]) == 0.0


def test_the_ends_cover_a_count_in_every_sample() -> None:
    # By enumeration over the outcomes of 200 labels of a large stratum, at one look: 95% on average
    # over rates, as a mid-P interval has it, and little less at any. The wrong variant,
    # total -+ z sd, misses where outcomes are rare.
    N, n = 1e6, 200
    every = np.arange(n + 1.0)
    size, labels = np.full((1, 1), N), np.full((n + 1, 1, 1), float(n))
    seen = ClassCounts(size, labels, every[:, None, None], size / labels)
    low, high = (each[:, 0] for each in seen.ends(Z, 0.0))
    total, sd = seen.total[:, 0], np.sqrt(seen.variance[:, 0])
    held, wrong = [], []
    for rate in np.geomspace(0.004, 0.3, 60):
        chance = binom.pmf(every, n, rate)
        held.append(chance[(low <= N * rate) & (N * rate <= high)].sum())
        wrong.append(chance[np.abs(total - N * rate) <= Z * sd].sum())
    assert min(held) > 0.90
    assert np.mean(held) > 0.95
    assert min(wrong) < 0.60


def test_strata_weigh_as_their_items_and_cells_without_labels_are_shared_out() -> None:
    seen = counts([900.0, 100.0], [9.0, 10.0], [3.0, 1.0])
    assert float(seen.total[0]) == pytest.approx(310.0)
    part = counts([900.0, 100.0], [9.0, 0.0], [3.0, 0.0])
    assert float(part.total[0]) == pytest.approx(1000 / 3)
    none = counts([900.0, 100.0], [0.0, 0.0], [0.0, 0.0])
    assert float(none.total[0]) == 500.0
    assert [float(each[0]) for each in none.ends(Z, 0.5)] == [0.0, 1000.0]


def test_a_count_of_all_items_is_known() -> None:
    seen = counts([30.0, 20.0], [30.0, 20.0], [4.0, 0.0])
    assert [float(each[0]) for each in (seen.total, *seen.ends(Z, 0.5))] == [4.0, 4.0, 4.0]
