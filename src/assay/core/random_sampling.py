"""What a stratified estimate is worth in labels of a simple random sample.

References
----------
.. [1] Kish, Survey sampling (1965), section 8.2: the design effect and the effective sample size.
.. [2] Wilson, Probable inference, JASA 22 (1927).
"""

from math import inf

from scipy.special import ndtri


def labels_per_share(metric: str, value: float, items: float, denominator: float) -> float:
    """Return how many items must be labelled at random to learn of one that a metric is about.

    1 for a share of the items. Recall is a share of the positives, of which a random sample finds
    few: items / positives. For F1 it is items (2 - F1) / (predicted + positives): the variance of
    its linearised values (`core.forecast.random_variance`) over F1 (1 - F1).

    Parameters
    ----------
    metric : str
        A name of `core.metrics.METRICS`.
    value : float
        The metric.
    items : float
        The items that a random sample is drawn from.
    denominator : float
        The metric's: for recall the positives, for F1 these and the items predicted yes.

    Examples
    --------
    One item in fifty is positive:

    >>> labels_per_share("recall", 0.8, items=1000, denominator=20)
    50.0
    """
    if metric == "recall":
        return items / denominator
    if metric == "f1":
        return items * (2 - value) / denominator
    return 1.0


def effective_labels(
    value: float, standard_error: float, *, per_share: float, items: float
) -> float | None:
    """Return the size of a simple random sample that would vary as much [1]_.

    Without replacement, of so many items: s^2 = per_share value (1 - value) (1/n - 1/items).

    None where the value is 0 or 1, or the standard error is 0: that no spread was seen does not
    mean that there is none, and only all items would vary as little.

    Examples
    --------
    >>> round(effective_labels(0.9, 0.01, per_share=1.0, items=1e9))
    900
    >>> effective_labels(0.9, 0.0, per_share=1.0, items=500) is None
    True
    """
    spread = per_share * value * (1 - value)
    if spread <= 0 or standard_error <= 0:
        return None
    return 1 / (standard_error**2 / spread + 1 / items)


def labels_at_random(
    value: float, half_width: float, *, confidence: float, per_share: float, items: float
) -> float:
    """Return the labels at which a simple random sample's interval would be as narrow.

    The interval is Wilson's [2]_, looked at once: the n at which its half-width

        z sqrt(n v (1 - v) + z^2 / 4) / (n + z^2)

    has come down to `half_width`, times `per_share`; with all items labelled nothing is left open,
    so n is 1 / (1/n + 1/items) of a finite population.

    Examples
    --------
    >>> round(labels_at_random(0.5, 0.03, confidence=0.95, per_share=1.0, items=1e9))
    1063
    >>> round(labels_at_random(1.0, 0.01, confidence=0.95, per_share=1.0, items=1e9))
    188
    """
    if half_width <= 0:
        return items
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    # The half-width's equation, squared: a n^2 + b n + c = 0.
    a = half_width**2
    b = z2 * (2 * a - value * (1 - value))
    c = z2**2 * (a - 0.25)
    n = per_share * (-b + (b**2 - 4 * a * c) ** 0.5) / (2 * a)
    return 1 / ((1 / n if n > 0 else inf) + 1 / items)
