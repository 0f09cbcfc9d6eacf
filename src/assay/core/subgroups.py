"""A metric of a part of the population (a *domain*, a slice) from labels of all of it.

Nobody knows how many items of a stratum lie in the slice, so both numbers of the metric are
estimated, by domain estimation from a stratified sample [1]_, [2]_: each of a stratum's n labels
stands for N/n items, and

    R = sum_h (N_h / n_h) x_h / sum_h (N_h / n_h) d_h

with d labels that count (in the slice, and in the metric's denominator) and x of these in its
numerator. The variance is that of the total of z = (numerator - R denominator) / D, which is 0 for
labels outside of the slice. The interval is Korn and Graubard's [3]_: that of Clopper and Pearson
at the effective sample size.

Two things keep it honest where the labels followed the errors (docs/slices.md). For the variance
alone, one more label that is in the numerator, and one that is not, are added to the strata that
may hold such items, in proportion to their sizes: a stratum whose few labels are all alike is not
taken to be pure. And the effective size never exceeds the items behind the labels that count: who
is drawn again tells nothing new.

F1 is no share of anything, but a function of one: with J the share of true positives among the
items that are positive or predicted so, F1 = 2J / (1 + J). Its interval is J's, carried over.

References
----------
.. [1] Cochran, Sampling Techniques, 3rd ed., Wiley 1977, section 5A.14.
.. [2] Särndal, Swensson and Wretman, Model Assisted Survey Sampling, Springer 1992, chapter 10.
.. [3] Korn and Graubard, Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data, Survey Methodology 24 (1998) 193-201.
.. [4] Parker et al., National Center for Health Statistics data presentation standards for
       proportions, Vital and Health Statistics 2(175), 2017.
"""

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from scipy.special import betaincinv

from assay.core.metrics import METRICS, canonical_metric
from assay.core.types import Bools, Floats, Ints

_EXTRA = 1.0  # labels of each kind that are added for the variance
_LEAST, _WIDEST, _NARROW, _RELATIVE = 30, 0.30, 0.05, 1.30  # [4]_


@dataclass(frozen=True, eq=False)
class Domain:
    """What is known of a metric in a slice; arrays of shape (...).

    `value` is 1/2 where no label counts; `labels` are those that do, `effective` is the size of a
    simple random sample that would say as much.
    """

    value: Floats
    variance: Floats
    low: Floats
    high: Floats
    labels: Floats
    effective: Floats


class Doubt(IntEnum):
    """Why an estimate should not be shown as one; 0 where it may be."""

    NONE = 0
    FEW_LABELS = 1
    FEW_EFFECTIVE = 2
    WIDE = 3
    WIDE_FOR_ITS_VALUE = 4


def counted(metric: str, says_yes: Bools, positive: Bools) -> tuple[Bools, Bools]:
    """Return whether an item is in a metric's denominator, and whether in its numerator.

    Of F1, it is J's (see above).

    Examples
    --------
    >>> yes, positive = np.array([True, True, False]), np.array([True, False, True])
    >>> counted("recall", yes, positive)
    (array([ True, False,  True]), array([ True, False, False]))
    """
    kind = METRICS[canonical_metric(metric)]
    place = 2 * ~says_yes + ~positive
    return np.array(kind.bottom)[place] > 0, np.array(kind.top)[place] > 0


def domain(
    N: Floats,
    n: Floats,
    d: Floats,
    x: Floats,
    *,
    gains: Bools,
    loses: Bools,
    confidence: float,
    left: Floats | None = None,
    items: Floats | None = None,
) -> Domain:
    """Return what labels say of a slice.

    Parameters
    ----------
    N, n : array, shape (..., H)
        Stratum sizes, and labels in each; a stratum without labels counts for nothing.
    d, x : array, shape (..., H)
        The labels that are in the slice and in the metric's denominator, and those of them that
        are in its numerator.
    gains, loses : array of bool, shape (H,)
        The strata that may hold items in the numerator, and items in the denominator only.
    confidence : float
    left : array, shape (..., H), optional
        The share of each stratum's variance that is left: 1 where labels were drawn with
        replacement, 0 where all is known. Otherwise that of a finite population, 1 - n/N.
    items : array, shape (...), optional
        The items behind the labels in d, where some were drawn more than once.

    Notes
    -----
    The effective size compares the variance with that of the same labels in a single stratum, so
    with one stratum the interval is Clopper and Pearson's. The finite population is taken into
    account by dividing the effective size by the share of the variance that is left. A stratum with
    one label has no variance of its own: it is taken about the slice's mean, 0.

    Korn and Graubard correct for the variance's degrees of freedom. These are many where labels are
    of single items, not of a few clusters; in simulation it made no difference, and is left out.

    Examples
    --------
    >>> N, n = np.array([9000.0, 1000.0]), np.array([60.0, 60.0])
    >>> both = np.array([True, True])
    >>> d, x = np.array([30.0, 20.0]), np.array([29.0, 8.0])
    >>> found = domain(N, n, d, x, gains=both, loses=both, confidence=0.95)
    >>> found.value.round(3), found.low.round(3), found.high.round(3), found.effective.round(1)
    (np.float64(0.928), np.float64(0.81), np.float64(0.983), np.float64(45.5))
    """
    weight = N / np.maximum(n, 1.0)
    whole, part = (weight * d).sum(axis=-1), (weight * x).sum(axis=-1)
    known = whole > 0
    total = np.where(known, whole, 1.0)
    value = np.where(known, part / total, 0.5)
    labels = d.sum(axis=-1) if items is None else items
    each = spread(
        value[..., None], x, d - x, n, more=(_shared_out(N, gains), _shared_out(N, loses))
    )
    variances = weight * N * each / total[..., None] ** 2
    variance = variances.sum(axis=-1)
    if left is None:
        left = 1 - np.minimum(n / np.maximum(N, 1.0), 1.0)
    remaining = (variances * left).sum(axis=-1)
    # The same labels, drawn from one stratum.
    size, drawn = np.broadcast_to(N, n.shape).sum(axis=-1), np.maximum(n.sum(axis=-1), 1.0)
    there = total / size * drawn
    alone = spread(value, value * there, (1 - value) * there, drawn, more=(_EXTRA, _EXTRA))
    alone = alone * size**2 / drawn / total**2
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
    """Return Clopper and Pearson's interval for a share of a sample, whose size need not be whole.

    A sample of no size says nothing; one without end, all.

    Examples
    --------
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
    """Return what is known of a metric where the share of `counted` is known.

    Where what is in the numerator counts k times, and all else in the denominator once, the metric
    is k J / (1 + (k - 1) J) of the share J: F1 = 2J / (1 + J). For all others k = 1.
    """
    k = max(METRICS[canonical_metric(metric)].top)

    def carried(j: Floats) -> Floats:
        return np.asarray(k * j / (1 + (k - 1) * j))

    return replace(
        share,
        value=carried(share.value),
        low=carried(share.low),
        high=carried(share.high),
        variance=share.variance * (k / (1 + (k - 1) * share.value) ** 2) ** 2,
    )


def doubts(found: Domain) -> Ints:
    """Return why estimates are too uncertain to be shown, as a `Doubt`, by the NCHS's rules [4]_.

    There are fewer than 30 labels, or effectively fewer; the interval is 0.30 wide or wider; or it
    is wider than 0.05, and wider than 130% of the estimate. Where all is known, there is no doubt.

    Examples
    --------
    >>> low, high = np.array([0.78, 0.01]), np.array([0.97, 0.1])
    >>> found = Domain(np.array([0.9, 0.04]), low * 0, low, high, low * 0 + 50, low * 0 + 50)
    >>> [Doubt(doubt).name for doubt in doubts(found)]
    ['NONE', 'WIDE_FOR_ITS_VALUE']
    """
    width = found.high - found.low
    relative = (width > _NARROW) & (width > _RELATIVE * found.value)
    doubt = np.where(relative, Doubt.WIDE_FOR_ITS_VALUE, Doubt.NONE)
    doubt = np.where(width >= _WIDEST, Doubt.WIDE, doubt)
    doubt = np.where(found.effective < _LEAST, Doubt.FEW_EFFECTIVE, doubt)
    doubt = np.where(found.labels < _LEAST, Doubt.FEW_LABELS, doubt)
    return np.asarray(np.where(np.isinf(found.effective), Doubt.NONE, doubt))


def _shared_out(N: Floats, where: Bools) -> Floats:
    """Return the extra label's part for each stratum."""
    sizes = np.where(where, N, 0.0)
    return np.asarray(_EXTRA * sizes / np.maximum(sizes.sum(axis=-1, keepdims=True), 1.0))


def spread(
    value: Floats,
    hits: Floats,
    misses: Floats,
    n: Floats,
    *,
    more: tuple[Floats | float, Floats | float],
) -> Floats:
    """Return s^2 of numerator - R denominator among n labels, with some more for caution.

    Parameters
    ----------
    value : array
        The metric R.
    hits, misses : array
        Labels in the numerator, and those in the denominator only.
    n : array
        All labels of the stratum.
    more : (array, array)
        Hits and misses that are added for caution.
    """
    labels = n + more[0] + more[1]
    labels = np.where(labels > 0, labels, 1.0)
    hit, miss = (hits + more[0]) / labels, (misses + more[1]) / labels
    mean = np.where(n > 1, hit * (1 - value) - miss * value, 0.0)
    square = hit * (1 - value) ** 2 + miss * value**2
    return np.asarray((square - mean**2) * n / np.maximum(n - 1, 1.0))
