"""Queries written once, in DuckDB's SQL, and translated for each engine by sqlglot.

A query is a chain of steps, each on the rows of the one before: no step repeats a computation of
another. A database gets it as one statement (`statement`), Spark as a chain of DataFrames.

Differences unknown to sqlglot are written as functions with their own names:

    and_bits(a, b), or_bits(a, b), xor_bits(a, b)    of signed 64-bit integers
    left_by(a, n), right_by(a, n)                    shifted; the latter may copy the sign
    xor_all(a)                                       the exclusive or of a group
    text_word(text)                                  the first 8 bytes of SHA-256 of its UTF-8
    element(k, i)                                    the i-th number of the k-th list, from 0
    settled(a)                                       a, which no filter may contain
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

Dialect = Literal["duckdb", "spark"]

Spell = Callable[..., str]
"""From the SQL of a function's arguments to an engine's expression."""

_FLOAT = re.compile(r"[0-9.]+e[+-]?[0-9]+", re.IGNORECASE)
_MOST = 256
_known: dict[tuple[type, str, tuple[str, ...], str], tuple[list[str], str]] = {}
"""Cache of translated steps, by SQL dialect: parsing one takes 10 ms."""


class Spelling(Protocol):
    """An engine's SQL for functions unknown to sqlglot."""

    @property
    def dialect(self) -> str:
        """Name of its SQL dialect in sqlglot."""

    @property
    def functions(self) -> Mapping[str, Spell]:
        """Its translations of the functions above, except `element`."""

    @property
    def smallint(self) -> str:
        """Type to which a condition is cast, to become 0 or 1."""

    def double(self, digits: str) -> str:
        """Literal of a float64 that is read back exactly."""

    def lookup(self, index: str, which: int, values: Sequence[float]) -> str:
        """Element of a list, counted from 0."""


@dataclass(frozen=True)
class Select:
    """Columns of the rows that fulfil a condition."""

    columns: tuple[str, ...]
    where: str = ""
    apart: bool = False  # whether it is compiled apart from the steps before, by who compiles


@dataclass(frozen=True)
class Group:
    """Groups of rows, with aggregates of each: ``count(*) AS items``, ``max(p) AS high``."""

    by: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class First:
    """The first rows, in the order of some columns."""

    by: tuple[str, ...]
    number: int


@dataclass(frozen=True)
class Query:
    """A chain of steps.

    >>> Query("SELECT 7 AS c0").select("c0 AS id").group([], "max(id) AS high").names
    ['high']
    """

    rows: Any  # source of the first step, as the engine represents it
    steps: tuple[Select | Group | First, ...] = ()
    lists: tuple[Sequence[float], ...] = ()  # lists for `element`

    def select(self, *columns: str, where: str = "", apart: bool = False) -> "Query":
        """Add a selection."""
        return self._then(Select(columns, where, apart))

    def group(self, by: Sequence[str], *columns: str) -> "Query":
        """Group the rows."""
        return self._then(Group(tuple(by), columns))

    def first(self, number: int, *by: str) -> "Query":
        """First rows."""
        return self._then(First(by, number))

    def _then(self, step: Select | Group | First) -> "Query":
        return replace(self, steps=(*self.steps, step))

    def listing(self, values: Sequence[float]) -> tuple["Query", int]:
        """Query with another list, and the number of that list."""
        return replace(self, lists=(*self.lists, values)), len(self.lists)

    @property
    def names(self) -> list[str]:
        """Columns of the result."""
        last = next(step for step in reversed(self.steps) if not isinstance(step, First))
        own = [column.rpartition(" AS ")[2] for column in last.columns]
        return [*last.by, *own] if isinstance(last, Group) else own


def selection(columns: Sequence[str], rows: str, *more: str) -> str:
    """SELECT query."""
    return " ".join(["SELECT", ", ".join(columns), "FROM", rows, *filter(None, more)])


def statement(query: Query, engine: Spelling, fence: str) -> str:
    """Query as one statement.

    `fence`: ends a step that must not be merged with the one around it.
    """
    name, parts = "assay_rows", [f"assay_rows AS (\n{query.rows}\n)"]
    *inner, last = query.steps
    for place, step in enumerate(inner):
        text = _step(step, engine, name, query.lists)
        name = f"step_{place}"
        parts.append(f"{name} AS ({text} {'' if isinstance(step, First) else fence})")
    return f"WITH {', '.join(parts)} {_step(last, engine, name, query.lists)}"


def _step(
    step: Select | Group | First, engine: Spelling, before: str, lists: Sequence[Sequence[float]]
) -> str:
    if isinstance(step, First):
        tail = f"ORDER BY {', '.join(step.by)} LIMIT {step.number}"
        return selection(["*"], before, tail)
    where = step.where if isinstance(step, Select) else ""
    columns, where = spelled(step.columns, where, engine, lists)
    by = list(step.by) if isinstance(step, Group) else []
    tails = [f"WHERE {where}" if where else "", f"GROUP BY {', '.join(by)}" if by else ""]
    return selection([*by, *columns], before, *tails)


def spelled(
    columns: Sequence[str], where: str, engine: Spelling, lists: Sequence[Sequence[float]] = ()
) -> tuple[list[str], str]:
    """Expressions, and a condition if there is one, in an engine's own SQL."""
    which = type(engine), engine.dialect, tuple(columns), where
    if which in _known:
        return _known[which]
    spelling = _spelled(columns, where, engine, lists)
    if not any("element(" in column for column in columns):  # lists are others each time
        if len(_known) >= _MOST:
            _known.clear()
        _known[which] = spelling
    return spelling


def _spelled(
    columns: Sequence[str], where: str, engine: Spelling, lists: Sequence[Sequence[float]]
) -> tuple[list[str], str]:
    from sqlglot import exp, parse_one

    def element(which: str, index: str) -> str:
        return engine.lookup(index, int(which), lists[int(which)])

    functions: dict[str, Spell] = {"settled": str, **engine.functions, "element": element}

    def own(node: "Expr") -> "Expr":
        if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.SMALLINT:
            node.set("to", exp.DataType.build(engine.smallint, dialect="duckdb"))
        if isinstance(node, exp.Literal) and not node.is_string and _FLOAT.fullmatch(node.name):
            return exp.var(engine.double(node.name))
        if isinstance(node, exp.Anonymous) and node.name.lower() in functions:
            arguments = [each.sql(dialect=engine.dialect) for each in node.expressions]
            return exp.var(functions[node.name.lower()](*arguments))
        return node

    condition = f" WHERE {where}" if where else ""
    tree = parse_one(f"SELECT {', '.join(columns)}{condition}", read="duckdb")
    # From the inside out, so that a function's arguments are already in the engine's SQL.
    for node in reversed(list(tree.bfs())):
        written = own(node)
        if written is not node:
            node.replace(written)
    there = tree.args.get("where")
    return (
        [each.sql(dialect=engine.dialect) for each in tree.expressions],
        "" if there is None else there.this.sql(dialect=engine.dialect),
    )


# Names and literals.


def identifier(name: str) -> str:
    """Quoted name of a column or a table.

    >>> identifier('5" disc') == '"5"" disc"'
    True
    """
    return '"' + name.replace('"', '""') + '"'


def double_sql(number: float) -> str:
    """Literal of a finite number that is read back as the same DOUBLE.

    >>> double_sql(0.1)
    '1.0000000000000001e-01'
    """
    return f"{number:.16e}"  # without an exponent it would be a DECIMAL


def quoted(text: str, dialect: Dialect) -> str:
    """Quote a text as a literal.

    >>> quoted("it's", "duckdb")
    "'it''s'"
    """
    if dialect == "spark":
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return "'" + text.replace("'", "''") + "'"
