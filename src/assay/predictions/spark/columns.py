"""Columns that Spark computes of a row: its id, its number in the deck, the bins of its score.

A product modulo 2^64 is what Spark's ANSI mode, the default, calls an overflow. Here a word is two
halves of 32 bits, and every product fits into a BIGINT with its sign. So nothing depends on the
session's settings, which belong to whoever made it and may serve other queries at the same time.

h (`assay.core.deck`) is a chain of projections, because a single expression would repeat each
step's result in the next. Spark keeps them apart and compiles them into one loop. But it plans a
chain in time that grows faster than its length, so the chain is as short as can be: a projection
has one product of h, of several words side by side where they do not depend on each other. The
expression `assay.predictions.sql.deck.spark_number` is evaluated without being compiled.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import Rule, bins_of
from assay.core.deck import MULTIPLIER, SHIFT, Id, key
from assay.errors import PredictionsError
from assay.predictions.contract import IdKind
from assay.predictions.ids import Ids
from assay.predictions.spark.source import SparkRows, column_name
from assay.predictions.sql.deck import spark_text_digest
from assay.predictions.sql.rows import TRIED, double_sql, family_of, quoted, spread_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MASK = 2**SHIFT - 1
_LOWER = MULTIPLIER & _MASK
_UPPER = (MULTIPLIER >> SHIFT) - 2**SHIFT  # with its sign, below 2^30 in size
_SIGN = 2**63
HALVES = ("upper", "lower")

_LESS = f"& {_MASK}L"
_MOST_PARTITIONS = 2**31 - 1

# What depends on the partition, if only seemingly, no filter is moved in front of: it would be
# written in terms of the row's own columns, with every step's result repeated in the next.
NEVER = "spark_partition_id() < 0"
"""False, in an expression that filters are to see the result of only."""


def apart(rows: "DataFrame") -> "DataFrame":
    """Return the same rows, with what is computed of them compiled apart from what they are.

    Spark writes a chain of projections as one method in Java, and Java only interprets a method
    of more than 8,000 bytes. Partitions that are brought to no more than a number that no table has
    stay as they are, and what comes after that is a method of its own.
    """
    return rows.coalesce(_MOST_PARTITIONS)


def times(upper: str, lower: str) -> tuple[str, str]:
    """Return the halves of a word that is multiplied by M modulo 2^64.

    Both halves are repeated. Spark compiles what repeats in one projection only once.

    As _LOWER is below 0.81 2^31 and _UPPER is negative, neither a product nor their sum reaches
    2^63.
    """
    carried = f"shiftrightunsigned({lower} * {_LOWER}L, {SHIFT})"
    return (
        f"({upper} * {_LOWER}L + {lower} * {_UPPER}L + {carried}) {_LESS}",
        f"({lower} * {_LOWER}L) {_LESS}",
    )


def mixed(
    rows: "DataFrame", keep: Sequence[str], words: Mapping[str, tuple[str, str]]
) -> "DataFrame":
    """Return rows with the halves of h of some words, as ``<name>_upper`` and ``<name>_lower``.

    The lower half lacks the last step of h, the exclusive or with the upper (`lower_of`): whatever
    comes next takes it in.

    `keep`: the columns to keep beside the halves, as SQL; `words`: of each word its name, and its
    two halves as SQL.
    """
    for _ in range(2):
        halves = [
            f"{half} AS {name}_{which}"
            for name, (upper, lower) in words.items()
            for which, half in zip(HALVES, times(upper, f"({lower} ^ {upper})"), strict=True)
        ]
        rows = rows.selectExpr(*keep, *halves)
        words = {name: (f"{name}_upper", f"{name}_lower") for name in words}
    return rows


def lower_of(name: str) -> str:
    """Return the lower half of a word that `mixed` made."""
    return f"({name}_lower ^ {name}_upper)"


def halves_of(word: str) -> tuple[str, str]:
    """Return the halves of a BIGINT."""
    return f"shiftrightunsigned({word}, {SHIFT})", f"({word} {_LESS})"


def word_of(upper: str, lower: str) -> str:
    """Return the BIGINT of two halves."""
    return f"(shiftleft({upper}, {SHIFT}) | {lower})"


def spark_bin(value: str, rule: Rule) -> str:
    """Return the expression for the bin of a value, an INT.

    >>> spark_bin("p", "probability")
    'CAST(rint(2047 * (sqrt(p) - sqrt(1e0 - p))) AS INT)'
    """
    return f"CAST(rint({spread_sql(value, rule)}) AS INT)"


def with_digest(rows: "DataFrame", id: str, kind: IdKind) -> "DataFrame":
    """Return the rows with one more column: digest, d(id) as a BIGINT of the same 64 bits.

    The rows have no columns named word, word_upper and word_lower; the ids are BIGINT or STRING.
    """
    keep = [column_name(name) for name in rows.columns]
    if kind == "string":
        return rows.selectExpr(*keep, f"{spark_text_digest(id)} AS digest")
    rows = mixed(rows, keep, {"word": halves_of(id)})
    return rows.selectExpr(*keep, f"{word_of('word_upper', lower_of('word'))} AS digest")


def with_place(rows: "DataFrame", id: str, kind: IdKind, seed: int) -> "DataFrame":
    """Return the rows with one more column: place, their number in the deck less 2^63, a BIGINT.

    To be compared with `word_of_limit`.
    """
    keep = [column_name(name) for name in rows.columns]
    secret = key(seed)
    if kind == "string":
        rows = rows.selectExpr(*keep, f"{spark_text_digest(id)} AS word")
        digest = halves_of("word")
    else:
        rows = mixed(rows, keep, {"word": halves_of(id)})
        digest = "word_upper", lower_of("word")
    upper, lower = (
        f"{half} ^ {part}L AS {name}"
        for half, part, name in zip(digest, (secret >> SHIFT, secret & _MASK), HALVES, strict=True)
    )
    keyed = rows.selectExpr(*keep, upper, lower)
    flipped = f"(word_upper ^ {2 ** (SHIFT - 1)}L ^ CAST({NEVER} AS INT))"
    place = word_of(flipped, lower_of("word"))
    return mixed(keyed, keep, {"word": HALVES}).selectExpr(*keep, f"{place} AS place")


def number_of(place: str) -> str:
    """Return the number in the deck as a DOUBLE: the nearest to it, rounded once."""
    upper, lower = halves_of(f"({place} ^ {-_SIGN}L)")
    return f"({upper} * {float(2**SHIFT):.1f}e0 + {lower})"


def word_of_limit(limit: float) -> str:
    """Return a number of the deck as the literal that a place is compared with.

    >>> word_of_limit(2**63), word_of_limit(0)
    ('0L', '-9223372036854775808L')
    """
    return f"{int(limit) - _SIGN}L"


def xored(groups: "pa.Table", word: str) -> int:
    """Return what the words of all items make together, from groups that were counted."""
    words = groups[f"bit_xor({word})"].to_numpy()
    return int(np.bitwise_xor.reduce(words)) % 2**64


# Whether a Spark computes what numpy does: tried on known values, once for each session.


_SEED = 1
_KINDS: dict[str, IdKind] = {"whole": "integer", "text": "string"}
_IDS = [0, 1, -1, 7, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63) + 1]
_TEXTS = [
    "",
    " ",
    "7",
    "007",
    "NA",
    "naïve",
    "東京",
    "👩‍🔬",
    "it's",
    "back\\slash",
    "a\tb",
    "x" * 99,
]

_tried: "WeakSet[SparkSession]" = WeakSet()


def refuse_other_arithmetic(session: "SparkSession") -> None:
    """Raise an error if this Spark would draw other items than every other engine.

    One small job is run in the session, on one executor, that reads no data; none the next
    time.
    """
    if session in _tried:
        return
    rows = session.range(0, len(_IDS), 1, 1).selectExpr(
        "id AS row",
        _nth([f"{id}L" for id in _IDS], "whole"),
        _nth([quoted(text, "spark") for text in _TEXTS], "text"),
        *(_nth([double_sql(value) for value in values], rule) for rule, values in TRIED.items()),
    )
    for name, kind in _KINDS.items():
        rows = with_digest(rows, name, kind).withColumnRenamed("digest", f"digest of {kind} ids")
        rows = with_place(rows, name, kind, _SEED)
        rows = rows.withColumnRenamed("place", f"number of {kind} ids")
    bins = [f"{spark_bin(rule, rule)} AS `bin of a {rule}`" for rule in TRIED]
    table = rows.selectExpr("*", *bins).toArrow().sort_by("row")
    expected = {
        "digest of integer ids": deck.digest(_IDS).view(np.int64),
        "digest of string ids": deck.digest(_TEXTS).view(np.int64),
        "number of integer ids": _place(_IDS),
        "number of string ids": _place(_TEXTS),
        **{f"bin of a {rule}": bins_of(np.array(TRIED[rule]), rule) for rule in TRIED},
    }
    wrong = [name for name, right in expected.items() if table[name].to_pylist() != right.tolist()]
    if wrong:
        raise PredictionsError(
            f"this Spark computes otherwise than numpy: {', '.join(wrong)}",
            details=f"version {session.version}; it would draw other items than other engines do",
            hint="read the predictions with engine 'duckdb'",
        )
    _tried.add(session)


def _nth(literals: list[str], name: str) -> str:
    return f"element_at(array({', '.join(literals)}), CAST(id + 1 AS INT)) AS {name}"


def _place(ids: list[int] | list[str]) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    return (deck.numbers(ids, _SEED) ^ np.uint64(2**63)).view(np.int64)


# The column of ids of rows in Spark: integers of 64 bits with a sign, or strings.


class SparkIds:
    """The ids of some rows.

    `rows`: the rows; `column`: the column of the ids.

    `sql`: the id as an expression of type BIGINT or STRING.
    """

    kind: IdKind  # what they are

    def __init__(self, rows: SparkRows, column: str) -> None:
        self._rows, self._column = rows, column
        family = family_of(rows.types[column])
        if family not in ("integer", "text"):
            raise PredictionsError(
                f"the ids in column {column!r} of {rows.source} are of type {rows.types[column]}",
                details="an id is a whole number of 64 bits or a string",
                hint="Spark has no unsigned integers: read those of 2^63 and more with engine "
                "'duckdb'"
                if family == "decimal"
                else "make them integers if they are whole numbers, or else strings",
            )
        are_integers = self._are_written_integers() if rows.is_text else family == "integer"
        self.kind = "integer" if are_integers else "string"
        self.sql = f"CAST({column_name(column)} AS {'BIGINT' if are_integers else 'STRING'})"

    def of(self, column: "pa.ChunkedArray[Any]") -> Ids:
        """Take what Spark answered for ids."""
        if self.kind == "integer":
            return Ids(column.to_numpy())
        texts: Any = column.cast(pa.large_string()).combine_chunks()
        return Ids(texts)

    def only(self, ids: Sequence[Id], items: "DataFrame") -> "DataFrame":
        """Return those of the items whose ids are among these; every executor gets them all."""
        if self.kind == "integer":
            possible: list[Id] = [id for id in ids if -(2**63) <= int(id) < 2**63]
        else:
            possible = [id for id in ids if _is_unicode(str(id))]
        if not possible:
            return items.where("FALSE")
        kind = pa.int64() if self.kind == "integer" else pa.string()
        wanted = items.sparkSession.createDataFrame(pa.table({"id": pa.array(possible, kind)}))
        return items.join(wanted.hint("broadcast"), "id", "left_semi")

    def refuse_repeated(self) -> None:
        """Look at every id, and raise where one repeats."""
        ids = self._rows.frame.selectExpr(f"{self.sql} AS id").where("id IS NOT NULL")
        repeated = ids.groupBy("id").count().where("count > 1")
        count = self._rows.fetch(repeated.selectExpr("count(*)"))[0][0].as_py()
        if not count:
            return
        some = self._rows.fetch(repeated.orderBy("id").limit(3)).to_pylist()
        first = ", ".join(f"{row['id']!r} in {row['count']} rows" for row in some)
        raise PredictionsError(
            f"column {self._column!r} of {self._rows.source} has ids that occur more than once: "
            f"{count:,}",
            details=f"first: {first}",
            hint="an item is one row with an id of its own; drop the repetitions",
        )

    def _are_written_integers(self) -> bool:
        """Tell whether every text is an integer just as an integer is written."""
        name = column_name(self._column)

        def all_are(kind: str, within: str = "TRUE") -> str:
            read = f"TRY_CAST({name} AS {kind})"
            return f"bool_and(coalesce(CAST({read} AS STRING) = {name} AND {within}, FALSE))"

        unsigned = f"TRY_CAST({name} AS DECIMAL(20, 0)) BETWEEN 0 AND {2**64 - 1}"
        there = self._rows.frame.where(f"{name} IS NOT NULL")
        answer = there.selectExpr(all_are("BIGINT"), all_are("DECIMAL(20, 0)", unsigned))
        are_signed, are_unsigned = (c[0].as_py() for c in self._rows.fetch(answer).columns)
        if are_unsigned and not are_signed:
            raise PredictionsError(
                f"some ids in column {self._column!r} of {self._rows.source} are 2^63 and more",
                details="Spark has no unsigned integers",
                hint="read them with engine 'duckdb'",
            )
        return bool(are_signed)


def _is_unicode(text: str) -> bool:
    """Tell whether it is text that Spark can hold: no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
