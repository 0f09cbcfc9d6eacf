"""Campaigns put into the storage: new ones, and one in place of another.

If a campaign goes on with more classes than before, some of its labels are no longer valid. A named
class was chosen from fewer, and the label stands. "None of these" may have meant a class that
exists now. Such labels are withdrawn: the log keeps both, and the items are asked about again.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from warnings import warn

from assay.campaign.staged_import import Import
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
from assay.storage import CardRow, Label, Session, Store, StoredLabel


class OutrunError(Exception):
    """Something was stored meanwhile that a campaign's replacement does not include."""


@dataclass(frozen=True)
class Known:
    """Judged items, as the first round of a campaign that keeps its bets."""

    counts: Sequence[int]  # cards on top of each deck
    # last_label, rounds: state of the former campaign when that was worked out; it must not have
    # grown.
    last_label: int
    rounds: int


def stored(
    session: Session, settings: Settings, cards: Sequence[CardRow], on_top: Sequence[int] = ()
) -> int:
    """Store a new campaign with its first cards, and return its number.

    `on_top`: number of judged cards on top of each deck; they are the first round.
    """
    key = session.create(settings.name, settings.to_dict())
    session.add_strata(key, settings.strata.sizes.tolist())
    session.add_cards(key, cards)
    if any(on_top):
        session.add_round(key, 0, on_top)
        # No look counts before the second round is complete (Figure 1 of paper 1), but these labels
        # may be all that the goal takes: an empty round lets the campaign look at them.
        session.add_round(key, 1, [0] * len(on_top))
    return key


def put_in_place(
    store: Store,
    former: int,  # the other's number in the store; it is kept under another name
    # settings, cards: settings of the new campaign, and its reserve.
    settings: Settings,
    cards: Sequence[CardRow],
    *,
    gone: int,  # number of judged items that the metric is no longer about
    known: Known | None = None,  # dealt at once, if earlier rounds are not dealt again
) -> tuple[int, Settings, list[StoredLabel], list[int]]:
    """Replace a campaign by another in one transaction.

    Returns the new number and settings, the carried labels, and the sizes of the earlier rounds to
    be dealt again.
    """
    name = settings.name
    with store.write() as session:
        if session.name_of(former) != name:
            raise ReplacedError(
                f"another process has rebased or extended campaign {name!r} meanwhile",
                hint="check `assay status`, and try again if needed",
            )
        rest = Import(former)
        while rest.append(session):  # labels that a file has, and its log not yet
            pass
        news = session.news(former)
        if known is not None and (news.last_label, news.rounds) != (known.last_label, known.rounds):
            raise OutrunError
        events = session.labels(former)
        _, then = find_campaign(session, name)
        again = withdrawals(events, doubtful_since([events], [then.classes], settings.classes))
        judged = answered(events)
        before = Before(session.retire(name), len(judged), gone)
        settings = sealed(replace(settings, before=before), cards)
        key = stored(session, settings, cards)
        session.copy_labels([former], key)
        session.add_labels(key, again)
        session.copy_claims(former, key)
        if known is not None:
            session.add_round(key, 0, known.counts)
            return key, settings, events, []
        sizes = [sum(counts) for counts in session.rounds(former, 0) if any(counts)]
        # In the same transaction: a process killed after it has left nothing undone, and nobody
        # sees the new campaign without its labels. It uses only the reserve.
        with suppress(ShortReserveError):
            Labelling(store, key, settings, None).recall(session, sizes)
    return key, settings, events, sizes


WHY = "there are more classes now"
"""Comment of a label that was withdrawn because of new classes."""

_FEW = 8  # names that are listed


def withdrawals(events: Iterable[StoredLabel], doubtful: Collection[int]) -> list[Label]:
    """Labels that withdraw the doubtful answers "none of these"."""
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
    """Numbers of labels from campaigns that lacked some of the current classes."""
    numbers: set[int] = set()
    for log, classes in zip(logs, then, strict=True):
        if not set(now.names) <= set(classes.names):
            numbers |= {event.id for event in log}
    return numbers


def warn_of_new_classes(then: Iterable[Vocabulary], now: Vocabulary, again: int) -> None:
    """Warn which classes are new, and how many items are asked about again."""
    earlier = [set(classes.names) for classes in then]
    new = [name for name in now.names if any(name not in names for names in earlier)]
    if not new:
        return
    listed = ", ".join(new[:_FEW]) + (", …" if len(new) > _FEW else "")
    how_many = f"{len(new):,} {'class is' if len(new) == 1 else 'classes are'}"
    consequence = "no item was none of these then"
    if again:
        consequence = f"{again:,} items that were none of these then are asked about again"
    warn(
        f"{how_many} new since these labels were given: {listed}; {consequence}; labels that name "
        "a class count as they are",
        AssayWarning,
        stacklevel=4,
    )
