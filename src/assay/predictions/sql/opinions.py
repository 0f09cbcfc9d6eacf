"""SQL of columns for a model; of rows that DuckDB reads, also as a 64-bit word.

The word is the same as `assay.predictions.opinions.column_words` computes in memory: h of a
number's bits, or the digest of a text. `assay.predictions.sql.items` does it for other engines.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from assay.core.error_model import LARGEST, SAID, Input, Model
from assay.core.types import Words
from assay.predictions.opinions import input_name, number_words
from assay.predictions.query import Dialect, double_sql, quoted
from assay.predictions.sql.deck import duckdb_digest
from assay.predictions.sql.rows import Family, family_of, number_sql, text_sql


def plain_families(types: Mapping[str, str]) -> dict[str, Family]:
    """Kind of values of columns for a model; any number is a float.

    >>> plain_families({"judge": "BIGINT", "lang": "VARCHAR", "day": "DATE"})
    {'judge': 'float', 'lang': 'text', 'day': 'other'}
    """
    families = {name: family_of(type) for name, type in types.items()}
    return {
        name: family if family in ("text", "boolean", "other") else "float"
        for name, family in families.items()
    }


def plain_sql(name: str, type: str, dialect: Dialect) -> str:
    """Write the SQL of a column for a model as a value of its plain family.

    >>> plain_sql("judge", "BIGINT", "duckdb"), plain_sql("flag", "BOOLEAN", "duckdb")
    ('CAST(judge AS DOUBLE)', 'flag')
    """
    family = family_of(type)
    if family == "boolean":
        return name
    if family in ("text", "other"):
        return text_sql(name, dialect)
    return number_sql(name, family, dialect)


def either_sql(old: str, new: str, family: Family) -> str:
    """Value of the later of two columns or, if that is missing, of the earlier.

    >>> either_sql("a", "b", "text")
    'coalesce(b, a)'
    """
    if family != "float":
        return f"coalesce({new}, {old})"
    return f"CASE WHEN {new} IS NULL OR isnan({new}) THEN {old} ELSE {new} END"


NUMBER, TEXT = "number", "text"
"""Prefixes of a column's number, and of the digest of its text where that is no number."""


def opined_sql(columns: Sequence[tuple[str, Family]]) -> dict[str, str]:
    """DuckDB's expressions for the values of columns for a model, as numbers and digests of texts.

    `columns`: name of each column as SQL, quoted, and its kind of values.
    """
    expressions = {}
    for place, (name, family) in enumerate(columns):
        text = text_sql(name, "duckdb") if family == "other" else name
        x = number_sql(text, "text" if family == "other" else family, "duckdb")
        expressions[f"{NUMBER}_{place}"] = x
        if family in ("text", "other"):
            is_text = f"{x} IS NULL AND {name} IS NOT NULL"
            expressions[f"{TEXT}_{place}"] = (
                f"CASE WHEN {is_text} THEN {duckdb_digest(text, 'string')} END"
            )
    return expressions


def opined_words(batches: Iterable["pa.RecordBatch"]) -> Iterator[tuple[Words, Iterator[Words]]]:
    """Digests of the ids of rows (``digest``), and the words of the columns of `opined_sql`."""
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        yield np.asarray(columns["digest"]), _column_words(columns)


def _column_words(columns: Mapping[str, Any]) -> Iterator[Words]:
    for name in [name for name in columns if name.startswith(NUMBER)]:
        own = number_words(columns[name].to_numpy(zero_copy_only=False))
        texts = columns.get(f"{TEXT}{name.removeprefix(NUMBER)}")
        if texts is not None:
            own = np.where(np.asarray(texts.is_valid()), np.asarray(texts.fill_null(0)), own)
        yield own


# SQL of a model of the outcome: its log odds of a row, for DuckDB and Spark.
#
# The same operations in the same order as in `assay.core.error_model`, for equal bits.

_LARGEST = double_sql(LARGEST)


def model_sql(
    model: Model,
    names: Mapping[str, str],  # of each column its name as SQL, quoted
    types: Mapping[str, str],  # of each column its type, as the engine names it
    *,
    says: str,  # the label, 0 or 1, or the code of several classifiers
    dialect: Dialect,  # whose SQL it is
) -> list[str]:
    """Log odds by the model of each fold.

    >>> model = Model((Input("n", "number", 2.0, 4.0),), ((), (0,)), ((0.5, 1.0), (0.5, 2.0)), 9)
    >>> first, second = model_sql(model, {"n": "n"}, {"n": "DOUBLE"}, says="q", dialect="duckdb")
    >>> import duckdb
    >>> duckdb.sql(f"SELECT {first}, {second} FROM (VALUES (14.0::DOUBLE)) AS rows(n)").fetchall()
    [(2.0, 3.5)]
    """
    numbers = [
        says_sql(says, each.bit) if each.column == SAID else input_sql(each, names, types, dialect)
        for each in model.inputs
    ]
    sums = []
    for weights in model.weights:
        total = double_sql(weights[0])
        for weight, term in zip(weights[1:], model.terms[1:], strict=True):
            product = numbers[term[0]]
            for place in term[1:]:
                product = f"({product} * {numbers[place]})"
            total = f"({total} + {double_sql(weight)} * {product})"
        sums.append(total)
    return sums


def says_sql(says: str, bit: int = 0) -> str:
    """Write the SQL of a classifier's label as a number: a bit of the code.

    >>> says_sql("code", 2)
    '(CAST(code & 4 AS DOUBLE) / 4e0)'
    """
    return f"(CAST({says} & {1 << bit} AS DOUBLE) / {1 << bit}e0)"


def input_sql(
    each: Input, names: Mapping[str, str], types: Mapping[str, str], dialect: Dialect
) -> str:
    """Write the SQL of the number that a model computes from a column."""
    name, family = names[each.column], family_of(types[each.column])
    if each.kind == "level":
        return f"CASE WHEN {_is_level(each, name, family, dialect)} THEN 1e0 ELSE 0e0 END"
    x = number_sql(name, family, dialect)
    # NaN is larger than any number in both engines, and a comparison with NULL is not true.
    there = f"abs({x}) <= {_LARGEST}"
    if each.kind == "share":
        x = f"CASE WHEN {there} THEN greatest(least({x}, 1e0), 0e0) ELSE 5e-1 END"
        return f"({_root(x)} - {_root(f'(1e0 - {x})')})"
    x = f"CASE WHEN {there} THEN {x} ELSE {double_sql(each.centre)} END"
    d = f"(({x} - {double_sql(each.centre)}) / {double_sql(each.width)})"
    return f"({d} / sqrt(1e0 + abs({d})))"


def inputs_sql(model: Model, names: Mapping[str, str], types: Mapping[str, str]) -> dict[str, str]:
    """DuckDB's expressions of a model's inputs that are among some columns.

    `names`, `types`: expression and type of each column that the model may read.
    """
    return {
        input_name(place): f"({input_sql(each, names, types, 'duckdb')})::DOUBLE"
        for place, each in enumerate(model.inputs)
        if each.column in names
    }


def _is_level(each: Input, name: str, family: str, dialect: Dialect) -> str:
    if each.level is None:
        missing = f"{name} IS NULL"
        return f"{missing} OR NOT abs({name}) <= {_LARGEST}" if family == "float" else missing
    if isinstance(each.level, bool):
        return f"{name} = {str(each.level).upper()}"
    return f"{name} = {quoted(each.level, dialect)}"


def _root(x: str) -> str:
    return f"sqrt(sqrt(sqrt({x})))"
