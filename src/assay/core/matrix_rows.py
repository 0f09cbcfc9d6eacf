"""Rows of a confusion matrix: what items that are called one class are, with intervals.

The share that is right is estimated as for metrics of the matrix (`core.confusion`), and what is
wrong is shared out as its labels are, each for as many items as its part has for a label. The
interval of the share that is right is that of a precision; the others' are of an outcome of the
whole strata, to be called so and to be of that class: parts are small, and many have no label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.core.design import Design
from assay.core.engine import State
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.joint import Parts
from assay.core.standing import shown_look
from assay.core.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class MatrixRow:
    """Items that are called one class."""

    design: Design  # how labels are looked at
    confidence: float
    # state, parts: the labels so far, and what they are counted by.
    state: State
    parts: Parts
    mine: Ints  # the parts of these items, one a stratum or more
    number: int  # of the class that they are called

    def shares(self, right: float) -> list[tuple[int, float, float, float, int]]:
        """Return, for each class with a label and for its own: its number, the share and its ends.

        And last the labels that name it.
        """
        told = self.told
        n = np.maximum(self.state.tallies.n[self.mine], 1.0)
        seen = (told * (self.parts.size[self.mine] / n)[:, None]).sum(axis=0)
        seen[self.number] = 0.0
        share = (1 - right / self.size) * seen / max(float(seen.sum()), 1e-300)
        share[self.number] = right / self.size
        there = np.asarray(told.any(axis=0))
        shown = [k for k in range(told.shape[1]) if there[k] or k == self.number]
        low, high = self._ends(shown)
        return [
            (
                k,
                float(share[k]),
                float(min(low[place], share[k])),
                float(max(high[place], share[k])),
                int(told[:, k].sum()),
            )
            for place, k in enumerate(shown)
        ]

    @property
    def size(self) -> float:
        """How many items there are."""
        return float(self.parts.size[self.mine].sum())

    @property
    def told(self) -> Floats:
        """The labels of its parts, by class."""
        by_class = self.state.by_class
        return np.zeros((0, 0)) if by_class is None else by_class[self.mine]

    def _ends(self, shown: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of the shares, (cells,)."""
        others = [k for k in shown if k != self.number]
        ends = np.zeros((2, len(shown)))
        by_part = self._look(self.told[:, [self.number]].T, whole=False)
        ends[:, [shown.index(self.number)]] = by_part
        if others:
            by_stratum = self._look(self.told[:, others].T, whole=True)
            ends[:, [shown.index(k) for k in others]] = by_stratum
        return ends[0], ends[1]

    def _look(self, x: Floats, *, whole: bool) -> Floats:
        """Return the ends of intervals, (2, cells), over parts or over the strata that hold them.

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
        if not n.any():  # nothing is known, which is so of most of a thousand classes
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
