"""Labelled items by cells of predicted labels, by mean rank, and in parts of strata."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from assay.core.cells import Heap, Part, count_cells, count_parts, profile_heaps
from assay.core.goal import Goal
from assay.core.groups import NO_GROUPS, Groups
from assay.core.profile import Profile
from assay.core.ranking import InTop, tops_of
from assay.core.recycling.route import Venn
from assay.core.strata import Strata
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import OfClasses, Vocabulary
from assay.errors import InputError
from assay.predictions import Labelled
from assay.simulation.oracle import SetCounts


class LabelledCells(OfClasses):
    """Predicted labels of items, and the truth about each; input of `cell_strata`."""

    _labelled: Labelled

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Their names, in the order of the bits of a code."""
        return self._labelled.classifiers

    @property
    def groups(self) -> Groups:
        """Meaning of the bits of a code behind the classifiers': there are none."""
        return NO_GROUPS

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The classes."""
        return self._labelled.classes

    @property
    def truth(self) -> Bools:
        """Which items are positive, shape (N,)."""
        return self._labelled.truth

    @property
    def rank(self) -> Floats:
        """The items' mean rank by the classifiers' scores, shape (N,)."""
        return self._labelled.rank

    def says_yes(self, classifier: str) -> Bools:
        """Items that a classifier predicts yes, shape (N,)."""
        bit = self.classifiers.index(classifier)
        return np.asarray(self._labelled.codes >> bit & 1 > 0)

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
        """Count the items with each code that occurs."""
        return count_cells(self._labelled.codes)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Distribution of the mean rank among the items with each heap's codes."""
        return profile_heaps(self.rank, self._labelled.codes, heaps)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Count the items in each part of the strata that the heaps are cut into."""
        return count_parts(self.rank, self._labelled.codes, heaps)

    def outcomes(self, strata: Strata) -> Floats:
        """Positives in each part of the strata, shape (C,).

        With more than two classes, the items of each class, and last of none: shape (C, K + 1). An
        item with several classes counts for each.
        """
        if self._labelled.numbers is None:
            return self._parts_of(self.truth, strata)
        return self.sets(strata).totals

    def truth_in(self, strata: Strata, goal: Goal) -> Floats | SetCounts:
        """Truth in each part of the strata, as input of `oracle.of_strata`."""
        tops = tops_of(goal.targets, strata.classifiers)
        return (
            self.sets(strata, tops) if self.vocabulary.bits > 1 or tops else self.outcomes(strata)
        )

    def sets(self, strata: Strata, tops: Sequence[InTop] = ()) -> SetCounts:
        """Count the items of each part with each set of classes.

        Sets also include the outcomes of top-k accuracy, if there are any.
        """
        numbers, every = self._labelled.numbers, np.arange(len(self.classes))
        if numbers is None:
            raise InputError("each of these items is of one class")
        kinds = numbers << len(tops)
        for place, top in enumerate(tops):
            kinds |= top.among(self._places).astype(np.int64) << place
        distinct = np.unique(kinds)
        each = [self._parts_of(kinds == kind, strata) for kind in distinct.tolist()]
        predicted, in_top = distinct >> len(tops), distinct[:, None] >> np.arange(len(tops)) & 1
        members = self.vocabulary.says(predicted[:, None], every)
        outcomes = np.column_stack([members, ~members.any(axis=1), in_top]).astype(np.float64)
        return SetCounts(predicted, np.column_stack(each), outcomes)

    def _parts_of(self, which: Bools, strata: Strata) -> Floats:
        """Count the given items in each part, shape (C,)."""
        there = count_parts(self.rank[which], self._labelled.codes[which], strata.heaps)
        outcomes = np.zeros(len(strata.parts))
        for stratum, code, items in there:
            outcomes[strata.part_of(stratum, code)] = items
        return outcomes

    @property
    def _places(self) -> Ints:
        """Rank of each item's class by the classifiers' probabilities, shape (N, J)."""
        if self._labelled.places is None:
            raise InputError(
                "top-k accuracy is requested, and the population was read without it",
                details="it takes the probabilities of all classes",
                hint="read it with probabilities='p_*' and metrics=['top_5_accuracy']",
            )
        return self._labelled.places
