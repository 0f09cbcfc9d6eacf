"""Tables of databases, of a DuckDB file or PostgreSQL, and queries."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import duckdb

from assay.errors import (
    MissingDependencyError,
    PredictionsError,
    did_you_mean,
    install,
    refuse_no_file,
)
from assay.predictions.column import refuse_missing_columns
from assay.predictions.duckdb.paths import is_remote
from assay.predictions.duckdb.readable import (
    Readable,
    bad_condition,
    condition,
    first_lines,
    identifier,
    refuse_repeated_columns,
)
from assay.predictions.sql.rows import quoted

if TYPE_CHECKING:
    from psycopg import Column, Connection
    from psycopg.sql import Composed

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
    """Return a table or view of a DuckDB file, which is opened for reading only."""
    if not is_remote(path) and not Path(path).exists():
        raise PredictionsError(
            f"{path!r} not found",
            details=f"there is no file of that name, seen from {Path.cwd()}",
        )
    if not is_remote(path):
        refuse_no_file(path, error=PredictionsError)
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

    The name stands behind its schema and a dot if need be, without quotes.

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

    It is one SELECT, and is checked without being run. Relative paths in it are seen from the
    working directory; the columns wanted must not be there twice.

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


# A table of PostgreSQL, copied once into Parquet files.


# PostgreSQL's numbers of the types that DuckDB knows as well; all others are read as the text that
# PostgreSQL writes, which is exact.
_TYPES = {
    16: "BOOLEAN",
    20: "BIGINT",
    21: "SMALLINT",
    23: "INTEGER",
    26: "UINTEGER",
    700: "FLOAT",
    701: "DOUBLE",
}
_NUMERIC = 1700

# Every value is in quotes, so that a line is never empty and \N without them is NULL.
_FORMAT = r"(FORMAT csv, NULL '\N', FORCE_QUOTE *)"
_READ = (
    "auto_detect = false, header = false, delim = ',', quote = '\"', escape = '\"', "
    r"nullstr = '\N', allow_quoted_nulls = false, new_line = '\n', "
    # One thread: others would look for line ends that may lie within quotes.
    "parallel = false, max_line_size = 67108864"
)

# So many bytes go from one file into the other at once; DuckDB holds several times as many.
_PART = 32 * 2**20

_TABLES = """
SELECT nspname, relname, pg_table_is_visible(pg_class.oid)
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
  AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY nspname, relname
"""


def is_postgres(text: str) -> bool:
    """Tell whether a text is the URL of a PostgreSQL database.

    Examples
    --------
    >>> is_postgres("postgresql://host/db"), is_postgres("preds.parquet")
    (True, False)
    """
    return re.match(r"postgres(ql)?(\+\w+)?://", text) is not None


def address_of(url: str) -> str:
    """Return the URL without the names and the password that may be in it.

    Examples
    --------
    >>> address_of("postgresql://someone:secret@host:5432/db?sslmode=require")
    'postgresql://host/db'
    """
    parts = urlsplit(url)
    return f"postgresql://{parts.hostname or ''}{parts.path}"


def readable_copy(
    connection: duckdb.DuckDBPyConnection,
    url: str,
    *,
    table: str | None,
    where: str | None,
    wanted: Sequence[str],
    folder: Path,
) -> Readable:
    """Copy columns of a table into Parquet files, in one reading transaction.

    Parameters
    ----------
    connection : DuckDB connection
        Writes the files.
    url : str
        ``postgresql://user:password@host:port/database``, as libpq has it.
    table : str or None
        The table, a view too; None for an error that lists them.
    where : str or None
        A condition on the rows, which PostgreSQL looks at.
    wanted : sequence of str
        The columns.
    folder : Path
        Where the copy goes.
    """
    database = address_of(url)
    label = database if table is None else f"table {table} of {database}"
    with _connected(url, label) as server:
        schema, name = find_table(table, server.execute(_TABLES).fetchall(), database)
        columns = _columns(server, schema, name)
        names = [column.name for column in columns]
        refuse_repeated_columns(wanted, names, label)
        refuse_missing_columns(wanted, names, label)
        select = _select(schema, name, wanted, where)
        if where:
            _try_condition(server, select, where, names)
        types = {column.name: _type(column) for column in columns}
        struct = ", ".join(f"{quoted(name, 'duckdb')}: '{types[name]}'" for name in wanted)
        paths: list[Path] = []
        for lines in _parts(server, select, folder):
            source = f"read_csv({quoted(str(lines), 'duckdb')}, {_READ}, columns = {{{struct}}})"
            path = folder / f"copy-{len(paths):06}.parquet"
            target = quoted(str(path), "duckdb")
            connection.execute(f"COPY (FROM {source}) TO {target} (FORMAT parquet)")
            paths.append(path)
    size = sum(path.stat().st_size for path in paths)
    sql = f"read_parquet([{', '.join(quoted(str(path), 'duckdb') for path in paths)}])"
    return Readable(label, sql, size, is_lasting=True, is_filtered=True)


def postgres_columns(url: str, table: str | None) -> list[str]:
    """Return the columns of a table of PostgreSQL, of which nothing else is read.

    Parameters
    ----------
    url, table
        As in `readable_copy`.
    """
    database = address_of(url)
    with _connected(url, database) as server:
        schema, name = find_table(table, server.execute(_TABLES).fetchall(), database)
        return [column.name for column in _columns(server, schema, name)]


@contextmanager
def _connected(url: str, label: str) -> Iterator["Connection"]:
    try:
        import psycopg
    except ImportError:
        raise MissingDependencyError("PostgreSQL needs psycopg", hint=install("postgres")) from None
    plain = re.sub(r"^\w+(\+\w+)?://", "postgresql://", url)
    try:
        with psycopg.connect(plain, client_encoding="utf8") as server:
            server.read_only = True
            server.execute("SET extra_float_digits = 3")  # before version 12 it rounded
            # Rows keep the order they lie in.
            server.execute("SET synchronize_seqscans = off")
            yield server
    except psycopg.Error as error:
        raise PredictionsError(f"{label} cannot be read", details=first_lines(error, 3)) from error


def _columns(server: "Connection", schema: str, name: str) -> "list[Column]":
    from psycopg import sql

    query = sql.SQL("SELECT * FROM {} LIMIT 0").format(sql.Identifier(schema, name))
    return server.execute(query).description or []


def _type(column: "Column") -> str:
    if column.type_code != _NUMERIC:
        return _TYPES.get(column.type_code, "VARCHAR")
    digits, places = column.precision, column.scale
    if digits is None or places is None or not 0 <= places <= digits <= 38:
        return "DOUBLE"  # any number of digits; the nearest is what a score becomes in any case
    return f"DECIMAL({digits},{places})"


def _select(schema: str, name: str, wanted: Sequence[str], where: str | None) -> "Composed":
    from psycopg import sql

    return sql.SQL("SELECT {} FROM {} {}").format(
        sql.SQL(", ").join(map(sql.Identifier, wanted)),
        sql.Identifier(schema, name),
        sql.SQL(condition(where) if where else ""),
    )


def _try_condition(
    server: "Connection", select: "Composed", where: str, names: Sequence[str]
) -> None:
    import psycopg
    from psycopg import sql

    try:
        # PostgreSQL prepares one statement at a time: a condition cannot end it and begin another,
        # which could leave the transaction that only reads.
        server.execute(sql.SQL("EXPLAIN ") + select, prepare=True)
    except psycopg.Error as error:
        raise bad_condition(where, error, names) from error


def _parts(server: "Connection", select: "Composed", folder: Path) -> Iterator[Path]:
    """Write the rows into a file, again and again; each time it is to be read before the next."""
    from psycopg import sql

    path = folder / "copy.csv"
    copying = sql.SQL("COPY ({}) TO STDOUT " + _FORMAT).format(select)
    with server.cursor() as cursor, cursor.copy(copying) as rows:
        coming = iter(rows)
        is_last = False
        while not is_last:
            size = 0
            with path.open("wb") as file:
                while size < _PART and not is_last:
                    row = next(coming, b"")  # libpq gives one row at a time
                    size += file.write(row)
                    is_last = not row
            yield path
    path.unlink()
