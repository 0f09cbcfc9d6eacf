"""The bins of `assay.core.bins` in SQL that DuckDB and Spark both read."""

from assay.core.bins import MARGIN_STEPS, PROBABILITY_STEPS, Rule

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
