"""Replacement of a campaign in the store by one with other strata and the same labels."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from assay.campaign.new_classes import doubtful_since, withdrawals
from assay.labelling import (
    Before,
    Labelling,
    ReplacedError,
    Settings,
    ShortReserveError,
    answered,
    find_campaign,
    sealed,
)
from assay.storage import CardRow, Store, StoredLabel


class OutrunError(Exception):
    """Something was stored meanwhile that a campaign's replacement does not know of."""


@dataclass(frozen=True)
class Known:
    """Items that were judged, as the first round of a campaign that is to go on with its bets."""

    counts: Sequence[int]  # cards on top of each deck
    # last_label, rounds: what the campaign before had when that was worked out; it must have no
    # more.
    last_label: int
    rounds: int


def put_in_place(
    store: Store,
    former: int,  # the other's number in the store. It is kept under another name.
    # settings, cards: what is fixed of the new one, and its reserve.
    settings: Settings,
    cards: Sequence[CardRow],
    *,
    gone: int,  # how many judged items the metric is no longer about
    known: Known | None = None,  # what is dealt at once, where rounds are not to be dealt again
) -> tuple[int, Settings, list[StoredLabel], list[int]]:
    """Put a campaign in the place of another, all at once.

    The new one's number and settings, the labels it goes on with, and the sizes of the rounds from
    before that are to be dealt again.
    """
    name = settings.name
    with store.write() as session:
        if session.name_of(former) != name:
            raise ReplacedError(
                f"somebody else has rebased or extended campaign {name!r} meanwhile",
                hint="look at it with `assay status`, and do it again if it is still needed",
            )
        news = session.news(former)
        if known is not None and (news.last_label, news.rounds) != (known.last_label, known.rounds):
            raise OutrunError
        events = session.labels(former)
        _, then = find_campaign(session, name)
        again = withdrawals(events, doubtful_since([events], [then.classes], settings.classes))
        judged = answered(events)
        before = Before(session.retire(name), len(judged), gone)
        settings = sealed(replace(settings, before=before), cards)
        key = session.create(name, settings.to_dict())
        session.add_strata(key, settings.strata.sizes.tolist())
        session.add_cards(key, cards)
        session.copy_labels([former], key)
        session.add_labels(key, again)
        session.copy_claims(former, key)
        if known is not None:
            session.add_round(key, 0, known.counts)
            return key, settings, events, []
        sizes = [sum(counts) for counts in session.rounds(former, 0) if any(counts)]
        # In the same transaction: who is killed after it has left nothing undone, and nobody sees
        # the new campaign without its labels. It takes what is in the reserve.
        with suppress(ShortReserveError):
            Labelling(store, key, settings, None).recall(session, sizes)
    return key, settings, events, sizes
