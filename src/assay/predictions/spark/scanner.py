"""Predictions in Spark: counted and filtered where they lie, on however many machines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, Scale, scale_of
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.error_model import Model
from assay.core.profile import ScoreCells, evenest
from assay.core.types import Bools, Floats, Ints
from assay.core.weights import factor_exponent
from assay.errors import PredictionsError
from assay.predictions.class_values import rows_of_lists
from assay.predictions.column import refuse_missing_columns
from assay.predictions.doubts import Doubt
from assay.predictions.engine import Rows, Span, Survey
from assay.predictions.ids import Ids
from assay.predictions.roles import Roles
from assay.predictions.spark.columns import (
    SparkIds,
    number_of,
    spark_bin,
    with_digest,
    with_place,
    word_of_limit,
    xored,
)
from assay.predictions.spark.opinions import with_log_odds, with_words
from assay.predictions.spark.source import SparkRows, column_name
from assay.predictions.spark.values import rows_with_classes
from assay.predictions.spark.weights import (
    WEIGHT_WORD,
    impressions_of,
    summed,
    summed_by_exponent,
    with_weight_word,
)
from assay.predictions.sql.checks import usable_sql
from assay.predictions.sql.classes import LIST
from assay.predictions.sql.opinions import plain_sql
from assay.predictions.sql.rows import (
    LARGEST,
    Family,
    RowSql,
    case_sql,
    double_sql,
    family_of,
    heap_sql,
    value_sql,
)
from assay.predictions.sql.scanner import SqlScanner
from assay.predictions.tables import shown_values
from assay.predictions.values import refuse_bad_total

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Items by bin and label, counted by Spark in one pass over the data.
#
# Which rule makes the bins depends on all values, which nobody knows before the pass. So items are
# grouped by the bins of every rule. All of them rise with the value, hence there are no more
# groups than bins of the rules together; afterwards the groups of the right rule are merged.


_USABLE: dict[Rule, str] = {
    **dict.fromkeys(("probability", "tail"), "usable AND value BETWEEN 0 AND 1"),
    "margin": "usable",
}


def grouped(
    # With the columns id, value and says. Items with which something is wrong form a group without
    # bins.
    items: "DataFrame",
    classes: int | None = None,  # how many there are, if not no and yes
    *,
    # Those by whose bins items are grouped.
    rules: Sequence[Rule] = ("probability", "tail", "margin"),
    more: Mapping[str, str],  # of further columns the function that sums each up
    by: Sequence[str] = (),  # further columns that items are grouped by
) -> "DataFrame":
    """Return the groups: few, however many items there are."""
    bins = [
        f"CASE WHEN {_USABLE[rule]} THEN {spark_bin('value', rule)} END AS {rule}" for rule in rules
    ]
    keys = items.selectExpr(
        f"{usable_sql(RowSql('id', 'value', 'says', classes=classes))} AS usable",
        *("value", "says", *by, *more),
    ).selectExpr(
        *("CASE WHEN usable THEN says END AS says", *bins),
        *("1 AS item", "value AS low", "value AS high", *by, *more),
    )
    # By the functions' names: pyspark's own functions belong to a local Spark or to a remote one.
    return keys.groupBy("says", *by, *rules).agg(
        {"item": "count", "low": "min", "high": "max", **more}
    )


def merged(groups: "pa.Table", classes: int = 2) -> ScoreCells | None:
    """Return the cells that the groups make up; None if there is something wrong with an item."""
    if groups["margin"].null_count:
        return None
    return _evenest(groups, classes, lambda cells: cells)


def _evenest(
    groups: "pa.Table", classes: int, by: Callable[[ScoreCells], ScoreCells]
) -> ScoreCells:
    """Return the cells by the rule that makes them even, as items or by weight."""
    low, high = groups["min(low)"].to_numpy(), groups["max(high)"].to_numpy()
    rule = scale_of(float(low.min()), float(high.max()))
    return evenest(lambda rule: merged_by(groups, rule, classes), rule, by)


# A digest in pieces of so many bits: the sum of some 10^12 pieces fits into a BIGINT.
DIGEST_PIECES = {"lowest": (0, 22), "middle": (22, 21), "highest": (43, 21)}
"""Of several classifiers, whose cells have the sum of digests: from which bit on, how many."""


def merged_by(groups: "pa.Table", rule: Rule, classes: int) -> ScoreCells:
    """Return the cells by a rule that the groups make up."""
    low, high = (groups[name].to_numpy() + 0.0 for name in ("min(low)", "max(high)"))
    place = classes * groups[rule].to_numpy().astype(np.int64) + groups["says"].to_numpy()
    order = np.argsort(place)
    place = place[order]
    starts = np.flatnonzero(np.diff(place, prepend=place[0] - 1))
    digest = np.zeros(order.size, dtype=np.uint64)
    if "bit_xor(digest)" in groups.column_names:
        digest = groups["bit_xor(digest)"].to_numpy()[order].view(np.uint64)
    summed = [name for name in DIGEST_PIECES if f"sum({name})" in groups.column_names]
    for name in summed:
        shift, _ = DIGEST_PIECES[name]
        pieces = groups[f"sum({name})"].to_numpy()[order].view(np.uint64)
        digest += pieces << np.uint64(shift)
    weight = None
    if "sum(weight)" in groups.column_names:
        weight = np.add.reduceat(groups["sum(weight)"].to_numpy()[order], starts)
    said = place[starts] % classes
    return ScoreCells(
        rule=rule,
        bin=place[starts] // classes,
        said=said == 1 if classes == 2 else said,
        count=np.add.reduceat(groups["count(item)"].to_numpy()[order], starts),
        low=np.minimum.reduceat(low[order], starts),
        high=np.maximum.reduceat(high[order], starts),
        digest=(np.add if summed else np.bitwise_xor).reduceat(digest, starts),
        classes=classes,
        weight=weight,
    )


_ITEM = RowSql("id", "score", "says")


class SparkScanner(SqlScanner):
    """A `Scanner` over a DataFrame of Spark.

    Each question reads the data once. Only counts by bin, and rows that are asked for, leave Spark.
    The ids of CSV files are read once more, at first, to tell whether they are integers.
    """

    dialect = "spark"
    _ids: SparkIds

    def __init__(
        self,
        rows: SparkRows,  # the rows
        roles: Roles,  # which column is what
        show: Sequence[str],  # the columns that people see
        ids: SparkIds | None = None,  # the ids, where they were looked at before
    ) -> None:
        refuse_missing_columns(roles.columns, rows.frame.columns, rows.source)
        if roles.classes is not None:
            rows = rows_with_classes(rows, roles)
        names = {name: column_name(name) for name in rows.types}
        super().__init__(rows.source, roles, show, names, rows.types, is_text=rows.is_text)
        self._rows = self._inspected = rows
        self._ids = SparkIds(rows, str(roles.id)) if ids is None else ids
        shown = [f"{column_name(name)} AS shown_{i}" for i, name in enumerate(show)]
        told = [f"{self._ids.sql} AS id", f"{self._row.says} AS says", *shown]
        self._weights = ["weight"] if self._row.weight else []
        if self._weights:
            told.append(f"{self._row.weight} AS weight")
        for place, name in enumerate(roles.aux):
            said = plain_sql(column_name(name), rows.types[name], "spark")
            told.append(f"{said} AS aux_{place}")
        self._items = self._every = (
            rows.frame.selectExpr(*told, f"{self._row.score} AS score")
            if roles.model is None
            else self._by_model(roles.model, told)
        )

    def _by_model(self, model: Model, told: Sequence[str]) -> "DataFrame":
        """Return the items with the log odds by the model of their fold in the score's place."""
        return with_log_odds(
            self._rows.frame,
            model,
            self._names,
            self._rows.types,
            says=self._row.says,
            told=told,
            kind=self.id_kind,
        )

    def survey(self, seed: int) -> Survey:
        """Count all items by score, in one pass."""
        del seed  # to bring the first cards along would take a list in every group
        if not self._weights:
            items = with_digest(self._judged("score", "margin"), "id", self.id_kind)
            cells = self._counted(items, {"digest": "bit_xor"})
            return Survey(cells, doubts=self.checked(cells))
        exponent, _ = self._factor()
        self._items = impressions_of(self._every, exponent)
        items = with_digest(self._judged("score", "margin"), "id", self.id_kind)
        sums = {"digest": "bit_xor", "weight": "sum", WEIGHT_WORD: "bit_xor"}
        groups = self._grouped(with_weight_word(items), sums)
        cells = self._merged(groups)
        return Survey(
            cells,
            doubts=self.checked(cells),
            weighed=_evenest(groups, self._roles.n_classes, lambda cells: cells.by_weight),
            weights_word=xored(groups, WEIGHT_WORD),
        )

    def _factor(self) -> tuple[int, int]:
        """Return the power of two that makes impressions of weights, and the items above 0.

        A job, or two.
        What is wrong with a row is told of all, also of those of weight 0, as in memory.
        """
        row = self._row
        good = f"{usable_sql(row)} AND {row.weight} BETWEEN 0e0 AND {double_sql(LARGEST)}"
        rows = self._rows.frame.selectExpr(
            *("count(*)", f"sum({row.weight})", f"count_if({row.weight} > 0e0)"),
            f"count_if(NOT coalesce({good}, FALSE))",
        )
        size, total, above, bad = (column[0].as_py() for column in self._rows.fetch(rows).columns)
        if bad:
            self.tell_what_is_wrong()
        self._refuse_nothing(size)
        refuse_bad_total(total, f"column {self._roles.weight!r} of {self.source}")
        return factor_exponent(total, size, lambda: [self._rows_summed()]), above

    def _rows_summed(self) -> Floats:
        """Return some numbers whose exact sum is that of all weights."""
        weights = self._rows.frame.selectExpr(f"{self._row.weight} AS weight")
        return summed(self._rows.fetch(summed_by_exponent(weights)))

    def judged_by(self, groups: "pa.Table") -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """Return all items by score, and what looks odd, from groups that were counted."""
        cells = self._merged(groups)
        return cells, self.checked(cells)

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        groups = self._grouped(self._judged(variable, scale), dict.fromkeys(self._weights, "sum"))
        self._merged(groups)  # which tells what is wrong
        return _evenest(groups, self._roles.n_classes, lambda cells: cells.by_weight)

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the items in each span, and what they count for."""
        inside = case_sql(spans, [str(place) for place in range(len(spans))])
        weight = self._weights[0] if self._weights else "1L"
        rows = self._heaped(spans, self._judged(variable, scale))
        rows = rows.selectExpr(f"{inside} AS span", "1L AS item", f"{weight} AS weight")
        both = {"item": "sum", "weight": "sum"}
        found = self._rows.fetch(rows.where("span IS NOT NULL").groupBy("span").agg(both))
        counts = np.zeros((2, len(spans)), dtype=np.int64)
        for row, name in enumerate(both):
            counts[row, found["span"].to_numpy()] = found[f"sum({name})"].to_numpy()
        return counts

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Return the rows of all spans, with what people see of them."""
        literal = double_sql if self._weights else word_of_limit
        limit = case_sql(spans, [literal(span.limit) for span in spans])
        rows = self._heaped(spans, self._judged(variable, scale))
        rows = rows.selectExpr("*", f"{limit} AS highest")
        placed = with_place(rows.where("highest IS NOT NULL"), "id", self.id_kind, seed)
        low_enough = f"{number_of('place')} <= weight * highest"
        return self._taken(placed.where(low_enough if self._weights else "place <= highest"))

    def _heaped(self, spans: Sequence[Span], rows: "DataFrame") -> "DataFrame":
        """Return rows with the heap of what each says, where spans are of heaps."""
        if self._row.classes is None:
            return rows
        return rows.selectExpr("*", f"{heap_sql(spans, self._row.classes, 'spark')} AS heap")

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Return the rows with these ids, with what people see of them."""
        return self._taken(self._ids.only(ids, self._judged(variable, scale)))

    def probabilities(self, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Return the rows with these ids, and the probabilities of all classes."""
        rows = self._rows.frame.selectExpr(f"{self._ids.sql} AS id", f"{LIST} AS list")
        found = self._rows.fetch(self._ids.only(ids, rows))
        return self._ids.of(found["id"]), rows_of_lists(found["list"], self._roles.n_classes)

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""
        told = self._opined()
        columns = {f"told_{place}": family for place, (_, family) in enumerate(told)}
        named = (f"{sql} AS {name}" for name, (sql, _) in zip(columns, told, strict=True))
        rows = self._rows.frame.selectExpr(f"{self._ids.sql} AS id", *named)
        rows = with_digest(rows, "id", self.id_kind).withColumnRenamed("digest", "word")
        found = self._rows.fetch(with_words(rows, columns).groupBy().agg({"word": "bit_xor"}))
        return xored(found, "word")

    def _opined(self) -> list[tuple[str, Family]]:
        """Return what is said for a model of a row, as SQL, and what kind of values it is."""
        types = self._rows.types
        return [(column_name(name), family_of(types[name])) for name in self._roles.aux]

    def summed_probabilities(self) -> Floats | None:
        """Return those of every class, summed by the class that items are called, (K, K)."""
        if not self._roles.of_class:
            return None
        each = [f"{self._row.says} AS says", f"posexplode({LIST}) AS (number, p)"]
        rows = self._rows.frame.selectExpr(*each).selectExpr("says", "number", "greatest(p, 0e0) p")
        found = self._rows.fetch(rows.groupBy("says", "number").agg({"p": "sum"}))
        sums = np.zeros((self._roles.n_classes, self._roles.n_classes))
        sums[found["says"].to_numpy(), found["number"].to_numpy()] = found["sum(p)"].to_numpy()
        return sums

    @property
    def session(self) -> "SparkSession":
        """The Spark that reads the rows."""
        return self._rows.frame.sparkSession

    def fetch(self, frame: "DataFrame") -> "pa.Table":
        """Run what was asked of the rows, and bring the answer here."""
        return self._rows.fetch(frame)

    def judged_items(self) -> "DataFrame":
        """Return every item's id, score (as value), what it says, its weight, and what aux do."""
        given = ["given"] if self._weights else []
        aux = [f"aux_{place}" for place in range(len(self._roles.aux))]
        return self._items.selectExpr("id", "score AS value", "says", *given, *aux)

    def only(self, ids: Sequence[Id], rows: "DataFrame") -> "DataFrame":
        """Return the rows with these ids."""
        return self._ids.only(ids, rows)

    def ids_of(self, column: "pa.ChunkedArray[Any]") -> Ids:
        """Return ids that came from Spark."""
        return self._ids.of(column)

    def pieces(self) -> Iterator[tuple[Ids, Floats, Bools | Ints, Floats | None]]:
        """Return every row's id, score, label and weight, in one piece."""
        found = self.fetch(self.judged_items())
        values, says = (found[name].to_numpy() for name in ("value", "says"))
        given = found["given"].to_numpy() if self._weights else None
        yield self._ids.of(found["id"]), values + 0.0, says.astype(np.int64) == 1, given

    def _judged(self, variable: Variable, scale: Scale) -> "DataFrame":
        """Return every item's id, value, what it says and what is shown of it."""
        value = value_sql(_ITEM, variable, scale, self._roles.limit)
        shown = [f"shown_{i}" for i in range(len(self._show))]
        weights = ["weight", "given"] if self._weights else []
        return self._items.selectExpr("id", f"{value} AS value", "says", *shown, *weights)

    def _counted(self, items: "DataFrame", more: Mapping[str, str]) -> ScoreCells:
        return self._merged(self._grouped(items, more))

    def _grouped(self, items: "DataFrame", more: Mapping[str, str]) -> "pa.Table":
        return self._rows.fetch(grouped(items, self._row.classes, more=more))

    def _refuse_nothing(self, size: int) -> None:
        if not size:
            where = self._rows.where
            raise PredictionsError(
                f"there are no predictions in {self.source}",
                details=f"no row fulfils the condition {where}" if where else "",
            )

    def _merged(self, groups: "pa.Table") -> ScoreCells:
        self._refuse_nothing(groups.num_rows)
        cells = merged(groups, self._roles.n_classes)
        if cells is None:
            self.refuse_far_scores()
        return cells

    def _taken(self, rows: "DataFrame") -> Rows:
        table = self._rows.fetch(rows)
        columns = [shown_values(table[f"shown_{i}"]) for i in range(len(self._show))]
        values = zip(*columns, strict=True) if columns else [()] * table.num_rows
        said = table["says"].to_numpy().astype(np.int64)
        return Rows(
            self._ids.of(table["id"]),
            table["value"].to_numpy() + 0.0,  # -0.0 becomes 0.0, as in memory
            said == 1 if self._row.classes is None else said,
            [dict(zip(self._show, row, strict=True)) for row in values],
            *(table[name].to_numpy() for name in ("weight", "given") if self._weights),
        )
