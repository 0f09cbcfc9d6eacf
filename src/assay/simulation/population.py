"""A population whose truth is known, reduced to counts.

Once its scores are profiled (a few thousand cells with their items and outcomes), everything a
simulation asks of it costs the same whatever its size.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike

from assay.campaign import classes_of
from assay.core import forecast
from assay.core.bins import Scale, scale_of
from assay.core.cells import Heap, Part, count_cells, count_parts, profile_heaps
from assay.core.cuts import Variable, confidence
from assay.core.design import Design
from assay.core.error_model import SAID, columns_at
from assay.core.forms import Metric, Ratio, ratio
from assay.core.goal import Goal
from assay.core.joint import Joint, Parts
from assay.core.limits import LabelLimit, honest_limit
from assay.core.metrics import asks_for_top, canonical_metric, sides
from assay.core.profile import Profile, cells_of, profile_of
from assay.core.ranking import InTop
from assay.core.recycling.route import Venn
from assay.core.strata import Side, Strata
from assay.core.stratify import joint_of, random_strata, sides_to_cut
from assay.core.tallies import Tallies
from assay.core.targets import NO_GROUPS, Groups, Target, parse_targets
from assay.core.types import Bools, Floats, Ints
from assay.core.views import views_of
from assay.core.vocabulary import YES_OR_NO
from assay.errors import InputError
from assay.predictions import Classifiers, Given, Labelled, read_labelled, score_name
from assay.simulation.frames import Frame, Truth, frame_of
from assay.simulation.opined import OpinedItems
from assay.simulation.oracle import SetCounts
from assay.simulation.thresholds import Thresholds

Arrays = ArrayLike | Mapping[str, ArrayLike]
"""One classifier's, or those of several by name."""


def all_labelled(
    joint: Joint, outcomes: Floats, in_top: Floats | None = None
) -> tuple[Tallies, Metric]:
    """Return what the first target sees where every item is labelled, and the metric of it.

    `outcomes`, (C, K + 1): the items of each class in each part, and last those of none; `in_top`,
    (C, M): those that have the outcomes of top-k accuracy, where it is asked for.
    """
    size = joint.parts.size
    known = Tallies(size, size, 0)
    whole = replace(joint.begin(), tallies=known, by_class=outcomes, in_top=in_top)
    mine, metric = joint.views[0].seen(whole)
    return mine.tallies, metric


class Population:
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
                    hint="say what each of them said: y_pred={'cnn': ..., 'mve': ...}",
                )
            columns, classifiers = _by_name(y_pred, y_score)
            labelled = read_labelled(
                {**(aux or {}), "y_true": y_true, **columns},
                label="y_true",
                classifiers=classifiers,
                aux=list(aux or ()),
            )
        else:
            given = {**(aux or {}), "y_true": y_true, "y_score": y_score, "y_pred": y_pred}
            given = {name: values for name, values in given.items() if values is not None}
            said = {"predicted": "y_pred" if "y_pred" in given else None, "threshold": threshold}
            labelled = read_labelled(
                given,
                label="y_true",
                score="y_score" if y_score is not None else None,
                predicted="y_pred" if y_pred is not None else None,
                threshold=threshold,
                aux=list(aux or ()),
                classes=classes_of(given, said, None, None, ()),
            )
        self._take(labelled, scale)

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
            The column of what the items are; with `multilabel`, one of sets of classes, or a
            pattern of columns.
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
        known = classes_of(source, columns, classifiers, classes, metrics, multilabel=multilabel)
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
        )
        population._take(labelled, scale)
        return population

    def _take(self, labelled: Labelled, scale: Scale | None) -> None:
        self._labelled = labelled
        score = labelled.score
        self.scale = scale_of(float(score.min()), float(score.max())) if scale is None else scale
        self._truths: dict[tuple[Variable, Side], Truth] = {}

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Their names, in the order of the bits of a code."""
        return self._labelled.classifiers

    @property
    def groups(self) -> Groups:
        """What the bits of a code behind the classifiers' mean: there are none."""
        return NO_GROUPS

    @property
    def classes(self) -> tuple[str, ...]:
        """Those that items are of, in the order of their numbers: no and yes, if not others."""
        return self._labelled.classes.names

    @property
    def multilabel(self) -> bool:
        """Whether an item may have several of the classes."""
        return self._labelled.classes.multilabel

    @property
    def of_classes(self) -> bool:
        """Whether items are of more classes than yes and no."""
        return self.classes != YES_OR_NO.names

    @property
    def truth(self) -> Bools:
        """Which items are positive, shape (N,)."""
        return self._labelled.truth

    @property
    def rank(self) -> Floats:
        """The items' mean rank by the classifiers' scores, shape (N,)."""
        return self._labelled.rank

    @property
    def size(self) -> int:
        """The number of items."""
        return self.truth.size

    @property
    def positives(self) -> int:
        """The number of items that are positive; of more classes, that are called rightly."""
        return int(self.truth.sum())

    @property
    def predicted_positives(self) -> int:
        """The number of items that the only classifier says yes to."""
        return int(self._of_one.predicted.sum())

    def says_yes(self, classifier: str) -> Bools:
        """Return which items a classifier says yes to, shape (N,)."""
        bit = self.classifiers.index(classifier)
        return np.asarray(self._labelled.codes >> bit & 1 > 0)

    def value(self, target: str | Target) -> float:
        """Return a metric's true value."""
        if isinstance(target, str):
            (target,) = parse_targets(
                [target], self.classifiers, classes=self.classes, multilabel=self.multilabel
            )
        if self.of_classes:
            return self._value_of_classes(target)
        if len(self.classifiers) == 1:
            return self.frame(Design.simple_random(), target.metric).value
        cells = self.by_cell
        parts = Parts(np.arange(cells.codes.size), cells.codes, cells.sizes)
        (view,) = views_of(Goal(targets=(target,), budget=1), self.classifiers, parts)
        return float(view.metric.value(view.gather(cells.positives)))

    # By cell of what all classifiers say, and by mean rank.

    @cached_property
    def by_cell(self) -> Venn:
        """The items and the positives of each cell."""
        every, positive = self.cells(), count_cells(self._labelled.codes[self.truth])
        return Venn(
            self.classifiers,
            np.array(list(every)),
            np.array(list(every.values()), dtype=np.float64),
            np.array([positive.get(code, 0) for code in every], dtype=np.float64),
        )

    def cells(self) -> dict[int, int]:
        """Return the number of items with each code that occurs."""
        return count_cells(self._labelled.codes)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of the mean rank among the items with each heap's codes."""
        return profile_heaps(self.rank, self._labelled.codes, heaps)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata that the heaps are cut into."""
        return count_parts(self.rank, self._labelled.codes, heaps)

    def _value_of_classes(self, target: Target) -> float:
        """Return a metric's true value, where there are more classes: with every item labelled."""
        strata = random_strata(self)
        joint = joint_of(Design(), Goal(targets=(target,), budget=1), strata)
        in_top = None
        if joint.tops:
            sets = self.sets(strata, joint.tops)
            in_top = sets.counts @ sets.in_top
        known, metric = all_labelled(joint, self.outcomes(strata), in_top)
        return float(metric.value(known.x))

    def outcomes(self, strata: Strata) -> Floats:
        """Return the positives in each part of the strata, shape (C,).

        Of more classes, the items of each, and last of none: shape (C, K + 1). Where an item may
        have several, it counts for each of them.
        """
        if self.multilabel:
            sets = self.sets(strata)
            return sets.counts @ sets.members
        if (numbers := self._labelled.numbers) is not None:
            told = np.zeros((len(strata.parts), len(self.classes) + 1))
            for number in np.unique(numbers).tolist():
                told[:, number] = self._parts_of(numbers == number, strata)
            return told
        return self._parts_of(self.truth, strata)

    def sets(self, strata: Strata, tops: Sequence[InTop] = ()) -> SetCounts:
        """Return how many items of each part have which classes, where they may have several.

        And which of the outcomes of top-k accuracy they have, where there are any.
        """
        numbers, every = self._labelled.numbers, np.arange(len(self.classes))
        if numbers is None or not (self.multilabel or tops):
            raise InputError("each of these items is of one class")
        kinds = numbers << len(tops)
        for place, top in enumerate(tops):
            kinds |= top.among(self._places).astype(np.int64) << place
        found = np.unique(kinds)
        each = [self._parts_of(kinds == kind, strata) for kind in found.tolist()]
        said, in_top = found >> len(tops), found[:, None] >> np.arange(len(tops)) & 1
        members = [said[:, None] == every, said == every.size]
        if self.multilabel:
            members = [said[:, None] >> every & 1, said == 0]
        counted = np.column_stack(members).astype(np.float64), in_top.astype(np.float64)
        return SetCounts(said, np.column_stack(each), *counted)

    def _parts_of(self, which: Bools, strata: Strata) -> Floats:
        """Return how many of some items are in each part, shape (C,)."""
        there = count_parts(self.rank[which], self._labelled.codes[which], strata.heaps)
        found = np.zeros(len(strata.parts))
        for stratum, code, items in there:
            found[strata.part_of(stratum, code)] = items
        return found

    @property
    def _places(self) -> Ints:
        """Where each item's class stands by the classifiers' probabilities, shape (N, J)."""
        if self._labelled.places is None:
            raise InputError(
                "top-k accuracy is asked for, and the population was read without it",
                details="it takes the probabilities of all classes",
                hint="Population.read(..., probabilities='p_*', metrics=['top_5_accuracy'])",
            )
        return self._labelled.places

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
        """Return n times the metric's variance under simple random sampling."""
        predicted, truth = self._of_one.predicted, self.truth
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
        form, count, eta = self._cells(metric)
        scale = np.abs(form.gradient(eta * count)) * count
        random = self.random_variance(metric)
        least = forecast.least_variance(scale, np.sqrt(eta * (1 - eta)))
        return float(least / random) if random > 0 else 1.0

    def honest_limit(self, metric: str, within: float, confidence: float = 0.95) -> LabelLimit:
        """Return the labels that any design by score takes at least to a half-width.

        Parameters
        ----------
        metric : str
        within, confidence : float
            Of the interval.
        """
        return honest_limit(*self._cells(metric), within=within, confidence=confidence)

    def _cells(self, metric: str) -> tuple[Ratio, Floats, Floats]:
        """Return a metric over the cells of the scores, their items, and the chances of outcomes.

        The chances are taken to rise with the score, for each predicted label by itself.
        """
        sides = self.frame(Design(bins=1), metric).strata.sides
        truths = [self._truth("score", side) for side in sides]
        counts = [truth.profile.count.astype(np.float64) for truth in truths]
        eta = [
            forecast.isotonic_rates(count, truth.outcomes)
            for count, truth in zip(counts, truths, strict=True)
        ]
        said = np.repeat([bool(side) for side in sides], [count.size for count in counts])
        count = np.concatenate(counts)
        return ratio(canonical_metric(metric), count, said), count, np.concatenate(eta)

    def opined(self, metric: str) -> OpinedItems | None:
        """Return the items that a metric needs, with second opinions; None where there are none."""
        given = self._of_one
        if given.opinions is None:
            return None
        rows = np.flatnonzero(np.isin(given.predicted, list(sides(canonical_metric(metric)))))
        columns = columns_at(given.opinions.columns, rows)
        return OpinedItems(given.truth[rows], given.score[rows], columns, given.opinions.own)

    def opined_cells(self) -> OpinedItems | None:
        """Return all items, with second opinions on several targets; None where there are none."""
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

    def ladder(self, design: Design) -> Frame:
        """Cut all items as a campaign for a threshold does, whatever the classifier says."""
        score = self._scores_of_one
        profile = profile_of(score, cells_of(score, np.ones(score.size, dtype=np.bool_)).rule)
        cell = np.searchsorted(profile.low, score, side="right") - 1
        found = np.bincount(cell, self.truth, minlength=profile.low.size)
        told = Truth(profile, np.asarray(found, dtype=np.float64))
        return frame_of({True: told}, design, "precision")

    def thresholds(self) -> Thresholds:
        """Return what is true at every distinct score."""
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
        """Return the scores of the items with a predicted label, and the positives among them."""
        return self._truth("score", side)

    def _truth(self, variable: Variable, side: Side) -> Truth:
        """Profile one side, once; all that comes after works on its cells."""
        key = (variable, side)
        if key not in self._truths:
            score, predicted = self._of_one.score, self._of_one.predicted
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


def _by_name(
    y_pred: object, y_score: object
) -> tuple[dict[str, ArrayLike], dict[str, dict[str, object]]]:
    """Return the arrays of several classifiers as columns, and which columns are whose."""
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
    """`Population`, by the name that it had for several classifiers."""

    def __init__(self, *given: Any, **more: Any) -> None:
        warn("Ensemble is now Population; the old name goes away", DeprecationWarning, 2)
        super().__init__(*given, **more)
