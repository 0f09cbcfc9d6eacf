"""A population whose truth is known, reduced to counts.

Once its scores are profiled (a few thousand cells with their items and outcomes), the cost of a
simulation does not depend on its size.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike

from assay.campaign import classes_of
from assay.core import forecast
from assay.core.bins import Scale, scale_of
from assay.core.cuts import Variable, confidence
from assay.core.design import Design
from assay.core.error_model import SAID, columns_at
from assay.core.evaluation import procedure_of
from assay.core.forms import Ratio, ratio
from assay.core.goal import Goal
from assay.core.limits import LabelLimit, honest_limit
from assay.core.metrics import asks_for_top, canonical_metric, least_top, sides
from assay.core.parts import Parts
from assay.core.profile import profile_of
from assay.core.strata import Side
from assay.core.stratify import random_strata, sides_to_cut
from assay.core.tally import cells_of
from assay.core.targets import Target, parse_targets
from assay.core.types import Floats
from assay.core.views import views_of
from assay.errors import InputError
from assay.predictions import Classifiers, Given, Labelled, find_labels, read_labelled, score_name
from assay.simulation.cell_truth import LabelledCells
from assay.simulation.frames import Frame, Truth, frame_of
from assay.simulation.opined import OpinedItems
from assay.simulation.oracle import all_labelled
from assay.simulation.thresholds import Thresholds

Arrays = ArrayLike | Mapping[str, ArrayLike]
"""Values of one classifier, or of several by name."""


class Population(LabelledCells):
    """Predictions of one classifier or several for the same items, and the truth about each.

    Parameters
    ----------
    y_true : array of bool or of 0 and 1, shape (N,)
        What the items are.
    y_score : array, shape (N,), or mapping of names to arrays, optional
        The scores; without them there is only random sampling.
    y_pred : array of bool or of 0 and 1, shape (N,), or mapping of names to arrays
        What the classifier said, or each of several.
    threshold : float, optional
        The score from which on a single one says yes; may stand in for `y_pred`.
    scale : {"probability", "margin"}, optional
        What the scores of a single one are; otherwise told by their range.
    aux : mapping of names to arrays, optional
        Second opinions, as in `create_campaign`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(10_000)
    >>> population = Population(y_true=rng.random(10_000) < score, y_score=score, threshold=0.5)
    >>> round(population.value("precision"), 2), round(population.limit("precision"), 2)
    (0.74, 0.83)

    Bit k of a cell's code is set where the k-th classifier says yes:

    >>> both = Population(y_true=[1, 1, 0, 0], y_pred={"new": [1, 1, 1, 0], "old": [1, 0, 1, 0]})
    >>> both.cells()
    {0: 1, 1: 1, 3: 2}
    >>> both.value("recall:new - recall:old")
    0.5
    """

    def __init__(
        self,
        *,
        y_true: ArrayLike,
        y_score: Arrays | None = None,
        y_pred: Arrays | None = None,
        threshold: float | None = None,
        scale: Scale | None = None,
        aux: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        if isinstance(y_pred, Mapping) or isinstance(y_score, Mapping):
            if threshold is not None:
                raise InputError(
                    f"threshold={threshold!r} is of one classifier, and several are given",
                    hint="pass the predictions of each: y_pred={'cnn': ..., 'mve': ...}",
                )
            columns, classifiers = _by_name(y_pred, y_score)
            roles: dict[str, Any] = {"classifiers": classifiers}
        else:
            arrays = {"y_score": y_score, "y_pred": y_pred}
            columns = {name: values for name, values in arrays.items() if values is not None}
            roles = {"predicted": "y_pred" if "y_pred" in columns else None, "threshold": threshold}
            classes = classes_of({**columns, "y_true": y_true}, roles, None, None, ())
            roles |= {"score": "y_score" if "y_score" in columns else None, "classes": classes}
        given = {**(aux or {}), "y_true": y_true, **columns}
        self._take(read_labelled(given, label="y_true", aux=list(aux or ()), **roles), scale)

    @classmethod
    def read(
        cls,
        source: object,
        *,
        label: str,
        score: str | None = None,
        predicted: str | None = None,
        threshold: float | None = None,
        positive: object = None,
        scale: Scale | None = None,
        classifiers: Classifiers | None = None,
        aux: Sequence[str] = (),
        classes: Given | None = None,
        probabilities: str | None = None,
        multilabel: bool = False,
        metrics: Sequence[str] = (),
    ) -> Self:
        """Read a population from a file or table; the columns are as in `create_campaign`.

        Parameters
        ----------
        source
            As the predictions of `create_campaign`.
        label : str
            The column of what the items are; of sets of classes also a pattern of columns.
        score, predicted, threshold, positive, scale, classifiers, aux
            As in `create_campaign`.
        classes, probabilities, multilabel
            As in `create_campaign`.
        metrics : sequence of str
            What will be asked for: some metrics are of more classes than yes and no alone, and
            top-k accuracy needs more than the predicted class.
        """
        population = cls.__new__(cls)
        columns = {"predicted": predicted, "threshold": threshold, "positive": positive}
        columns["probabilities"] = probabilities
        if multilabel:
            classes = find_labels(source, columns, classifiers, classes)
        known = classes_of(source, columns, classifiers, classes, metrics)
        labelled = read_labelled(
            source,
            label=label,
            score=score,
            predicted=predicted,
            threshold=threshold,
            positive=positive,
            classifiers=classifiers,
            aux=aux,
            classes=known,
            probabilities=probabilities,
            ranked=asks_for_top(metrics),
            top=least_top(metrics),
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
        return self.truth.size

    @property
    def positives(self) -> int:
        """Number of positive items; with more classes, of correctly predicted ones."""
        return int(self.truth.sum())

    @property
    def predicted_positives(self) -> int:
        """Number of items that the only classifier predicts yes."""
        return int(self._of_one.predicted.sum())

    def value(self, target: str | Target) -> float:
        """Compute the true value of a metric."""
        if isinstance(target, str):
            (target,) = parse_targets([target], self.classifiers, classes=self.vocabulary)
        if self.of_classes:  # every item labelled
            strata, goal = random_strata(self), Goal(targets=(target,), budget=1)
            procedure = procedure_of(Design(), goal, strata, None, 0)
            known, metric = all_labelled(procedure, self.truth_in(strata, goal))
            return float(metric.value(known.x))
        if len(self.classifiers) == 1:
            return self.frame(Design.simple_random(), target.metric).value
        cells = self.by_cell
        parts = Parts(np.arange(cells.codes.size), cells.codes, cells.sizes)
        (view,) = views_of(Goal(targets=(target,), budget=1), self.classifiers, parts)
        return float(view.metric.value(view.gather(cells.positives)))

    # By score: of a single classifier.

    @property
    def _of_one(self) -> Labelled:
        if len(self.classifiers) > 1:
            raise InputError(
                f"these are {len(self.classifiers)} classifiers: {', '.join(self.classifiers)}",
                details="strata by score are those of one",
            )
        return self._labelled

    def random_variance(self, metric: str) -> float:
        """Variance of the metric, times n, under simple random sampling."""
        predicted, truth = self._of_one.predicted, self.truth
        sides = np.array([True, False])
        sizes = np.array([predicted.sum(), (~predicted).sum()], dtype=np.float64)
        hits = np.array([(truth & predicted).sum(), (truth & ~predicted).sum()], dtype=np.float64)
        return forecast.random_variance(canonical_metric(metric), sizes, hits, sides)

    def limit(self, metric: str) -> float:
        """Share of random sampling's labels that a design by score must spend.

        (E sqrt(eta (1 - eta)))^2 / (p (1 - p)) with eta the chance of the outcome at a score, from
        an isotonic fit for each predicted label: infinitely fine strata with the best allocation.
        For recall and F1 an item's eta is weighted by the item's weight in the metric.
        """
        form, count, eta = self._cells(metric)
        scale = np.abs(form.gradient(eta * count)) * count
        random = self.random_variance(metric)
        least = forecast.least_variance(scale, np.sqrt(eta * (1 - eta)))
        return float(least / random) if random > 0 else 1.0

    def honest_limit(self, metric: str, within: float, confidence: float = 0.95) -> LabelLimit:
        """Minimum labels of any design by score for a half-width.

        Parameters
        ----------
        metric : str
        within, confidence : float
            Of the interval.
        """
        return honest_limit(*self._cells(metric), within=within, confidence=confidence)

    def _cells(self, metric: str) -> tuple[Ratio, Floats, Floats]:
        """Metric over the cells of the scores, their items, and the rates of outcomes.

        The rates are assumed to rise with the score, separately for each predicted label.
        """
        sides = self.frame(Design(bins=1), metric).strata.sides
        truths = [self._truth("score", side) for side in sides]
        counts = [truth.profile.count.astype(np.float64) for truth in truths]
        eta = [
            forecast.isotonic_rates(count, truth.outcomes)
            for count, truth in zip(counts, truths, strict=True)
        ]
        predicted = np.repeat([bool(side) for side in sides], [count.size for count in counts])
        count = np.concatenate(counts)
        return ratio(canonical_metric(metric), count, predicted), count, np.concatenate(eta)

    def opined(self, metric: str) -> OpinedItems | None:
        """Items that a metric needs, with second opinions; None if there are none."""
        given = self._of_one
        if given.opinions is None:
            return None
        rows = np.flatnonzero(np.isin(given.predicted, list(sides(canonical_metric(metric)))))
        columns = columns_at(given.opinions.columns, rows)
        return OpinedItems(
            given.truth[rows], given.score[rows], columns, given.opinions.own, self.classifiers
        )

    def opined_cells(self) -> OpinedItems | None:
        """All items, with second opinions on several targets; None if there are none."""
        given = self._labelled
        if given.opinions is None:
            return None
        columns, own = given.opinions.columns, given.opinions.own
        if len(self.classifiers) > 1:
            scores = [score_name(name) for name in self.classifiers]
            scores = [name for name in scores if name in columns]
        else:
            scores = [] if own is None else [own]
            columns = {**columns, SAID: given.codes}
        return OpinedItems(given.truth, self.rank, columns, scores, self.classifiers)

    def frame(self, design: Design, metric: str) -> Frame:
        """Cut the population as the design does, and count the truth in each stratum."""
        name, counts = canonical_metric(metric), (self.predicted_positives, self.size)
        cut = sides_to_cut(design, name, *counts, self._labelled.source)
        return frame_of({side: self._truth(design.variable, side) for side in cut}, design, metric)

    def ladder(self, design: Design) -> Frame:
        """Cut all items as a campaign for a threshold does, for any predicted label."""
        score = self._scores_of_one
        profile = cells_of(score, np.ones(score.size, dtype=np.bool_)).profile(None)
        cell = np.searchsorted(profile.low, score, side="right") - 1
        positives = np.bincount(cell, self.truth, minlength=profile.low.size)
        truth = Truth(profile, np.asarray(positives, dtype=np.float64))
        return frame_of({True: truth}, design, "precision")

    def thresholds(self) -> Thresholds:
        """Compute the true metrics at every distinct score."""
        return Thresholds.of_scores(self._scores_of_one, self.truth)

    @property
    def _scores_of_one(self) -> Floats:
        score = self._of_one.score
        if score.size and score.min() == score.max():
            raise InputError(
                "all items have the same score, so there is no threshold to choose",
                details=f"{score.size:,} items",
                hint="name the column with the classifier's scores",
            )
        return score

    def truth_of(self, side: Side) -> Truth:
        """Scores of the items with a predicted label, and the positives among them."""
        return self._truth("score", side)

    def _truth(self, variable: Variable, side: Side) -> Truth:
        """Profile one side, once; all later steps use its cells."""
        key = (variable, side)
        if key not in self._truths:
            score, predicted = self._of_one.score, self._of_one.predicted
            values = score
            if variable == "confidence":
                threshold = self._labelled.threshold or 0.0
                values = confidence(score, predicted, self.scale, threshold)
            rule = cells_of(values, predicted).rule  # for both sides, as in a campaign
            truth = self._labelled.truth
            outcome = truth == predicted if side is None else truth[predicted == side]
            values = values if side is None else values[predicted == side]
            profile = profile_of(values, rule)
            cell = np.searchsorted(profile.low, values, side="right") - 1
            positives = np.bincount(cell, outcome, minlength=profile.low.size)
            outcomes = np.asarray(positives, dtype=np.float64)
            self._truths[key] = Truth(profile, outcomes)
        return self._truths[key]


def _by_name(
    y_pred: object, y_score: object
) -> tuple[dict[str, ArrayLike], dict[str, dict[str, object]]]:
    """Arrays of several classifiers as columns, and each classifier's columns."""
    columns: dict[str, ArrayLike] = {}
    classifiers: dict[str, dict[str, object]] = {}
    for argument, role, given in (("y_pred", "predicted", y_pred), ("y_score", "score", y_score)):
        if given is not None and not isinstance(given, Mapping):
            raise InputError(
                f"{argument} is of type {type(given).__name__}",
                details="it is a mapping of the classifiers' names to arrays, as the other is",
            )
        for name, values in (given or {}).items():
            column = f"{role}:{name}"
            columns[column] = values
            classifiers.setdefault(name, {})[role] = column
    return columns, classifiers


class Ensemble(Population):
    """`Population`, under its former name for several classifiers."""

    def __init__(self, *given: Any, **more: Any) -> None:
        warn("Ensemble is now Population; the old name will be removed", DeprecationWarning, 2)
        super().__init__(*given, **more)
