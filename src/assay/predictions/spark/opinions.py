"""Columns for a model in Spark: what they say of a row, as a word of 64 bits, and the log odds.

The same as `assay.predictions.opinions.column_words` computes in memory. Spark has no function for
the bits of a number: they are made of its exponent and its fraction, in steps, each of which is on
columns of the one before.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.core.error_model import LARGEST, Model
from assay.predictions.contract import IdKind
from assay.predictions.spark.columns import (
    HALVES,
    apart,
    halves_of,
    lower_of,
    mixed,
    with_place,
    word_of,
)
from assay.predictions.spark.source import column_name
from assay.predictions.sql.deck import spark_text_digest
from assay.predictions.sql.opinions import model_sql
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


def with_words(
    rows: "DataFrame", columns: Mapping[str, Family], others: Sequence[str] = ()
) -> "DataFrame":
    """Return the rows with what columns say taken into the word of the row, one after another.

    `columns`: of each column its name, as SQL, and what kind of values it holds; `others`: the
    columns to keep beside the word.
    """
    said: dict[str, str] = {}
    texts: dict[str, str] = {}
    for place, (column, family) in enumerate(columns.items()):
        said[f"said_{place}"] = number_sql(column, family, "spark")
        if family == "text":
            written = f"said_{place} IS NULL AND {column} IS NOT NULL"
            texts[f"text_{place}"] = f"CASE WHEN {written} THEN {spark_text_digest(column)} END"
    kept = [*others, "word"]
    given = dict.fromkeys([*kept, *columns])
    rows = rows.selectExpr(*given, *(f"{number} AS {name}" for name, number in said.items()))
    rows = rows.selectExpr(*kept, *said, *(f"{text} AS {name}" for name, text in texts.items()))
    rows = with_bits(rows, [*kept, *texts], list(said))
    rows = mixed(rows, [*kept, *texts], {name: halves_of(name) for name in said})
    word = "word"
    for place, name in enumerate(said):
        left = [f"{name}_{half}" for name in list(said)[place + 1 :] for half in HALVES]
        left += [text for text in texts if int(text.removeprefix("text_")) > place]
        rows, own = apart(rows), word_of(f"{name}_upper", lower_of(name))
        if f"text_{place}" in texts:
            own = f"coalesce(text_{place}, {own})"
        rows = rows.selectExpr(*others, *left, f"{word} ^ {own} AS word")
        rows = mixed(rows, [*others, *left], {"word": halves_of("word")})
        word = word_of("word_upper", lower_of("word"))
    return rows.selectExpr(*others, f"{word} AS word")


def with_log_odds(
    rows: "DataFrame",  # the rows
    model: Model,
    names: Mapping[str, str],
    types: Mapping[str, str],
    *,
    says: str,
    # What to keep beside it, as SQL: the ``id``, and what is not named score, other or place.
    told: Sequence[str],
    kind: IdKind,  # what the ids are
) -> "DataFrame":
    """Return rows with the log odds by the model of their fold, as ``score``."""
    first, second = model_sql(model, names, types, says=says, dialect="spark")
    both = rows.selectExpr(*told, f"{first} AS score", f"{second} AS other")
    keep = [column_name(name) for name in both.columns if name not in ("score", "other")]
    score = "CASE WHEN place < 0 THEN score ELSE other END AS score"
    return with_place(both, "id", kind, model.seed).selectExpr(*keep, score)


def with_bits(rows: "DataFrame", keep: Sequence[str], numbers: Sequence[str]) -> "DataFrame":
    """Return the rows with the bits of some numbers in their place, each a BIGINT.

    `keep`: the columns to keep beside the bits; `numbers`: names of columns of type DOUBLE.
    """
    of = [(x, f"{x}_exponent") for x in numbers]
    rows = rows.selectExpr(*keep, *numbers, *(f"{_exponent(x)} AS {e}" for x, e in of))
    rows = rows.selectExpr(*keep, *numbers, *(f"{_corrected(x, e)} AS {e}" for x, e in of))
    rows = apart(rows).selectExpr(
        *keep, *(f"{x} < 0 AS {e}" for x, e in of), *(f"{_bits(x, e)} AS {x}" for x, e in of)
    )
    signed = (f"CASE WHEN {e} THEN {x} - {_MOST}L - 1L ELSE {x} END AS {x}" for x, e in of)
    return apart(rows.selectExpr(*keep, *signed))
