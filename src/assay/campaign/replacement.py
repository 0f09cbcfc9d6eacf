"""Replacement of a campaign in the store by one with other strata and the same labels."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from warnings import warn

from assay.core.vocabulary import NONE_OF_THESE, Vocabulary
from assay.errors import AssayWarning
from assay.labelling import (
    WITHDRAWN,
    Before,
    Labelling,
    ReplacedError,
    Review,
    Settings,
    ShortReserveError,
    answered,
    find_campaign,
    sealed,
)
from assay.storage import CardRow, Label, Store, StoredLabel


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


# Labels from before there was a class: which of them still say what an item is.
#
# Who named a class then has chosen it from fewer, and the label stands. Who said that an item is
# none of these may have meant a class that is there now. Such labels are withdrawn where a campaign
# goes on with more classes: the log keeps both, and the items are asked about again.

WHY = "there are more classes now"
"""The comment of a label that was withdrawn for it."""

_FEW = 8  # names that are listed


def withdrawals(events: Iterable[StoredLabel], doubtful: Collection[int]) -> list[Label]:
    """Return labels that take back those which are no answer any more."""
    if not doubtful:
        return []
    reviews: dict[str, Review] = {}
    for event in events:
        reviews.setdefault(event.item_id, Review(wanted=1)).take(event)
    standing = (
        label
        for review in reviews.values()
        for label in (*review.labels.values(), *([review.ruled] if review.ruled else ()))
    )
    return [
        Label(label.item_id, WITHDRAWN, label.reviewer, ruling=label.ruling, comment=WHY)
        for label in standing
        if isinstance(label, StoredLabel) and label.id in doubtful and label.answer == NONE_OF_THESE
    ]


def doubtful_since(
    logs: Sequence[Sequence[StoredLabel]], then: Sequence[Vocabulary], now: Vocabulary
) -> set[int]:
    """Return the numbers of the labels of campaigns that did not have all classes of now."""
    found: set[int] = set()
    for log, classes in zip(logs, then, strict=True):
        if not set(now.names) <= set(classes.names):
            found |= {event.id for event in log}
    return found


def warn_of_new_classes(then: Iterable[Vocabulary], now: Vocabulary, again: int) -> None:
    """Tell which classes are new, and how many items are asked about again."""
    known = [set(classes.names) for classes in then]
    new = [name for name in now.names if any(name not in names for names in known)]
    if not new:
        return
    listed = ", ".join(new[:_FEW]) + (", …" if len(new) > _FEW else "")
    how_many = f"{len(new):,} {'class is' if len(new) == 1 else 'classes are'}"
    told = "no item was none of these then"
    if again:
        told = f"{again:,} items that were none of these then are asked about again"
    warn(
        f"{how_many} new since these labels were given: {listed}; {told}; labels that name a class "
        "count as they are",
        AssayWarning,
        stacklevel=4,
    )
