"""A population whose scores are known, and whose truth is supposed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from assay.core.design import Design
from assay.core.metrics import canonical_metric
from assay.core.profile import Profile
from assay.core.types import Floats
from assay.core.variable import Scale
from assay.predictions import Predictions, Side, sides_to_cut
from assay.simulation import Frame, Truth, frame_of


@dataclass(frozen=True, eq=False)
class Supposed:
    """Profiles of the scores, and how often items are thought to be positive at each.

    Parameters
    ----------
    source : str
        Where the predictions come from, for people.
    scale : {"probability", "margin"}
        What the scores are.
    profiles : mapping of bool to Profile
        The scores of the items with each predicted label that occurs.
    rates : mapping of bool to array, shape (M,) or (truths, M)
        The share of positives in each cell of a profile; a row for each truth that is thought
        possible.

    Examples
    --------
    >>> from assay.predictions import from_arrays
    >>> found = from_arrays(y_score=[0.9, 0.8, 0.2], threshold=0.5)
    >>> supposed = Supposed.of(found, "probability")
    >>> supposed = supposed.with_rates({True: np.array([1.0, 1.0]), False: np.array([0.0])})
    >>> supposed.frame(Design(bins=1), "precision").outcomes
    array([2.])
    """

    source: str
    scale: Scale
    profiles: Mapping[bool, Profile]
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
