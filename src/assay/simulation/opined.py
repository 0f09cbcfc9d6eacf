"""Items with second opinions, and the strata that they are cut into, by a score or by a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.core.bins import Scale
from assay.core.cells import Heap, Part, count_cells, count_parts, profile_heaps
from assay.core.design import Design
from assay.core.error_model import SAID, Values
from assay.core.goal import Goal
from assay.core.groups import NO_GROUPS, Groups
from assay.core.profile import Profile, profile_of
from assay.core.strata import Side, Strata
from assay.core.stratify import cell_strata, stratify
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class OpinedItems:
    """Items that a metric, or one of several targets, needs labels of, with their columns."""

    positive: Bools  # (N,): the truth
    score: Floats  # (N,): the classifier's own, or the mean rank by those of several
    # For a model, by name, with the predicted labels, or the codes, under `SAID`.
    columns: Mapping[str, Values]
    own: str | Sequence[str] | None  # columns of scores
    classifiers: tuple[str, ...]  # their names

    @property
    def predicted(self) -> Bools:
        """The predicted labels."""
        return np.asarray(self.columns[SAID], dtype=np.bool_)

    @property
    def codes(self) -> Ints:
        """Code of each item's predicted labels, as in the strata."""
        return np.asarray(self.columns[SAID], dtype=np.int64)

    def cut(
        self, design: Design, goal: Goal, log_odds: Floats | None = None
    ) -> tuple[Ints, Strata]:
        """Stratum of every item, and the strata: by the score, or by a model's log odds.

        With several targets the strata are of cells, and scores are mean ranks.
        """
        by, by_model = (self.score, False) if log_odds is None else (log_odds, True)
        if not goal.single:
            scale: Scale = "margin" if by_model else "probability"
            cells = _ItemCells(self.classifiers, by, self.codes, scale)
            strata = cell_strata(cells, goal, design, by_model=by_model)
            return strata.assign(by, self.codes), strata
        predicted = self.predicted
        profiles: dict[Side, Profile] = {
            side: profile_of(by[predicted == side])
            for side in (True, False)
            if (predicted == side).any()
        }
        method = "spread" if by_model else design.strata
        strata = stratify(profiles, variable="score", method=method, bins=design.bins)
        return strata.assign(by, predicted), strata


@dataclass(frozen=True, eq=False)
class _ItemCells:
    """Items in the cells of several classifiers' predicted labels, as input of `cell_strata`."""

    classifiers: tuple[str, ...]
    by: Floats
    codes: Ints
    scale: Scale
    groups: Groups = NO_GROUPS
    vocabulary: Vocabulary = field(default_factory=Vocabulary)

    def cells(self) -> dict[int, int]:
        """Count the items with each code that occurs."""
        return count_cells(self.codes)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Distribution of the variable that each heap is cut by."""
        return profile_heaps(self.by, self.codes, heaps, scale=self.scale)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Count the items in each part of the strata."""
        return count_parts(self.by, self.codes, heaps)
