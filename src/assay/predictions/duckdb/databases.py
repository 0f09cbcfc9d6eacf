"""Tables of databases: of a DuckDB file, and which one a name means."""

from collections.abc import Iterable
from pathlib import Path

import duckdb

from assay.errors import PredictionsError, did_you_mean
from assay.predictions.duckdb.paths import is_remote
from assay.predictions.duckdb.readable import Readable, identifier
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
