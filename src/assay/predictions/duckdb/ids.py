"""The column of ids of a DuckDB relation: integers of 64 bits, or strings."""

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.deck import Id
from assay.errors import PredictionsError
from assay.predictions.contract import IdKind
from assay.predictions.duckdb.relations import Relation
from assay.predictions.engine import polled
from assay.predictions.ids import Ids
from assay.predictions.sql.deck import duckdb_digest
from assay.predictions.sql.rows import family_of

_AT_ONCE = 8_000_000  # ids that are held when all are looked at: some 300 MB
_INTEGERS = ("BIGINT", "UBIGINT")


class DuckIds:
    """The ids of a relation.

    Parameters
    ----------
    relation : Relation
        The rows.
    column : str
        The column of the ids.
    name : str
        The same, as SQL.

    Attributes
    ----------
    sql : str
        The id as an expression of type BIGINT, UBIGINT or VARCHAR.
    """

    def __init__(self, relation: Relation, column: str, name: str) -> None:
        self._relation, self._column = relation, column
        type_name = relation.types[column]
        family = family_of(type_name)
        self._type = "VARCHAR"
        if family == "integer":
            self._type = "UBIGINT" if type_name == "UBIGINT" else "BIGINT"
        elif family == "wide integer":
            self._type = self._narrowed(name)
        elif family == "text" and relation.is_text:
            self._type = next((kind for kind in _INTEGERS if self._all_are(name, kind)), "VARCHAR")
        elif family != "text":
            raise PredictionsError(
                f"the ids in column {column!r} of {relation.label} are of type {type_name}",
                details="an id is a whole number of 64 bits or a string",
                hint="make them integers if they are whole numbers, or else strings",
            )
        self.sql = name if type_name == self._type else f"CAST({name} AS {self._type})"

    @property
    def kind(self) -> IdKind:
        """Whether they are integers or strings."""
        return "string" if self._type == "VARCHAR" else "integer"

    def of(self, column: Any) -> Ids:
        """Take what DuckDB answered for ids."""
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if self.kind == "integer":
            return Ids(np.asarray(column))
        return Ids(column.cast(pa.large_string()))

    def column(self, ids: Sequence[Id]) -> "pa.Array[Any]":
        """Return ids that are looked for as a column of the relation's type."""
        types = {"BIGINT": pa.int64(), "UBIGINT": pa.uint64(), "VARCHAR": pa.string()}
        low, high = {"BIGINT": (-(2**63), 2**63), "UBIGINT": (0, 2**64)}.get(self._type, (0, 0))
        possible = [id for id in ids if isinstance(id, str) or low <= id < high]
        return pa.array(possible, types[self._type])

    def refuse_repeated(self) -> None:
        """Look at every id, part by part so that memory does not grow, and raise where one repeats.

        The parts are by the deck's own words, so that equal ids are in one part.
        """
        connection = self._relation.connection
        ids = self._rows.project(f"{self.sql} AS id").filter("id IS NOT NULL")
        ((rows,),) = ids.aggregate("count(*)").fetchall()
        parts: int = rows // _AT_ONCE + 1
        digest = duckdb_digest("id", self.kind)
        repeated: list[tuple[Id, int]] = []
        for part in range(parts):

            def share(part: int = part) -> float:
                done: float = max(connection.query_progress(), 0.0) / 100.0
                return (part + done) / parts

            with polled(share):
                some = ids.filter(f"{digest} % {parts} = {part}")
                counted = some.aggregate("id, count(*) AS rows", "id")
                repeated += counted.filter("rows > 1").fetchall()
        if repeated:
            first = ", ".join(f"{id!r} in {times} rows" for id, times in sorted(repeated)[:3])
            raise PredictionsError(
                f"column {self._column!r} of {self._relation.label} has ids that occur more than "
                f"once: {len(repeated):,}",
                details=f"first: {first}",
                hint="an item is one row with an id of its own; drop the repetitions",
            )

    @property
    def _rows(self) -> duckdb.DuckDBPyRelation:
        return self._relation.connection.sql(f"FROM {self._relation.sql}")

    def _all_are(self, name: str, kind: str) -> bool:
        """Tell whether every text is an integer just as an integer is written."""
        alike = f"TRY_CAST({name} AS {kind})::VARCHAR IS NOT DISTINCT FROM {name}"
        there = self._rows.filter(f"{name} IS NOT NULL")
        ((every,),) = there.aggregate(f"bool_and({alike})").fetchall()
        return bool(every)

    def _narrowed(self, name: str) -> str:
        """Return the type of 64 bits that holds all ids of 128 bits."""
        low, high = f"{-(2**63)}::HUGEINT", f"{2**64 - 1}::HUGEINT"
        outside = f"count(*) FILTER ({name} NOT BETWEEN {low} AND {high})"
        found = self._rows.aggregate(f"count(*), {outside}, min({name}), max({name})").fetchall()
        ((rows, too_large, least, most),) = found
        if too_large or (least is not None and least < 0 and most >= 2**63):
            which = f"{too_large:,} of {rows:,} ids" if too_large else "ids, taken together,"
            raise PredictionsError(
                f"{which} in column {self._column!r} of {self._relation.label} do not fit in 64 "
                "bits",
                details=f"they run from {least} to {most}",
                hint="make them strings",
            )
        return "UBIGINT" if most is not None and most >= 2**63 else "BIGINT"
