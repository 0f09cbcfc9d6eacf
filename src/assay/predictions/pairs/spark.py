"""Two sets of predictions that Spark joins by id, in the cluster; nothing is stored there.

Each set contributes a row per item, and rows are grouped by id: an id that is twice in one set is
detected, and does not multiply rows as in a join.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, Scale
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.error_model import RANK, Model, Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.errors import PredictionsError
from assay.predictions.column import Ids
from assay.predictions.draw import TOP
from assay.predictions.engine import Rows, Span
from assay.predictions.faults import changed
from assay.predictions.layout import Steps
from assay.predictions.opinions import without_opinions
from assay.predictions.pairs.scanner import (
    IN_BOTH,
    N_CODES,
    SIDES,
    PairScanner,
    Weighing,
    joined_opinions,
    joined_values,
    tell_of_move,
)
from assay.predictions.predictions import Predictions
from assay.predictions.query import Query, double_sql
from assay.predictions.spark.scanner import SparkScanner, frame_of, only
from assay.predictions.sql.cells import ODDS, XORED, count_spans, drawn, grouped, merged_by
from assay.predictions.sql.counting import WEIGHED
from assay.predictions.sql.items import Items, bin_sql, impressions_of, place_of, with_opinions
from assay.predictions.sql.opinions import either_sql
from assay.predictions.sql.rows import Family
from assay.predictions.sql.several import ranks_by_bin
from assay.predictions.sql.table import integers, xored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_TYPES: dict[Family, str] = {"float": "DOUBLE", "text": "STRING", "boolean": "BOOLEAN"}


class SparkPair(PairScanner):
    """Two sets joined in Spark: in the session of the larger one there."""

    def _open(self) -> None:
        """Choose the session, and move a side that is elsewhere."""
        each = ((part.size, part.scanner) for part in self.parts)
        there = {size: scanner for size, scanner in each if isinstance(scanner, SparkScanner)}
        self._home = there[max(there)]
        scanners = [self._scanner_of(part) for part in self.parts]
        self._opinions = joined_opinions([each for each in scanners if each], self._names)
        self._rows_of_sides = [self._rows_of(place) for place in range(len(SIDES))]

    def weighing(self) -> Weighing:
        """Sum the weights, and find items that have two."""
        rows = self._items().query.select(
            f"CASE WHEN says >= {IN_BOTH} THEN 1 ELSE 0 END AS in_both",
            "given",
            "CASE WHEN least < given THEN 1 ELSE 0 END AS unlike",
            "CASE WHEN least < given THEN id END AS id",
        )
        sums = ("count(*) AS items", "sum(in_both) AS in_both", "sum(given) AS total")
        table = self._fetch(rows.group([], *sums, "sum(unlike) AS unlike", "min(id) AS first"))
        return Weighing(*(column[0].as_py() for column in table.columns))

    def weights(self) -> list[Floats]:
        """Numbers whose exact sum is that of all weights."""
        return self._home.table.addends(self._items().query.select("given AS weight"))

    def joint(self) -> tuple[ScoreCells, int | None]:
        """Count all items by the mean rank and the code, and hash the weights by item."""
        items, kind = self._items(), self.id_kind
        rule: Rule = "probability"
        sums: tuple[str, ...] = ()
        if self.model is not None:
            items = items.with_column("value AS odds").with_digest(kind)
            items, sums, rule = with_opinions(items, {"odds": "float"}), (ODDS,), "margin"
        if self._weighted:
            items, sums = items.with_weight_word(kind), WEIGHED
        groups = self._fetch(grouped(items, N_CODES, rules=[rule], sums=sums))
        if groups[rule].null_count:
            self.refuse_repeated_ids()
            raise changed(self.source)
        cells = merged_by(groups, rule, N_CODES)
        if self.model is not None:
            return cells, xored(groups, "odds_words")
        return cells, xored(groups, "weight_words") if self._weighted else None

    def _fetch(self, query: Query) -> "pa.Table":
        return self._home.table.fetch(query)

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Count and weigh the items in each span."""
        del variable, scale
        return count_spans(self._home.table, self._items(), spans, N_CODES)

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Rows of all spans; those above all limits are dropped before the join."""
        del variable, scale
        items = self._items(seed, max(span.limit for span in spans))
        return self._taken(drawn(items, spans, N_CODES, kind=self.id_kind, seed=seed))

    def _taken(self, items: Items) -> Rows:
        table = self._fetch(items.query)
        return Rows(
            Ids.of(table["id"], self.id_kind),
            table["value"].to_numpy(),
            integers(table["says"]),
            weights=table["weight"].to_numpy() if self._weighted else None,
        )

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Rows with these ids."""
        del variable, scale
        return self._taken(self._items(ids=ids))

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of some items: of every column, the scores, and the mean rank."""
        if not self._opinions:
            raise without_opinions(self.source)
        table = self._fetch(self._items(ids=ids).query)
        rows = Ids.of(table["id"], self.id_kind).rows_of(ids, self.source)
        columns = {name: column for name, (column, _) in self._opinions.items()}
        ranks = table["value" if self.model is None else "rank"].to_numpy()
        return joined_values(table, columns, ranks, rows)

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        if not self._opinions and self._home.opinion_families:
            raise PredictionsError(
                "two sets with second opinions are in different sessions of Spark",
                hint="give both with the same spark=",
            )
        if not self._opinions:
            return 0
        items = self._items().with_digest(self.id_kind)
        rows = with_opinions(items, dict(self._opinions.values())).query
        return xored(self._fetch(rows.group([], XORED)), "words")

    def _items(self, seed: int = 0, limit: float = TOP, ids: Sequence[Id] | None = None) -> Items:
        """Id, mean rank, code and weight of items, and their values of the columns for a model.

        The code is missing if an id is twice in one of the two. Weights are the largest and the
        least given and, once the factor is known, impressions. With a model, values are its log
        odds, and ranks are included, too.
        """
        both = self._rows_of_sides[0].unionAll(self._rows_of_sides[1])
        if ids is not None:
            both = only(ids, self.id_kind, both)
        rows = self._below(Items(Query(both), both.columns), seed, limit)
        opinions = [name for name in rows.keep if name.startswith(("score_", "aux_"))]
        sums = ["sum(rank) AS ranks", "sum(code) AS code", "count(*) AS present"]
        sums += ["max(given) AS given", "min(given) AS least"] if self._weighted else []
        sums += [
            f"max({name}) AS {name}" for name in opinions
        ]  # an item has one value in each, or none
        weights = ["given", "least"] if self._weighted else []
        if self.exponent is not None:
            weights.append(f"{impressions_of('given', self.exponent)} AS weight")
        in_both = f"code BETWEEN {IN_BOTH} AND {N_CODES - 1}"
        says = f"CASE WHEN present = 1 OR (present = 2 AND {in_both}) THEN code END AS says"
        aux = [
            f"{either_sql(f'{name}_old', f'{name}_new', family)} AS {name}"
            if name.startswith("aux")
            else name
            for name, family in self._opinions.values()
        ]
        value = f"ranks / CASE WHEN code >= {IN_BOTH} THEN 2e0 ELSE 1e0 END AS value"
        items = Items(rows.query.group(["id"], *sums).select("id", value, says, *weights, *aux))
        return items if self.model is None else self._placed_by(self.model, items)

    def _below(self, rows: Items, seed: int, limit: float) -> Items:
        """Rows whose number is at most a limit, scaled by weight if any."""
        if limit >= TOP:
            return rows
        kept, number = rows.keep, rows.numbered("id", self.id_kind, seed)
        if not self._weighted:
            rows = rows.with_column(f"{number.place} AS own")
            return rows.only(*kept, where=f"own <= {place_of(limit)}")
        impressions = impressions_of("given", self.exponent or 0)
        rows = rows.with_column(f"{number.number} AS own")
        return rows.only(*kept, where=f"own <= {impressions} * {double_sql(limit)}")

    def _placed_by(self, model: Model, items: Items) -> Items:
        """Items with a model's log odds in place of the mean rank, which is kept as rank."""
        names = {name: column for name, (column, _) in self._opinions.items()} | {RANK: "rank"}
        types = {name: _TYPES[family] for name, (_, family) in self._opinions.items()}
        kept = [name for name in items.keep if name != "value"]
        rows = items.only(*kept, "value AS rank").with_log_odds(
            *(model, names, {**types, RANK: _TYPES["float"]}),
            kind=self.id_kind,
            kept=[*kept, "rank"],
        )
        return rows.only(*kept, "rank", "value + 0e0 AS odds").only(*kept, "rank", "odds AS value")

    def _rows_of(self, place: int) -> "DataFrame":
        """Rows of a side: id, rank, contribution to the code, weight."""
        side, step = self.parts[place], self._steps[place]
        scanner = self._scanner_of(side)
        if scanner is not None:
            more = [*(["given"] if self._weighted else []), *self._columns_by(place)]
            return _ranked(scanner.judged_items(), step, place, more)
        tell_of_move(side, "Spark")
        pieces = [
            pa.record_batch(
                {
                    "id": _signed(piece.column(0), side.source),
                    "rank": step.rank[np.asarray(piece.column(1))],
                    "code": step.code[np.asarray(piece.column(1))],
                    **({"given": piece.column(2)} if self._weighted else {}),
                }
            )
            for piece in side.scanner.keyed(step.cells)
        ]
        return self._home.table.session.createDataFrame(pa.Table.from_batches(pieces))

    def _scanner_of(self, side: Predictions) -> SparkScanner | None:
        """Scanner of a side, if it is in this session."""
        scanner = side.scanner
        if isinstance(scanner, SparkScanner) and scanner.table.session is self._home.table.session:
            return scanner
        return None

    def _columns_by(self, side: int) -> list[str]:
        """Values of a side for a model, as SQL, in its own columns; the other's are NULL.

        Both sides have the same columns, so their rows can be combined.
        """
        columns = []
        for name, family in self._opinions.values():
            for place, each in enumerate(SIDES):
                nothing = f"CAST(NULL AS {_TYPES[family]})"
                if name.startswith("aux"):
                    columns.append(f"{name if place == side else nothing} AS {name}_{each}")
                elif name == f"score_{each}":  # -0.0 becomes 0.0
                    columns.append(f"{'value + 0e0' if place == side else nothing} AS {name}")
        return columns


def _ranked(items: Items, step: Steps, place: int, more: Sequence[str]) -> "DataFrame":
    """Items with the rank of their score; every executor gets the ranks of all bins."""
    lowest, by_bin = ranks_by_bin(step)
    query, which = items.query.listing(by_bin)
    bin = bin_sql("value", step.cells.rule)
    rank = f"settled(element({which}, {bin} - ({lowest}))) AS rank"
    classes = step.cells.classes
    code = f"{classes**2 << place} + {classes**place} * CAST(says AS BIGINT) AS code"
    return frame_of(query.select("id", rank, code, *more))


def _signed(ids: "pa.Array[Any]", source: str) -> "pa.Array[Any]":
    """Ids as Spark has them: it has no unsigned integers."""
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
