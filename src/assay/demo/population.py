"""A population with known truth: generated messages, and a real classifier's scores for them.

A message is a vector of six numbers. Spam and other messages overlap in all of them, and the line
between the two is curved; the classifier is a logistic regression, which is straight, fitted on
other messages of the same kind. Its scores are thus those of an honest classifier: sharp, mostly
right, and sometimes surely wrong.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from assay.core import deck
from assay.core.types import Bools, Floats

_MESSAGES = 200_000
_TRAINING = 20_000
_SPAM_SHARE = 0.2
_SHIFT = 0.84 * np.array([1.2, 1.0, 0.9, 0.7, 0.6, 0.4])  # how far spam lies to one side
_NEWTON_STEPS = 30
_CONVERGED = 1e-8
_RIDGE = 1e-6  # keeps the equations solvable when the training messages can be told apart exactly


@dataclass(frozen=True, eq=False)
class Population:
    """Messages as an evaluation finds them, and the truth that it must do without.

    Attributes
    ----------
    score : array, shape (N,)
        The classifier's probability that the message is spam.
    predicted : array of bool, shape (N,)
        Whether it says so: a score of at least 1/2.
    truth : array of bool, shape (N,)
        Whether the message is spam.
    """

    score: Floats
    predicted: Bools
    truth: Bools

    @property
    def precision(self) -> float:
        """The true precision, which only full labelling would tell."""
        return float(self.truth[self.predicted].mean())


def make_population(seed: int) -> Population:
    """Generate the messages, fit the classifier on some and apply it to the others.

    Examples
    --------
    >>> population = make_population(seed=7)
    >>> population.score.size, 0.9 < population.precision < 0.95
    (200000, True)
    """
    rng = np.random.default_rng(deck.key(seed))
    spam = rng.random(_TRAINING + _MESSAGES) < _SPAM_SHARE
    messages = _messages(spam, rng)
    weights = fit_logistic(messages[:_TRAINING], spam[:_TRAINING])
    score = predict(weights, messages[_TRAINING:])
    return Population(score, score >= 0.5, spam[_TRAINING:])


def fit_logistic(features: Floats, outcome: Bools) -> Floats:
    """Return the weights of a logistic regression, the constant first, by Newton's method.

    Examples
    --------
    >>> weights = fit_logistic(np.array([[0.0], [0.0], [1.0], [1.0]]),
    ...                        np.array([True, False, True, True]))
    >>> predict(weights, np.array([[0.0]])).round(3)
    array([0.5])
    """
    design = _with_constant(features)
    weights = np.zeros(design.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = expit(design @ weights)
        curvature = (design.T * (p * (1 - p))) @ design + _RIDGE * np.eye(weights.size)
        change = np.linalg.solve(curvature, design.T @ (outcome - p) - _RIDGE * weights)
        weights += change
        if np.abs(change).max() < _CONVERGED:
            break
    return weights


def predict(weights: Floats, features: Floats) -> Floats:
    """Return the probability of yes for each row of features."""
    return np.asarray(expit(_with_constant(features) @ weights))


def _with_constant(features: Floats) -> Floats:
    return np.column_stack([np.ones(len(features)), features])


def _messages(spam: Bools, rng: np.random.Generator) -> Floats:
    """Return one row of features for each message."""
    side = np.where(spam, 1.0, -1.0)[:, None]
    messages = rng.standard_normal((spam.size, _SHIFT.size)) + side * _SHIFT
    # Spam is spread more widely in one feature, and bends the other way in another: no straight
    # line can do justice to both.
    messages[:, 0] *= np.where(spam, 1.3, 1.0)
    messages[:, 1] += np.where(spam, 0.3, -0.15) * (messages[:, 2] ** 2 - 1)
    return messages
