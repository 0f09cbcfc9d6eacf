"""A judge as a classifier: Cohen's kappa, and how far its verdicts move a metric.

A judge (another model, a rule, a cheap reviewer) has a verdict on items that people judged, too.
Its sensitivity, specificity and agreement are recall, specificity and accuracy of the judge, with
its verdict in the place of the prediction and people's answer as the truth; they are estimated as
those of a slice are (`core.subgroups`), so that labels that were drawn out of proportion count by
their strata.

Kappa [1]_ is agreement beyond chance: of a judge with TP true positives and so on,

    kappa = 2 (TP TN - FP FN) / ((TP + FP) (FP + TN) + (TP + FN) (FN + TN)),

a function of the four sums, and a label's part in its variance is its slope by the kind of item.

A metric of a classifier by the judge's verdicts less the same metric by people's answers says how
far the judge flatters it; the difference of two classifiers' such gaps, whether it flatters one
over the other. They are sums of metrics of the same items, each item counted by what classifiers,
judge and people say of it, so that their variance is of the paired difference. Their interval is
normal, of the variance with the extra labels of `core.subgroups`: one more of each kind.

References
----------
.. [1] Cohen, A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20 (1960).
.. [2] Bonett and Price, Adjusted Wald confidence interval for a difference of binomial
       proportions based on paired data, J. Educ. Behav. Stat. 37 (2012) 479-488.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.core.metrics import METRICS, canonical_metric
from assay.core.special import z_of
from assay.core.subgroups import Domain, Share
from assay.core.types import Bools, Floats, Ints


def kappa_share(sums: Floats) -> tuple[Floats, Floats, Bools]:
    """Return where in its range kappa lies, its slopes by the four sums, and where it is known.

    >>> share, _, _ = kappa_share(np.array([20.0, 5.0, 10.0, 15.0]))
    >>> (2 * share - 1).round(3)
    np.float64(0.4)
    """
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    under = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    known = under > 0
    some = np.where(known, under, 1.0)
    kappa = np.where(known, 2 * (tp * tn - fp * fn), 0.0) / some
    top = 2 * np.stack([tn, -fn, -fp, tp], axis=-1)
    bottom = np.stack([fp + fn + 2 * tn, tp + 2 * fp + tn, tp + 2 * fn + tn, 2 * tp + fp + fn], -1)
    slopes = (top - kappa[..., None] * bottom) / some[..., None]
    return (kappa + 1) / 2, np.where(known[..., None], slopes, 0.0) / 2, np.asarray(known)


def as_kappa(share: Domain) -> Domain:
    """Return what is known of kappa where its place in its range is known."""
    return replace(
        share,
        value=2 * share.value - 1,
        low=2 * share.low - 1,
        high=2 * share.high - 1,
        variance=4 * share.variance,
    )


@dataclass(frozen=True, eq=False)
class Term:
    """A metric in a sum of metrics of the same items."""

    sign: int
    metric: str
    # (K,): as what each kind of item counts: 0 a true positive, 1 a false positive, 2 a false
    # negative, 3 a true negative, -1 not at all.
    places: Ints

    @property
    def sorting(self) -> Floats:
        """The matrix that sorts sums by kind into the four, of shape (K, 4)."""
        return np.asarray(self.places[:, None] == np.arange(4), dtype=np.float64)

    def value(self, sums: Floats) -> Floats:
        """Return the metric of sums by kind, (..., K), without its sign."""
        return METRICS[canonical_metric(self.metric)].value(sums @ self.sorting)


def contrast_share(terms: Sequence[Term]) -> Share:
    """Return the place of a sum of metrics in its range, as a function of the sums by kind.

    >>> judge = Term(1, "accuracy", np.array([0, 0]))  # says yes to both kinds of items
    >>> people = Term(-1, "accuracy", np.array([0, 1]))
    >>> value, slopes, known = contrast_share([judge, people])(np.array([90.0, 10.0]))
    >>> (2 * value - 1).round(3), bool(known)
    (np.float64(0.1), True)
    """
    reach = contrast_reach(terms)

    def share(sums: Floats) -> tuple[Floats, Floats, Bools]:
        value = np.zeros(sums.shape[:-1])
        slopes, known = np.zeros(sums.shape), np.ones(sums.shape[:-1], dtype=np.bool_)
        for term in terms:
            kind, four = METRICS[canonical_metric(term.metric)], sums @ term.sorting
            value = value + term.sign * kind.value(four)
            slopes = slopes + term.sign * kind.gradient(four) @ term.sorting.T
            known = known & kind.defined(four)
        return (value / reach + 1) / 2, slopes / (2 * reach), known

    return share


def contrast_reach(terms: Sequence[Term]) -> float:
    """Return how far from 0 a sum of metrics may be."""
    return sum(1 - METRICS[canonical_metric(term.metric)].lowest for term in terms) / 2


def as_contrast(share: Domain, reach: float, confidence: float) -> Domain:
    """Return what is known of a sum of metrics: a normal interval, cut off at its range.

    A share of its range says nothing of its effective size: it has none here but the labels.
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
