"""SQLite: tables in a file, which are copied and not counted in place."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from assay.errors import PredictionsError, refuse_no_file
from assay.predictions.databases.database import Database, DatabaseColumn, DatabaseTable, Row
from assay.predictions.query import identifier, selection
from assay.predictions.scan import file_of

_AT_ONCE = 50_000
_LOOKED_AT = 1_000  # rows to infer the type of an untyped column

# SQLite's rules for declared types, in this order.
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


class Sqlite(Database):
    """A SQLite file, opened read-only in this process."""

    name = "SQLite"

    @property
    def address(self) -> str:
        """Address, for users."""
        return file_of(self.url)

    def connect(self) -> sqlite3.Connection:
        """Open the file, in a transaction that sees one state of the table."""
        path = Path(file_of(self.url))
        if not path.exists():
            raise PredictionsError(
                f"{str(path)!r} not found", details=f"no such file (current folder: {Path.cwd()})"
            )
        refuse_no_file(path, error=PredictionsError)
        uri = f"file:{quote(str(path.absolute()))}?mode=ro"
        file = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        file.execute("BEGIN")
        return file

    def fetch(self, sql: str) -> list[Row]:
        """Rows of a query's answer."""
        return list(self.connection.execute(sql))

    def pieces(self, sql: str) -> Iterator[list[Row]]:
        """Rows of a query, piece by piece."""
        cursor = self.connection.execute(sql)
        while rows := cursor.fetchmany(_AT_ONCE):
            yield rows

    def tables(self) -> list[DatabaseTable]:
        """Tables and views."""
        rows = self.fetch(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
        )
        return [("main", name, True) for (name,) in rows]

    def table(self, schema: str, name: str) -> str:
        """Name of a table as written after FROM."""
        return f"{identifier(schema)}.{identifier(name)}"

    def columns(self, schema: str, name: str) -> list[DatabaseColumn]:
        """Columns of a table."""
        rows = self.fetch(f"PRAGMA {identifier(schema)}.table_xinfo({identifier(name)})")
        return [
            self._column(schema, name, column, str(declared))
            for _, column, declared, _, _, _, hidden in rows
            if hidden != 1
        ]

    def _column(self, schema: str, table: str, column: str, declared: str) -> DatabaseColumn:
        """Describe a column; a value of another type than the column's is missing."""
        name = identifier(column)
        kind = next((k for part, k in _DECLARED.items() if part in declared.upper()), "")
        if not kind:
            some = selection([f"{name} AS x"], self.table(schema, table), f"LIMIT {_LOOKED_AT}")
            kinds = selection(["DISTINCT typeof(x)"], f"({some})", "WHERE x IS NOT NULL")
            rows = self.fetch(kinds)
            kinds_used = {each for (each,) in rows}
            kind = "BIGINT" if kinds_used == {"integer"} else "DOUBLE"
            kind = kind if kinds_used <= {"integer", "real"} else "VARCHAR"
        if kind == "DOUBLE":
            sql = f"CASE WHEN typeof({name}) IN ('integer', 'real') THEN CAST({name} AS REAL) END"
        elif kind == "BIGINT":
            sql = f"CASE WHEN typeof({name}) = 'integer' THEN {name} END"
        else:
            sql = f"CASE WHEN typeof({name}) <> 'blob' THEN CAST({name} AS TEXT) END"
        return DatabaseColumn(column, kind, sql)

    def errors(self) -> tuple[type[Exception], ...]:
        """Exceptions of the driver."""
        return (sqlite3.Error, sqlite3.Warning)
