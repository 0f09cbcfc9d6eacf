"""SQL of what columns for a model say of a row, as a word of 64 bits, for DuckDB.

The same as `assay.predictions.opinions.column_words` computes in memory: h of a number's bits, or
the digest of a text. `assay.predictions.spark.opinions` has it for Spark.
"""

from collections.abc import Sequence
from functools import cache

import duckdb
import numpy as np

from assay.core.deck import mix
from assay.errors import PredictionsError
from assay.predictions.sql.deck import duckdb_digest, duckdb_mix
from assay.predictions.sql.rows import Family, number_sql

_TRIED = (0.0, 1.0, 1 / 3, -3.25, 1e300, 5e-324, float("inf"), float("nan"))


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

    Parameters
    ----------
    digest : str
        The digest of its id, as SQL.
    columns : sequence of str and Family
        Of each column its name as SQL, quoted, and what kind of values it holds.
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
