"""A toy database, DuckDB under another name: what a further database takes, and the SQL in process.

This file and a row of `assay.predictions.databases.KNOWN` are all that it takes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import duckdb

from assay.core.deck import Id
from assay.predictions.databases import KNOWN
from assay.predictions.databases.database import Counter, DatabaseColumn, DatabaseTable, Row
from assay.predictions.query import Spell, identifier, quoted
from assay.predictions.sql.rows import family_of

URL = "toy://"
_WORD = "(('0x' || left(sha256({}), 16))::UBIGINT::HUGEINT + {}) % {} - {}"


class Toy(Counter):
    """A database of DuckDB, counted like any other."""

    name = "Toy"
    dialect = "duckdb"
    functions: ClassVar[Mapping[str, Spell]] = {
        "and_bits": lambda a, b: f"(({a}) & ({b}))",
        "or_bits": lambda a, b: f"(({a}) | ({b}))",
        "xor_bits": lambda a, b: f"xor({a}, {b})",
        # DuckDB refuses what would overflow: 2^31 and more become negative first.
        "left_by": lambda a, n: f"((({a}) + {2**31}) % {2**32} - {2**31}) * {2 ** int(n)}",
        "right_by": lambda a, n: f"(({a}) >> {n})",
        "xor_all": lambda a: f"bit_xor({a})",
        "text_word": lambda a: f"({_WORD.format(a, 2**63, 2**64, 2**63)})::BIGINT",
    }

    @property
    def address(self) -> str:
        return self.url

    def connect(self) -> Any:
        path = self.url.removeprefix(URL)
        return duckdb.connect(path, read_only=True) if path.endswith(".duck") else duckdb.connect()

    def fetch(self, sql: str) -> list[Row]:
        return list(self.connection.execute(sql).fetchall())

    def pieces(self, sql: str) -> Iterator[list[Row]]:
        rows = self.connection.execute(sql)
        while piece := rows.fetchmany(700):
            yield piece

    def version(self) -> str:
        return duckdb.__version__

    def tables(self) -> list[DatabaseTable]:
        found = self.fetch("SELECT table_schema, table_name FROM information_schema.tables")
        return [(str(schema), str(name), True) for schema, name in found]

    def table(self, schema: str, name: str) -> str:
        return f"{identifier(schema)}.{identifier(name)}"

    def columns(self, schema: str, name: str) -> list[DatabaseColumn]:
        found = self.fetch(f"DESCRIBE {self.table(schema, name)}")
        return [_column(str(column), str(kind)) for column, kind, *_ in found]

    def errors(self) -> tuple[type[Exception], ...]:
        return (duckdb.Error,)

    def literal(self, id: Id) -> str:
        if isinstance(id, str):
            return quoted(id, "duckdb")
        return f"({id})::{'UBIGINT' if id >= 2**63 else 'BIGINT'}"

    def lookup(self, index: str, which: int, values: Sequence[float]) -> str:
        return f"(/* {which} */ {list(values)!r}::DOUBLE[])[({index}) + 1]"


def _column(name: str, kind: str) -> DatabaseColumn:
    quoted_name, family = identifier(name), family_of(kind)
    if kind in ("BOOLEAN", "UBIGINT") or family == "decimal":
        return DatabaseColumn(name, kind, quoted_name)
    plain = {"integer": "BIGINT", "float": "DOUBLE"}.get(family, "VARCHAR")
    return DatabaseColumn(name, plain, f"{quoted_name}::{plain}")


KNOWN.append((lambda path: path.startswith(URL), Toy))
