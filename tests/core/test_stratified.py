"""The honest interval: against Wilson's, against brute force, and at its edges."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from assay.core.explore import explore
from assay.core.intervals import wilson
from assay.core.metrics import METRICS, Gap, Metric, difference, ratio
from assay.core.stratified import (
    Sample,
    extra_label,
    lower_rates,
    stratified_ends,
    upper_rates,
)
from assay.core.tallies import Tallies
from assay.core.types import Floats

HALF = extra_label("width", 0.95)


def sample(w: list[float], n: list[float], x: list[float]) -> Sample:
    return Sample(np.array(w), np.array(n), np.array(x), np.ones(len(w)))


def total(s: Sample, q: Floats) -> float:
    return float((s.w * q).sum())


@pytest.mark.parametrize(("x", "n"), [(0, 30), (1, 29), (15, 148), (40, 90)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_one_stratum_without_the_extra_label_is_wilson_and_likelihood(
    x: int, n: int, confidence: float
) -> None:
    one = sample([1.0], [float(n)], [float(x)])
    wilson = stats.binomtest(x, n).proportion_ci(confidence, method="wilson")
    assert total(one, upper_rates(one, confidence, 0.0)) == pytest.approx(wilson.high, rel=1e-5)
    low = total(one, lower_rates(one, confidence, 0.0))
    if x == 0:
        assert low == 0
        return
    at_low, at_best = (stats.binom.logpmf(x, n, p) for p in (low, x / n))
    assert 2 * (at_best - at_low) == pytest.approx(stats.norm.ppf((1 + confidence) / 2) ** 2)


def test_the_rates_at_an_end_are_the_likeliest_with_that_sum() -> None:
    s = sample([0.5, 0.3, 0.2], [40.0, 30.0, 25.0], [2.0, 3.0, 9.0])
    for q in (upper_rates(s, 0.95, 0.0), lower_rates(s, 0.95, 0.0)):
        # Two rates are free, the third follows from the sum: look everywhere on a fine grid.
        first, second = np.meshgrid(np.linspace(0.001, 0.6, 1500), np.linspace(0.001, 0.6, 1500))
        third = (total(s, q) - s.w[0] * first - s.w[1] * second) / s.w[2]
        grid = np.stack([first, second, third], axis=-1)
        able = np.asarray(((grid > 0) & (grid < 1)).all(axis=-1))
        inside = np.where(able[..., None], grid, 0.5)
        likelihood = (s.x * np.log(inside) + (s.n - s.x) * np.log(1 - inside)).sum(axis=-1)
        best = grid[np.unravel_index(np.where(able, likelihood, -np.inf).argmax(), able.shape)]
        np.testing.assert_allclose(q, best, atol=2e-3)


def test_the_extra_label_goes_where_it_hurts_most() -> None:
    s = sample([0.9, 0.1], [20.0, 200.0], [0.0, 10.0])
    plain, honest = (total(s, upper_rates(s, 0.95, b)) for b in (0.0, 0.75))
    by_hand = sample([0.9, 0.1], [20.75, 200.0], [0.75, 10.0])
    assert honest == pytest.approx(total(s, upper_rates(by_hand, 0.95, 0.0)))
    assert honest > plain


@pytest.mark.parametrize("metric", METRICS)
def test_more_confidence_is_wider_and_the_estimate_lies_inside(metric: str) -> None:
    sizes, says_yes = np.array([500.0, 800.0, 3000.0]), np.array([True, True, False])
    form = ratio(metric, sizes, says_yes)
    tallies = Tallies(sizes, n=[60, 50, 80], x=[55, 30, 3])
    value = float(form.value(sizes * tallies.x / tallies.n))
    ends = [
        stratified_ends(tallies, form, replacement=False, confidence=c, b=HALF)
        for c in (0.8, 0.95, 0.99)
    ]
    lows, highs = [float(low) for low, _ in ends], [float(high) for _, high in ends]
    assert 0 <= lows[2] < lows[1] < lows[0] < value < highs[0] < highs[1] < highs[2] <= 1


def test_outcomes_and_their_complements_mirror_each_other() -> None:
    """The interval of an error rate is the mirror image of that of the precision."""
    sizes, says_yes = np.array([500.0, 800.0]), np.array([True, True])
    form = ratio("precision", sizes, says_yes)
    tallies = Tallies(sizes, n=[60, 50], x=[55, 48])
    mirrored = Tallies(sizes, n=[60, 50], x=[5, 2])
    low, high = stratified_ends(tallies, form, replacement=True, confidence=0.95, b=HALF)
    low_of, high_of = stratified_ends(mirrored, form, replacement=True, confidence=0.95, b=HALF)
    assert float(low) == pytest.approx(1 - float(high_of))
    assert float(high) == pytest.approx(1 - float(low_of))


def test_ends_of_recall_solve_their_own_equation() -> None:
    """At each end m, the walk with the weights of m arrives at m: Fieller's condition."""
    sizes, says_yes = np.array([500.0, 3000.0]), np.array([True, False])
    form = ratio("recall", sizes, says_yes)
    tallies = Tallies(sizes, n=[60, 300], x=[55, 9])
    low, _ = stratified_ends(tallies, form, replacement=True, confidence=0.95, b=HALF)
    w = np.abs(form.a - float(low) * form.b) * sizes
    bad = np.array([5.0, 9.0])
    q = upper_rates(Sample(w / w.sum(), tallies.n, bad, np.ones(2)), 0.95, HALF)
    assert float(form.value(sizes * np.array([1 - q[0], q[1]]))) == pytest.approx(
        float(low), abs=1e-4
    )


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99])
def test_a_single_stratum_is_right_under_peeking_by_exact_dynamic_programming(
    confidence: float,
) -> None:
    """Every path of a random sample, looked at after each label, at rates up to 0.3.

    Exact, not simulated: the chance of each count of errors among the runs that go on is carried
    from label to label. Beside it Wilson's interval, which the same check rejects.
    """

    def least_coverage(ends: Callable[[Floats, float], tuple[Floats, Floats]]) -> float:
        delta, rates = 0.05, np.linspace(0.01, 0.3, 30)
        alive = np.zeros((len(rates), 1))
        alive[:, 0] = 1.0
        covered = np.zeros(len(rates))
        for n in range(1, 700):
            hit, miss = alive * rates[:, None], alive * (1 - rates[:, None])
            alive = np.pad(miss, ((0, 0), (0, 1))) + np.pad(hit, ((0, 0), (1, 0)))
            low, high = ends(np.arange(n + 1.0), float(n))
            stop = (high - low) / 2 <= delta
            holds = (low <= rates[:, None]) & (rates[:, None] <= high)
            covered += (alive * (stop & holds)).sum(axis=-1)
            alive = np.where(stop, 0.0, alive)
            if not alive.any():
                break
        assert alive.sum() == 0
        return float(covered.min())

    form = ratio("prevalence", np.array([1e9]), np.array([True]))

    def ours(x: Floats, n: float) -> tuple[Floats, Floats]:
        tallies = Tallies(np.array([1e9]), n=n, x=x[:, None])
        b = extra_label("width", confidence)
        return stratified_ends(tallies, form, replacement=True, confidence=confidence, b=b)

    def wilsons(x: Floats, n: float) -> tuple[Floats, Floats]:
        p = x / n
        return wilson(p, p * (1 - p) / max(n - 1, 1), np.full_like(p, n), confidence)

    assert least_coverage(ours) >= confidence
    assert least_coverage(wilsons) < confidence


def test_an_unsampled_stratum_may_be_anything() -> None:
    sizes = np.array([700.0, 300.0])
    form = ratio("precision", sizes, np.array([True, True]))
    tallies = Tallies(sizes, n=[200, 0], x=[200, 0])
    low, high = stratified_ends(tallies, form, replacement=False, confidence=0.95, b=HALF)
    assert float(low) < 0.7
    assert float(high) == 1.0


@pytest.mark.parametrize("counts", list(itertools.product([0, 2, 5], repeat=2)))
def test_a_fully_labelled_population_is_known(counts: tuple[int, int]) -> None:
    sizes = np.array([5.0, 5.0])
    form = ratio("precision", sizes, np.array([True, True]))
    tallies = Tallies(sizes, n=sizes, x=np.array(counts, float))
    low, high = stratified_ends(tallies, form, replacement=False, confidence=0.95, b=HALF)
    assert float(low) == float(high) == sum(counts) / 10


def test_the_correction_narrows_as_the_population_runs_out() -> None:
    form = ratio("precision", np.array([400.0]), np.array([True]))
    tallies = Tallies([400], n=[300], x=[280])
    widths = []
    for replacement in (True, False):
        low, high = stratified_ends(tallies, form, replacement=replacement, confidence=0.95, b=HALF)
        widths.append(float(high - low))
    assert widths[1] == pytest.approx(widths[0] * np.sqrt(100 / 399), rel=0.05)


def test_what_luck_hid_is_given_back_by_hand() -> None:
    """x/n with n in proportion to x^eta falls short of the rate by about eta/n."""
    s = sample([0.5, 0.5], [400.0, 100.0], [40.0, 0.0])
    pull = explore(s.w, s.n, s.x).pull
    given = s.evened()
    assert given.n.tolist() == [399.0, 100.0]  # a stratum without errors shows no spread
    assert given.x.tolist() == pytest.approx([40 * 399 / 400 + pull[0], pull[1]])
    assert 0.05 < pull[0] < 0.5
    assert pull[1] == 0


def test_labels_that_follow_errors_leave_too_few_of_them_and_this_much() -> None:
    """The shortfall of x/n, simulated: n grows as x^eta, and eta errors make up for it.

    Of 200,000 samples the mean of (x + eta)/n lies within 4 standard errors of the rate (failure
    probability 1e-4) plus the next order, 2 eta/(n x); without eta it lies far below.
    """
    rng, rate, eta = np.random.default_rng(3), 0.05, 0.3
    first = rng.binomial(1000, rate, 200_000)
    n = np.round(2000 * (first / 50) ** eta)
    x = first + rng.binomial(np.maximum(n - 1000, 0).astype(int), rate)
    n = np.maximum(n, 1000)
    error = 4 * float((x / n).std()) / np.sqrt(len(x)) + 2 * eta / (2000 * 100)
    assert abs(float(((x + eta) / n).mean()) - rate) < error
    assert abs(float((x / n).mean()) - rate) > error


def differences(metric: str) -> tuple[Metric, Metric]:
    """Return the difference of two classifiers over four strata, and its opposite."""
    sizes = np.array([500.0, 300.0, 400.0, 2000.0])
    says = np.array([True, True, False, False]), np.array([True, False, True, False])
    one, other = (ratio(metric, sizes, each) for each in says)
    if metric == "f1":
        return Gap(one, other), Gap(other, one)
    return difference(one, other), difference(other, one)


@pytest.mark.parametrize("metric", ["precision", "recall", "f1", "accuracy", "false_omission_rate"])
@pytest.mark.parametrize("x", [[90, 15, 50, 1], [90, 52, 12, 9], [0, 20, 20, 0]])
def test_a_difference_below_0_is_the_mirror_image_of_its_opposite(
    metric: str, x: list[int]
) -> None:
    tallies = Tallies([500, 300, 400, 2000], n=[100, 60, 60, 80], x=x)
    ends = []
    for form in differences(metric):
        value = float(form.value(tallies.N * tallies.x / tallies.n))
        (low, high), (lower, higher) = (
            stratified_ends(tallies, form, replacement=False, confidence=c, b=HALF)
            for c in (0.9, 0.99)
        )
        assert -1 <= float(lower) < float(low) < value < float(high) < float(higher) <= 1
        ends.append((float(low), float(high)))
    (least, most), (least_of, most_of) = ends
    assert (least, most) == pytest.approx((-most_of, -least_of), abs=2e-3)
