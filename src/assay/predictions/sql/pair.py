"""Two sets of predictions that stay where they are, joined by id inside an engine.

Each is counted where it lies, as if it were alone; its cells tell the rank of every score among its
own items. Only the id of a row and its cell go into the join. There a row of either finds what its
cells add to the code and to the sum of the ranks; where it is in both, the mean is half of that
sum. These are the numbers that two sets in memory have (`assay.predictions.pair`), to the last bit.

With weights, those of the rows are joined, too. An item has one, and what it is in impressions
follows from the sum over the items of both: a pass of its own, before they are counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np

from assay.core.bins import Scale, bins_of
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.error_model import Model, Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.core.weights import as_impressions, factor_exponent
from assay.errors import PredictionsError
from assay.predictions.contract import IdKind, Predictions, by_model, joint_fingerprint, listed
from assay.predictions.engine import Listed, Rows, Span, Survey
from assay.predictions.ids import Ids, places_among
from assay.predictions.sql.pair_sides import Side, numbers, place_of
from assay.predictions.sql.rows import double_sql
from assay.predictions.values import refuse_bad_total

N_CODES = 16
"""Codes of two classifiers of yes and no: four bits."""

IN_BOTH = 12
"""The smallest code of an item that is in both."""


@dataclass(frozen=True)
class Weighing:
    """What the weights of two sides are together."""

    # items, in_both: how many items there are, and how many are in both.
    items: int
    in_both: int
    total: float  # the weights of all items, added in any order
    unlike: int  # how many items have two weights
    first: Id | None  # the smallest id of these


class Join(Protocol):
    """An engine that has joined two sides, and can be asked as often as need be."""

    exponent: int | None  # of the power of two that makes impressions of weights, once it is known

    @property
    def model(self) -> Model | None:
        """What takes the mean rank's place, if anything does."""

    def weighing(self) -> Weighing:
        """Add up the weights, and look for items that have two."""

    def weights(self) -> Iterable[Floats]:
        """Return numbers, in pieces, whose exact sum is that of the weights."""

    def cells(self) -> tuple[ScoreCells, int | None]:
        """Count all items by the mean rank and the code.

        The number is the exclusive or of `assay.predictions.arrivals.weight_words`; by a model,
        what `assay.predictions.contract.by_model` takes.
        """

    def count(self, spans: Sequence[Span]) -> Ints:
        """Return the items in each span and what they count for, shape (2, n)."""

    def rows(self, spans: Sequence[Span], seed: int) -> Rows:
        """Return the rows of all spans: ids, mean ranks, codes, impressions."""

    def find(self, ids: Sequence[Id]) -> Rows:
        """Return the rows with these ids."""

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by every column, by the scores, by the mean rank."""

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""


def value_sql(ranks: str, code: str) -> str:
    """Return the mean rank of an item, of the sum of its ranks and its code.

    >>> value_sql("ranks", "code")
    'ranks / CASE WHEN code >= 12 THEN 2.0000000000000000e+00 ELSE 1.0000000000000000e+00 END'
    """
    return f"{ranks} / CASE WHEN {code} >= {IN_BOTH} THEN {double_sql(2)} ELSE {double_sql(1)} END"


class PairScanner:
    """A `Scanner` of two sets of predictions: values are mean ranks, and what a row says is a code.

    `sides`: the earlier and the later; `names`: what the two are called; `join`: the engine that
    joins them; `shows`: whether people see anything of an item.
    """

    has_probabilities = False

    def __init__(
        self, sides: tuple[Side, Side], names: tuple[str, str], join: Join, *, shows: bool
    ) -> None:
        self._sides, self._names, self._join, self._shows = sides, names, join, shows

    @property
    def _parts(self) -> list[Predictions]:
        return [side.part for side in self._sides]

    @property
    def source(self) -> str:
        """Where the predictions come from, for people."""
        return listed([part.source for part in self._parts])

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self._sides[0].part.id_kind

    def survey(self, seed: int) -> Survey:
        """Join all items, and count them by mean rank and code."""
        weighted = self._sides[0].part.weighted
        if weighted:
            self._weigh()
        cells, word = self._join.cells()
        self._refuse_other_sizes(cells)
        doubts = tuple(
            doubt.about(name)
            for name, part in zip(self._names, self._parts, strict=True)
            for doubt in part.doubts
        )
        fingerprint = joint_fingerprint(
            [part.fingerprint() for part in self._parts], sum(part.size for part in self._parts)
        )
        if self._join.model is not None:
            return Survey(cells, None, (), by_model(fingerprint, word or 0))  # of scores: none
        return Survey(
            cells,
            self._listed(cells, seed),
            doubts,
            fingerprint,
            weighed=cells if weighted else None,
            weights_word=word,
        )

    def _weigh(self) -> None:
        """Find what makes impressions of weights; raise where an item has two weights."""
        found = self._join.weighing()
        if found.first is not None:
            self.refuse_repeated_ids()
            before, after = (side.find([found.first]).given for side in self._sides)
            weights = [float(each[0]) for each in (before, after) if each is not None and each.size]
            refuse_two_weights(found, weights, self._parts)
        refuse_bad_total(found.total, self.source)
        self._join.exponent = factor_exponent(found.total, found.items, self._join.weights)

    def _refuse_other_sizes(self, cells: ScoreCells) -> None:
        """Raise where a side has another number of items than were joined.

        An id that is twice in one and once in the other is joined twice.
        """
        for place, side in enumerate(self._sides):
            inside = cells.said >> 2 + place & 1 == 1
            if int(cells.count[inside].sum()) == side.cells.size:
                continue
            self.refuse_repeated_ids()
            raise PredictionsError(f"{self.source} has changed while it was read")

    def _listed(self, cells: ScoreCells, seed: int) -> Listed | None:
        """Return the first cards of both, as far as both have listed theirs."""
        lists = [side.listed for side in self._sides]
        one, other = lists
        if one is None or other is None or {one.seed, other.seed} != {seed}:
            return None
        limit = min(one.limit, other.limit)
        held = []
        for each, side in zip((one, other), self._sides, strict=True):
            low = np.flatnonzero(numbers(each.ids, seed) <= np.uint64(limit))
            at = each.cell[low]
            held.append((each.ids.take(low), side.steps.rank[at], side.steps.code[at], None))
        ids, values, codes, _ = joined(*held)
        place = cells.classes * bins_of(values, cells.rule) + codes
        known = cells.classes * cells.bin + cells.said
        return Listed(seed, limit, ids, place_of(place, known, self.source))

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Refuse: items of two are counted by their rank alone."""
        self._refuse(f"{variable} on the scale {scale}")

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the items in each span, and what they count for."""
        del variable, scale  # the mean rank
        return self._join.count(spans)

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Return the rows of all spans."""
        del variable, scale
        return self._join.rows(spans, seed)

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Return the rows with these ids: each set is asked for its own, but by a model."""
        del variable, scale
        if self._join.model is not None:
            return self._join.find(ids)
        held = []
        for side in self._sides:
            rows = side.find(ids)
            at = side.cell_of(rows.values, rows.predicted)
            held.append((rows.ids, side.steps.rank[at], side.steps.code[at], rows.given))
        found, ranks, codes, given = joined(*held)
        exponent = self._join.exponent
        weights = None
        if given is not None and exponent is not None:
            weights = as_impressions(given, exponent)
        return Rows(found, ranks, codes, weights=weights)

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of items: as the later has them, if it does."""
        before, after = self._sides
        if not ids or not self._shows:
            return [{} for _ in ids]
        rows = after.find(ids)
        late = set(rows.ids.at(np.arange(len(rows.ids))))
        shown: dict[Id, dict[str, object]] = {}
        for side, its in (
            (after, [id for id in ids if id in late]),
            (before, [id for id in ids if id not in late]),
        ):
            shown |= dict(zip(its, side.show(its), strict=True))
        return [shown[id] for id in ids]

    def probabilities(self, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Refuse: two sets of predictions are of yes and no."""
        self._refuse(f"the probabilities of {len(ids):,} items")

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by every column, by the scores, by the mean rank."""
        return self._join.opinions(ids)

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""
        return self._join.opinions_digest()

    def summed_probabilities(self) -> Floats | None:
        """Return None: there are no probabilities of classes."""
        return None

    def refuse_repeated_ids(self) -> None:
        """Look at every id, and raise where one repeats."""
        for side in self._sides:
            side.refuse_repeated_ids()

    def _refuse(self, what: str) -> NoReturn:
        raise PredictionsError(f"{self.source} does not tell {what}")


def refuse_two_weights(
    found: Weighing, weights: Sequence[float], parts: Sequence[Predictions]
) -> NoReturn:
    """Raise: an item has two weights.

    `weights`: that item's in each; `parts`: the earlier and the later.
    """
    short = [f"{weight:g}" for weight in weights]
    if len({*short}) < len(weights):
        short = [repr(weight) for weight in weights]  # which tells any two apart
    told = (f"{weight} in {part.source}" for weight, part in zip(short, parts, strict=True))
    raise PredictionsError(
        f"item {found.first!r} has weight {' and '.join(told)}",
        details=f"{found.unlike:,} of the {found.in_both:,} items in both have two weights: a "
        "label counts for both metrics, and is drawn in proportion to one weight",
        hint="give each item one weight, such as its mean over both weeks; or follow the weeks "
        "as a series, each with weights of its own",
    )


Told = tuple[Ids, Floats, Ints, Floats | None]
"""Ids, with the rank, the code and, where there are weights, the weight of each."""


def joined(before: Told, after: Told) -> Told:
    """Return the ids of both, each once, with the mean rank and the code: the later's come first.

    >>> before = Ids(np.array([7, 8])), np.array([0.2, 0.4]), np.array([5, 4]), None
    >>> after = Ids(np.array([9, 7])), np.array([0.5, 0.6]), np.array([8, 10]), None
    >>> ids, ranks, codes, _ = joined(before, after)
    >>> ids.values, ranks, codes
    (array([9, 7, 8]), array([0.5, 0.4, 0.4]), array([ 8, 15,  4]))
    """
    old, earlier, said, weighed = before
    new, later, says, weighs = after
    at = places_among(old, new)
    there, gone = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
    ranks, codes = np.concatenate([later, earlier[gone]]), np.concatenate([says, said[gone]])
    place = at[there]
    ranks[place] = (ranks[place] + earlier[there]) / 2
    codes[place] += said[there]
    weights = None
    if weighed is not None and weighs is not None:
        weights = np.concatenate([weighs, weighed[gone]])
    return Ids.concatenated([new, old.take(gone)]), ranks, codes, weights
