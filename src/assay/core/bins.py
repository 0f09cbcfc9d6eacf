"""From a score to one of a few thousand bins, by a rule that every engine computes alike.

The rules, in full (IEEE 754 double precision, each operation correctly rounded)::

    probability:  bin = rint(2047 (sqrt(x) - sqrt(1 - x)))                   for 0 <= x <= 1
    margin:       bin = rint(4095 (s(-x) - s(x))),   s(x) = 1 / (1 + r(max(x, 0)))
                  r(x) = sqrt(sqrt(sqrt(x)))                                 for any finite x

rint rounds halves to the even neighbour. Nothing but +, -, *, / and sqrt is in them, because these
are the same bit for bit in numpy, DuckDB and Java; a logarithm is not. Each is made of monotone
steps, and rounding keeps them so: a larger score never has a smaller bin.

Scores of a classifier pile up near 0 and 1. There the first rule's bins are narrow (2e-7 wide, and
1/2896 in the middle), so that no pile of different scores falls into one. The second rule resolves
scores of any size: its bins are 0.8% wide around 1, 1.5% around 1e6 and 1e-6, 7% around 1e12.
"""

from typing import Literal

import numpy as np

from assay.core.types import Floats, Ints

__all__ = ["MARGIN_STEPS", "PROBABILITY_STEPS", "Rule", "bins_of", "rule_of"]

Rule = Literal["probability", "margin"]

PROBABILITY_STEPS = 2047
MARGIN_STEPS = 4095


def rule_of(low: float, high: float) -> Rule:
    """Return the rule for scores of that range.

    Examples
    --------
    >>> rule_of(0.0, 1.0), rule_of(-0.1, 1.0)
    ('probability', 'margin')
    """
    return "probability" if low >= 0.0 and high <= 1.0 else "margin"


def bins_of(values: Floats, rule: Rule) -> Ints:
    """Return the bin of each score.

    Parameters
    ----------
    values : array, shape (N,)
        Finite; between 0 and 1 where the rule is for probabilities.
    rule : {"probability", "margin"}
        As `rule_of` tells for the scores of the whole population.

    Examples
    --------
    >>> bins_of(np.array([0.0, 1e-6, 0.5, 1.0]), "probability")
    array([-2047, -2045,     0,  2047])
    >>> bins_of(np.array([-3.0, 0.0, 3.0, 1e300]), "margin")
    array([-2188,     0,  2188,  4095])
    """
    if rule == "probability":
        spread = PROBABILITY_STEPS * (np.sqrt(values) - np.sqrt(1.0 - values))
    else:
        spread = MARGIN_STEPS * (_shrunk(-values) - _shrunk(values))
    bins: Ints = np.rint(spread).astype(np.int64)
    return bins


def _shrunk(values: Floats) -> Floats:
    """Return s(x): 1 for what is not above zero, and falling towards 0 from there."""
    root = np.sqrt(np.sqrt(np.sqrt(np.maximum(values, 0.0))))
    return 1.0 / (1.0 + root)
