"""SQL of the deck's numbers, for DuckDB.

`duckdb_keyed` of `duckdb_digest` is exactly `assay.core.deck.number` of a column, for use in any
query: in ``ORDER BY``, in ``WHERE number < limit``, in ``arg_min``. The ids must not be NULL.
`assay.predictions.sql.items` does the same for other engines, in steps.

DuckDB's own ``hash`` of a UBIGINT is the deck's h, but no release guarantees that of the next. So
it is tested on known words first, once in a process. If it differs, plain arithmetic replaces it,
which is about 20 times slower, and no draw changes.

The column is SQL text, inserted unchanged: the caller must quote unusual names and reject untrusted
text. ``docs/deck.md`` has the definition, worked values, and how each engine orders equal numbers.
"""

from collections.abc import Callable
from functools import cache

import duckdb
import numpy as np

from assay.core.deck import MULTIPLIER, SHIFT, IdKind, key, mix

_Mix = Callable[[str], str]  # from the SQL of a word to the SQL of h(word)

_WORDS = 2**64
_HALF = 2**63


def duckdb_digest(column: str, kind: IdKind) -> str:
    """DuckDB's expression for d(id), a UBIGINT, at the least cost.

    The column is of type VARCHAR, BIGINT or UBIGINT; of no narrower integer type.

    >>> duckdb.sql("SELECT " + duckdb_digest("7::BIGINT", "integer")).fetchall()
    [(8736873150706563146,)]
    """
    if kind == "string":
        return _duckdb_text_digest(column)
    if duckdb_computes_mix(_duckdb_hash) and duckdb_computes_mix(_duckdb_hash_signed):
        return _duckdb_hash(column)
    return _duckdb_fold(_duckdb_word(column))


def duckdb_keyed(digest: str, seed: int) -> str:
    """DuckDB's expression for the number, a UBIGINT, from that for d(id).

    >>> number = duckdb_keyed(duckdb_digest("7::BIGINT", "integer"), seed=1)
    >>> duckdb.sql("SELECT " + number).fetchall()
    [(12798019467750399265,)]
    """
    return duckdb_mix(f"xor({digest}, {key(seed)}::UBIGINT)")


def duckdb_mix(word: str) -> str:
    """DuckDB's expression for h(word) of a UBIGINT."""
    return (_duckdb_hash if duckdb_computes_mix(_duckdb_hash) else _duckdb_fold)(word)


@cache
def duckdb_computes_mix(expression: _Mix) -> bool:
    """Whether the installed DuckDB computes `assay.core.deck.mix` with an expression.

    The expression makes the SQL of h(word) from the SQL of the word, a UBIGINT.

    >>> duckdb_computes_mix(lambda word: f"hash({word} + 1)")
    False
    """
    words = np.array([0, 1, 2**SHIFT, _HALF - 1, _HALF, MULTIPLIER], dtype=np.uint64)
    expressions = ", ".join(expression(f"{word}::UBIGINT") for word in words.tolist())
    with duckdb.connect() as connection:
        try:
            mixed = connection.execute(f"SELECT {expressions}").fetchone()
        except duckdb.Error:
            return False
    return mixed == tuple(mix(words).tolist())


def _duckdb_word(column: str) -> str:
    # Through 128 bits, as a plain cast to UBIGINT rejects negative numbers and one to BIGINT large
    # ones; and hash() of a shorter integer type is a different hash.
    return f"(({column})::HUGEINT & {_WORDS - 1}::HUGEINT)::UBIGINT"


def _duckdb_text_digest(column: str) -> str:
    return f"('0x' || left(sha256({column}), 16))::UBIGINT"


def _duckdb_hash(word: str) -> str:
    return f"hash({word})"


def _duckdb_hash_signed(word: str) -> str:
    """Hash the word as the BIGINT of the same bits."""
    small, large = f"TRY_CAST({word} AS BIGINT)", f"TRY_CAST({word}::HUGEINT - {_WORDS} AS BIGINT)"
    return f"hash(coalesce({small}, {large}))"


# h as a fold over its factors; the last one, 1, makes its three steps alike. Plain nesting would
# repeat the word eight times, together with the expression that computes it.


def _duckdb_fold(word: str) -> str:
    factors = f"{MULTIPLIER}::UBIGINT, {MULTIPLIER}::UBIGINT, 1::UBIGINT"
    product = f"xor(x, x >> {SHIFT})::UHUGEINT * factor"
    step = f"(({product}) & {_WORDS - 1}::UHUGEINT)::UBIGINT"
    return f"list_reduce([{word}, {factors}], lambda x, factor: {step})"
