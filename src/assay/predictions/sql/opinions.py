"""SQL of what columns for a model say of a row; for DuckDB, as a word of 64 bits, too.

The word is the same as `assay.predictions.opinions.column_words` computes in memory: h of a
number's bits, or the digest of a text. `assay.predictions.spark.opinions` has it for Spark.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import duckdb
import numpy as np

from assay.core.deck import mix
from assay.errors import PredictionsError
from assay.predictions.sql.deck import duckdb_digest, duckdb_mix
from assay.predictions.sql.rows import Dialect, Family, family_of, number_sql, text_sql

_TRIED = (0.0, 1.0, 1 / 3, -3.25, 1e300, 5e-324, float("inf"), float("nan"))


def plain_families(types: Mapping[str, str]) -> dict[str, Family]:
    """Return what kind of values columns for a model hold, where any number is a float.

    `types`: of each column its type, as the engine names it.

    >>> plain_families({"judge": "BIGINT", "lang": "VARCHAR", "day": "DATE"})
    {'judge': 'float', 'lang': 'text', 'day': 'other'}
    """
    found = {name: family_of(type) for name, type in types.items()}
    return {
        name: family if family in ("text", "boolean", "other") else "float"
        for name, family in found.items()
    }


def plain_sql(name: str, type: str, dialect: Dialect) -> str:
    """Return a column for a model as a value of its plain family.

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
    """Return what the later of two columns says or, where that is missing, the earlier.

    >>> either_sql("a", "b", "text")
    'coalesce(b, a)'
    """
    if family != "float":
        return f"coalesce({new}, {old})"
    return f"CASE WHEN {new} IS NULL OR isnan({new}) THEN {old} ELSE {new} END"


@cache
def refuse_other_words() -> None:
    """Raise an error if this DuckDB would make other words of numbers than every other engine."""
    numbers = ", ".join(f"hash('{x!r}'::DOUBLE)" for x in _TRIED)
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {numbers}").fetchone()
    if found != tuple(mix(np.array(_TRIED).view(np.uint64)).tolist()):
        raise PredictionsError(
            "this DuckDB computes otherwise than numpy: the hash of a number",
            details=f"version {duckdb.__version__}; it would draw other items",
            hint="read the predictions with engine 'memory'",
        )


def duckdb_row_word(digest: str, columns: Sequence[tuple[str, Family]]) -> str:
    """Return DuckDB's expression for the word of a row.

    `columns`: of each column its name as SQL, quoted, and what kind of values it holds.
    """
    refuse_other_words()
    word = digest
    for name, family in columns:
        x = number_sql(name, family, "duckdb")
        said = f"hash(coalesce({x}, 'nan'::DOUBLE))"
        if family == "text":
            text = f"{x} IS NULL AND {name} IS NOT NULL"
            said = f"CASE WHEN {text} THEN {duckdb_digest(name, 'string')} ELSE {said} END"
        word = duckdb_mix(f"xor({word}, {said})")
    return word
