"""SQL of a row, for DuckDB and Spark: its id, score, bin and label.

Makes the same decisions as `assay.predictions.values` for columns in memory, for engines that read
rows in place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Literal

from assay.core.bins import MARGIN_STEPS, PROBABILITY_STEPS, Rule, Scale
from assay.core.cuts import Variable
from assay.predictions.query import Dialect, double_sql, quoted
from assay.predictions.roles import Roles
from assay.predictions.tables import BAR, ESCAPE, no_key_part

TRIED: dict[Rule, list[float]] = {
    "probability": [0, 5e-324, 1e-300, 2.4e-7, 1e-6, 0.1, 0.25, 0.5, 2 / 3, 0.9, 1 - 2**-53, 1],
    "tail": [0, 5e-324, 1e-300, 1e-30, 2.4e-7, 1e-6, 0.1, 0.25, 0.5, 0.9, 1 - 2**-53, 1],
    "margin": [-1.7e308, -1e12, -3, -1e-6, -5e-324, 0, 1e-300, 0.3, 1, 7.5, 1e6, 1.7e308],
}
"""Scores on whose bins an engine is tested before it is trusted."""

LARGEST = 1.7976931348623157e308
"""Largest DOUBLE."""

_STEP = 1000  # 2^1000 is the largest power of two that is multiplied with at once


def spread_sql(value: str, rule: Rule) -> str:
    """Expression that is the bin when rounded to the nearest integer, halves to even.

    The engine's own dialect does the rounding. The expression repeats the value. Everything is
    computed in DOUBLE, also for a FLOAT: hence 1e0, which is a DOUBLE, where 1 would be an integer.

    >>> spread_sql("p", "probability")
    '2047 * (sqrt(p) - sqrt(1e0 - p))'
    """
    if rule == "probability":
        return f"{PROBABILITY_STEPS} * (sqrt({value}) - sqrt(1e0 - {value}))"
    if rule == "tail":
        return f"{PROBABILITY_STEPS} * ({_root(value)} - {_root(f'(1e0 - {value})')})"
    return f"{MARGIN_STEPS} * ({_shrunk(f'-({value})')} - {_shrunk(value)})"


def scaled_sql(number: str, exponent: int) -> str:
    """Write the SQL of a DOUBLE times a power of two, exact if the result fits into a float64.

    >>> scaled_sql("w", 3), scaled_sql("w", 1001).count("*")
    ('w * 8.0000000000000000e+00', 2)
    """
    steps = [_STEP] * (exponent // _STEP) + [exponent % _STEP] if exponent > _STEP else [exponent]
    return " * ".join([f"{number}", *(double_sql(2.0**step) for step in steps)])


def impressions_sql(weight: str, exponent: int) -> str:
    """DuckDB's expression for `assay.core.weights.as_impressions` of a weight above 0.

    >>> impressions_sql("w", 3)
    'greatest((w * 8.0000000000000000e+00)::BIGINT, 1)'
    """
    return f"greatest(({scaled_sql(weight, exponent)})::BIGINT, 1)"  # halves become even


def _shrunk(value: str) -> str:
    return f"(1 / (1 + {_root(f'greatest({value}, 0e0)')}))"


def _root(value: str) -> str:
    return f"sqrt(sqrt(sqrt({value})))"


# Spans of the stratification variable, as SQL for both DuckDB and Spark.
#
# The conditions use a column ``value`` and a column ``says``, 1 if the row says yes; with classes,
# also a column ``heap`` (`heap_cases_sql`).


Family = Literal["boolean", "integer", "wide integer", "float", "decimal", "text", "other"]

_INTEGERS = {
    *("tinyint", "smallint", "integer", "bigint"),
    *("utinyint", "usmallint", "uinteger", "ubigint"),
    "int",
}
_FAMILIES: dict[str, Family] = {
    "boolean": "boolean",
    **dict.fromkeys(_INTEGERS, "integer"),
    "hugeint": "wide integer",
    "uhugeint": "wide integer",
    "float": "float",
    "double": "float",
    "decimal": "decimal",
    "varchar": "text",
    "char": "text",
    "string": "text",
    "enum": "text",
    "uuid": "text",
}
_TEXT: dict[Dialect, str] = {"duckdb": "VARCHAR", "spark": "STRING"}
NUMBERS = ("integer", "wide integer", "float", "decimal")


@dataclass(frozen=True)
class RowSql:
    """Expressions over a row."""

    id: str  # the id, as the column has it
    score: str  # of type DOUBLE or FLOAT; NULL, NaN or infinite if there is no valid score
    # 0 if the classifier says no, 1 if it says yes, 2 if the label is unclear, NULL if there is
    # none.
    says: str
    is_sure: bool = False  # whether the label is always clear: `says` is never 2
    # Number of classes, if not no and yes: `says` is then a class number, and -1 if it is unclear.
    classes: int | None = None
    weight: str = ""  # column of weights, of type DOUBLE; empty if there is none

    @property
    def unclear(self) -> int:
        """Value of `says` if the label is unclear."""
        return 2 if self.classes is None else -1

    @property
    def is_clear(self) -> str:
        """Condition that the label of the row is clear."""
        return f"{self.says} IN (0, 1)" if self.classes is None else f"{self.says} >= 0"


@dataclass(frozen=True)
class Written:
    """Columns of some rows, as they are written in SQL."""

    source: str  # source of the rows, for users
    names: Mapping[str, str]  # of each column its name, quoted
    types: Mapping[str, str]  # of each column its type, as the engine names it
    dialect: Dialect = "duckdb"
    is_text: bool = False  # whether every column is text of a CSV file, whose values are parsed


def family_of(type_name: str) -> Family:
    """Kind of values of a column, from the name of its type in DuckDB or Spark.

    >>> family_of("DECIMAL(9,2)"), family_of("bigint"), family_of("TIMESTAMP")
    ('decimal', 'integer', 'other')
    """
    return _FAMILIES.get(type_name.split("(", maxsplit=1)[0].strip().lower(), "other")


def is_value_sql(name: str, value: object, dialect: Dialect) -> str:
    """Condition that a column has a value that was read from it.

    >>> [is_value_sql("c", value, "duckdb") for value in (None, True, 7, "it's")]
    ['c IS NULL', 'c = TRUE', 'c = 7', "c = 'it''s'"]
    """
    if value is None:
        return f"{name} IS NULL"
    if isinstance(value, bool):
        return f"{name} = {str(value).upper()}"
    if isinstance(value, float):
        ends = f"{double_sql(-LARGEST)} AND {double_sql(LARGEST)}"
        return f"{name} = {double_sql(value)}" if isfinite(value) else f"NOT {name} BETWEEN {ends}"
    return f"{name} = {value if isinstance(value, int | Decimal) else quoted(str(value), dialect)}"


def positive_score_sql(score: str, roles: Roles, says: str) -> str:
    """Score of the positive class, as in `Roles.positive_scores`.

    >>> roles = Roles("p", "topic", None, None, None, score_of="predicted")
    >>> positive_score_sql("p", roles, "q")
    'CASE WHEN q = 1 THEN p ELSE 1e0 - p END'
    """
    if roles.scale == "percent":
        score = f"({score} / 1e2)"
    if not roles.turns:
        return score
    turned = f"{roles.one:.0f}e0 - {score}"
    if roles.score_of == "negative":
        return f"({turned})"
    return f"CASE WHEN {says} = 1 THEN {score} ELSE {turned} END"


def value_sql(row: RowSql, variable: Variable, scale: Scale, threshold: float | None) -> str:
    """Stratification variable, `assay.core.cuts`, of a row.

    >>> value_sql(RowSql("id", "p", "q"), "confidence", "probability", None)
    'CASE WHEN q = 1 THEN p ELSE 1e0 - p END'
    """
    if variable != "confidence":
        return row.score
    if scale == "probability":
        return f"CASE WHEN {row.says} = 1 THEN {row.score} ELSE 1e0 - {row.score} END"
    return f"abs({row.score} - {double_sql(threshold or 0.0)})"


def score_sql(name: str, family: Family, dialect: Dialect, *, is_text: bool) -> str:
    """Write the SQL of a column of numbers for computing; empty if it has none.

    >>> score_sql("p", "integer", "duckdb", is_text=False)
    'CAST(p AS DOUBLE)'
    """
    if family == "text" and is_text:
        return f"TRY_CAST(trim({name}) AS DOUBLE)"
    if family == "decimal":
        # Through its digits, so that it becomes the nearest float64 in every engine.
        return f"CAST(CAST({name} AS {_TEXT[dialect]}) AS DOUBLE)"
    if family == "float" and dialect == "duckdb":
        return name  # the cast would cost a tenth of the pass; beside a DOUBLE it is made anyway
    return f"CAST({name} AS DOUBLE)" if family in NUMBERS else ""


def text_sql(name: str, dialect: Dialect) -> str:
    """Write the SQL of a column as text."""
    return f"CAST({name} AS {_TEXT[dialect]})"


def number_sql(name: str, family: Family, dialect: Dialect) -> str:
    """Write a column as a DOUBLE, also for numbers as text; NULL for other values.

    >>> number_sql("judge", "text", "duckdb"), number_sql("judge", "boolean", "duckdb")
    ('TRY_CAST(trim(judge) AS DOUBLE)', 'CAST(judge AS DOUBLE)')
    """
    if family in ("float", "boolean"):
        return f"CAST({name} AS DOUBLE)"
    return score_sql(name, family, dialect, is_text=True)


# Composite keys of several columns (`assay.predictions.tables`).


_KEY_KINDS = ("text", "integer", "wide integer", "boolean")


def key_sql(
    parts: Sequence[str],  # the columns
    names: Mapping[str, str],
    types: Mapping[str, str],
    *,
    dialect: Dialect,
    source: str,
) -> str:
    r"""Key of a row, NULL if a value is missing.

    >>> types = {"day": "DATE", "rank": "INTEGER"}
    >>> names = {"day": '"day"', "rank": '"rank"'}
    >>> key_sql(("day", "rank"), names, types, dialect="duckdb", source="a table")
    'CAST("day" AS VARCHAR) || \'|\' || CAST("rank" AS VARCHAR)'
    """
    kind = "VARCHAR" if dialect == "duckdb" else "STRING"
    texts = []
    for part in parts:
        family = family_of(types[part])
        if family not in _KEY_KINDS and types[part].lower() != "date":
            raise no_key_part(part, types[part], source)
        text = f"CAST({names[part]} AS {kind})"
        if family == "text":
            for sign in (ESCAPE, BAR):
                with_escape = quoted(ESCAPE + sign, dialect)
                text = f"replace({text}, {quoted(sign, dialect)}, {with_escape})"
        texts.append(text)
    return f" || {quoted(BAR, dialect)} || ".join(texts)
