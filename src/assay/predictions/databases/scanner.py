"""Predictions in a table of a database, counted and filtered there; what is drawn leaves it."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from math import isfinite
from typing import Any

import numpy as np

from assay.core.bins import Rule, Scale, scale_of
from assay.core.cuts import Variable
from assay.core.deck import SHIFT, Id
from assay.core.profile import ScoreCells, evenest
from assay.core.types import Bools, Floats, Ints
from assay.core.types import Words as Words64
from assay.core.weights import factor_exponent
from assay.errors import PredictionsError
from assay.predictions.databases.rows import DatabaseIds, DatabaseRows
from assay.predictions.databases.translate import Query
from assay.predictions.databases.words import Words, halves_of, place_of
from assay.predictions.doubts import Doubt
from assay.predictions.engine import Rows, Span, Survey
from assay.predictions.ids import Ids
from assay.predictions.roles import Roles
from assay.predictions.sql.checks import usable_sql
from assay.predictions.sql.rows import (
    RowSql,
    case_sql,
    double_sql,
    heap_cases_sql,
    scaled_sql,
    spread_sql,
    value_sql,
)
from assay.predictions.sql.scanner import SqlScanner
from assay.predictions.tables import jsonable
from assay.predictions.values import refuse_bad_total

# The sum with 1.5 * 2^52 has no bits after the point: IEEE 754 rounds it to the nearest whole
# number, halves to the even one. No two databases have the same function for this.
_ROUND = 6755399441055744.0

_ITEM = RowSql("id", "value", "says")


def rounded_sql(value: str) -> str:
    """Return the nearest whole number, of two the even one, where that is below 2^51 in size.

    >>> rounded_sql("x")
    'CAST((x + 6.7553994410557440e+15) - 6.7553994410557440e+15 AS BIGINT)'
    """
    large = double_sql(_ROUND)
    return f"CAST(({value} + {large}) - {large} AS BIGINT)"


def bin_sql(value: str, rule: Rule) -> str:
    """Return the bin of a value."""
    return rounded_sql(spread_sql(value, rule))


class DatabaseScanner(SqlScanner):
    """A `Scanner` over a table of a database.

    Each question reads the table a few times at most. Nothing is created in the database.
    """

    def __init__(
        self,
        rows: DatabaseRows,  # the rows
        roles: Roles,  # which column is what
        show: Sequence[str],  # the columns that people see
        ids: DatabaseIds | None = None,  # the ids, where they were looked at before
    ) -> None:
        super().__init__(rows.source, roles, show, rows.names, rows.types, is_text=False)
        self._rows = self._inspected = rows
        self._ids = DatabaseIds(rows, str(roles.id)) if ids is None else ids
        self._weight = ""

    def survey(self, seed: int) -> Survey:
        """Count all items by score."""
        del seed  # the first cards would take a list in every group
        with self._connected():
            self._weigh()
            rule = self._rule("score", "margin")
            count = cache(lambda rule: self._counted("score", "margin", rule, digest=True))
            cells = evenest(count, rule, lambda counted: counted[0])
            doubts = self.checked(cells[0])
            if not self._row.weight:
                return Survey(cells[0], doubts=doubts)
            weighed = evenest(count, rule, lambda counted: counted[0].by_weight)
            return Survey(cells[0], doubts=doubts, weighed=weighed[0], weights_word=cells[1])

    def judged(self) -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """Count all items by score, without a digest of their ids."""
        with self._connected():
            cells = self.cells("score", "margin")
            return cells, self.checked(cells)

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        with self._connected():
            rule = self._rule(variable, scale)
            return evenest(
                lambda rule: self._counted(variable, scale, rule)[0],
                rule,
                lambda cells: cells.by_weight,
            )

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the items in each span, and what they count for."""
        inside = case_sql(spans, [str(place) for place in range(len(spans))])
        weight = "weight" if self._row.weight else "1"
        rows = self._heaped(spans, self._judged(variable, scale)).query
        rows = rows.select(f"{inside} AS span", f"{weight} AS counts")
        rows = rows.select(
            *("span", "count(*) AS items", "sum(counts) AS total"),
            where="span IS NOT NULL",
            tail="GROUP BY span",
        )
        counts = np.zeros((2, len(spans)), dtype=np.int64)
        for span, items, total in self._rows.fetch(rows):
            counts[:, int(span)] = int(items), int(total)
        return counts

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Return the rows of all spans, with what people see of them."""
        weighted = bool(self._row.weight)
        literal = double_sql if weighted else _place_sql
        limit = case_sql(spans, [literal(span.limit) for span in spans])
        items = self._judged(variable, scale, shown=True)
        told = items.keep
        items = self._heaped(spans, items).with_column(f"{limit} AS highest")
        items.query = items.query.select(*items.keep, where="highest IS NOT NULL")
        number = items.numbered("id", self.id_kind, seed)
        items = items.with_column(f"{number.number if weighted else number.place} AS own")
        low_enough = "own <= weight * highest" if weighted else "own <= highest"
        return self._taken(items.query.select(*told, where=low_enough))

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Return the rows with these ids, with what people see of them."""
        with self._connected():
            parts = [
                self._judged(variable, scale, shown=True, inside=inside).query
                for inside in self._ids.inside(ids)
            ]
            return self._taken(*parts)

    def pieces(self) -> Iterator[tuple[Ids, Floats, Bools | Ints, Floats | None]]:
        """Return every row's id, score, label and weight, piece by piece."""
        items = self._judged("score", "margin")
        for piece in self._rows.pieces(items.query):
            ids, values, says, *weights = zip(*piece, strict=True)
            said = np.array(says, dtype=np.int64) == 1
            given = np.array(weights[1], dtype=np.float64) if weights else None
            yield self._ids.of(ids), np.array(values, dtype=np.float64) + 0.0, said, given

    def probabilities(self, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Refuse: predictions with probabilities are copied, and not read by this."""
        raise PredictionsError(
            f"the probabilities of {len(ids):,} items of {self.source} are asked for",
            details="a database is read for yes and no",
            hint="have the table copied: engine 'duckdb'",
        )

    def opinions_digest(self) -> int:
        """Return 0: predictions with columns for a model are copied."""
        return 0

    def summed_probabilities(self) -> Floats | None:
        """Return None: there are no probabilities of classes."""
        return None

    def _connected(self) -> AbstractContextManager[None]:
        return self._rows.database.connected(self.source)

    def _items(self, *, shown: bool = False, inside: str = "") -> Words:
        """Return every item's id, score (its value), what it says, its weight, what is shown.

        The weight is there twice: in impressions, and as it was given.
        """
        show = self._show if shown else ()
        rows = Query(self._rows.select([*self._roles.columns, *show], inside))
        told = {"id": self._ids.sql, "value": self._row.score, "says": self._row.says}
        if self._weight:
            told |= {"weight": self._weight, "given": self._row.weight}
        told |= {f"shown_{place}": self._rows.names[name] for place, name in enumerate(show)}
        columns = [f"{expression} AS {name}" for name, expression in told.items()]
        there = f"{self._row.weight} > 0e0" if self._weight else ""
        return Words(rows.select(*columns, where=there), list(told))

    def _judged(
        self, variable: Variable, scale: Scale, *, shown: bool = False, inside: str = ""
    ) -> Words:
        """Return every item's id, value, what it says, its impressions and what is shown of it."""
        items = self._items(shown=shown, inside=inside)
        if variable == "score":
            return items
        by = f"{value_sql(_ITEM, variable, scale, self._roles.limit)} AS by_variable"
        names = ["by_variable" if name == "value" else name for name in items.keep]
        query = items.query.select(*(by if name == "by_variable" else name for name in names))
        columns = ["by_variable AS value" if name == "by_variable" else name for name in names]
        return Words(query.select(*columns), items.keep)

    def _heaped(self, spans: Sequence[Span], items: Words) -> Words:
        """Return items with the heap of what each says, where spans are of heaps."""
        if self._row.classes is None:
            return items
        return items.with_column(f"{heap_cases_sql(spans)} AS heap")

    def _weigh(self) -> None:
        """Find the impressions of an item, and leave out items of weight 0.

        Values that are none are told of all rows, as in memory.
        """
        weight = self._row.weight
        if not weight:
            return
        self._weight = ""
        self.tell_what_is_wrong()
        rows = Query(self._rows.select([str(self._roles.weight)]))
        ((size, total),) = self._rows.fetch(rows.select("count(*)", f"sum({weight})"))
        self._refuse_nothing(size)
        refuse_bad_total(total, f"column {self._roles.weight!r} of {self.source}")
        every = rows.select(f"{weight} AS weight")
        factor = factor_exponent(
            total,
            size,
            lambda: (np.array(piece, dtype=np.float64)[:, 0] for piece in self._rows.pieces(every)),
        )
        impressions = rounded_sql(scaled_sql(weight, factor))
        self._weight = f"CASE WHEN {impressions} > 1 THEN {impressions} ELSE 1 END"

    def _rule(self, variable: Variable, scale: Scale) -> Rule:
        """Return how bins are made, and raise where something is wrong with an item."""
        items = self._judged(variable, scale)
        usable = usable_sql(RowSql("id", "value", "says", classes=self._row.classes))
        rows = items.query.select("value", f"CASE WHEN {usable} THEN 0 ELSE 1 END AS bad")
        ends = ("count(*)", "sum(bad)", "min(value)", "max(value)")
        ((size, bad, low, high),) = self._rows.fetch(rows.select(*ends))
        self._refuse_nothing(size)
        if bad or low is None or not isfinite(low) or not isfinite(high):
            self.refuse_far_scores()
        return scale_of(low, high)

    def _refuse_nothing(self, size: int) -> None:
        if not size:
            where = self._rows.where
            raise PredictionsError(
                f"where={where!r} leaves no row of {self.source}"
                if where
                else f"{self.source} is empty",
                details="it must hold for at least one"
                if where
                else "it must hold at least one row",
            )

    def _counted(
        self,
        # variable, scale: what the bins are of.
        variable: Variable,
        scale: Scale,
        rule: Rule,  # how they are made
        *,
        digest: bool = False,  # whether the ids, and who has which weight, are summed up
        # Of several classifiers: by the sum of d(id) modulo 2^64, not by the exclusive or.
        summed: bool = False,
    ) -> tuple[ScoreCells, int]:
        """Count all items by bin and label.

        And the exclusive or of `assay.predictions.arrivals.weight_words`.
        """
        items = self._judged(variable, scale)
        told = ["count(*) AS items", "min(value) AS low", "max(value) AS high"]
        weighted = bool(self._weight)
        if weighted:
            told.append("sum(weight) AS total")
        if digest:
            items = self._with_digest(items)
            word = halves_of("word")
            told += (
                [f"sum({word.upper}) AS uppers", f"sum({word.lower}) AS lowers"]
                if summed
                else ["xor_all(word) AS words"]
            )
        if digest and weighted:
            told.append("xor_all(weight_word) AS weight_words")
        bins = items.query.select(f"{bin_sql('value', rule)} AS bin", *items.keep)
        found = self._rows.fetch(bins.select("bin", "says", *told, tail="GROUP BY bin, says"))
        columns = [np.array(column) for column in zip(*found, strict=True)]
        kinds = 2 if self._row.classes is None else self._row.classes
        bin, said, count = (column.astype(np.int64) for column in columns[:3])
        order = np.argsort(kinds * bin + said)
        low, high = (column.astype(np.float64)[order] + 0.0 for column in columns[3:5])
        rest = [_words(column) for column in columns[5:]]
        weight = rest.pop(0).view(np.int64)[order] if weighted else None
        words = np.zeros(order.size, dtype=np.uint64)
        if digest:
            words = rest.pop(0)[order]
        if summed:
            words = (words << np.uint64(SHIFT)) + rest.pop(0)[order]
        weight_word = int(np.bitwise_xor.reduce(rest[0])) if digest and weighted else 0
        said = said[order]
        return ScoreCells(
            rule=rule,
            bin=bin[order],
            said=said == 1 if self._row.classes is None else said,
            count=count[order],
            low=low,
            high=high,
            digest=words,
            classes=kinds,
            weight=weight,
        ), weight_word

    def _with_digest(self, items: Words) -> Words:
        """Return items with a word for each, and one for each and its weight."""
        digest = items.digest("id", self.id_kind)
        if not self._weight:
            return items.with_column(f"{digest.word} AS word")
        (own, weight) = items.named(digest, halves_of("weight"))
        (weight, own) = items.mixed([weight], [own])
        (both, own) = items.named(own.xor(weight), own)
        (both, own) = items.mixed([both], [own])
        return items.with_column(f"{both.word} AS weight_word", f"{own.word} AS word")

    def _taken(self, *queries: Query) -> Rows:
        """Return the rows of some queries, with what people see of them."""
        found = [row for query in queries for row in self._rows.fetch(query)]
        columns: list[Any] = (
            list(zip(*found, strict=True)) if found else [()] * (5 + len(self._show))
        )
        ids, values, says, *rest = columns
        weights = given = None
        if self._weight:
            weights = np.array(rest.pop(0), dtype=np.int64)
            given = np.array(rest.pop(0), dtype=np.float64)
        said = np.array(says, dtype=np.int64)
        shown = [
            {name: jsonable(value) for name, value in zip(self._show, row, strict=True)}
            for row in zip(*rest[: len(self._show)], strict=True)
        ]
        return Rows(
            self._ids.of(ids),
            np.array(values, dtype=np.float64) + 0.0,  # -0.0 becomes 0.0, as in memory
            said == 1 if self._row.classes is None else said,
            shown if self._show else [{} for _ in ids],
            weights,
            given,
        )


def _place_sql(limit: float) -> str:
    return str(place_of(int(limit)))


def _words(column: "np.ndarray[Any, Any]") -> Words64:
    """Return whole numbers of 64 bits, with a sign or without, as the database has them."""
    return np.array([int(each) % 2**64 for each in column.tolist()], dtype=np.uint64)
