"""SQL of a row, for DuckDB and Spark: its id, score, bin and label.

The same decisions that `assay.predictions.values` takes on columns in memory, for engines that read
the rows where they lie.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from assay.core.bins import MARGIN_STEPS, PROBABILITY_STEPS, Rule, Scale
from assay.core.cuts import Variable
from assay.predictions.engine import Span
from assay.predictions.roles import Roles

TRIED: dict[Rule, list[float]] = {
    "probability": [0, 5e-324, 1e-300, 2.4e-7, 1e-6, 0.1, 0.25, 0.5, 2 / 3, 0.9, 1 - 2**-53, 1],
    "tail": [0, 5e-324, 1e-300, 1e-30, 2.4e-7, 1e-6, 0.1, 0.25, 0.5, 0.9, 1 - 2**-53, 1],
    "margin": [-1.7e308, -1e12, -3, -1e-6, -5e-324, 0, 1e-300, 0.3, 1, 7.5, 1e6, 1.7e308],
}
"""Scores on whose bins an engine is tried before it is trusted."""

LARGEST = 1.7976931348623157e308
"""The largest number that a DOUBLE can hold."""

_STEP = 1000  # 2^1000 is the largest power of two that is multiplied with at once


def spread_sql(value: str, rule: Rule) -> str:
    """Return the expression that, rounded to the nearest even whole number, is the bin.

    Rounding is left to the engine's own dialect. The expression repeats the value. All is computed
    in DOUBLE, also of a FLOAT: hence 1e0, which is one, where 1 would be an integer.

    >>> spread_sql("p", "probability")
    '2047 * (sqrt(p) - sqrt(1e0 - p))'
    """
    if rule == "probability":
        return f"{PROBABILITY_STEPS} * (sqrt({value}) - sqrt(1e0 - {value}))"
    if rule == "tail":
        return f"{PROBABILITY_STEPS} * ({_root(value)} - {_root(f'(1e0 - {value})')})"
    return f"{MARGIN_STEPS} * ({_shrunk(f'-({value})')} - {_shrunk(value)})"


def double_sql(number: float) -> str:
    """Return a finite number as a literal that is read as that very DOUBLE.

    >>> double_sql(0.1)
    '1.0000000000000001e-01'
    """
    return f"{number:.16e}"  # without an exponent it would be a DECIMAL


def scaled_sql(number: str, exponent: int) -> str:
    """Return a DOUBLE times a power of two, exactly, where that is less than float64 can hold.

    >>> scaled_sql("w", 3), scaled_sql("w", 1001).count("*")
    ('w * 8.0000000000000000e+00', 2)
    """
    steps = [_STEP] * (exponent // _STEP) + [exponent % _STEP] if exponent > _STEP else [exponent]
    return " * ".join([f"{number}", *(double_sql(2.0**step) for step in steps)])


def impressions_sql(weight: str, exponent: int, dialect: "Dialect") -> str:
    """Return the impressions of a row whose weight is above 0: `assay.core.weights.as_impressions`.

    >>> impressions_sql("w", 3, "duckdb")
    'greatest((w * 8.0000000000000000e+00)::BIGINT, 1)'
    """
    scaled = scaled_sql(weight, exponent)
    if dialect == "duckdb":
        return f"greatest(({scaled})::BIGINT, 1)"  # the cast rounds halves to even
    return f"greatest(CAST(rint({scaled}) AS BIGINT), 1L)"


def _shrunk(value: str) -> str:
    return f"(1 / (1 + {_root(f'greatest({value}, 0e0)')}))"


def _root(value: str) -> str:
    return f"sqrt(sqrt(sqrt({value})))"


# Spans of the stratification variable as SQL that DuckDB and Spark both read.
#
# The conditions are on a column ``value`` and on one named ``says``, 1 where the row says yes; of
# classes, on one named ``heap``, too (`heap_sql`).


def inside_sql(span: Span) -> str:
    """Return the condition that a row is in a span, whatever its number.

    >>> inside_sql(Span(True, float("-inf"), 0.5, 0))
    'says = 1 AND value < 5.0000000000000000e-01'
    """
    tests = [] if span.side is None else [f"says = {int(span.side)}"]
    if span.codes is not None:
        tests = [f"heap = {span.codes[0]}"]
    if isfinite(span.low):
        tests.append(f"value >= {double_sql(span.low)}")
    if isfinite(span.high):
        tests.append(f"value < {double_sql(span.high)}")
    return " AND ".join(tests) or "TRUE"


def case_sql(spans: Sequence[Span], then: Sequence[str]) -> str:
    """Return an expression with one of several values, by the span a row is in; NULL in none.

    >>> case_sql([Span(None, 0.5, float("inf"), 7)], ["7"])
    'CASE WHEN value >= 5.0000000000000000e-01 THEN 7 END'
    """
    cases = [f"WHEN {inside_sql(span)} THEN {what}" for span, what in zip(spans, then, strict=True)]
    return f"CASE {' '.join(cases)} END"


_LONGEST_LIST = 2**14  # codes


def heap_sql(spans: Sequence[Span], classes: int, dialect: "Dialect") -> str:
    """Return the heap of a row's code, called by the smallest code of the heap; -1 for none.

    It is looked up in a list, which takes as long for many codes as for few, unless most of those
    that there may be are in no heap.

    `spans`: their codes are the heaps.

    >>> heap_sql([Span(None, 0.0, 1.0, 7, codes=(1, 2))], 4, "duckdb")
    '([-1, 1, 1, -1])[says + 1]'
    """
    if classes > _LONGEST_LIST:
        return heap_cases_sql(spans)
    heaps = {span.codes for span in spans if span.codes is not None}
    heap = np.full(classes, -1)
    for codes in heaps:
        heap[list(codes)] = codes[0]
    listed = ", ".join(map(str, heap.tolist()))
    return f"([{listed}])[says + 1]" if dialect == "duckdb" else f"array({listed})[says]"


def heap_cases_sql(spans: Sequence[Span]) -> str:
    """Return the same as `heap_sql` without a list.

    >>> heap_cases_sql([Span(None, 0.0, 1.0, 7, codes=(1, 2))])
    'CASE WHEN says IN (1, 2) THEN 1 ELSE -1 END'
    """
    heaps = {span.codes: None for span in spans if span.codes is not None}
    cases = [f"WHEN says IN ({', '.join(map(str, codes))}) THEN {codes[0]}" for codes in heaps]
    return f"CASE {' '.join(cases)} ELSE -1 END"


Dialect = Literal["duckdb", "spark"]
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
    score: str  # of type DOUBLE or FLOAT; NULL, NaN or infinite where there is no score to use
    # 0 where the classifier says no, 1 where it says yes, 2 where it cannot be told, NULL where
    # there is no label.
    says: str
    is_sure: bool = False  # whether it can always be told: `says` is never 2
    # Of more classes than no and yes, how many: `says` is then the number of one, and -1 where it
    # cannot be told which.
    classes: int | None = None
    weight: str = ""  # what the column of weights holds, of type DOUBLE; empty where there is none

    @property
    def unclear(self) -> int:
        """What `says` is where it cannot be told."""
        return 2 if self.classes is None else -1

    @property
    def is_told(self) -> str:
        """The condition that it can be told what the row says."""
        return f"{self.says} IN (0, 1)" if self.classes is None else f"{self.says} >= 0"


def family_of(type_name: str) -> Family:
    """Return what kind of values a column holds, from the name of its type in DuckDB or Spark.

    >>> family_of("DECIMAL(9,2)"), family_of("bigint"), family_of("TIMESTAMP")
    ('decimal', 'integer', 'other')
    """
    return _FAMILIES.get(type_name.split("(", maxsplit=1)[0].strip().lower(), "other")


def quoted(text: str, dialect: Dialect) -> str:
    """Return a string literal.

    >>> quoted("it's", "duckdb")
    "'it''s'"
    """
    if dialect == "spark":
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return "'" + text.replace("'", "''") + "'"


def positive_score_sql(score: str, roles: Roles, says: str) -> str:
    """Return the score of the positive class, as `Roles.positive_scores` has it.

    >>> roles = Roles("p", "said", None, None, None, score_of="predicted")
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
    """Return the stratification variable, `assay.core.cuts`, of a row.

    >>> value_sql(RowSql("id", "p", "q"), "confidence", "probability", None)
    'CASE WHEN q = 1 THEN p ELSE 1e0 - p END'
    """
    if variable != "confidence":
        return row.score
    if scale == "probability":
        return f"CASE WHEN {row.says} = 1 THEN {row.score} ELSE 1e0 - {row.score} END"
    return f"abs({row.score} - {double_sql(threshold or 0.0)})"


def score_sql(name: str, family: Family, dialect: Dialect, *, is_text: bool) -> str:
    """Return a column of numbers as they are computed with; empty where it holds none.

    >>> score_sql("p", "integer", "duckdb", is_text=False)
    'CAST(p AS DOUBLE)'
    """
    if family == "text" and is_text:
        return f"TRY_CAST(trim({name}) AS DOUBLE)"
    if family == "decimal":
        # By way of its digits, so that it becomes the nearest float64 in every engine.
        return f"CAST(CAST({name} AS {_TEXT[dialect]}) AS DOUBLE)"
    if family == "float" and dialect == "duckdb":
        return name  # the cast would cost a tenth of the pass; beside a DOUBLE it is made anyway
    return f"CAST({name} AS DOUBLE)" if family in NUMBERS else ""


def text_sql(name: str, dialect: Dialect) -> str:
    """Return a column as text.

    >>> text_sql("lang", "spark")
    'CAST(lang AS STRING)'
    """
    return f"CAST({name} AS {_TEXT[dialect]})"


def number_sql(name: str, family: Family, dialect: Dialect) -> str:
    """Return a column as a DOUBLE, also where it holds numbers as text; NULL for what is none.

    >>> number_sql("judge", "text", "duckdb"), number_sql("judge", "boolean", "duckdb")
    ('TRY_CAST(trim(judge) AS DOUBLE)', 'CAST(judge AS DOUBLE)')
    """
    if family in ("float", "boolean"):
        return f"CAST({name} AS DOUBLE)"
    return score_sql(name, family, dialect, is_text=True)
