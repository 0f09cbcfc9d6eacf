"""Intervals for a share, from its estimate and variance.

Each takes arrays of one shape: the estimate, its variance, the number of labels behind it, and
gives a lower and an upper end within [0, 1]. `normal`, `wilson` and `jeffreys` do not survive
peeking: their confidence holds for one look at a number of labels fixed in advance. Looking after
every round and stopping at a narrow moment makes them miss more often (see docs/certainty.md).
`stratified` is calibrated by simulation for the look that stops it; earlier looks may miss.
`betting` is valid at every look, by a theorem.

References
----------
.. [1] Bennett and Carvalho, Online stratified sampling, CIKM 2010, section 5.
.. [2] Wilson, Probable inference, JASA 22 (1927).
.. [3] Franco, Little, Louis and Slud, Comparative study of confidence intervals for proportions
       in complex sample surveys, J. Survey Stat. Methodol. 7 (2019): Wilson and Jeffreys on the
       effective sample size.
.. [4] Brown, Cai and DasGupta, Interval estimation for a binomial proportion, Stat. Sci. 16 (2001).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot

import numpy as np

from assay.core.betting import Bets
from assay.core.class_means import ClassMean
from assay.core.estimate import Moments
from assay.core.forms import Metric
from assay.core.special import betaincinv, z_of
from assay.core.stratified import ValueTests, extra_outcomes
from assay.core.tallies import Tallies
from assay.core.types import Floats
from assay.errors import InputError

Ends = tuple[Floats, Floats]
Formula = Callable[[Floats, Floats, Floats, float], Ends]


def effective_size(value: Floats, variance: Floats, n: Floats) -> Floats:
    """Size of a simple random sample with the same variance: n / design effect [3]_.

    The design effect is the variance over that of a random sample, value(1 - value)/(n - 1).
    Without observed variation no gain is claimed: the effective size is n. If the estimate is 0 or
    1 but the variance of some stratum is only bounded, value(1 - value) is taken at (n value +
    1/2)/(n + 1), and the size is at most n.

    >>> value, n = np.array([0.9, 0.9, 1.0]), np.array([101.0, 101.0, 101.0])
    >>> effective_size(value, np.array([0.0009, 0.00045, 0.0]), n)
    array([101., 202., 101.])
    """
    spread = value * (1 - value)
    seen, varies = spread > 0, variance > 0
    per_label = n / np.maximum(n - 1, 1.0)
    gain = per_label * spread / np.where(varies, variance, 1.0)
    shrunk = (n * value + 0.5) / (n + 1)
    cautious = np.minimum(n, shrunk * (1 - shrunk) / np.where(varies, variance, 1.0))
    return np.asarray(np.where(varies, np.where(seen, gain, cautious), n))


def normal(value: Floats, variance: Floats, n: Floats, confidence: float) -> Ends:
    """Compute the papers' normal interval [1]_: value -+ z sqrt(variance), cut at 0 and 1.

    `value`, `variance`, (...): the estimate and its variance; `n`, (...): the labels behind it.

    >>> normal(np.array(0.9), np.array(0.0009), np.array(100.0), 0.95)
    (array(0.84120108), array(0.95879892))
    """
    reach = z_of(confidence) * np.sqrt(variance)
    none = n == 0
    low, high = np.maximum(value - reach, 0.0), np.minimum(value + reach, 1.0)
    return np.asarray(np.where(none, 0.0, low)), np.asarray(np.where(none, 1.0, high))


def wilson(value: Floats, variance: Floats, n: Floats, confidence: float) -> Ends:
    """Wilson's score interval [2]_ at the effective sample size [3]_.

    >>> low, high = wilson(np.array(1.0), np.array(0.0), np.array(100.0), 0.95)
    >>> low.round(4), high
    (np.float64(0.963), array(1.))
    """
    size = effective_size(value, variance, n)
    z2 = z_of(confidence) ** 2
    centre = (size * value + z2 / 2) / (size + z2)
    reach = np.sqrt(z2 * size * value * (1 - value) + z2**2 / 4) / (size + z2)
    # At 0 and 1 the formula gives exactly 0 and 1; rounding must not spoil that.
    low = np.where(value > 0, np.maximum(centre - reach, 0.0), 0.0)
    high = np.where(value < 1, np.minimum(centre + reach, 1.0), 1.0)
    return np.asarray(np.where(n == 0, 0.0, low)), np.asarray(np.where(n == 0, 1.0, high))


def jeffreys(value: Floats, variance: Floats, n: Floats, confidence: float) -> Ends:
    """Jeffreys interval: the middle of the Beta posterior at the effective size [3]_.

    Beta(m v + 1/2, m (1 - v) + 1/2) with m the effective size; the lower end is 0 at v = 0 and the
    upper end 1 at v = 1 [4]_.

    >>> low, high = jeffreys(np.array(1.0), np.array(0.0), np.array(100.0), 0.95)
    >>> low.round(4), high
    (np.float64(0.9753), array(1.))
    """
    size = effective_size(value, variance, n)
    yes, no = size * value + 0.5, size * (1 - value) + 0.5
    tail = (1 - confidence) / 2
    low = np.where(value > 0, betaincinv(yes, no, tail), 0.0)
    high = np.where(value < 1, betaincinv(yes, no, 1 - tail), 1.0)
    return np.asarray(np.where(n == 0, 0.0, low)), np.asarray(np.where(n == 0, 1.0, high))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Input of an interval: the labels, how they were drawn, and the stopping rule."""

    tallies: Tallies
    metric: Metric
    moments: Moments
    replacement: bool
    explored: bool = False
    stop: str = "width"
    bets: Bets | None = None


@dataclass(frozen=True)
class Interval:
    """An interval's formula, its source, and when it is valid.

    `may_stop`: at the first narrow look, which stops an evaluation; `anytime`: at every look
    simultaneously. Otherwise it is valid for one look, at a number of labels fixed in advance.
    `once` is the reference of one that may stop, if it is made for one look after all.
    """

    ends: Callable[[Evidence, float], Ends]
    reference: str
    may_stop: bool = False
    anytime: bool = False
    once: str = ""


def _of_moments(formula: Formula) -> Callable[[Evidence, float], Ends]:
    """Adapt a formula of estimate, variance and labels to `Evidence`."""

    def ends(evidence: Evidence, confidence: float) -> Ends:
        moments = evidence.moments
        tallies = evidence.tallies
        labels = np.where(moments.defined, tallies.n.sum(axis=-1), 0.0)
        # As shares of the metric's range; of all but Matthews correlation that is 0 to 1 itself.
        lowest, range_ = evidence.metric.lowest, 1 - evidence.metric.lowest
        share, variance = (moments.value - lowest) / range_, moments.variance / range_**2
        low, high = formula(share, variance, labels, confidence)
        # Labels that all agree show no variance; with unlabelled items left that proves nothing.
        unknown = (tallies.n < tallies.N).any(axis=-1) | evidence.replacement
        point = unknown & (low >= high)
        if point.any():
            less, more = wilson(share, 0 * labels, labels, confidence)
            low, high = np.where(point, less, low), np.where(point, more, high)
        return lowest + range_ * low, lowest + range_ * high

    return ends


def of_difference(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float]:
    """Interval of a difference of two independent values, from an interval of each.

    d - sqrt((v1 - l1)^2 + (u2 - v2)^2) and d + sqrt((u1 - v1)^2 + (v2 - l2)^2): each end adds up
    the squares of the distances that lead there ([1]_; of two shares, Newcombe's tenth method).

    `first`, `second`: the value and the ends of its interval, both at the same confidence.

    References
    ----------
    .. [1] Zou and Donner (2008). Construction of confidence limits about effect measures: a general
       approach. Statistics in Medicine 27.

    >>> low, high = of_difference((0.95, 0.92, 0.97), (0.9, 0.86, 0.93))
    >>> round(low, 4), round(high, 4)
    (0.0076, 0.0947)
    """
    (v1, l1, u1), (v2, l2, u2) = first, second
    return v1 - v2 - hypot(v1 - l1, u2 - v2), v1 - v2 + hypot(u1 - v1, v2 - l2)


def stratified(evidence: Evidence, confidence: float) -> Ends:
    """Interval of `core.stratified`, for the stopping rule in use."""
    if isinstance(evidence.metric, ClassMean):
        return evidence.metric.ends(evidence.tallies, confidence, extra_outcomes(evidence.stop))
    low, high = ValueTests(
        evidence.tallies,
        evidence.metric,
        replacement=evidence.replacement,
        confidence=confidence,
        b=extra_outcomes(evidence.stop),
        explored=evidence.explored,
        stops=evidence.stop != "budget",
    ).ends()
    return evidence.metric.widened(low, high)


def betting(evidence: Evidence, confidence: float) -> Ends:
    """Values against which no bettor of `core.betting` has grown rich."""
    if evidence.bets is None:
        raise InputError(
            "the betting interval needs the bets on every card, in the order they were drawn",
            hint="campaigns and simulations of Design.guaranteed() keep them",
        )
    return evidence.bets.ends(confidence)


INTERVALS: dict[str, Interval] = {
    "stratified": Interval(
        stratified,
        "stratified profile likelihood, a test at each value, for a stop at a narrow look "
        "(docs/certainty.md)",
        may_stop=True,
        once="stratified profile likelihood, a test at each value, for one look at the end of a "
        "budget (docs/certainty.md)",
    ),
    "betting": Interval(
        betting,
        "betting confidence sequence (Waudby-Smith and Ramdas 2024): a theorem at every look",
        may_stop=True,
        anytime=True,
    ),
    "normal": Interval(_of_moments(normal), "normal approximation (Bennett and Carvalho 2010)"),
    "wilson": Interval(
        _of_moments(wilson), "Wilson 1927, on the effective sample size (Franco et al. 2019)"
    ),
    "jeffreys": Interval(
        _of_moments(jeffreys),
        "Beta posterior under Jeffreys' prior, on the effective sample size (Franco et al. 2019)",
    ),
}
