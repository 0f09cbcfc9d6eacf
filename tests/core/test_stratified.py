"""The honest interval: against exact likelihoods, against brute force, and at its edges."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import xlogy

from assay.core.allocation import explore
from assay.core.differences import Gap, difference
from assay.core.forms import Metric, ratio
from assay.core.likelihood import Sample, end_rates
from assay.core.metrics import METRICS
from assay.core.stratified import ValueTests, extra_outcomes
from assay.core.tallies import Tallies
from assay.core.types import Floats

HALF = extra_outcomes("width")
lower_rates = partial(end_rates, upper=False)
upper_rates = partial(end_rates, upper=True)


def ends_of(
    tallies: Tallies, form: Metric, confidence: float = 0.95, **more: bool
) -> tuple[Floats, Floats]:
    """The interval for a stop at a width."""
    options = {"replacement": False, **more}
    return ValueTests(tallies, form, confidence=confidence, b=HALF, **options).ends()


def sample(w: list[float], n: list[float], x: list[float]) -> Sample:
    return Sample(np.array(w), np.array(n), np.array(x), np.ones(len(w)))


def total(s: Sample, q: Floats) -> float:
    return float((s.w * q).sum())


def deviance(x: float, n: float, p: float) -> float:
    """Twice the likelihood ratio of x in n at p; of whole counts by scipy's binomial."""
    if float(x).is_integer() and float(n).is_integer():
        best, here = (float(stats.binom.logpmf(x, n, each)) for each in (x / n, p))
        return 2 * (best - here)
    # The binomial coefficient cancels, so this is the same for counts that are not whole.
    best, here = (float(xlogy(x, each) + xlogy(n - x, 1 - each)) for each in (x / n, p))
    return 2 * (best - here)


@pytest.mark.parametrize(("x", "n"), [(0, 30), (1, 29), (15, 148), (40, 90)])
def test_one_stratum_ends_where_the_likelihood_of_the_moved_counts_does(x: int, n: int) -> None:
    """Above, half an outcome and b more among as many more labels; below, b outcomes fewer."""
    for b in [0.0, 0.5, 1.5]:
        for confidence in [0.8, 0.95, 0.99]:
            one = sample([1.0], [float(n)], [float(x)])
            z2 = float(stats.norm.ppf((1 + confidence) / 2)) ** 2
            high = total(one, upper_rates(one, confidence, b))
            assert high > x / n
            assert deviance(x + 0.5 + b, n + 0.5 + b, high) == pytest.approx(z2, rel=1e-5)
            assert abs(deviance(x, n, high) - z2) > 1e-2  # without the outcomes it is another end
            low = total(one, lower_rates(one, confidence, b))
            assert 0 <= low <= x / n
            if x <= b:
                assert low == 0
                return
            assert deviance(x - b, n, low) == pytest.approx(z2, rel=1e-5)
            assert abs(deviance(x - b + 0.5, n, low) - z2) > 1e-2


@pytest.mark.parametrize(("x", "n"), [(1, 30), (4, 60), (15, 148)])
def test_half_an_outcome_is_what_the_likelihood_falls_short_of_an_exact_tail(
    x: int, n: int
) -> None:
    """Of the way to Clopper and Pearson's upper end it makes good more than half."""
    one = sample([1.0], [float(n)], [float(x)])
    exact = stats.binomtest(x, n).proportion_ci(0.95, method="exact").high
    bare, half = (total(one, upper_rates(one, 0.95, b)) for b in (-0.5, 0.0))
    assert bare < half
    assert abs(half - exact) < (exact - bare) / 2


def test_the_rates_at_an_end_are_the_likeliest_with_that_sum() -> None:
    s = sample([0.5, 0.3, 0.2], [40.0, 30.0, 25.0], [2.0, 3.0, 9.0])
    for q in (upper_rates(s, 0.95, 0.0), lower_rates(s, 0.95, 0.0)):
        # Two rates are free, the third follows from the sum: look everywhere on a fine grid.
        first, second = np.meshgrid(*[np.linspace(0.001, 0.6, 600)] * 2)
        third = (total(s, q) - s.w[0] * first - s.w[1] * second) / s.w[2]
        grid = np.stack([first, second, third], axis=-1)
        able = np.asarray(((grid > 0) & (grid < 1)).all(axis=-1))
        inside = np.where(able[..., None], grid, 0.5)
        likelihood = (s.x * np.log(inside) + (s.n - s.x) * np.log(1 - inside)).sum(axis=-1)
        best = grid[np.unravel_index(np.where(able, likelihood, -np.inf).argmax(), able.shape)]
        np.testing.assert_allclose(q, best, atol=2e-3)


def test_outcomes_are_added_as_they_may_lie_and_taken_as_they_lie() -> None:
    """Half an outcome by rate, three quarters by variance: two strata, by hand."""
    s = sample([0.9, 0.1], [20.0, 200.0], [0.0, 10.0])
    p = [0.5 / 21, 10.5 / 201]
    rate = [0.9 * p[0], 0.1 * p[1]]
    variance = [0.81 * p[0] * (1 - p[0]) / 20, 0.01 * p[1] * (1 - p[1]) / 200]
    more = [
        0.5 * r / sum(rate) + 0.75 * v / sum(variance) for r, v in zip(rate, variance, strict=True)
    ]
    assert more[0] > 1.1  # nearly all of the variance is in the heavy stratum
    upper = sample([0.9, 0.1], [20 + more[0], 200 + more[1]], [more[0], 10 + more[1]])
    honest = upper_rates(s, 0.95, 0.75)
    assert deviances(upper, honest) == pytest.approx(1.96**2, rel=1e-4)
    assert total(s, honest) > total(s, upper_rates(s, 0.95, 0.0))
    # Outcomes that may be luck are taken from where there are any.
    fewer = sample([0.9, 0.1], [20.0, 200.0], [0.0, 9.25])
    found = lower_rates(s, 0.95, 0.75)
    assert deviances(fewer, found) == pytest.approx(1.96**2, rel=1e-4)
    np.testing.assert_allclose(found, lower_rates(fewer, 0.95, 0.0), rtol=1e-6)
    assert total(s, found) < total(s, lower_rates(s, 0.95, 0.0))


def test_luck_is_allowed_for_where_every_stratum_looks_pure() -> None:
    """Five of five and none of five: no variance, but the five may be luck."""
    s = sample([0.2, 0.8], [5.0, 5.0], [5.0, 0.0])
    found = lower_rates(s, 0.95, 0.5)
    fewer = sample([0.2, 0.8], [5.0, 5.0], [4.5, 0.0])
    assert deviances(fewer, found) == pytest.approx(1.96**2, rel=1e-4)
    assert total(s, found) < total(s, lower_rates(s, 0.95, 0.0)) - 1e-3


def deviances(s: Sample, q: Floats) -> float:
    return sum(deviance(x, n, p) for x, n, p in zip(s.x, s.n, q, strict=True))


@pytest.mark.parametrize("metric", METRICS)
def test_more_confidence_is_wider_and_the_estimate_lies_inside(metric: str) -> None:
    sizes, says_yes = np.array([500.0, 800.0, 3000.0]), np.array([True, True, False])
    form = ratio(metric, sizes, says_yes)
    tallies = Tallies(sizes, n=[60, 50, 80], x=[55, 30, 3])
    value = float(form.value(sizes * tallies.x / tallies.n))
    ends = [ends_of(tallies, form, confidence) for confidence in (0.8, 0.95, 0.99)]
    lows, highs = [float(low) for low, _ in ends], [float(high) for _, high in ends]
    assert 0 <= lows[2] < lows[1] < lows[0] < value < highs[0] < highs[1] < highs[2] <= 1


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99])
def test_a_single_stratum_is_right_under_peeking_by_exact_dynamic_programming(
    confidence: float,
) -> None:
    """Every path of a random sample, looked at after each label, at rates up to 0.3.

    Exact, not simulated: the chance of each count of errors among the runs that go on is carried
    from label to label.
    """
    form = ratio("prevalence", np.array([1e9]), np.array([True]))
    delta, rates = 0.05, np.linspace(0.01, 0.3, 30)
    alive = np.zeros((len(rates), 1))
    alive[:, 0] = 1.0
    covered = np.zeros(len(rates))
    for n in range(1, 700):
        hit, miss = alive * rates[:, None], alive * (1 - rates[:, None])
        alive = np.pad(miss, ((0, 0), (0, 1))) + np.pad(hit, ((0, 0), (1, 0)))
        tallies = Tallies(np.array([1e9]), n=float(n), x=np.arange(n + 1.0)[:, None])
        low, high = ends_of(tallies, form, confidence, replacement=True)
        stop = (high - low) / 2 <= delta
        holds = (low <= rates[:, None]) & (rates[:, None] <= high)
        covered += (alive * (stop & holds)).sum(axis=-1)
        alive = np.where(stop, 0.0, alive)
        if not alive.any():
            break
    assert alive.sum() == 0
    assert covered.min() >= confidence


def test_the_correction_narrows_as_the_population_runs_out() -> None:
    """Labels count for 399/100 as many: ends are nearer to the moved rates by the root of it."""
    form = ratio("precision", np.array([400.0]), np.array([True]))
    tallies = Tallies([400], n=[300], x=[280])
    z2, left = float(stats.norm.ppf(0.975)) ** 2, 100 / 399
    more, fewer = 21 / 301, 19.5 / 300  # half and b = 1/2 errors added, and b taken away
    reach = []
    for replacement, f in ((True, 1.0), (False, left)):
        low, high = ends_of(tallies, form, replacement=replacement)
        assert deviance(21 / f, 301 / f, 1 - float(low)) == pytest.approx(z2, rel=1e-5)
        assert deviance(19.5 / f, 300 / f, 1 - float(high)) == pytest.approx(z2, rel=1e-5)
        reach.append(1 - more - float(low) + float(high) - 1 + fewer)
    assert reach[1] == pytest.approx(reach[0] * np.sqrt(left), rel=0.01)


def test_what_luck_hid_is_given_back_by_hand() -> None:
    """x/n with n in proportion to x^eta falls short of the rate by about eta/n."""
    s = sample([0.5, 0.5], [400.0, 100.0], [40.0, 0.0])
    pull = explore(s.w, s.n, s.x).pull
    given = s.evened()
    assert given.n.tolist() == [399.0, 100.0]  # a stratum without errors shows no spread
    assert given.x.tolist() == pytest.approx([40 * 399 / 400 + pull[0], pull[1]])
    assert 0.05 < pull[0] < 0.5
    assert pull[1] == 0


def hidden_everywhere(self: Sample) -> Sample:
    """As if labels could have missed something where there is nothing left to label."""
    hidden = explore(self.w, self.n, self.x, np.maximum(self.left, 1e-9)).pull
    return replace(self, x=np.clip(self.x + hidden, 0.0, self.n))


def test_nothing_is_hidden_where_every_item_is_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """F1 where the small strata are labelled to their last item and four fifths of the others.

    Of 1,000 samples at most 5% give an interval below the truth: 2.5% are expected, and the
    failure probability is below 1e-5. With something hidden in the finished strata more do.
    """
    sizes = np.array([17.0] * 8 + [4500, 1600, 1300, 800, 450, 270, 160, 90])
    positives = np.array([8.0, 12, 12, 11, 13, 15, 17, 16, 15, 7, 2, 8, 13, 20, 22, 38])
    form = ratio("f1", sizes, sizes == 17)
    truth = float(form.value(positives))
    n = np.where(sizes > 400, 0.8 * sizes, sizes)
    x = np.random.default_rng(4).hypergeometric(
        positives.astype(int), (sizes - positives).astype(int), n.astype(int), (1000, len(sizes))
    )

    tallies = Tallies(sizes, n=np.broadcast_to(n, x.shape), x=x)

    def share_below() -> float:
        _, high = ends_of(tallies, form, explored=True)
        return float((high < truth).mean())

    assert share_below() <= 0.05
    monkeypatch.setattr(Sample, "evened", hidden_everywhere)
    assert share_below() > 0.05


def differences(metric: str) -> tuple[Metric, Metric]:
    """Return the difference of two classifiers over four strata, and its opposite."""
    sizes = np.array([500.0, 300.0, 400.0, 2000.0])
    says = np.array([True, True, False, False]), np.array([True, False, True, False])
    one, other = (ratio(metric, sizes, each) for each in says)
    if metric == "f1":
        return Gap(one, other), Gap(other, one)
    return difference(one, other), difference(other, one)


@pytest.mark.parametrize("metric", ["precision", "recall", "f1", "accuracy", "false_omission_rate"])
def test_a_difference_below_0_is_the_mirror_image_of_its_opposite(metric: str) -> None:
    for x in [[90, 15, 50, 1], [90, 52, 12, 9], [0, 20, 20, 0]]:
        tallies = Tallies([500, 300, 400, 2000], n=[100, 60, 60, 80], x=x)
        ends = []
        for form in differences(metric):
            value = float(form.value(tallies.N * tallies.x / tallies.n))
            (low, high), (lower, higher) = (ends_of(tallies, form, c) for c in (0.9, 0.99))
            assert -1 <= float(lower) < float(low) < value < float(high) < float(higher) <= 1
            ends.append((float(low), float(high)))
        (least, most), (least_of, most_of) = ends
        assert (least, most) == pytest.approx((-most_of, -least_of), abs=2e-3)


@pytest.mark.parametrize("metric", ["recall", "f1"])
def test_what_nothing_speaks_against_is_an_end_itself_and_not_nearly(metric: str) -> None:
    """Where the truth is 1, or 0, an interval that ends a millionth before it would be wrong."""
    sizes, says_yes = np.array([800.0, 50_000.0]), np.array([True, False])
    form = ratio(metric, sizes, says_yes)

    def ends(x: list[int]) -> tuple[float, float]:
        tallies = Tallies(sizes, n=[60, 300], x=x)
        low, high = ends_of(tallies, form)
        return float(low), float(high)

    assert ends([60, 0])[1] == 1.0
    assert ends([0, 4])[0] == 0.0
    assert ends([0, 0]) == (0.0, 1.0) or metric == "f1"
    assert 0.5 < ends([55, 3])[1] < 0.9999
    assert ends([5, 3])[0] > 1e-4


def test_both_ends_of_many_at_once_are_those_of_each_alone_to_the_last_bit() -> None:
    rng = np.random.default_rng(8)
    n = rng.integers(1, 40, (30, 7)).astype(np.float64)
    many = Sample(
        np.full((30, 7), 1 / 7),
        n,
        rng.binomial(n.astype(int), 0.2).astype(np.float64),
        np.full((30, 7), 0.9),
    )
    upper = rng.random(30) < 0.5
    together = end_rates(many, 0.95, HALF, upper=upper)
    for row, up in enumerate(upper):
        alone = end_rates(many.take(np.array([row])), 0.95, HALF, upper=bool(up))
        assert together[row].tobytes() == alone[0].tobytes()
        other = end_rates(many.take(np.array([row])), 0.95, HALF, upper=not up)
        assert (together[row] != other[0]).any()
