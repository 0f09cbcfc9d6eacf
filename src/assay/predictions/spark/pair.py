"""Two sets of predictions that Spark joins by id, in the cluster; nothing of it is kept there.

What each says of an item is a row of its own, and items are groups of them: an id that is twice in
one of the two is noticed, and never multiplies rows as it would in a join.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.core.deck import Id
from assay.core.error_model import Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.errors import PredictionsError
from assay.predictions.engine import Rows, Span
from assay.predictions.ids import Ids
from assay.predictions.memory import TOP
from assay.predictions.spark.columns import (
    NEVER,
    number_of,
    spark_bin,
    with_digest,
    with_place,
    word_of_limit,
    xored,
)
from assay.predictions.spark.scanner import SparkScanner, grouped, merged_by
from assay.predictions.spark.several import ranks_by_bin
from assay.predictions.spark.weights import (
    WEIGHT_WORD,
    summed,
    summed_by_exponent,
    with_weight_word,
)
from assay.predictions.sql.pair import IN_BOTH, N_CODES, Weighing, value_sql
from assay.predictions.sql.pair_sides import ScannedSide, Side, tell_of_move
from assay.predictions.sql.rows import case_sql, double_sql, heap_sql, impressions_sql

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

    exponent: int | None = None
    model = None

    def __init__(self, sides: tuple[Side, Side], home: SparkScanner) -> None:
        self._sides, self._home = sides, home
        self._weighted = sides[0].part.weighted
        self._said = [self._rows_of(side) for side in sides]

    def weighing(self) -> Weighing:
        """Add up the weights, and look for items that have two."""
        rows = self._items().selectExpr(
            *("count(*)", f"count_if(says >= {IN_BOTH})", "sum(given)", "count_if(least < given)"),
            "min(CASE WHEN least < given THEN id END)",
        )
        return Weighing(*(column[0].as_py() for column in self._home.fetch(rows).columns))

    def weights(self) -> list[Floats]:
        """Return some numbers whose exact sum is that of all weights."""
        weights = self._items().selectExpr("given AS weight")
        return [summed(self._home.fetch(summed_by_exponent(weights)))]

    def cells(self) -> tuple[ScoreCells, int | None]:
        """Count all items by the mean rank and the code, and sum up who has which weight."""
        items, sums = self._items(), {}
        if self._weighted:
            items = with_weight_word(with_digest(items, "id", self._home.id_kind))
            sums = {"weight": "sum", WEIGHT_WORD: "bit_xor"}
        groups = self._home.fetch(grouped(items, N_CODES, rules=["probability"], more=sums))
        if groups["probability"].null_count:
            for side in self._sides:
                side.refuse_repeated_ids()
            sources = " and ".join(side.part.source for side in self._sides)
            raise PredictionsError(f"{sources} has changed while it was read")
        cells = merged_by(groups, "probability", N_CODES)
        return cells, xored(groups, WEIGHT_WORD) if self._weighted else None

    def count(self, spans: Sequence[Span]) -> Ints:
        """Return the items in each span, and what they count for."""
        inside = case_sql(spans, [str(place) for place in range(len(spans))])
        weight = "weight" if self._weighted else "1L AS weight"
        rows = _heaped(spans, self._items()).selectExpr(f"{inside} AS span", "1L AS item", weight)
        both = {"item": "sum", "weight": "sum"}
        found = self._home.fetch(rows.where("span IS NOT NULL").groupBy("span").agg(both))
        counts = np.zeros((2, len(spans)), dtype=np.int64)
        for row, name in enumerate(both):
            counts[row, found["span"].to_numpy()] = found[f"sum({name})"].to_numpy()
        return counts

    def rows(self, spans: Sequence[Span], seed: int) -> Rows:
        """Return the rows of all spans; those above all limits are left out before the join."""
        kind = self._home.id_kind
        literal = double_sql if self._weighted else word_of_limit
        limit = case_sql(spans, [literal(span.limit) for span in spans])
        items = self._items(seed, max(span.limit for span in spans))
        names = ["id", "value", "says", *(["weight"] if self._weighted else [])]
        rows = _heaped(spans, items).selectExpr(*names, f"{limit} AS highest")
        placed = with_place(rows.where("highest IS NOT NULL"), "id", kind, seed)
        found = self._home.fetch(placed.where(self._below("highest", "weight")).select(*names))
        texts: Any = found["id"].cast(pa.large_string()).combine_chunks()
        ids = Ids(found["id"].to_numpy() if kind == "integer" else texts)
        return Rows(
            ids,
            found["value"].to_numpy(),
            found["says"].to_numpy().astype(np.int64),
            weights=found["weight"].to_numpy() if self._weighted else None,
        )

    def find(self, ids: Sequence[Id]) -> Rows:
        """Refuse: each side is asked for its own."""
        raise NotImplementedError

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Refuse: columns for a model are not joined here."""
        sources = " and ".join(side.part.source for side in self._sides)
        raise PredictionsError(
            f"{sources} were read without columns for a model",
            details=f"they do not tell what is said of {len(ids):,} items",
        )

    def opinions_digest(self) -> int:
        """Return 0: there are no columns for a model."""
        return 0

    def _below(self, limit: str, impressions: str) -> str:
        """Return the condition that an item's place is not above a limit, by weight if any."""
        if not self._weighted:
            return f"place <= {limit}"
        return f"{number_of('place')} <= {impressions} * {limit}"

    def _items(self, seed: int = 0, limit: float = TOP) -> "DataFrame":
        """Return the id, mean rank, code and weight of items, with a number up to a limit.

        The code is missing where an id is twice in one of the two. Weights are those given, the
        least and the largest, and impressions as soon as it is known what these are.
        """
        both = self._said[0].unionAll(self._said[1])
        whole = ""
        if self.exponent is not None:
            whole = impressions_sql("given", self.exponent, "spark")
        if limit < TOP:
            literal = double_sql(limit) if self._weighted else word_of_limit(limit)
            placed = with_place(both, "id", self._home.id_kind, seed)
            both = placed.where(self._below(literal, whole)).select(*both.columns)
        sums = {"rank": "sum", "code": "sum", "one": "count"}
        more = ["1 AS one"]
        if self._weighted:
            sums |= {"given": "max", "least": "min"}
            more.append("given AS least")
        items = both.selectExpr("*", *more).groupBy("id").agg(sums)
        items = items.selectExpr(
            "id", *(f"`{how}({name})` AS {name}_{how}" for name, how in sums.items())
        )
        weights = ["given_max AS given", "least_min AS least"] if self._weighted else []
        if whole:
            weights.append(f"{impressions_sql('given_max', self.exponent or 0, 'spark')} AS weight")
        in_both = f"code_sum BETWEEN {IN_BOTH} AND {N_CODES - 1}"
        says = f"CASE WHEN one_count = 1 OR (one_count = 2 AND {in_both}) THEN code_sum END AS says"
        value = f"{value_sql('rank_sum', 'code_sum')} AS value"
        return items.selectExpr("id", value, says, *weights)

    def _rows_of(self, side: Side) -> "DataFrame":
        """Return what a side says of each of its items: id, rank, its part of the code, weight."""
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
                    **({"given": piece.column(2)} if self._weighted else {}),
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
    weight = ["given"] if side.part.weighted else []
    return items.crossJoin(told).selectExpr("id", rank, code, *weight)


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
