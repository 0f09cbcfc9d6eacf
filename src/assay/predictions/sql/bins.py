"""SQL of the bins of `assay.core.bins`, for DuckDB and Spark."""

from collections.abc import Sequence
from math import isfinite

from assay.core.bins import MARGIN_STEPS, PROBABILITY_STEPS, Rule
from assay.predictions.engine import Span

TRIED: dict[Rule, list[float]] = {
    "probability": [0, 5e-324, 1e-300, 2.4e-7, 1e-6, 0.1, 0.25, 0.5, 2 / 3, 0.9, 1 - 2**-53, 1],
    "tail": [0, 5e-324, 1e-300, 1e-30, 2.4e-7, 1e-6, 0.1, 0.25, 0.5, 0.9, 1 - 2**-53, 1],
    "margin": [-1.7e308, -1e12, -3, -1e-6, -5e-324, 0, 1e-300, 0.3, 1, 7.5, 1e6, 1.7e308],
}
"""Scores on whose bins an engine is tried before it is trusted."""


def spread_sql(value: str, rule: Rule) -> str:
    """Return the expression that, rounded to the nearest even whole number, is the bin.

    Rounding is left to the engine's own dialect. The expression repeats the value. All is computed
    in DOUBLE, also of a FLOAT: hence 1e0, which is one, where 1 would be an integer.

    Parameters
    ----------
    value : str
        An expression of type DOUBLE or FLOAT.
    rule : {"probability", "tail", "margin"}
        As in `assay.core.bins`.

    Examples
    --------
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

    Examples
    --------
    >>> double_sql(0.1)
    '1.0000000000000001e-01'
    """
    return f"{number:.16e}"  # without an exponent it would be a DECIMAL


def _shrunk(value: str) -> str:
    return f"(1 / (1 + {_root(f'greatest({value}, 0e0)')}))"


def _root(value: str) -> str:
    return f"sqrt(sqrt(sqrt({value})))"


# Spans of the stratification variable as SQL that DuckDB and Spark both read.
#
# The conditions are on a column ``value`` and on one named ``says``, 1 where the row says yes.


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
