"""Each end of the interval is a value whose own test is exactly critical, and never a point."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import xlogy

from assay.core.design import Design
from assay.core.differences import Gap, difference
from assay.core.engine import look
from assay.core.forms import Metric, Ratio, ratio
from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.state import State
from assay.core.stratified import ValueTests
from assay.core.tallies import Tallies
from assay.core.types import Floats

SIZES = np.array([500.0, 300.0, 400.0, 9000.0])
SAYS = np.array([True, True, False, False]), np.array([True, False, True, False])
RARE = np.array([1100.0, 468_140.0])
TWO = {name: [ratio(name, SIZES, each) for each in SAYS] for name in METRICS}
BENT: dict[str, Metric] = {
    "recall": TWO["recall"][0],
    "f1": TWO["f1"][0],
    "difference of recalls": difference(*TWO["recall"]),
    "difference of F1s": Gap(*TWO["f1"]),
    "difference of balanced accuracies": Gap(*TWO["balanced_accuracy"]),
    "difference of Matthews correlations": Gap(*TWO["matthews_correlation"]),
}
OF_CLASSES = {name: TWO[name][0] for name in ("balanced_accuracy", "matthews_correlation")}


def random_tallies(seed: int, count: int = 60, least: int = 3) -> Tallies:
    """Tallies that a classifier worth evaluating may have: 3 labels a stratum, or 100."""
    rng = np.random.default_rng(seed)
    rates = rng.beta([9, 4, 4, 0.5], [1, 2, 2, 25], (count, 4))
    n = np.minimum(least + rng.geometric(1 / 40, (count, 4)), SIZES - 1)
    return Tallies(np.broadcast_to(SIZES, n.shape), n=n, x=rng.binomial(n.astype(int), rates))


def at_values(tallies: Tallies, metric: Metric, **options: float | bool) -> ValueTests:
    given: dict[str, Any] = {
        "replacement": False,
        "confidence": 0.95,
        "b": 0.5,
        "explored": True,
        **options,
    }
    return ValueTests(tallies, metric, **given)


def off(tests: ValueTests, m: Floats, *, upper: bool) -> Floats:
    """How far each m is from being an end: 0 where the test at m is critical.

    That is where the metric at the end of E, with the weights of m, is m itself; or, where E's end
    jumps as the rarer outcome changes, where m lies between what is reached just below and above.
    """
    every = np.arange(len(m))
    at, below, above = (
        tests._reached(each, every, upper=upper) - each for each in (m, m - 1e-6, m + 1e-6)
    )
    lowest, highest = tests.metric.extremes(0 * tests.N, tests.N)
    # Nothing lies beyond what the metric can be.
    edge = ((m <= lowest + 1e-6) & (at <= 0)) | ((m >= highest - 1e-6) & (at >= 0))
    changes = (below >= 0) & (above <= 0)
    return np.where(changes | edge, 0.0, np.abs(at))


@pytest.mark.parametrize("name", BENT)
@pytest.mark.parametrize("b", [0.0, 0.5])
def test_the_test_at_each_end_is_exactly_critical(name: str, b: float) -> None:
    tests = at_values(random_tallies(1), BENT[name], b=b)
    low, high = tests.ends()
    assert (low < high).all()
    assert float(off(tests, low, upper=True).max()) < 1e-5
    assert float(off(tests, high, upper=False).max()) < 1e-5


def rare_tallies(seed: int) -> Tallies:
    """Random samples of a class of which the classifier finds nearly all: 1 in 400 items."""
    rng = np.random.default_rng(seed)
    n = np.stack([rng.integers(1, 40, 60), rng.integers(40, 800, 60)], axis=-1)
    return Tallies(np.broadcast_to(RARE, n.shape), n=n, x=rng.binomial(n, [0.95, 0.0003]))


@pytest.mark.parametrize("name", ["recall", "f1"])
def test_so_it_is_for_a_rare_class(name: str) -> None:
    metric = ratio(name, RARE, np.array([True, False]))
    tests = at_values(rare_tallies(3), metric, b=0.0, explored=False)
    low, high = tests.ends()
    assert float(off(tests, low, upper=True).max()) < 1e-5
    assert float(off(tests, high, upper=False).max()) < 1e-5


LEVELS = np.linspace(0, 1, 801)[1:-1]


def at_levels(tests: ValueTests, metric: Ratio, *, upper: bool) -> tuple[Floats, Floats]:
    """The metric at the end of E with the weights of each level, and its level there less that."""
    every = np.arange(len(tests.N))
    level = np.repeat(LEVELS, every.size)
    T = tests._totals(metric.slopes_at(level), np.tile(every, LEVELS.size), upper=upper)
    shape = LEVELS.size, every.size
    return metric.value(T).reshape(shape), (metric.level(T) - level).reshape(shape)


@pytest.mark.parametrize("name", OF_CLASSES)
@pytest.mark.parametrize("least", [3, 20])
def test_an_end_of_both_classes_has_the_weights_that_lead_to_it(name: str, least: int) -> None:
    """Over 800 levels there is one at which totals and weights agree; the end is its value."""
    metric = OF_CLASSES[name]
    tests = at_values(random_tallies(1, least=least), metric)
    for upper, end in zip((True, False), tests.ends(), strict=True):
        values, off_by = at_levels(tests, metric, upper=upper)
        crosses = (off_by[:-1] > 0) & (off_by[1:] <= 0)
        assert (crosses.sum(axis=0) == 1).all()
        at = crosses.argmax(axis=0)
        every = np.arange(at.size)
        either = np.stack([values[at, every], values[at + 1, every]])
        assert (np.abs(either - end).min(axis=0) < 1e-3).all()


@pytest.mark.parametrize("name", [*BENT, *OF_CLASSES])
def test_ends_have_the_likelihood_ratio_of_the_confidence(name: str) -> None:
    """A general optimiser over all rates at which the metric is an end: the ratio is z^2.

    Half an outcome is added, by w (x + 1/2)/(n + 1), where the rarer outcomes' upper end is sought:
    for the low end, or where bad outcomes are the rule for the high end. A value 2% of the width
    inward is told apart. At least 20 labels a stratum: with a handful, the rates at which a
    difference of F1s has some value may be likeliest in two places.
    """
    metric, tallies = {**BENT, **OF_CLASSES}[name], random_tallies(2, 12, least=20)
    z2, seen = float(stats.norm.ppf(0.975)) ** 2, 0
    tests = at_values(tallies, metric, replacement=True, b=0.0, explored=False, stops=False)
    low, high = tests.ends()
    lowest, highest = metric.extremes(0 * SIZES, SIZES)
    for row in range(12):
        n, x, width = tallies.n[row], tallies.x[row], float(high[row] - low[row])
        for m, more, inward in ((float(low[row]), 0.5, 1), (float(high[row]), 0.0, -1)):
            c = likeliest_plane(metric, n, x, m)
            w, bad = np.abs(c) * SIZES, np.where(c > 0, n - x, x)
            if not lowest + 1e-3 < m < highest - 1e-3:
                continue
            common = (w * bad / n).sum() / w.sum() > 0.5
            rare = n - bad if common else bad
            part = w * (rare + 0.5) / (n + 1)
            given = (0.5 - more if common else more) * part / part.sum()
            counts = n + given, np.where((c > 0) ^ common, x, x + given)
            assert likelihood_ratio(metric, *counts, m) == pytest.approx(z2, rel=5e-3)
            assert likelihood_ratio(metric, *counts, m + 0.02 * inward * width) < 0.99 * z2
            seen += 1
    assert seen >= 15


def likelihood_ratio(metric: Metric, n: Floats, x: Floats, m: float) -> float:
    """Twice the likelihood ratio against all rates at which the metric is m."""
    best = (xlogy(x, x / n) + xlogy(n - x, 1 - x / n)).sum()
    p = likeliest(metric, n, x, m)
    return float(2 * (best - (xlogy(x, p) + xlogy(n - x, 1 - p)).sum()))


def likeliest_plane(metric: Metric, n: Floats, x: Floats, m: float) -> Floats:
    """Return how the metric moves with each total where it is m and the rates are likeliest."""
    return metric.gradient(SIZES * likeliest(metric, n, x, m))


def likeliest(metric: Metric, n: Floats, x: Floats, m: float) -> Floats:
    """Return the likeliest rates at which the metric is m, by a general optimiser."""

    def loss(p: Floats) -> float:
        return -float((xlogy(x, p) + xlogy(n - x, 1 - p)).sum())

    def slope(p: Floats) -> Floats:
        return np.asarray(-(x / p - (n - x) / (1 - p)))

    optimise: Any = minimize  # its types know no constraint with a slope
    found = optimise(
        loss,
        np.clip(x / n, 0.01, 0.99),
        jac=slope,
        method="SLSQP",
        bounds=[(1e-7, 1 - 1e-7)] * len(n),
        constraints={
            "type": "eq",
            "fun": lambda p: float(metric.value(SIZES * p)) - m,
            "jac": lambda p: metric.gradient(SIZES * p) * SIZES,
        },
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    assert abs(float(metric.value(SIZES * found.x)) - m) < 1e-6, found.message
    return np.asarray(found.x)


def odd_tallies(seed: int, count: int = 60) -> Tallies:
    """Tallies as random sampling may leave them: few labels, strata without any, all alike."""
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random((count, 1)) < 0.3, [400_000.0, 300, 7, 9000], SIZES)
    rates = rng.choice([0.0, 0.003, 0.5, 0.97, 1.0], (count, 4))
    n = np.floor(rng.choice([0, 1, 3, 40, 1e9], (count, 4)) * rng.random((count, 4)) ** 2)
    n = np.minimum(n, sizes)
    n[(n == sizes).all(axis=-1)] = 2.0
    return Tallies(sizes, n=n, x=rng.binomial(n.astype(int), rates))


DESIGNS = {
    "default": Design(),
    "centred": Design.centred(),
    "fixed": Design.fixed(),
    "random": Design.simple_random(),
    "drawn with replacement": Design(replacement=True),
}


def of_the_first(name: str, N: Floats) -> Metric:
    return ratio(name, N, SAYS[0])


FORMS: dict[str, Callable[[Floats], Metric]] = {
    **{name: partial(of_the_first, name) for name in METRICS},
    "difference of recalls": lambda N: difference(*(ratio("recall", N, each) for each in SAYS)),
    "difference of precisions": lambda N: difference(
        *(ratio("precision", N, each) for each in SAYS)
    ),
    "difference of F1s": lambda N: Gap(*(ratio("f1", N, each) for each in SAYS)),
    "difference of Matthews correlations": lambda N: Gap(
        *(ratio("matthews_correlation", N, each) for each in SAYS)
    ),
}


def widths(design: Design, form: str, tallies: Tallies) -> Floats:
    """Return the widths of what each evaluation shows, where labels leave something open.

    (The recall of a yes-set that was labelled in vain is 0, whatever else is found.)
    """
    found = []
    for N in np.unique(tallies.N, axis=0):
        alike = (tallies.N == N).all(axis=-1)
        some, metric = tallies.take(alike), FORMS[form](N)
        state = State(some, some.n, some.N - some.n, 2, np.zeros(len(some.n), dtype=np.int64))
        goal = Goal("precision", within=0.05)
        now = look(design, goal, metric, state)
        least, most = metric.extremes(some.x, some.N - some.n + some.x)
        found.append((now.high - now.low)[most - least > 1e-4])
    return np.concatenate(found)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("design", DESIGNS)
def test_no_interval_is_a_point_while_items_are_unlabelled(design: str, form: str) -> None:
    found = widths(DESIGNS[design], form, odd_tallies(4))
    assert len(found) > 40
    assert float(found.min()) > 1e-7
