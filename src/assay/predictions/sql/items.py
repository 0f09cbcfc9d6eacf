"""Items in a query: 64-bit words as two columns of 32 bits each, which every engine computes.

A product modulo 2^64 overflows in PostgreSQL and in Spark's ANSI mode, the default. Products of
halves fit into signed 64 bits. h (`assay.core.deck`) is two steps, each a separate selection: a
single expression would repeat each step's result in the next. Spark's planning time grows faster
than the length of a chain, so independent words are mixed side by side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.core.bins import Rule
from assay.core.deck import MULTIPLIER, SHIFT, IdKind, key
from assay.core.error_model import LARGEST, Model
from assay.predictions.query import Query, double_sql
from assay.predictions.sql.opinions import model_sql
from assay.predictions.sql.rows import Family, number_sql, scaled_sql, spread_sql

_MASK = 2**SHIFT - 1
_LOWER = MULTIPLIER & _MASK
_UPPER = (MULTIPLIER >> SHIFT) - 2**SHIFT  # with its sign, below 2^30 in size
_SIGN = 2**63

# The sum with 1.5 * 2^52 has no bits after the point: IEEE 754 rounds it to the nearest integer,
# halves to even. No two engines have the same function for this.
_ROUND = 6755399441055744.0


def rounded_sql(value: str) -> str:
    """Nearest integer, halves to even, if it is below 2^51 in size.

    >>> rounded_sql("x")
    'CAST((x + 6.7553994410557440e+15) - 6.7553994410557440e+15 AS BIGINT)'
    """
    large = double_sql(_ROUND)
    return f"CAST(({value} + {large}) - {large} AS BIGINT)"


def bin_sql(value: str, rule: Rule) -> str:
    """Bin of a value."""
    return rounded_sql(spread_sql(value, rule))


def impressions_of(weight: str, exponent: int) -> str:
    """Impressions of a row whose weight is above 0: `assay.core.weights`."""
    impressions = rounded_sql(scaled_sql(weight, exponent))
    return f"CASE WHEN {impressions} > 1 THEN {impressions} ELSE 1 END"


@dataclass(frozen=True)
class Halves:
    """The upper and the lower 32 bits of a word, as SQL."""

    upper: str
    lower: str

    @property
    def word(self) -> str:
        """The word as a signed integer of the same 64 bits."""
        return f"or_bits(left_by({self.upper}, {SHIFT}), {self.lower})"

    @property
    def place(self) -> str:
        """The word minus 2^63, for comparison with `place_of`."""
        flipped = f"xor_bits({self.upper}, {2 ** (SHIFT - 1)})"
        return f"settled(or_bits(left_by({flipped}, {SHIFT}), {self.lower}))"

    @property
    def number(self) -> str:
        """The word as the nearest DOUBLE, rounded once."""
        return f"settled({self.upper} * {2**SHIFT}e0 + {self.lower})"

    @property
    def shifted(self) -> "Halves":
        """Its exclusive or with itself, shifted by 32 bits."""
        return Halves(self.upper, f"xor_bits({self.lower}, {self.upper})")

    @property
    def times(self) -> "Halves":
        """Its product with M modulo 2^64.

        As _LOWER is below 0.81 2^31 and _UPPER is negative, neither product nor their sum reaches
        2^63.
        """
        product = f"{self.lower} * {_LOWER}"
        carried = f"right_by({product}, {SHIFT})"
        upper = f"{self.upper} * {_LOWER} + {self.lower} * ({_UPPER}) + {carried}"
        return Halves(f"and_bits({upper}, {_MASK})", f"and_bits({product}, {_MASK})")

    def xor(self, other: "Halves | int") -> "Halves":
        """Exclusive or with another word."""
        if isinstance(other, int):
            other = Halves(str(other >> SHIFT), str(other & _MASK))
        return Halves(
            f"xor_bits({self.upper}, {other.upper})", f"xor_bits({self.lower}, {other.lower})"
        )


def halves_of(word: str) -> Halves:
    """Halves of a signed integer."""
    return Halves(f"and_bits(right_by({word}, {SHIFT}), {_MASK})", f"and_bits({word}, {_MASK})")


def place_of(limit: float) -> int:
    """Write the number in the deck, for comparison with a place; 0 becomes 1.

    >>> place_of(2**63), place_of(2**64 - 1)
    (0, 9223372036854775807)
    """
    return max(int(limit), 1) - _SIGN  # not every engine reads -2^63 as a whole number


class Items:
    """Rows to which selections are added.

    `query`: the rows; `keep`: the columns that every selection keeps.
    """

    def __init__(self, query: Query, keep: Sequence[str] | None = None) -> None:
        self.query, self.keep = query, tuple(query.names if keep is None else keep)

    def named(self, *words: Halves) -> list[Halves]:
        """Select words, so that each is computed once."""
        columns, halves = [], []
        for place, word in enumerate(words):
            which = f"{len(self.query.steps)}_{place}"
            name = Halves(f"upper_{which}", f"lower_{which}")
            columns += [f"{word.upper} AS {name.upper}", f"{word.lower} AS {name.lower}"]
            halves.append(name)
        self.query = self.query.select(*self.keep, *columns)
        return halves

    def with_column(self, *columns: str) -> "Items":
        """Rows with further columns, which are kept."""
        return Items(self.query.select(*self.keep, *columns))

    def only(self, *names: str, where: str = "") -> "Items":
        """Select some columns of the rows that fulfil a condition."""
        return Items(self.query.select(*names, where=where))

    def mixed(self, mixing: Sequence[Halves], beside: Sequence[Halves] = ()) -> list[Halves]:
        """Hash h of some words, and others unchanged, all as existing columns.

        The halves passed should be columns; otherwise they are computed several times.
        """
        stepped = self.multiplied(mixing, beside)
        return [*(each.shifted for each in stepped[: len(mixing)]), *stepped[len(mixing) :]]

    def multiplied(self, mixing: Sequence[Halves], beside: Sequence[Halves] = ()) -> list[Halves]:
        """Hash h of some words but for its last step, and others unchanged."""
        for _ in range(2):
            stepped = self.named(*(each.shifted.times for each in mixing), *beside)
            mixing, beside = stepped[: len(mixing)], stepped[len(mixing) :]
        return [*mixing, *beside]

    def digest(self, id: str, kind: IdKind) -> Halves:
        """d(id) of a column, which is one of those kept."""
        if kind == "string":
            name = f"word_{len(self.query.steps)}"
            self.query = self.query.select(*self.keep, f"text_word({id}) AS {name}")
            return halves_of(name)
        (digest,) = self.mixed([halves_of(f"CAST({id} AS BIGINT)")])
        return digest

    def numbered(self, id: str, kind: IdKind, seed: int) -> Halves:
        """Write the number of a row in the deck."""
        (keyed,) = self.named(self.digest(id, kind).xor(key(seed)))
        (number,) = self.mixed([keyed])
        return number

    def with_digest(self, kind: IdKind) -> "Items":
        """Items with ``word``, d(id)."""
        digest = self.digest("id", kind)
        return self.with_column(f"{digest.word} AS word")

    def with_weight_word(self, kind: IdKind) -> "Items":
        """Items with ``word`` and ``weight_word``, h(d(id) xor h(impressions)).

        The same as `assay.predictions.draw.weight_words`.
        """
        (own, weight) = self.named(self.digest("id", kind), halves_of("weight"))
        (weight, own) = self.mixed([weight], [own])
        (both, own) = self.named(own.xor(weight), own)
        (both, own) = self.mixed([both], [own])
        return self.with_column(f"{both.word} AS weight_word", f"{own.word} AS word")

    def with_log_odds(
        self,
        model: Model,
        names: Mapping[str, str],  # of each column that the model may take
        types: Mapping[str, str],
        *,
        kind: IdKind,
        kept: Sequence[str],  # the columns to keep beside
    ) -> "Items":
        """Items with the log odds by the model of their fold, as ``value``."""
        first, second = model_sql(model, names, types, says="says", dialect="duckdb")
        rows = Items(self.query.select(*kept, f"{first} AS odds_0", f"{second} AS odds_1"))
        place = rows.numbered("id", kind, model.seed).place
        value = f"CASE WHEN {place} < 0 THEN odds_0 ELSE odds_1 END AS value"
        return Items(rows.query.select(*kept, value))


# A row's values of columns for a model, as a 64-bit word: the same as
# `assay.predictions.opinions.column_words` computes in memory. The bits of a number are made of its
# exponent and its fraction, in steps, each on columns of the one before.

_FRACTION = 2**52  # factor of a number's fraction; its exponent has 1023 added
_NORMAL = 2.0**-1022  # smaller numbers have no exponent of their own
_MOST = 2**63 - 1


def _exponent(x: str) -> str:
    return (
        f"CASE WHEN {x} = 0 OR NOT abs({x}) <= {double_sql(LARGEST)} THEN 0 "
        f"ELSE CAST(floor(log2(abs({x}))) AS INT) END"
    )


def _corrected(x: str, e: str) -> str:
    """Corrected exponent; a logarithm is not always rounded to the nearest number."""
    fraction = f"abs({x}) / pow(2e0, {e})"
    return (
        f"CASE WHEN {fraction} >= 2e0 THEN {e} + 1 WHEN {fraction} < 1e0 THEN {e} - 1 ELSE {e} END"
    )


def _bits(x: str, e: str) -> str:
    """Bits of the number without its sign."""
    twice = double_sql(2.0**537)
    fraction = f"(abs({x}) / pow(2e0, {e}) - 1e0) * {double_sql(float(_FRACTION))}"
    return f"""CASE WHEN {x} IS NULL OR isnan({x}) THEN {0x7FF8 << 48}
    WHEN {x} = 0 THEN 0
    WHEN abs({x}) > {double_sql(LARGEST)} THEN {0x7FF0 << 48}
    WHEN abs({x}) < {double_sql(_NORMAL)} THEN CAST(abs({x}) * {twice} * {twice} AS BIGINT)
    ELSE CAST({e} + 1023 AS BIGINT) * {_FRACTION} + CAST({fraction} AS BIGINT) END"""


def with_bits(rows: Query, keep: Sequence[str], numbers: Sequence[str]) -> Query:
    """Rows with the bits of some numbers in place of them, each a BIGINT."""
    kept = [*keep, *numbers]
    rows = rows.select(*kept, *(f"{_exponent(x)} AS {x}_guessed" for x in numbers))
    rows = rows.select(
        *kept, *(f"{_corrected(x, f'{x}_guessed')} AS {x}_exponent" for x in numbers)
    )
    rows = rows.select(
        *keep,
        *(f"{x} < 0 AS {x}_below" for x in numbers),
        *(f"{_bits(x, f'{x}_exponent')} AS {x}_size" for x in numbers),
        apart=True,
    )
    signed = "CASE WHEN {0}_below THEN {0}_size - {1} - 1 ELSE {0}_size END AS {0}"
    return rows.select(*keep, *(signed.format(x, _MOST) for x in numbers))


def with_opinions(items: Items, columns: Mapping[str, Family]) -> Items:
    """Items with values of columns hashed into ``word``, one after another."""
    others = [name for name in items.keep if name != "word" and name not in columns]
    numbers, texts = {}, {}
    for place, (column, family) in enumerate(columns.items()):
        numbers[f"said_{place}"] = number_sql(column, family, "duckdb")
        if family == "text":
            written = f"said_{place} IS NULL AND {column} IS NOT NULL"
            texts[f"text_{place}"] = f"CASE WHEN {written} THEN text_word({column}) END"
    kept = [*others, "word"]
    given = dict.fromkeys([*kept, *columns])
    rows = items.query.select(*given, *(f"{number} AS {name}" for name, number in numbers.items()))
    rows = rows.select(*kept, *numbers, *(f"{text} AS {name}" for name, text in texts.items()))
    each = Items(with_bits(rows, [*kept, *texts], list(numbers)), [*kept, *texts])
    words, own = each.multiplied([halves_of(name) for name in numbers]), "word"
    for place, word in enumerate(words):
        text_word = word.shifted.word
        text_word = (
            f"coalesce(text_{place}, {text_word})" if f"text_{place}" in texts else text_word
        )
        left = [half for later in words[place + 1 :] for half in (later.upper, later.lower)]
        left += [text for text in texts if int(text.removeprefix("text_")) > place]
        rows = each.query.select(
            *others, *left, f"xor_bits({own}, {text_word}) AS word", apart=True
        )
        each = Items(rows, [*others, *left])
        (mixed,) = each.mixed([halves_of("word")])
        own = mixed.word
    return Items(each.query.select(*others, f"{own} AS word"))
