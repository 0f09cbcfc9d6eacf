"""Predictions that are kept in several places, as one population."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor

import numpy as np

from assay.core.bins import Rule, Scale, bins_of, scale_of
from assay.core.cells import Heap, Part
from assay.core.cuts import Variable
from assay.core.deck import Id, number
from assay.core.error_model import Model, Values
from assay.core.profile import HEAVY, Profile
from assay.core.strata import UNNAMED, Side, Strata
from assay.core.targets import NO_GROUPS
from assay.core.types import Ints
from assay.errors import PredictionsError
from assay.predictions.contract import (
    Card,
    Found,
    IdKind,
    Predictions,
    joint_fingerprint,
    listed,
)
from assay.predictions.doubts import Doubt
from assay.predictions.opinions import Opinionated
from assay.predictions.scanned import ScannedPredictions


class UnionPredictions:
    """`Predictions` made of several, which hold different items.

    `parts`: of one classifier; two or more.

    >>> from assay.predictions import from_arrays
    >>> monday = from_arrays(y_score=[0.9, 0.2], ids=["a", "b"], threshold=0.5)
    >>> tuesday = from_arrays(y_score=[0.6], ids=["c"], threshold=0.5)
    >>> both = UnionPredictions([monday, tuesday])
    >>> both.size, both.positives, both.score_range
    (3, 2, (0.2, 0.9))
    """

    weighted = False
    classifiers, groups = UNNAMED, NO_GROUPS

    def __init__(self, parts: Sequence[Predictions]) -> None:
        first, *others = parts
        for other in others:
            refuse_unlike(first, other)
        self.parts = tuple(parts)
        self.id_kind: IdKind = first.id_kind
        self.threshold = first.threshold

    def __repr__(self) -> str:
        """Say where the predictions come from, and how many say yes."""
        return f"<predictions of {self.source}: {self.positives:,} say yes>"

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that are predicted."""
        return self.parts[0].classes

    @property
    def multilabel(self) -> bool:
        """Whether several classes may be predicted of an item: those are in one place."""
        return False

    def as_it_is_now(self) -> "UnionPredictions":
        """Return the same, with parts that lie elsewhere looked at again."""
        return UnionPredictions([as_it_is_now(part) for part in self.parts])

    @property
    def source(self) -> str:
        """Where they come from."""
        return listed([part.source for part in self.parts])

    @property
    def size(self) -> int:
        """The number of items."""
        return sum(part.size for part in self.parts)

    @property
    def positives(self) -> int:
        """The number of items predicted yes."""
        return sum(part.positives for part in self.parts)

    @property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        lowest, highest = zip(*(part.score_range for part in self.parts), strict=True)
        return min(lowest), max(highest)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What looks wrong with the scores of a part."""
        return tuple(doubt for part in self.parts for doubt in part.doubts)

    def fingerprint(self) -> str:
        """Return a text that changes when that of a part does."""
        return joint_fingerprint([part.fingerprint() for part in self.parts], self.size)

    def profile(
        self, variable: Variable, scale: Scale, sides: Sequence[Side]
    ) -> dict[Side, Profile]:
        """Return the distribution of the stratification variable on each side.

        It is that of all items in one place. Only where some parts' values lie between 0 and 1 and
        others' do not are cells wider than there: each was made by the rule for its part.
        """
        profiles: dict[Side, list[Profile]] = {side: [] for side in sides}
        for part in self.parts:
            there = {True: part.positives > 0, False: part.positives < part.size, None: True}
            its = part.profile(variable, scale, [side for side in sides if there[side]])
            for side, profile in its.items():
                profiles[side].append(profile)
        rules: list[Rule] = ["margin"]
        if scale_of(*_range(profiles.values())) == "probability":
            rules = ["probability", "tail"]
        tried = [{side: _joined(each, rule) for side, each in profiles.items()} for rule in rules]
        return next((each for each in tried if _heaviest(each) <= HEAVY), min(tried, key=_heaviest))

    def count(self, strata: Strata, *, scale: Scale) -> Ints:
        """Return the number of items in each stratum."""
        counts = np.zeros(strata.n_strata, dtype=np.int64)
        for part in self.parts:
            counts += part.count(strata, scale=scale)
        return counts

    def deal(
        self, strata: Strata, *, scale: Scale, seed: int, counts: Sequence[int]
    ) -> list[list[Card]]:
        """Return the first ``counts[h]`` cards of every stratum h, in deck order."""
        tops = []
        for part in self.parts:
            decks = part.deal(strata, scale=scale, seed=seed, counts=counts)
            whole = [len(deck) < most for deck, most in zip(decks, counts, strict=True)]
            tops.append(Top(part.source, decks, whole))
        return [deck[:most] for deck, most in zip(merge(tops, seed), counts, strict=True)]

    def cells(self) -> dict[int, int]:
        """Return the number of items with each code that occurs: 1 for yes, 0 for no."""
        return dict(sum((Counter(part.cells()) for part in self.parts), Counter()))

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Refuse: each part ranks its own items only."""
        raise self._without_ranks(heaps)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Refuse, likewise."""
        raise self._without_ranks(heaps)

    def _without_ranks(self, heaps: Sequence[object]) -> PredictionsError:
        return PredictionsError(
            f"{self.source} cannot be cut by rank into {len(heaps)} heaps",
            details="a rank is a place among all items, and each part knows its own",
            hint="give all items in one place: a path, a pattern of paths, a table",
        )

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> list[Found | None]:
        """Return the items with these ids; None where there is none."""
        answers = [part.find(ids, variable=variable, scale=scale) for part in self.parts]
        return [
            next((item for item in found if item is not None), None)
            for found in zip(*answers, strict=True)
        ]

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what the score and every column for a model say of some items."""
        every = dict.fromkeys(ids)
        told: dict[Id, dict[str, object]] = {}
        for part in self._opinionated:
            there = part.find([*every], variable="score", scale="margin")
            its = [id for id, found in zip(every, there, strict=True) if found is not None]
            said = part.opinions(its)
            told |= {id: {name: said[name][at] for name in said} for at, id in enumerate(its)}
        return {name: [told[id][name] for id in ids] for name in next(iter(told.values()), ())}

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""
        return reduce(xor, (part.opinions_digest() for part in self._opinionated), 0)

    def with_model(self, model: Model) -> "UnionPredictions":
        """Return the same predictions with a model's log odds in the score's place."""
        return UnionPredictions([part.with_model(model) for part in self._opinionated])

    @property
    def _opinionated(self) -> list[Opinionated]:
        return [part for part in self.parts if isinstance(part, Opinionated)]


def as_it_is_now(predictions: Predictions) -> Predictions:
    """Return predictions as they are now; those in memory do not change."""
    if isinstance(predictions, ScannedPredictions | UnionPredictions):
        return predictions.as_it_is_now()
    return predictions


@dataclass(frozen=True)
class Top:
    """The first cards of every deck of one part."""

    source: str  # where the part comes from
    decks: Sequence[Sequence[Card]]  # they hold every card down to their last one
    whole: Sequence[bool]  # whether nothing lies below the last card


def merge(tops: Sequence[Top], seed: int) -> list[list[Card]]:
    """Return the first cards of the decks of all parts together.

    They go down to where the first of the parts leaves off; what another part holds further below
    is left out, since cards of the first may lie between.

    `tops`: of the same strata.

    >>> monday, tuesday = ([Card(id, True, {}) for id in ids] for ids in ((8, 3), (4, 2)))
    >>> whole, cut_off = Top("monday", [monday], [True]), Top("tuesday", [tuesday], [False])
    >>> [card.id for card in merge([whole, cut_off], seed=1)[0]]
    [8, 4, 2]
    """
    _refuse_shared(tops)
    merged = []
    for stratum in range(len(tops[0].decks)):
        placed = []
        end: tuple[int, bytes] | None = None
        for top in tops:
            its = [(_place(card.id, seed), card) for card in top.decks[stratum]]
            placed += its
            if not top.whole[stratum]:
                last = its[-1][0] if its else (-1, b"")
                end = last if end is None else min(end, last)
        placed.sort(key=lambda pair: pair[0])
        merged.append([card for place, card in placed if end is None or place <= end])
    return merged


def refuse_unlike(first: Predictions, other: Predictions) -> None:
    """Raise where two cannot be parts of one population."""
    for what, one, two in (
        ("ids are", f"{first.id_kind}s", f"{other.id_kind}s"),
        ("predicted label changes at", first.threshold, other.threshold),
        ("classes are", ", ".join(first.classes), ", ".join(other.classes)),
    ):
        if one != two:
            raise PredictionsError(
                f"{first.source} and {other.source} cannot be one population",
                details=f"the {what} {one} in the first and {two} in the second",
            )


def _place(id: Id, seed: int) -> tuple[int, bytes]:
    return number(id, seed), str(id).encode()


def _refuse_shared(tops: Sequence[Top]) -> None:
    """Raise where an item is in two parts: it would be drawn twice as often as others."""
    holder: dict[Id, str] = {}
    for top in tops:
        ids = [card.id for deck in top.decks for card in deck]
        twice = [id for id in ids if id in holder]
        if twice:
            raise PredictionsError(
                f"item {twice[0]!r} is in {holder[twice[0]]} and in {top.source}",
                details=f"{len(twice):,} such among the cards that were dealt; "
                "each part holds items of its own",
                hint="leave the repeated items out of one of them",
            )
        holder.update(dict.fromkeys(ids, top.source))


def _range(profiles: Iterable[Sequence[Profile]]) -> tuple[float, float]:
    every = [profile for parts in profiles for profile in parts]
    return min(each.min for each in every), max(each.max for each in every)


def _heaviest(profiles: Mapping[Side, Profile]) -> float:
    """Return the largest share of a side's items in a cell of different values."""
    return max(
        float(np.max(each.count / each.total, where=each.low < each.high, initial=0.0))
        for each in profiles.values()
    )


def _joined(profiles: Sequence[Profile], rule: Rule) -> Profile:
    """Return the profile of the items of all: cells of one bin, or that overlap, become one."""
    low = np.concatenate([each.low for each in profiles])
    high = np.concatenate([each.high for each in profiles])
    count = np.concatenate([each.count for each in profiles])
    order = np.argsort(low, kind="stable")
    low, high, count = low[order], high[order], count[order]
    reach = np.maximum.accumulate(high)[:-1]
    apart = (low[1:] > reach) & (bins_of(low[1:], rule) > bins_of(reach, rule))
    starts = np.flatnonzero(np.concatenate([[True], apart]))
    return Profile.of_ranges(
        low=low[starts],
        high=np.maximum.reduceat(high, starts),
        count=np.add.reduceat(count, starts),
    )
