"""Columns for a model in Spark: what they say of a row, as a word of 64 bits.

The same as `assay.predictions.opinions.column_words` computes in memory. Spark has no function for
the bits of a number: they are made of its exponent and its fraction, in steps, each of which is on
columns of the one before.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.core.error_model import LARGEST
from assay.predictions.spark.columns import with_digest
from assay.predictions.sql.deck import spark_text_digest
from assay.predictions.sql.rows import Family, double_sql, number_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FRACTION = 2**52  # what a number's fraction is multiplied by; its exponent has 1023 added
_NORMAL = 2.0**-1022  # smaller numbers have no exponent of their own
_MOST = 2**63 - 1

_EXPONENT = f"""CASE WHEN x = 0 OR NOT abs(x) <= {double_sql(LARGEST)} THEN 0
    ELSE CAST(floor(log2(abs(x))) AS INT) END"""
# A logarithm is not always rounded to the nearest number.
_CORRECTED = """CASE WHEN abs(x) / pow(2e0, e) >= 2e0 THEN e + 1
    WHEN abs(x) / pow(2e0, e) < 1e0 THEN e - 1 ELSE e END"""
_BITS = f"""CASE WHEN x IS NULL OR isnan(x) THEN {0x7FF8 << 48}L
    WHEN x = 0 THEN 0L
    WHEN abs(x) > {double_sql(LARGEST)} THEN {0x7FF0 << 48}L
    WHEN abs(x) < {double_sql(_NORMAL)} THEN
        CAST(abs(x) * {double_sql(2.0**537)} * {double_sql(2.0**537)} AS BIGINT)
    ELSE CAST(e + 1023 AS BIGINT) * {_FRACTION}L
        + CAST((abs(x) / pow(2e0, e) - 1e0) * {double_sql(float(_FRACTION))} AS BIGINT)
    END"""
_SIGNED = f"CASE WHEN x < 0 THEN bits - {_MOST}L - 1L ELSE bits END"


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
    rows = with_bits(rows.selectExpr(*others, "word", "x", f"{text} AS text"), kept)
    said = "word ^ coalesce(text, digest) AS word"
    rows = with_digest(rows, "bits", "integer").selectExpr(*others, said)
    return with_digest(rows, "word", "integer").selectExpr(*others, "digest AS word")


def with_bits(rows: "DataFrame", keep: Sequence[str]) -> "DataFrame":
    """Return the rows with bits, those of the number in the column x, in its place.

    Parameters
    ----------
    rows : DataFrame
        With a column ``x``, a DOUBLE.
    keep : sequence of str
        The columns to keep beside the bits.
    """
    rows = rows.selectExpr(*keep, "x", f"{_EXPONENT} AS e")
    rows = rows.selectExpr(*keep, "x", f"{_CORRECTED} AS e")
    return rows.selectExpr(*keep, "x", f"{_BITS} AS bits").selectExpr(*keep, f"{_SIGNED} AS bits")
