"""Reserve: the first items of every deck, stored so that predictions are rarely read.

After a campaign is created, its predictions are read again only when a reserve runs out.
"""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.core.deck import Id, number
from assay.core.types import Floats
from assay.core.weights import Arrivals, seed_of_arrival
from assay.errors import AssayError, PredictionsError, StorageError, counted
from assay.labelling.confirmation import refuse_unconfirmed
from assay.labelling.settings import Settings
from assay.labelling.source import Part, Source
from assay.predictions import RANKED, Card, Scan, as_scan
from assay.storage import CardRow, Session, Store

if TYPE_CHECKING:
    from assay.predictions import Predictions


_LONGEST_ID = 10_000  # characters
_AT_ONCE = 2_000  # cards stored in one transaction: others wait for it
_LEAST = 50  # cards per stratum; fewer would only need more reads
_MORE = 50  # cards to read from the store beyond those requested, for the same reason


class ShortReserveError(Exception):
    """Fewer cards are in reserve than are to be dealt.

    `wanted`: required number of cards of each stratum.
    """

    def __init__(self, wanted: Sequence[int]) -> None:
        super().__init__()
        self.wanted = wanted


class Reserve:
    """Reserve of a campaign.

    `key`: the campaign's number in the store; `settings`: what fixes the decks; `predictions`:
    source of more cards. None: they are read from their stored location.
    """

    def __init__(self, key: int, settings: Settings, predictions: "Predictions | None") -> None:
        self._key, self._settings, self._predictions = key, settings, predictions
        self._read: dict[int, list[CardRow]] = {}  # consecutive cards of each deck
        self._ends: dict[int, int] = {}  # number of cards of each deck that was read so far
        self._weighted = settings.strata.weighted
        self._arrivals: dict[int, Arrivals] = {}
        self._met: dict[int, list[CardRow]] = {}  # arrived cards of each deck

    @property
    def at_hand(self) -> "Predictions | None":
        """Predictions, if they were given or have been read."""
        return self._predictions

    def take(self, session: Session, dealt: Floats, counts: Sequence[int]) -> list[CardRow]:
        """Next cards of every deck; raise `ShortReserveError` if some are missing.

        Their order is independent of their strata (by their numbers under another key), and the
        same every time.
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
        """Cards missing if another round like this one follows; None if there are enough."""
        if self._weighted:
            return None  # the number of arriving cards is not known before
        sizes = self._settings.strata.sizes.tolist()
        stops = [int(start) + count for start, count in zip(dealt, counts, strict=True)]
        for stratum, end in self._ends.items():
            if end < min(stops[stratum] + counts[stratum], sizes[stratum]):
                return ShortReserveError([2 * stop for stop in stops])
        return None

    def _span(
        self, session: Session, stratum: int, start: int, stop: int
    ) -> list[tuple[CardRow, int]]:
        """Cards of a deck, none of which was dealt before."""
        return [(card, 0) for card in self._lie(session, stratum, start, stop)]

    def _arriving(
        self, session: Session, stratum: int, start: int, stop: int
    ) -> list[tuple[CardRow, int]]:
        """Arrivals between two times: cards, and how often each was dealt before.

        Empty if the deck does not reach so far.
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
        """Cards of a deck, from the cache if possible: they never change."""
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
        """Read the stored cards of every stratum's span."""
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
        """Store cards until each stratum has as many as wanted, or all its items.

        The predictions are read outside of any transaction, and stored in several: others may write
        meanwhile. Cards that another process has stored by then are passed over. Cards come by deck
        and position, so that a process that dies leaves no gap.
        """
        with store.read() as session:
            ends = session.reserve(self._key, len(wanted))
            longer = [each for each, end in [*self._ends.items()] if ends[each] > end]
            if longer:  # another process has stored cards, perhaps all that are missing
                for stratum in longer:
                    self._ends.pop(stratum, None)
                return
            lying = self._lying(session, [(0, stop) for stop in ends])
        predictions = self.source(store)
        check_same(self._settings, predictions)
        cards = more_cards(self._settings, predictions, wanted, lying)
        if not cards:
            raise PredictionsError(
                f"there are no more cards in {self._settings.source.description}",
                details="the strata should have more items than were found",
            )
        for start in range(0, len(cards), _AT_ONCE):
            with store.write() as session:
                ends = session.reserve(self._key, len(wanted))
                some = cards[start : start + _AT_ONCE]
                new = [card for card in some if card.position >= ends[card.stratum]]
                session.add_cards(self._key, new)

    def source(self, store: Store) -> "Predictions":
        """Predictions in their current state."""
        if self._predictions is not None:
            self._predictions = self._predictions.as_it_is_now()
        else:
            source = self._settings.source
            remedy = f"load_campaign({self._settings.name!r}, predictions={_places(source)})"
            refuse_unconfirmed(store, self._settings)
            try:
                predictions = read_again(whereabouts(store, self._settings), self._settings)
            except AssayError as error:
                raise PredictionsError(
                    "the reserve of items is used up, and the predictions are not available",
                    details=str(error),
                    hint=f"give their present location: {remedy}; all labels are safe",
                ) from error
            self._predictions = predictions
        return self._predictions


def depth(settings: Settings) -> list[int]:
    """Choose the initial number of cards of each deck.

    Together they are twice the number that the goal takes at worst, divided evenly.
    """
    sizes = settings.strata.sizes
    each = max(_LEAST, -(-2 * settings.goal.worst_case // len(sizes)))
    return [min(size, each) for size in sizes.tolist()]


def more_cards(
    settings: Settings,
    predictions: "Predictions",  # source of the cards
    wanted: Sequence[int],  # cards of each stratum
    lying: Sequence[CardRow] = (),  # cards that are already stored
) -> list[CardRow]:
    """Cards to store below the present ones, until there are as many as wanted."""
    dealt = np.bincount([card.stratum for card in lying], minlength=len(wanted)).tolist()
    decks = predictions.deal(
        settings.strata,
        scale=settings.source.scale,
        seed=settings.draw_seed,
        counts=[max(pair) for pair in zip(dealt, wanted, strict=True)],
    )
    decks = _with_ranks(settings, predictions, decks)
    refuse_other_shown(settings, lying, decks, predictions.source)
    # Prior labels lie on top of their decks; they are passed over at their own place.
    there = {card.item_id for card in lying}
    return [
        card_row(card, stratum, position)
        for stratum, deck in enumerate(decks)
        for position, card in enumerate(
            (card for card in deck if str(card.id) not in there), dealt[stratum]
        )
    ]


def _with_ranks(
    settings: Settings, predictions: "Predictions", decks: list[list[Card]]
) -> list[list[Card]]:
    """Cards with their most probable classes, if targets of top-k accuracy need them."""
    if not settings.ranked:
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
    """Locations of all parts of the predictions, or some; raise if unconfirmed.

    Every read of a stored location passes through this function.
    """
    refuse_unconfirmed(store, settings)
    scans = []
    for part in settings.source.parts if parts is None else parts:
        if part.scan is None:
            raise PredictionsError(f"the predictions were given in memory: {part.description}")
        scans.append(Scan.from_dict(part.scan))
    return scans


def scans_of(predictions: object, source: Source) -> list[Scan]:
    """Locations of predictions given for those of a campaign: in a list, all parts.

    A bare path keeps the condition of the path before it: rows left out stay out.
    """
    given = predictions if isinstance(predictions, list) else [predictions]
    before = source.parts[-1].scan or {}
    scans = []
    for each in given:
        scan = as_scan(each)
        alone = scan.path is not None and scan is not each
        scans.append(replace(scan, where=before.get("where")) if alone else scan)
    return scans


def read_again(scans: Sequence[Scan], settings: Settings) -> "Predictions":
    """Read predictions as they were read when the campaign was created."""
    from assay.predictions import read_predictions, united

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
    return united([read_again([scan], settings) for scan in scans])


def _read_both(
    scans: Sequence[Scan], settings: Settings, columns: Mapping[str, Any]
) -> "Predictions":
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
    """Card as it is stored, and shown on a page."""
    text = str(card.id)
    if "\0" in text or len(text) > _LONGEST_ID:
        raise PredictionsError(
            f"id {text[:40]!r} cannot be used: it has "
            + ("a NUL" if "\0" in text else f"{len(text):,} characters"),
            details=f"ids have at most {_LONGEST_ID:,} characters, and no NUL",
        )
    shown = json.dumps(dict(card.shown)) if card.shown else "{}"
    return CardRow(stratum, position, text, int(card.predicted), shown, card.weight)


def check_same(settings: Settings, predictions: "Predictions") -> None:
    """Raise if the predictions are not those that the campaign was created from."""
    parts, others = settings.source.parts, predictions.parts
    if len(others) != len(parts):
        raise PredictionsError(
            f"{predictions.source}: predictions from {counted(len(others), 'place')}, and those "
            f"of campaign {settings.name!r} came from {len(parts)}",
            details=f"they came from {', '.join(part.description for part in parts)}",
            hint=f"give all of them, in that order: predictions={_places(settings.source)}",
        )
    for part, now in zip(parts, others, strict=True):
        if now.fingerprint() == part.fingerprint:
            continue
        raise PredictionsError(
            f"{now.source} differs from the predictions of campaign {settings.name!r}",
            details=f"then {part.rows:,} rows, now {now.size:,}; "
            "some id, score or predicted label differs",
            hint=_original_or_rebase(settings.name),
        )


def _original_or_rebase(name: str) -> str:
    """Hint for predictions that have changed."""
    command = shlex.join(["assay", "rebase", "--name", name])
    return (
        "continue with the original predictions; or draw again from the current ones, keeping all "
        f"labels: {command}. In Python: rebase_campaign({name!r}, ...)"
    )


def _places(source: Source) -> str:
    """Write a placeholder for predictions in a hint: one, or a list with one for each part."""
    return "..." if len(source.parts) == 1 else f"[{', '.join(['...'] * len(source.parts))}]"


# Seal of what reviewers see: whether it is unchanged since the campaign was created.
#
# The predictions' fingerprint is of ids, scores and labels, which one pass reads in any case.
# Reading all texts of all items as well would double the time to create a campaign. So the seal is
# of the values that were read and stored, those of the first cards of every deck. When more cards
# are needed, these are read again beside the new ones, and must be the same.
#
# It proves that all items which could have been judged so far are shown unchanged. Changes to items
# that were never dealt are not noticed.


_KIND = "assay-shown-1"


def sealed(settings: Settings, cards: Sequence[CardRow]) -> Settings:
    """Seal the settings of a campaign with what its first cards show."""
    if not settings.source.kept and not settings.ranked:
        return settings
    counts = [0] * settings.strata.n_strata
    for card in cards:
        counts[card.stratum] += 1
    seal = seal_of(
        counts, [(card.stratum, card.position, card.item_id, card.shown) for card in cards]
    )
    return replace(settings, source=replace(settings.source, shown=seal))


def seal_of(counts: Sequence[int], rows: Iterable[tuple[int, int, str, str]]) -> str:
    """Seal of the first cards of every deck.

    `counts`: number of cards of each deck; `rows`: stratum, place, id and shown columns, as they
    are stored; further cards are ignored.

    >>> seal_of([1], [(0, 0, "a", "{}"), (0, 1, "b", "{}")]) == seal_of([1], [(0, 0, "a", "{}")])
    True
    """
    first = sorted(row for row in rows if row[0] < len(counts) and row[1] < counts[row[0]])
    digest = sha256(json.dumps(first).encode()).hexdigest()
    return f"{_KIND}:{'+'.join(map(str, counts))}:{digest[:32]}"


def is_whole(seal: str, rows: Iterable[tuple[int, int, str, str]]) -> bool:
    """Whether stored cards match their seal; an older campaign's always do."""
    kind, _, rest = seal.partition(":")
    if kind != _KIND:
        return True
    counts = rest.partition(":")[0].split("+")
    return all(map(str.isdecimal, counts)) and seal_of([*map(int, counts)], rows) == seal


def refuse_other_shown(
    settings: Settings, lying: Sequence[CardRow], decks: Iterable[Iterable[Card]], source: str
) -> None:
    """Raise if items in the reserve are now shown differently.

    `lying`: the stored cards.

    A value is compared as it is written: 0.5 from a table is the 0.50 of a CSV file.
    """
    if not settings.source.shown:
        return
    rows = [(card.stratum, card.position, card.item_id, card.shown) for card in lying]
    if not is_whole(settings.source.shown, rows):
        raise StorageError(
            f"what reviewers see of items was changed in the storage of campaign {settings.name!r}",
            details="the first cards do not show what they did when the campaign was made",
            hint="see `assay verify`; restore the storage from a backup",
        )
    then = {card.item_id: json.loads(card.shown) for card in lying}
    changed = [
        (card.id, column)
        for deck in decks
        for card in deck
        if str(card.id) in then
        for column in _differing(then[str(card.id)], card.shown)
    ]
    if changed:
        (id, column), items = changed[0], {each for each, _ in changed}
        raise PredictionsError(
            f"{source} does not show items as it did when campaign {settings.name!r} was made",
            details=f"{len(items):,} of {len(then):,} items that were drawn differ; first: item "
            f"{id!r}, column {column!r}",
            hint=_original_or_rebase(settings.name),
        )


def _differing(then: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """Columns present in both whose values differ."""
    return [name for name, value in then.items() if name in now and not _alike(value, now[name])]


def _alike(one: object, other: object) -> bool:
    return one == other or _written(one) == _written(other)


def _written(value: object) -> str:
    """Text of a value, the same for every kind of file."""
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True, default=str)
    text = str(value).strip().casefold()
    try:
        return repr(float(text))
    except ValueError:
        return text
