"""Estimate of a metric and its variance from tallies.

Two estimators of a stratum's rate, named for what they do:

``unbiased``
    x/n, with the variance of paper 2, Proposition 4 (Eq. 6): p(1-p)/(n-1).
``smoothed``
    Paper 1's m-estimate (section 5), in the point and in the variance. It keeps a stratum whose
    few labels all agree from looking certain.

If a stratum has too few labels to estimate its variance, the bound 1/4 is used, the largest a rate
can have, and the stratum is reported in `Moments.bounded`. No stratum is dropped. Strata without
any label get the rate 1/2, with an error up to 1/2; as all errors may have the same sign, they are
added, not their squares.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from assay.core.allocation import explore
from assay.core.class_means import ClassMean
from assay.core.forms import Metric
from assay.core.stratified import drift_of, weigh
from assay.core.tallies import Tallies, plain_totals
from assay.core.types import Bools, Floats

Estimator = Literal["smoothed", "unbiased"]
ESTIMATORS: tuple[str, ...] = get_args(Estimator)

_BOUND = 0.25  # p(1-p) <= 1/4; and a guess of 1/2 is wrong by at most 1/2


@dataclass(frozen=True, eq=False)
class Moments:
    """A metric's estimate: `value`, `variance` of shape (...), and their quality.

    `defined` is False where the metric has no value yet (recall before the first positive);
    `bounded` (..., H) marks strata whose variance is a bound, not an estimate.
    """

    value: Floats
    variance: Floats
    defined: Bools
    bounded: Bools


def m_estimate(n: Floats, x: Floats) -> Floats:
    """Paper 1's smoothed rate (h + m/2)/(n + m), m = 2 at n = 0 and 1/sqrt(n) after.

    >>> m_estimate(np.array([0.0, 1.0, 4.0]), np.array([0.0, 1.0, 4.0]))
    array([0.5       , 0.75      , 0.94444444])
    """
    m = np.where(n == 0, 2.0, 1.0 / np.sqrt(np.maximum(n, 1.0)))
    return np.asarray((x + 0.5 * m) / (n + m))


def rates(tallies: Tallies, estimator: Estimator, *, replacement: bool) -> Floats:
    """Estimated rate of every stratum.

    The rate of a fully labelled stratum is known and not smoothed; one without labels gets 1/2.
    """
    n, x = tallies.n, tallies.x
    raw = np.where(n > 0, x, 0.5) / np.maximum(n, 1.0)
    if estimator == "unbiased":
        return np.asarray(raw)
    known = (n >= tallies.N) & (not replacement)
    return np.where(known, raw, m_estimate(n, x))


def rate_variances(
    tallies: Tallies, p: Floats, estimator: Estimator, *, replacement: bool
) -> tuple[Floats, Bools]:
    """Estimated variance of every stratum's rate p, and where it is only a bound.

    p(1-p)/(n-1) (paper 1, section 4; paper 2, Eq. 6), times 1 - n/N without replacement. Paper 1
    does not define n = 0 and n = 1, where n - 1 is no divisor. Here `unbiased` uses the bound 1/4;
    `smoothed` uses divisor 1, so that n = 0 gives the bound 1/4 and n = 1 gives 3/16, the smoothed
    rate's own variance.

    `p`, (..., H): `rates` of the same tallies.
    """
    N, n = tallies.N, tallies.n
    left = 1.0 if replacement else 1.0 - np.minimum(n / N, 1.0)
    variance = p * (1 - p) / np.maximum(n - 1, 1.0) * left
    open_ended = (n < N) | replacement
    if estimator == "smoothed":
        return np.asarray(variance), np.asarray((n == 0) & open_ended)
    bounded = (n < 2) & open_ended
    return np.where(bounded, _BOUND, variance), np.asarray(bounded)


def stratum_sd(tallies: Tallies, estimator: Estimator, *, replacement: bool) -> Floats:
    """Compute the standard deviation of the outcome in every stratum, for the next allocation.

    ``smoothed``: sqrt(p(1-p)) of the m-estimate (paper 1, Figure 1). ``unbiased``: the square root
    of s^2 = n/(n-1) p(1-p) (paper 2, Eq. 3); the bound 1/2 below two labels, where Eq. 3 is
    undefined.
    """
    n = tallies.n
    p = rates(tallies, estimator, replacement=replacement)
    if estimator == "smoothed":
        return np.sqrt(p * (1 - p))
    s2 = p * (1 - p) * n / np.maximum(n - 1, 1.0)
    return np.sqrt(np.where(n < 2, _BOUND, s2))


def estimate(
    tallies: Tallies, metric: Metric, estimator: Estimator, *, replacement: bool
) -> Moments:
    """Metric's estimate and its variance.

    The point is the metric of T_h = N_h p_h: Eq. 1 of paper 1 and Eq. 4 of paper 2 when the
    denominator is known. The variance is sum_h (g_h N_h)^2 v_h with g the metric's gradient
    (linearisation): Eq. 1 and Eq. 6 when the denominator is known and every stratum has labels.

    `estimator`: how a stratum's rate is estimated.
    """
    p = rates(tallies, estimator, replacement=replacement)
    v, bounded = rate_variances(tallies, p, estimator, replacement=replacement)
    T = tallies.N * p
    value = metric.value(T)
    spread = np.abs(metric.gradient(T)) * tallies.N * np.sqrt(v)
    # Sampled strata err independently; guesses may all be wrong the same way.
    guessed = bounded & (tallies.n == 0)
    sampled = (np.where(guessed, 0.0, spread) ** 2).sum(axis=-1)
    variance = sampled + np.where(guessed, spread, 0.0).sum(axis=-1) ** 2
    defined = (metric.denominator(T) > 0) & (tallies.n.sum(axis=-1) > 0)
    # The variance of a share is at most 1/4; linearisation near a zero denominator can exceed it.
    bound = _BOUND * (1 - metric.lowest) ** 2
    variance = np.where(defined, np.minimum(variance, bound), bound)
    if isinstance(metric, ClassMean):
        variance, bounded = metric.sample.variance + 0 * variance, np.zeros_like(bounded)
    return Moments(value, variance, np.asarray(defined), bounded)


# The reported value: the metric at rates corrected for how the labels were drawn.
#
# At the stop of an adaptive evaluation the plain estimate, sum_h N_h x_h / n_h, is biased for two
# reasons: labels followed the errors (`core.allocation`), so that strata which looked clean stayed
# so; and the evaluation stopped because its interval was narrow (`core.stratified`). Both biases
# are corrected. If all items are labelled there is no correction: the value is then the metric
# itself.


def quoted_value(
    tallies: Tallies, metric: Metric, *, replacement: bool, explored: bool, stops: bool
) -> Floats:
    """Metric's value as reported, shape (...).

    Eight errors in eighty labels of one stratum, and a stop by the width: most of an error more.
    """
    N, n, seen = np.broadcast_arrays(tallies.N, tallies.n, tallies.x)
    if isinstance(metric, ClassMean):  # its value allows for all of this
        return metric.value(plain_totals(N, n, seen))
    x = seen
    left = np.ones(n.shape) if replacement else (N - n) / np.maximum(N - 1, 1.0)
    if stops:
        x = drift_of(N, n, x, left, metric).corrected()
    T = plain_totals(N, n, x)
    if explored:
        now = Tallies.trusted(N, n, x, 0 * n)
        w, common = weigh(now, metric, T)
        turned = metric.rises(T) ^ common  # where the rarer outcome is the other one
        rare = np.where(turned, n - x, x)
        hidden = explore(w, n, rare, left).pull
        given = np.clip(rare + hidden, 0.0, n) - rare
        x = np.where(turned, x - given, x + given)
        T = plain_totals(N, n, x)
    # Within the bounds given by the remaining items.
    return metric.value(np.where(left < 1, np.clip(T, seen, seen + N - n), T))
