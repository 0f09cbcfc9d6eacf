"""Several metrics of one classifier whose predictions stay where they are.

Cells are then those of its two labels, and the stratification variable is the rank of the score
(`assay.core.variable.rank`): the same for all items of a bin. So all that is asked follows from the
counts of the first pass, and what is cut by rank can be dealt by score.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from assay.core.bins import bins_of
from assay.core.cells import Heap, Part
from assay.core.cuts import Cuts
from assay.core.deck import Id
from assay.core.groups import NO_GROUPS
from assay.core.profile import Profile
from assay.core.strata import Side, Strata
from assay.core.types import Bools, Floats, Ints
from assay.core.variable import Scale, Variable, rank
from assay.errors import PredictionsError
from assay.predictions.contract import Card, Found, IdKind
from assay.predictions.roles import refuse_unknown_variable
from assay.predictions.scanned import ScannedPredictions


class ScannedCellPredictions:
    """`CellPredictions` of one classifier.

    Parameters
    ----------
    found : ScannedPredictions
        Its predictions.
    classifier : str
        Its name.
    """

    def __init__(self, found: ScannedPredictions, classifier: str) -> None:
        self.classifiers, self.groups = (classifier,), NO_GROUPS
        self.source, self.size, self.positives = found.source, found.size, found.positives
        self.id_kind: IdKind = found.id_kind
        self.threshold: float | None = None
        self.weighted = False
        self._found, self._counted = found, found.score_cells

    def __repr__(self) -> str:
        """Say where the predictions come from, whose they are, and how many say yes."""
        (name,) = self.classifiers
        return f"<predictions of {self.source} by {name}: to {self.positives:,} it says yes>"

    def as_it_is_now(self) -> "ScannedCellPredictions":
        """Return the same after another pass: the data may have changed since the last."""
        return ScannedCellPredictions(self._found.as_it_is_now(), self.classifiers[0])

    @property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest rank."""
        return float(self._rank.min()), float(self._rank.max())

    def fingerprint(self) -> str:
        """Return a text that changes when an id, a predicted label or the bin of a score does."""
        return self._found.fingerprint()

    def cells(self) -> dict[int, int]:
        """Return the number of items with each code that occurs: 1 for yes, 0 for no."""
        sizes = {0: self.size - self.positives, 1: self.positives}
        return {code: items for code, items in sizes.items() if items}

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of the rank among the items with each heap's codes."""
        return [self._profile(np.isin(self._counted.yes, list(heap))) for heap in heaps]

    def profile(
        self, variable: Variable, _scale: Scale, sides: Sequence[Side], /
    ) -> dict[Side, Profile]:
        """Return the distribution of the rank on each side."""
        refuse_unknown_variable(variable, ["rank"])
        every = np.ones_like(self._counted.yes)
        yes = self._counted.yes
        return {side: self._profile(every if side is None else yes == side) for side in sides}

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata that the heaps are cut into."""
        parts: list[Part] = []
        first = 0
        for heap in heaps:
            stratum = heap.cuts.assign(self._rank)
            for code in heap.codes:
                of_code = self._counted.yes == code
                items = np.bincount(stratum[of_code], self._counted.count[of_code])
                parts += [(first + h, code, int(n)) for h, n in enumerate(items.tolist()) if n]
            first += heap.cuts.n_strata
        return tuple(sorted(parts))

    def count(self, strata: Strata, *, scale: Scale) -> Ints:
        """Return the number of items in each stratum, by the strata's own cuts."""
        return self._found.count(self._by_score(strata), scale=scale)

    def deal(
        self, strata: Strata, *, scale: Scale, seed: int, counts: Sequence[int]
    ) -> list[list[Card]]:
        """Return the first ``counts[h]`` cards of every stratum h, in deck order.

        Parameters
        ----------
        strata, scale, seed, counts
            As in `contract.Predictions`.
        """
        decks = self._found.deal(self._by_score(strata), scale=scale, seed=seed, counts=counts)
        return [[_coded(card) for card in deck] for deck in decks]

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> list[Found | None]:
        """Return the items with these ids; None where there is none."""
        refuse_unknown_variable(variable, ["rank"])
        items = self._found.find(ids, variable="score", scale=scale)
        there = [item for item in items if item is not None]
        ranks = iter(rank(np.array([item.value for item in there]), self._scores).tolist())
        return [None if item is None else Found(_coded(item.card), next(ranks)) for item in items]

    @cached_property
    def _scores(self) -> Profile:
        """The scores of all items: a cell for each bin."""
        return self._counted.profile(None)

    @cached_property
    def _rank(self) -> Floats:
        """The rank of the items of each cell."""
        return rank(self._counted.low, self._scores)

    def _profile(self, inside: Bools) -> Profile:
        """Return the ranks' distribution among the items of some cells."""
        ranks, count = self._rank[inside], self._counted.count[inside]
        starts = np.flatnonzero(np.diff(bins_of(ranks, "probability"), prepend=np.iinfo(int).min))
        return Profile.of_ranges(
            low=np.minimum.reduceat(ranks, starts),
            high=np.maximum.reduceat(ranks, starts),
            count=np.add.reduceat(count, starts),
        )

    def _by_score(self, strata: Strata) -> Strata:
        """Return strata of the score that hold the same items."""
        if strata.classifiers != self.classifiers:
            raise PredictionsError(
                f"strata of {strata.classifiers} are not of {self.classifiers[0]!r} alone"
            )
        ranks = rank(self._scores.low, self._scores)
        cuts: dict[Side, Cuts] = {}
        for heap in strata.heaps:
            owner = heap.cuts.assign(ranks)
            changes = np.flatnonzero(np.diff(owner)) + 1
            cuts[heap.side] = Cuts(
                method=heap.cuts.method,
                points=tuple(self._scores.low[changes].tolist()),
                owner=tuple(owner[np.concatenate([[0], changes])].tolist()),
            )
        return Strata.of_sides("score", cuts, strata.sizes.tolist())


def _coded(card: Card) -> Card:
    return Card(card.id, int(card.predicted), card.shown)
