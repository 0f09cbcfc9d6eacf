"""Two sets of predictions that Spark joins by id, in the cluster; nothing of it is kept there.

What each says of an item is a row of its own, and items are groups of them: an id that is twice in
one of the two is noticed, and never multiplies rows as it would in a join.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.core.bins import Rule
from assay.core.deck import Id
from assay.core.error_model import RANK, Model, Values, columns_at
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.errors import PredictionsError
from assay.predictions.engine import Rows, Span
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
from assay.predictions.spark.opinions import with_log_odds, with_words
from assay.predictions.spark.scanner import SparkScanner, grouped, merged_by
from assay.predictions.spark.several import ranks_by_bin
from assay.predictions.spark.weights import (
    WEIGHT_WORD,
    summed,
    summed_by_exponent,
    with_weight_word,
)
from assay.predictions.sql.opinions import either_sql
from assay.predictions.sql.pair import IN_BOTH, N_CODES, Weighing, value_sql
from assay.predictions.sql.pair_sides import (
    SIDES,
    ScannedSide,
    Side,
    joined_opinions,
    tell_of_move,
)
from assay.predictions.sql.rows import Family, case_sql, double_sql, heap_sql, impressions_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_TYPES: dict[Family, str] = {"float": "DOUBLE", "text": "STRING", "boolean": "BOOLEAN"}
_XORED = {"word": "bit_xor"}


def spark_pair(
    sides: tuple[Side, Side], home: Side, names: tuple[str, str], model: Model | None = None
) -> "SparkPair":
    """Return the join of two sides in the Spark of one of them."""
    scanner = home.part.scanner if isinstance(home, ScannedSide) else None
    if not isinstance(scanner, SparkScanner):
        raise PredictionsError(f"Spark does not read {home.part.source}")
    return SparkPair(sides, scanner, names, model)


class SparkPair:
    """A `Join` in Spark."""

    exponent: int | None = None

    def __init__(
        self,
        sides: tuple[Side, Side],  # the earlier and the later
        # One of them, whose session joins both; the other goes there if it lies elsewhere.
        home: SparkScanner,
        names: tuple[str, str],
        model: Model | None = None,
    ) -> None:
        self._sides, self._home, self.model = sides, home, model
        self._weighted = sides[0].part.weighted
        scanners = [self._scanner_of(side) for side in sides]
        self._opinions = joined_opinions([each for each in scanners if each], names)
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
        rule: Rule = "probability"
        if self.model is not None:
            items, sums, rule = self._with_word(items, {"value": "float"}), _XORED, "margin"
        if self._weighted:
            items = with_weight_word(with_digest(items, "id", self._home.id_kind))
            sums = {"weight": "sum", WEIGHT_WORD: "bit_xor"}
        groups = self._home.fetch(grouped(items, N_CODES, rules=[rule], more=sums))
        if groups[rule].null_count:
            for side in self._sides:
                side.refuse_repeated_ids()
            sources = " and ".join(side.part.source for side in self._sides)
            raise PredictionsError(f"{sources} has changed while it was read")
        cells = merged_by(groups, rule, N_CODES)
        if self.model is not None:
            return cells, xored(groups, "word")
        return cells, xored(groups, WEIGHT_WORD) if self._weighted else None

    def _with_word(self, items: "DataFrame", columns: Mapping[str, Family]) -> "DataFrame":
        """Return id, value and what items say, with a word for the id and what columns say."""
        rows = with_digest(items, "id", self._home.id_kind).withColumnRenamed("digest", "word")
        return with_words(rows, columns, ["id", "value", "says"])

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
        return self._taken(placed.where(self._below("highest", "weight")))

    def _taken(self, items: "DataFrame") -> Rows:
        names = ["id", "value", "says", *(["weight"] if self._weighted else [])]
        found = self._home.fetch(items.select(*names))
        return Rows(
            self._home.ids_of(found["id"]),
            found["value"].to_numpy(),
            found["says"].to_numpy().astype(np.int64),
            weights=found["weight"].to_numpy() if self._weighted else None,
        )

    def find(self, ids: Sequence[Id]) -> Rows:
        """Return the rows with these ids."""
        return self._taken(self._items(ids=ids))

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by every column, by the scores, by the mean rank."""
        sources = " and ".join(side.part.source for side in self._sides)
        if not self._opinions:
            raise PredictionsError(f"{sources} were read without columns for a model")
        found = self._home.fetch(self._items(ids=ids))
        order = np.array(self._home.ids_of(found["id"]).rows_of(ids, sources), dtype=np.int64)
        columns = {name: column for name, (column, _) in self._opinions.items()}
        columns[RANK] = "value" if self.model is None else "rank"
        told: dict[str, Values] = {
            name: found[column].to_numpy()
            if pa.types.is_floating(found[column].type)
            else found[column].to_pylist()
            for name, column in columns.items()
        }
        return columns_at(told, order)

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""
        if not self._opinions and self._home.opinion_families:
            raise PredictionsError(
                "two sets with second opinions are in different sessions of Spark",
                hint="give both with the same spark=",
            )
        if not self._opinions:
            return 0
        rows = self._with_word(self._items(), dict(self._opinions.values()))
        return xored(self._home.fetch(rows.groupBy().agg(_XORED)), "word")

    def _below(self, limit: str, impressions: str) -> str:
        """Return the condition that an item's place is not above a limit, by weight if any."""
        if not self._weighted:
            return f"place <= {limit}"
        return f"{number_of('place')} <= {impressions} * {limit}"

    def _items(
        self, seed: int = 0, limit: float = TOP, ids: Sequence[Id] | None = None
    ) -> "DataFrame":
        """Return the id, mean rank, code and weight of items, and what columns for a model say.

        The code is missing where an id is twice in one of the two. Weights are those given, the
        least and the largest, and impressions as soon as it is known what these are. By a model,
        values are its log odds, and ranks are there, too.

        `ids`: only these items.
        """
        both = self._said[0].unionAll(self._said[1])
        if ids is not None:
            both = self._home.only(ids, both)
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
        told = [name for name in both.columns if name.startswith(("score_", "aux_"))]
        sums |= dict.fromkeys(told, "max")  # an item has one value in each, or none
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
        aux = [
            f"{either_sql(f'{name}_old_max', f'{name}_new_max', family)} AS {name}"
            if name.startswith("aux")
            else f"{name}_max AS {name}"
            for name, family in self._opinions.values()
        ]
        items = items.selectExpr("id", value, says, *weights, *aux)
        return items if self.model is None else self._placed_by(self.model, items)

    def _placed_by(self, model: Model, items: "DataFrame") -> "DataFrame":
        """Return items with a model's log odds in the mean rank's place."""
        names = {name: column for name, (column, _) in self._opinions.items()} | {RANK: "rank"}
        types = {name: _TYPES[family] for name, (_, family) in self._opinions.items()}
        rows = items.withColumnRenamed("value", "rank")
        rows = with_log_odds(
            *(rows, model, names, {**types, RANK: _TYPES["float"]}),
            says="says",
            told=rows.columns,
            kind=self._home.id_kind,
        )
        return rows.selectExpr(*items.drop("value").columns, "rank", "score + 0e0 AS value")

    def _rows_of(self, side: Side) -> "DataFrame":
        """Return what a side says of each of its items: id, rank, its part of the code, weight."""
        scanner = self._scanner_of(side)
        if scanner is not None:
            return _ranked(scanner.judged_items(), side, self._told_by(side))
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

    def _scanner_of(self, side: Side) -> SparkScanner | None:
        """Return what reads a side, if it is in this session."""
        scanner = side.part.scanner if isinstance(side, ScannedSide) else None
        if isinstance(scanner, SparkScanner) and scanner.session is self._home.session:
            return scanner
        return None

    def _told_by(self, side: Side) -> list[str]:
        """Return what a side tells a model, as SQL, in columns of its own; nothing in the other's.

        Both have the same columns, so that their rows can be put together.
        """
        told = []
        for name, family in self._opinions.values():
            for place, each in enumerate(SIDES):
                nothing = f"CAST(NULL AS {_TYPES[family]})"
                if name.startswith("aux"):
                    told.append(f"{name if place == side.place else nothing} AS {name}_{each}")
                elif name == f"score_{each}":  # -0.0 becomes 0.0
                    told.append(f"{'value + 0e0' if place == side.place else nothing} AS {name}")
        return told


def _ranked(items: "DataFrame", side: Side, more: Sequence[str]) -> "DataFrame":
    """Return items with the rank of their score; every executor gets that of all bins.

    `more`: what else to keep, as SQL.
    """
    lowest, by_bin = ranks_by_bin(side.steps)
    lists = pa.table({"ranks": pa.array([by_bin], pa.list_(pa.float64()))})
    told = items.sparkSession.createDataFrame(lists).hint("broadcast")
    bin = spark_bin("value", side.cells.rule)
    rank = f"CASE WHEN {NEVER} THEN 0e0 ELSE get(ranks, {bin} - ({lowest})) END AS rank"
    unit, step = side.cells.classes**2 << side.place, side.cells.classes**side.place
    code = f"{unit}L + {step}L * CAST(says AS BIGINT) AS code"
    weight = ["given"] if side.part.weighted else []
    return items.crossJoin(told).selectExpr("id", rank, code, *weight, *more)


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
