"""Allocation that goes where the errors are, as far as they have been seen to be anywhere.

Neyman's allocation from a stratum's own counts follows luck as well as errors: strata that looked
clean early are starved, and what is hidden there is never found. Three things hold it back here.

How far a stratum's own rate is believed depends on all strata together, as in James and Stein's
estimator [1]_: if their counts differ no more than chance makes them differ (a chi-square of about
H - 1), the labels go by weight alone, and the more they differ the more each stratum's own rate
counts. Data decide; many strata cost little where they tell nothing.

A part of the labels always goes by weight: the part that makes the interval narrowest. Labels by
weight bound what strata that look clean may hide; the others make the estimate vary less. With
s = sum_h w_h sqrt(q_h (1 - q_h)) and n labels, a share kappa of them by weight, the two ends of the
interval (`core.stratified`) lie about

    z s / sqrt((1 - kappa) n)  and  kappa s^2 / (2 (1 - kappa)) + z^2 / (2 kappa n)

from the estimate, of which the second grows with what the clean strata may hide. Their sum is least
near kappa = k / (1 + k) with k = c / sqrt(1 + c) and c = z / (s sqrt(n)).

And where a population is used up, allocation goes back to weight: the error of what is left shrinks
as the standard error does, but what luck hid does not. Of the share that would go elsewhere, F
remains, the share of the variance that is left (docs/certainty.md).

What is left of luck shows in the estimate: a stratum with too many errors gets more labels, which
correct it; one with too few gets none. `Exploration.pull` says how strongly labels follow errors,
so that `core.stratified` can make up for it.

References
----------
.. [1] B. Efron and C. Morris (1973). Stein's estimation rule and its competitors: an empirical
   Bayes approach. Journal of the American Statistical Association 68, 117-130.
"""

from dataclasses import dataclass

import numpy as np

from assay.core.types import Floats

_Z = 1.96  # of the interval that the shares are made for; at other confidences they differ little
_FLOOR = 0.05  # the share of labels that always goes by weight
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Exploration:
    """Where the next labels should go, and what that does to the estimate; shape (..., H).

    Parameters
    ----------
    shares : array
        The share of all labels that each stratum should have had; sum 1.
    pull : array
        By how many percent a stratum's share rises when its outcomes rise by one percent, from 0
        (labels go by weight) to 1/2 (Neyman's allocation of rare outcomes). Where the outcome is
        the more frequent one of a stratum, the same of the other one, with a minus.
    """

    shares: Floats
    pull: Floats


def explore(w: Floats, n: Floats, x: Floats, left: Floats | float = 1.0) -> Exploration:
    """Return the shares of labels, and how they follow the outcomes.

    Parameters
    ----------
    w, n, x : array, shape (..., H)
        What a stratum's rate weighs in the metric; its labels; and those with the outcome, the
        rarer of the two.
    left : array, shape (..., H)
        The share of each stratum's variance that is left, (N - n)/(N - 1); 1 where labels are
        drawn with replacement.

    Examples
    --------
    Twenty outcomes of each of two strata say nothing about where to look; forty and none do.

    >>> w, n = np.full(2, 0.5), np.array([100.0, 100.0])
    >>> explore(w, n, np.array([20.0, 20.0])).shares.round(2)
    array([0.5, 0.5])
    >>> explore(w, n, np.array([40.0, 0.0])).shares.round(2)
    array([0.74, 0.26])
    """
    w = w / w.sum(axis=-1, keepdims=True)
    labels, found = n.sum(axis=-1, keepdims=True), x.sum(axis=-1, keepdims=True)
    rate = (w * x / np.maximum(n, 1.0)).sum(axis=-1, keepdims=True)
    overall = np.clip((labels * rate + 0.5) / (labels + 1), _TINY, 1 - _TINY)
    pooled = np.clip((found + 0.5) / (labels + 1), _TINY, 1 - _TINY)
    off = (x - n * pooled) ** 2 / np.maximum(n * pooled * (1 - pooled), _TINY)
    chi2 = off.sum(axis=-1, keepdims=True)
    believed = 1 - np.minimum(1.0, (w.shape[-1] - 1) / np.maximum(chi2, _TINY))
    own = (x + 0.5) / (n + 1)
    q = np.clip((1 - believed) * overall + believed * own, _TINY, 1 - _TINY)
    spread = w * np.sqrt(q * (1 - q))
    total = spread.sum(axis=-1, keepdims=True)
    c = _Z / (total * np.sqrt(np.maximum(labels, 1.0)))
    k = c / np.sqrt(1 + c)
    remains = (w * left).sum(axis=-1, keepdims=True)
    by_weight = 1 - (1 - np.maximum(k / (1 + k), _FLOOR)) * remains
    neyman = (1 - by_weight) * spread / total
    shares = neyman + by_weight * w
    # The chain rule through q, the square root, the sum of the spreads and the part by weight.
    rare = believed * (own / q) * x / (x + 0.5) * np.maximum(0.5 - q, 0.0) / (1 - q)
    y = n - x
    other = believed * ((1 - own) / (1 - q)) * y / (y + 0.5) * np.maximum(q - 0.5, 0.0) / q
    pull = (rare - other) * (1 - spread / total) * neyman / np.maximum(shares, _TINY)
    return Exploration(np.asarray(shares), np.asarray(pull))
