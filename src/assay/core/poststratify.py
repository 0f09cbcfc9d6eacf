"""Strata for labels that are there already: a random sample, cut by score after it was drawn.

Given how many labels fell into each stratum, those of a random sample are random samples of the
strata, so the interval of `core.stratified` (b = 0: one look) holds for them. Nothing here may
depend on the answers: strata that were chosen by them would make the interval too narrow.

References
----------
.. [1] Holt and Smith, Post stratification, J. R. Stat. Soc. A 142 (1979).
"""

from math import isqrt

import numpy as np
from scipy.special import chdtrc

from assay.core.types import Floats, Ints

_LABELS_A_BIN = 25  # with fewer the interval covered less than it says: docs/random_labels.md


def bins_for(labels: int) -> int:
    """Return how many bins of equal size to cut for so many labels.

    sqrt(n)/2, and never fewer than 25 labels a bin: more bins follow the score more closely, and
    leave fewer labels to bound each bin's rate with.

    Examples
    --------
    >>> [bins_for(n) for n in (10, 100, 300, 1000, 3000)]
    [1, 4, 8, 15, 27]
    """
    return max(1, min(labels // _LABELS_A_BIN, isqrt(labels) // 2))


def groups_with_labels(n: Ints, layer: Ints) -> Ints:
    """Return the group of each stratum, so that every group of a labelled layer has labels.

    Parameters
    ----------
    n : array, shape (H,)
        Labels in each stratum.
    layer : array, shape (H,)
        The layer (predicted label) of each stratum, in order. Groups never cross layers.

    Returns
    -------
    array of int64, shape (H,)
        Ascending from 0. A stratum without labels joins the one before it in its layer; at the
        layer's start, the first that has some.

    Examples
    --------
    >>> groups_with_labels(np.array([0, 9, 0, 8, 5]), np.array([0, 0, 0, 0, 1]))
    array([0, 0, 0, 1, 2])
    """
    opens = np.zeros(len(n), dtype=np.bool_)
    for each in np.unique(layer):
        inside = np.flatnonzero(layer == each)
        labelled = inside[n[inside] > 0]
        opens[labelled[1:]] = True
        opens[inside[0]] = True
    return np.asarray(np.cumsum(opens) - 1)


def chance_of_spread(N: Floats, n: Floats, layer: Ints) -> float:
    """Return how likely random samples of the layers are to be spread so unevenly, or more so.

    The chi-square test of the labels' counts against the strata's sizes, within each layer:
    sum (n_h - E_h)^2 / E_h with E_h = n N_h / N, times (N - 1)/(N - n) as no item is drawn twice.

    Parameters
    ----------
    N, n : array, shape (H,)
        Items and labels of each stratum. The test is good where 5 labels or more are expected.
    layer : array, shape (H,)
        The layer of each stratum.

    Examples
    --------
    >>> size, layer = np.array([1000.0, 1000.0]), np.array([0, 0])
    >>> round(chance_of_spread(size, np.array([55.0, 45.0]), layer), 2)
    0.31
    >>> chance_of_spread(size, np.array([90.0, 10.0]), layer) < 1e-9
    True
    """
    statistic, freedom = 0.0, 0
    for each in np.unique(layer):
        size, labels = N[layer == each], n[layer == each]
        if labels.sum() == 0 or labels.sum() == size.sum():
            continue  # nothing was drawn, or everything
        expected = labels.sum() * size / size.sum()
        left = (size.sum() - 1) / (size.sum() - labels.sum())
        statistic += float(((labels - expected) ** 2 / expected).sum() * left)
        freedom += len(size) - 1
    return float(chdtrc(freedom, statistic)) if freedom else 1.0
