"""Predictions of several classifiers, in memory."""

from collections.abc import Sequence

from assay.core.cells import Heap, Part, count_cells, count_parts, profile_heaps
from assay.core.groups import NO_GROUPS, Groups
from assay.core.profile import Profile
from assay.core.types import Floats, Ints
from assay.predictions.column import Show
from assay.predictions.ids import Ids
from assay.predictions.memory import MemoryPredictions


class MemoryCellPredictions(MemoryPredictions):
    """`CellPredictions` on arrays.

    Parameters
    ----------
    source, ids, show
        As in `MemoryPredictions`.
    classifiers : tuple of str
        Their names, in the order of the bits of a code.
    codes, rank : array, shape (N,)
        What the classifiers said of each item, and its mean rank by their scores.
    groups : Groups
        What the bits of a code behind the classifiers' mean.
    fingerprint : str
        Of all that was read: a rank depends on many scores, and does not tell one from a like one.
    """

    _variables = ("rank",)  # the scores themselves have no common scale

    def __init__(
        self,
        *,
        source: str,
        ids: Ids,
        classifiers: tuple[str, ...],
        codes: Ints,
        rank: Floats,
        fingerprint: str,
        show: Show,
        groups: Groups = NO_GROUPS,
    ) -> None:
        any_yes = codes & (1 << len(classifiers)) - 1 != 0
        super().__init__(
            source=source, ids=ids, score=rank, predicted=any_yes, threshold=None, show=show
        )
        self.classifiers, self.groups = classifiers, groups
        self._said = self._codes = codes
        self._fingerprint = fingerprint

    def __repr__(self) -> str:
        """Say where the predictions come from, whose they are, and how many say yes."""
        names = ", ".join(self.classifiers)
        return f"<predictions of {self.source} by {names}: to {self.positives:,} one says yes>"

    def cells(self) -> dict[int, int]:
        """Return the number of items with each code that occurs."""
        return count_cells(self._codes)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of the mean rank among the items with each heap's codes."""
        return profile_heaps(self._score, self._codes, heaps)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata that the heaps are cut into."""
        return count_parts(self._score, self._codes, heaps)
