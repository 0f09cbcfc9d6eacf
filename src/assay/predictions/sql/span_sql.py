"""Spans of the stratification variable as SQL that DuckDB and Spark both read.

The conditions are on a column ``value`` and on one named ``says``, 1 where the row says yes.
"""

from collections.abc import Sequence
from math import isfinite

from assay.predictions.engine import Span
from assay.predictions.sql.bins import double_sql


def inside_sql(span: Span) -> str:
    """Return the condition that a row is in a span, whatever its number.

    Examples
    --------
    >>> inside_sql(Span(True, float("-inf"), 0.5, 0))
    'says = 1 AND value < 5.0000000000000000e-01'
    """
    tests = [] if span.side is None else [f"says = {int(span.side)}"]
    if isfinite(span.low):
        tests.append(f"value >= {double_sql(span.low)}")
    if isfinite(span.high):
        tests.append(f"value < {double_sql(span.high)}")
    return " AND ".join(tests) or "TRUE"


def case_sql(spans: Sequence[Span], then: Sequence[str]) -> str:
    """Return an expression with one of several values, by the span a row is in; NULL in none.

    Examples
    --------
    >>> case_sql([Span(None, 0.5, float("inf"), 7)], ["7"])
    'CASE WHEN value >= 5.0000000000000000e-01 THEN 7 END'
    """
    cases = [f"WHEN {inside_sql(span)} THEN {what}" for span, what in zip(spans, then, strict=True)]
    return f"CASE {' '.join(cases)} END"
