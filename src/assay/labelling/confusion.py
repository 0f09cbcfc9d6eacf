"""The confusion matrix of a campaign, from its labelling so far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.core.confusion import Matrix
from assay.core.engine import State, look
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.joint import Parts
from assay.core.standing import with_open
from assay.core.stratify import parts_of
from assay.core.targets import ALONE
from assay.core.types import Floats, Ints
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
    A row of the matrix is of items that are called one class. The share that is right is estimated
    as for metrics of the matrix (`core.confusion`), and what is wrong is shared out as its labels
    are, each for as many items as its part has for a label. The interval of the share that is right
    is that of a precision; the others' are of an outcome of the whole strata, to be called so and
    to be of that class: parts are small, and many have no label.
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
    said_items = np.array([parts.all_said(place, k) for k in range(len(settings.classes))])
    matrix = Matrix("accuracy", parts.stratum, said, parts.size, said_items)
    cells: list[ConfusionCell] = []
    if state.by_class is not None:
        right = matrix.counts(state.tallies.n, state.by_class).d
        for number in np.unique(said).tolist():
            row = _Row(labelling, state, parts, np.flatnonzero(said == number), number)
            cells += row.cells(float(right[number]), names)
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


@dataclass(frozen=True, eq=False)
class _Row:
    """Items that are called one class.

    Parameters
    ----------
    labelling, state, parts
        The campaign's.
    mine : array of int
        The parts of these items, one a stratum or more.
    number : int
        Of the class that they are called.
    """

    labelling: Labelling
    state: State
    parts: Parts
    mine: Ints
    number: int

    def cells(self, right: float, names: Sequence[str]) -> list[ConfusionCell]:
        """Return its cells: those with a label, and the class itself.

        Parameters
        ----------
        right : float
            How many items are right.
        names : sequence of str
            What they may be.
        """
        told = self.told
        size = float(self.parts.size[self.mine].sum())
        n = np.maximum(self.state.tallies.n[self.mine], 1.0)
        seen = (told * (self.parts.size[self.mine] / n)[:, None]).sum(axis=0)
        seen[self.number] = 0.0
        items = (size - right) * seen / max(float(seen.sum()), 1e-300)
        items[self.number] = right
        there = np.asarray(told.any(axis=0))
        shown = [k for k in range(len(names)) if there[k] or k == self.number]
        low, high = self._ends(shown, size)
        return [
            ConfusionCell(
                said=names[self.number],
                is_of=names[k],
                items=float(items[k]),
                rate=float(items[k] / size),
                low=float(min(low[place], items[k] / size)),
                high=float(max(high[place], items[k] / size)),
                labels=int(told[:, k].sum()),
            )
            for place, k in enumerate(shown)
        ]

    @property
    def told(self) -> Floats:
        """The labels of its parts, by class."""
        by_class = self.state.by_class
        return np.zeros((0, 0)) if by_class is None else by_class[self.mine]

    def _ends(self, shown: Sequence[int], size: float) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of the shares, (cells,)."""
        others = [k for k in shown if k != self.number]
        ends = np.zeros((2, len(shown)))
        by_part = self._look(self.mine, self.told[:, [self.number]].T, size, whole=False)
        ends[:, [shown.index(self.number)]] = by_part
        if others:
            by_stratum = self._look(self.mine, self.told[:, others].T, size, whole=True)
            ends[:, [shown.index(k) for k in others]] = by_stratum
        return ends[0], ends[1]

    def _look(self, mine: Ints, x: Floats, size: float, *, whole: bool) -> Floats:
        """Return the ends of intervals, (2, cells), over parts or over the strata that hold them.

        Parameters
        ----------
        mine : array of int
            The parts.
        x : array, shape (cells, parts)
            Labels with the outcome.
        size : float
            The items that a share is of.
        whole : bool
            Whether the labels of whole strata count.
        """
        known, waiting = self.state.tallies, self.state.open
        none = np.zeros_like(known.n) if waiting is None else waiting
        counts = [known.N, known.n, known.u, none]
        if whole:
            strata, where = np.unique(self.parts.stratum[mine], return_inverse=True)
            items, n, u, open_ = (self.parts.by_stratum(each)[strata] for each in counts)
            gathered = np.zeros((len(x), strata.size))
            np.add.at(gathered.T, where, x.T)
            x = gathered
        else:
            items, n, u, open_ = (each[mine] for each in counts)
        if not n.any():  # nothing is known, which is so of most of a thousand classes
            return np.repeat([[0.0], [1.0]], len(x), axis=1)
        start = State.start(np.broadcast_to(items, x.shape), replacement=False)
        tallies = start.tallies.add(n, x, u)
        dealt = tallies.n + tallies.u + open_
        now = replace(start, tallies=tallies, dealt=dealt, room=tallies.N - dealt)
        now = replace(now, open=np.broadcast_to(open_, x.shape) if open_.any() else None)
        ones, settings = np.ones_like(items), self.labelling.settings
        metric = Ratio(0.0, ones, size, 0 * ones)
        goal = Goal("precision", budget=1, confidence=settings.goal.confidence)
        seen = look(settings.design, goal, metric, now)
        seen = with_open(settings.design, goal, metric, now, seen)
        return np.clip(np.stack([seen.low, seen.high]), 0.0, 1.0)
