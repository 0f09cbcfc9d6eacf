"""Variable that strata are cut by: the score, the confidence of the classifier, or a rank.

Paper 1 cuts by the score. Paper 2 (section 3.5) cuts by z, the probability of the predicted class
when the classifier is probabilistic and the magnitude of its output when it is not. Where several
classifiers are judged together, their scores have no common scale; their ranks have.
"""

from typing import Literal, get_args

import numpy as np

from assay.core.profile import Profile
from assay.core.types import Bools, Floats

Scale = Literal["probability", "margin"]
Variable = Literal["score", "confidence", "rank"]
SCALES: tuple[str, ...] = get_args(Scale)
# Between these a design chooses; the rank is what there is for several classifiers.
VARIABLES: tuple[str, ...] = ("score", "confidence")


def scale_of(low: float, high: float) -> Scale:
    """Tell probabilities from margins by the range of the scores.

    Scores that all lie in [0, 1] are taken for probabilities. The guess is said in the output and
    can be overridden, because margins may happen to fall into that range too.

    Examples
    --------
    >>> scale_of(0.02, 0.97), scale_of(-3.1, 4.5)
    ('probability', 'margin')
    """
    return "probability" if low >= 0.0 and high <= 1.0 else "margin"


def confidence(score: Floats, predicted: Bools, scale: Scale, threshold: float = 0.0) -> Floats:
    """Return paper 2's stratification variable z (section 3.5).

    Parameters
    ----------
    score, predicted : array, shape (N,)
        The classifier's output, and whether it said yes.
    scale : {"probability", "margin"}
        Probability: z is the probability of the predicted class, p or 1 - p.
        Margin: z is the distance from the threshold, the paper's abs(C(x)) at threshold 0.
    threshold : float
        Where the predicted label changes; used for margins only.

    Examples
    --------
    >>> confidence(np.array([0.9, 0.25]), np.array([True, False]), "probability")
    array([0.9 , 0.75])
    >>> confidence(np.array([2.5, -0.5]), np.array([True, False]), "margin")
    array([2.5, 0.5])
    """
    if scale == "probability":
        return np.where(predicted, score, 1.0 - score)
    return np.abs(score - threshold)


def rank(score: Floats, profile: Profile) -> Floats:
    """Return the share of the items that score lower, with half of those that count as equal.

    Parameters
    ----------
    score : array, shape (N,)
        The classifier's output; each value lies in a cell of the profile.
    profile : Profile
        Of these scores. Items in one of its cells count as equal, so the rank is a step function
        that any engine computes alike from a few thousand numbers.

    Returns
    -------
    array, shape (N,)
        Between 0 and 1; 1/2 for every item when all scores are equal.

    Examples
    --------
    >>> from assay.core.profile import profile_of
    >>> scores = np.array([0.9, 0.1, 0.9, 0.5])
    >>> rank(scores, profile_of(scores))
    array([0.75 , 0.125, 0.75 , 0.375])
    """
    middle = (np.cumsum(profile.count) - profile.count / 2) / profile.total
    return middle[np.searchsorted(profile.low, score, side="right") - 1]
