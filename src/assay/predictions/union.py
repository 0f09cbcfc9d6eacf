"""Predictions in several places, as one population."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Any, Self

import numpy as np

from assay.core.bins import STEPS, Rule, Scale, bins_by, bins_of, scale_of
from assay.core.cuts import Variable
from assay.core.deck import Id, IdKind, number
from assay.core.error_model import Model, Values
from assay.core.profile import ScoreCells, evenest
from assay.core.tally import cells_at
from assay.core.types import Ints
from assay.errors import PredictionsError
from assay.predictions.column import Ids
from assay.predictions.contract import Card, joint_fingerprint, listed
from assay.predictions.engine import Rows, Scanner, Span, Survey
from assay.predictions.predictions import Predictions


def united(parts: Sequence[Predictions]) -> Predictions:
    """Predictions of one classifier in several places.

    `parts`: two or more, with different items.

    >>> from assay.predictions import from_arrays
    >>> monday = from_arrays(y_score=[0.9, 0.2], ids=["a", "b"], threshold=0.5)
    >>> tuesday = from_arrays(y_score=[0.6], ids=["c"], threshold=0.5)
    >>> both = united([monday, tuesday])
    >>> both.size, both.positives, both.score_range
    (3, 2, (0.2, 0.9))
    """
    first, *others = parts
    for other in others:
        refuse_unlike(first, other)
    scanner = UnionScanner(tuple(parts))
    return Predictions(
        scanner, threshold=first.threshold, vocabulary=first.vocabulary, reopen=scanner.placed_by
    )


def shown_by(parts: Sequence[Predictions], ids: Sequence[Id]) -> list[dict[str, object]]:
    """Show the values of items, each from the last part that has it."""
    shown: dict[Id, dict[str, object]] = {}
    for part, own in _parted(parts, ids):
        shown |= dict(zip(own, part.scanner.show(own), strict=True))
    return [shown[id] for id in ids]


def _parted(
    parts: Sequence[Predictions], ids: Sequence[Id]
) -> Iterator[tuple[Predictions, list[Id]]]:
    """Parts with their items among these; an item is of the last part that has it."""
    left = list(dict.fromkeys(ids))
    for part in reversed(parts):
        if left:
            ids_there = part.scanner.find(left, variable="score", scale="margin").ids
            there = set(ids_there.at(np.arange(len(ids_there))))
            if own := [id for id in left if id in there]:
                yield part, own
            left = [id for id in left if id not in there]


def fingerprint_of(parts: Sequence[Predictions]) -> str:
    """Fingerprint of all parts together."""
    return joint_fingerprint([part.fingerprint() for part in parts], sum(p.size for p in parts))


class PartsScanner(Scanner):
    """Parts, each with its own scanner."""

    def __init__(self, parts: tuple[Predictions, ...]) -> None:
        self.parts: tuple[Predictions, ...] = parts
        self.source = listed([part.source for part in parts])

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self.parts[0].id_kind

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Show the values of items, each from the last part that has it."""
        return shown_by(self.parts, ids)

    def refuse_repeated_ids(self) -> None:
        """Read every id of each part, and raise if one repeats."""
        for part in self.parts:
            part.scanner.refuse_repeated_ids()


class UnionScanner(PartsScanner):
    """Parts with different items, as one population."""

    def again(self) -> Self:
        """Copy of the scanner after a new pass over every part."""
        return type(self)(tuple(part.as_it_is_now() for part in self.parts))

    def placed_by(self, model: Model) -> "UnionScanner":
        """Copy of the scanner with a model's log odds in place of the score."""
        return UnionScanner(tuple(part.with_model(model) for part in self.parts))

    def survey(self, seed: int) -> Survey:
        """Count the items of all parts together."""
        del seed  # each part has listed its own first cards
        cells = _joined([part.survey.cells for part in self.parts])
        doubts = tuple(doubt for part in self.parts for doubt in part.doubts)
        return Survey(cells, None, doubts, fingerprint_of(self.parts))

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        return _joined([part.scanner.cells(variable, scale) for part in self.parts])

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Count and weigh the items in each span."""
        counts = [part.scanner.count(spans, variable, scale) for part in self.parts]
        return np.asarray(np.sum(counts, axis=0))

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Rows of all spans."""
        asked: dict[str, Any] = {"variable": variable, "scale": scale, "seed": seed}
        return self._together([part.scanner.rows(spans, **asked) for part in self.parts])

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Rows with these ids."""
        asked: dict[str, Any] = {"variable": variable, "scale": scale}
        return self._together([part.scanner.find(ids, **asked) for part in self.parts])

    def _together(self, parts_rows: Sequence[Rows]) -> Rows:
        """Rows of all parts; raise if an item is in two."""
        ids = [rows.ids.at(np.arange(len(rows.ids))) for rows in parts_rows]
        _refuse_shared([(part.source, own) for part, own in zip(self.parts, ids, strict=True)])
        there = [rows for rows in parts_rows if len(rows.ids)] or parts_rows[:1]
        return Rows(
            Ids.concatenated([rows.ids for rows in there]),
            np.concatenate([rows.values for rows in there]),
            np.concatenate([rows.predicted for rows in there]),
        )

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of the score and of every column for a model, for some items."""
        by_id: dict[Id, dict[str, object]] = {}
        for part, own in _parted(self.parts, ids):
            opinions = part.opinions(own)
            by_id |= {
                id: {name: opinions[name][at] for name in opinions} for at, id in enumerate(own)
            }
        return {name: [by_id[id][name] for id in ids] for name in next(iter(by_id.values()), ())}

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        return reduce(xor, (part.opinions_digest() for part in self.parts), 0)


@dataclass(frozen=True)
class Top:
    """First cards of every deck of one part."""

    source: str  # source of the part
    decks: Sequence[Sequence[Card]]  # they hold every card down to their last one
    whole: Sequence[bool]  # whether nothing lies below the last card


def merge(tops: Sequence[Top], seed: int) -> list[list[Card]]:
    """First cards of the decks of all parts together.

    They end where the first of the parts ends; later cards of another part are dropped, because
    cards of the first may lie between.

    >>> monday, tuesday = ([Card(id, True, {}) for id in ids] for ids in ((8, 3), (4, 2)))
    >>> whole, cut_off = Top("monday", [monday], [True]), Top("tuesday", [tuesday], [False])
    >>> [card.id for card in merge([whole, cut_off], seed=1)[0]]
    [8, 4, 2]
    """
    _refuse_shared([(top.source, [card.id for deck in top.decks for card in deck]) for top in tops])
    merged = []
    for stratum in range(len(tops[0].decks)):
        placed = []
        end: tuple[int, bytes] | None = None
        for top in tops:
            own = [(_place(card.id, seed), card) for card in top.decks[stratum]]
            placed += own
            if not top.whole[stratum]:
                last = own[-1][0] if own else (-1, b"")
                end = last if end is None else min(end, last)
        placed.sort(key=lambda pair: pair[0])
        merged.append([card for place, card in placed if end is None or place <= end])
    return merged


def refuse_unlike(first: Predictions, other: Predictions) -> None:
    """Raise if two cannot be parts of one population."""
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


def _refuse_shared(parts: Sequence[tuple[str, Sequence[Id]]]) -> None:
    """Raise if an item is in two parts: it would be drawn twice as often as others."""
    holder: dict[Id, str] = {}
    for source, ids in parts:
        twice = [id for id in ids if id in holder]
        if twice:
            raise PredictionsError(
                f"item {twice[0]!r} is in {holder[twice[0]]} and in {source}",
                details=f"{len(twice):,} such among the items that were looked at; "
                "each part holds items of its own",
                hint="leave the repeated items out of one of them",
            )
        holder.update(dict.fromkeys(ids, source))


def _joined(parts: Sequence[ScoreCells]) -> ScoreCells:
    """Cells of all items: those in one bin, or that overlap, are merged.

    They equal the cells of all items in one place. They are wider only if the values of some parts
    lie between 0 and 1 and those of others do not: each part used its own rule.
    """
    low, high, count, predicted = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("low", "high", "count", "predicted")
    )
    order = np.argsort(low, kind="stable")
    low, high, count, predicted = low[order], high[order], count[order], predicted[order]
    reach = np.maximum.accumulate(high)

    def cells(rule: Rule) -> ScoreCells:
        first, last = bins_of(low, rule), bins_of(reach, rule)
        apart = (low[1:] > reach[:-1]) & (first[1:] > last[:-1])
        group = np.concatenate([[0], np.cumsum(apart)])
        bins = first[np.flatnonzero(np.diff(group, prepend=-1))][group]
        place = bins + STEPS[rule] + bins_by(rule) * predicted
        nothing = np.zeros_like(count)  # no digests: the fingerprint is that of the parts
        every = place, count, count, nothing, low, high
        return cells_at([every], rule, 2, xor=True, weighted=False)

    if scale_of(float(low[0]), float(reach[-1])) == "margin":
        return cells("margin")
    return evenest(cells, "probability", lambda each: each)
