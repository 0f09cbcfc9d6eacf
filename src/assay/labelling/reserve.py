"""Reserve: the first items of every deck, kept in the store so that predictions are read seldom.

After a campaign is made its predictions are read again only when a reserve runs out.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.core.deck import Id, number
from assay.core.types import Floats
from assay.core.weights import Arrivals, seed_of_arrival
from assay.errors import AssayError, PredictionsError
from assay.labelling.confirmation import refuse_unconfirmed
from assay.labelling.settings import Settings
from assay.labelling.shown import refuse_other_shown
from assay.labelling.source import Part, Source
from assay.predictions import (
    RANKED,
    Card,
    Predictions,
    Ranking,
    Scan,
    as_scan,
)
from assay.storage import CardRow, Session, Store

_LONGEST_ID = 10_000  # characters
_AT_ONCE = 2_000  # cards that are put down in one transaction: others wait for it
_LEAST = 50  # cards a stratum; fewer would only make more trips
_MORE = 50  # cards to read from the store beyond what is asked for, for the same reason


class ShortReserveError(Exception):
    """There are fewer cards in reserve than are to be dealt.

    `wanted`: how many of each stratum there should be.
    """

    def __init__(self, wanted: Sequence[int]) -> None:
        super().__init__()
        self.wanted = wanted


class Reserve:
    """A campaign's reserve.

    `key`: the campaign's number in the store; `settings`: what fixes the decks; `predictions`:
    where more cards come from. None: they are looked for at the path they came from.
    """

    def __init__(self, key: int, settings: Settings, predictions: Predictions | None) -> None:
        self._key, self._settings, self._predictions = key, settings, predictions
        self._read: dict[int, list[CardRow]] = {}  # of each deck, some that follow on each other
        self._ends: dict[int, int] = {}  # how many cards decks have, of those that were read so far
        self._weighted = settings.strata.weighted
        self._arrivals: dict[int, Arrivals] = {}
        self._met: dict[int, list[CardRow]] = {}  # of each deck, those that have arrived

    @property
    def at_hand(self) -> Predictions | None:
        """The predictions, where they were given or have been read."""
        return self._predictions

    def take(self, session: Session, dealt: Floats, counts: Sequence[int]) -> list[CardRow]:
        """Return the next cards of every deck; raise `ShortReserveError` where some are missing.

        They come in an order that says nothing about their strata (by their numbers under another
        key), and the same every time.
        """
        spans = [
            (int(start), int(start) + count) for start, count in zip(dealt, counts, strict=True)
        ]
        deal = self._arriving if self._weighted else self._span
        cards = [
            card
            for stratum, (start, stop) in enumerate(spans)
            if stop > start
            for card in deal(session, stratum, start, stop)
        ]
        if len(cards) < sum(counts):
            raise ShortReserveError([2 * stop for _, stop in spans])
        return [card for card, _ in sorted(cards, key=self._show_order)]

    def soon_short(self, dealt: Floats, counts: Sequence[int]) -> ShortReserveError | None:
        """Return the cards that are missing if a round like this one follows it; None: none are."""
        if self._weighted:
            return None  # how many cards arrive is known only when they do
        sizes = self._settings.strata.sizes.tolist()
        stops = [int(start) + count for start, count in zip(dealt, counts, strict=True)]
        for stratum, end in self._ends.items():
            if end < min(stops[stratum] + counts[stratum], sizes[stratum]):
                return ShortReserveError([2 * stop for stop in stops])
        return None

    def _span(
        self, session: Session, stratum: int, start: int, stop: int
    ) -> list[tuple[CardRow, int]]:
        """Return a deck's cards, none of which was dealt before."""
        return [(card, 0) for card in self._lie(session, stratum, start, stop)]

    def _arriving(
        self, session: Session, stratum: int, start: int, stop: int
    ) -> list[tuple[CardRow, int]]:
        """Return what arrives from one time to another: cards, and how often each was dealt before.

        Nothing where the deck does not reach so far.
        """
        size = int(self._settings.strata.sizes[stratum])
        arrivals = self._arrivals.setdefault(stratum, Arrivals(self._settings.seed, size))
        met = self._met.setdefault(stratum, [])

        def card_at(position: int) -> tuple[Id, int] | None:
            if position == len(met):
                met.extend(self._lie(session, stratum, position, position + 1))
            if position == len(met):
                return None
            card = met[position]
            return self._settings.item_id(card.item_id), card.weight or 1

        if not arrivals.reach(stop, card_at):
            return []
        return [(met[position], before) for position, before in arrivals.order[start:stop]]

    def _lie(self, session: Session, stratum: int, start: int, stop: int) -> list[CardRow]:
        """Return a deck's cards, from what was read before if they are there: they never change."""
        read = self._read.get(stratum, [])
        first = read[0].position if read else start
        if not first <= start <= stop <= first + len(read):
            first, read = start, session.cards(self._key, stratum, start, stop + _MORE)
            self._read[stratum] = read
            self._ends.pop(stratum, None)
            if len(read) < stop + _MORE - start:
                self._ends[stratum] = start + len(read)
        return read[start - first : stop - first]

    def _lying(self, session: Session, spans: Sequence[tuple[int, int]]) -> list[CardRow]:
        """Return the cards of every stratum's span that are in the store."""
        return [
            card
            for stratum, (start, stop) in enumerate(spans)
            if stop > start
            for card in session.cards(self._key, stratum, start, stop)
        ]

    def _show_order(self, dealt: tuple[CardRow, int]) -> int:
        card, before = dealt
        another_seed = seed_of_arrival(self._settings.seed ^ 1, before)
        return number(self._settings.item_id(card.item_id), another_seed)

    def grow(self, store: Store, wanted: Sequence[int]) -> None:
        """Put down cards until each stratum has as many as are wanted, or all it holds.

        The predictions are read outside of any transaction, and put down in several: others may
        write meanwhile. Should somebody else have put down the same cards by then, they are passed
        over. Cards come by deck and position, so that a process that dies leaves no gap.
        """
        with store.read() as session:
            held = session.reserve(self._key, len(wanted))
            longer = [each for each, end in [*self._ends.items()] if held[each] > end]
            if longer:  # somebody has put down cards since, which may be all that is missing
                for stratum in longer:
                    self._ends.pop(stratum, None)
                return
            lying = self._lying(session, [(0, stop) for stop in held])
        found = self.source(store)
        check_same(self._settings, found)
        cards = more_cards(self._settings, found, wanted, lying)
        if not cards:
            raise PredictionsError(
                f"there are no more cards in {self._settings.source.description}",
                details="the strata are said to hold more items than were found",
            )
        for start in range(0, len(cards), _AT_ONCE):
            with store.write() as session:
                held = session.reserve(self._key, len(wanted))
                some = cards[start : start + _AT_ONCE]
                new = [card for card in some if card.position >= held[card.stratum]]
                session.add_cards(self._key, new)

    def source(self, store: Store) -> Predictions:
        """Return the predictions as they are now."""
        if self._predictions is not None:
            from assay.predictions import as_it_is_now

            self._predictions = as_it_is_now(self._predictions)
        else:
            source = self._settings.source
            remedy = f"load_campaign({self._settings.name!r}, predictions={_places(source)})"
            refuse_unconfirmed(store, self._settings)
            try:
                found = read_again(whereabouts(store, self._settings), self._settings)
            except AssayError as error:
                raise PredictionsError(
                    "the cards in reserve are used up, and the predictions are not at hand",
                    details=str(error),
                    hint=f"give them from where they are now: {remedy}; all labels are safe",
                ) from error
            self._predictions = found
        return self._predictions


def depth(settings: Settings) -> list[int]:
    """Return how many cards of each deck to lay down at first.

    Together they are twice what the goal takes at worst, shared out evenly.
    """
    sizes = settings.strata.sizes
    each = max(_LEAST, -(-2 * settings.goal.worst_case // len(sizes)))
    return [min(size, each) for size in sizes.tolist()]


def more_cards(
    settings: Settings,
    predictions: Predictions,  # where the cards come from
    wanted: Sequence[int],  # cards of each stratum
    lying: Sequence[CardRow] = (),  # those that are there already
) -> list[CardRow]:
    """Return the cards to lay below those that lie, until there are as many as are wanted."""
    held = np.bincount([card.stratum for card in lying], minlength=len(wanted)).tolist()
    decks = predictions.deal(
        settings.strata,
        scale=settings.source.scale,
        seed=settings.draw_seed,
        counts=[max(pair) for pair in zip(held, wanted, strict=True)],
    )
    decks = _with_ranks(settings, predictions, decks)
    refuse_other_shown(settings, lying, decks, predictions.source)
    # Labels from before lie on top of their decks; at their own place they are passed over.
    there = {card.item_id for card in lying}
    return [
        card_row(card, stratum, position)
        for stratum, deck in enumerate(decks)
        for position, card in enumerate(
            (card for card in deck if str(card.id) not in there), held[stratum]
        )
    ]


def _with_ranks(
    settings: Settings, predictions: Predictions, decks: list[list[Card]]
) -> list[list[Card]]:
    """Return cards with their most probable classes, where targets of top-k accuracy need them."""
    if not settings.ranked or not isinstance(predictions, Ranking):
        return decks
    ids = [card.id for deck in decks for card in deck]
    ranks = iter(predictions.ranked(ids, settings.ranked) if ids else ())
    return [
        [replace(card, shown={**card.shown, RANKED: next(ranks)}) for card in deck]
        for deck in decks
    ]


def whereabouts(
    store: Store, settings: Settings, parts: Sequence[Part] | None = None
) -> list[Scan]:
    """Return where all parts of the predictions were, or some; raise where nobody confirmed it.

    This is the only way from what a storage says to something that is read.
    """
    refuse_unconfirmed(store, settings)
    scans = []
    for part in settings.source.parts if parts is None else parts:
        if part.scan is None:
            raise PredictionsError(f"the predictions were given in memory: {part.description}")
        scans.append(Scan.from_dict(part.scan))
    return scans


def scans_of(predictions: object, source: Source) -> list[Scan]:
    """Return where predictions are that are given for those of a campaign: in a list, all parts.

    A path alone is read as the path before it was: rows that a condition left out stay out.
    """
    given = predictions if isinstance(predictions, list) else [predictions]
    before = source.parts[-1].scan or {}
    scans = []
    for each in given:
        scan = as_scan(each)
        alone = scan.path is not None and scan is not each
        scans.append(replace(scan, where=before.get("where")) if alone else scan)
    return scans


def read_again(scans: Sequence[Scan], settings: Settings) -> Predictions:
    """Read predictions as they were read when the campaign was made."""
    from assay.predictions import UnionPredictions, read_predictions

    columns = {**settings.source.columns, "show": settings.source.kept}
    if not settings.classes.is_yes_or_no:
        columns["classes"] = settings.classes
    if settings.source.compares:
        return _read_both(scans, settings, columns)
    if len(scans) == 1:
        return read_predictions(scans[0], **columns, seed=settings.seed)
    if "classifiers" in columns or not scans:
        raise PredictionsError(
            f"predictions are given in a list of {len(scans)}",
            details="several classifiers' must be in one: a path, a pattern of paths, a table",
        )
    return UnionPredictions([read_again([scan], settings) for scan in scans])


def _read_both(
    scans: Sequence[Scan], settings: Settings, columns: Mapping[str, Any]
) -> Predictions:
    """Read the two sets of predictions that a campaign compares."""
    from assay.predictions import read_compared

    if len(scans) != len(settings.source.parts):
        raise PredictionsError(
            f"campaign {settings.name!r} compares two sets of predictions, and {len(scans)} is "
            "given",
            hint=f"give both, the earlier first: predictions={_places(settings.source)}",
        )
    return read_compared(scans, **columns, seed=settings.seed)


def card_row(card: Card, stratum: int, position: int) -> CardRow:
    """Return a card as it is kept in the store, and shown on a page."""
    text = str(card.id)
    if "\0" in text or len(text) > _LONGEST_ID:
        raise PredictionsError(
            f"id {text[:40]!r} cannot be used: it has "
            + ("a NUL" if "\0" in text else f"{len(text):,} characters"),
            details=f"ids have at most {_LONGEST_ID:,} characters, and no NUL",
        )
    shown = json.dumps(dict(card.shown)) if card.shown else "{}"
    return CardRow(stratum, position, text, int(card.predicted), shown, card.weight)


def check_same(settings: Settings, predictions: Predictions) -> None:
    """Raise where the predictions are not those that the campaign was made from."""
    from assay.predictions import parts_in

    parts = settings.source.parts
    found = parts_in(predictions)
    if len(found) != len(parts):
        raise PredictionsError(
            f"{predictions.source}: predictions from {len(found)} place(s), and those of campaign "
            f"{settings.name!r} came from {len(parts)}",
            details=f"they came from {', '.join(part.description for part in parts)}",
            hint=f"give all of them, in that order: predictions={_places(settings.source)}",
        )
    for part, now in zip(parts, found, strict=True):
        if now.fingerprint() == part.fingerprint:
            continue
        raise PredictionsError(
            f"{now.source} is not what campaign {settings.name!r} was made from",
            details=f"then {part.rows:,} rows, now {now.size:,}; "
            "some id, score or predicted label differs",
            hint="go on with the original predictions; or "
            f"{shlex.join(['assay', 'rebase', '--name', settings.name])}, "
            f"rebase_campaign({settings.name!r}, ...) in Python: "
            "it keeps all labels, and draws again from the predictions as they are now",
        )


def _places(source: Source) -> str:
    """Return how predictions are given: one, or a list of as many as there are parts."""
    return "..." if len(source.parts) == 1 else f"[{', '.join(['...'] * len(source.parts))}]"
