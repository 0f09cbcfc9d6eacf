"""Values that occur in a column of rows in Spark."""

from assay.errors import PredictionsError
from assay.predictions.class_values import Occurring, class_text
from assay.predictions.column import refuse_missing_columns
from assay.predictions.scan import Scan
from assay.predictions.spark.source import column_name, open_rows


def distinct_in_spark(scan: Scan, column: str, limit: int, *, complete: bool) -> Occurring:
    """Return the values of a column, up to two more than a limit."""
    rows = open_rows(scan)
    refuse_missing_columns([column], rows.frame.columns, rows.source)
    name, where = column_name(column), f"column {column!r} of {rows.source}"
    found = rows.frame.selectExpr(f"{name} AS value").distinct().limit(limit + 2)
    values = rows.fetch(found)["value"].to_pylist()
    if complete and not all(map(class_text, values)):
        blank = f"{name} IS NULL OR trim(CAST({name} AS STRING)) IN ('', 'NaN')"
        count, size = rows.count([blank, "TRUE"])
        raise PredictionsError(
            f"{count:,} of {size:,} predicted classes in {where} are missing",
            hint="mend or drop these rows",
        )
    return Occurring(values, where)
