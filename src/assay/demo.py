"""Demo: a generated population, and the main job on it in a minute."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from assay.campaign import Campaign, create_campaign
from assay.core import deck
from assay.core.design import Design
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.types import Bools, Floats, Ints
from assay.results import Estimate, StratumRow
from assay.simulation import of_one, replay

# Population with known truth: generated messages, and a real classifier's scores for them.
#
# A message is a vector of six numbers. Spam and other messages overlap in all of them, and the line
# between the two is curved. The classifier is a logistic regression, which is straight, fitted on
# other messages of the same kind. Its scores are thus realistic: sharp, mostly right, and sometimes
# confidently wrong.

_MESSAGES = 200_000
_TRAINING = 20_000
_SPAM_SHARE = 0.2
_SHIFT = 0.84 * np.array([1.2, 1.0, 0.9, 0.7, 0.6, 0.4])  # shift of spam to one side
_NEWTON_STEPS = 30
_CONVERGED = 1e-8
_RIDGE = 1e-6  # keeps the equations solvable if the training messages are separable


@dataclass(frozen=True, eq=False)
class Population:
    """Generated messages, and their truth, which an evaluation lacks."""

    score: Floats  # (N,): the classifier's probability that the message is spam
    predicted: Bools  # (N,): whether it predicts spam: a score of at least 1/2
    truth: Bools  # (N,): whether the message is spam

    @property
    def precision(self) -> float:
        """True precision, which only full labelling would reveal."""
        return float(self.truth[self.predicted].mean())


def make_population(seed: int) -> Population:
    """Generate the messages, fit the classifier on some and apply it to the others.

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
    """Weights of a logistic regression, the constant first, by Newton's method.

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
    """Probability of yes for each row of features."""
    return np.asarray(expit(_with_constant(features) @ weights))


def _with_constant(features: Floats) -> Floats:
    return np.column_stack([np.ones(len(features)), features])


def _messages(spam: Bools, rng: np.random.Generator) -> Floats:
    """Features of the messages, one row each."""
    side = np.where(spam, 1.0, -1.0)[:, None]
    messages = rng.standard_normal((spam.size, _SHIFT.size)) + side * _SHIFT
    # Spam is spread more widely in one feature, and bends the other way in another: no straight
    # line separates both.
    messages[:, 0] *= np.where(spam, 1.3, 1.0)
    messages[:, 1] += np.where(spam, 0.3, -0.15) * (messages[:, 2] ** 2 - 1)
    return messages


GOAL = Goal("precision", within=0.02, confidence=0.95)
BATCH = 20
REPLICATIONS = 200


@dataclass(frozen=True)
class DemoResult:
    """Results of the demo."""

    # seed, messages, predicted_spam: the population.
    seed: int
    messages: int
    predicted_spam: int
    estimate: Estimate  # at the end of the campaign, with the reason
    strata: tuple[StratumRow, ...]  # strata with their labels
    true_value: float  # the precision over all messages
    inside: bool  # whether the interval contains it
    # mean_labels, random_mean_labels: labels at the stop with the campaign's design and with simple
    # random sampling, each the mean over `replications` evaluations of the same population with the
    # same goal, kind of interval and batch size.
    mean_labels: float
    random_mean_labels: float
    replications: int

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to plain values."""
        goal = {"goal": GOAL.to_dict(), "batch": BATCH}
        return {**asdict(self), "estimate": self.estimate.to_dict(), **goal}


class Watcher:
    """Observer of the demo; this one does nothing."""

    def started(self, population: Population, campaign: Campaign) -> None:
        """Handle the strata, before anything is labelled."""

    def labelled(self, estimate: Estimate) -> None:
        """Handle the estimate after another batch."""


def run(seed: int, watcher: Watcher | None = None) -> DemoResult:
    """Evaluate a generated classifier, with answers from the truth, and report the cost.

    >>> result = run(seed=7)
    >>> result.estimate.stopped, result.estimate.labels < result.random_mean_labels
    ('measured to the requested width', True)
    """
    watcher = watcher or Watcher()
    population = make_population(seed)
    campaign = create_campaign(
        {"score": population.score, "spam": population.predicted},
        score="score",
        predicted="spam",
        metric=GOAL.metric,
        within=GOAL.within,
        confidence=GOAL.confidence,
        name="demo",
        storage="sqlite://",
        seed=seed,
    )
    watcher.started(population, campaign)
    while not campaign.done:
        batch = campaign.ask(BATCH)
        answers = {item.id: population.truth[int(item.id)] for item in batch}
        watcher.labelled(campaign.tell(answers))
    estimate = campaign.estimate()
    spam_score = population.score[population.predicted]
    spam_truth = population.truth[population.predicted]
    strata, design = campaign.settings.strata, campaign.settings.design
    stratum = strata.assign(spam_score, np.ones(spam_score.size, dtype=np.bool_))
    return DemoResult(
        seed=seed,
        messages=population.score.size,
        predicted_spam=spam_score.size,
        estimate=estimate,
        strata=tuple(campaign.strata()),
        true_value=population.precision,
        inside=estimate.low <= population.precision <= estimate.high,
        mean_labels=_mean_labels(design, stratum, spam_truth, seed),
        random_mean_labels=_mean_labels(
            Design.simple_random(), np.zeros_like(stratum), spam_truth, seed
        ),
        replications=REPLICATIONS,
    )


def _mean_labels(design: Design, stratum: Ints, truth: Bools, seed: int) -> float:
    """Mean number of labels at the stop, over many evaluations."""
    sizes = np.bincount(stratum).astype(np.float64)
    precision = ratio(GOAL.metric, sizes, np.ones(sizes.size, dtype=np.bool_))
    outcomes = np.bincount(stratum, weights=truth).astype(np.float64)
    runs = replay(
        *of_one(design, GOAL, precision, sizes, outcomes),
        replications=REPLICATIONS,
        rng=np.random.default_rng(seed),
        asked=BATCH,
    )
    return float(runs.labels.mean())
