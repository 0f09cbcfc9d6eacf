"""Queries that are written once, in DuckDB's SQL, and translated for each database by sqlglot.

A query is a chain of selections, each of the rows of the one before: no step repeats what another
computes. What a database must not merge is kept apart by what it has for that (`Database.fence`).

What sqlglot does not know to differ is written as a function with a name of its own:

    and_bits(a, b), or_bits(a, b), xor_bits(a, b)    of whole numbers of 64 bits with a sign
    left_by(a, n), right_by(a, n)                    shifted; the latter may copy the sign
    xor_all(a)                                       the exclusive or of a group
    text_word(text)                                  the first 8 bytes of SHA-256 of its UTF-8
    element(k, i)                                    the i-th number of the k-th list, from 0
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.predictions.databases.database import Database, Written, selection

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

ROWS = "assay_rows"
"""What the rows of the table are called in a query."""

_FLOAT = re.compile(r"[0-9.]+e[+-]?[0-9]+", re.IGNORECASE)

_MOST = 256
_known: dict[tuple[type[Database], str, str], str] = {}
"""Selections that were translated before, by whose SQL they are in: to parse one takes 10 ms."""


@dataclass(frozen=True)
class Query:
    """A chain of selections.

    >>> Query("SELECT 7 AS c0").select("c0 AS id").select("id", where="id > 3").steps
    ('SELECT c0 AS id FROM before', 'SELECT id FROM before WHERE id > 3')
    """

    rows: str  # the table's rows, in the database's own SQL
    # The selections, in DuckDB's SQL, each without WITH; the rows of the one before are called
    # ``before``.
    steps: tuple[str, ...] = ()
    lists: tuple[Sequence[float], ...] = ()  # what `element` looks things up in

    def select(self, *columns: str, where: str = "", tail: str = "") -> "Query":
        """Return one more selection."""
        step = selection(columns, "before", f"WHERE {where}" if where else "", tail)
        return replace(self, steps=(*self.steps, step))

    def with_lists(self, lists: Sequence[Sequence[float]]) -> "Query":
        """Return the same with lists to look things up in."""
        return replace(self, lists=tuple(lists))

    def sql(self, database: Database) -> str:
        """Return the query in a database's own SQL."""
        parts = [f"{ROWS} AS (\n{self.rows}\n)"]
        name = ROWS
        *inner, last = self.steps
        for place, step in enumerate(inner):
            text = translated(step, database, name, self.lists)
            name = f"step_{place}"
            parts.append(f"{name} AS ({text} {database.fence})")
        return f"WITH {', '.join(parts)} {translated(last, database, name, self.lists)}"


def translated(
    sql: str, database: Database, before: str = "", lists: Sequence[Sequence[float]] = ()
) -> str:
    """Return one selection in a database's own SQL.

    `lists`: those of `element`.
    """
    which = type(database), sql, before
    if which in _known:
        return _known[which]
    written = _translated(sql, database, before, lists)
    if "element(" not in sql:  # lists are long, and others each time
        if len(_known) >= _MOST:
            _known.clear()
        _known[which] = written
    return written


def _translated(sql: str, database: Database, before: str, lists: Sequence[Sequence[float]]) -> str:
    from sqlglot import exp, parse_one

    def element(which: str, index: str) -> str:
        return database.lookup(index, lists[int(which)])

    functions: dict[str, Written] = {**database.functions, "element": element}

    def own(node: "Expr") -> "Expr":
        if isinstance(node, exp.Table) and node.name == "before":
            return exp.to_table(before)
        if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.SMALLINT:
            node.set("to", exp.DataType.build(database.smallint, dialect="duckdb"))
        if isinstance(node, exp.Literal) and not node.is_string and _FLOAT.fullmatch(node.name):
            return exp.var(database.double(node.name))
        if isinstance(node, exp.Anonymous) and node.name.lower() in functions:
            arguments = [each.sql(dialect=database.dialect) for each in node.expressions]
            return exp.var(functions[node.name.lower()](*arguments))
        return node

    tree = parse_one(sql, read="duckdb")
    # From the inside out, so that the arguments of a function are in the database's SQL already.
    for node in reversed(list(tree.bfs())):
        written = own(node)
        if written is not node:
            node.replace(written)
    return str(tree.sql(dialect=database.dialect))
