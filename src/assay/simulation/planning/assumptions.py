"""What is supposed about the truth where there is nothing but scores."""

from collections.abc import Mapping

import numpy as np
from scipy.special import expit

from assay.core.types import Floats
from assay.simulation.planning.assumed import Supposed

_DOUBT = 0.1  # the share of items that have nothing to do with their scores


def calibrated(supposed: Supposed) -> dict[bool, Floats]:
    """Return the rates of scores that are true: of items at 0.9, nine in ten are positive.

    A margin is read as log-odds, 1/(1 + exp(-score)).

    Examples
    --------
    >>> from assay.predictions import from_arrays
    >>> found = from_arrays(y_score=[2.0, -2.0], threshold=0.0)
    >>> {side: rate.round(2) for side, rate in calibrated(Supposed.of(found, "margin")).items()}
    {True: array([0.88]), False: array([0.12])}
    """
    return {
        side: profile.mean if supposed.scale == "probability" else expit(profile.mean)
        for side, profile in supposed.profiles.items()
    }


def doubtful(supposed: Supposed, rates: Mapping[bool, Floats]) -> dict[bool, Floats]:
    """Return the rates if one item in ten had nothing to do with its score.

    A tenth of the way from what the scores say to the mean of all items, so that the share of
    positives in all stays the same. It matters most where a classifier is surest of itself: with
    half of all items positive, one in twenty of those at 0.999 is then not what it says. On real
    populations it makes up for what overconfident scores hide (docs/plan.md); half of the way
    would ask for several times the labels.

    Examples
    --------
    >>> from assay.predictions import from_arrays
    >>> supposed = Supposed.of(from_arrays(y_score=[0.9, 0.1], threshold=0.5), "probability")
    >>> {side: rate.round(2) for side, rate in doubtful(supposed, calibrated(supposed)).items()}
    {True: array([0.86]), False: array([0.14])}
    """
    positives = sum(float(rates[side] @ each.count) for side, each in supposed.profiles.items())
    mean = positives / supposed.size
    return {side: np.asarray(each + _DOUBT * (mean - each)) for side, each in rates.items()}
