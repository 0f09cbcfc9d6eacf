"""SQLite: a table in a file, and what its SQL has of its own."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from assay.core.deck import Id
from assay.errors import PredictionsError, refuse_no_file
from assay.predictions.databases.database import (
    Database,
    DatabaseColumn,
    DatabaseTable,
    Row,
    Written,
    selection,
)
from assay.predictions.databases.postgres import identifier
from assay.predictions.sql.rows import quoted

_HEADER = b"SQLite format 3\0"
SQLITE = "sqlite:///"
"""What the URL of a file begins with."""
_AT_ONCE = 50_000
_LOOKED_AT = 1_000  # rows that tell what a column without a type holds

# By the rules that SQLite has for a declared type, in this order.
_DECLARED = {
    "INT": "BIGINT",
    "CHAR": "VARCHAR",
    "CLOB": "VARCHAR",
    "TEXT": "VARCHAR",
    "REAL": "DOUBLE",
    "FLOA": "DOUBLE",
    "DOUB": "DOUBLE",
    "BOOL": "BIGINT",
}


def is_sqlite(path: str) -> bool:
    """Tell whether a path is that of a SQLite file, by its first bytes, or a URL of one.

    >>> is_sqlite("sqlite:///preds.db"), is_sqlite("preds.parquet")
    (True, False)
    """
    if path.startswith(SQLITE):
        return True
    try:
        if not Path(path).is_file():  # a pipe would be waited for
            return False
        with Path(path).open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except (OSError, ValueError):
        return False


def file_of(url: str) -> str:
    """Return the path of the file.

    >>> file_of("sqlite:///preds.db"), file_of("preds.db")
    ('preds.db', 'preds.db')
    """
    return url.removeprefix(SQLITE)


class Sqlite(Database):
    """A file of SQLite, opened for reading only, by this process."""

    name = "SQLite"
    dialect = "sqlite"
    # Two queries that both end so are not made one.
    fence = "LIMIT -1 OFFSET 0"
    longest = 500_000
    functions: ClassVar[Mapping[str, Written]] = {
        "and_bits": lambda a, b: f"(({a}) & ({b}))",
        "or_bits": lambda a, b: f"(({a}) | ({b}))",
        "xor_bits": lambda a, b: f"((({a}) | ({b})) - (({a}) & ({b})))",
        "left_by": lambda a, n: f"(({a}) << {n})",
        "right_by": lambda a, n: f"(({a}) >> {n})",
        "xor_all": lambda a: f"assay_xor_all({a})",
        "text_word": lambda a: f"assay_text_word({a})",
    }

    @property
    def address(self) -> str:
        """Where it is, for people."""
        return file_of(self.url)

    def connect(self) -> sqlite3.Connection:
        """Open the file, and give SQLite the functions that it lacks."""
        path = Path(file_of(self.url))
        if not path.exists():
            raise PredictionsError(
                f"{str(path)!r} not found",
                details=f"there is no file of that name, seen from {Path.cwd()}",
            )
        refuse_no_file(path, error=PredictionsError)
        uri = f"file:{quote(str(path.absolute()))}?mode=ro"
        file = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        file.create_function("assay_text_word", 1, _text_word, deterministic=True)
        file.create_function("assay_double", 1, float, deterministic=True)
        file.create_aggregate("assay_xor_all", 1, _XorAll)
        file.execute("BEGIN")  # all queries see one state of the table
        return file

    def fetch(self, sql: str) -> list[Row]:
        """Return the rows that one query has for an answer."""
        return list(self.connection.execute(sql))

    def pieces(self, sql: str) -> Iterator[list[Row]]:
        """Return the rows of one query piece by piece."""
        cursor = self.connection.execute(sql)
        while found := cursor.fetchmany(_AT_ONCE):
            yield found

    def version(self) -> str:
        """Return what it says it is."""
        return f"{self.name} {sqlite3.sqlite_version}"

    def tables(self) -> list[DatabaseTable]:
        """Return the tables and views."""
        found = self.fetch(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
        )
        return [("main", name, True) for (name,) in found]

    def table(self, schema: str, name: str) -> str:
        """Return a table as it stands after FROM."""
        return f"{identifier(schema)}.{identifier(name)}"

    def columns(self, schema: str, name: str) -> list[DatabaseColumn]:
        """Return the columns of a table."""
        found = self.fetch(f"PRAGMA {identifier(schema)}.table_xinfo({identifier(name)})")
        return [
            self._column(schema, name, column, str(declared))
            for _, column, declared, _, _, _, hidden in found
            if hidden != 1
        ]

    def _column(self, schema: str, table: str, column: str, declared: str) -> DatabaseColumn:
        """Return a column. A value of another type than the others is a missing one."""
        name = identifier(column)
        kind = next((k for part, k in _DECLARED.items() if part in declared.upper()), "")
        if not kind:
            some = selection([f"{name} AS x"], self.table(schema, table), f"LIMIT {_LOOKED_AT}")
            kinds = selection(["DISTINCT typeof(x)"], f"({some})", "WHERE x IS NOT NULL")
            found = self.fetch(kinds)
            held = {each for (each,) in found}
            kind = "BIGINT" if held == {"integer"} else "DOUBLE"
            kind = kind if held <= {"integer", "real"} else "VARCHAR"
        if kind == "DOUBLE":
            sql = f"CASE WHEN typeof({name}) IN ('integer', 'real') THEN CAST({name} AS REAL) END"
        elif kind == "BIGINT":
            sql = f"CASE WHEN typeof({name}) = 'integer' THEN {name} END"
        else:
            sql = f"CASE WHEN typeof({name}) <> 'blob' THEN CAST({name} AS TEXT) END"
        return DatabaseColumn(column, kind, sql, "" if kind == "DOUBLE" else name)

    def errors(self) -> tuple[type[Exception], ...]:
        """Return what the driver raises."""
        return (sqlite3.Error, sqlite3.Warning)

    def literal(self, id: Id) -> str:
        """Return an id as it stands in a query."""
        if isinstance(id, int):
            return str(id) if id > -(2**63) else f"(-{2**63 - 1} - 1)"
        if "\0" in id:
            return f"CAST(X'{id.encode().hex()}' AS TEXT)"
        return quoted(id, "duckdb")

    def double(self, digits: str) -> str:
        """Return a number as a literal, or as a function's value where SQLite misreads it."""
        ((read,),) = self.fetch(f"SELECT {digits}")
        return digits if read == float(digits) else f"assay_double('{digits}')"

    def lookup(self, index: str, values: Sequence[float]) -> str:
        """Return an element of a list: by a function that has it."""
        name = f"assay_element_{self._lists}"
        self._lists += 1
        self.connection.create_function(name, 1, values.__getitem__, deterministic=True)
        return f"{name}({index})"

    _lists = 0


def _text_word(text: str | None) -> int | None:
    if text is None:
        return None
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big", signed=True)


class _XorAll:
    """The exclusive or of a group."""

    def __init__(self) -> None:
        self._word = 0

    def step(self, word: int | None) -> None:
        """Take in a word."""
        if word is not None:
            self._word ^= word

    def finalize(self) -> int:
        """Return it."""
        return self._word
