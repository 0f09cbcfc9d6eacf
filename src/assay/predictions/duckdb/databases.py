"""Tables of a DuckDB file or a database, and queries."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from assay.errors import PredictionsError, refuse_no_file
from assay.lazy import later
from assay.predictions.databases.database import Database, DatabaseRows, find_rows, find_table
from assay.predictions.databases.postgres import Postgres
from assay.predictions.duckdb.readable import Readable
from assay.predictions.faults import refuse_repeated_columns
from assay.predictions.scan import is_remote
from assay.predictions.sql.query import identifier, quoted

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = later("pyarrow.parquet")


def readable_table(connection: duckdb.DuckDBPyConnection, path: str, table: str | None) -> Readable:
    """Table or view of a DuckDB file, opened read-only."""
    if not is_remote(path) and not Path(path).exists():
        raise PredictionsError(
            f"{path!r} not found", details=f"no such file (current folder: {Path.cwd()})"
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


# A query in DuckDB's SQL as predictions.

_SHOWN = 60  # characters of a query that serve as its name


def name_of(query: str) -> str:
    r"""Display name of a query.

    >>> name_of("SELECT id,\n  p FROM preds")
    "query 'SELECT id, p FROM preds'"
    """
    words = " ".join(query.split())
    return f"query {words if len(words) <= _SHOWN else words[: _SHOWN - 1] + '…'!r}"


def readable_query(
    connection: duckdb.DuckDBPyConnection, query: str, wanted: Sequence[str]
) -> Readable:
    """Query as DuckDB reads it.

    It must be one SELECT; it is checked without being run. Relative paths in it start from the
    working directory. The wanted columns must not repeat.

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
    # The line breaks end a comment in the last line of the query.
    return Readable(label, f"(\n{one}\n) AS query")


# A PostgreSQL table, copied once into Parquet files.


# Every value is in quotes, so that a line is never empty and \N without them is NULL.
_FORMAT = r"(FORMAT csv, NULL '\N', FORCE_QUOTE *)"
_READ = (
    "auto_detect = false, header = false, delim = ',', quote = '\"', escape = '\"', "
    r"nullstr = '\N', allow_quoted_nulls = false, new_line = '\n', "
    # One thread: others would look for line ends that may lie within quotes.
    "parallel = false, max_line_size = 67108864"
)

# Bytes copied from one file into the other at once; DuckDB needs several times as many.
_PART = 32 * 2**20


def readable_copy(
    connection: duckdb.DuckDBPyConnection,  # writes the files
    url: str,  # ``postgresql://user:password@host:port/database``, as libpq has it
    *,
    table: str | None,  # the table, a view too; None for an error that lists them
    where: str | None,  # a condition on the rows, which PostgreSQL looks at
    wanted: Sequence[str],  # the columns
    folder: Path,  # folder of the copy
) -> Readable:
    """Copy columns of a table into Parquet files, in one read-only transaction."""
    database = Postgres(url)
    label = database.address if table is None else f"table {table} of {database.address}"
    with database.connected(label):
        rows = find_rows(database, table=table, where=where, wanted=wanted)
        columns = [column for column in rows.columns if column.name in set(wanted)]
        struct = ", ".join(f"{quoted(each.name, 'duckdb')}: '{each.type}'" for each in columns)
        paths: list[Path] = []
        for lines in _parts(database, rows, wanted, folder):
            source = f"read_csv({quoted(str(lines), 'duckdb')}, {_READ}, columns = {{{struct}}})"
            path = folder / f"copy-{len(paths):06}.parquet"
            target = quoted(str(path), "duckdb")
            connection.execute(f"COPY (FROM {source}) TO {target} (FORMAT parquet)")
            paths.append(path)
    size = sum(path.stat().st_size for path in paths)
    sql = f"read_parquet([{', '.join(quoted(str(path), 'duckdb') for path in paths)}])"
    return Readable(label, sql, size, is_lasting=True, is_filtered=True)


# A table of another database, copied through its driver.


def readable_pieces(
    database: Database,  # database of the table
    *,
    table: str | None,
    where: str | None,
    wanted: Sequence[str],
    folder: Path,
) -> Readable:
    """Copy columns of a ClickHouse or SQLite table into a Parquet file."""
    rows = find_rows(database, table=table, where=where, wanted=wanted)
    readable = [column for column in rows.columns if column.name in set(wanted)]
    schema = pa.schema([(column.name, _arrow(column.type)) for column in readable])
    path = folder / "copy.parquet"
    with database.connected(rows.source), pq.ParquetWriter(path, schema) as file:
        for piece in database.pieces(rows.select(wanted)):
            columns: Any = zip(*piece, strict=True)
            arrays = [
                pa.array(each, kind) for each, kind in zip(columns, schema.types, strict=True)
            ]
            file.write_table(pa.Table.from_arrays(arrays, schema=schema))
    sql = f"read_parquet({quoted(str(path), 'duckdb')})"
    return Readable(rows.source, sql, path.stat().st_size, is_lasting=True, is_filtered=True)


def _arrow(kind: str) -> "pa.DataType":
    """Arrow's type for a DuckDB type."""
    if kind.startswith("DECIMAL"):
        digits, places = re.findall(r"\d+", kind)
        return pa.decimal128(int(digits), int(places))
    types: dict[str, pa.DataType] = {
        "BOOLEAN": pa.bool_(),
        "BIGINT": pa.int64(),
        "UBIGINT": pa.uint64(),
    }
    return (types | {"DOUBLE": pa.float64()}).get(kind, pa.string())


def _parts(
    database: Postgres, rows: DatabaseRows, wanted: Sequence[str], folder: Path
) -> Iterator[Path]:
    """Write the rows into one file, part by part; read each part before the next."""
    path, copying = folder / "copy.csv", f"COPY ({rows.select(wanted)}) TO STDOUT {_FORMAT}"
    with database.connection.cursor() as cursor, cursor.copy(copying.encode()) as lines:
        coming = iter(lines)
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
