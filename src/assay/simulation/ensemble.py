"""Several classifiers and the truth about each of their items."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from assay.core.cells import Heap, Part, count_cells, count_parts, profile_heaps
from assay.core.goal import JointGoal, Target
from assay.core.groups import NO_GROUPS, Groups
from assay.core.joint import Parts
from assay.core.profile import Profile
from assay.core.strata import Strata
from assay.core.types import Bools, Floats, Ints
from assay.core.views import views_of
from assay.errors import InputError
from assay.predictions import Classifiers, LabelledClassifiers, read_labelled_classifiers


class CellCounts(NamedTuple):
    """The cells that occur, ascending: their codes, items, and positives; arrays of shape (C,)."""

    codes: Ints
    sizes: Floats
    positives: Floats


class Ensemble:
    """Predictions of several classifiers for the same items, and the truth.

    Parameters
    ----------
    y_true : array of bool or of 0 and 1, shape (N,)
        What the items are.
    y_pred : mapping of str to array of bool or of 0 and 1, shape (N,)
        What each classifier said.
    y_score : mapping of str to array, shape (N,), optional
        The scores of those that have some.

    Examples
    --------
    >>> ensemble = Ensemble(y_true=[1, 1, 0, 0], y_pred={"new": [1, 1, 1, 0], "old": [1, 0, 1, 0]})
    >>> ensemble.cells()
    {0: 1, 1: 1, 3: 2}
    >>> ensemble.value(Target("recall", "new", minus="old"))
    0.5
    """

    def __init__(
        self,
        *,
        y_true: ArrayLike,
        y_pred: Mapping[str, ArrayLike],
        y_score: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        columns: dict[str, ArrayLike] = {"y_true": y_true}
        classifiers: dict[str, dict[str, object]] = {}
        for argument, role, given in (
            ("y_pred", "predicted", y_pred),
            ("y_score", "score", {} if y_score is None else y_score),
        ):
            if not isinstance(given, Mapping):
                raise InputError(
                    f"{argument} is of type {type(given).__name__}",
                    details="it is a mapping of the classifiers' names to arrays",
                )
            for name, values in given.items():
                column = f"{role}:{name}"
                columns[column] = values
                classifiers.setdefault(name, {})[role] = column
        self._take(read_labelled_classifiers(columns, label="y_true", classifiers=classifiers))

    @classmethod
    def read(
        cls, source: object, *, label: str, classifiers: Classifiers, positive: object = None
    ) -> Self:
        """Read several classifiers and the truth from a file or table.

        Parameters
        ----------
        source, label, classifiers, positive
            As in `assay.predictions.read_labelled_classifiers`.
        """
        ensemble = cls.__new__(cls)
        ensemble._take(
            read_labelled_classifiers(
                source, label=label, classifiers=classifiers, positive=positive
            )
        )
        return ensemble

    def _take(self, labelled: LabelledClassifiers) -> None:
        self._labelled = labelled

    @property
    def groups(self) -> Groups:
        """What the bits of a code behind the classifiers' mean: there are none."""
        return NO_GROUPS

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Their names, in the order of the bits of a code."""
        return self._labelled.names

    @property
    def truth(self) -> Bools:
        """Which items are positive, shape (N,)."""
        return self._labelled.truth

    @property
    def rank(self) -> Floats:
        """The items' mean rank by the classifiers' scores, shape (N,)."""
        return self._labelled.rank

    def says_yes(self, classifier: str) -> Bools:
        """Return which items a classifier says yes to, shape (N,)."""
        bit = self.classifiers.index(classifier)
        return np.asarray(self._labelled.codes >> bit & 1 > 0)

    def yes_cells(self, names: Sequence[str]) -> Floats:
        """Return 1 where a classifier says yes to a cell's items, else 0; shape (K, C)."""
        bits = np.array([self.classifiers.index(name) for name in names], dtype=np.int64)
        return (self.by_cell.codes >> bits[:, None] & 1).astype(np.float64)

    @cached_property
    def by_cell(self) -> CellCounts:
        """The items and the positives of each cell."""
        every, positive = self.cells(), count_cells(self._labelled.codes[self.truth])
        return CellCounts(
            np.array(list(every)),
            np.array(list(every.values()), dtype=np.float64),
            np.array([positive.get(code, 0) for code in every], dtype=np.float64),
        )

    def cells(self) -> dict[int, int]:
        """Return the number of items with each code that occurs."""
        return count_cells(self._labelled.codes)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of the mean rank among the items with each heap's codes."""
        return profile_heaps(self._labelled.rank, self._labelled.codes, heaps)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata that the heaps are cut into."""
        return count_parts(self._labelled.rank, self._labelled.codes, heaps)

    def outcomes(self, strata: Strata) -> Floats:
        """Return the positives in each part of the strata, shape (C,)."""
        truth = self.truth
        found = count_parts(self._labelled.rank[truth], self._labelled.codes[truth], strata.heaps)
        outcomes = np.zeros(len(strata.parts))
        for stratum, code, positives in found:
            outcomes[strata.part_of(stratum, code)] = positives
        return outcomes

    def value(self, target: Target) -> float:
        """Return a target's true value."""
        cells = self.by_cell
        parts = Parts(np.arange(cells.codes.size), cells.codes, cells.sizes)
        (view,) = views_of(JointGoal((target,), budget=1), self.classifiers, parts)
        return float(view.metric.value(view.gather(cells.positives)))
