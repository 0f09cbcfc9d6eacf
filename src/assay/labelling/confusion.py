"""The confusion matrix of a campaign, from its labelling so far."""

from dataclasses import replace

import numpy as np

from assay.core.engine import State, look
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.standing import with_open
from assay.core.stratify import parts_of
from assay.core.targets import ALONE
from assay.core.types import Ints
from assay.core.vocabulary import NONE_OF_THESE
from assay.errors import DesignError, did_you_mean
from assay.labelling.state import Labelling
from assay.results import ConfusionCell, ConfusionMatrix


def confusion_of(labelling: Labelling, classifier: str | None = None) -> ConfusionMatrix:
    """Return what items that are called each class are.

    Parameters
    ----------
    labelling : Labelling
    classifier : str, optional
        Whose matrix, where there are several.

    Notes
    -----
    A row of the matrix is of items that are called one class. How often these are of a class is a
    precision, with that class as the outcome, over the strata that they lie in: its interval is
    that of precision (`core.stratified`), one for each cell.
    """
    settings = labelling.settings
    if settings.classes.is_yes_or_no:
        raise DesignError(
            f"campaign {settings.name!r} is of yes and no",
            hint="its precision and recall say what a matrix of two classes would",
        )
    place = _place(settings.strata.classifiers, classifier)
    state, parts = labelling.rounds.state, parts_of(settings.strata)
    said, names = parts.says(place), (*settings.classes.names, NONE_OF_THESE)
    cells: list[ConfusionCell] = []
    for number, name in enumerate(settings.classes.names):
        mine = np.flatnonzero(said == number)
        if mine.size:
            cells += _row(labelling, state, mine, name, names)
    items = {
        name: int(parts.all_said(place, number))
        for number, name in enumerate(settings.classes.names)
    }
    whose = settings.strata.classifiers[place]
    return ConfusionMatrix(
        settings.classes.names,
        tuple(cells),
        items,
        settings.goal.confidence,
        "" if whose == ALONE else whose,
    )


def _place(classifiers: tuple[str, ...], wanted: str | None) -> int:
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


def _row(
    labelling: Labelling, state: State, mine: Ints, said: str, names: tuple[str, ...]
) -> list[ConfusionCell]:
    """Return the cells of the items that are called one class.

    Parameters
    ----------
    labelling, state
        The campaign's.
    mine : array of int
        The parts of these items.
    said : str
        What they are called.
    names : tuple of str
        What they may be.
    """
    settings, told = labelling.settings, state.by_class
    if told is None:
        return []
    x = told[mine].T  # (K + 1, parts)
    shown = [k for k, name in enumerate(names) if x[k].sum() > 0 or name == said]
    whole = State.start(
        np.broadcast_to(state.tallies.N[mine], (len(shown), mine.size)), replacement=False
    )
    tallies = whole.tallies.add(state.tallies.n[mine], x[shown], state.tallies.u[mine])
    waiting = None if state.open is None else np.broadcast_to(state.open[mine], tallies.N.shape)
    dealt = tallies.n + tallies.u + (0 if waiting is None else waiting)
    now = replace(
        whole, tallies=tallies, dealt=dealt, room=tallies.N - dealt, open=waiting, rounds=2
    )
    size = float(state.tallies.N[mine].sum())
    ones = np.ones(mine.size)
    metric = Ratio(0.0, ones, size, 0 * ones)
    goal = Goal("precision", budget=1, confidence=settings.goal.confidence)
    seen = with_open(settings.design, goal, metric, now, look(settings.design, goal, metric, now))
    return [
        ConfusionCell(
            said,
            names[k],
            float(seen.plain[row]) * size,
            float(seen.plain[row]),
            float(min(seen.low[row], seen.plain[row])),
            float(max(seen.high[row], seen.plain[row])),
            int(x[k].sum()),
        )
        for row, k in enumerate(shown)
    ]
