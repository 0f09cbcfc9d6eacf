"""Predictions in Spark: counted and filtered where they lie, on however many machines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.core.deck import Id
from assay.core.profile import ScoreCells
from assay.core.types import Ints
from assay.core.variable import Scale, Variable
from assay.errors import PredictionsError
from assay.predictions.column import refuse_missing_columns
from assay.predictions.contract import IdKind
from assay.predictions.engine import Rows, Span, Survey
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.shown import shown_values
from assay.predictions.spark.cells import grouped, merged
from assay.predictions.spark.columns import column_name, with_digest, with_place, word_of_limit
from assay.predictions.spark.ids import SparkIds
from assay.predictions.spark.source import SparkRows, open_rows, reading_with_spark
from assay.predictions.spark.trial import refuse_other_arithmetic
from assay.predictions.sql.checks import refuse_bad_cells, refuse_bad_rows
from assay.predictions.sql.rows import RowSql, row_sql, value_sql
from assay.predictions.sql.span_sql import case_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ITEM = RowSql("id", "score", "says")


def open_spark(scan: Scan, roles: Roles, show: Sequence[str]) -> "SparkScanner":
    """Open predictions that Spark can read.

    The session is used as it is: none of its settings are changed, and no views are made in it.

    Parameters
    ----------
    scan : Scan
        Where they are, as `assay.predictions.spark.source.open_rows` takes it.
    roles : Roles
        Which column is what.
    show : sequence of str
        The columns that people see.
    """
    rows = open_rows(scan)
    with reading_with_spark(rows.source):
        refuse_other_arithmetic(rows.frame.sparkSession)
        return SparkScanner(rows, roles, show)


class SparkScanner:
    """A `Scanner` over a DataFrame of Spark.

    Each question reads the data once. Only counts by bin, and rows that are asked for, leave Spark.
    The ids of CSV files are read once more, at first, to tell whether they are integers.

    Parameters
    ----------
    rows : SparkRows
        The rows.
    roles, show
        As in `open_spark`.
    """

    def __init__(self, rows: SparkRows, roles: Roles, show: Sequence[str]) -> None:
        refuse_missing_columns([*roles.columns, *show], rows.frame.columns, rows.source)
        self._rows, self._roles, self._show = rows, roles, tuple(show)
        self._row = row_sql(
            roles,
            {name: column_name(name) for name in rows.types},
            rows.types,
            dialect="spark",
            is_text=rows.is_text,
            source=rows.source,
        )
        self._ids = SparkIds(rows, str(roles.id))
        self._items = rows.frame.selectExpr(
            f"{self._ids.sql} AS id",
            f"{self._row.score} AS score",
            f"{self._row.says} AS says",
            *(f"{column_name(name)} AS shown_{i}" for i, name in enumerate(show)),
        )

    @property
    def source(self) -> str:
        """Where the predictions come from, for people."""
        return self._rows.source

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self._ids.kind

    def survey(self, seed: int) -> Survey:
        """Count all items by score, in one pass."""
        del seed  # to bring the first cards along would take a list in every group
        items = self._judged("score", "margin")
        cells = self._counted(with_digest(items, "id", self.id_kind))
        refuse_bad_cells(cells, self._rows, self._row, self._roles)
        return Survey(cells)

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        return self._counted(self._judged(variable, scale).selectExpr("*", "0L AS digest"))

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the number of items in each span."""
        inside = case_sql(spans, [str(place) for place in range(len(spans))])
        rows = self._judged(variable, scale).selectExpr(f"{inside} AS span")
        found = self._rows.fetch(rows.where("span IS NOT NULL").groupBy("span").count())
        counts = np.zeros(len(spans), dtype=np.int64)
        counts[found["span"].to_numpy()] = found["count"].to_numpy()
        return counts

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Return the rows of all spans, with what people see of them."""
        limit = case_sql(spans, [word_of_limit(span.limit) for span in spans])
        rows = self._judged(variable, scale).selectExpr("*", f"{limit} AS highest")
        placed = with_place(rows.where("highest IS NOT NULL"), "id", self.id_kind, seed)
        return self._taken(placed.where("place <= highest"))

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Return the rows with these ids, with what people see of them."""
        return self._taken(self._ids.only(ids, self._judged(variable, scale)))

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of the items with these ids, in their order."""
        if not self._show:
            return [{} for _ in ids]
        found = self.find(ids, variable="score", scale="margin")
        there = found.ids.at(np.arange(len(found.ids)))
        shown = dict(zip(there, found.shown or [], strict=True))
        missing = sum(id not in shown for id in ids)
        if missing:
            raise PredictionsError(
                f"{self.source} has changed since it was read",
                details=f"{missing:,} of {len(ids):,} drawn items are no longer there",
            )
        return [shown[id] for id in ids]

    def refuse_repeated_ids(self) -> None:
        """Look at every id, and raise where one repeats."""
        self._ids.refuse_repeated()

    def _judged(self, variable: Variable, scale: Scale) -> "DataFrame":
        """Return every item's id, value, what it says and what is shown of it."""
        value = value_sql(_ITEM, variable, scale, self._roles.threshold)
        shown = [f"shown_{i}" for i in range(len(self._show))]
        return self._items.selectExpr("id", f"{value} AS value", "says", *shown)

    def _counted(self, items: "DataFrame") -> ScoreCells:
        groups = self._rows.fetch(grouped(items))
        if not groups.num_rows:
            where = self._rows.where
            raise PredictionsError(
                f"there are no predictions in {self.source}",
                details=f"no row fulfils the condition {where}" if where else "",
            )
        cells = merged(groups)
        if cells is None:
            is_text = self._rows.is_text and self._roles.score is not None
            written = column_name(str(self._roles.score)) if is_text else None
            refuse_bad_rows(self._rows, self._row, self._roles, written=written)
            raise PredictionsError(
                f"some scores of {self.source} are too far from the threshold "
                f"{self._roles.threshold}",
                details="the distance between a score and the threshold must fit in a float64",
            )
        return cells

    def _taken(self, rows: "DataFrame") -> Rows:
        table = self._rows.fetch(rows)
        columns = [shown_values(table[f"shown_{i}"]) for i in range(len(self._show))]
        values = zip(*columns, strict=True) if columns else [()] * table.num_rows
        return Rows(
            self._ids.of(table["id"]),
            table["value"].to_numpy() + 0.0,  # -0.0 becomes 0.0, as in memory
            table["says"].to_numpy() == 1,
            [dict(zip(self._show, row, strict=True)) for row in values],
        )
