"""The confusion matrix of a campaign and metrics of every class, from its labelling so far."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.core.engine import State
from assay.core.goal import Goal
from assay.core.joint import Parts, View
from assay.core.matrix import Matrix
from assay.core.matrix_rows import MatrixRow
from assay.core.standing import Standing, shown_look
from assay.core.strata import Strata
from assay.core.stratify import joint_of, parts_of
from assay.core.targets import ALONE, parse_targets
from assay.core.vocabulary import NONE_OF_THESE
from assay.errors import DesignError, did_you_mean
from assay.labelling.settings import Settings
from assay.labelling.state import Labelling
from assay.results import ClassRow, ClassTable, ConfusionCell, ConfusionMatrix


def confusion_of(labelling: Labelling, classifier: str | None = None) -> ConfusionMatrix:
    """Return what items that are called each class are."""
    settings = labelling.settings
    if settings.classes.is_yes_or_no:
        raise DesignError(
            f"campaign {settings.name!r} is of yes and no",
            hint="its precision and recall say what a matrix of two classes would",
        )
    if settings.classes.multilabel:
        raise DesignError(
            f"items of campaign {settings.name!r} may have several classes",
            details="a class that is missed is not taken for another one: there is no matrix of "
            "what is called what",
            hint="precision:CLASS and recall:CLASS tell how often a class is said wrongly, and "
            "missed",
        )
    place = place_of(settings.strata.classifiers, classifier)
    state, parts = labelling.rounds.state, parts_of(settings.strata)
    whose = settings.strata.classifiers[place]
    refuse_untold(settings.strata, whose)
    among = settings.strata.groups.within(settings.strata.unit, whose, None)
    mine = np.flatnonzero(parts.inside(among))  # the parts that the classifier was applied to
    said, names = parts.says(place)[mine], (*settings.classes.names, NONE_OF_THESE)
    said_items = parts.every_said(place, among)
    matrix = Matrix("accuracy", parts.stratum[mine], said, parts.size[mine], said_items)
    cells: list[ConfusionCell] = []
    if state.by_class is not None:
        right = matrix.right(state.tallies.n[mine], state.by_class[mine])
        fixed = (settings.design, settings.goal.confidence, state, parts)
        for number in np.unique(said).tolist():
            row = MatrixRow(*fixed, mine[said == number], number)
            cells += [
                ConfusionCell(names[number], names[k], share * row.size, share, low, high, labels)
                for k, share, low, high, labels in row.shares(float(right[number]))
            ]
    items = dict(zip(settings.classes.names, map(int, said_items), strict=True))
    return ConfusionMatrix(
        settings.classes.names,
        tuple(cells),
        items,
        settings.goal.confidence,
        "" if whose == ALONE else whose,
    )


def whose_classes(strata: Strata) -> list[str]:
    """Return the classifiers whose every item may be drawn: of others no matrix is known.

    Of a difference of accuracies, items that both call the same are never asked about.
    """
    if len(strata.classifiers) == 1:
        return [*strata.classifiers]
    among = {name: strata.groups.within(strata.unit, name, None) for name in strata.classifiers}
    return [
        name
        for name, its in among.items()
        if not any(items and its.holds(code) for code, items in strata.rest)
    ]


def refuse_untold(strata: Strata, classifier: str) -> None:
    """Raise where labels are only of items on which two classifiers disagree."""
    if classifier not in whose_classes(strata):
        raise DesignError(
            f"what {classifier} takes for what is not known here",
            details="labels are of items that count in a difference, not of all",
            hint="want its own metric, too: level_within=..., or metrics=['accuracy:...']",
        )


def place_of(classifiers: tuple[str, ...], wanted: str | None) -> int:
    """Return the number of the classifier that is meant."""
    if wanted is None and len(classifiers) == 1:
        return 0
    if wanted not in classifiers:
        raise DesignError(
            "the matrix of which classifier?" if wanted is None else f"unknown {wanted!r}",
            details=f"classifiers: {', '.join(classifiers)}",
            hint=f"say classifier={classifiers[0]!r}"
            if wanted is None
            else did_you_mean(wanted, classifiers),
        )
    return classifiers.index(wanted)


# Precision, recall and F1 of every class of a campaign, from its labelling so far.
#
# A campaign for accuracy or macro F1 has labels of every class, and each has a metric of its own.
# Where the class was no target, labels did not follow its errors (`Design.beside`).

_METRICS, _SHARE = ("precision", "recall", "f1"), "prevalence"
_Ends = tuple[float | None, float, float]
_UNKNOWN: _Ends = (None, 0.0, 1.0)
_MOST = 60  # classes that are told of unless they are named


def class_table_of(
    labelling: Labelling, classifier: str | None = None, classes: Sequence[str] | None = None
) -> ClassTable:
    """Return what is known of each class.

    `classes`: which; otherwise all, and of many those with the most labels.
    """
    settings, vocabulary = labelling.settings, labelling.settings.classes
    if vocabulary.is_yes_or_no:
        raise DesignError(
            f"campaign {settings.name!r} is of yes and no",
            hint="Campaign.estimates() tells its metrics",
        )
    state, parts = labelling.rounds.state, parts_of(settings.strata)
    names, place = vocabulary.names, place_of(settings.strata.classifiers, classifier)
    whose = settings.strata.classifiers[place]
    refuse_untold(settings.strata, whose)
    among = settings.strata.groups.within(settings.strata.unit, whose, None)
    told = [_labels(state, parts, place, number) for number in range(len(names))]
    if classes is None:
        shown = sorted(sorted(range(len(names)), key=lambda number: -told[number])[:_MOST])
    else:
        shown = [_number(names, name) for name in classes]
    suffix = "" if whose == ALONE else f":{whose}"
    estimated = {each.name: each for each in labelling.rounds.standings}
    rows = []
    for number in shown:
        said = int(parts.all_said(place, number, among))
        views = _views(settings, names[number], suffix, said=said)
        ends = [_ends(settings, state, view, estimated.get(view.name)) for view in views]
        row = _row(names[number], ends, said=said, whole=parts.all_items(among))
        rows.append(_with_doubt(replace(row, labels=told[number])))
    return ClassTable(
        tuple(rows),
        settings.goal.confidence,
        len(names) - len(rows) if classes is None else 0,
        "" if whose == ALONE else whose,
    )


def _number(names: Sequence[str], name: str) -> int:
    if name not in names:
        raise DesignError(f"there is no class {name!r}", hint=did_you_mean(name, names))
    return names.index(name)


def _labels(state: State, parts: Parts, place: int, number: int) -> int:
    """Return how many labels are of items that are called a class, or that are of it."""
    said = parts.calls(place, number)
    named = 0.0 if state.by_class is None else state.by_class[~said, number].sum()
    return int(state.tallies.n[said].sum() + named)


def _views(settings: Settings, name: str, suffix: str, *, said: int) -> Sequence[View]:
    """Return how the metrics of a class read the labels; its share of all items comes last."""
    strata, of_class = settings.strata, (*_METRICS, _SHARE) if said else (_SHARE,)
    targets = parse_targets(
        [f"{metric}:{name}{suffix}" for metric in of_class],
        strata.classifiers,
        classes=settings.classes.names,
        multilabel=settings.classes.multilabel,
    )
    goal = Goal(targets=targets, budget=1, confidence=settings.goal.confidence)
    return joint_of(settings.design, goal, strata).views


def _row(name: str, ends: Sequence[_Ends], *, said: int, whole: float) -> ClassRow:
    """Return a class by its metrics' ends, as `_views` has them, and by how many items there are.

    `said` are called so, and `whole` are all.
    """
    *found, (share, low, high) = ends
    if not said:  # nothing of it is found, if there is any
        missed: _Ends = (0.0, 0.0, 0.0) if share else _UNKNOWN
        found = [_UNKNOWN, missed, missed]
    precision, recall, f1 = found
    items = None if share is None else share * whole
    return ClassRow(name, *precision, *recall, *f1, said, items, low * whole, high * whole, 0)


def _with_doubt(row: ClassRow) -> ClassRow:
    """Return the row with the reason why an estimate is missing."""
    if row.labels == 0:  # what might be is not an estimate
        nothing = replace(row, precision=None, recall=None, f1=None, items=None)
        return replace(nothing, doubt="no label is of it yet")
    if row.said == 0:
        return replace(row, doubt="no item is called so, so that it has no precision")
    if row.recall is None:
        why = "no label shows an item of it yet, so that nothing is known of its recall"
        return replace(row, doubt=why)
    return row


def _ends(settings: Settings, state: State, view: View, estimated: Standing | None) -> _Ends:
    """Return a metric's estimate and the ends of its interval: of a target, those it has."""
    mine, metric = view.seen(state)
    if not np.any(mine.tallies.n):
        return _UNKNOWN
    if estimated is None:
        now = shown_look(settings.design.beside, view.goal, metric, mine)
    else:
        now = estimated.look
    value = float(now.moments.value) if bool(now.moments.defined) else None
    return value, float(now.low), float(now.high)
