"""Items with second opinions, and the strata that they are cut into, by a score or by a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.bins import Scale
from assay.core.cells import Heap, Part, count_cells, count_parts, profile_heaps
from assay.core.design import Design
from assay.core.error_model import SAID, Values
from assay.core.goal import Goal
from assay.core.profile import Profile, profile_of
from assay.core.strata import UNNAMED, Side, Strata
from assay.core.stratify import cell_strata, stratify
from assay.core.targets import NO_GROUPS, Groups
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import YES_OR_NO


@dataclass(frozen=True, eq=False)
class OpinedItems:
    """The items that a metric needs labels of, and what is said of them; or items of several."""

    positive: Bools  # (N,): what they are
    score: Floats  # (N,): the classifier's own, or the mean rank by those of several
    # For a model, by name, with the predicted labels, or the codes, under `SAID`.
    columns: Mapping[str, Values]
    own: str | Sequence[str] | None  # the columns of scores
    classifiers: tuple[str, ...] = UNNAMED  # their names, where they have some

    @property
    def predicted(self) -> Bools:
        """The predicted labels."""
        return np.asarray(self.columns[SAID], dtype=np.bool_)

    def cut(self, by: Floats, method: str, bins: int) -> tuple[Ints, Strata]:
        """Return the stratum of every item, and the strata."""
        predicted = self.predicted
        profiles: dict[Side, Profile] = {
            side: profile_of(by[predicted == side])
            for side in (True, False)
            if (predicted == side).any()
        }
        strata = stratify(profiles, variable="score", method=method, bins=bins)
        return strata.assign(by, predicted), strata

    def cut_cells(
        self, by: Floats, goal: Goal, design: Design, *, by_model: bool
    ) -> tuple[Ints, Strata]:
        """Return the stratum of every item, and the strata, of several targets.

        `by`, (N,): what the cells are cut by: mean ranks, or log odds.
        """
        codes = np.asarray(self.columns[SAID], dtype=np.int64)
        scale: Scale = "margin" if by_model else "probability"
        cells = _ItemCells(self.classifiers, by, codes, scale)
        strata = cell_strata(cells, goal, design, by_model=by_model)
        return strata.assign(by, codes), strata


@dataclass(frozen=True, eq=False)
class _ItemCells:
    """Items in the cells of what several classifiers say, as `cell_strata` takes them."""

    classifiers: tuple[str, ...]
    by: Floats
    codes: Ints
    scale: Scale
    groups: Groups = NO_GROUPS
    classes: tuple[str, ...] = YES_OR_NO.names
    multilabel: bool = False

    def cells(self) -> dict[int, int]:
        """Return the number of items with each code that occurs."""
        return count_cells(self.codes)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of what they are cut by in each heap."""
        return profile_heaps(self.by, self.codes, heaps, scale=self.scale)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata."""
        return count_parts(self.by, self.codes, heaps)
