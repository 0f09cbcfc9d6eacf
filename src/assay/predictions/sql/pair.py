"""Two sets of predictions that stay where they are, joined by id inside an engine.

Each is counted where it lies, as if it were alone; its cells tell the rank of every score among its
own items. Only the id of a row and its cell go into the join. There a row of either finds what its
cells add to the code and to the sum of the ranks; where it is in both, the mean is half of that
sum. These are the numbers that two sets in memory have (`assay.predictions.pair`), to the last bit.
"""

from collections.abc import Sequence
from typing import NoReturn, Protocol

import numpy as np

from assay.core.bins import Scale, bins_of
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.errors import PredictionsError
from assay.predictions.contract import IdKind, Predictions, joint_fingerprint, listed
from assay.predictions.engine import Listed, Rows, Span, Survey
from assay.predictions.ids import Ids, places_among
from assay.predictions.sql.pair_sides import ScannedSide, Side, numbers, place_of
from assay.predictions.sql.rows import double_sql

N_CODES = 16
"""Codes of two classifiers of yes and no: four bits."""

IN_BOTH = 12
"""The smallest code of an item that is in both."""


class Join(Protocol):
    """An engine that has joined two sides, and can be asked as often as need be."""

    def cells(self) -> ScoreCells:
        """Count all items by the mean rank and the code."""

    def count(self, spans: Sequence[Span]) -> Ints:
        """Return the items in each span."""

    def rows(self, spans: Sequence[Span], seed: int) -> Rows:
        """Return the rows of all spans: ids, mean ranks and codes."""


def join_in_engine(sides: tuple[Side, Side]) -> Join:
    """Return the engine that joins two sides, and tell what is moved to it.

    Spark, where the larger side is; otherwise DuckDB, to which rows come from anywhere.
    """
    larger, smaller = sorted(sides, key=lambda side: -side.cells.size)
    equal = larger.cells.size == smaller.cells.size
    home = smaller if equal and _is_of_spark(smaller) else larger
    if _is_of_spark(home):
        from assay.predictions.spark.pair import spark_pair

        return spark_pair(sides, home)
    from assay.predictions.duckdb.pair import DuckPair

    return DuckPair(sides)


def _is_of_spark(side: Side) -> bool:
    """Tell whether Spark reads a side; nothing of Spark is loaded for it."""
    scanner = side.part.scanner if isinstance(side, ScannedSide) else None
    return type(scanner).__module__.startswith("assay.predictions.spark.")


def value_sql(ranks: str, code: str) -> str:
    """Return the mean rank of an item, of the sum of its ranks and its code.

    Examples
    --------
    >>> value_sql("ranks", "code")
    'ranks / CASE WHEN code >= 12 THEN 2.0000000000000000e+00 ELSE 1.0000000000000000e+00 END'
    """
    return f"{ranks} / CASE WHEN {code} >= {IN_BOTH} THEN {double_sql(2)} ELSE {double_sql(1)} END"


class PairScanner:
    """A `Scanner` of two sets of predictions: values are mean ranks, and what a row says is a code.

    Parameters
    ----------
    sides : pair of Side
        The earlier and the later.
    names : pair of str
        What the two are called.
    join : Join
        The engine that joins them.
    shows : bool
        Whether people see anything of an item.
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
        cells = self._join.cells()
        self._refuse_other_sizes(cells)
        doubts = tuple(
            doubt.about(name)
            for name, part in zip(self._names, self._parts, strict=True)
            for doubt in part.doubts
        )
        fingerprint = joint_fingerprint(
            [part.fingerprint() for part in self._parts], sum(part.size for part in self._parts)
        )
        return Survey(cells, self._listed(cells, seed), doubts, fingerprint)

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
            held.append((each.ids.take(low), side.steps.rank[at], side.steps.code[at]))
        ids, values, codes = joined(*held)
        place = cells.classes * bins_of(values, cells.rule) + codes
        known = cells.classes * cells.bin + cells.said
        return Listed(seed, limit, ids, place_of(place, known, self.source))

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Refuse: items of two are counted by their rank alone."""
        self._refuse(f"{variable} on the scale {scale}")

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the items in each span, twice: each counts for one."""
        del variable, scale  # the mean rank
        counts = self._join.count(spans)
        return np.stack([counts, counts])

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Return the rows of all spans.

        Parameters
        ----------
        spans, variable, scale, seed
            As in `engine.Scanner`.
        """
        del variable, scale
        return self._join.rows(spans, seed)

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Return the rows with these ids: each set is asked for its own."""
        del variable, scale
        held = []
        for side in self._sides:
            rows = side.find(ids)
            at = side.cell_of(rows.values, rows.predicted)
            held.append((rows.ids, side.steps.rank[at], side.steps.code[at]))
        return Rows(*joined(*held))

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

    def opinions_digest(self) -> int:
        """Return 0: there are no columns for a model."""
        return 0

    def summed_probabilities(self) -> Floats | None:
        """Return None: there are no probabilities of classes."""
        return None

    def refuse_repeated_ids(self) -> None:
        """Look at every id, and raise where one repeats."""
        for side in self._sides:
            side.refuse_repeated_ids()

    def _refuse(self, what: str) -> NoReturn:
        raise PredictionsError(f"{self.source} does not tell {what}")


Told = tuple[Ids, Floats, Ints]
"""Ids, with the rank and the code of each."""


def joined(before: Told, after: Told) -> Told:
    """Return the ids of both, each once, with the mean rank and the code: the later's come first.

    Examples
    --------
    >>> before = Ids(np.array([7, 8])), np.array([0.2, 0.4]), np.array([5, 4])
    >>> after = Ids(np.array([9, 7])), np.array([0.5, 0.6]), np.array([8, 10])
    >>> ids, ranks, codes = joined(before, after)
    >>> ids.values, ranks, codes
    (array([9, 7, 8]), array([0.5, 0.4, 0.4]), array([ 8, 15,  4]))
    """
    old, earlier, said = before
    new, later, says = after
    at = places_among(old, new)
    there, gone = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
    ranks, codes = np.concatenate([later, earlier[gone]]), np.concatenate([says, said[gone]])
    place = at[there]
    ranks[place] = (ranks[place] + earlier[there]) / 2
    codes[place] += said[there]
    return Ids.concatenated([new, old.take(gone)]), ranks, codes
