"""Columns for a model in Spark: what they say of a row, as a word of 64 bits.

The same as `assay.predictions.opinions.column_words` computes in memory. Spark has no function for
the bits of a number: they are made of its exponent and its fraction, in steps, each of which is on
columns of the one before.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.core.error_model import LARGEST
from assay.predictions.spark.columns import halves_of, lower_of, mixed, word_of
from assay.predictions.sql.deck import spark_text_digest
from assay.predictions.sql.rows import Family, double_sql, number_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FRACTION = 2**52  # what a number's fraction is multiplied by; its exponent has 1023 added
_NORMAL = 2.0**-1022  # smaller numbers have no exponent of their own
_MOST = 2**63 - 1


def _exponent(x: str) -> str:
    return (
        f"CASE WHEN {x} = 0 OR NOT abs({x}) <= {double_sql(LARGEST)} THEN 0 "
        f"ELSE CAST(floor(log2(abs({x}))) AS INT) END"
    )


def _corrected(x: str, e: str) -> str:
    """Return the exponent; a logarithm is not always rounded to the nearest number."""
    fraction = f"abs({x}) / pow(2e0, {e})"
    return (
        f"CASE WHEN {fraction} >= 2e0 THEN {e} + 1 WHEN {fraction} < 1e0 THEN {e} - 1 ELSE {e} END"
    )


def _bits(x: str, e: str) -> str:
    """Return the bits of the number without its sign."""
    twice = double_sql(2.0**537)
    fraction = f"(abs({x}) / pow(2e0, {e}) - 1e0) * {double_sql(float(_FRACTION))}"
    return f"""CASE WHEN {x} IS NULL OR isnan({x}) THEN {0x7FF8 << 48}L
    WHEN {x} = 0 THEN 0L
    WHEN abs({x}) > {double_sql(LARGEST)} THEN {0x7FF0 << 48}L
    WHEN abs({x}) < {double_sql(_NORMAL)} THEN CAST(abs({x}) * {twice} * {twice} AS BIGINT)
    ELSE CAST({e} + 1023 AS BIGINT) * {_FRACTION}L + CAST({fraction} AS BIGINT) END"""


def with_word(rows: "DataFrame", column: str, family: Family, others: Sequence[str]) -> "DataFrame":
    """Return the rows with a column's word taken into that of the row.

    Parameters
    ----------
    rows : DataFrame
        With a column ``word``, a BIGINT.
    column : str
        Its name, as SQL.
    family : Family
        What kind of values it holds.
    others : sequence of str
        The columns to keep beside the word.
    """
    text = "CAST(NULL AS BIGINT)"
    if family == "text":
        written = f"x IS NULL AND {column} IS NOT NULL"
        text = f"CASE WHEN {written} THEN {spark_text_digest(column)} END"
    number = f"{number_sql(column, family, 'spark')} AS x"
    keep = list(dict.fromkeys([*others, column]))
    rows = rows.selectExpr(*keep, "word", number)
    kept = [*others, "word", "text"]
    rows = with_bits(rows.selectExpr(*others, "word", "x", f"{text} AS text"), kept, ["x"])
    rows = mixed(rows, kept, {"said": halves_of("x")})
    said = f"word ^ coalesce(text, {word_of('said_upper', lower_of('said'))}) AS word"
    rows = mixed(rows.selectExpr(*others, said), others, {"word": halves_of("word")})
    return rows.selectExpr(*others, f"{word_of('word_upper', lower_of('word'))} AS word")


def with_bits(rows: "DataFrame", keep: Sequence[str], numbers: Sequence[str]) -> "DataFrame":
    """Return the rows with the bits of some numbers in their place, each a BIGINT.

    Parameters
    ----------
    rows : DataFrame
        The rows.
    keep : sequence of str
        The columns to keep beside the bits.
    numbers : sequence of str
        Names of columns of type DOUBLE.
    """
    of = [(x, f"{x}_exponent") for x in numbers]
    rows = rows.selectExpr(*keep, *numbers, *(f"{_exponent(x)} AS {e}" for x, e in of))
    rows = rows.selectExpr(*keep, *numbers, *(f"{_corrected(x, e)} AS {e}" for x, e in of))
    rows = rows.selectExpr(
        *keep, *(f"{x} < 0 AS {e}" for x, e in of), *(f"{_bits(x, e)} AS {x}" for x, e in of)
    )
    signed = (f"CASE WHEN {e} THEN {x} - {_MOST}L - 1L ELSE {x} END AS {x}" for x, e in of)
    return rows.selectExpr(*keep, *signed)
