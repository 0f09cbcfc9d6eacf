"""A metric of a part of the population (a *domain*, a slice) from labels of the whole.

The number of a stratum's items in the slice is unknown, so both numerator and denominator are
estimated, by domain estimation from a stratified sample [1]_, [2]_: each of a stratum's n labels
stands for N/n items, and

    R = sum_h (N_h / n_h) x_h / sum_h (N_h / n_h) d_h

with d labels that count (in the slice, and in the metric's denominator) and x of these in its
numerator. The variance is that of the total of z = (numerator - R denominator) / D, which is 0 for
labels outside of the slice. The interval is Korn and Graubard's [3]_: that of Clopper and Pearson
at the effective sample size.

Two rules keep it valid if the labels followed the errors (docs/slices.md). For the variance alone,
one more label that is in the numerator, and one that is not, are added to the strata that may hold
such items, in proportion to their sizes: a stratum whose few labels are all equal does not count as
pure. And the effective size never exceeds the items behind the labels that count: repeated draws
have no new information.

F1 is not a share, but a function of one: with J the share of true positives among the items that
are positive or predicted so, F1 = 2J / (1 + J). Its interval is J's, transformed.

Balanced accuracy and Matthews correlation are functions of four such sums, the true and false
positives and negatives of the slice. A label's part z in their variance is the metric's slope by
its kind of item; a ratio is a special case. Their interval is Clopper and Pearson's, too: the
metric is transformed to a share J of its range, and the effective size is the number of labels
whose share has the variance of J.

References
----------
.. [1] Cochran, Sampling Techniques, 3rd ed., Wiley 1977, section 5A.14.
.. [2] Särndal, Swensson and Wretman, Model Assisted Survey Sampling, Springer 1992, chapter 10.
.. [3] Korn and Graubard, Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data, Survey Methodology 24 (1998) 193-201.
.. [4] Parker et al., National Center for Health Statistics data presentation standards for
       proportions, Vital and Health Statistics 2(175), 2017.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from assay.core.metrics import kind_of
from assay.core.special import betaincinv, z_of
from assay.core.types import Bools, Floats, Ints

_EXTRA = 1.0  # labels of each kind added for the variance
_LEAST, _WIDEST, _NARROW, _RELATIVE = 30, 0.30, 0.05, 1.30  # [4]_


@dataclass(frozen=True, eq=False)
class Domain:
    """Estimate of a metric in a slice; arrays of shape (...).

    `value` is 1/2 where no label counts; `labels` are those that do, `effective` is the size of a
    simple random sample with the same information.
    """

    value: Floats
    variance: Floats
    low: Floats
    high: Floats
    labels: Floats
    effective: Floats


class Doubt(IntEnum):
    """Why an estimate is too uncertain to be shown; 0 if it is not."""

    NONE = 0
    FEW_LABELS = 1
    FEW_EFFECTIVE = 2
    WIDE = 3
    WIDE_FOR_ITS_VALUE = 4


def kinds(metric: str, says_yes: Bools, positive: Bools) -> Ints:
    """Role of items in a metric: 0 in its numerator, 1 in its denominator only.

    For F1 the role is that in J (see above). In a metric of both classes it is true positive (0),
    false positive, false negative or true negative (3). Items that do not count have -1.

    >>> yes, positive = np.array([True, True, False]), np.array([True, False, True])
    >>> kinds("recall", yes, positive), kinds("balanced_accuracy", yes, positive)
    (array([ 0, -1,  1]), array([0, 1, 2]))
    """
    kind = kind_of(metric)
    place = 2 * ~says_yes + ~positive
    if kind.power is not None:
        return np.asarray(place)
    as_what = [
        0 if top else 1 if bottom else -1
        for top, bottom in zip(*(kind.top, kind.bottom), strict=True)
    ]
    return np.asarray(np.array(as_what)[place])


Share = Callable[[Floats], tuple[Floats, Floats, Bools]]


def share_of(metric: str) -> tuple[int, Share]:
    """Count the roles of items in a metric, and give the metric as a share of their sums.

    The share is a function of the sums, (..., K), that returns its value, its slopes (..., K), and
    where it is defined.
    """
    kind = kind_of(metric)
    if kind.power is None:
        return 2, plain_share

    def of_range(sums: Floats) -> tuple[Floats, Floats, Bools]:
        range_ = 1 - kind.lowest
        share = (kind.value(sums) - kind.lowest) / range_
        return share, kind.gradient(sums) / range_, kind.defined(sums)

    return 4, of_range


def plain_share(sums: Floats) -> tuple[Floats, Floats, Bools]:
    """Share of the first of two sums in both; its slopes; and where it is defined."""
    whole = sums.sum(axis=-1)
    known = whole > 0
    total = np.where(known, whole, 1.0)
    value = np.where(known, sums[..., 0] / total, 0.5)
    slopes = np.stack([1 - value, -value], axis=-1) / total[..., None]
    return value, slopes, known


def domain(
    # N, n, (..., H): stratum sizes, and labels in each; a stratum without labels does not count.
    N: Floats,
    n: Floats,
    # (..., H, K): labels in the slice, by their role (`kinds`)
    counts: Floats,
    *,
    possible: Bools,  # (H, K): the strata that may hold items with this role
    confidence: float,
    # The metric as a share (`share_of`); default: that of the first of two kinds.
    share: Share = plain_share,
    # (..., H): finite population correction: 1 if labels were drawn with replacement, 0 where all
    # is known. Default: 1 - n/N.
    left: Floats | None = None,
    # (...): the items behind the labels that count, if some were drawn more than once.
    items: Floats | None = None,
) -> Domain:
    """Estimate of a metric in a slice, from labels.

    The effective size compares the variance with that of the same labels in a single stratum, so
    with one stratum the interval is Clopper and Pearson's. The finite population correction divides
    the effective size. A stratum with one label has no variance of its own: its variance is about
    the slice's mean, 0.

    Korn and Graubard correct for the variance's degrees of freedom. These are many if labels are of
    single items, not of a few clusters; in simulation the correction made no difference, and is
    left out.
    """
    weight = N / np.maximum(n, 1.0)
    sums = (weight[..., None] * counts).sum(axis=-2)
    value, slopes, known = share(sums)
    labels = counts.sum(axis=(-2, -1)) if items is None else items
    more = _EXTRA * _shared_out(N, possible)
    variances = weight * N * spread(slopes[..., None, :], counts, n, more=more)
    variance = variances.sum(axis=-1)
    if left is None:
        left = 1 - np.minimum(n / np.maximum(N, 1.0), 1.0)
    remaining = (variances * left).sum(axis=-1)
    # The same labels, drawn from one stratum, and a share of them.
    size, drawn = np.broadcast_to(N, n.shape).sum(axis=-1), np.maximum(n.sum(axis=-1), 1.0)
    total = np.where(known, sums.sum(axis=-1), 1.0)
    there = total / size * drawn
    alike = np.stack([value, 1 - value], axis=-1)
    _, slopes, _ = plain_share(alike * total[..., None])
    alone = spread(slopes, alike * there[..., None], drawn, more=np.full(2, _EXTRA))
    alone = alone * size**2 / drawn
    varies = variance > 0
    some = np.where(varies, variance, 1.0)
    effective = np.where(varies, np.minimum(there * alone / some, labels), labels)
    share_left = np.where(varies, remaining / some, 1.0)
    effective = np.where(known, effective, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(effective > 0, effective / share_left, 0.0)
    low, high = clopper_pearson(value, effective, confidence)
    return Domain(value, np.where(known, remaining, 0.25), low, high, labels, effective)


def clopper_pearson(value: Floats, size: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval for a share of a sample of any real size.

    Size 0 gives the whole range; an infinite size gives a point.

    >>> low, high = clopper_pearson(np.array([0.9, 1.0]), np.array([50.0, 30.0]), 0.95)
    >>> low.round(4), high.round(4)
    (array([0.7819, 0.8843]), array([0.9667, 1.    ]))
    """
    tail, endless = (1 - confidence) / 2, np.isinf(size)
    size = np.where(endless, 1.0, size)
    hits = size * value
    misses = size - hits
    low = np.where(hits > 0, betaincinv(np.where(hits > 0, hits, 1.0), misses + 1, tail), 0.0)
    high = betaincinv(hits + 1, np.where(misses > 0, misses, 1.0), 1 - tail)
    high = np.where(misses > 0, high, 1.0)
    return np.asarray(np.where(endless, value, low)), np.asarray(np.where(endless, value, high))


def as_metric(metric: str, share: Domain) -> Domain:
    """Estimate of a metric from that of the share that it is a function of."""
    kind = kind_of(metric)
    k, lowest, range_ = max(kind.top), kind.lowest, 1 - kind.lowest

    def carried(j: Floats) -> Floats:
        return np.asarray(lowest + range_ * k * j / (1 + (k - 1) * j))

    return replace(
        share,
        value=carried(share.value),
        low=carried(share.low),
        high=carried(share.high),
        variance=share.variance * (range_ * k / (1 + (k - 1) * share.value) ** 2) ** 2,
    )


def doubts(estimates: Domain, lowest: float = 0.0) -> Ints:
    """Why estimates are too uncertain to be shown, as a `Doubt`, by the NCHS's rules [4]_.

    There are fewer than 30 labels, or effectively fewer; the interval is 0.30 wide or wider; or it
    is wider than 0.05, and wider than 130% of the estimate. Where all is known, there is no doubt.
    The rules are for proportions: those of a range from `lowest` to 1.

    >>> low, high = np.array([0.78, 0.01]), np.array([0.97, 0.1])
    >>> estimates = Domain(np.array([0.9, 0.04]), low * 0, low, high, low * 0 + 50, low * 0 + 50)
    >>> [Doubt(doubt).name for doubt in doubts(estimates)]
    ['NONE', 'WIDE_FOR_ITS_VALUE']
    """
    width, share = (
        (estimates.high - estimates.low) / (1 - lowest),
        (estimates.value - lowest) / (1 - lowest),
    )
    relative = (width > _NARROW) & (width > _RELATIVE * share)
    doubt = np.where(relative, Doubt.WIDE_FOR_ITS_VALUE, Doubt.NONE)
    doubt = np.where(width >= _WIDEST, Doubt.WIDE, doubt)
    doubt = np.where(estimates.effective < _LEAST, Doubt.FEW_EFFECTIVE, doubt)
    doubt = np.where(estimates.labels < _LEAST, Doubt.FEW_LABELS, doubt)
    return np.asarray(np.where(np.isinf(estimates.effective), Doubt.NONE, doubt))


def _shared_out(N: Floats, where: Bools) -> Floats:
    """Each stratum's part of one label of each kind, (..., H, K), by size."""
    sizes = np.where(where, N[..., None], 0.0)
    return np.asarray(sizes / np.maximum(sizes.sum(axis=-2, keepdims=True), 1.0))


def spread(slopes: Floats, counts: Floats, n: Floats, *, more: Floats) -> Floats:
    """Variance s^2 of the contributions of n labels to a share, with extra labels for caution."""
    labels = n + more.sum(axis=-1)
    labels = np.where(labels > 0, labels, 1.0)
    rates = (counts + more) / labels[..., None]
    mean = np.where(n > 1, (rates * slopes).sum(axis=-1), 0.0)
    square = (rates * slopes**2).sum(axis=-1)
    return np.asarray((square - mean**2) * n / np.maximum(n - 1, 1.0))


# A judge as a classifier: Cohen's kappa, and how far its verdicts move a metric.
#
# A judge (another model, a rule, a cheap reviewer) gives verdicts on items that people judged, too.
# Its sensitivity, specificity and agreement are recall, specificity and accuracy of the judge, with
# its verdict as the prediction and people's answers as the truth. They are estimated like those of
# a slice (`core.subgroups`), so that disproportionate labels are weighted by stratum.
#
# Kappa [1]_ is agreement beyond chance: of a judge with TP true positives and so on,
#
#     kappa = 2 (TP TN - FP FN) / ((TP + FP) (FP + TN) + (TP + FN) (FN + TN)),
#
# a metric of both classes like any other (`core.metrics.KAPPA`).
#
# A classifier's metric by the judge's verdicts minus that by people's answers is the judge's bias
# for it; the difference of two classifiers' biases shows whether the judge favours one. They are
# sums of metrics of the same items, each item counted by its labels from classifiers, judge and
# people, so that their variance is that of the paired difference. Their interval is normal, of the
# variance with the extra labels of `core.subgroups`: one more of each kind.
#
# References
# ----------
# .. [1] Cohen, A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20 (1960).
# .. [2] Bonett and Price, Adjusted Wald confidence interval for a difference of binomial
#        proportions based on paired data, J. Educ. Behav. Stat. 37 (2012) 479-488.


@dataclass(frozen=True, eq=False)
class Term:
    """A metric in a sum of metrics of the same items."""

    sign: int
    metric: str
    # (K,): role of each kind of item: 0 a true positive, 1 a false positive, 2 a false negative, 3
    # a true negative, -1 none.
    places: Ints

    @property
    def sorting(self) -> Floats:
        """The matrix that adds sums by kind to the four roles, of shape (K, 4)."""
        return np.asarray(self.places[:, None] == np.arange(4), dtype=np.float64)

    def value(self, sums: Floats) -> Floats:
        """Metric of sums by kind, (..., K), without its sign."""
        return kind_of(self.metric).value(sums @ self.sorting)


def contrast_share(terms: Sequence[Term]) -> Share:
    """Position of a sum of metrics in its range, as a function of the sums by kind."""
    reach = contrast_reach(terms)

    def share(sums: Floats) -> tuple[Floats, Floats, Bools]:
        value = np.zeros(sums.shape[:-1])
        slopes, known = np.zeros(sums.shape), np.ones(sums.shape[:-1], dtype=np.bool_)
        for term in terms:
            kind, four = kind_of(term.metric), sums @ term.sorting
            value = value + term.sign * kind.value(four)
            slopes = slopes + term.sign * kind.gradient(four) @ term.sorting.T
            known = known & kind.defined(four)
        return (value / reach + 1) / 2, slopes / (2 * reach), known

    return share


def contrast_reach(terms: Sequence[Term]) -> float:
    """Largest distance from 0 that a sum of metrics can have."""
    return sum(1 - kind_of(term.metric).lowest for term in terms) / 2


def as_contrast(share: Domain, reach: float, confidence: float) -> Domain:
    """Estimate of a sum of metrics: a normal interval, clipped to its range.

    The share of its range has no meaningful effective size, so that is the number of labels.
    """
    value, variance = reach * (2 * share.value - 1), (2 * reach) ** 2 * share.variance
    wide = z_of(confidence) * np.sqrt(variance)
    known = share.effective > 0
    return replace(
        share,
        value=value,
        variance=variance,
        low=np.where(known, np.maximum(value - wide, -reach), -reach),
        high=np.where(known, np.minimum(value + wide, reach), reach),
    )
