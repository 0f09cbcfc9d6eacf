"""A campaign at one moment, as in its bundle: copied from one storage, and into another."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from assay.core.strata import Strata
from assay.errors import InputError
from assay.labelling import FROM_BEFORE, Labelling, Settings, find_campaign
from assay.predictions import RANKED
from assay.storage import CardRow, Session, Store, StoredLabel, open_store

MOST_DRAWS = 1_000_000  # of items with weights; it takes half a minute to deal them again
KEY = 1  # the campaign's number in a storage of its own


@dataclass(frozen=True)
class Snapshot:
    """Stored data of a campaign."""

    settings: Settings
    created_at: str
    sizes: Sequence[int]  # the items of each stratum
    cards: Sequence[CardRow]  # those that were drawn
    rounds: Sequence[Sequence[int]]  # the cards of each stratum that each round dealt
    events: Sequence[StoredLabel]  # the log, numbered from 1
    # names, shown: whether reviewers' names, and what they saw, are included.
    names: bool
    shown: bool
    campaigns: Mapping[str, Any] | None = None  # over the same predictions (`campaigns_of`)

    @property
    def drawn(self) -> list[int]:
        """Number of cards of each stratum that were dealt."""
        return _drawn(self.rounds, len(self.sizes))


def take(
    # session, key, settings: a transaction, and the campaign.
    session: Session,
    key: int,
    settings: Settings,
    *,
    # Keep the reviewers' names; otherwise they are numbered in the order of their first labels.
    names: bool,
    shown: bool,  # keep what reviewers saw
    comments: bool = False,  # keep comments, which may reveal both
) -> Snapshot:
    """Read a campaign, without private data."""
    rounds = session.rounds(key, 0)
    drawn = _drawn(rounds, settings.strata.n_strata)
    cards = [
        card for stratum, stop in enumerate(drawn) for card in session.cards(key, stratum, 0, stop)
    ]
    events = [
        replace(event, id=number, key=None, comment=event.comment if comments else "")
        for number, event in enumerate(session.labels(key), start=1)
    ]
    return Snapshot(
        settings=_without_places(settings),
        created_at=session.created_at(key),
        sizes=[row["size"] for row in session.rows("stratum", key)],
        cards=cards if shown else [_blind(card, settings) for card in cards],
        rounds=rounds,
        events=events if names else _numbered(events),
        names=names,
        shown=shown,
    )


def campaigns_of(session: Session, key: int, settings: Settings) -> dict[str, Any]:
    """All campaigns of a storage over the same predictions, including this one.

    For each, its number in the storage, its creation time, its commitment, and its number of
    labels. So whoever tried several seeds and shows one campaign discloses the others, too. The
    numbers of all others are listed, so that none can be left out silently.
    """
    every, others = [], []
    for name in session.names():
        other, other_settings = find_campaign(session, name)
        if other_settings.source.fingerprint != settings.source.fingerprint:
            others.append(other)
        else:
            every.append(
                {
                    "number": other,
                    "created_at": session.created_at(other),
                    "labels": len(session.labels(other)),
                    "commitment": other_settings.commitment,
                }
            )
    for other, trace in session.deleted().items():
        if trace["fingerprint"] != settings.source.fingerprint:
            others.append(other)
        else:
            created = {"number": other, "created_at": session.created_at(other)}
            every.append(created | {name: trace[name] for name in ("labels", "commitment")})
    every.sort(key=itemgetter("number"))
    return {
        "number": key,
        "over_the_same_predictions": every,
        "over_others": sorted(others),
        "gone": session.lost_campaigns(),
    }


def check_draws(rounds: Sequence[Sequence[int]], strata: Strata) -> None:
    """Raise if there are too many draws to check.

    Without weights a card is drawn once, and all drawn ones are among the cards. With weights it
    may be drawn repeatedly, and a number of a few digits may mean any number of draws.
    """
    if strata.weighted and (draws := sum(map(sum, rounds))) > MOST_DRAWS:
        raise InputError(f"{str(draws)[:40]} draws were dealt; a bundle has at most {MOST_DRAWS:,}")


def until(snapshot: Snapshot, last_at: str | None, rounds: int) -> Snapshot:
    """Snapshot after a number of rounds, with labels up to a time."""
    before = replace(
        snapshot,
        rounds=snapshot.rounds[:rounds],
        events=[
            each for each in snapshot.events if last_at is not None and each.told_at <= last_at
        ],
    )
    drawn = before.drawn
    return replace(
        before, cards=[card for card in before.cards if card.position < drawn[card.stratum]]
    )


def laid_out(snapshot: Snapshot) -> Labelling:
    """Labelling of the campaign, from the snapshot alone."""
    store, key = restore(snapshot)
    labelling = Labelling(store, key, snapshot.settings, None)
    labelling.catch_up()
    return labelling


def restore(snapshot: Snapshot) -> tuple[Store, int]:
    """Copy a campaign into a new storage in memory; return the store, and its number there."""
    settings = snapshot.settings
    store = open_store(None, uid=settings.commitment)
    campaign: dict[str, Any] = {"id": KEY, "name": settings.name}
    campaign |= {"created_at": snapshot.created_at, "settings": json.dumps(settings.to_dict())}
    with store.write() as session:
        session.put_rows("campaign", [campaign])
        session.add_strata(KEY, snapshot.sizes)
        session.add_cards(KEY, snapshot.cards)
        for number, counts in enumerate(snapshot.rounds):
            session.add_round(KEY, number, counts)
        session.put_rows(
            "label_event", [{"campaign_id": KEY, **vars(event)} for event in snapshot.events]
        )
    return store, KEY


def _without_places(settings: Settings) -> Settings:
    """Remove the paths from which the predictions were read."""
    source = settings.source
    parts = tuple(replace(part, scan=None) for part in source.parts)
    return replace(settings, source=replace(source, parts=parts))


def _blind(card: CardRow, settings: Settings) -> CardRow:
    """Card without what reviewers saw.

    Slices stay, and classes by their probability: estimates depend on them.
    """
    columns, kept = json.loads(card.shown), (*settings.source.slices, RANKED)
    return replace(
        card, shown=json.dumps({name: columns[name] for name in columns if name in kept})
    )


def _numbered(events: Sequence[StoredLabel]) -> list[StoredLabel]:
    """Log with numbers instead of names.

    A label without a reviewer, or from before the campaign, stays marked as such: the draw depends
    on it.
    """
    names: dict[str, str] = {"": "", FROM_BEFORE: FROM_BEFORE}
    for event in events:
        names.setdefault(event.reviewer, f"reviewer {len(names) - 1:02d}")
    return [replace(event, reviewer=names[event.reviewer]) for event in events]


def _drawn(rounds: Sequence[Sequence[int]], n_strata: int) -> list[int]:
    return [sum(counts[stratum] for counts in rounds) for stratum in range(n_strata)]
