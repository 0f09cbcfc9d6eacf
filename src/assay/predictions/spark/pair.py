"""Two sets of predictions that Spark joins by id, in the cluster; nothing of it is kept there.

What each says of an item is a row of its own, and items are groups of them: an id that is twice in
one of the two is noticed, and never multiplies rows as it would in a join.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.core.profile import ScoreCells
from assay.core.types import Ints
from assay.errors import PredictionsError
from assay.predictions.engine import Rows, Span
from assay.predictions.ids import Ids
from assay.predictions.memory import TOP
from assay.predictions.spark.columns import NEVER, spark_bin, with_place, word_of_limit
from assay.predictions.spark.scanner import SparkScanner, grouped, merged_by
from assay.predictions.spark.several import ranks_by_bin
from assay.predictions.sql.pair import IN_BOTH, N_CODES, value_sql
from assay.predictions.sql.pair_sides import ScannedSide, Side, tell_of_move
from assay.predictions.sql.rows import case_sql, heap_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def spark_pair(sides: tuple[Side, Side], home: Side) -> "SparkPair":
    """Return the join of two sides in the Spark of one of them."""
    scanner = home.part.scanner if isinstance(home, ScannedSide) else None
    if not isinstance(scanner, SparkScanner):
        raise PredictionsError(f"Spark does not read {home.part.source}")
    return SparkPair(sides, scanner)


class SparkPair:
    """A `Join` in Spark.

    Parameters
    ----------
    sides : pair of Side
        The earlier and the later.
    home : SparkScanner
        One of them, whose session joins both; the other goes there if it lies elsewhere.
    """

    def __init__(self, sides: tuple[Side, Side], home: SparkScanner) -> None:
        self._sides, self._home = sides, home
        self._said = [self._rows_of(side) for side in sides]

    def cells(self) -> ScoreCells:
        """Count all items by the mean rank and the code."""
        groups = self._home.fetch(grouped(self._items(), N_CODES, rules=["probability"], more={}))
        if groups["probability"].null_count:
            for side in self._sides:
                side.refuse_repeated_ids()
            sources = " and ".join(side.part.source for side in self._sides)
            raise PredictionsError(f"{sources} has changed while it was read")
        return merged_by(groups, "probability", N_CODES)

    def count(self, spans: Sequence[Span]) -> Ints:
        """Return the items in each span."""
        inside = case_sql(spans, [str(place) for place in range(len(spans))])
        rows = _heaped(spans, self._items()).selectExpr(f"{inside} AS span")
        found = self._home.fetch(rows.where("span IS NOT NULL").groupBy("span").count())
        counts = np.zeros(len(spans), dtype=np.int64)
        counts[found["span"].to_numpy()] = found["count"].to_numpy()
        return counts

    def rows(self, spans: Sequence[Span], seed: int) -> Rows:
        """Return the rows of all spans; those above all limits are left out before the join."""
        kind = self._home.id_kind
        limit = case_sql(spans, [word_of_limit(int(span.limit)) for span in spans])
        items = self._items(seed, max(int(span.limit) for span in spans))
        rows = _heaped(spans, items).selectExpr("id", "value", "says", f"{limit} AS highest")
        placed = with_place(rows.where("highest IS NOT NULL"), "id", kind, seed)
        found = self._home.fetch(placed.where("place <= highest").select("id", "value", "says"))
        texts: Any = found["id"].cast(pa.large_string()).combine_chunks()
        ids = Ids(found["id"].to_numpy() if kind == "integer" else texts)
        return Rows(ids, found["value"].to_numpy(), found["says"].to_numpy().astype(np.int64))

    def _items(self, seed: int = 0, limit: int = TOP) -> "DataFrame":
        """Return the id, mean rank and code of items, of those with a number up to a limit.

        The code is missing where an id is twice in one of the two.
        """
        old, new = (
            rows
            if limit >= TOP
            else with_place(rows, "id", self._home.id_kind, seed)
            .where(f"place <= {word_of_limit(limit)}")
            .select("id", "rank", "code")
            for rows in self._said
        )
        sums = {"rank": "sum", "code": "sum", "one": "count"}
        items = old.unionAll(new).selectExpr("*", "1 AS one").groupBy("id").agg(sums)
        items = items.selectExpr(
            "id", *(f"`{how}({name})` AS {name}_{how}" for name, how in sums.items())
        )
        both = f"code_sum BETWEEN {IN_BOTH} AND {N_CODES - 1}"
        says = f"CASE WHEN one_count = 1 OR (one_count = 2 AND {both}) THEN code_sum END AS says"
        return items.selectExpr("id", f"{value_sql('rank_sum', 'code_sum')} AS value", says)

    def _rows_of(self, side: Side) -> "DataFrame":
        """Return what a side says of each of its items: id, rank, and what is added to the code."""
        scanner = side.part.scanner if isinstance(side, ScannedSide) else None
        if isinstance(scanner, SparkScanner) and scanner.session is self._home.session:
            return _ranked(scanner.judged_items(), side)
        tell_of_move(side, "Spark")
        pieces = [
            pa.record_batch(
                {
                    "id": _signed(piece.column(0), side.part.source),
                    "rank": side.steps.rank[np.asarray(piece.column(1))],
                    "code": side.steps.code[np.asarray(piece.column(1))],
                }
            )
            for piece in side.pieces()
        ]
        return self._home.session.createDataFrame(pa.Table.from_batches(pieces))


def _ranked(items: "DataFrame", side: Side) -> "DataFrame":
    """Return items with the rank of their score; every executor gets that of all bins."""
    lowest, by_bin = ranks_by_bin(side.steps)
    lists = pa.table({"ranks": pa.array([by_bin], pa.list_(pa.float64()))})
    told = items.sparkSession.createDataFrame(lists).hint("broadcast")
    bin = spark_bin("value", side.cells.rule)
    rank = f"CASE WHEN {NEVER} THEN 0e0 ELSE get(ranks, {bin} - ({lowest})) END AS rank"
    unit, step = side.cells.classes**2 << side.place, side.cells.classes**side.place
    code = f"{unit}L + {step}L * CAST(says AS BIGINT) AS code"
    return items.crossJoin(told).selectExpr("id", rank, code)


def _heaped(spans: Sequence[Span], items: "DataFrame") -> "DataFrame":
    return items.selectExpr("*", f"{heap_sql(spans, N_CODES, 'spark')} AS heap")


def _signed(ids: "pa.Array[Any]", source: str) -> "pa.Array[Any]":
    """Return ids as Spark has them: it knows no integers without a sign."""
    if not pa.types.is_integer(ids.type):
        return ids.cast(pa.string())
    try:
        return ids.cast(pa.int64())
    except pa.ArrowInvalid:
        raise PredictionsError(
            f"some ids of {source} are 2^63 and more, and are to be joined in Spark",
            details="Spark has no unsigned integers",
            hint="write the predictions that Spark has to a Parquet file and give that",
        ) from None
