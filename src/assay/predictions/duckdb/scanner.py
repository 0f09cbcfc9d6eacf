"""Predictions that DuckDB reads where they lie: out of core, in one pass."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from math import isfinite
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, Scale, scale_of
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.error_model import Model
from assay.core.profile import ScoreCells, evenest
from assay.core.types import Floats, Ints, Words
from assay.core.weights import factor_exponent
from assay.errors import PredictionsError
from assay.predictions.class_values import rows_of_lists
from assay.predictions.doubts import Doubt
from assay.predictions.duckdb.cell_keys import CellKeys
from assay.predictions.duckdb.loading import fetch_shown
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import DuckIds, Relation
from assay.predictions.duckdb.values import rows_with_classes
from assay.predictions.engine import Listed, Rows, Span, Survey, polled
from assay.predictions.ids import Ids
from assay.predictions.memory import TOP
from assay.predictions.roles import Roles
from assay.predictions.sql.classes import LIST
from assay.predictions.sql.deck import duckdb_digest, duckdb_keyed, duckdb_mix
from assay.predictions.sql.opinions import duckdb_row_word, model_sql, plain_sql
from assay.predictions.sql.rows import (
    case_sql,
    double_sql,
    family_of,
    heap_sql,
    impressions_sql,
    value_sql,
)
from assay.predictions.sql.scanner import SqlScanner
from assay.predictions.values import refuse_bad_total

_WEIGHT = "assay_weight"  # the column with the impressions of a row

# How many ids the first pass brings along: enough for 2,000 cards of every stratum that holds a
# hundredth of all items, and 4 MB at most.
_LISTED = 220_000

_BATCH = 100_000  # rows that go to another engine at once

_MEMORY = "200MB"  # enough for two threads that read row groups of a million rows


def first_limit(size: int) -> int:
    """Return the number in the deck up to which the first pass over so many rows lists ids."""
    return min(TOP, int(_LISTED / size * 2**64))


class DuckScanner(SqlScanner):
    """A `Scanner` over a relation of DuckDB."""

    def __init__(
        self,
        relation: Relation,  # the rows
        roles: Roles,  # which column is what
        show: Sequence[str],  # the columns that people see
        ids: DuckIds | None = None,  # the ids, where they were looked at before
    ) -> None:
        names = {name: identifier(name) for name in relation.types}
        super().__init__(
            relation.label, roles, show, names, relation.types, is_text=relation.is_text
        )
        self._relation = relation
        self._sql = relation.sql if roles.classes is None else rows_with_classes(relation, roles)
        relation.connection.execute(
            # 2^17 counters of an array at most, where a hash table would take twice the time.
            "SET perfect_ht_threshold = 17; "
            "SET enable_progress_bar = true; SET enable_progress_bar_print = false"
        )
        self._all_rows = self._sql
        self._ids = DuckIds(relation, str(roles.id), self._row.id) if ids is None else ids
        if roles.model is not None:
            self._row = replace(self._row, score=self._log_odds(roles.model))
        self._inspected = DuckInspected(relation, self._row.id, self._sql)

    def survey(self, seed: int) -> Survey:
        """Count all items by score, and list the first cards, in one pass."""
        with reading(self.source):
            self._weigh()
            size, rule = self.size_and_rule()
            count = cache(lambda rule: self._surveyed(rule, seed, size))
            found = evenest(count, rule, lambda survey: survey.cells)
            found = replace(found, doubts=self.checked(found.cells))
            if not self._row.weight:
                return found
            weighed = evenest(count, rule, lambda survey: survey.cells.by_weight)
            return replace(found, weighed=weighed.cells)

    def _weigh(self) -> None:
        """Find the impressions of an item, and leave out items of weight 0."""
        if self._row.weight:
            self._sql = self._all_rows
            self.tell_what_is_wrong()
            self._sql = self._weighed(self._impressions())

    def _impressions(self) -> str:
        """Return the impressions of a row whose weight is above 0, as SQL.

        Weights were looked at before: that of every row is a number, and at least 0.
        """
        weight = self._row.weight
        every = self._relation.connection.sql(f"FROM {self._all_rows}")
        rows = every.project(f"{weight} AS weight")
        ((size, total),) = self._fetch(rows.aggregate("count(*), sum(weight)"))
        self._refuse_nothing(size)
        refuse_bad_total(total, f"column {self._roles.weight!r} of {self.source}")
        exponent = factor_exponent(total, size, lambda: pieces_of(rows))
        return impressions_sql(weight, exponent, "duckdb")

    def _weighed(self, impressions: str) -> str:
        """Return what stands after FROM for rows that count, with their impressions."""
        told = f"{impressions} AS {_WEIGHT}"
        return f"(FROM {self._all_rows} SELECT *, {told} WHERE {self._row.weight} > 0e0)"

    def judged(self) -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """Count all items by score, without a look at their ids."""
        with reading(self.source):
            _, rule = self.size_and_rule()
            cells = evenest(
                lambda rule: self._cells_of(self._row.score, rule), rule, lambda cells: cells
            )
            return cells, self.checked(cells)

    def _surveyed(self, rule: Rule, seed: int, size: int) -> Survey:
        """Count all rows by a bin rule, and list the first cards."""
        limit = first_limit(size)
        weighted = bool(self._row.weight)
        weight_word = f"xor(word, {duckdb_mix('weight::UBIGINT')})"
        # Who comes first depends on the weight, too, and is asked for when strata are known.
        last = (
            f"bit_xor({duckdb_mix(weight_word)}) AS weights_word"
            if weighted
            else f"list(id) FILTER ({duckdb_keyed('word', seed)} <= {limit}) AS ids"
        )
        counted = self._counted(
            self._row.score,
            rule,
            columns=[
                f"{self._ids.sql} AS id",
                f"{self._digest} AS word",
            ],
            aggregates=["count(id) AS with_id", "bit_xor(word) AS seen", last],
        )
        order = self._in_order(rule, counted)
        cells = self._cells(rule, counted, order, np.asarray(counted["seen"])[order])
        if int(np.asarray(counted["with_id"]).sum()) < cells.size:
            self.tell_what_is_wrong()
        if weighted:
            each = np.asarray(counted["weights_word"])
            return Survey(cells, weights_word=int(np.bitwise_xor.reduce(each)))
        lists: Any = counted["ids"].combine_chunks().take(pa.array(order, pa.int64()))
        lengths = np.asarray(lists.value_lengths().fill_null(0))
        cell_of_each = np.repeat(np.arange(order.size), lengths)
        listed = Listed(seed, limit, self._ids.of(lists.flatten()), cell_of_each)
        return Survey(cells, listed)

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        value = self._value(variable, scale)
        with reading(self.source):
            rule = scale_of(*self._fetch(self._rows.aggregate(f"min({value}), max({value})"))[0])
            return evenest(
                lambda rule: self._cells_of(value, rule), rule, lambda cells: cells.by_weight
            )

    def _cells_of(self, value: str, rule: Rule) -> ScoreCells:
        counted = self._counted(value, rule)
        order = self._in_order(rule, counted)
        return self._cells(rule, counted, order, np.zeros(order.size, dtype=np.uint64))

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the items in each span, and what they count for."""
        inside = case_sql(spans, [str(number) for number in range(len(spans))])
        counts = np.zeros((2, len(spans)), dtype=np.int64)
        weight = "weight" if self._row.weight else "1"
        with reading(self.source):
            rows = self._heaped(spans, self._judged(variable, scale))
            rows = rows.project(f"{inside} AS span, {weight} AS weight")
            found = self._fetch(rows.aggregate("span, count(*), sum(weight)", "span"))
        for span, *both in found:
            if span is not None:
                counts[:, span] = both
        return counts

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Return the rows of all spans."""
        literal = double_sql if self._row.weight else _word_sql
        limit = case_sql(spans, [literal(span.limit) for span in spans])
        highest = literal(max(span.limit for span in spans))
        number = duckdb_keyed(self._digest, seed)
        times = "weight * " if self._row.weight else ""
        # Most rows are above every limit: they are passed over before it is asked in which span.
        low_enough = f"number <= {times}{highest} AND number <= {times}{limit}"
        with reading(self.source):
            rows = self._judged(variable, scale, f"{number} AS number")
            return self._taken(self._heaped(spans, rows).filter(low_enough))

    def _heaped(
        self, spans: Sequence[Span], rows: duckdb.DuckDBPyRelation
    ) -> duckdb.DuckDBPyRelation:
        """Return rows with the heap of what each says, where spans are of heaps."""
        if self._row.classes is None:
            return rows
        return rows.project(f"*, {heap_sql(spans, self._row.classes, 'duckdb')} AS heap")

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Return the rows with these ids."""
        with reading(self.source):
            return self._taken(self._only(ids, self._judged(variable, scale)))

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of the items with these ids, in their order."""
        if not self._show:
            return [{} for _ in ids]
        return fetch_shown(self._relation, self._roles.id, ids, self._show)

    def probabilities(self, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Return the rows with these ids, and the probabilities of all classes."""
        with reading(self.source):
            rows = self._rows.project(f"{self._ids.sql} AS id, {LIST} AS list")
            found, lists = self._arrow(self._only(ids, rows)).columns
        return self._ids.of(found), rows_of_lists(lists, self._roles.n_classes)

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""
        types = self._relation.types
        aux = [(identifier(name), family_of(types[name])) for name in self._roles.aux]
        word = duckdb_row_word(self._digest, aux)
        with reading(self.source):
            ((found,),) = self._fetch(self._rows.aggregate(f"bit_xor({word})"))
        return int(found or 0)

    def summed_probabilities(self) -> Floats | None:
        """Return those of every class, summed by the class that items are called, (K, K)."""
        if not self._roles.of_class:
            return None
        each = f"unnest({LIST}) AS p, generate_subscripts({LIST}, 1) - 1 AS number"
        with reading(self.source):
            rows = self._rows.project(f"{self._row.says} AS says, {each}")
            found = self._fetch(
                rows.aggregate("says, number, sum(greatest(p, 0e0))", "says, number")
            )
        sums = np.zeros((self._roles.n_classes, self._roles.n_classes))
        for says, number, total in found:
            sums[says, number] = total
        return sums

    @property
    def _rows(self) -> duckdb.DuckDBPyRelation:
        return self._relation.connection.sql(f"FROM {self._sql}")

    def size_and_rule(self) -> tuple[int, Rule]:
        """Return the number of rows and the bin rule; of Parquet files without reading the rows."""
        score = self._row.score
        rows = self._rows
        as_it_is = (
            not self._roles.turns and self._roles.scale != "percent" and self._roles.model is None
        ) and not self._row.weight
        if self._roles.score is not None and as_it_is and not self._relation.is_text:
            score = identifier(self._roles.score)  # without a cast the files' own statistics answer
            rows = self._relation.connection.sql(f"FROM {self._relation.sql}")
        ends = f"count(*), min({score})::DOUBLE, max({score})::DOUBLE"
        ((size, low, high),) = self._fetch(rows.aggregate(ends))
        self._refuse_nothing(size)
        if low is None or not isfinite(low) or not isfinite(high):
            self.tell_what_is_wrong()
        return size, scale_of(low, high)

    def _refuse_nothing(self, size: int) -> None:
        if not size:
            raise PredictionsError(f"there are no predictions in {self.source}")

    def _counted(
        self, value: str, rule: Rule, columns: Sequence[str] = (), aggregates: Sequence[str] = ()
    ) -> "pa.Table":
        """Count all rows by bin and label."""
        basic = ["key", "count(*) AS count", "min(value) AS low", "max(value) AS high"]
        told = [f"{self.keys.sql(value, rule)} AS key", f"{value} AS value", *columns]
        if self._row.weight:
            told.append(f"{_WEIGHT} AS weight")
            basic.append("sum(weight)::BIGINT AS weight")
        rows = self._rows.project(", ".join(told))
        counted = rows.aggregate(", ".join([*basic, *aggregates]), "key")
        try:
            return self._in_little_memory(counted)
        except duckdb.Error:
            self.tell_what_is_wrong()
            raise

    def keys_of(self, cells: ScoreCells) -> "pa.Array[Any]":
        """Return the key of each cell, of the type that DuckDB gives it."""
        return self.keys.of(cells)

    @property
    def keys(self) -> CellKeys:
        """The numbers of cells."""
        return CellKeys(self._row)

    def keyed(self, cells: ScoreCells, below: str = "") -> "pa.RecordBatchReader":
        """Return the id and the key of every row, as they are read.

        And its weight if any; where there are columns for a model, these, and the score.
        """
        told = [f"{self._ids.sql} AS id", f"{self.keys.sql(self._row.score, cells.rule)} AS key"]
        if self._row.weight:
            told.append(f"{self._row.weight} AS weight")
        for place, name in enumerate(self._roles.aux):
            said = plain_sql(identifier(name), self._relation.types[name], "duckdb")
            told.append(f"{said} AS aux_{place}")
        if self._roles.aux:
            told.append(f"{self._row.score} + 0e0 AS score")  # -0.0 becomes 0.0
        # A cursor, so that what is asked meanwhile of the same rows does not end this.
        cursor = self._relation.connection.cursor()
        rows = cursor.sql(f"FROM {self._sql} SELECT {', '.join(told)}")
        rows = rows.filter(below) if below else rows
        reader: pa.RecordBatchReader = rows.to_arrow_reader(_BATCH)
        return reader

    def _in_little_memory(self, rows: duckdb.DuckDBPyRelation) -> "pa.Table":
        """Run what needs little; without a limit DuckDB would take more to read ahead."""
        connection = self._relation.connection
        if self._row.classes is not None:
            return self._arrow(rows)  # there may be a million groups
        try:
            connection.execute(f"SET memory_limit = '{_MEMORY}'")
            return self._arrow(rows)
        except duckdb.OutOfMemoryException:
            connection.execute("RESET memory_limit")  # row groups may be large
            return self._arrow(rows)
        finally:
            connection.execute("RESET memory_limit")

    def _in_order(self, rule: Rule, counted: "pa.Table") -> Ints:
        """Return where the cells are, in the order of `ScoreCells`; raise if any is bad."""
        ends = [np.asarray(counted[end]) for end in ("low", "high")]
        if counted["key"].null_count or not np.isfinite(ends).all():
            self.tell_what_is_wrong()
        bins, said = self.keys.unpacked(rule, counted["key"])
        return np.argsort(self._n_codes * bins + said)

    @property
    def _n_codes(self) -> int:
        return self.keys.n_codes

    def _cells(self, rule: Rule, counted: "pa.Table", order: Ints, words: Words) -> ScoreCells:
        bins, said = self.keys.unpacked(rule, counted["key"])
        low, high = (np.asarray(counted[end]).astype(np.float64)[order] for end in ("low", "high"))
        count = np.asarray(counted["count"])[order]
        weight = np.asarray(counted["weight"])[order] if self._row.weight else None
        kinds = self._n_codes
        return ScoreCells(rule, bins[order], said[order], count, low, high, words, kinds, weight)

    def _log_odds(self, model: Model) -> str:
        """Return what takes the score's place: the log odds by the model of the row's fold."""
        first, second = model_sql(
            model,
            self._names,
            self._relation.types,
            says=self._row.says,
            dialect="duckdb",
        )
        number = duckdb_keyed(self._digest, model.seed)
        return f"CASE WHEN {number} < {2**63}::UBIGINT THEN {first} ELSE {second} END"

    @property
    def _digest(self) -> str:
        return duckdb_digest(self._ids.sql, self._ids.kind)

    def _value(self, variable: Variable, scale: Scale) -> str:
        return value_sql(self._row, variable, scale, self._roles.limit)

    def _judged(self, variable: Variable, scale: Scale, *more: str) -> duckdb.DuckDBPyRelation:
        """Return every row's id, value and what it says."""
        value = f"{self._value(variable, scale)} AS value"
        columns = [f"{self._ids.sql} AS id", value, f"{self._row.says} AS says", *more]
        if self._row.weight:
            columns += [f"{_WEIGHT} AS weight", f"{self._row.weight} AS given"]
        return self._rows.project(", ".join(columns))

    def _only(self, ids: Sequence[Id], rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
        wanted = self._relation.connection.from_arrow(pa.table({"id": self._ids.column(ids)}))
        return rows.join(wanted, "id", how="semi")

    def _taken(self, rows: duckdb.DuckDBPyRelation) -> Rows:
        names = ["id", "value", "says", *(["weight", "given"] if self._row.weight else [])]
        ids, values, says, *weights = self._arrow(rows.project(", ".join(names))).columns
        said = np.asarray(says).astype(np.int64)
        return Rows(
            self._ids.of(ids),
            np.asarray(values).astype(np.float64),
            said == 1 if self._row.classes is None else said,
            weights=np.asarray(weights[0]) if weights else None,
            given=np.asarray(weights[1]) if weights else None,
        )

    def _arrow(self, rows: duckdb.DuckDBPyRelation) -> "pa.Table":
        with self._polled():
            table: pa.Table = rows.to_arrow_table()
        return table

    def _fetch(self, rows: duckdb.DuckDBPyRelation) -> list[Any]:
        with self._polled():
            found: list[Any] = rows.fetchall()
        return found

    def _polled(self) -> AbstractContextManager[None]:
        return polled(lambda: self._relation.connection.query_progress() / 100.0)


def pieces_of(rows: duckdb.DuckDBPyRelation) -> Iterator[Floats]:
    """Return the only column of rows, piece by piece."""
    for batch in rows.to_arrow_reader():
        yield np.asarray(batch.column(0))


def _word_sql(limit: float) -> str:
    return f"{int(limit)}::UBIGINT"


# Rows that DuckDB reads, looked at again to tell what is wrong with them.


class DuckInspected:
    """`Inspected` rows of a relation.

    `relation`: the rows; `id`: the id as SQL; it orders the examples; `sql`: stands after FROM: the
    relation's rows, with more columns.
    """

    def __init__(self, relation: Relation, id: str, sql: str) -> None:
        self._relation, self._id, self._sql = relation, id, sql

    @property
    def source(self) -> str:
        """Where the rows come from, for people."""
        return self._relation.label

    @property
    def types(self) -> Mapping[str, str]:
        """Of each column its type."""
        return self._relation.types

    def count(self, conditions: Sequence[str]) -> Sequence[int]:
        """Return for each condition the number of rows that fulfil it."""
        counts = ", ".join(f"count(*) FILTER ({condition})" for condition in conditions)
        counted: Sequence[int] = self._fetch(self._rows.aggregate(counts))[0]
        return counted

    def first(self, columns: Sequence[str], condition: str) -> list[Sequence[object]]:
        """Return columns of up to three rows that fulfil it: those with the smallest ids."""
        found = self._rows.filter(condition).order(self._id).limit(3)
        return self._fetch(found.project(", ".join(map(identifier, columns))))

    def distinct(self, column: str, condition: str, limit: int) -> list[object]:
        """Return the smallest values of the column among the rows that fulfil it."""
        values = self._rows.filter(condition).project(f"{identifier(column)} AS value").distinct()
        return [value for (value,) in self._fetch(values.order("value").limit(limit))]

    @property
    def _rows(self) -> duckdb.DuckDBPyRelation:
        return self._relation.connection.sql(f"FROM {self._sql}")

    def _fetch(self, rows: duckdb.DuckDBPyRelation) -> list[Any]:
        """Fetch rows without a look at the files' statistics.

        Those of Parquet files leave NaN out, and DuckDB would conclude that there is none:
        https://github.com/duckdb/duckdb/issues/25521.
        """
        connection = self._relation.connection
        connection.execute("SET disabled_optimizers = 'statistics_propagation,filter_pushdown'")
        try:
            found: list[Any] = rows.fetchall()
        finally:
            connection.execute("RESET disabled_optimizers")
        return found
