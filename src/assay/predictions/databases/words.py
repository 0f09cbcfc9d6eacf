"""Words of 64 bits as two columns of 32 bits each, in SQL that every database computes alike.

A product modulo 2^64 overflows in PostgreSQL and is rounded in SQLite. Of halves, every product
fits into 64 bits with a sign. h (`assay.core.deck`) is two steps, each a selection of its own: a
single expression would repeat each step's result in the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.deck import MULTIPLIER, SHIFT, key
from assay.predictions.contract import IdKind
from assay.predictions.databases.translate import Query

_MASK = 2**SHIFT - 1
_LOWER = MULTIPLIER & _MASK
_UPPER = (MULTIPLIER >> SHIFT) - 2**SHIFT  # with its sign, below 2^30 in size
_SIGN = 2**63


@dataclass(frozen=True)
class Halves:
    """The upper and the lower 32 bits of a word, as SQL."""

    upper: str
    lower: str

    @property
    def word(self) -> str:
        """The word as a whole number with a sign, of the same 64 bits."""
        return f"or_bits(left_by({self.upper}, {SHIFT}), {self.lower})"

    @property
    def place(self) -> str:
        """The word less 2^63, to be compared with `place_of`."""
        flipped = f"xor_bits({self.upper}, {2 ** (SHIFT - 1)})"
        return f"or_bits(left_by({flipped}, {SHIFT}), {self.lower})"

    @property
    def number(self) -> str:
        """The word as a DOUBLE."""
        return f"({self.upper} * {2**SHIFT}e0 + {self.lower})"

    def xor(self, other: "Halves | int") -> "Halves":
        """Return the exclusive or with another word."""
        if isinstance(other, int):
            other = Halves(str(other >> SHIFT), str(other & _MASK))
        return Halves(
            f"xor_bits({self.upper}, {other.upper})", f"xor_bits({self.lower}, {other.lower})"
        )


def halves_of(word: str) -> Halves:
    """Return the halves of a whole number with a sign."""
    return Halves(f"and_bits(right_by({word}, {SHIFT}), {_MASK})", f"and_bits({word}, {_MASK})")


def place_of(limit: int) -> int:
    """Return a number of the deck as what a place is compared with; 0 becomes 1.

    >>> place_of(2**63), place_of(2**64 - 1)
    (0, 9223372036854775807)
    """
    return max(limit, 1) - _SIGN  # not every database reads -2^63 as a whole number


class Words:
    """Rows with words in some columns, which selections are added to.

    `query`: the rows; `keep`: the columns that every selection goes on with.
    """

    def __init__(self, query: Query, keep: Sequence[str]) -> None:
        self.query, self.keep = query, tuple(keep)
        self._names = 0

    def named(self, *words: Halves) -> list[Halves]:
        """Select words, so that each is computed once."""
        columns, found = [], []
        for word in words:
            self._names += 1
            name = Halves(f"upper_{self._names}", f"lower_{self._names}")
            columns += [f"{word.upper} AS {name.upper}", f"{word.lower} AS {name.lower}"]
            found.append(name)
        self.query = self.query.select(*self.keep, *columns)
        return found

    def with_column(self, *columns: str) -> "Words":
        """Return the rows with further columns, which are kept."""
        names = [column.rpartition(" AS ")[2] for column in columns]
        return Words(self.query.select(*self.keep, *columns), [*self.keep, *names])

    def mixed(self, mixing: Sequence[Halves], beside: Sequence[Halves] = ()) -> list[Halves]:
        """Return h of some words, and others as they are, all in columns that are there.

        The halves that are given are columns, or they are computed several times.
        """
        for _ in range(2):
            stepped = self.named(*map(_times, mixing), *beside)
            mixing, beside = stepped[: len(mixing)], stepped[len(mixing) :]
        return [*(Halves(each.upper, _shifted(each)) for each in mixing), *beside]

    def digest(self, id: str, kind: IdKind) -> Halves:
        """Return d(id) of a column, which is among those that are kept."""
        if kind == "string":
            self._names += 1
            name = f"word_{self._names}"
            self.query = self.query.select(*self.keep, f"text_word({id}) AS {name}")
            return halves_of(name)
        (digest,) = self.mixed(self.named(halves_of(f"CAST({id} AS BIGINT)")))
        return digest

    def numbered(self, id: str, kind: IdKind, seed: int) -> Halves:
        """Return the number of a row in the deck."""
        (keyed,) = self.named(self.digest(id, kind).xor(key(seed)))
        (number,) = self.mixed([keyed])
        return number


def _shifted(word: Halves) -> str:
    """Return the lower half of x ^ (x >> 32)."""
    return f"xor_bits({word.lower}, {word.upper})"


def _times(word: Halves) -> Halves:
    """Return (x ^ (x >> 32)) M modulo 2^64.

    As _LOWER is below 0.81 2^31 and _UPPER is negative, neither a product nor their sum reaches
    2^63.
    """
    lower = _shifted(word)
    product = f"{lower} * {_LOWER}"
    upper = f"{word.upper} * {_LOWER} + {lower} * ({_UPPER}) + right_by({product}, {SHIFT})"
    return Halves(f"and_bits({upper}, {_MASK})", f"and_bits({product}, {_MASK})")
