"""Predictions whose items count by weight: dealt as they arrive (`assay.core.weights`)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256

import numpy as np

from assay.core import deck
from assay.core.profile import Profile, cells_of
from assay.core.strata import Side, Strata
from assay.core.types import Bools, Floats, Ints
from assay.core.variable import Scale, Variable
from assay.core.weights import first_arrivals, impressions
from assay.errors import PredictionsError
from assay.predictions.column import Show
from assay.predictions.contract import Card
from assay.predictions.ids import Ids
from assay.predictions.memory import Judged, MemoryPredictions, checked_counts


class WeightedPredictions(MemoryPredictions):
    """`Predictions` on arrays, with a weight for each item.

    An item of weight 0 counts for nothing, and is not there.

    Parameters
    ----------
    source, ids, score, predicted, threshold, show
        As in `MemoryPredictions`.
    weights : array, shape (N,)
        Finite, not negative, not all 0.
    """

    def __init__(
        self,
        *,
        source: str,
        ids: Ids,
        score: Floats,
        predicted: Bools,
        threshold: float | None,
        show: Show,
        weights: Floats,
    ) -> None:
        there = np.flatnonzero(weights)
        super().__init__(
            source=source,
            ids=ids.take(there),
            score=score[there],
            predicted=predicted[there],
            threshold=threshold,
            show=lambda rows, ids: show(there[rows], ids),
        )
        self._weights = impressions(weights[there])

    @property
    def judged(self) -> Judged:
        """Not to be had: without their weights the rows mean something else."""
        raise PredictionsError(
            f"the items of {self.source} have weights",
            details="weights are for campaigns of one metric of one classifier",
            hint="leave out sample_weight, or make a campaign for each",
        )

    @cached_property
    def _fingerprint(self) -> str:
        """A text that changes when a weight does, too."""
        words = deck.mix(self._ids.digest ^ deck.mix(self._weights.astype(np.uint64)))
        seen = sha256(np.bitwise_xor.reduce(words).tobytes()).hexdigest()[:8]
        return f"{super()._fingerprint}:weights-{seen}"

    def profile(
        self, variable: Variable, scale: Scale, sides: Sequence[Side]
    ) -> dict[Side, Profile]:
        """Return the distribution of the stratification variable among impressions."""
        cells = cells_of(self._values(variable, scale), self._predicted, weights=self._weights)
        return {side: cells.profile(side) for side in sides}

    def weigh(self, strata: Strata, *, scale: Scale) -> Ints:
        """Return the impressions in each stratum."""
        stratum = strata.assign(self._values(strata.variable, scale), self._said)
        weights = np.zeros(strata.n_strata + 1, dtype=np.int64)
        np.add.at(weights, stratum + 1, self._weights)  # from -1, for none
        return weights[1:]

    def deal(
        self, strata: Strata, *, scale: Scale, seed: int, counts: Sequence[int]
    ) -> list[list[Card]]:
        """Return the first ``counts[h]`` cards of every stratum h, by their first arrivals.

        Parameters
        ----------
        strata, scale, seed, counts
            As in `contract.Predictions`.
        """
        wanted = checked_counts(counts, strata.n_strata)
        stratum = strata.assign(self._values(strata.variable, scale), self._said)
        numbers = deck.mix(self._ids.digest ^ np.uint64(deck.key(seed)))
        when = first_arrivals(numbers, self._weights)
        decks = []
        for number, count in enumerate(wanted.tolist()):
            rows = np.flatnonzero(stratum == number)
            if 0 < count < rows.size:
                last = np.partition(when[rows], count - 1)[count - 1]
                rows = rows[when[rows] <= last]
            texts = [str(id).encode() for id in self._ids.at(rows)]
            facts = zip(when[rows].tolist(), numbers[rows].tolist(), texts, rows, strict=True)
            order = [row for *_, row in sorted(facts)][:count]
            decks.append(np.array(order, dtype=np.int64))
        return self._cards(decks)

    def _cards(self, decks: list[Ints]) -> list[list[Card]]:
        weights = iter(self._weights[np.concatenate(decks)].tolist())
        return [
            [replace(card, weight=next(weights)) for card in cards]
            for cards in super()._cards(decks)
        ]
