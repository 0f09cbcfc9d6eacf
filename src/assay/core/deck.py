"""The deck: a keyed order of the items, the same wherever it is computed.

The definition, in full::

    number(seed, id) = h(d(id) xor K(seed))                  unsigned, 64 bits

    h(x)    = x ^= x >> 32;  x *= M;  x ^= x >> 32;  x *= M;  x ^= x >> 32    (modulo 2^64)
    M       = 0xD6E8FEB86659FD93
    K(seed) = blake2b of the ASCII text "assay-deck-1:<seed>", 8 bytes, read little-endian
    d(id)   = h(id)                                           for an integer (two's complement)
            = the first 8 bytes of SHA-256 of its UTF-8 text, read big-endian, for a string

An item's place in the deck is its number, smallest first; equal numbers are ordered by the UTF-8
bytes of the id. Equal numbers need two strings whose 64-bit digests collide: h is a bijection, so
different integers never meet. The numbers are permanent: a change of anything above is a change
of every sample that was ever drawn, hence the version in the text that makes K.

Why these parts. The key goes in *between* two rounds of mixing: ``h(id) xor K`` would put a
constant over one common shuffle, and two seeds would draw related samples. h is the 64-bit mixer
of degski [1]_ because it is DuckDB's ``hash`` of an integer (``murmurhash64`` in its source, though
MurmurHash3's finaliser is another function), which makes the deck all but free on the engine that
reads the most rows. SHA-256 is there with the same answer in Python, DuckDB, PostgreSQL and Spark.
`assay.predictions.sql` says all this in their SQL.

References
----------
.. [1] ``tests/degski64.c`` of https://github.com/skeeto/hash-prospector, which measures it; see
   also C. Wellons, "Prospecting for hash functions", https://nullprogram.com/blog/2018/07/31/.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Literal

import numpy as np

from assay.core.types import Ints, Words
from assay.errors import InputError, PredictionsError

Id = int | str
IdKind = Literal["integer", "string"]

MULTIPLIER = 0xD6E8FEB86659FD93
SHIFT = 32

NUMBERS = 2**64
"""One more than the largest number."""


def number(id: Id, seed: int) -> int:
    """Compute the item's number in plain Python: the reference for all other implementations.

    0 to 2^64 - 1; the item with the smallest number is dealt first.

    >>> number(7, seed=1)
    12798019467750399265
    >>> number("7", seed=1)
    17733975735935040879
    """
    return _mix_word(_digest_of_one(id) ^ key(seed))


def numbers(ids: Ints | Words | Sequence[Id], seed: int) -> Words:
    """Numbers of many items: `number` of each, in order.

    `ids`: as `digest` takes them.

    >>> numbers(np.array([7, 8]), seed=1)
    array([12798019467750399265,  5370165387894882594], dtype=uint64)
    """
    return mix(digest(ids) ^ np.uint64(key(seed)))


def key(seed: int) -> int:
    """K(seed), the 64 bits that make one seed's order unlike another's.

    >>> key(1)
    6402841768844205961
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise InputError(
            f"seed {seed!r} cannot be used", details="a seed is a whole number from 0 to 2^63 - 1"
        )
    return _key_of(seed)


def digest(ids: Ints | Words | Sequence[Id]) -> Words:
    """d(id) for each id: the part of a number that does not depend on the seed.

    `ids`: one column of ids. An array of integers is a hundred times faster than a sequence.

    >>> digest(["7", "007"])
    array([8719647946811673230, 7106483370208201996], dtype=uint64)
    """
    if isinstance(ids, np.ndarray):
        if ids.ndim != 1:
            raise PredictionsError(
                f"ids of shape {ids.shape} cannot be used", details="ids form one column"
            )
        if ids.dtype.kind in "iu":
            return mix(ids.astype(np.uint64))
        return digest(ids.tolist())
    if isinstance(ids, str | bytes) or not isinstance(ids, Sequence):
        raise PredictionsError(
            f"ids {ids!r} cannot be used",
            details="ids are an array of integers, or a sequence of integers or strings",
        )
    return np.fromiter(map(_digest_of_one, ids), dtype=np.uint64, count=len(ids))


def mix(words: Words) -> Words:
    """h(word) for each word; the input is not changed.

    >>> mix(np.array([0, 1], dtype=np.uint64))
    array([                  0, 4717996019076358352], dtype=uint64)
    """
    if words.dtype != np.uint64:
        # A signed shift would propagate the sign and silently give other numbers.
        raise InputError(f"words of type {words.dtype} cannot be mixed", details="uint64 is needed")
    mixed = words.copy()
    mix_in_place(mixed)
    return mixed


def mix_in_place(words: Words, multiplier: int = MULTIPLIER) -> None:
    """Replace each word, of type uint64, by h(word), optionally with another multiplier."""
    shifted = np.right_shift(words, SHIFT, out=np.empty_like(words))
    for _ in range(2):
        words ^= shifted
        words *= multiplier
        np.right_shift(words, SHIFT, out=shifted)
    words ^= shifted


def unmix(words: Words) -> Words:
    """Words whose h these are: integer ids from their digests.

    The xor with the upper half is its own inverse; a product is inverted modulo 2^64.

    >>> unmix(mix(np.array([0, 7, 2**63], dtype=np.uint64)))
    array([                  0,                   7, 9223372036854775808], dtype=uint64)
    """
    unmixed = words.copy()
    mix_in_place(unmixed, pow(MULTIPLIER, -1, NUMBERS))
    return unmixed


@lru_cache(maxsize=64)
def _key_of(seed: int) -> int:
    text = f"assay-deck-1:{seed}".encode("ascii")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def _mix_word(word: int) -> int:
    word ^= word >> SHIFT
    word = word * MULTIPLIER % NUMBERS
    word ^= word >> SHIFT
    word = word * MULTIPLIER % NUMBERS
    return word ^ word >> SHIFT


def _digest_of_one(id: Id) -> int:
    if isinstance(id, str):
        return int.from_bytes(sha256(_utf8(id)).digest()[:8], "big")
    if not isinstance(id, int) or isinstance(id, bool):
        raise PredictionsError(
            f"id {id!r} is of type {type(id).__name__}",
            details="an id is a whole number of 64 bits or a string",
        )
    if not -(2**63) <= id < NUMBERS:
        raise PredictionsError(
            f"id {id} does not fit in 64 bits",
            details="an integer id is from -2^63 to 2^64 - 1",
            hint="give larger ids as strings",
        )
    return _mix_word(id % NUMBERS)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise PredictionsError(
            f"id {text!r} is not valid Unicode text",
            details=f"character {error.start} is half of a surrogate pair",
            hint="read the ids again with the encoding they were written in",
        ) from error
