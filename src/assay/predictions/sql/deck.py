"""SQL of the deck's numbers, for DuckDB, PostgreSQL and Spark.

Each function returns an expression whose value is exactly `assay.core.deck.number` of a column,
for use in any query: in ``ORDER BY``, in ``WHERE number < limit``, in ``arg_min``. Nothing is
created in the database, so reading rights are enough. The ids must not be NULL.

The column is SQL text and goes into the expression as it stands: to quote an odd name, and to
keep out what strangers wrote, is the caller's part. ``docs/deck.md`` has the definition, worked
values, and how each engine orders equal numbers.
"""

from collections.abc import Callable
from functools import cache

import duckdb
import numpy as np

from assay.core.deck import MULTIPLIER, SHIFT, key, mix
from assay.errors import InputError
from assay.predictions.contract import IdKind

_Mix = Callable[[str], str]  # from the SQL of a word to the SQL of h(word)

_WORDS = 2**64
_HALF = 2**63


def duckdb_number(column: str, seed: int, kind: IdKind) -> str:
    """Return DuckDB's expression for the number, a UBIGINT.

    DuckDB's own ``hash`` of a UBIGINT is the deck's h, but no release promises that of the next.
    So it is tried on known words first, once in a process; where it differs,
    `duckdb_number_written_out` takes its place, and no draw changes.

    The column is of type VARCHAR or of an integer type of up to 64 bits, signed or unsigned.

    >>> duckdb.sql("SELECT " + duckdb_number("7", seed=1, kind="integer")).fetchall()
    [(12798019467750399265,)]
    """
    if duckdb_computes_mix(_duckdb_hash):
        return _duckdb_number(column, seed, kind, _duckdb_hash)
    return duckdb_number_written_out(column, seed, kind)


def duckdb_number_written_out(column: str, seed: int, kind: IdKind) -> str:
    """Return the same in arithmetic alone: right in every DuckDB, at some 20 times the cost."""
    return _duckdb_number(column, seed, kind, _duckdb_fold)


def duckdb_digest(column: str, kind: IdKind) -> str:
    """Return DuckDB's expression for d(id), a UBIGINT, at the least cost.

    The column is of type VARCHAR, BIGINT or UBIGINT; of no narrower integer type.

    >>> duckdb.sql("SELECT " + duckdb_digest("7::BIGINT", "integer")).fetchall()
    [(8736873150706563146,)]
    """
    if not _is_integer(kind):
        return _duckdb_text_digest(column)
    if duckdb_computes_mix(_duckdb_hash) and duckdb_computes_mix(_duckdb_hash_signed):
        return _duckdb_hash(column)
    return _duckdb_fold(_duckdb_word(column))


def duckdb_keyed(digest: str, seed: int) -> str:
    """Return DuckDB's expression for the number, a UBIGINT, from the one for d(id).

    >>> number = duckdb_keyed(duckdb_digest("7::BIGINT", "integer"), seed=1)
    >>> duckdb.sql("SELECT " + number).fetchall()
    [(12798019467750399265,)]
    """
    return duckdb_mix(f"xor({digest}, {key(seed)}::UBIGINT)")


def duckdb_mix(word: str) -> str:
    """Return DuckDB's expression for h(word) of a UBIGINT."""
    return (_duckdb_hash if duckdb_computes_mix(_duckdb_hash) else _duckdb_fold)(word)


@cache
def duckdb_computes_mix(expression: _Mix) -> bool:
    """Tell whether the DuckDB at hand computes `assay.core.deck.mix` by an expression.

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


def postgres_number(column: str, seed: int, kind: IdKind) -> str:
    """Return PostgreSQL's expression for the number, a numeric since bigint has a sign.

    The column is of type text or varchar, or of an integer type. (Ids of 2^63 and more do not
    fit a bigint. Stored as id - 2^64 they have the same number.) Needs PostgreSQL 11, the first
    with ``sha256``.

    >>> first = f"SELECT url FROM pages ORDER BY {postgres_number('url', 1, 'string')} LIMIT 20"
    """
    if _is_integer(kind):
        steps = [f"({column})::bigint", *_POSTGRES_MIX]
    else:
        utf8 = f"convert_to({column}, 'UTF8')"
        steps = [f"('x' || left(encode(sha256({utf8}), 'hex'), 16))::bit(64)::bigint"]
    steps += [f"x # '{_signed(key(seed))}'::bigint", *_POSTGRES_MIX]
    steps += [f"mod(x::numeric + {_WORDS}, {_WORDS})"]
    first, *others = steps
    query = _POSTGRES_FIRST_STEP.format(first)
    for step in others:
        query = _POSTGRES_STEP.format(step, query)
    return f"({query})"


def spark_number(column: str, seed: int, kind: IdKind) -> str:
    """Return Spark's expression for the number, a DECIMAL(20, 0) since BIGINT has a sign.

    The session needs ``spark.sql.ansi.enabled=false``, because a product modulo 2^64 is what the
    ANSI mode calls an overflow: with it, the query fails.

    The column is of type STRING, or of an integer type. (Ids of 2^63 and more do not fit a
    BIGINT. Stored as id - 2^64 they have the same number.)

    >>> first = f"SELECT url FROM pages ORDER BY {spark_number('url', 1, 'string')} LIMIT 20"
    """
    if _is_integer(kind):
        digest = _spark_fold(f"CAST({column} AS BIGINT)")
    else:
        digest = spark_text_digest(column)
    word = _spark_fold(f"({digest} ^ {_signed(key(seed))}L)")
    # With its highest bit flipped a word is, read with a sign, its number less 2^63.
    less_half = f"CAST({word} ^ {-_HALF}L AS DECIMAL(20, 0))"
    return f"CAST({less_half} + {_HALF}BD AS DECIMAL(20, 0))"


def spark_text_digest(column: str) -> str:
    """Return Spark's expression for d(id) of a STRING, as a BIGINT of the same 64 bits.

    >>> spark_text_digest("url")
    'CAST(conv(left(sha2(url, 256), 16), 16, -10) AS BIGINT)'
    """
    return f"CAST(conv(left(sha2({column}, 256), 16), 16, -10) AS BIGINT)"


def _is_integer(kind: IdKind) -> bool:
    if kind not in ("integer", "string"):
        raise InputError(f"no ids are of kind {kind!r}", details="kinds: integer, string")
    return kind == "integer"


def _signed(word: int) -> int:
    return word - _WORDS if word >= _HALF else word


def _duckdb_number(column: str, seed: int, kind: IdKind, mix: _Mix) -> str:
    digest = mix(_duckdb_word(column)) if _is_integer(kind) else _duckdb_text_digest(column)
    return mix(f"xor({digest}, {key(seed)}::UBIGINT)")


def _duckdb_word(column: str) -> str:
    # By way of 128 bits, as a plain cast to UBIGINT refuses the negative and one to BIGINT the
    # large; and hash() of a shorter integer type is another hash.
    return f"(({column})::HUGEINT & {_WORDS - 1}::HUGEINT)::UBIGINT"


def _duckdb_text_digest(column: str) -> str:
    return f"('0x' || left(sha256({column}), 16))::UBIGINT"


def _duckdb_hash(word: str) -> str:
    return f"hash({word})"


def _duckdb_hash_signed(word: str) -> str:
    """Hash the word as the BIGINT of the same bits."""
    small, large = f"TRY_CAST({word} AS BIGINT)", f"TRY_CAST({word}::HUGEINT - {_WORDS} AS BIGINT)"
    return f"hash(coalesce({small}, {large}))"


# h as a fold over its factors, the last of which, 1, makes its three steps alike: plain nesting
# would repeat the word eight times, and what makes the word with it.


def _duckdb_fold(word: str) -> str:
    factors = f"{MULTIPLIER}::UBIGINT, {MULTIPLIER}::UBIGINT, 1::UBIGINT"
    product = f"xor(x, x >> {SHIFT})::UHUGEINT * factor"
    step = f"(({product}) & {_WORDS - 1}::UHUGEINT)::UBIGINT"
    return f"list_reduce([{word}, {factors}], lambda x, factor: {step})"


# PostgreSQL repeats what an expression repeats, so every step is a query on the one before;
# OFFSET 0 keeps the planner from merging them.
_POSTGRES_FIRST_STEP = "SELECT {} AS x"
_POSTGRES_STEP = "SELECT {} AS x FROM ({} OFFSET 0) AS word"

_POSTGRES_SHIFTED = f"x # ((x >> {SHIFT}) & {2 ** (64 - SHIFT) - 1})"  # >> copies the sign
# A product of bigints may not overflow: numeric, made positive, then back into bigint's range.
_POSTGRES_TIMES = (
    f"(mod(({_POSTGRES_SHIFTED})::numeric * {MULTIPLIER} + {2**128 + _HALF}, {_WORDS}) - {_HALF})"
    "::bigint"
)
_POSTGRES_MIX = (_POSTGRES_TIMES, _POSTGRES_TIMES, _POSTGRES_SHIFTED)


def _spark_fold(word: str) -> str:
    factors = f"{_signed(MULTIPLIER)}L, {_signed(MULTIPLIER)}L, 1L"
    step = f"(x ^ shiftrightunsigned(x, {SHIFT})) * factor"
    return f"aggregate(array({factors}), {word}, (x, factor) -> {step})"
