"""Assumed populations: scores that are known, and truth that is supposed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from assay.core.bins import Scale
from assay.core.design import Design, fitted
from assay.core.forecast import labels_needed, random_variance
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.limits import LabelLimit, honest_limit
from assay.core.metrics import canonical_metric
from assay.core.metrics import sides as sides_of
from assay.core.profile import Profile
from assay.core.special import expit
from assay.core.strata import Side
from assay.core.stratify import sides_to_cut
from assay.core.types import Floats
from assay.predictions import Predictions
from assay.simulation.frames import Frame, Truth, frame_of
from assay.simulation.workers import Replayed, Task

PLAN = "plan"
"""The random stream of all replays of plans: they are compared on the same luck."""


class Trial(Protocol):
    """A population cut as a design does, with the truth that is supposed in each stratum."""

    @property
    def items(self) -> int:
        """Those that labels are drawn from."""

    @property
    def value(self) -> Floats:
        """The metric's supposed value; one for each truth that is thought possible."""

    def task(self, design: Design, goal: Goal, asked: int, runs: int) -> Replayed:
        """Return what is replayed."""

    def at_one_half(self) -> Self:
        """Return it with the truth at which a share is hardest to tell."""


class Assumed(Protocol):
    """Scores that are known, and truth that is supposed: of yes and no, or of more classes."""

    @property
    def source(self) -> str:
        """Where the predictions come from, for people."""

    @property
    def size(self) -> int:
        """The number of items."""

    def fitted(self, design: Design, goal: Goal) -> Design:
        """Return the design with as many strata as a campaign for the goal would have."""

    def trial(self, design: Design, goal: Goal) -> Trial:
        """Cut the population as the design does, and count the supposed truth in each stratum."""

    def at_random(self, goal: Goal) -> float:
        """Return about how many labels of a random sample the goal takes, by a formula."""


@dataclass(frozen=True, eq=False)
class OfLabels:
    """A `Trial` of yes and no."""

    frame: Frame

    @property
    def items(self) -> int:
        """Those that labels are drawn from."""
        return int(self.frame.sizes.sum())

    @property
    def value(self) -> Floats:
        """The metric's supposed value; one for each truth that is thought possible."""
        return np.atleast_1d(self.frame.metric.value(self.frame.outcomes))

    def task(self, design: Design, goal: Goal, asked: int, runs: int) -> Task:
        """Return what is replayed."""
        frame = self.frame
        if frame.outcomes.ndim > 1:  # a truth for each replication
            frame = replace(frame, outcomes=frame.outcomes[:runs])
        return Task.of_one(PLAN, frame, design, goal, asked)

    def at_one_half(self) -> Self:
        """Return it with half of the items positive in every stratum."""
        return replace(self, frame=replace(self.frame, outcomes=np.floor(self.frame.sizes / 2)))


@dataclass(frozen=True, eq=False)
class Supposed:
    """Profiles of the scores, and how often items are thought to be positive at each.

    >>> from assay.predictions import from_arrays
    >>> found = from_arrays(y_score=[0.9, 0.8, 0.2], threshold=0.5)
    >>> supposed = Supposed.of(found, "probability")
    >>> supposed = supposed.with_rates({True: np.array([1.0, 1.0]), False: np.array([0.0])})
    >>> supposed.frame(Design(bins=1), "precision").outcomes
    array([2.])
    """

    source: str  # where the predictions come from, for people
    scale: Scale  # what the scores are
    # The scores of the items with each predicted label that occurs.
    profiles: Mapping[bool, Profile]
    # (M,): the share of positives in each cell of a profile; a row for each truth that is thought
    # possible.
    rates: Mapping[bool, Floats]

    @classmethod
    def of(cls, found: Predictions, scale: Scale) -> Self:
        """Profile predictions; nothing is supposed yet."""
        there = {True: found.positives > 0, False: found.positives < found.size}
        sides: list[Side] = [side for side, any_ in there.items() if any_]
        profiles = found.profile("score", scale, sides)
        known = {side: profile for side, profile in profiles.items() if side is not None}
        none = {side: np.zeros(profile.count.size) for side, profile in known.items()}
        return cls(found.source, scale, known, none)

    def with_rates(self, rates: Mapping[bool, Floats]) -> Self:
        """Return the same population with another truth supposed."""
        return replace(self, rates=rates)

    @property
    def size(self) -> int:
        """The number of items."""
        return sum(profile.total for profile in self.profiles.values())

    @property
    def predicted_positives(self) -> int:
        """The number of items that the classifier says yes to."""
        return self.said(True)

    def said(self, side: bool) -> int:
        """Return the number of items with a predicted label."""
        return self.profiles[side].total if side in self.profiles else 0

    def positives(self, side: bool) -> float:
        """Return how many items with a predicted label are positive, on average over the truths."""
        if side not in self.profiles:
            return 0.0
        return float(np.mean(self.rates[side] @ self.profiles[side].count))

    def frame(self, design: Design, metric: str) -> Frame:
        """Cut the population as the design does, and count the supposed truth in each stratum."""
        sides = sides_to_cut(
            design,
            canonical_metric(metric),
            positives=self.predicted_positives,
            size=self.size,
            source=self.source,
        )
        frame = frame_of({side: self._truth(side) for side in sides}, design, metric)
        return replace(frame, outcomes=np.rint(frame.outcomes))

    def fitted(self, design: Design, goal: Goal) -> Design:
        """Return the design with as many strata as a campaign for the goal would have."""
        return fitted(design, goal)

    def trial(self, design: Design, goal: Goal) -> OfLabels:
        """Cut the population as the design does, and count the supposed truth in each stratum."""
        return OfLabels(self.frame(design, goal.metric))

    def at_random(self, goal: Goal) -> float:
        """Return about how many labels simple random sampling takes."""
        said = np.array([True, False])
        sizes = np.array([self.said(True), self.said(False)], dtype=np.float64)
        hits = np.array([self.positives(True), self.positives(False)])
        variance = np.array(random_variance(goal.metric, sizes, hits, said))
        return float(labels_needed(variance, goal.within or 1.0, goal.confidence))

    def honest_limit(self, goal: Goal) -> LabelLimit:
        """Return the labels that the goal takes at least, on average over the truths."""
        asked = sides_of(goal.metric)
        profiles = {side: each for side, each in self.profiles.items() if side in asked}
        rate = [np.mean(np.atleast_2d(self.rates[side]), axis=0) for side in profiles]
        count = np.concatenate([each.count for each in profiles.values()]).astype(np.float64)
        said = np.repeat(list(profiles), [each.count.size for each in profiles.values()])
        form, chances = ratio(goal.metric, count, said), np.concatenate(rate)
        within = goal.within or 1.0
        return honest_limit(form, count, chances, within=within, confidence=goal.confidence)

    @cached_property
    def by_score(self) -> Truth:
        """All items by score, whatever is said of them.

        Cells of the two predicted labels that overlap become one, which is positive as often as
        their items are on average.
        """
        sides = list(self.profiles)
        low, high, mean, count = (
            np.concatenate([getattr(self.profiles[side], name) for side in sides])
            for name in ("low", "high", "mean", "count")
        )
        outcomes = np.concatenate([self._truth(side).outcomes for side in sides], axis=-1)
        order = np.argsort(low, kind="stable")
        low, high, mean, count = (each[order] for each in (low, high, mean, count))
        reach = np.maximum.accumulate(high)
        first = np.flatnonzero(np.concatenate([[True], low[1:] > reach[:-1]]))
        low, high = low[first], np.maximum.reduceat(high, first)
        middle = np.add.reduceat(mean * count, first) / np.add.reduceat(count, first)
        profile = Profile(
            low=low,
            high=high,
            mean=np.clip(middle, low, high),
            count=np.add.reduceat(count, first),
            scale=self.scale,
        )
        return Truth(profile, np.add.reduceat(outcomes[..., order], first, axis=-1))

    def ladder(self, design: Design) -> Frame:
        """Cut all items as a campaign for a threshold does, and count the supposed truth."""
        frame = frame_of({True: self.by_score}, design, "precision")
        return replace(frame, outcomes=np.rint(frame.outcomes))

    def _truth(self, side: Side) -> Truth:
        if side is None:
            return self._both()
        profile = self.profiles[side]
        return Truth(profile, self.rates[side] * profile.count)

    def _both(self) -> Truth:
        """Return all items in one cell, of which so many are predicted correctly.

        That is all that a design needs which draws from one heap.
        """
        right = [
            (rates if side else 1 - rates) @ self.profiles[side].count
            for side, rates in self.rates.items()
        ]
        low = min(profile.low[0] for profile in self.profiles.values())
        high = max(profile.high[-1] for profile in self.profiles.values())
        cell = Profile(
            low=np.array([low]),
            high=np.array([high]),
            mean=np.array([low]),
            count=np.array([self.size]),
        )
        return Truth(cell, np.asarray(sum(right))[..., None])


# The share of positives along the score, from a few labels.
#
# Each stratum's own share is too noisy to plan with: 0 of 5 is no promise of 0. Shares are
# therefore drawn to a curve that rises or falls with the score, as far as the labels themselves
# say that they follow one.

_SLOPE_SD = 5.0  # of the log-odds from the middle of the scores to their end
_STRENGTH, _STRENGTH_SD = np.log(30.0), 1.5  # what k is before the labels are seen
_EDGE = 1e-6


def rate_curve(position: Floats, labels: Floats, positives: Floats) -> tuple[Floats, Floats]:
    """Return what is thought of each stratum's share of positives: Beta(a_h, b_h).

    `position` is where each stratum stands among the items by score, from 0 to 1.

    Beta-binomial regression with an empirical Bayes fit [1]_: shares are Beta(k m_h, k (1 - m_h))
    about a logistic curve, logit m_h = c + s (2 position_h - 1), and c, s and k are where the
    labels' likelihood, with a weak prior on each, is greatest. Where the curve fits, k is large and
    strata learn from each other; where it does not, each keeps its own share. Given c, s and k,
    the labels make it Beta(k m_h + x_h, k (1 - m_h) + n_h - x_h).

    References
    ----------
    .. [1] Griffiths, Maximum likelihood estimation for the beta-binomial distribution,
       Biometrics 29 (1973).

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
    from scipy.special import betaln, logit

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


# What is supposed about the truth where there is nothing but scores.

_DOUBT = 0.1  # the share of items that have nothing to do with their scores


def calibrated(supposed: Supposed) -> dict[bool, Floats]:
    """Return the rates of scores that are true: of items at 0.9, nine in ten are positive.

    A margin is read as log-odds, 1/(1 + exp(-score)).

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

    >>> from assay.predictions import from_arrays
    >>> supposed = Supposed.of(from_arrays(y_score=[0.9, 0.1], threshold=0.5), "probability")
    >>> {side: rate.round(2) for side, rate in doubtful(supposed, calibrated(supposed)).items()}
    {True: array([0.86]), False: array([0.14])}
    """
    positives = sum(float(rates[side] @ each.count) for side, each in supposed.profiles.items())
    mean = positives / supposed.size
    return {side: np.asarray(each + _DOUBT * (mean - each)) for side, each in rates.items()}
