"""Parts by which labels are counted, and the targets' views of them.

Labels are counted by *part*: a stratum and a code of predicted labels. A target (the recall of one
classifier, the difference between two) reads them through its own `View`, which merges parts of a
stratum with the same labels by its classifiers. So in a view no stratum straddles a predicted
label, and the statistics of a single metric apply unchanged (`engine.look`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from assay.core.forms import Metric
from assay.core.goal import Goal
from assay.core.groups import EVERYWHERE, Within
from assay.core.matrix import Matrix, MatrixGap
from assay.core.ranking import gap
from assay.core.state import State
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.core.weights import settle


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts by which labels are counted; arrays of shape (C,), sorted by stratum."""

    # stratum, code: the stratum, 0 to H - 1, and the predicted labels: bit k is set if the k-th
    # classifier predicts yes; with more classes, sum_k c_k K^k; with sets of classes for c_k, in
    # base 2^K (`core.vocabulary`)
    stratum: Ints
    code: Ints
    size: Floats  # the items
    # All items of the population; default: those of the parts. Items that no target needs labels of
    # are in no part, but count in a denominator.
    items: int | None = None
    # Of these, the items that each classifier predicts yes, or predicts each class for.
    yes_items: Sequence[int] | None = None
    # Items that are in no part; needed if a target is about a group of items, or there are more
    # classes than yes and no.
    rest: Sequence[tuple[int, int]] = ()
    # If items have weights, and all of the above is in impressions: the items of each part.
    count: Floats | None = None
    vocabulary: Vocabulary = field(default_factory=Vocabulary)  # the classes

    @property
    def classes(self) -> int:
        """Number of classes: 2 for yes and no."""
        return len(self.vocabulary)

    @cached_property
    def strata_sizes(self) -> Floats:
        """The items of each stratum, (H,)."""
        return self.by_stratum(self.size)

    @cached_property
    def starts(self) -> Ints:
        """Index of each stratum's first part, (H,)."""
        return np.flatnonzero(np.diff(self.stratum, prepend=-1))

    def by_stratum(self, counts: Floats) -> Floats:
        """Add up counts by part (..., C) to counts by stratum (..., H)."""
        return np.asarray(np.add.reduceat(counts, self.starts, axis=-1))

    def says(self, classifier: int) -> Ints:
        """Read a classifier's predicted label of each part, as a number: 1 is yes.

        It is the number of a class, or of a set of classes.
        """
        return self.vocabulary.predicted(self.code, classifier)

    def calls(self, classifier: int, number: int) -> Bools:
        """Parts with a predicted label, or one of several, by a classifier: 1 is yes."""
        return self.vocabulary.says(self.says(classifier), number)

    def inside(self, among: Within) -> Bools:
        """Parts whose items are in the given groups."""
        return np.asarray(among.holds(self.code))

    def all_items(self, among: Within = EVERYWHERE) -> float:
        """Count the items of the population in the given groups."""
        if among or self.items is None:
            others = sum(items for code, items in self.rest if among.holds(code))
            return float(self.size[self.inside(among)].sum()) + others
        return float(self.items)

    def predicted_items(
        self, classifier: int, number: int = 1, among: Within = EVERYWHERE
    ) -> float:
        """Count the items of the given groups that a classifier predicts as a class."""
        known = self.vocabulary
        if self.yes_items is not None and not among and not known.has_matrix:
            return float(self.yes_items[classifier * known.bits + number % known.bits])
        rest = [each for each in self.rest if among.holds(each[0])]
        code, items = np.array(rest, dtype=np.int64).reshape(-1, 2).T
        others = int(items[known.says(known.predicted(code, classifier), number)].sum())
        predicted = self.inside(among) & self.calls(classifier, number)
        return float(self.size[predicted].sum()) + others

    def items_by_prediction(self, classifier: int, among: Within = EVERYWHERE) -> Floats:
        """Count the items of the given groups by a classifier's predicted class, (K,)."""
        inside, unit, K = self.inside(among), self.classes**classifier, self.classes
        items_by_class = np.bincount(self.says(classifier)[inside], self.size[inside], minlength=K)
        for code, items in self.rest:
            if among.holds(code):
                items_by_class[code // unit % K] += items
        return np.asarray(items_by_class)


@dataclass(frozen=True, eq=False)
class View:
    """One target's reading of the parts."""

    name: str  # the target's
    goal: Goal  # its metric, half-width and confidence
    metric: Metric  # over the strata of the view, shape (V,)
    parts: Ints  # the parts that count, those of one stratum of the view next to each other
    starts: Ints  # (V,): index in `parts` of the first part of each stratum of the view
    stratum: Ints  # (V,): its stratum of the evaluation
    share: Floats  # (V,): its share of that stratum's items
    # (V,): its items, if these have weights and sizes are impressions.
    items: Floats | None = None
    is_whole: bool = False  # whether its strata are those of the evaluation, each of one part

    def gather(self, counts: Floats) -> Floats:
        """Add up counts by part (..., C) to counts by stratum of the view (..., V)."""
        of_parts = counts.take(self.parts, axis=-1)  # half as long as by an index
        return np.asarray(np.add.reduceat(of_parts, self.starts, axis=-1))

    @cached_property
    def strata(self) -> Ints:
        """Strata that hold items of the view, ascending."""
        return self.stratum[self._firsts]

    def by_stratum(self, values: Floats) -> Floats:
        """Convert sums (..., V) over the strata of the view to sums over `strata`."""
        return np.asarray(np.add.reduceat(values, self._firsts, axis=-1))

    @cached_property
    def _firsts(self) -> Ints:
        return np.flatnonzero(np.diff(self.stratum, prepend=-1))

    def state(self, state: State) -> State:
        """State as this target sees it.

        `dealt` is that of whole strata: nobody can ask for cards of one part.
        """
        if self.is_whole:
            return state
        mine = self._tallies(state.tallies)
        dealt = state.dealt[..., self.stratum]
        waiting = None if state.open is None else self.gather(state.open)
        room = mine.N - dealt
        return state.changed(tallies=mine, dealt=dealt, room=room, first=None, open=waiting)

    def _tallies(self, known: Tallies) -> Tallies:
        return Tallies.trusted(*self.gather(np.stack((known.N, known.n, known.x, known.u))))

    def seen(self, state: State) -> tuple[State, Metric]:
        """State as this target sees it, and its metric.

        If items have weights, fully known strata are settled (`weights.settle`).
        """
        mine, once = self.state(state), state.once
        if once is None or self.items is None:
            return mine, self.metric
        once = once if self.is_whole else once.gathered(self.gather)
        settled = settle(mine.tallies, self.metric, once, self.items)
        tallies, first, room = settled.tallies, mine.first, mine.room
        if first is not None:
            first = Tallies.trusted(tallies.N, first.n, first.x, first.u)
        if not self.is_whole:
            room = tallies.N - mine.dealt
        possible = settled.least, settled.most
        mine = replace(mine, tallies=tallies, first=first, room=room, once=once, possible=possible)
        return mine, settled.metric


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassView(View):
    """View of a target that counts labels of a class, with more classes than yes and no."""

    columns: Ints | int  # of `Tallies.by_class`, with the outcome of each of the parts

    def _tallies(self, known: Tallies) -> Tallies:
        mine = super()._tallies(known)
        return Tallies.trusted(mine.N, mine.n, self._read(known, self.columns), mine.u)

    def _read(self, tallies: Tallies, columns: Ints | int) -> Floats:
        """Labels with an outcome, by stratum of the view."""
        labels = tallies.read(self.parts, columns)
        return np.asarray(np.add.reduceat(labels, self.starts, axis=-1))


@dataclass(frozen=True, eq=False, kw_only=True)
class TopGapView(ClassView):
    """View of a difference of top-k accuracies (`core.ranking`)."""

    against: int  # the column of the outcome that lowers it

    def seen(self, state: State) -> tuple[State, Metric]:
        """State as this target sees it, and its metric by these labels."""
        mine = self.state(state)
        tallies, form = gap(mine.tallies, self._read(state.tallies, self.against))
        return replace(mine, tallies=tallies), form


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixView(ClassView):
    """View of a metric of the whole confusion matrix; `metric` is that of correct labels alone."""

    matrix: Matrix | MatrixGap

    def seen(self, state: State) -> tuple[State, Metric]:
        """State as this target sees it, and its metric by these labels."""
        mine, known = self.state(state), state.tallies
        by_class = known.read(self.parts, slice(None))
        return mine, self.matrix.linear(mine.tallies.N, known.n[..., self.parts], by_class)


Seen = tuple[State, Metric]
"""State of an evaluation as a target sees it, and its metric."""
