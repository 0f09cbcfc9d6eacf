"""Labels carried over to a campaign with other predictions.

An item's number in the deck is permanent, so the new campaign deals mostly the same items. An
earlier answer counts as soon as its item is dealt. The result is that of a new campaign whose
reviewers remember their answers, so labels need no record of their origin.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from operator import attrgetter
from typing import TYPE_CHECKING
from warnings import warn

import numpy as np

from assay.campaign.campaign import Campaign
from assay.campaign.stored import (
    doubtful_since,
    put_in_place,
    stored,
    warn_of_new_classes,
    withdrawals,
)
from assay.errors import AssayWarning, PredictionsError
from assay.labelling import (
    FROM_BEFORE,
    Before,
    Review,
    Settings,
    answered,
    confirm_source,
    depth,
    find_campaign,
    more_cards,
    sealed,
)
from assay.storage import CardRow, Label, Session, Store, StoredLabel

if TYPE_CHECKING:
    from assay.predictions import Predictions


def replace_campaign(
    store: Store,
    former: int,  # the other's number in the store; it is kept under another name
    # settings, cards: settings of the new campaign, and its reserve.
    settings: Settings,
    cards: Sequence[CardRow],
    *,
    gone: int,  # number of judged items that the metric is no longer about
    predictions: "Predictions | None",  # source of more cards
    confirmed: bool,  # whether the user gave or confirmed all its places
) -> Campaign:
    """Replace a campaign by another in one transaction, and return the new one."""
    with store.read() as session:
        then = find_campaign(session, settings.name)[1].classes
    key, settings, events, sizes = put_in_place(store, former, settings, cards, gone=gone)
    if confirmed:
        confirm_source(store, settings)
    _warn_of_labels_before(events)
    again = withdrawals(events, doubtful_since([events], [then], settings.classes))
    warn_of_new_classes([then], settings.classes, len({label.item_id for label in again}))
    campaign = Campaign(store, key, settings, predictions)
    # A reserve that is too short is reported when items are asked for; the campaign is stored
    # anyway.
    with suppress(PredictionsError):
        campaign.desk.recall(sizes)
    return campaign


def start_beside(
    store: Store,
    sources: Sequence[str],  # names of the others, which continue unchanged
    settings: Settings,  # settings of the new campaign
    *,
    predictions: "Predictions",  # its predictions
    # Raises if the storage has changed; called before anything is written.
    check: Callable[[Session], None] | None = None,
) -> Campaign:
    """Start a campaign with all labels of others that apply, and return it.

    Its first round holds the cards on top of each deck that were already judged: they cost nothing.
    A budget counts only the answers beyond these.
    """
    with store.read() as session:
        events, _, again = _labels_of(session, sources, settings)
        settled = _settled([*events, *again], settings)
    # Not in the transaction: others may write while the predictions are read.
    cards = _cards_down_to_new_items(settings, predictions, settled)
    judged_before = answered(events)
    present = count_there(judged_before, predictions, settings)
    with store.write() as session:
        if check is not None:
            check(session)
        events, label_counts, again = _labels_of(session, sources, settings)
        if sources:
            first, *others = sources
            judged = answered(events)
            if judged != judged_before:  # another process has recorded labels meanwhile
                present = count_there(judged, predictions, settings)
            gone = len(judged) - present
            before = Before(first, len(judged), gone, tuple(others), label_counts)
            settings = replace(settings, before=before)
        settled = _settled([*events, *again], settings)
        free = _judged_on_top(cards, settled, settings.strata.n_strata)
        settings = sealed(_with_budget_beyond(settings, sum(free)), cards)
        new = stored(session, settings, cards, free)
        if sources:
            keys = [session.find(name)[0] for name in sources]
            session.copy_labels(keys, new, keys=False)
            session.add_labels(new, again)
        then = [find_campaign(session, name)[1].classes for name in sources]
    confirm_source(store, settings)
    _warn_of_labels_before(events)
    warn_of_new_classes(then, settings.classes, len({label.item_id for label in again}))
    return Campaign(store, new, settings, predictions)


def _labels_of(
    session: Session, campaigns: Sequence[str], settings: Settings
) -> tuple[list[StoredLabel], tuple[int, ...], list[Label]]:
    """Labels of campaigns in the order of recording, and the number of each campaign's labels.

    Also labels that withdraw those which new classes have made doubtful.
    """
    logs, then = [], []
    for name in campaigns:
        key, former = find_campaign(session, name)
        logs.append(session.labels(key))
        then.append(former.classes)
    events = [event for log in logs for event in log]
    if len(logs) > 1:
        events.sort(key=lambda event: (event.told_at, event.id))
    again = withdrawals(events, doubtful_since(logs, then, settings.classes))
    return events, tuple(map(len, logs)), again


def _settled(events: Iterable[Label], settings: Settings) -> set[str]:
    """Items that need no further answer in a campaign with these settings."""
    reviews: dict[str, Review] = {}
    for event in events:
        if event.item_id not in reviews:
            reviews[event.item_id] = Review(settings.reviewers_wanted(event.item_id))
        reviews[event.item_id].take(event)
    return {item_id for item_id, review in reviews.items() if review.settled is not None}


def _cards_down_to_new_items(
    settings: Settings, predictions: "Predictions", settled: set[str]
) -> list[CardRow]:
    """Reserve deep enough to hold a card without an answer in each deck."""
    sizes = settings.strata.sizes.tolist()
    depths = list(depth(settings))
    while True:
        cards = list(more_cards(settings, predictions, depths))
        free = _judged_on_top(cards, settled, len(sizes))
        short = [
            on_top >= least and on_top < size
            for on_top, least, size in zip(free, depths, sizes, strict=True)
        ]
        if not any(short):
            return cards
        depths = [2 * least if more else least for least, more in zip(depths, short, strict=True)]


def _judged_on_top(cards: Sequence[CardRow], judged: set[str], n_strata: int) -> list[int]:
    """Count the consecutive judged cards on top of each deck."""
    decks: list[list[CardRow]] = [[] for _ in range(n_strata)]
    for card in cards:
        decks[card.stratum].append(card)
    for deck in decks:
        deck.sort(key=attrgetter("position"))
    return [sum(1 for _ in takewhile(lambda card: card.item_id in judged, deck)) for deck in decks]


def _with_budget_beyond(settings: Settings, free: int) -> Settings:
    if settings.goal.budget is None:
        return settings
    return replace(settings, goal=replace(settings.goal, budget=settings.goal.budget + free))


def _warn_of_labels_before(events: Iterable[StoredLabel]) -> None:
    if any(event.reviewer == FROM_BEFORE for event in events):
        warn(
            "earlier labels count only as their items are drawn, because they are not a sample of "
            "the current predictions",
            AssayWarning,
            stacklevel=4,
        )


def refuse_other_ids(predictions: "Predictions", settings: Settings) -> None:
    """Raise if ids were strings and are now integers, or the reverse."""
    if predictions.id_kind != settings.id_kind:
        raise PredictionsError(
            f"the ids in {predictions.source} are {predictions.id_kind}s, and those of campaign "
            f"{settings.name!r} are {settings.id_kind}s",
            details="labels belong to ids: 7 and '7' are two items",
            hint="give predictions with ids of the same kind, or create a new campaign",
        )


def count_there(judged: Iterable[str], predictions: "Predictions", settings: Settings) -> int:
    """Count the judged items that are in a stratum."""
    ids = [settings.item_id(text) for text in judged]
    items = predictions.find(ids, variable=settings.variable, scale=settings.source.scale)
    present = [item for item in items if item is not None]
    if not present:
        return 0
    values, predicted = zip(*((item.value, item.card.predicted) for item in present), strict=True)
    return int((settings.strata.assign(np.array(values), np.array(predicted)) >= 0).sum())
