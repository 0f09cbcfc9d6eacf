"""The confusion matrix of a campaign, from its labelling so far."""

import numpy as np

from assay.core.matrix import Matrix
from assay.core.matrix_rows import MatrixRow
from assay.core.strata import Strata
from assay.core.stratify import parts_of
from assay.core.targets import ALONE
from assay.core.vocabulary import NONE_OF_THESE
from assay.errors import DesignError, did_you_mean
from assay.labelling.state import Labelling
from assay.results import ConfusionCell, ConfusionMatrix


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
