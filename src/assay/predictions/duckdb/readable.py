"""Readable sources of DuckDB: tables, queries, copies, and errors that name the source."""

import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from assay.errors import AssayError, PredictionsError, refuse_no_file
from assay.lazy import later
from assay.predictions.databases.database import Database, find_rows, find_table
from assay.predictions.faults import bad_condition, condition, first_lines, refuse_repeated_columns
from assay.predictions.query import identifier, quoted
from assay.predictions.scan import is_remote

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = later("pyarrow.parquet")

# Message of a confined DuckDB (`assay.predictions.duckdb.paths`).
_DENIED = re.compile(r'Cannot access \w+ "([^"]*)" - file system operations are disabled')


# A number of a column: with a comma in place of a point, and in percent; other texts stay.
_DIGITS = "replace(rtrim(trim({0}), ' %'), ',', '.')"
_LOCAL_NUMBER = (
    "CASE WHEN NOT regexp_full_match(trim({0}), '[-+]?[0-9]*[.,]?[0-9]+ *%?') THEN {0} "
    f"WHEN contains({{0}}, '%') THEN CAST(CAST({_DIGITS} AS DOUBLE) / 100 AS VARCHAR) "
    f"ELSE {_DIGITS} END"
)


@dataclass(frozen=True)
class Readable:
    """Rows that DuckDB can read."""

    label: str  # description, for users
    sql: str  # table expression
    bytes: int = 0  # size on disk; 0 if unknown
    is_text: bool = False  # whether every value is text, as in a CSV file
    is_lasting: bool = False  # whether the rows can be read repeatedly at little cost
    is_filtered: bool = False  # whether the condition has been applied already

    def with_numbers(self, columns: Sequence[str]) -> "Readable":
        """Read the numbers of some columns as spreadsheets write them: 0,84 and 84.3%."""
        if columns and not self.is_text:
            raise PredictionsError(
                f"local_numbers={[*columns]!r} is not for {self.label}",
                details="in CSV files and workbooks numbers are text; elsewhere they have a type",
                hint="leave it out",
            )
        if not columns:
            return self
        names = (identifier(name) for name in columns)
        converted = ", ".join(f"{_LOCAL_NUMBER.format(name)} AS {name}" for name in names)
        return replace(self, sql=f"(FROM {self.sql} SELECT * REPLACE ({converted})) AS t")


@contextmanager
def reading(label: str) -> Iterator[None]:
    """Raise errors of DuckDB and Arrow as errors of the source.

    >>> with reading("preds.parquet"):
    ...     _ = duckdb.sql("SELECT CAST('x' AS INTEGER)").fetchall()
    Traceback (most recent call last):
    assay.errors.PredictionsError: preds.parquet cannot be read
    Conversion Error: Could not convert string 'x' to INT32
    """
    try:
        yield
    except AssayError:
        raise
    except (duckdb.Error, pa.ArrowException, OSError, RuntimeError, ValueError) as error:
        # In a damaged file not even the column names need be text; DuckDB may then raise other
        # errors than its own.
        refuse_bad_text(error, label)
        extension = re.search(r'"INSTALL (\w+)"', str(error))
        if extension:
            name = extension[1]
            raise PredictionsError(
                f"{label} cannot be read",
                details=f"DuckDB needs its extension {name}, which is not installed",
                hint=f"python -c \"import duckdb; duckdb.execute('INSTALL {name}')\"",
            ) from error
        unnamed = _DENIED.search(str(error))
        # DuckDB tries a missing file as a folder.
        folder = unnamed and unnamed[1].partition("/**/")
        if folder and folder[1] and not Path(folder[0]).exists():
            gone = f"there is no file {folder[0]!r} (current folder: {Path.cwd()})"
            raise PredictionsError(f"{label} cannot be read", details=gone) from error
        if unnamed:
            raise PredictionsError(
                f"{label} refers to {unnamed[1]!r}, which was not named",
                details="what a path, a query or a condition names itself is read, and nothing "
                "else: no file behind a view or a macro, none whose name is put together",
                hint=f"if it is meant, give a query that names {unnamed[1]!r}",
            ) from error
        raise PredictionsError(f"{label} cannot be read", details=first_lines(error, 3)) from error


# Conditions on the rows that make up the population.


def filtered(
    connection: duckdb.DuckDBPyConnection,
    sql: str,  # table expression
    where: str,  # the condition, as it was given
    names: Sequence[str],  # of the columns, for the error
    *,
    # Whether every column is text, as in a CSV file; the error then says how to compare numbers.
    is_text: bool,
) -> str:
    """Table expression of the rows that fulfil a condition."""
    rows = f"FROM {sql} {condition(where)}"
    try:
        kinds = [statement.type for statement in connection.extract_statements(rows)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise PredictionsError(f"where={where!r} is more than a condition")
        connection.execute(f"DESCRIBE {rows}").fetchall()
    except duckdb.Error as error:
        as_number = is_text and "cast is required" in str(error)
        hint = "in a CSV file every column is text: CAST(score AS DOUBLE) > 0.5"
        raise bad_condition(where, error, names, hint if as_number else "") from error
    return f"({rows}) AS t"


# Lines of CSV files that DuckDB cannot read: which, why, and what to do.

_FILE = re.compile(r"^\s*file = (.+)$", re.MULTILINE)
_TOO_LONG = re.compile(r"Maximum line size of (\d+) bytes exceeded. Actual Size:\s*(\d+) bytes")
_AROUND = 12  # bytes on both sides of one that is not text


def refuse_bad_text(error: Exception, label: str) -> None:
    """If DuckDB's error is about unreadable text, raise one that names the line."""
    message = str(error)
    named = _FILE.search(message)
    path = named[1].strip() if named else label
    if "not a GZIP stream" in message:
        raise PredictionsError(
            f"{path} ends in .gz, but is not a gzip file",
            hint="rename it without .gz, or compress it with gzip",
        ) from error
    too_long = _TOO_LONG.search(message)
    if too_long:
        most, size = int(too_long[1]), int(too_long[2])
        line = _first_line(path, lambda text: len(text) >= most)
        raise PredictionsError(
            f"{line[0]} of {path} has {size:,} bytes",
            details=f"a row of a CSV file may have {most:,}",
            hint="shorten that text, leave out its column, or write the table as Parquet, whose "
            "rows may be longer",
        ) from error
    if "not utf-8 encoded" not in message:
        return
    where, text = _first_line(path, _is_not_utf8)
    try:
        text.decode()
        details = ""
    except UnicodeDecodeError as bad:
        start = max(bad.start - _AROUND, 0)
        around = text[start : bad.start + _AROUND].decode("latin-1").strip()
        details = f"byte {text[bad.start]:#04x}, as Windows-1252 or Latin-1 in {around!r}"
    raise PredictionsError(
        f"{where} of {path} is not UTF-8 text",
        details=details,
        hint="if that is right, pass encoding='windows-1252'; or write the file as UTF-8",
    ) from error


def _is_not_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def _first_line(path: str, is_bad: Callable[[bytes], bool]) -> tuple[str, bytes]:
    """Find the number and text of the first bad line; "a row" if there is none."""
    try:
        with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if is_bad(line):
                    return f"line {number:,}", line
    except OSError:
        pass  # it is elsewhere, or gone
    return "a row", b""


# Tables of a DuckDB file or of a database, and queries.


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
