"""Predictions that DuckDB reads in place, out of core, and numpy counts."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from typing import IO, Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, Scale, scale_of
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.error_model import Model
from assay.core.profile import ScoreCells, evenest
from assay.core.types import Floats, Ints
from assay.core.weights import as_impressions, factor_exponent
from assay.errors import PredictionsError
from assay.predictions.batches import (
    AT_ONCE,
    Batch,
    UnusableError,
    count_cells,
    count_spans,
    drawn,
    find_cells,
    rows_of,
)
from assay.predictions.class_values import rows_of_lists
from assay.predictions.column import Ids
from assay.predictions.contract import Doubt
from assay.predictions.draw import TOP
from assay.predictions.duckdb.loading import (
    DuckClasses,
    DuckInspected,
    fetch_shown,
    find_classes_of,
)
from assay.predictions.duckdb.passes import (
    DIGEST,
    GIVEN,
    LISTED,
    Columns,
    FirstIds,
    FirstPass,
    Judge,
    columns_of,
)
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import DuckIds, Relation
from assay.predictions.engine import Listed, Rows, Span, Survey, polled
from assay.predictions.roles import Roles
from assay.predictions.sql.deck import duckdb_digest, duckdb_keyed
from assay.predictions.sql.opinions import model_sql, opined_sql, opinions_digest, plain_sql
from assay.predictions.sql.rows import (
    Family,
    RowSql,
    double_sql,
    family_of,
    impressions_sql,
    value_sql,
)
from assay.predictions.sql.scanner import SqlScanner
from assay.predictions.values import refuse_bad_total

# Ids that the first pass lists: enough for 2,000 cards of every stratum with at least a hundredth
# of all items, and at most 4 MB.
_LISTED = 220_000

_MEMORY = "200MB"  # enough for two threads that read row groups of a million rows

_WANTED = "assay_wanted"

Answer = TypeVar("Answer")


def first_limit(size: int) -> int:
    """Return the number in the deck up to which the first pass over `size` rows lists ids."""
    return min(TOP, int(_LISTED / size * 2**64))


@dataclass(frozen=True)
class Telling:
    """Expressions to read from a row, by name, and how to read a classifier from them."""

    columns: dict[str, str]
    judges: list[Judge]

    @classmethod
    def of(
        cls,
        own: Sequence[tuple[Roles, RowSql]],  # each classifier's columns and expressions
        rules: Sequence[Rule],  # how bins are made of the scores of each
        ends: Sequence[bool],  # whether the ends of its cells are wanted
    ) -> "Telling":
        """Expressions of each classifier; shared ones are read once."""
        names: dict[str, str] = {}
        judges = []
        for (role, row), rule, wants_ends in zip(own, rules, ends, strict=True):
            score = names.setdefault(row.score, f"c{len(names)}") if role.has_score else None
            says = None
            if role.predicted is not None or role.classes is not None or role.model is not None:
                told = row.says if row.is_sure else f"nullif({row.says}, {row.unclear})"
                kind = "TINYINT" if row.classes is None else "INTEGER"
                says = names.setdefault(f"CAST({told} AS {kind})", f"c{len(names)}")
            limit = role.limit or 0.0
            judges.append(Judge(rule, score, says, limit, role.n_classes, ends=wants_ends))
        return cls({name: sql for sql, name in names.items()}, judges)


class DuckScanner(SqlScanner):
    """A `Scanner` over a relation of DuckDB."""

    streams = True

    def __init__(
        self,
        relation: Relation,  # the rows
        roles: Roles,  # roles of the columns
        show: Sequence[str],  # columns shown to reviewers
        ids: DuckIds | None = None,  # the ids, if they were read before
        place: int | None = 0,  # of the classifier among several; None for all of them
    ) -> None:
        names, types = {name: identifier(name) for name in relation.types}, relation.types
        is_text = relation.is_text
        super().__init__(
            relation.label, roles, show, names, types, is_text=is_text, place=place or 0
        )
        self._relation = relation
        self.classes = DuckClasses()
        if place is not None and roles.classes is not None:
            self.classes = find_classes_of(relation, roles, place)
        self._sql = self.classes.beside(relation.sql)
        relation.connection.execute(
            "SET enable_progress_bar = true; SET enable_progress_bar_print = false"
        )
        self._ids = DuckIds(relation, str(roles.id), self._row.id) if ids is None else ids
        if roles.model is not None:
            self._row = replace(self._row, score=self._log_odds(roles.model))
        self._inspected = DuckInspected(relation, self._row.id, self._sql)
        self._exponent = 0  # exponent of the factor from weights to impressions

    # First pass.

    def survey(self, seed: int) -> Survey:
        """Count all items by score, and list the first cards, in one pass."""
        with reading(self.source):
            if self._row.weight:
                self.tell_what_is_wrong()
                self._weigh()
            size, rule = self.size_and_rule()
            count = cache(lambda rule: self._surveyed(rule, seed, size))
            found = evenest(count, rule, lambda survey: survey.cells)
            found = replace(found, doubts=self.checked(found.cells))
            if not self._row.weight:
                return found
            weighed = evenest(count, rule, lambda survey: survey.cells.by_weight)
            return replace(found, weighed=weighed.cells)

    def judged(self) -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """Count all items by score, without reading their ids."""
        with reading(self.source):
            _, rule = self.size_and_rule()
            cells = evenest(lambda rule: self._cells_of("score", "margin", rule), rule, _same)
            return cells, self.checked(cells)

    def _weigh(self) -> None:
        """Find the factor that converts weights to impressions.

        Weights have been checked before: every row has a number that is at least 0.
        """
        every = self._relation.connection.sql(f"FROM {self._sql}")
        rows = every.project(f"{self._row.weight} AS weight")
        ((size, total),) = self._fetch(rows.aggregate("count(*), sum(weight)"))
        self._refuse_nothing(size)
        refuse_bad_total(total, f"column {self._roles.weight!r} of {self.source}")
        self._exponent = factor_exponent(total, size, lambda: pieces_of(rows))

    def _surveyed(self, rule: Rule, seed: int, size: int) -> Survey:
        """Count all rows by a bin rule, and list the first cards."""
        telling = Telling.of([(self._roles, self._row)], [rule], [True])
        first = self._in_little_memory(lambda: self._passed(telling, seed, size))
        cells = first.cells(0)
        if (listed := first.listed()) is None:
            return Survey(cells, weights_word=first.weights_word)
        ids, kept = listed
        return Survey(cells, self._listed(seed, size, ids, find_cells(cells, kept.keys[0])))

    def _listed(self, seed: int, size: int, ids: "pa.ChunkedArray[Any]", cell: Ints) -> Listed:
        return Listed(seed, first_limit(size), self._ids.of(ids), cell)

    def _passed(
        self, telling: Telling, seed: int, size: int, file: IO[bytes] | None = None
    ) -> FirstPass:
        """Read all rows once, and keep what later passes need, if anything, in a file."""
        around, first = self._around(seed, size), None
        if not self._row.weight and self.id_kind == "integer":
            first = FirstIds(seed, first_limit(size), signed=self._ids.signed)
        found = FirstPass(telling.judges, around, file=file, first=first, exponent=self._exponent)
        where = "" if file is not None else self._there
        try:
            with closing(self._read({**around, **telling.columns}, where)) as batches:
                found.take(batches)
        except (UnusableError, duckdb.Error) as error:
            if not isinstance(error, duckdb.OutOfMemoryException):
                self.tell_what_is_wrong()
            if isinstance(error, UnusableError):
                raise changed(self.source) from None
            raise
        return found

    def _around(self, seed: int, size: int) -> dict[str, str]:
        """Columns of the first pass other than those of classifiers, as SQL."""
        id = self._ids.sql
        columns = {DIGEST: f"CASE WHEN {id} IS NOT NULL THEN {self._digest} END"}
        if self._row.weight:  # the first cards depend on it, and are read once strata are known
            columns[GIVEN] = self._row.weight
        elif self.id_kind != "integer":  # integers follow from their digests
            number = duckdb_keyed(self._digest, seed)
            columns[LISTED] = f"CASE WHEN {number} <= {first_limit(size)}::UBIGINT THEN {id} END"
        return columns

    # Later passes.

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        value = value_sql(self._row, variable, scale, self._roles.limit)
        with reading(self.source):
            rows = self._rows.aggregate(f"min({value}), max({value})")
            rule = scale_of(*self._fetch(rows)[0])
            return evenest(
                lambda rule: self._cells_of(variable, scale, rule),
                rule,
                lambda each: each.by_weight,
            )

    def _cells_of(self, variable: Variable, scale: Scale, rule: Rule) -> ScoreCells:
        classes = self._roles.n_classes
        try:
            found = count_cells(self._items(variable, scale), rule, classes, _same)
        except UnusableError:
            self.tell_what_is_wrong()
            raise changed(self.source) from None
        return replace(found, said=found.said == 1) if classes == 2 else found

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the number and weight of the items in each span."""
        with reading(self.source):
            return count_spans(self._items(variable, scale), spans)

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Rows of all spans; those above every limit are not read."""
        below = below_sql(self._digest, spans, seed, self._row.weight, self._exponent)
        with reading(self.source):
            items = self._items(variable, scale, ids=True, where=below)
            return rows_of([drawn(batch, spans, seed) for batch in items])

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Rows with these ids."""
        with reading(self.source):
            return rows_of(self._items(variable, scale, ids=True, where=self._among(ids)))

    def _items(
        self, variable: Variable, scale: Scale, *, ids: bool = False, where: str = ""
    ) -> Iterator[Batch]:
        """Items that fulfil a condition, with the variable in place of the score."""
        told = {
            "value": f"({value_sql(self._row, variable, scale, self._roles.limit)})::DOUBLE",
            "says": f"({self._row.says})::INTEGER",
        }
        for batch, columns in self._told(told, ids=ids, where=where):
            said = columns["says"].astype(np.int64)
            if self._row.classes is None:
                said = said == 1
            yield self._batch(batch, columns, columns["value"] + 0.0, said)  # -0.0 becomes 0.0

    def _told(
        self, told: Mapping[str, str], *, ids: bool, where: str
    ) -> "Iterator[tuple[pa.RecordBatch, Columns]]":
        """Values of expressions for the items that fulfil a condition, and their ids."""
        asked = {"id": self._ids.sql, **told} if ids else dict(told)
        if self._row.weight:
            asked[GIVEN] = self._row.weight
        conditions = " AND ".join(f"({each})" for each in (self._there, where) if each)
        for batch in self._read(asked, conditions):
            try:
                yield batch, columns_of(batch, [name for name in asked if name != "id"])
            except UnusableError:
                raise changed(self.source) from None

    def _batch(self, batch: "pa.RecordBatch", columns: Columns, values: Floats, said: Any) -> Batch:
        """Items of a record batch by their values."""
        ids = self._ids.of(batch.column("id")) if "id" in batch.schema.names else None
        given = columns.get(GIVEN)
        weights = None if given is None else as_impressions(given, self._exponent)
        return Batch(values, said, ids, weights=weights, given=given)

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return the displayed values of the items with these ids, in their order."""
        if not self._show:
            return [{} for _ in ids]
        return fetch_shown(self._relation, self._roles.id, ids, self._show)

    def probabilities(self, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Rows with these ids, and the probabilities of all classes."""
        with reading(self.source):
            found = self._read({"id": self._ids.sql, "list": self._list}, self._among(ids))
            held, lists = pa.Table.from_batches(list(found)).columns
        return self._ids.of(held), rows_of_lists(lists, self._roles.n_classes)

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        told = {DIGEST: self._digest, **opined_sql(self._opined())}
        conditions = [f"{self._ids.sql} IS NOT NULL", *filter(None, [self._there])]
        with reading(self.source):
            return opinions_digest(self._read(told, " AND ".join(conditions)))

    def counted_values(self, told: Mapping[str, str]) -> "pa.Table":
        """Distinct values of expressions, with the number of rows of each."""
        names, each = ", ".join(told), ", ".join(f"{sql} AS {name}" for name, sql in told.items())
        with reading(self.source):
            rows = self._relation.connection.sql(f"FROM {self._relation.sql}").project(each)
            found: pa.Table = rows.aggregate(f"{names}, count(*) AS number", names).to_arrow_table()
        return found

    def _opined(self) -> list[tuple[str, Family]]:
        """Columns for a model as SQL, each with its kind of values."""
        types = self._relation.types
        return [(identifier(name), family_of(types[name])) for name in self._roles.aux]

    def summed_probabilities(self) -> Floats | None:
        """Return the sums of the probabilities of each class by predicted class, shape (K, K)."""
        if not self._roles.of_class:
            return None
        each = f"unnest({self._list}) AS p, generate_subscripts({self._list}, 1) - 1 AS number"
        with reading(self.source):
            rows = self._rows.project(f"{self._row.says} AS says, {each}")
            found = self._fetch(
                rows.aggregate("says, number, sum(greatest(p, 0e0))", "says, number")
            )
        sums = np.zeros((self._roles.n_classes, self._roles.n_classes))
        for says, number, total in found:
            sums[says, number] = total
        return sums

    # Rows.

    @property
    def _rows(self) -> duckdb.DuckDBPyRelation:
        """All rows that count."""
        where = f" WHERE {self._there}" if self._there else ""
        return self._relation.connection.sql(f"FROM {self._sql}{where}")

    @property
    def _there(self) -> str:
        """Condition that a row counts."""
        return f"{self._row.weight} > 0e0" if self._row.weight else ""

    def _read(self, columns: Mapping[str, str], where: str = "") -> "Generator[pa.RecordBatch]":
        """Read expressions of the rows that fulfil a condition, in at least one batch."""
        with self._polled():
            yield from self._streamed(self._relation.connection, columns, where)

    def _streamed(
        self,
        connection: duckdb.DuckDBPyConnection,
        columns: Mapping[str, str],
        where: str = "",  # a condition on the rows
        below: str = "",  # a condition on the expressions
    ) -> "Generator[pa.RecordBatch]":
        told = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
        condition = f" WHERE {where}" if where else ""
        rows = connection.sql(f"FROM {self._sql} SELECT {told}{condition}")
        rows = rows.filter(below) if below else rows
        with closing(rows.to_arrow_reader(AT_ONCE)) as batches:
            batch = None
            for batch in batches:
                yield batch
            if batch is None:
                yield pa.RecordBatch.from_pylist([], batches.schema)

    def keyed(self, cells: ScoreCells, below: str = "") -> "Generator[pa.RecordBatch]":
        """Columns id and key of every row, as they are read; the key is the place of its cell.

        Also the weight, if any, and, with columns for a model, these and the score. `below` is a
        condition on the id and the weight.
        """
        telling = Telling.of([(self._roles, self._row)], [cells.rule], [True])
        told = {"id": self._ids.sql, **telling.columns}
        if self._row.weight:
            told["weight"] = self._row.weight
        for place, name in enumerate(self._roles.aux):
            told[f"aux_{place}"] = plain_sql(identifier(name), self._relation.types[name], "duckdb")
        if self._roles.aux:
            told["score"] = f"{self._row.score} + 0e0"  # -0.0 becomes 0.0
        (judge,) = telling.judges
        kind = pa.uint16() if cells.bin.size < 2**16 else pa.int32()
        # A cursor, so that other queries on the same rows do not end this one.
        with self._relation.connection.cursor() as cursor:
            for batch in self._streamed(cursor, told, self._there, below):
                try:
                    columns = columns_of(batch, judge.columns)
                    key = find_cells(cells, judge.places(columns, batch.num_rows))
                except UnusableError:
                    raise changed(self.source) from None
                named = {name: batch.column(name) for name in told if name not in columns}
                id = named.pop("id")
                yield pa.record_batch({"id": id, "key": pa.array(key, kind), **named})

    def _among(self, ids: Sequence[Id]) -> str:
        """Condition that a row has one of some ids."""
        connection = self._relation.connection
        connection.execute(f"DROP TABLE IF EXISTS {_WANTED}")
        connection.from_arrow(pa.table({"id": self._ids.column(ids)})).create(_WANTED)
        return f"{self._ids.sql} IN (FROM {_WANTED})"

    def size_and_rule(self) -> tuple[int, Rule]:
        """Return the number of rows and the bin rule; of Parquet files without reading rows."""
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

    def _in_little_memory(self, ask: Callable[[], Answer]) -> Answer:
        """Run a query with a memory limit; without one DuckDB would take more to read ahead."""
        if self._row.classes is not None:  # rows may have hundreds of probabilities
            return ask()
        connection = self._relation.connection
        try:
            connection.execute(f"SET memory_limit = '{_MEMORY}'")
            return ask()
        except duckdb.OutOfMemoryException:
            connection.execute("RESET memory_limit")  # row groups may be large
            return ask()
        finally:
            connection.execute("RESET memory_limit")

    def _log_odds(self, model: Model) -> str:
        """Return the SQL of the log odds by the model of the row's fold, in place of the score."""
        first, second = model_sql(
            model, self._names, self._relation.types, says=self._row.says, dialect="duckdb"
        )
        number = duckdb_keyed(self._digest, model.seed)
        return f"CASE WHEN {number} < {2**63}::UBIGINT THEN {first} ELSE {second} END"

    @property
    def _digest(self) -> str:
        return duckdb_digest(self._ids.sql, self._ids.kind)

    def _fetch(self, rows: duckdb.DuckDBPyRelation) -> list[Any]:
        with self._polled():
            found: list[Any] = rows.fetchall()
        return found

    def _polled(self) -> AbstractContextManager[None]:
        return polled(lambda: self._relation.connection.query_progress() / 100.0)


def _same(each: Any) -> Any:
    return each


def below_sql(digest: str, spans: Sequence[Span], seed: int, weight: str, exponent: int) -> str:
    """Condition that an item's number is not above all limits, by its weight if it has one."""
    highest, number = max(span.limit for span in spans), duckdb_keyed(digest, seed)
    if not weight:
        return f"{number} <= {int(highest)}::UBIGINT"
    return f"{number} <= {impressions_sql(weight, exponent)} * {double_sql(highest)}"


def changed(source: str) -> PredictionsError:
    """Error: the rows have changed since they were counted."""
    return PredictionsError(f"{source} has changed while it was read")


def pieces_of(rows: duckdb.DuckDBPyRelation) -> Iterator[Floats]:
    """Return the only column of some rows, piece by piece."""
    for batch in rows.to_arrow_reader():
        yield np.asarray(batch.column(0))
