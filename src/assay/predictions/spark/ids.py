"""The column of ids of rows in Spark: integers of 64 bits with a sign, or strings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assay.core.deck import Id
from assay.errors import PredictionsError
from assay.predictions.contract import IdKind
from assay.predictions.ids import Ids
from assay.predictions.spark.columns import column_name
from assay.predictions.spark.source import SparkRows
from assay.predictions.sql.rows import family_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkIds:
    """The ids of some rows.

    Parameters
    ----------
    rows : SparkRows
        The rows.
    column : str
        The column of the ids.

    Attributes
    ----------
    kind : {"integer", "string"}
        What they are.
    sql : str
        The id as an expression of type BIGINT or STRING.
    """

    kind: IdKind

    def __init__(self, rows: SparkRows, column: str) -> None:
        self._rows, self._column = rows, column
        family = family_of(rows.types[column])
        if family not in ("integer", "text"):
            raise PredictionsError(
                f"the ids in column {column!r} of {rows.source} are of type {rows.types[column]}",
                details="an id is a whole number of 64 bits or a string",
                hint="Spark has no unsigned integers: read those of 2^63 and more with engine "
                "'duckdb'"
                if family == "decimal"
                else "make them integers if they are whole numbers, or else strings",
            )
        are_integers = self._are_written_integers() if rows.is_text else family == "integer"
        self.kind = "integer" if are_integers else "string"
        self.sql = f"CAST({column_name(column)} AS {'BIGINT' if are_integers else 'STRING'})"

    def of(self, column: "pa.ChunkedArray[Any]") -> Ids:
        """Take what Spark answered for ids."""
        if self.kind == "integer":
            return Ids(column.to_numpy())
        texts: Any = column.cast(pa.large_string()).combine_chunks()
        return Ids(texts)

    def only(self, ids: Sequence[Id], items: "DataFrame") -> "DataFrame":
        """Return those of the items whose ids are among these; every part of Spark gets them all.

        Parameters
        ----------
        ids : sequence of int or str
            Of this kind.
        items : DataFrame
            With a column id.
        """
        if self.kind == "integer":
            possible: list[Id] = [id for id in ids if -(2**63) <= int(id) < 2**63]
        else:
            possible = [id for id in ids if _is_unicode(str(id))]
        if not possible:
            return items.where("FALSE")
        kind = pa.int64() if self.kind == "integer" else pa.string()
        wanted = items.sparkSession.createDataFrame(pa.table({"id": pa.array(possible, kind)}))
        return items.join(wanted.hint("broadcast"), "id", "left_semi")

    def refuse_repeated(self) -> None:
        """Look at every id, and raise where one repeats."""
        ids = self._rows.frame.selectExpr(f"{self.sql} AS id").where("id IS NOT NULL")
        repeated = ids.groupBy("id").count().where("count > 1")
        count = self._rows.fetch(repeated.selectExpr("count(*)"))[0][0].as_py()
        if not count:
            return
        some = self._rows.fetch(repeated.orderBy("id").limit(3)).to_pylist()
        first = ", ".join(f"{row['id']!r} in {row['count']} rows" for row in some)
        raise PredictionsError(
            f"column {self._column!r} of {self._rows.source} has ids that occur more than once: "
            f"{count:,}",
            details=f"first: {first}",
            hint="an item is one row with an id of its own; drop the repetitions",
        )

    def _are_written_integers(self) -> bool:
        """Tell whether every text is an integer just as an integer is written."""
        name = column_name(self._column)

        def all_are(kind: str, within: str = "TRUE") -> str:
            read = f"TRY_CAST({name} AS {kind})"
            return f"bool_and(coalesce(CAST({read} AS STRING) = {name} AND {within}, FALSE))"

        unsigned = f"TRY_CAST({name} AS DECIMAL(20, 0)) BETWEEN 0 AND {2**64 - 1}"
        there = self._rows.frame.where(f"{name} IS NOT NULL")
        answer = there.selectExpr(all_are("BIGINT"), all_are("DECIMAL(20, 0)", unsigned))
        are_signed, are_unsigned = (c[0].as_py() for c in self._rows.fetch(answer).columns)
        if are_unsigned and not are_signed:
            raise PredictionsError(
                f"some ids in column {self._column!r} of {self._rows.source} are 2^63 and more",
                details="Spark has no unsigned integers",
                hint="read them with engine 'duckdb'",
            )
        return bool(are_signed)


def _is_unicode(text: str) -> bool:
    """Tell whether it is text that Spark can hold: no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
