"""Confusion matrix of a campaign and metrics of every class, from its labelling so far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.core.design import Design
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.matrix import Matrix
from assay.core.parts import Parts, View
from assay.core.standing import Standing, shown_look
from assay.core.state import State
from assay.core.strata import Strata
from assay.core.stratify import joint_of, parts_of
from assay.core.targets import name_of, parse_targets
from assay.core.types import Floats, Ints
from assay.core.vocabulary import NONE_OF_THESE
from assay.errors import DesignError, did_you_mean
from assay.labelling.settings import Settings
from assay.labelling.state import Labelling
from assay.results import ClassRow, ClassTable, ConfusionCell, ConfusionMatrix


def confusion_of(labelling: Labelling, classifier: str | None = None) -> ConfusionMatrix:
    """Confusion matrix of a classifier."""
    settings = labelling.settings
    _refuse_without_matrix(settings)
    place = place_of(settings.strata.classifiers, classifier)
    state, parts = labelling.rounds.state, parts_of(settings.strata)
    whose = settings.strata.classifiers[place]
    refuse_untold(settings.strata, whose)
    among = settings.strata.groups.within(settings.strata.unit, whose, None)
    mine = np.flatnonzero(parts.inside(among))  # the parts that the classifier was applied to
    predicted, names = parts.says(place)[mine], (*settings.classes.names, NONE_OF_THESE)
    predicted_items = parts.items_by_prediction(place, among)
    matrix = Matrix("accuracy", parts.stratum[mine], predicted, parts.size[mine], predicted_items)
    cells: list[ConfusionCell] = []
    if (by_class := state.tallies.by_class) is not None:
        labels_by_class = by_class[mine, : len(names)]
        right = matrix.right(state.tallies.n[mine], labels_by_class)
        fixed = (settings.design, settings.goal.confidence, state, parts)
        for number in np.unique(predicted).tolist():
            row = _Row(
                *fixed, mine[predicted == number], labels_by_class[predicted == number], number
            )
            cells += [
                ConfusionCell(names[number], names[k], share * row.size, share, low, high, labels)
                for k, share, low, high, labels in row.shares(float(right[number]))
            ]
    items = dict(zip(settings.classes.names, map(int, predicted_items), strict=True))
    return ConfusionMatrix(
        settings.classes.names, tuple(cells), items, settings.goal.confidence, name_of(whose)
    )


def _refuse_without_matrix(settings: Settings) -> None:
    if settings.classes.is_yes_or_no:
        raise DesignError(
            f"campaign {settings.name!r} has yes and no, not classes",
            hint="its precision and recall have the same information",
        )
    if settings.classes.multilabel:
        raise DesignError(
            f"items of campaign {settings.name!r} may have several classes",
            details="a missed class is not predicted as another one, so there is no confusion "
            "matrix",
            hint="precision:CLASS and recall:CLASS show how often a class is predicted wrongly, "
            "and missed",
        )


def matrices_of(labelling: Labelling) -> tuple[ConfusionMatrix, ...]:
    """Confusion matrix of every classifier; empty for sets of classes, and yes or no."""
    settings = labelling.settings
    names = whose_classes(settings.strata) if settings.classes.has_matrix else []
    return tuple(confusion_of(labelling, name) for name in names)


def class_tables_of(labelling: Labelling) -> tuple[ClassTable, ...]:
    """Metrics of each class, for every classifier; empty for yes and no."""
    settings = labelling.settings
    names = [] if settings.is_binary else whose_classes(settings.strata)
    return tuple(class_table_of(labelling, name) for name in names)


def whose_classes(strata: Strata) -> list[str]:
    """Classifiers whose every item may be drawn: others have no confusion matrix.

    For a difference of accuracies, items on which both agree are never labelled.
    """
    if len(strata.classifiers) == 1:
        return [*strata.classifiers]
    among = {name: strata.groups.within(strata.unit, name, None) for name in strata.classifiers}
    return [
        name
        for name, domain in among.items()
        if not any(items and domain.holds(code) for code, items in strata.rest)
    ]


def refuse_untold(strata: Strata, classifier: str) -> None:
    """Raise if labels are only of items on which two classifiers disagree."""
    if classifier not in whose_classes(strata):
        raise DesignError(
            f"the confusion matrix of {classifier} is not known here",
            details="labels are of items that count in a difference, not of all",
            hint="add its own metric: level_within=..., or metrics=['accuracy:...']",
        )


def place_of(classifiers: tuple[str, ...], wanted: str | None) -> int:
    """Look up the number of the requested classifier."""
    if wanted is None and len(classifiers) == 1:
        return 0
    if wanted not in classifiers:
        raise DesignError(
            "the matrix needs a classifier" if wanted is None else f"unknown {wanted!r}",
            details=f"classifiers: {', '.join(classifiers)}",
            hint=f"pass classifier={classifiers[0]!r}"
            if wanted is None
            else did_you_mean(wanted, classifiers),
        )
    return classifiers.index(wanted)


# Precision, recall and F1 of every class of a campaign, from its labelling so far.
#
# A campaign for accuracy or macro F1 has labels of every class, and each has a metric of its own.
# If the class was not a target, labels did not follow its errors (`Design.beside`).

_METRICS, _SHARE = ("precision", "recall", "f1"), "prevalence"
_Ends = tuple[float | None, float, float]
_UNKNOWN: _Ends = (None, 0.0, 1.0)
_MOST = 60  # classes shown unless they are named


def class_table_of(
    labelling: Labelling, classifier: str | None = None, classes: Sequence[str] | None = None
) -> ClassTable:
    """Metrics of each class.

    `classes`: which; default: all, or of many those with the most labels.
    """
    settings, vocabulary = labelling.settings, labelling.settings.classes
    if vocabulary.is_yes_or_no:
        raise DesignError(
            f"campaign {settings.name!r} has yes and no, not classes",
            hint="Campaign.estimates() has its metrics",
        )
    state, parts = labelling.rounds.state, parts_of(settings.strata)
    names, place = vocabulary.names, place_of(settings.strata.classifiers, classifier)
    whose = settings.strata.classifiers[place]
    refuse_untold(settings.strata, whose)
    among = settings.strata.groups.within(settings.strata.unit, whose, None)
    labels = [_labels(state, parts, place, number) for number in range(len(names))]
    if classes is None:
        shown = sorted(sorted(range(len(names)), key=lambda number: -labels[number])[:_MOST])
    else:
        shown = [_number(names, name) for name in classes]
    suffix = f":{whose}" if name_of(whose) else ""
    estimated = {each.name: each for each in labelling.rounds.standings}
    rows = []
    for number in shown:
        predicted = int(parts.predicted_items(place, number, among))
        views = _views(settings, names[number], suffix, predicted=predicted)
        ends = [_ends(settings, state, view, estimated.get(view.name)) for view in views]
        row = _row(names[number], ends, predicted=predicted, whole=parts.all_items(among))
        rows.append(_with_doubt(replace(row, labels=labels[number])))
    return ClassTable(
        tuple(rows),
        settings.goal.confidence,
        len(names) - len(rows) if classes is None else 0,
        name_of(whose),
    )


def _number(names: Sequence[str], name: str) -> int:
    if name not in names:
        raise DesignError(f"there is no class {name!r}", hint=did_you_mean(name, names))
    return names.index(name)


def _labels(state: State, parts: Parts, place: int, number: int) -> int:
    """Count the labels of items that are predicted to be of a class, or are of it."""
    predicted = parts.calls(place, number)
    by_class = state.tallies.by_class
    named = 0.0 if by_class is None else by_class[~predicted, number].sum()
    return int(state.tallies.n[predicted].sum() + named)


def _views(settings: Settings, name: str, suffix: str, *, predicted: int) -> Sequence[View]:
    """List the views of a class's metrics on the labels; the share of all items comes last."""
    strata, of_class = settings.strata, (*_METRICS, _SHARE) if predicted else (_SHARE,)
    targets = parse_targets(
        [f"{metric}:{name}{suffix}" for metric in of_class],
        strata.classifiers,
        classes=settings.classes,
    )
    goal = Goal(targets=targets, budget=1, confidence=settings.goal.confidence)
    return joint_of(settings.design, goal, strata).views


def _row(name: str, ends: Sequence[_Ends], *, predicted: int, whole: float) -> ClassRow:
    """Row of a class from the ends of its metrics, in the order of `_views`.

    `predicted`: number of items predicted to be of the class; `whole`: number of all items.
    """
    *metrics, (share, low, high) = ends
    if not predicted:  # nothing is predicted to be of it
        missed: _Ends = (0.0, 0.0, 0.0) if share else _UNKNOWN
        metrics = [_UNKNOWN, missed, missed]
    precision, recall, f1 = metrics
    items = None if share is None else share * whole
    return ClassRow(name, *precision, *recall, *f1, predicted, items, low * whole, high * whole, 0)


def _with_doubt(row: ClassRow) -> ClassRow:
    """Row with the reason why an estimate is missing."""
    if row.labels == 0:  # an upper limit is not an estimate
        nothing = replace(row, precision=None, recall=None, f1=None, items=None)
        return replace(nothing, doubt="no label names this class yet")
    if row.predicted == 0:
        return replace(row, doubt="no item is predicted as this class, so it has no precision")
    if row.recall is None:
        why = "no label names this class yet, so its recall is unknown"
        return replace(row, doubt=why)
    return row


def _ends(settings: Settings, state: State, view: View, estimated: Standing | None) -> _Ends:
    """Estimate of a metric and its interval's ends; a target has its own."""
    mine, metric = view.seen(state)
    if not np.any(mine.tallies.n):
        return _UNKNOWN
    if estimated is None:
        now = shown_look(settings.design.beside, view.goal, metric, mine)
    else:
        now = estimated.look
    value = float(now.moments.value) if bool(now.moments.defined) else None
    return value, float(now.low), float(now.high)


@dataclass(frozen=True, eq=False)
class _Row:
    """Row of a confusion matrix with intervals: items of one predicted class.

    The correct share is estimated as for metrics of the matrix (`core.confusion`). The wrong share
    is divided in proportion to its labels, each weighted by the items of its part per label. The
    interval of the correct share is that of a precision. The others' are of an outcome in whole
    strata, to be predicted as one class and belong to the other: parts are small, and many have no
    label.
    """

    design: Design  # how labels are looked at
    confidence: float
    # state, parts: the labels so far, and the parts that they are counted by.
    state: State
    parts: Parts
    mine: Ints  # the parts of these items, one a stratum or more
    by_class: Floats  # their labels
    number: int  # of the predicted class

    def shares(self, right: float) -> list[tuple[int, float, float, float, int]]:
        """Shares of the classes with a label, and of the predicted class itself.

        Each with the class's number, the ends of the interval, and the labels that name it.
        """
        labels = self.by_class
        n = np.maximum(self.state.tallies.n[self.mine], 1.0)
        seen = (labels * (self.parts.size[self.mine] / n)[:, None]).sum(axis=0)
        seen[self.number] = 0.0
        share = (1 - right / self.size) * seen / max(float(seen.sum()), 1e-300)
        share[self.number] = right / self.size
        there = np.asarray(labels.any(axis=0))
        shown = [k for k in range(labels.shape[1]) if there[k] or k == self.number]
        low, high = self._ends(shown)
        return [
            (
                k,
                float(share[k]),
                float(min(low[place], share[k])),
                float(max(high[place], share[k])),
                int(labels[:, k].sum()),
            )
            for place, k in enumerate(shown)
        ]

    @property
    def size(self) -> float:
        """Number of items."""
        return float(self.parts.size[self.mine].sum())

    def _ends(self, shown: Sequence[int]) -> tuple[Floats, Floats]:
        """Compute the ends of the intervals of the shares, (cells,)."""
        others = [k for k in shown if k != self.number]
        ends = np.zeros((2, len(shown)))
        by_part = self._look(self.by_class[:, [self.number]].T, whole=False)
        ends[:, [shown.index(self.number)]] = by_part
        if others:
            by_stratum = self._look(self.by_class[:, others].T, whole=True)
            ends[:, [shown.index(k) for k in others]] = by_stratum
        return ends[0], ends[1]

    def _look(self, x: Floats, *, whole: bool) -> Floats:
        """Compute the ends of intervals, (2, cells), over parts or over the strata that hold them.

        `x`, (cells, parts): labels with the outcome.
        """
        known, waiting = self.state.tallies, self.state.open
        none = np.zeros_like(known.n) if waiting is None else waiting
        counts = [known.N, known.n, known.u, none]
        if whole:
            strata, where = np.unique(self.parts.stratum[self.mine], return_inverse=True)
            items, n, u, open_ = (self.parts.by_stratum(each)[strata] for each in counts)
            gathered = np.zeros((len(x), strata.size))
            np.add.at(gathered.T, where, x.T)
            x = gathered
        else:
            items, n, u, open_ = (each[self.mine] for each in counts)
        if not n.any():  # nothing is known, as for most of a thousand classes
            return np.repeat([[0.0], [1.0]], len(x), axis=1)
        start = State.start(np.broadcast_to(items, x.shape), replacement=False)
        tallies = start.tallies.add(n, x, u)
        dealt = tallies.n + tallies.u + open_
        now = replace(start, tallies=tallies, dealt=dealt, room=tallies.N - dealt)
        now = replace(now, open=np.broadcast_to(open_, x.shape) if open_.any() else None)
        ones = np.ones_like(items)
        metric = Ratio(0.0, ones, self.size, 0 * ones)
        goal = Goal("precision", budget=1, confidence=self.confidence)
        seen = shown_look(self.design.beside, goal, metric, now)
        return np.clip(np.stack([seen.low, seen.high]), 0.0, 1.0)
