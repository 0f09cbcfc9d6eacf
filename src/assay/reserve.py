"""The first cards of every deck, kept in the store so that the predictions can rest.

After a campaign is made its predictions are read again only when a reserve runs out.
"""

import json
from collections.abc import Sequence

import numpy as np

from assay.core.deck import number
from assay.core.types import Floats
from assay.errors import AssayError, PredictionsError
from assay.predictions import Card, Predictions, read_classifiers, read_predictions
from assay.settings import Settings, Source
from assay.store import CardRow, Session

__all__ = ["Reserve", "card_row", "check_same", "read_again"]

_LEAST = 50  # cards a stratum; fewer would only make more trips


class Reserve:
    """A campaign's reserve.

    Parameters
    ----------
    key : int
        The campaign's number in the store.
    settings : Settings
        What fixes the decks.
    predictions : Predictions, optional
        Where more cards come from. None: they are looked for at the path they came from.
    """

    def __init__(self, key: int, settings: Settings, predictions: Predictions | None) -> None:
        self._key, self._settings, self._predictions = key, settings, predictions

    def fill(self, session: Session) -> None:
        """Put down twice the cards that the goal takes at worst, shared out evenly."""
        sizes = self._settings.strata.sizes
        each = max(_LEAST, -(-2 * self._settings.goal.worst_case // len(sizes)))
        self._grow(session, np.minimum(sizes, each).tolist())

    def take(self, session: Session, dealt: Floats, counts: Sequence[int]) -> list[CardRow]:
        """Return the next cards of every deck.

        They come in an order that says nothing about their strata (by their numbers under another
        key), and the same every time.
        """
        spans = [
            (int(start), int(start) + count) for start, count in zip(dealt, counts, strict=True)
        ]
        cards = self._lying(session, spans)
        if len(cards) < sum(counts):
            self._grow(session, [2 * stop for _, stop in spans])
            cards = self._lying(session, spans)
        return sorted(cards, key=self._show_order)

    def _lying(self, session: Session, spans: Sequence[tuple[int, int]]) -> list[CardRow]:
        """Return the cards of every stratum's span that are in the store."""
        return [
            card
            for stratum, (start, stop) in enumerate(spans)
            if stop > start
            for card in session.cards(self._key, stratum, start, stop)
        ]

    def _show_order(self, card: CardRow) -> int:
        another_seed = self._settings.seed ^ 1
        return number(self._settings.item_id(card.item_id), another_seed)

    def _grow(self, session: Session, wanted: Sequence[int]) -> None:
        """Put down cards until each stratum has as many as are wanted, or all it holds."""
        settings = self._settings
        held = session.reserve(self._key, len(wanted))
        lying = {card.item_id for card in self._lying(session, [(0, stop) for stop in held])}
        decks = self._source().deal(
            settings.strata,
            scale=settings.source.scale,
            seed=settings.seed,
            counts=[max(pair) for pair in zip(held, wanted, strict=True)],
        )
        rows = []
        for stratum, deck in enumerate(decks):
            # Labels from before lie on top of their decks; at their own place they are passed over.
            new = [card for card in deck if str(card.id) not in lying]
            rows += [
                card_row(card, stratum, position)
                for position, card in enumerate(new, held[stratum])
            ]
        session.add_cards(self._key, rows)

    def _source(self) -> Predictions:
        if self._predictions is None:
            source = self._settings.source
            remedy = f"load_campaign({self._settings.name!r}, predictions=...)"
            if source.path is None:
                raise PredictionsError(
                    "the cards in reserve are used up, and the predictions are not at hand",
                    details=f"the campaign was made from {source.description}",
                    hint=f"give them again: {remedy}; all labels are safe",
                )
            try:
                found = read_again(source.path, source)
            except AssayError as error:
                raise PredictionsError(
                    "the cards in reserve are used up, and the predictions cannot be read again",
                    details=str(error),
                    hint=f"give them from where they are now: {remedy}; all labels are safe",
                ) from error
            check_same(self._settings, found)
            self._predictions = found
        return self._predictions


def read_again(predictions: object, source: Source) -> Predictions:
    """Read predictions as they were read when the campaign was made."""
    several = "classifiers" in source.columns
    return (read_classifiers if several else read_predictions)(predictions, **source.columns)


def card_row(card: Card, stratum: int, position: int) -> CardRow:
    """Return a card as it is kept in the store."""
    return CardRow(stratum, position, str(card.id), card.predicted, json.dumps(dict(card.shown)))


def check_same(settings: Settings, predictions: Predictions) -> None:
    """Raise where the predictions are not those that the campaign was made from."""
    if predictions.fingerprint() != settings.source.fingerprint:
        raise PredictionsError(
            f"{predictions.source} is not what campaign {settings.name!r} was made from",
            details=f"then {settings.source.rows:,} rows, now {predictions.size:,}; "
            "some id, score or predicted label differs",
            hint="go on with the original predictions, or make a new campaign",
        )
