"""Tables of databases: of a DuckDB file, and which one a name means."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from assay.errors import PredictionsError, did_you_mean
from assay.predictions.duckdb.paths import is_remote
from assay.predictions.duckdb.readable import Readable, identifier, refuse_repeated_columns
from assay.predictions.sql.rows import quoted

_TOLD = 20  # tables that an error lists

DatabaseTable = tuple[str, str, bool]
"""A table's schema and name, and whether the name alone is enough."""


def is_database(path: str) -> bool:
    """Tell whether a path is that of a DuckDB file, by its name.

    Examples
    --------
    >>> is_database("preds.duckdb"), is_database("preds.parquet")
    (True, False)
    """
    return path.lower().endswith((".duckdb", ".ddb", ".db"))


def readable_table(connection: duckdb.DuckDBPyConnection, path: str, table: str | None) -> Readable:
    """Return a table or view of a DuckDB file, which is opened for reading only.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = str(Path(folder, "a.duckdb"))
    ...     with duckdb.connect(path) as database:
    ...         _ = database.execute("CREATE TABLE preds AS SELECT 7 AS id")
    ...     with duckdb.connect() as connection:
    ...         found = readable_table(connection, path, "preds")
    ...         connection.sql(f"FROM {found.sql}").fetchall()
    [(7,)]
    """
    if not is_remote(path) and not Path(path).exists():
        raise PredictionsError(
            f"{path!r} not found",
            details=f"there is no file of that name, seen from {Path.cwd()}",
        )
    connection.execute(f"ATTACH {quoted(path, 'duckdb')} AS source (READ_ONLY, TYPE duckdb)")
    rows = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_catalog = 'source' ORDER BY ALL"
    ).fetchall()
    schema, name = find_table(
        table, [(schema, name, schema == "main") for schema, name in rows], path
    )
    size = 0 if is_remote(path) else Path(path).stat().st_size
    sql = f"source.{identifier(schema)}.{identifier(name)}"
    return Readable(f"table {table} of {path}", sql, size, is_lasting=True)


def find_table(wanted: str | None, tables: Iterable[DatabaseTable], label: str) -> tuple[str, str]:
    """Return the schema and the name of the table that is meant.

    Parameters
    ----------
    wanted : str or None
        Its name, behind its schema and a dot if need be; as it is, without quotes.
    tables : iterable of DatabaseTable
        Those that there are.
    label : str
        The database, for people.

    Examples
    --------
    >>> tables = [("main", "preds", True), ("old", "preds", False)]
    >>> find_table("old.preds", tables, "a.duckdb")
    ('old', 'preds')
    >>> find_table("pred", tables, "a.duckdb")
    Traceback (most recent call last):
    assay.errors.PredictionsError: table 'pred' not found in a.duckdb
    tables: preds, old.preds
    hint: did you mean 'preds'?
    """
    called: dict[str, tuple[str, str]] = {}
    for schema, name, is_enough in tables:
        called[name if is_enough else f"{schema}.{name}"] = (schema, name)
    qualified = {f"{schema}.{name}": (schema, name) for schema, name in called.values()}
    some = [*list(called)[:_TOLD], *(["..."] if len(called) > _TOLD else [])]
    told = f"tables: {', '.join(some) or 'none'}"
    if wanted is None:
        raise PredictionsError(
            f"no table of {label} is named",
            details=told,
            hint=f"say which: table={next(iter(called))!r}" if called else "",
        )
    found = called.get(wanted) or qualified.get(wanted)
    if found is None:
        raise PredictionsError(
            f"table {wanted!r} not found in {label}",
            details=told,
            hint=did_you_mean(wanted, [*called, *qualified]),
        )
    return found


# A query in DuckDB's SQL as predictions.

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
