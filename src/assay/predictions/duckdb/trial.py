"""Whether the DuckDB at hand computes the bins that numpy does: tried once in a process."""

from functools import cache

import duckdb
import numpy as np

from assay.core.bins import Rule, bins_of
from assay.errors import PredictionsError
from assay.predictions.sql.bins import TRIED, double_sql, spread_sql


def duckdb_bin(value: str, rule: Rule) -> str:
    """Return DuckDB's expression for the bin of a value, a SMALLINT.

    Parameters
    ----------
    value : str
        An expression of type DOUBLE or FLOAT.
    rule : {"probability", "tail", "margin"}
        As in `assay.core.bins`.

    Examples
    --------
    >>> duckdb.sql("SELECT " + duckdb_bin("0.9::DOUBLE", "probability")).fetchall()
    [(1295,)]
    """
    return f"({spread_sql(value, rule)})::SMALLINT"  # the cast rounds halves to even


@cache
def refuse_other_bins() -> None:
    """Raise an error if this DuckDB would make other strata than every other engine."""
    with duckdb.connect() as connection:
        for rule, values in TRIED.items():
            rows = ", ".join(f"({double_sql(value)})" for value in values)
            found = connection.sql(f"FROM (VALUES {rows}) AS tried(x)").project(
                duckdb_bin("x", rule)
            )
            if [bin for (bin,) in found.fetchall()] != bins_of(np.array(values), rule).tolist():
                raise PredictionsError(
                    f"this DuckDB computes otherwise than numpy: the bin of a {rule}",
                    details=f"version {duckdb.__version__}; it would make other strata",
                    hint="read the predictions with engine 'memory'",
                )
