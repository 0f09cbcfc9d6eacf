"""The share of positives along the score, from a few labels.

Each stratum's own share is too noisy to plan with: 0 of 5 is no promise of 0. Shares are therefore
drawn to a curve that rises or falls with the score, as far as the labels themselves say that they
follow one.
"""

import numpy as np
from scipy.special import betaln, expit, logit

from assay.core.types import Floats

_SLOPE_SD = 5.0  # of the log-odds from the middle of the scores to their end
_STRENGTH, _STRENGTH_SD = np.log(30.0), 1.5  # what k is before the labels are seen
_EDGE = 1e-6


def rate_curve(position: Floats, labels: Floats, positives: Floats) -> tuple[Floats, Floats]:
    """Return what is thought of each stratum's share of positives: Beta(a_h, b_h).

    Parameters
    ----------
    position : array, shape (H,)
        Where each stratum stands among the items, by score: from 0 to 1.
    labels, positives : array, shape (H,)
        Labels in each, and how many of them say yes.

    Returns
    -------
    a, b : array, shape (H,)

    Notes
    -----
    Beta-binomial regression with an empirical Bayes fit [1]_: shares are Beta(k m_h, k (1 - m_h))
    about a logistic curve, logit m_h = c + s (2 position_h - 1), and c, s and k are where the
    labels' likelihood, with a weak prior on each, is greatest. Where the curve fits, k is large and
    strata learn from each other; where it does not, each keeps its own share. Given c, s and k,
    the labels make it Beta(k m_h + x_h, k (1 - m_h) + n_h - x_h).

    References
    ----------
    .. [1] Griffiths, Maximum likelihood estimation for the beta-binomial distribution,
       Biometrics 29 (1973).

    Examples
    --------
    >>> at = np.linspace(0, 1, 5)
    >>> a, b = rate_curve(at, np.full(5, 20.0), np.array([10.0, 13, 16, 18, 20]))
    >>> (a / (a + b)).round(2)
    array([0.47, 0.66, 0.82, 0.91, 0.97])
    """
    line = 2 * position - 1

    def parameters(point: Floats) -> tuple[Floats, Floats]:
        middle = np.clip(expit(point[0] + point[1] * line), _EDGE, 1 - _EDGE)
        strength = np.exp(point[2])
        return strength * middle, strength * (1 - middle)

    from scipy.optimize import minimize  # takes long to load, and few commands need it

    def loss(point: Floats) -> float:
        a, b = parameters(point)
        likelihood = (betaln(a + positives, b + labels - positives) - betaln(a, b)).sum()
        # Half a label of either kind, so that labels of one kind do not make it certain.
        likelihood += (np.log(a.sum()) + np.log(b.sum())) / 2 - np.log((a + b).sum())
        slope, strength = point[1] / _SLOPE_SD, (point[2] - _STRENGTH) / _STRENGTH_SD
        return float(-likelihood + (slope**2 + strength**2) / 2)

    share = (positives.sum() + 0.5) / (labels.sum() + 1)
    start = np.array([logit(share), 0.0, _STRENGTH])
    bounds = [(-15, 15), (-30, 30), (np.log(0.5), np.log(1e4))]
    a, b = parameters(minimize(loss, start, method="L-BFGS-B", bounds=bounds).x)
    return a + positives, b + labels - positives
