"""A query in DuckDB's SQL as predictions."""

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from assay.errors import PredictionsError
from assay.predictions.duckdb.readable import Readable, refuse_repeated_columns

_SHOWN = 60  # characters of a query that serve as its name


def is_query(text: str) -> bool:
    """Tell whether a text is a query, and no path.

    Examples
    --------
    >>> is_query("SELECT * FROM 'preds.parquet'"), is_query("selected.parquet")
    (True, False)
    """
    if not re.match(r"[\s(]*(select|with|from|values)\b\s*\S", text, re.IGNORECASE):
        return False
    try:
        return not Path(text).exists()
    except (OSError, ValueError):
        return True  # too long for a path


def name_of(query: str) -> str:
    r"""Return what a query is called in front of people.

    Examples
    --------
    >>> name_of("SELECT id,\n  p FROM preds")
    "query 'SELECT id, p FROM preds'"
    """
    words = " ".join(query.split())
    return f"query {words if len(words) <= _SHOWN else words[: _SHOWN - 1] + '…'!r}"


def readable_query(
    connection: duckdb.DuckDBPyConnection, query: str, wanted: Sequence[str]
) -> Readable:
    """Return a query as DuckDB reads it.

    Parameters
    ----------
    connection : DuckDB connection
        Checks the query without running it.
    query : str
        One SELECT. Relative paths in it are seen from the working directory.
    wanted : sequence of str
        The columns that must not be there twice.

    Examples
    --------
    >>> with duckdb.connect() as connection:
    ...     readable_query(connection, "SELECT 7 AS id, 0.5 AS p;", ["id"]).label
    "query 'SELECT 7 AS id, 0.5 AS p;'"
    """
    statements = connection.extract_statements(query)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise PredictionsError(
            f"{query!r} is not one query",
            details="one SELECT is needed, without other statements before or after it",
        )
    one = query.strip().rstrip(";").rstrip()
    label = name_of(query)
    refuse_repeated_columns(wanted, connection.sql(one).columns, label)
    # The line ends keep a comment in the last line of the query from going on.
    return Readable(label, f"(\n{one}\n) AS query")
