"""Outcomes: the cards of every part by their answers, counted one by one as a campaign gets them.

A card waits for its answer, could not be judged, has the outcome that the stratum counts, or does
not have it. If there are more classes than yes and no, its answer also counts in the columns of
`Tallies.by_class`: that of each class that it names, or of none, and those of top-k accuracy.

If items have weights, a card may be dealt again. Its answer counts with every card, but its item,
and the weight of the item, only once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assay.core.answers import Answer
from assay.core.ranking import tops_of
from assay.core.strata import Strata
from assay.core.tallies import Tallies
from assay.core.targets import Target
from assay.core.types import Floats
from assay.core.weights import DistinctItems

DEALT, UNJUDGED, OTHER, COUNTED, _CLASSES = range(5)
_CARDS, _ITEMS, _WEIGHTS = range(3)

Ranked = Callable[[], Sequence[Sequence[int]]]
"""Returns, for each classifier, the classes of an item by descending probability."""


class Counted(NamedTuple):
    """Row and column of the outcomes that a card adds to."""

    part: int
    columns: tuple[int, ...]
    once: bool = True  # whether its item counts, too, as it was not dealt before
    weight: int | None = None  # of the item


class Outcomes:
    """Cards of every part by outcome; if items have weights, also the items and their weights."""

    def __init__(self, counts: Floats) -> None:
        self._counts = counts  # (C, M, J): M counts of J columns

    def copy(self) -> "Outcomes":
        """Copy that can be changed."""
        return Outcomes(self._counts.copy())

    def add(self, cards: Mapping[Counted, int]) -> None:
        """Add cards, each this many times, or take them away if that is negative."""
        for (part, columns, once, weight), times in cards.items():
            rows = (times, times * once, times * once * (weight or 1))
            counts = self._counts[part]
            for row, more in zip(counts, rows, strict=False):
                for column in columns:
                    row[column] += more

    @property
    def dealt(self) -> Floats:
        """Cards of each part, answered or not, (C,)."""
        return np.asarray(self._of(_CARDS)[DEALT])

    @property
    def waiting(self) -> Floats | None:
        """Cards of each part without an answer, (C,); None if there are none."""
        cards = self._of(_CARDS)
        waiting: Floats = cards[DEALT] - cards[UNJUDGED:].sum(axis=0)
        return waiting if waiting.any() else None

    @property
    def once(self) -> DistinctItems | None:
        """The items behind the cards, if they have weights."""
        if self._counts.shape[1] == 1:
            return None
        dealt, unjudged, other, counted = self._of(_ITEMS)
        _, *weights = self._of(_WEIGHTS)
        judged_weight = weights[1] + weights[2]
        return DistinctItems(
            dealt, other + counted, unjudged, judged_weight, weights[2], weights[0]
        )

    def tallies(self, sizes: Floats) -> Tallies:
        """Cards as tallies of parts of these sizes."""
        _, unjudged, other, counted = self._of(_CARDS)
        by_class = self._counts[:, _CARDS, _CLASSES:]
        named = by_class.copy() if by_class.size else None
        return Tallies(sizes, other + counted, counted, unjudged, by_class=named)

    def _of(self, what: int) -> Floats:
        """Count cards by column and part, without the columns of classes."""
        return np.ascontiguousarray(self._counts[:, what, :_CLASSES].T)


class Coding:
    """Columns of `Outcomes` in which answers are counted, given strata and what targets read."""

    def __init__(self, strata: Strata, targets: Sequence[Target]) -> None:
        self._strata, self._tops = strata, tops_of(targets, strata.classifiers)
        self._numbers: dict[Answer, int | None] = {}

    def start(self) -> Outcomes:
        """Outcomes before the first card."""
        strata = self._strata
        classes = len(strata.classes) + 1 + len(self._tops) if strata.of_classes else 0
        counts = 3 if strata.weighted else 1
        return Outcomes(np.zeros((len(strata.parts), counts, _CLASSES + classes)))

    @property
    def reads_ranks(self) -> bool:
        """Whether columns depend on the ranks of classes."""
        return bool(self._tops)

    def columns(self, predicted: int, answer: Answer, ranked: Ranked) -> tuple[int, ...]:
        """Columns of an answer to an item with a code of predicted labels."""
        number = self._number(answer)
        if number is None:
            return (UNJUDGED,)
        outcome = COUNTED if self._is_counted(predicted, number) else OTHER
        if not self._strata.of_classes:
            return (outcome,)
        named = self._strata.vocabulary.counted_by(number)
        ranks, first = ranked() if self._tops else (), len(self._strata.classes) + 1
        tops = (place for place, top in enumerate(self._tops, first) if top.holds(ranks, number))
        return (outcome, *(_CLASSES + column for column in (*named, *tops)))

    def _number(self, answer: Answer) -> int | None:
        """Look up the number of an answer's class or set of classes; None if it names neither."""
        if answer not in self._numbers:
            known = self._strata.vocabulary
            named = answer.judged and known.numbers.keys() >= set(known.parted(answer))
            self._numbers[answer] = known.number(answer) if named else None
        return self._numbers[answer]

    def _is_counted(self, predicted: int, number: int) -> bool:
        """Whether an item of that class has the outcome that is counted.

        The item is positive; or, in strata of several predicted classes, its class or set of
        classes is the one predicted by the first classifier applied to it.
        """
        if self._strata.of_classes:
            return number == self._strata.first_prediction(predicted)
        return number == bool(predicted) if self._strata.straddles else number == 1
