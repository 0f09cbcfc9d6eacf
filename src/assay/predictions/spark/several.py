"""Several classifiers in Spark: a job for each, and one for the mean rank and code of all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from assay.errors import PredictionsError
from assay.predictions.column import refuse_missing_columns
from assay.predictions.engine import Survey
from assay.predictions.judgements import about
from assay.predictions.keys import key_parts, key_sql
from assay.predictions.memory import fingerprint_text
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.columns import refuse_other_arithmetic, spark_bin, with_digest
from assay.predictions.spark.opinions import with_bits
from assay.predictions.spark.scanner import SparkScanner, grouped, merged_by
from assay.predictions.spark.source import (
    SparkRows,
    column_name,
    open_rows,
    reading_with_spark,
)
from assay.predictions.sql.rows import RowSql
from assay.predictions.sql.several import Steps, mean_sql, n_codes, steps_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST = 2**63 - 1
# A word in pieces of so many bits: the sum of some 10^12 pieces fits into a BIGINT.
_PIECES = {"lowest": (0, 22), "middle": (22, 21), "highest": (43, 21)}


def open_spark(scan: Scan, roles: Mapping[str, Roles], show: Sequence[str]) -> SparkScanner:
    """Open predictions of one classifier or several that Spark can read.

    The session is used as it is: none of its settings are changed, and no views are made in it.

    Parameters
    ----------
    scan : Scan
        Where they are.
    roles : mapping of str to Roles
        Which columns are each classifier's; all name the same column of ids.
    show : sequence of str
        The columns that people see.
    """
    first, *_ = roles.values()
    rows = open_rows(scan)
    with reading_with_spark(rows.source):
        rows = _with_key(rows, first.id)
        refuse_other_arithmetic(rows.frame.sparkSession)
        if len(roles) == 1:
            (role,) = roles.values()
            return SparkScanner(rows, role, show)
        return SparkSeveral(rows, roles, show)


def _with_key(rows: SparkRows, id: str | None) -> SparkRows:
    """Return rows with a column for the key, where that is made of others."""
    parts = key_parts(id, list(rows.types))
    if not parts:
        return rows
    refuse_missing_columns(parts, list(rows.types), rows.source)
    names = {part: column_name(part) for part in parts}
    key = key_sql(parts, names, rows.types, dialect="spark", source=rows.source)
    return replace(rows, frame=rows.frame.selectExpr("*", f"{key} AS {column_name(str(id))}"))


class SparkSeveral(SparkScanner):
    """A `Scanner` of several classifiers: values are mean ranks, and what a row says is a code.

    Parameters
    ----------
    rows : SparkRows
        The rows.
    roles, show
        As in `open_spark`.
    """

    def __init__(self, rows: SparkRows, roles: Mapping[str, Roles], show: Sequence[str]) -> None:
        first, *_ = roles.values()
        super().__init__(rows, first, show)
        self._all = roles
        self._each: dict[str, SparkScanner] = {}
        for name, role in roles.items():
            with about(name):
                self._each[name] = SparkScanner(rows, role, (), self._ids)
        self._row = RowSql(
            *(self._row.id, self._row.score, self._row.says), classes=n_codes([*roles.values()])
        )
        said = [
            f"{expression} AS {name}_{place}"
            for place, one in enumerate(self._each.values())
            for name, expression in (("score", one.row.score), ("says", one.row.says))
        ]
        shown = [f"{column_name(name)} AS shown_{i}" for i, name in enumerate(show)]
        self._rows_of_each = rows.frame.selectExpr(f"{self._ids.sql} AS id", *shown, *said)

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code."""
        del seed  # as of one
        steps, doubts = steps_of(self._each)
        self._items = self._joined(steps)
        items = self._with_pieces(self._items)
        sums = dict.fromkeys(_PIECES, "sum")
        groups = self._rows.fetch(
            grouped(items, self._row.classes, rules=["probability"], more=sums)
        )
        if groups["probability"].null_count:
            self._tell_what_is_wrong()
        cells = merged_by(groups, "probability", self._row.classes or 2)
        if {cells.size, *(each.cells.size for each in steps)} != {cells.size}:
            raise PredictionsError(f"{self.source} has changed while it was read")
        total = sum(
            int(groups[f"sum({name})"].to_numpy().astype(object).sum()) << shift
            for name, (shift, _) in _PIECES.items()
        )
        return Survey(cells, None, doubts, fingerprint_text(cells.size, total))

    def _joined(self, steps: Sequence[Steps]) -> "DataFrame":
        """Return every item's mean rank and code, with what each classifier says of it."""
        rows, ranks, codes = self._rows_of_each, [], []
        kept = [column_name(name) for name in rows.columns]
        keys = [
            f"{spark_bin(f'score_{place}', step.cells.rule)} * {step.cells.classes} "
            f"+ says_{place} AS key_{place}"
            for place, step in enumerate(steps)
        ]
        rows = rows.selectExpr(*kept, *keys)
        for place, (role, step) in enumerate(zip(self._all.values(), steps, strict=True)):
            cells = step.cells
            table = pa.table(
                {
                    f"key_{place}": pa.array(cells.bin * cells.classes + cells.said, pa.int32()),
                    f"rank_{place}": step.rank,
                    f"code_{place}": step.code,
                }
            )
            told = rows.sparkSession.createDataFrame(table)
            rows = rows.join(told.hint("broadcast"), f"key_{place}")
            codes.append(f"code_{place}")
            if role.has_score:
                ranks.append(f"rank_{place}")
        value, code = f"{mean_sql(ranks)} AS score", f"{' + '.join(codes)} AS says"
        return rows.selectExpr(*kept, value, code)

    def _with_pieces(self, items: "DataFrame") -> "DataFrame":
        """Return items with what the fingerprint is made of: each one's word in pieces."""
        kept = ["id", "value", "says"]
        own = [f"{name}_{place}" for place in range(len(self._each)) for name in ("score", "says")]
        rows = items.selectExpr("id", "score AS value", "says", *own)
        rows = with_digest(rows, "id", self.id_kind).withColumnRenamed("digest", "word")
        for place in range(len(self._each)):
            score, says, *rest = own[2 * place :]
            others = [*kept, *rest]
            keep = [*others, says, "word"]
            rows = with_bits(rows.selectExpr(*keep, f"{score} AS x"), keep)
            rows = with_digest(rows, "bits", "integer")
            rows = rows.selectExpr(*others, says, "word ^ digest AS word")
            # Modulo 2^64, which the session may call an overflow.
            plus = (
                f"CASE WHEN word <= {_MOST}L - {says} THEN word + {says} "
                f"ELSE (word - {_MOST}L - 1L) + ({says} - {_MOST}L - 1L) END AS word"
            )
            rows = with_digest(rows.selectExpr(*others, plus), "word", "integer")
            rows = rows.selectExpr(*others, "digest AS word")
        pieces = [
            f"shiftrightunsigned(word, {shift}) & {2**bits - 1}L AS {name}"
            for name, (shift, bits) in _PIECES.items()
        ]
        return rows.selectExpr(*kept, *pieces)
