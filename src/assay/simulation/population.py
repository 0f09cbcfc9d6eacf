"""A population whose truth is known, reduced to counts.

Once its scores are profiled (a few thousand cells with their items and outcomes), everything a
simulation asks of it costs the same whatever its size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.core import forecast
from assay.core.design import Design
from assay.core.metrics import Ratio, canonical_metric, ratio
from assay.core.profile import Profile, cells_of, profile_of
from assay.core.strata import Side, Strata
from assay.core.stratify import sides_to_cut, stratify
from assay.core.types import Floats
from assay.core.variable import Scale, Variable, confidence, scale_of
from assay.predictions import Labelled, read_labelled


@dataclass(frozen=True, eq=False)
class Truth:
    """One side's profile, and the outcomes in each of its cells, shape (..., M)."""

    profile: Profile
    outcomes: Floats


@dataclass(frozen=True, eq=False)
class Frame:
    """What a replay needs of a population: the strata of a design, and the truth in each.

    Attributes
    ----------
    metric : Ratio
    strata : Strata
    sizes : array, shape (H,)
        Items.
    outcomes : array, shape (..., H)
        Items with the outcome: (H,) where the truth is known, a row for each truth that is thought
        possible where it is not.
    """

    metric: Ratio
    strata: Strata
    sizes: Floats
    outcomes: Floats

    @property
    def value(self) -> float:
        """The metric's true value."""
        return float(self.metric.value(self.outcomes))

    @property
    def least_variance(self) -> float:
        """N times the variance of the best allocation to these strata."""
        p = self.outcomes / self.sizes
        scale = np.abs(self.metric.gradient(self.outcomes)) * self.sizes
        return float(forecast.least_variance(scale, np.sqrt(p * (1 - p))))


def frame_of(truths: Mapping[Side, Truth], design: Design, metric: str) -> Frame:
    """Cut the sides that a metric needs as the design does, and count the truth in each stratum."""
    strata = stratify(
        {side: truth.profile for side, truth in truths.items()},
        variable=design.variable,
        method=design.strata,
        bins=design.bins,
    )
    outcomes = []
    for heap, truth in zip(strata.heaps, truths.values(), strict=True):
        stratum = heap.cuts.assign(truth.profile.low)
        outcomes.append(truth.outcomes @ (stratum[:, None] == np.arange(heap.cuts.n_strata)))
    sizes = strata.sizes.astype(np.float64)
    form = ratio(canonical_metric(metric), sizes, strata.says_yes)
    return Frame(form, strata, sizes, np.concatenate(outcomes, axis=-1))


class Population:
    """Predictions and the truth about each of them.

    Parameters
    ----------
    y_true, y_pred : array of bool or of 0 and 1, shape (N,)
        What the items are, and what the classifier said.
    y_score : array, shape (N,), optional
        Its scores; without them there is only random sampling.
    threshold : float, optional
        The score from which on it says yes; may stand in for `y_pred`.
    scale : {"probability", "margin"}, optional
        What the scores are; otherwise told by their range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(10_000)
    >>> population = Population(y_true=rng.random(10_000) < score, y_score=score, threshold=0.5)
    >>> round(population.value("precision"), 2), round(population.limit("precision"), 2)
    (0.74, 0.83)
    """

    def __init__(
        self,
        *,
        y_true: ArrayLike,
        y_score: ArrayLike | None = None,
        y_pred: ArrayLike | None = None,
        threshold: float | None = None,
        scale: Scale | None = None,
    ) -> None:
        given = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred}
        columns = {name: values for name, values in given.items() if values is not None}
        self._take(
            read_labelled(
                columns,
                label="y_true",
                score="y_score" if y_score is not None else None,
                predicted="y_pred" if y_pred is not None else None,
                threshold=threshold,
            ),
            scale,
        )

    @classmethod
    def read(
        cls,
        source: object,
        *,
        label: str,
        score: str | None,
        predicted: str | None = None,
        threshold: float | None = None,
        positive: object = None,
        scale: Scale | None = None,
    ) -> Self:
        """Read a population from a file or table; the columns are as in `create_campaign`.

        Parameters
        ----------
        source
            As the predictions of `create_campaign`.
        label : str
            The column of what the items are.
        score, predicted, threshold, positive, scale
            As in `create_campaign`.
        """
        population = cls.__new__(cls)
        labelled = read_labelled(
            source,
            label=label,
            score=score,
            predicted=predicted,
            threshold=threshold,
            positive=positive,
        )
        population._take(labelled, scale)
        return population

    def _take(self, labelled: Labelled, scale: Scale | None) -> None:
        self._labelled = labelled
        score = labelled.score
        self.scale = scale_of(float(score.min()), float(score.max())) if scale is None else scale
        self._truths: dict[tuple[Variable, Side], Truth] = {}

    @property
    def size(self) -> int:
        """The number of items."""
        return self._labelled.truth.size

    @property
    def positives(self) -> int:
        """The number of items that are positive."""
        return int(self._labelled.truth.sum())

    @property
    def predicted_positives(self) -> int:
        """The number of items that the classifier says yes to."""
        return int(self._labelled.predicted.sum())

    def value(self, metric: str) -> float:
        """Return the metric's true value."""
        return self.frame(Design.simple_random(), metric).value

    def random_variance(self, metric: str) -> float:
        """Return n times the metric's variance under simple random sampling."""
        predicted, truth = self._labelled.predicted, self._labelled.truth
        said = np.array([True, False])
        sizes = np.array([predicted.sum(), (~predicted).sum()], dtype=np.float64)
        hits = np.array([(truth & predicted).sum(), (truth & ~predicted).sum()], dtype=np.float64)
        return forecast.random_variance(canonical_metric(metric), sizes, hits, said)

    def limit(self, metric: str) -> float:
        """Return the share of random sampling's labels that a design by score must spend.

        (E sqrt(eta (1 - eta)))^2 / (p (1 - p)) with eta the chance of the outcome at a score, from
        an isotonic fit for each predicted label: infinitely fine strata with the best allocation.
        For recall and F1 an item's eta is weighted by what the item counts in the metric.
        """
        frame = self.frame(Design(bins=1), metric)
        slopes = np.abs(frame.metric.gradient(frame.outcomes))
        parts = []
        for side, slope in zip(frame.strata.sides, slopes, strict=True):
            truth = self._truth("score", side)
            count = truth.profile.count.astype(np.float64)
            eta = forecast.isotonic_rates(count, truth.outcomes)
            parts.append(np.sqrt(forecast.least_variance(slope * count, np.sqrt(eta * (1 - eta)))))
        random = self.random_variance(metric)
        return float(np.sum(parts) ** 2 / random) if random > 0 else 1.0

    def frame(self, design: Design, metric: str) -> Frame:
        """Cut the population as the design does, and count the truth in each stratum."""
        layers = sides_to_cut(
            design,
            canonical_metric(metric),
            positives=self.predicted_positives,
            size=self.size,
            source=self._labelled.source,
        )
        return frame_of(
            {side: self._truth(design.variable, side) for side in layers}, design, metric
        )

    def _truth(self, variable: Variable, side: Side) -> Truth:
        """Profile one side, once; all that comes after works on its cells."""
        key = (variable, side)
        if key not in self._truths:
            score, predicted = self._labelled.score, self._labelled.predicted
            values = score
            if variable == "confidence":
                threshold = self._labelled.threshold or 0.0
                values = confidence(score, predicted, self.scale, threshold)
            rule = cells_of(values, predicted).rule  # of both sides, as for a campaign
            truth = self._labelled.truth
            outcome = truth == predicted if side is None else truth[predicted == side]
            values = values if side is None else values[predicted == side]
            profile = profile_of(values, rule)
            cell = np.searchsorted(profile.low, values, side="right") - 1
            found = np.bincount(cell, outcome, minlength=profile.low.size)
            outcomes = np.asarray(found, dtype=np.float64)
            self._truths[key] = Truth(profile, outcomes)
        return self._truths[key]
