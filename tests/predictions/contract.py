"""What predictions must answer, in plain Python from the definitions, and how they are compared.

Nothing of this is taken from an engine: the deck is that of docs/deck.md, the bins are those of the
docstring of `assay.core.bins`.
"""

import math
import struct
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b, sha256
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from assay.core.bins import Scale
from assay.core.cuts import Cuts, Variable
from assay.core.deck import Id
from assay.core.profile import Profile
from assay.core.strata import Side, Strata
from assay.core.stratify import stratify
from assay.predictions import Card, Predictions, read_predictions
from assay.predictions.scan import Engine, Scan
from tests.predictions.database_tables import DATABASES, in_database

SEED = 7
"""The seed that predictions are read with."""

_WORD = 2**64


@dataclass(frozen=True)
class Item:
    """One row, as it is meant."""

    id: Id
    score: float
    yes: bool
    shown: Mapping[str, object]

    @cached_property
    def digest(self) -> int:
        if isinstance(self.id, str):
            return int.from_bytes(sha256(self.id.encode()).digest()[:8], "big")
        return mixed(self.id % _WORD)

    def number(self, seed: int) -> int:
        return mixed(self.digest ^ _key(seed))


@cache
def _key(seed: int) -> int:
    key = blake2b(f"assay-deck-1:{seed}".encode(), digest_size=8).digest()
    return int.from_bytes(key, "little")


def mixed(word: int) -> int:
    """Return h of a word."""
    for _ in range(2):
        word ^= word >> 32
        word = word * 0xD6E8FEB86659FD93 % _WORD
    return word ^ word >> 32


def plain_bin(value: float, rule: str) -> int:
    """Return the bin; Python's round gives halves to the even neighbour."""
    if rule == "probability":
        return round(2047 * (math.sqrt(value) - math.sqrt(1 - value)))
    if rule == "tail":
        return round(2047 * (_root(value) - _root(1 - value)))
    return round(16383 * (1 / (1 + _root(max(-value, 0.0))) - 1 / (1 + _root(max(value, 0.0)))))


def _root(value: float) -> float:
    return math.sqrt(math.sqrt(math.sqrt(value)))


@dataclass(frozen=True, eq=False)
class Population:
    """The same predictions twice: as a table, and as they are meant.

    `options` are those of `read_predictions` that say which column is what.
    """

    table: "pa.Table"
    options: Mapping[str, Any]
    items: Sequence[Item]

    @property
    def show(self) -> list[str]:
        return list(self.items[0].shown)

    def read(self, source: object) -> Predictions:
        return read_predictions(source, **self.options, show=self.show, seed=SEED)

    def only(self, rows: Sequence[int]) -> "Population":
        """Return some rows, in the order given."""
        return Population(
            self.table.take(list(rows)), self.options, [self.items[row] for row in rows]
        )

    def showing(self, *names: str) -> "Population":
        """Return the same with fewer columns to show."""
        items = [
            Item(item.id, item.score, item.yes, {name: item.shown[name] for name in names})
            for item in self.items
        ]
        return Population(self.table, self.options, items)

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        roles = [self.options.get(role) for role in ("id", "score", "predicted")]
        return [*filter(None, roles), *self.show]

    @property
    def scales(self) -> list[Scale]:
        """The scales by which the confidence can be told."""
        probable = all(0 <= item.score <= 1 for item in self.items)
        return ["probability", "margin"] if probable else ["margin"]

    def value(self, item: Item, variable: str, scale: Scale) -> float:
        if variable == "score":
            return item.score
        if scale == "probability":
            return item.score if item.yes else 1.0 - item.score
        return abs(item.score - (self.options.get("threshold") or 0.0))

    def profile(self, variable: Variable, scale: Scale, side: Side) -> Profile:
        _, binned = _binned(self, variable, scale)
        cells = defaultdict(list)
        for bin, value, item in binned:
            if side is None or item.yes is side:
                cells[bin].append(value)
        return plain_profile(cells)

    def fingerprint(self) -> str:
        rule, binned = _binned(self, "score", "margin")
        cells = defaultdict(list)
        for bin, _, item in binned:
            cells[bin, item.yes].append(item)
        seen = sha256(rule.encode())
        ordered = [cells[cell] for cell in sorted(cells)]
        scores = [[item.score + 0.0 for item in cell] for cell in ordered]
        digests = [0] * len(ordered)
        for place, cell in enumerate(ordered):
            for item in cell:
                digests[place] ^= item.digest
        columns: list[tuple[str, Sequence[float]]] = [
            ("q", [bin for bin, _ in sorted(cells)]),
            ("q", [yes for _, yes in sorted(cells)]),
            ("q", [len(cell) for cell in ordered]),
            ("d", [min(cell) for cell in scores]),
            ("d", [max(cell) for cell in scores]),
            ("Q", digests),
        ]
        for kind, column in columns:
            seen.update(struct.pack(f"<{len(column)}{kind}", *column))
        return f"assay-predictions-2:{rule}:{len(self.items)}:{seen.hexdigest()[:16]}"

    def strata(
        self, method: str, variable: Variable, scale: Scale, sides: Sequence[Side]
    ) -> Strata:
        return _strata(self, method, variable, scale, tuple(sides))

    def members(self, strata: Strata, scale: Scale) -> list[list[Item]]:
        """Return the items of each stratum."""
        found: list[list[Item]] = []
        for heap in strata.heaps:
            of_heap: list[list[Item]] = [[] for _ in range(heap.cuts.n_strata)]
            side, cuts = heap.side, heap.cuts
            for item in self.items:
                if side is None or item.yes is side:
                    value = self.value(item, strata.variable, scale)
                    of_heap[cuts.owner[bisect_right(cuts.points, value)]].append(item)
            found += of_heap
        return found

    def dealt(
        self, strata: Strata, scale: Scale, seed: int, counts: Sequence[int]
    ) -> list[list[Card]]:
        return [
            [
                Card(item.id, item.yes, item.shown)
                for item in sorted(
                    members, key=lambda item: (item.number(seed), str(item.id).encode())
                )[:count]
            ]
            for members, count in zip(self.members(strata, scale), counts, strict=True)
        ]

    def through_cells(self, variable: Variable, scale: Scale) -> Strata:
        """Return strata whose cuts are not at the ends of cells; the first owns both flanks."""
        values = sorted({self.value(item, variable, scale) for item in self.items})
        points = [values[len(values) * part // 7] for part in (2, 3, 4)] if values[6:] else []
        owner = (1, 0, 1, 2) if points else (0,)
        cuts = Cuts("gmm", tuple(points), owner)
        sizes = [1] * cuts.n_strata  # for now
        of_one = self.members(Strata.of_sides(variable, {None: cuts}, tuple(sizes)), scale)
        return Strata.of_sides(variable, {None: cuts}, tuple(map(len, of_one)))


@cache
def _binned(
    meant: Population, variable: Variable, scale: Scale
) -> tuple[str, list[tuple[int, float, Item]]]:
    """Return the rule, and each item with its bin and its value."""
    values = [meant.value(item, variable, scale) + 0.0 for item in meant.items]
    rule = plain_rule([(value, item.yes) for value, item in zip(values, meant.items, strict=True)])
    bins = [plain_bin(value, rule) for value in values]
    return rule, list(zip(bins, values, meant.items, strict=True))


@cache
def _strata(
    meant: Population, method: str, variable: Variable, scale: Scale, sides: tuple[Side, ...]
) -> Strata:
    profiles = {side: meant.profile(variable, scale, side) for side in sides}
    return stratify(profiles, variable=variable, method=method, bins=5)


def plain_rule(values: Sequence[tuple[float, bool]]) -> str:
    """Return the rule for values with their labels."""
    if not all(0 <= value <= 1 for value, _ in values):
        return "margin"
    first = _heaviest(values, "probability")
    return "tail" if first > 1 / 50 and _heaviest(values, "tail") < first else "probability"


def _heaviest(values: Sequence[tuple[float, bool]], rule: str) -> float:
    """Return the largest share of a label's items in a cell of different values."""
    cells = defaultdict(list)
    for value, yes in values:
        cells[plain_bin(value, rule), yes].append(value)
    of_label = Counter(yes for _, yes in values)
    shares = [
        len(cell) / of_label[yes] for (_, yes), cell in cells.items() if min(cell) < max(cell)
    ]
    return max(shares, default=0.0)


def plain_profile(cells: Mapping[int, Sequence[float]]) -> Profile:
    """Return the profile of values by their bins."""
    inside = [cells[bin] for bin in sorted(cells)]
    low, high = np.array(list(map(min, inside))), np.array(list(map(max, inside)))
    middle = np.where(low == high, low, low / 2 + high / 2)
    return Profile(low, high, middle, np.array(list(map(len, inside))))


def as_bytes(profile: Profile) -> list[bytes]:
    """Return what tells 0.0 and -0.0 apart, too."""
    floats = (profile.low, profile.high, profile.mean)
    return [*(column.astype("<f8").tobytes() for column in floats), profile.count.tobytes()]


READERS = ("memory", "duckdb", "spark", *DATABASES)
"""All that reads predictions: engines that read files, and databases that count their tables."""


def scan_by(request: pytest.FixtureRequest, reader: str, source: object, **more: Any) -> Scan:
    """Say that an engine is to read something; Java is started only if it is Spark.

    Where the reader is a database, what is to be read is put into a table of it first.
    """
    if reader in (*DATABASES, "sqlite"):
        return in_database(request, reader, source, **more)
    engine = cast(Engine, reader)
    spark = request.getfixturevalue("spark") if engine == "spark" else None
    return Scan(source, engine=engine, spark=spark, **more)


def check_counts(found: Predictions, meant: Population) -> None:
    """Compare all that is counted: what strata are made of."""
    scores = [item.score + 0.0 for item in meant.items]
    assert found.size == len(meant.items)
    assert found.positives == sum(item.yes for item in meant.items)
    assert repr(found.score_range) == repr((min(scores), max(scores)))
    assert found.id_kind == ("string" if isinstance(meant.items[0].id, str) else "integer")
    assert found.threshold == meant.options.get("threshold")
    assert found.fingerprint() == meant.fingerprint()
    asked: list[tuple[Variable, Scale]] = [("score", "margin")]
    asked += [("confidence", scale) for scale in meant.scales]
    for variable, scale in asked:
        sides: list[Side] = [True, False, None]
        profiles = found.profile(variable, scale, sides)
        for side in sides:
            assert as_bytes(profiles[side]) == as_bytes(meant.profile(variable, scale, side))


def check_deals(found: Predictions, meant: Population) -> None:
    """Compare cards: none, some, all, more than there are; of the seed read with and of others."""
    scale = meant.scales[0]
    own = meant.strata("perc", "score", scale, [True, False])
    by_confidence = meant.strata("gmm", "confidence", scale, [None])
    yes = meant.strata("km", "score", scale, [True])
    through = meant.through_cells("score", scale)
    some = [0, 1, 40, 10**6, 5, 0, 200, 3, 17, 1_000]
    for strata, seed, counts in (
        (own, SEED, some[: own.n_strata]),
        (yes, SEED, yes.sizes.tolist()),
        (by_confidence, 0, [25] * by_confidence.n_strata),
        (through, 2**63 - 1, [60] * through.n_strata),
        (own, SEED, [0] * own.n_strata),
    ):
        dealt = found.deal(strata, scale=scale, seed=seed, counts=counts)
        assert dealt == meant.dealt(strata, scale, seed, counts)
        for cards in dealt:
            assert {type(card.id) for card in cards} <= {type(meant.items[0].id)}
            assert {type(card.predicted) for card in cards} <= {bool}


def check_draw(found: Predictions, meant: Population) -> None:
    """Compare what tells whether two sets of predictions are the same, and some cards."""
    assert found.fingerprint() == meant.fingerprint()
    scale = meant.scales[0]
    strata = meant.strata("perc", "score", scale, [True, False])
    counts = [30] * strata.n_strata
    dealt = found.deal(strata, scale=scale, seed=SEED, counts=counts)
    assert dealt == meant.dealt(strata, scale, SEED, counts)


def check_strata_of_another(found: Predictions, meant: Population, other: Population) -> None:
    """Compare counts and cards in strata that were cut for another population, of its sizes."""
    scale: Scale = other.scales[0] if other.scales[0] in meant.scales else "margin"
    asked: list[tuple[Variable, list[Side]]] = [("score", [True, False]), ("confidence", [None])]
    for variable, sides in asked:
        strata = other.strata("perc", variable, scale, sides)
        sizes = [len(members) for members in meant.members(strata, scale)]
        assert found.count(strata, scale=scale).tolist() == sizes
        for count in (5, 10**6):
            counts = [count] * strata.n_strata
            dealt = found.deal(strata, scale=scale, seed=SEED, counts=counts)
            assert dealt == meant.dealt(strata, scale, SEED, counts)


def check_finds(found: Predictions, meant: Population) -> None:
    """Compare items that are looked for, among them some that are not there or could not be."""
    there = [*meant.items[:50], meant.items[-1]]
    unknown: list[Id] = ["no such id", -5, 2**63 - 2, 2**64 - 2, 2**80, -(2**70), "", "12"]
    unknown = [id for id in unknown if id not in {item.id for item in meant.items}]
    asked: list[tuple[Variable, Scale]] = [("score", "margin"), ("confidence", meant.scales[0])]
    for variable, scale in asked:
        twice = there[0].id
        ids = [*unknown[:3], *(item.id for item in there), *unknown[3:], twice]
        answers = found.find(ids, variable=variable, scale=scale)
        assert answers[-1] == answers[3] is not None
        told = dict(zip(ids, answers, strict=True))
        assert all(told[id] is None for id in unknown)
        for item in there:
            answer = told[item.id]
            assert answer is not None
            assert answer.card == Card(item.id, item.yes, item.shown)
            assert repr(answer.value) == repr(meant.value(item, variable, scale) + 0.0)
    assert found.find([], variable="score", scale="margin") == []
    assert found.find(unknown, variable="score", scale="margin") == [None] * len(unknown)
