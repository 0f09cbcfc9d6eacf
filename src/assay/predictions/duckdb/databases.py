"""Tables of a DuckDB file or a database, and queries."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from assay.errors import PredictionsError, refuse_no_file
from assay.lazy import later
from assay.predictions.databases.database import Database, find_rows, find_table
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


# A table of a database, copied once.


def readable_copy(
    database: Database,
    *,
    table: str | None,  # the table, a view too; None for an error that lists them
    where: str | None,  # a condition on the rows, which the database looks at
    wanted: Sequence[str],  # the columns
    folder: Path,  # folder of the copy
) -> Readable:
    """Copy columns of a table into a Parquet file, in one transaction if the database has them."""
    path = folder / "copy.parquet"
    with database.connected(database.name_of(table)):
        rows = find_rows(database, table=table, where=where, wanted=wanted)
        readable = [column for column in rows.columns if column.name in set(wanted)]
        schema = pa.schema([(column.name, _arrow(column.type)) for column in readable])
        with pq.ParquetWriter(path, schema) as file:
            for piece in database.copied(rows.select(wanted), schema):
                file.write_table(piece)
    sql = f"read_parquet({quoted(str(path), 'duckdb')})"
    return Readable(rows.source, sql, path.stat().st_size, is_lasting=True, is_filtered=True)


def _arrow(kind: str) -> "pa.DataType":
    """Arrow's type for a DuckDB type."""
    if kind.startswith("DECIMAL"):
        digits, places = re.findall(r"\d+", kind)
        return pa.decimal128(int(digits), int(places))
    types: dict[str, pa.DataType] = {
        "BOOLEAN": pa.bool_(),
        "SMALLINT": pa.int16(),
        "INTEGER": pa.int32(),
        "UINTEGER": pa.uint32(),
        "BIGINT": pa.int64(),
        "UBIGINT": pa.uint64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
    }
    return types.get(kind, pa.string())
