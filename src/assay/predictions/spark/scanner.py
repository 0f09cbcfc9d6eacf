"""Predictions in Spark: counted and filtered in place, on any number of machines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from assay.core.deck import Id, IdKind
from assay.core.types import Floats
from assay.errors import PredictionsError
from assay.predictions.class_values import MOST_WORDS, numbered_words
from assay.predictions.column import key_parts
from assay.predictions.faults import no_ids, refuse_missing_columns
from assay.predictions.layout import Layout
from assay.predictions.query import First, Group, Query, Select, Spell, spelled
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.source import SparkRows, column_name, open_rows, reading_with_spark
from assay.predictions.sql.counting import CountingScanner
from assay.predictions.sql.items import Items, with_bits
from assay.predictions.sql.judge import class_columns, list_sql
from assay.predictions.sql.opinions import plain_sql
from assay.predictions.sql.rows import Written, family_of, key_sql
from assay.predictions.sql.several import SeveralScanner
from assay.predictions.sql.table import GIVEN, IdColumn, Table, refuse_other_arithmetic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WORD = "assay_word"
_MOST_PARTITIONS = 2**31 - 1
_SUM = re.compile(r"(\w+)\((\w+|\*)\) AS (\w+)")
_LIST = re.compile(r"\belement\((\d+)")
_UNSIGNED = f"BETWEEN 0 AND {2**64 - 1}"

_FRACTION = 52  # bits of a number's fraction, which the exponent stands in front of
_HALF = 26
_OFFSET = 1074  # a fraction counts for 2^-1074, times two to the exponent less one


class SparkSpelling:
    """Spark's SQL for functions unknown to sqlglot; independent of the session's settings."""

    dialect = "spark"
    smallint = "SMALLINT"
    functions: ClassVar[Mapping[str, Spell]] = {
        "and_bits": lambda a, b: f"({a} & {b})",
        "or_bits": lambda a, b: f"({a} | {b})",
        "xor_bits": lambda a, b: f"({a} ^ {b})",
        "left_by": lambda a, n: f"shiftleft({a}, {n})",
        "right_by": lambda a, n: f"shiftrightunsigned({a}, {n})",
        "text_word": lambda a: f"CAST(conv(left(sha2({a}, 256), 16), 16, -10) AS BIGINT)",
        # Spark moves no filter before an expression that formally depends on the partition. A
        # filter moved there would repeat every step's result, in terms of the row's own columns.
        "settled": lambda a: f"CASE WHEN spark_partition_id() < 0 THEN NULL ELSE {a} END",
    }

    def double(self, digits: str) -> str:
        """Literal of a float64."""
        return digits

    def lookup(self, index: str, which: int, values: Sequence[float]) -> str:
        """Element of a list that every executor gets."""
        del values
        return f"get(assay_list_{which}, CAST({index} AS INT))"


_SPELLING = SparkSpelling()


def frame_of(query: Query) -> "DataFrame":
    """Query on a DataFrame, as a DataFrame."""
    frame: DataFrame = query.rows
    for step in query.steps:
        if isinstance(step, First):
            frame = frame.orderBy(*step.by).limit(step.number)
        elif isinstance(step, Group):
            frame = _grouped(frame, step)
        else:
            frame = _selected(frame, step, query.lists)
    return frame


def _selected(frame: "DataFrame", step: Select, lists: Sequence[Sequence[float]]) -> "DataFrame":
    columns, where = spelled(step.columns, step.where, _SPELLING, lists)
    if where:
        frame = frame.where(where)
    if step.apart:
        # Spark compiles a chain of projections into one Java method, and Java only interprets
        # methods of more than 8,000 bytes. Coalescing to more partitions than any table has changes
        # nothing, but puts the following steps into another method.
        frame = frame.coalesce(_MOST_PARTITIONS)
    used = sorted({int(which) for column in step.columns for which in _LIST.findall(column)})
    if used:
        kind = pa.list_(pa.float64())
        table = {f"assay_list_{which}": pa.array([lists[which]], kind) for which in used}
        frame = frame.crossJoin(
            frame.sparkSession.createDataFrame(pa.table(table)).hint("broadcast")
        )
    return frame.selectExpr(*columns)


def _grouped(frame: "DataFrame", step: Group) -> "DataFrame":
    # By function name: pyspark's function objects belong to a local or to a remote Spark.
    by, columns, sums = list(step.by), [], {}
    for function, column, name in _SUM.findall("\n".join(step.columns)):
        columns.append(f"{'1' if column == '*' else column} AS {name}")
        sums[name] = "bit_xor" if function == "xor_all" else function
    rows = frame.selectExpr(*by, *columns).groupBy(*by).agg(sums)
    return rows.selectExpr(*by, *(f"`{how}({name})` AS {name}" for name, how in sums.items()))


class SparkTable(Table):
    """Rows in Spark; only counts by bin, and requested rows, leave it."""

    dialect = "spark"
    is_cluster = True

    def __init__(self, rows: SparkRows) -> None:
        self.rows = rows
        self.source, self.where, self.is_text = rows.source, rows.where, rows.is_text

    @property
    def types(self) -> Mapping[str, str]:
        """Spark's type of each column."""
        return self.rows.types

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Name of each column in Spark's SQL."""
        return {name: column_name(name) for name in self.rows.types}

    @property
    def session(self) -> "SparkSession":
        """Session that reads the rows."""
        return self.rows.frame.sparkSession

    def items(self, expressions: Mapping[str, str], where: str = "") -> Items:
        """Expressions of the rows that fulfil a condition."""
        frame = self.rows.frame.where(where) if where else self.rows.frame
        selected = (f"{expression} AS {name}" for name, expression in expressions.items())
        return Items(Query(frame.selectExpr(*selected)), list(expressions))

    def among(
        self, ids: Sequence[Id], column: IdColumn, expressions: Mapping[str, str], where: str = ""
    ) -> Iterator[Items]:
        """Like `items`, for rows with some ids."""
        items = self.items(expressions, where)
        yield Items(Query(only(ids, column.kind, items.query.rows)), items.keep)

    def fetch(self, query: Query) -> "pa.Table":
        """Answer of a query."""
        with reading_with_spark(self.source):
            return self.rows.fetch(frame_of(query))

    def pieces(self, query: Query) -> Iterator["pa.Table"]:
        """Answer of a query, in one piece."""
        yield self.fetch(query)

    def addends(self, weights: Query) -> list[Floats]:
        """Numbers whose exact sum is that of all weights.

        Sums the fractions of the weights for each exponent: integers, so the sum is exact.
        """
        bits = with_bits(weights, [], ["weight"])
        parts = bits.select(
            f"right_by(weight, {_FRACTION}) AS exponent",
            f"right_by(and_bits(weight, {2**_FRACTION - 1}), {_HALF}) AS upper",
            f"and_bits(weight, {2**_HALF - 1}) AS lower",
        )
        sums = ("sum(upper) AS upper", "sum(lower) AS lower", "count(*) AS items")
        return [summed(self.fetch(parts.group(["exponent"], *sums)))]

    def id_sql(self, column: str) -> tuple[IdKind, str]:
        """Kind of the ids, and the expression of one; raise if they cannot be ids."""
        family = family_of(self.types[column])
        if family not in ("integer", "text"):
            hint = (
                "Spark has no unsigned integers: read those of 2^63 and more with engine 'duckdb'"
            )
            hint = hint if family == "decimal" else ""
            raise no_ids(f"column {column!r} of {self.source}", self.types[column], hint)
        are_integers = self._are_written(column) if self.is_text else family == "integer"
        kind = "BIGINT" if are_integers else "STRING"
        return "integer" if are_integers else "string", f"CAST({self.names[column]} AS {kind})"

    def _are_written(self, column: str) -> bool:
        """Whether every text is written exactly as its integer is."""
        name = self.names[column]
        others = [
            f"{name} IS NOT NULL AND NOT coalesce({is_one}, FALSE)"
            for is_one in (
                f"CAST(TRY_CAST({name} AS BIGINT) AS STRING) = {name}",
                f"CAST(TRY_CAST({name} AS DECIMAL(20, 0)) AS STRING) = {name} "
                f"AND TRY_CAST({name} AS DECIMAL(20, 0)) {_UNSIGNED}",
            )
        ]
        there, not_signed, not_unsigned = self.count([f"{name} IS NOT NULL", *others])
        if there and not_signed and not not_unsigned:
            raise PredictionsError(
                f"some ids in column {column!r} of {self.source} are 2^63 and more",
                details="Spark has no unsigned integers",
                hint="read them with engine 'duckdb'",
            )
        return bool(there) and not not_signed

    def nothing(self) -> PredictionsError:
        """Error for a table without rows."""
        return PredictionsError(
            f"there are no predictions in {self.source}",
            details=f"no row fulfils the condition {self.where}" if self.where else "",
        )

    def stacked(self, items: Items, each: Sequence[Mapping[str, str]]) -> Items:
        """Row for each classifier, so that one job counts all."""
        tuples = (f"{i}, {', '.join(columns.values())}" for i, columns in enumerate(each))
        names = ["classifier", *each[0]]
        stack = f"stack({len(each)}, {', '.join(tuples)}) AS ({', '.join(names)})"
        rows = frame_of(items.query).selectExpr("id", stack)
        return Items(Query(rows), ["id", *names])


def only(ids: Sequence[Id], kind: IdKind, rows: "DataFrame") -> "DataFrame":
    """Rows whose column id is among these; every executor gets all ids."""
    if kind == "integer":
        possible: list[Id] = [id for id in ids if -(2**63) <= int(id) < 2**63]
    else:
        possible = [id for id in ids if _is_unicode(str(id))]
    if not possible:
        return rows.where("FALSE")
    wanted = pa.table({"id": pa.array(possible, pa.int64() if kind == "integer" else pa.string())})
    frame = rows.sparkSession.createDataFrame(wanted).hint("broadcast")
    return rows.join(frame, "id", "left_semi")


def _is_unicode(text: str) -> bool:
    """Whether Spark can hold a text: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def summed(groups: "pa.Table") -> Floats:
    """Float64 numbers whose exact sum is that of the weights.

    For twice 1.5, the exponent of both is 1023, and the fraction 2^51. Their sum is 1 + 2.

    >>> names = ["exponent", "upper", "lower", "items"]
    >>> summed(pa.table(dict(zip(names, ([1023], [2**26], [0], [2])))))
    array([1., 2.])
    """
    sums: list[float] = []
    for exponent, upper, lower, items in zip(
        *(groups[name].to_pylist() for name in ("exponent", "upper", "lower", "items")), strict=True
    ):
        whole = (int(upper) << _HALF) + int(lower)
        if exponent:  # a number with an exponent has a 1 in front of its fraction
            whole += int(items) << _FRACTION
        shift = max(int(exponent), 1) - 1 - _OFFSET
        while whole:
            low = whole % 2**53
            sums += [float(np.ldexp(low, shift))] if low else []
            whole, shift = whole >> 53, shift + 53
    return np.array(sums)


_tried: "WeakSet[SparkSession]" = WeakSet()


def refuse_untried(session: "SparkSession") -> None:
    """Raise if this Spark would draw other items than every other engine.

    Runs one small job that reads no data, once for each session.
    """
    if session in _tried:
        return
    refuse_other_arithmetic(
        session.createDataFrame(pa.table(dict(GIVEN))).coalesce(1),
        lambda query: frame_of(query).toArrow(),
        name="this Spark",
        version=f"version {session.version}",
        remedy="read the predictions with engine 'duckdb'",
    )
    _tried.add(session)


# Class names in Spark.


def rows_with_classes(rows: SparkRows, roles: Roles, place: int) -> SparkRows:
    """Rows with one or two more columns, of `sql.judge`, for the classifier at a place.

    The distinct predicted classes are read once; every executor gets a small table of their
    numbers.
    """
    frame, keep = rows.frame, [column_name(name) for name in rows.types]
    number, list_of_classes = class_columns(place)
    if roles.of_class:
        names = {name: column_name(name) for name in rows.types}
        listed = list_sql(Written(rows.source, names, rows.types, "spark", rows.is_text), roles)
        frame = frame.selectExpr(*keep, f"{listed} AS {list_of_classes}")
        keep.append(list_of_classes)
    if roles.predicted is not None and roles.classes is not None:
        every = frame.selectExpr(f"{column_name(roles.predicted)} AS {_WORD}")
        some = every.where(f"{_WORD} IS NOT NULL").distinct().limit(MOST_WORDS + 1)
        table = numbered_words(rows.fetch(some)[_WORD], roles.classes, roles.predicted, rows.source)
        words = frame.sparkSession.createDataFrame(table.rename_columns([_WORD, number]))
        named = frame.selectExpr(*keep, f"{column_name(roles.predicted)} AS {_WORD}")
        joined = named.join(words.hint("broadcast"), _WORD, "left")
        frame = joined.selectExpr(*keep, number)
    return replace(rows, frame=frame)


class SparkScanner(CountingScanner):
    """A `Scanner` of one classifier in Spark, which can be joined with another there."""

    table: SparkTable

    def summed_probabilities(self) -> Floats | None:
        """Sum the probabilities of each class by predicted class, shape (K, K)."""
        if not self._roles.of_class:
            return None
        rows = self.table.rows.frame.selectExpr(
            f"{self._row.says} AS says", f"posexplode({self.judge.list}) AS (number, p)"
        ).selectExpr("says", "number", "greatest(p, 0e0) AS p")
        table = self.table.fetch(Query(rows).group(["says", "number"], "sum(p) AS p"))
        sums = np.zeros((self._roles.n_classes, self._roles.n_classes))
        sums[table["says"].to_numpy(), table["number"].to_numpy()] = table["p"].to_numpy()
        return sums

    def judged_items(self) -> Items:
        """Id, score, label and weight of every item, and its values of the aux columns."""
        expressions = self._columns()
        for place, name in enumerate(self._roles.aux):
            expressions[f"aux_{place}"] = plain_sql(
                self._names[name], self.table.types[name], "spark"
            )
        return self._placed(self.table.items(expressions, self._there))


def open_spark(scan: Scan, layout: Layout) -> CountingScanner:
    """Open predictions of one or several classifiers that Spark can read.

    Does not change the session's settings, nor create views in it.
    """
    rows = open_rows(scan)
    with reading_with_spark(rows.source):
        rows = _with_key(rows, layout.id)
        refuse_untried(rows.frame.sparkSession)
        scanner: CountingScanner
        columns = rows.frame.columns
        for place, role in enumerate(layout.judges.values()):
            if role.classes is not None:
                refuse_missing_columns(role.columns, columns, rows.source)
                rows = rows_with_classes(rows, role, place)
        if layout.is_coded:
            scanner = SeveralScanner(SparkTable(rows), layout)
        else:
            scanner = SparkScanner(SparkTable(rows), layout.first, layout.show)
        _ = rows.frame.select(*map(column_name, layout.columns)).columns  # is each there once?
        return scanner


def _with_key(rows: SparkRows, id: str | None) -> SparkRows:
    """Rows with a column for the key, if it is composite."""
    parts = key_parts(id, list(rows.types))
    if not parts:
        return rows
    refuse_missing_columns(parts, list(rows.types), rows.source)
    names = {part: column_name(part) for part in parts}
    key = key_sql(parts, names, rows.types, dialect="spark", source=rows.source)
    return replace(rows, frame=rows.frame.selectExpr("*", f"{key} AS {column_name(str(id))}"))
