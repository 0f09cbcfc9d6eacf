"""Readable sources of DuckDB: text that stands after FROM, and its errors told as theirs."""

import gzip
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from assay.errors import AssayError, PredictionsError

# What a confined DuckDB (`assay.predictions.duckdb.confined`) says.
_UNNAMED = re.compile(r'Cannot access \w+ "([^"]*)" - file system operations are disabled')


@dataclass(frozen=True)
class Readable:
    """Rows that DuckDB can read."""

    label: str  # what they are, for people
    sql: str  # stands after FROM
    bytes: int = 0  # the size on disk; 0 where it is not known
    is_text: bool = False  # whether every value is text, as in a CSV file
    is_lasting: bool = False  # whether the rows can be read again and again at little cost
    is_filtered: bool = False  # whether they are already those only that were asked for


def identifier(name: str) -> str:
    """Return the name of a column or a table as SQL has it.

    >>> identifier('5" disc') == '"5"" disc"'
    True
    """
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def reading(label: str) -> Iterator[None]:
    """Let the errors of DuckDB and Arrow be told as errors of what is read.

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
        # Of a damaged file not even the names of the columns need be text; what DuckDB raises then
        # is not always its own error.
        refuse_bad_text(error, label)
        extension = re.search(r'"INSTALL (\w+)"', str(error))
        if extension:
            name = extension[1]
            raise PredictionsError(
                f"{label} cannot be read",
                details=f"DuckDB needs its extension {name}, which is not installed",
                hint=f"python -c \"import duckdb; duckdb.execute('INSTALL {name}')\"",
            ) from error
        unnamed = _UNNAMED.search(str(error))
        # A file that is not there DuckDB tries as a folder.
        folder = unnamed and unnamed[1].partition("/**/")
        if folder and folder[1] and not Path(folder[0]).exists():
            gone = f"there is no file {folder[0]!r}, seen from {Path.cwd()}"
            raise PredictionsError(f"{label} cannot be read", details=gone) from error
        if unnamed:
            raise PredictionsError(
                f"{label} would have {unnamed[1]!r} read, which was not named",
                details="what a path, a query or a condition names itself is read, and nothing "
                "else: no file behind a view or a macro, none whose name is put together",
                hint=f"if it is meant, give a query that names {unnamed[1]!r}",
            ) from error
        raise PredictionsError(f"{label} cannot be read", details=first_lines(error, 3)) from error


def first_lines(error: Exception, count: int) -> str:
    r"""Return the first lines of what an error says, without those that repeat the SQL.

    >>> first_lines(ValueError("no such column\n\nLINE 1: SELECT"), 2)
    'no such column'
    """
    said = re.split(r"\n\n|\nLINE ", str(error), maxsplit=1)[0]
    return "\n".join(said.splitlines()[:count])


def refuse_repeated_columns(wanted: Iterable[str], names: Sequence[str], label: str) -> None:
    """Raise an error if a column that is wanted is there twice.

    >>> refuse_repeated_columns(["id"], ["id", "ID"], "preds.csv")
    Traceback (most recent call last):
    assay.errors.PredictionsError: preds.csv has several columns named 'id'
    columns: id, ID
    hint: rename them, by more than upper and lower case
    """
    # DuckDB does not tell upper from lower case in names.
    counts = Counter(name.casefold() for name in names)
    for name in wanted:
        if counts[name.casefold()] > 1:
            raise PredictionsError(
                f"{label} has several columns named {name!r}",
                details=f"columns: {', '.join(names)}",
                hint="rename them, by more than upper and lower case",
            )


def nothing_in(label: str) -> PredictionsError:
    """Return the error that there is not a single row."""
    return PredictionsError(f"{label} is empty", details="it must hold at least one row")


# Conditions on the rows that make up the population.


def condition(where: str) -> str:
    r"""Return the clause, in which a comment in the condition ends with its line."""
    return f"WHERE (\n{where}\n)"


def filtered(
    connection: duckdb.DuckDBPyConnection,
    sql: str,  # what stands after FROM
    where: str,  # the condition, as it was given
    names: Sequence[str],  # of the columns, for the error
    *,
    # Whether every column is text, as in a CSV file; the error then says how to compare numbers.
    is_text: bool,
) -> str:
    """Return what stands after FROM for those rows only that a condition holds for."""
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


def bad_condition(
    where: str, error: Exception, names: Sequence[str], hint: str = ""
) -> PredictionsError:
    """Return the error that a database cannot make sense of a condition.

    `names`: of the columns.
    """
    return PredictionsError(
        f"where={where!r} cannot be used",
        details=f"{first_lines(error, 2)}\ncolumns: {', '.join(names)}",
        hint=hint,
    )


# Lines of CSV files that DuckDB cannot read: which, why, and what to do.

_FILE = re.compile(r"^\s*file = (.+)$", re.MULTILINE)
_TOO_LONG = re.compile(r"Maximum line size of (\d+) bytes exceeded. Actual Size:\s*(\d+) bytes")
_AROUND = 12  # bytes on both sides of one that is no text


def refuse_bad_text(error: Exception, label: str) -> None:
    """Raise, where DuckDB's error is about text that it cannot read, one that names the line."""
    said = str(error)
    named = _FILE.search(said)
    path = named[1].strip() if named else label
    if "not a GZIP stream" in said:
        raise PredictionsError(
            f"{path} ends in .gz, but gzip did not pack it",
            hint="name it without .gz, or pack it with gzip",
        ) from error
    too_long = _TOO_LONG.search(said)
    if too_long:
        most, size = int(too_long[1]), int(too_long[2])
        line = _first_line(path, lambda text: len(text) >= most)
        raise PredictionsError(
            f"{line[0]} of {path} has {size:,} bytes",
            details=f"a row of a CSV file may have {most:,}",
            hint="shorten that text, leave out its column, or write the table as Parquet, whose "
            "rows may be longer",
        ) from error
    if "not utf-8 encoded" not in said:
        return
    where, text = _first_line(path, _is_not_utf8)
    try:
        text.decode()
        found = ""
    except UnicodeDecodeError as bad:
        start = max(bad.start - _AROUND, 0)
        around = text[start : bad.start + _AROUND].decode("latin-1").strip()
        found = f"byte {text[bad.start]:#04x}, as Windows-1252 or Latin-1 in {around!r}"
    raise PredictionsError(
        f"{where} of {path} is not UTF-8 text",
        details=found,
        hint="if that reads well, say encoding='windows-1252'; or write the file as UTF-8",
    ) from error


def _is_not_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def _first_line(path: str, is_bad: Callable[[bytes], bool]) -> tuple[str, bytes]:
    """Return the first line that is bad, in words and as it is; a row, where none is found."""
    try:
        with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if is_bad(line):
                    return f"line {number:,}", line
    except OSError:
        pass  # it lies elsewhere, or is gone
    return "a row", b""
