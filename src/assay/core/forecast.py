"""How many labels a target takes: when the truth is known, and on the way there."""

import numpy as np
from scipy.special import ndtri

from assay.core.types import Bools, Floats


def least_variance(scale: Floats, sd: Floats) -> Floats:
    """Return n times the variance of the best allocation of n labels: (sum scale_h S_h)^2.

    With scale_h = W_h this is paper 2, Eq. 10; for a ratio metric scale_h = |gradient_h| N_h.
    """
    return np.asarray((scale * sd).sum(axis=-1) ** 2)


def labels_needed(variance: Floats, within: float, confidence: float) -> Floats:
    """Return the labels at which z standard errors are `within`: z^2 variance / within^2.

    `variance` is n times that of the estimate. With `least_variance` of the true rates this is
    paper 1's oracle (section 6): what an experimenter would need who knew every bin beforehand.

    Examples
    --------
    >>> round(float(labels_needed(np.array(0.25), within=0.03, confidence=0.95)))
    1067
    """
    return np.asarray(ndtri((1 + confidence) / 2) ** 2 * variance / within**2)


def labels_at_width(labels: float, half_width: float, within: float, items: float) -> float:
    """Return the labels in all at which a half-width is likely to have come down to `within`.

    Parameters
    ----------
    labels, half_width
        Where an evaluation stands: what it has, and how far that leads.
    within : float
        How far it should.
    items : float
        The items that labels are drawn from; with all of them labelled nothing is left open.

    Notes
    -----
    A half-width falls like the standard error of a sample without replacement, whose square is in
    proportion to 1/n - 1/N. Half-way to the goal, four forecasts in five are 0.9 to 1.3 times what
    it takes in the end (tests/simulation/test_labels_at_width.py).

    Examples
    --------
    >>> [round(labels_at_width(100, 0.06, 0.03, items=items)) for items in (1e6, 500)]
    [400, 250]
    """
    share = (within / half_width) ** 2
    return 1 / (1 / items + (1 / labels - 1 / items) * share)


def random_variance(metric: str, N: Floats, T: Floats, says_yes: Bools) -> float:
    """Return n times the variance of the metric under simple random sampling.

    A share v varies by v(1 - v). Recall and F1 are ratios over positives that are themselves
    estimated; their linearised values have mean zero, and the variance is their mean square.

    Parameters
    ----------
    metric : str
        A name of `core.metrics.METRICS`.
    N, T, says_yes : array, shape (H,)
        Items and positives by predicted label (or any strata within it), and that label.
    """
    size, positives = float(N.sum()), float(T.sum())
    hits, said = float((T * says_yes).sum()), float((N * says_yes).sum())
    if metric == "recall":
        share = hits / positives
        return share * (1 - share) * size / positives
    if metric == "f1":
        share = 2 * hits / (said + positives)
        misses = said + positives - 2 * hits
        square = hits * (2 - 2 * share) ** 2 + misses * share**2
        return square * size / (said + positives) ** 2
    value = {
        "precision": hits / said if said else 0.0,
        "accuracy": (hits + size - said - positives + hits) / size,
        "false_omission_rate": (positives - hits) / (size - said) if size > said else 0.0,
        "prevalence": positives / size,
    }[metric]
    return value * (1 - value)


def isotonic_rates(count: Floats, outcomes: Floats) -> Floats:
    """Return the chance of the outcome at each score, taken to rise with the score.

    The non-decreasing rates nearest to the cells' own (isotonic regression, weighted by their
    items). With these, `least_variance` over the cells is the limit of strata by the score alone:
    infinitely fine ones, with the best allocation.

    Examples
    --------
    >>> isotonic_rates(np.array([10.0, 10.0, 20.0]), np.array([5.0, 3.0, 20.0]))
    array([0.4, 0.4, 1. ])
    """
    from scipy.optimize import isotonic_regression  # takes long to load, and few need it

    return np.asarray(isotonic_regression(outcomes / count, weights=count).x)
