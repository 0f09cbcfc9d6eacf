"""Predictions whose ids, scores and predicted labels are in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core import deck
from assay.core.profile import Profile, ScoreCells, cells_of
from assay.core.strata import Side
from assay.core.types import Bools, Floats, Ints
from assay.core.variable import VARIABLES, Scale, Variable, confidence
from assay.predictions.column import Show
from assay.predictions.contract import Card, Decks, Found, IdKind
from assay.predictions.dealing import checked_counts, first_cards
from assay.predictions.ids import Ids
from assay.predictions.values import refuse_distant, refuse_improbable, refuse_unknown_variable


@dataclass(frozen=True, eq=False)
class Judged:
    """The rows of one classifier's predictions: ids, scores, what it says, and what people see."""

    ids: Ids
    score: Floats
    predicted: Bools
    show: Show


class MemoryPredictions:
    """`Predictions` on arrays.

    Parameters
    ----------
    source : str
        Where they come from, for people.
    ids : Ids
        No two alike.
    score, predicted : array, shape (N,)
        Finite scores without -0.0, and whether the classifier said yes. They are not copied, and
        must not change.
    threshold : float or None
        Where the predicted label changes.
    show : Show
        Returns what people see of some items.
    """

    _variables = VARIABLES

    def __init__(
        self,
        *,
        source: str,
        ids: Ids,
        score: Floats,
        predicted: Bools,
        threshold: float | None,
        show: Show,
    ) -> None:
        self.source = source
        self.threshold = threshold
        self._ids = ids
        self._score = score
        self._predicted = predicted
        # What strata are assigned by and cards carry; of several classifiers it is the code.
        self._said: Bools | Ints = predicted
        self._show = show

    def __repr__(self) -> str:
        """Say where the predictions come from, and how many say yes."""
        return f"<predictions of {self.source}: {self.positives:,} say yes>"

    @property
    def judged(self) -> Judged:
        """What was read, row by row."""
        return Judged(self._ids, self._score, self._predicted, self._show)

    @property
    def size(self) -> int:
        """The number of items."""
        return self._score.size

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self._ids.kind

    @cached_property
    def positives(self) -> int:
        """The number of items predicted yes."""
        return int(np.count_nonzero(self._predicted))

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        return float(self._score.min()), float(self._score.max())

    def fingerprint(self) -> str:
        """Return a text that changes when an id, a predicted label or the bin of a score does."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return self._score_cells.fingerprint()

    def profile(
        self, variable: Variable, scale: Scale, sides: Sequence[Side]
    ) -> dict[Side, Profile]:
        """Return the distribution of the stratification variable on each side."""
        values = self._values(variable, scale)
        cells = self._score_cells if values is self._score else cells_of(values, self._predicted)
        return {side: cells.profile(side) for side in sides}

    @cached_property
    def _score_cells(self) -> ScoreCells:
        return cells_of(self._score, self._predicted, self._ids.digest)

    def count(self, strata: Decks, *, scale: Scale) -> Ints:
        """Return the number of items in each stratum, by the strata's own cuts."""
        stratum = strata.assign(self._values(strata.variable, scale), self._said)
        return np.bincount(stratum + 1, minlength=strata.n_strata + 1)[1:]  # from -1, for none

    def deal(
        self, strata: Decks, *, scale: Scale, seed: int, counts: Sequence[int]
    ) -> list[list[Card]]:
        """Return the first ``counts[h]`` cards of every stratum h, in deck order."""
        wanted = checked_counts(counts, strata.n_strata)
        stratum = strata.assign(self._values(strata.variable, scale), self._said)
        rows, digest = np.flatnonzero(stratum >= 0), self._ids.digest
        if rows.size < stratum.size:  # otherwise a copy of all that is there
            stratum, digest = stratum[rows], digest[rows]
        places = first_cards(
            number=deck.mix(digest ^ np.uint64(deck.key(seed))),
            stratum=stratum,
            counts=wanted,
            sizes=np.maximum(np.bincount(stratum, minlength=strata.n_strata), 1),
            utf8=lambda at: [str(id).encode() for id in self._ids.at(rows[at])],
        )
        return self._cards([rows[place] for place in places])

    def find(
        self, ids: Sequence[deck.Id], *, variable: Variable, scale: Scale
    ) -> list[Found | None]:
        """Return the items with these ids; None where there is none."""
        if not ids:
            return []
        wanted = [id for id in dict.fromkeys(ids) if self._could_be(id)]
        # Two ids in 2^64 share a digest; the ids themselves, as keys below, tell them apart.
        suspects = np.flatnonzero(np.isin(self._ids.digest, deck.digest(wanted)))
        row_of = dict(zip(self._ids.at(suspects), suspects.tolist(), strict=True))
        there = [id for id in wanted if id in row_of]
        rows = np.array([row_of[id] for id in there], dtype=np.int64)
        values = self._values(variable, scale)[rows].tolist()
        found = dict(zip(there, map(Found, self._cards([rows])[0], values), strict=True))
        return [found.get(id) for id in ids]

    def _could_be(self, id: deck.Id) -> bool:
        if isinstance(id, str):
            return self.id_kind == "string"
        return self.id_kind == "integer" and -(2**63) <= id < 2**64

    def _cards(self, decks: list[Ints]) -> list[list[Card]]:
        rows = np.concatenate(decks)
        ids = self._ids.at(rows)
        facts = zip(ids, self._said[rows].tolist(), self._show(rows, ids), strict=True)
        cards = [Card(id, predicted, shown) for id, predicted, shown in facts]
        ends = np.cumsum([deck.size for deck in decks]).tolist()
        return [cards[end - deck.size : end] for end, deck in zip(ends, decks, strict=True)]

    def _values(self, variable: str, scale: Scale) -> Floats:
        """Return the stratification variable of every item."""
        refuse_unknown_variable(variable, self._variables)
        if variable != "confidence":
            return self._score
        if scale == "probability":
            refuse_improbable(self.score_range, self.source)
        else:
            refuse_distant(self.score_range, self.threshold, self.source)
        return confidence(self._score, self._predicted, scale, self.threshold or 0.0)
