"""Reader of predictions that DuckDB reads in place, out of core."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, scale_of
from assay.core.deck import Id
from assay.core.error_model import Model
from assay.core.profile import ScoreCells
from assay.core.types import Floats
from assay.core.weights import factor_exponent
from assay.errors import PredictionsError
from assay.predictions.batches import AT_ONCE
from assay.predictions.class_values import rows_of_lists
from assay.predictions.column import Ids
from assay.predictions.doubts import Doubt
from assay.predictions.duckdb.loading import fetch_shown, with_classes
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.relations import DuckIds, Relation
from assay.predictions.engine import Span, polled
from assay.predictions.faults import refuse_missing_columns
from assay.predictions.layout import Layout
from assay.predictions.opinions import opinions_digest
from assay.predictions.passes import DIGEST, Judge
from assay.predictions.query import double_sql, identifier
from assay.predictions.roles import Roles, about
from assay.predictions.sql.checks import SqlJudge
from assay.predictions.sql.deck import duckdb_digest, duckdb_keyed
from assay.predictions.sql.judge import find_slices, weight_sql
from assay.predictions.sql.opinions import (
    inputs_sql,
    model_sql,
    opined_sql,
    opined_words,
    plain_families,
    plain_sql,
)
from assay.predictions.sql.rows import RowSql, Written, family_of, impressions_sql
from assay.predictions.values import refuse_bad_total

_MEMORY = "200MB"  # enough for two threads that read row groups of a million rows

_WANTED = "assay_wanted"

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Telling:
    """Expressions of a row, by the name of the column, and how classifiers are read from them."""

    columns: Mapping[str, str]
    judges: Sequence[Judge]


class DuckInspected:
    """Rows of a relation that can be queried for invalid values.

    `relation`: the rows; `id`: the id as SQL; it orders the examples.
    """

    def __init__(self, relation: Relation, id: str) -> None:
        self._relation, self._id = relation, id
        self.source, self.types = relation.label, relation.types
        names = {name: identifier(name) for name in relation.types}
        self.written = Written(relation.label, names, relation.types, "duckdb", relation.is_text)
        self.sql = relation.sql  # table expression, with the columns of classes

    def count(self, conditions: Sequence[str]) -> Sequence[int]:
        """Count the rows that fulfil each condition."""
        counts = ", ".join(f"count(*) FILTER ({condition})" for condition in conditions)
        counted: Sequence[int] = self._fetch(self._rows.aggregate(counts))[0]
        return counted

    def first(self, columns: Sequence[str], condition: str) -> list[Sequence[object]]:
        """Columns of up to three rows that fulfil a condition: those with the smallest ids."""
        rows = self._rows.filter(condition).order(self._id).limit(3)
        return self._fetch(rows.project(", ".join(map(identifier, columns))))

    def distinct(self, column: str, condition: str, limit: int) -> list[object]:
        """Smallest values of the column among the rows that fulfil a condition."""
        values = self._rows.filter(condition).project(f"{identifier(column)} AS value").distinct()
        return [value for (value,) in self._fetch(values.order("value").limit(limit))]

    def counted_values(self, expressions: Mapping[str, str]) -> "pa.Table":
        """Distinct values of expressions, with the number of rows of each."""
        names = ", ".join(expressions)
        each = ", ".join(f"{sql} AS {name}" for name, sql in expressions.items())
        with reading(self.source):
            rows = self._rows.project(each).aggregate(f"{names}, count(*) AS number", names)
            counts: pa.Table = rows.to_arrow_table()
        return counts

    @property
    def _rows(self) -> duckdb.DuckDBPyRelation:
        return self._relation.connection.sql(f"FROM {self.sql}")

    def _fetch(self, rows: duckdb.DuckDBPyRelation) -> list[Any]:
        """Fetch rows without using the files' statistics.

        Statistics of Parquet files omit NaN, and DuckDB would conclude that there is none:
        https://github.com/duckdb/duckdb/issues/25521.
        """
        connection = self._relation.connection
        connection.execute("SET disabled_optimizers = 'statistics_propagation,filter_pushdown'")
        try:
            result: list[Any] = rows.fetchall()
        finally:
            connection.execute("RESET disabled_optimizers")
        return result


class DuckReader:
    """Rows of a relation of DuckDB as batches of expressions, read any number of times.

    The reader raises the errors of rows: it knows where they come from.
    """

    def __init__(self, relation: Relation, layout: Layout) -> None:
        self._relation, self._layout, self.source = relation, layout, relation.label
        self._connection, self.folder = relation.connection, relation.folder
        refuse_missing_columns(layout.show, list(relation.types), relation.label)
        id = identifier(str(layout.id))
        self._rows = rows = DuckInspected(relation, id)
        opened = partial(self._judge, rows)
        if layout.is_coded:
            self._judges = layout.alone(opened)
        else:
            self._judges = {name: opened(layout.first, 0) for name in layout.judges}
        self.weight = weight_sql(rows.written, layout.weight)
        self._connection.execute(
            "SET enable_progress_bar = true; SET enable_progress_bar_print = false"
        )
        self.ids = DuckIds(relation, str(layout.id), id)
        self.id = self.ids.sql
        self._word = duckdb_digest(self.id, self.ids.kind)
        self.digest = f"CASE WHEN {self.id} IS NOT NULL THEN {self._word} END"
        self.slices, self.bits = find_slices(rows, layout.groups)
        if layout.model is not None and not layout.is_coded:
            self._place_by(layout.model)
        each = list(self._judges.values())
        self.scores = {
            name: f"({each[place].row.score})::DOUBLE" for name, place in layout.scores.items()
        }
        types = {name: relation.types[name] for name in layout.aux}
        self.opinion_families = plain_families(types)

    def _judge(self, rows: DuckInspected, roles: Roles, place: int) -> SqlJudge:
        judge = SqlJudge(rows, roles, place)
        if roles.classes is not None:
            rows.sql = with_classes(self._relation, rows.sql, roles, place)
        return judge

    def _place_by(self, model: Model) -> None:
        """Put the log odds by the model of the row's fold in place of the score."""
        (judge,) = self._judges.values()
        written, number = self._rows.written, duckdb_keyed(self._word, model.seed)
        names, types, says = written.names, written.types, judge.row.says
        first, second = model_sql(model, names, types, says=says, dialect="duckdb")
        odds = f"CASE WHEN {number} < {2**63}::UBIGINT THEN {first} ELSE {second} END"
        judge.row = replace(judge.row, score=odds)

    # Rows.

    def batches(
        self, columns: Mapping[str, str], where: str = "", *, every: bool = False
    ) -> "Generator[pa.RecordBatch]":
        """Expressions of the rows that fulfil a condition, in at least one batch."""
        conditions = [where] if every else [where, self._there]
        with self._polled():
            try:
                yield from self._streamed(self._connection, columns, *conditions)
            except duckdb.Error as error:
                if not isinstance(error, duckdb.OutOfMemoryException):
                    self.tell_what_is_wrong()
                raise

    def keyed(self, columns: Mapping[str, str], below: str) -> "Generator[pa.RecordBatch]":
        """Id, weight, columns for a model and other expressions, apart from other readings."""
        expressions = {"id": self.id, **columns}
        if self.weight:
            expressions["weight"] = self.weight
        names, types = self._rows.written.names, self._relation.types
        for place, name in enumerate(self._layout.aux):
            expressions[f"aux_{place}"] = plain_sql(names[name], types[name], "duckdb")
        if self._layout.aux:
            (judge,) = self._judges.values()
            expressions["score"] = f"{judge.row.score} + 0e0"  # -0.0 becomes 0.0
        # A cursor, so that other queries on the same rows do not end this one.
        with self._connection.cursor() as cursor:
            yield from self._streamed(cursor, expressions, self._there, below=below)

    def _streamed(
        self,
        connection: duckdb.DuckDBPyConnection,
        columns: Mapping[str, str],
        *where: str,  # conditions on the rows
        below: str = "",  # a condition on the expressions
    ) -> "Generator[pa.RecordBatch]":
        selected = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
        condition = " AND ".join(f"({each})" for each in where if each)
        rows = connection.sql(
            f"FROM {self._rows.sql} SELECT {selected}"
            + (f" WHERE {condition}" if condition else "")
        )
        yield from batches_of(rows.filter(below) if below else rows)

    @property
    def _there(self) -> str:
        """Condition that a row counts."""
        return f"{self.weight} > 0e0" if self.weight else ""

    @property
    def _counting(self) -> duckdb.DuckDBPyRelation:
        """All rows that count; of several classifiers, ranks are among all rows."""
        where = "" if self._layout.is_coded else self._there
        condition = f" WHERE {where}" if where else ""
        return self._connection.sql(f"FROM {self._rows.sql}{condition}")

    def sparing(self, ask: Callable[[], Answer]) -> Answer:
        """Ask with a memory limit; without one DuckDB would take more to read ahead."""
        if self._layout.first.classes is not None:  # rows may have hundreds of probabilities
            return ask()
        try:
            self._connection.execute(f"SET memory_limit = '{_MEMORY}'")
            return ask()
        except duckdb.OutOfMemoryException:
            self._connection.execute("RESET memory_limit")  # row groups may be large
            return ask()
        finally:
            self._connection.execute("RESET memory_limit")

    def _fetch(self, rows: duckdb.DuckDBPyRelation) -> list[Any]:
        with self._polled():
            result: list[Any] = rows.fetchall()
        return result

    def _polled(self) -> AbstractContextManager[None]:
        return polled(lambda: self._connection.query_progress() / 100.0)

    # Expressions and conditions.

    def telling(self, rules: Sequence[Rule]) -> Telling:
        """Scores and labels of each classifier; shared ones are read once."""
        names: dict[str, str] = {}
        judges = []
        for own, rule in zip(self._judges.values(), rules, strict=True):
            role, row = own.roles, own.row
            score = names.setdefault(row.score, f"c{len(names)}") if role.has_score else None
            says = None
            if role.predicted is not None or role.classes is not None or role.model is not None:
                expression = row.says if row.is_sure else f"nullif({row.says}, {row.unclear})"
                kind = "TINYINT" if row.classes is None else "INTEGER"
                says = names.setdefault(f"CAST({expression} AS {kind})", f"c{len(names)}")
            limit = role.limit or 0.0
            judges.append(Judge(rule, score, says, limit, role.n_classes))
        return Telling({name: sql for sql, name in names.items()}, judges)

    def first_ids(self, seed: int, limit: int) -> str:
        """Ids of the first cards; missing for other rows."""
        number = duckdb_keyed(self._word, seed)
        return f"CASE WHEN {number} <= {limit}::UBIGINT THEN {self.id} END"

    def below(self, spans: Sequence[Span], seed: int, exponent: int) -> str:
        """Condition that a row's number in the deck is not above all limits."""
        return below_sql(self._word, spans, seed, self.weight, exponent)

    def among(self, ids: Sequence[Id]) -> str:
        """Condition that a row has one of some ids."""
        self._connection.execute(f"DROP TABLE IF EXISTS {_WANTED}")
        self._connection.from_arrow(pa.table({"id": self.ids.column(ids)})).create(_WANTED)
        return f"{self.id} IN (FROM {_WANTED})"

    def inputs(self, model: Model) -> dict[str, str]:
        """Collect the inputs of a model that are columns or scores."""
        names = self._rows.written.names
        columns = {name: names[name] for name in self._layout.aux}
        columns |= self.scores
        types = {**self._relation.types, **dict.fromkeys(self.scores, "DOUBLE")}
        return inputs_sql(model, columns, types)

    # Questions about all rows.

    def size_and_rules(self) -> tuple[int, list[Rule]]:
        """Find the number of rows, and the bin rule of each classifier."""
        size, rules = 0, []
        for name, judge in self._judges.items():
            with about(name):
                size, rule = self._size_and_rule(judge)
            rules.append(rule)
        return size, rules

    def _size_and_rule(self, judge: SqlJudge) -> tuple[int, Rule]:
        """Find the number of rows and the bin rule; of Parquet files without reading rows."""
        score, roles, rows = judge.row.score, judge.roles, self._counting
        is_plain = not (roles.turns or roles.scale == "percent" or roles.model or roles.weight)
        if roles.score is not None and is_plain and not self._relation.is_text:
            score = identifier(roles.score)  # without a cast the files' own statistics answer
            rows = self._connection.sql(f"FROM {self._relation.sql}")
        ends = f"count(*), min({score})::DOUBLE, max({score})::DOUBLE"
        ((size, low, high),) = self._fetch(rows.aggregate(ends))
        self._refuse_nothing(size)
        if low is None or not isfinite(low) or not isfinite(high):
            judge.tell_what_is_wrong()
        return size, scale_of(low, high)

    def _refuse_nothing(self, size: int) -> None:
        if not size:
            raise PredictionsError(f"there are no predictions in {self.source}")

    def weigh(self) -> int:
        """Check the weights, and return the exponent of the factor to impressions."""
        weight = self._layout.weight
        if self._layout.is_coded:  # the judges are checked as they are counted
            judge = SqlJudge(self._rows, self._layout.first, 0)
            judge.row = RowSql(judge.row.id, "0e0", "0", True, weight=self.weight)
            judge.tell_what_is_wrong()
        else:
            self.tell_what_is_wrong()
        rows = self._connection.sql(f"FROM {self._rows.sql}").project(f"{self.weight} AS weight")
        ((size, total),) = self._fetch(rows.aggregate("count(*), sum(weight)"))
        self._refuse_nothing(size)
        refuse_bad_total(total, f"column {weight!r} of {self.source}")
        return factor_exponent(total, size, lambda: pieces_of(rows))

    def checked(self, place: int, cells: ScoreCells) -> tuple[Doubt, ...]:
        """Doubts about the counts of a classifier; raise if they show that something is wrong."""
        return list(self._judges.values())[place].checked(cells)

    def tell_what_is_wrong(self) -> None:
        """Read the rows again, to check their ids, then the columns of each classifier."""
        first, *_ = self._judges.values()
        if self._rows.count([f"{first.row.id} IS NULL"])[0]:
            first.tell_what_is_wrong()  # it begins with the ids
        for name, judge in self._judges.items():
            with about(name):
                judge.tell_what_is_wrong()

    # Some rows.

    def shown(self, ids: Sequence[Id], columns: Sequence[str]) -> list[dict[str, object]]:
        """Values of columns of the items with these ids, in their order, as JSON has them."""
        if not columns:
            return [{} for _ in ids]
        return fetch_shown(self._relation, self._layout.id, ids, columns)

    def probabilities(self, place: int, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Rows with these ids, and a classifier's probabilities of all classes, shape (n, K)."""
        judge = list(self._judges.values())[place]
        with reading(self.source):
            batches = self.batches({"id": self.id, "list": judge.list}, self.among(ids))
            ids_there, lists = pa.Table.from_batches(list(batches)).columns
        return Ids.of(ids_there, self.ids.kind), rows_of_lists(lists, judge.roles.n_classes)

    def summed_probabilities(self) -> Floats:
        """Sum the probabilities of each class by predicted class, shape (K, K)."""
        judge = next(iter(self._judges.values()))
        each = f"unnest({judge.list}) AS p, generate_subscripts({judge.list}, 1) - 1 AS number"
        with reading(self.source):
            rows = self._counting.project(f"{judge.row.says} AS says, {each}")
            summed = rows.aggregate("says, number, sum(greatest(p, 0e0))", "says, number")
            sums_by_class = self._fetch(summed)
        sums = np.zeros((judge.roles.n_classes, judge.roles.n_classes))
        for says, number, total in sums_by_class:
            sums[says, number] = total
        return sums

    # Columns for a model.

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        names, types = self._rows.written.names, self._relation.types
        columns = [(names[name], family_of(types[name])) for name in self._layout.aux]
        if self._layout.is_coded:
            columns += [(score, "float") for score in self.scores.values()]
        expressions = {DIGEST: self._word, **opined_sql(columns)}
        with reading(self.source):
            return opinions_digest(
                opined_words(self.batches(expressions, f"{self.id} IS NOT NULL"))
            )


def batches_of(rows: duckdb.DuckDBPyRelation) -> "Generator[pa.RecordBatch]":
    """Rows in batches, at least one."""
    with closing(rows.to_arrow_reader(AT_ONCE)) as batches:
        batch = None
        for batch in batches:
            yield batch
        if batch is None:
            yield pa.RecordBatch.from_pylist([], batches.schema)


def below_sql(digest: str, spans: Sequence[Span], seed: int, weight: str, exponent: int) -> str:
    """Condition that an item's number is not above all limits, by its weight if it has one."""
    highest, number = max(span.limit for span in spans), duckdb_keyed(digest, seed)
    if not weight:
        return f"{number} <= {int(highest)}::UBIGINT"
    return f"{number} <= {impressions_sql(weight, exponent)} * {double_sql(highest)}"


def pieces_of(rows: duckdb.DuckDBPyRelation) -> Iterator[Floats]:
    """Pieces of the only column of some rows."""
    for batch in rows.to_arrow_reader():
        yield np.asarray(batch.column(0))
