"""Values that occur in a column of a relation of DuckDB: mostly the first rows tell."""

from typing import Any

import duckdb
import numpy as np

from assay.errors import PredictionsError
from assay.predictions.class_values import Occurring, class_text
from assay.predictions.column import examples
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import Relation

_FIRST = 100_000  # rows that are looked at before all others
_BLANK = "value IS NULL OR trim(value::VARCHAR) IN ('', 'nan')"


def distinct_in_duckdb(relation: Relation, column: str, limit: int, *, complete: bool) -> Occurring:
    """Return the values of a column, up to two more than a limit."""
    where = f"column {column!r} of {relation.label}"
    rows = relation.connection.sql(f"FROM {relation.sql}").project(f"{identifier(column)} AS value")

    def fetched(found: duckdb.DuckDBPyRelation) -> list[Any]:
        with reading(relation.label):
            return found.fetchall()

    def first_rows(condition: str) -> str:
        numbered = rows.project("row_number() OVER () - 1 AS row, value").filter(condition)
        return examples(np.array([row for row, _ in fetched(numbered.order("row").limit(3))]))

    def rows_with(value: object) -> str:
        wanted = duckdb.ConstantExpression(value)
        return first_rows(f"value = {wanted}")

    some = fetched(rows.limit(_FIRST).distinct().limit(limit + 2))
    if len(some) > limit + (1 if complete else 0):
        return Occurring([value for (value,) in some], where)
    values = [value for (value,) in fetched(rows.distinct().limit(limit + 2))]
    if complete and not all(map(class_text, values)):
        ((count, size),) = fetched(rows.aggregate(f"count_if({_BLANK}), count(*)"))
        raise PredictionsError(
            f"{count:,} of {size:,} predicted classes in {where} are missing",
            details=first_rows(_BLANK),
            hint="mend or drop these rows",
        )
    return Occurring(values, where, rows_with)
