"""Tables: rows that an SQL engine counts in place, and their ids."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import bins_of
from assay.core.deck import Id, IdKind
from assay.core.types import Floats, Ints, Words
from assay.errors import PredictionsError
from assay.predictions.column import Ids
from assay.predictions.faults import repeated_ids
from assay.predictions.query import Dialect, Query
from assay.predictions.sql.items import Items, bin_sql, rounded_sql
from assay.predictions.sql.rows import TRIED, Written

# Test of an engine on known values: it must agree with numpy before it is trusted.


_SEED = 1
_KINDS: dict[str, IdKind] = {"whole": "integer", "text": "string"}
_IDS = [0, 1, -1, 7, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63) + 1]
_TEXTS = [
    *("", " ", "7", "007", "NA", "naïve", "東京", "👩‍🔬", "it's", "back\\slash", "a\tb", "x" * 99)
]
_NUMBERS = [0.0, 1.0, 1 / 3, -3.25, 1e300, 5e-324, -1e-310, 0.1, 2.0**52 + 1, 1e22, 1e23, -7e-7]
_HALVES = [place + 0.5 for place in range(-6, 6)]

GIVEN: Mapping[str, Sequence[float | str]] = {
    "place": list(range(len(_IDS))),
    "whole": _IDS,
    "text": _TEXTS,
    **{rule: [float(value) for value in values] for rule, values in TRIED.items()},
    "half": _HALVES,
}
"""Rows of the test: columns of integers, texts and numbers, by name."""


def refuse_other_arithmetic(
    rows: Any,  # those of `GIVEN`, as the engine has them in a `Query`
    fetch: Callable[[Query], "pa.Table"],
    *,
    name: str,  # what is tested
    version: str,
    remedy: str,
) -> None:
    """Raise if an engine would draw other items than every other engine."""
    table = fetch(_trial(rows)).sort_by("place")
    expected = _expected()
    wrong = [
        what
        for (what, right), column in zip(expected.items(), table.columns[1:], strict=True)
        if column.to_pylist() != right
    ]
    if wrong:
        raise PredictionsError(
            f"{name} computes differently from numpy: {', '.join(wrong)}",
            details=f"{version}; it would draw different items from the other engines",
            hint=remedy,
        )


def _expected() -> dict[str, list[float]]:
    """Values of numpy for each column of the test."""
    places = (deck.numbers(_IDS, _SEED), deck.numbers(_TEXTS, _SEED))
    return {
        "digest of integer ids": deck.digest(_IDS).view(np.int64).tolist(),
        "number of integer ids": (places[0] ^ np.uint64(2**63)).view(np.int64).tolist(),
        "digest of string ids": deck.digest(_TEXTS).view(np.int64).tolist(),
        "number of string ids": (places[1] ^ np.uint64(2**63)).view(np.int64).tolist(),
        **{f"bin of a {rule}": bins_of(np.array(TRIED[rule]), rule).tolist() for rule in TRIED},
        "nearest whole number": np.rint(_HALVES).astype(np.int64).tolist(),
        "element of a list": _NUMBERS,
    }


def _trial(rows: Any) -> Query:
    """Query for the same columns."""
    query, which = Query(rows).select(*GIVEN).listing(_NUMBERS)
    items = Items(query)
    for name, kind in _KINDS.items():
        items = items.with_column(f"{items.digest(name, kind).word} AS digest_{name}")
        place = items.numbered(name, kind, _SEED).place
        items = items.with_column(f"{place} AS place_{name}")
    return items.query.select(
        *("place", *(f"{kind}_{name}" for name in _KINDS for kind in ("digest", "place"))),
        *(f"{bin_sql(rule, rule)} AS bin_{rule}" for rule in TRIED),
        f"{rounded_sql('half')} AS nearest",
        f"element({which}, place) AS listed",
    )


class Table(ABC):
    """Rows in an engine. Also an `Inspected`: it can be queried for invalid rows."""

    dialect: ClassVar[Dialect]
    """SQL dialect of expressions of a row."""
    source: str
    """Source of the rows, for users."""
    where: str | None
    """Condition that they fulfil, in the engine's own SQL."""
    is_text: bool = False
    """Whether every column is text of a CSV file."""
    is_cluster: ClassVar[bool] = False
    """Whether a cluster counts them, to which a smaller set is moved."""

    @property
    @abstractmethod
    def types(self) -> Mapping[str, str]:
        """The engine's type of each column."""

    @property
    @abstractmethod
    def names(self) -> Mapping[str, str]:
        """Name of each column in an expression."""

    @abstractmethod
    def items(self, expressions: Mapping[str, str], where: str = "") -> Items:
        """Expressions of the rows that fulfil a condition, by the names of the columns."""

    @abstractmethod
    def among(
        self, ids: Sequence[Id], column: "IdColumn", expressions: Mapping[str, str], where: str = ""
    ) -> Iterator[Items]:
        """Like `items`, for rows with some ids, some at a time.

        `column`: that of the ids; the expression of an id is named ``id``.
        """

    @abstractmethod
    def fetch(self, query: Query) -> "pa.Table":
        """Answer of a query."""

    @abstractmethod
    def pieces(self, query: Query) -> Iterator["pa.Table"]:
        """Answer of a query in pieces; it may have as many rows as the table."""

    @abstractmethod
    def addends(self, weights: Query) -> Iterable[Floats]:
        """Numbers, in pieces, whose exact sum is that of the column ``weight``."""

    @abstractmethod
    def id_sql(self, column: str) -> tuple[IdKind, str]:
        """Kind of the ids, and the expression of one; raise if they cannot be ids."""

    @abstractmethod
    def nothing(self) -> PredictionsError:
        """Error for a table without rows."""

    @cached_property
    def written(self) -> Written:
        """The columns in SQL."""
        return Written(self.source, self.names, self.types, self.dialect, self.is_text)

    def counted_values(self, expressions: Mapping[str, str]) -> "pa.Table":
        """Distinct values of expressions, with the number of rows of each."""
        return self.fetch(
            self.items(expressions).query.group(list(expressions), "count(*) AS number")
        )

    def connected(self) -> AbstractContextManager[None]:
        """Stay connected for several queries."""
        return nullcontext()

    def stacked(self, items: Items, each: Sequence[Mapping[str, str]]) -> Items | None:
        """Row for each of some mappings of names to columns, numbered by ``classifier``.

        None if that is no faster in the engine than a query for each.
        """
        del items, each
        return None

    def count(self, conditions: Sequence[str]) -> list[int]:
        """Count the rows that fulfil each condition."""
        expressions = {
            f"n{place}": f"CASE WHEN {condition} THEN 1 ELSE 0 END"
            for place, condition in enumerate(conditions)
        }
        table = self.fetch(
            self.items(expressions).query.group([], *(f"sum({n}) AS {n}" for n in expressions))
        )
        return [int(column[0].as_py() or 0) for column in table.columns]

    def first(self, columns: Sequence[str], condition: str) -> list[Sequence[object]]:
        """Columns of up to three rows that fulfil a condition: the first if ordered by them."""
        if not columns:
            return []
        expressions = {f"v{place}": self.names[name] for place, name in enumerate(columns)}
        table = self.fetch(self.items(expressions, condition).query.first(3, *expressions))
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def distinct(self, column: str, condition: str, limit: int) -> list[object]:
        """Smallest values of the column among the rows that fulfil a condition."""
        name = self.names[column]
        items = self.items({"value": name}, f"({condition}) AND {name} IS NOT NULL")
        table = self.fetch(items.query.group(["value"], "count(*) AS n").first(limit, "value"))
        return table["value"].to_pylist()


class IdColumn:
    """Ids of some rows."""

    def __init__(self, table: Table, column: str) -> None:
        self._table, self.name = table, column
        self.kind, self.sql = table.id_sql(column)

    def of(self, column: "pa.ChunkedArray[Any]") -> Ids:
        """Ids from a column of the engine's answer."""
        if self.kind == "string":
            return Ids.of(column, "string")
        if self._table.types[self.name] == "UBIGINT":
            return Ids(column.to_numpy().astype(np.uint64))
        return Ids(column.to_numpy().astype(np.int64))

    def refuse_repeated(self) -> None:
        """Read every id, and raise if one repeats."""
        ids = self._table.items({"id": self.sql}, f"{self.sql} IS NOT NULL").query
        repeated = ids.group(["id"], "count(*) AS times").select("id", "times", where="times > 1")
        (count,) = self._table.fetch(repeated.group([], "count(*) AS number"))["number"].to_pylist()
        if not count:
            return
        some = self._table.fetch(repeated.first(3, "id")).to_pylist()
        column = f"column {self.name!r} of {self._table.source}"
        raise repeated_ids(column, count, [(row["id"], row["times"]) for row in some])


# Columns of answers. A sum of integers is a decimal in some databases.


def integers(column: "pa.ChunkedArray[Any]") -> Ints:
    """Column of integers."""
    return np.asarray(column.to_numpy().astype(np.int64))


def words(column: "pa.ChunkedArray[Any]") -> Words:
    """64-bit words from signed or unsigned integers."""
    values = column.to_numpy()
    return np.asarray(
        values if values.dtype == np.uint64 else values.astype(np.int64).view(np.uint64)
    )


def xored(groups: "pa.Table", name: str) -> int:
    """Exclusive or of the words of all groups."""
    return int(np.bitwise_xor.reduce(words(groups[name])))
