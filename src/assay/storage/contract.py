"""Checks of a store used by one process: each is a requirement on any store."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Protocol

from assay.errors import StorageError
from assay.storage.campaigns import CardRow
from assay.storage.claims import Claim
from assay.storage.labels import label_link
from assay.storage.schema import Label
from assay.storage.store import Session, Store

Opener = Callable[[], Store]
Fresh = Callable[[], Opener]


class Check(Protocol):
    """A requirement on a store."""

    __name__: str

    def __call__(self, opened: Opener, /) -> None:
        """Raise `AssertionError` if the store fails."""


def expect(what: str, actual: object, right: object) -> None:
    """Raise unless the value found is the expected one."""
    if actual != right:
        raise AssertionError(f"{what}: found {actual!r}, and {right!r} is right")


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raise unless the block raises a `StorageError`."""
    try:
        yield
    except StorageError:
        return
    raise AssertionError(f"{what} was not refused")


_TEXTS = (
    *("", " ", "NA", "null", "007", "0", "-1", "1e5"),
    "Ünïcode ’ß 漢字 🦉 \u200d\u202e\ufeff",
    "e\u0301 and \u00e9",  # one accent, written in two ways: two texts
    "'; DROP TABLE label_event; --",
    '"quoted" \\backslash\\ %s %(x)s :bound ?',
    "line\nand\r\nline\ttab\x01\x7f",
    "long" * 25_000,
)


_CLASS = "a class: 漢字 😀 '; --" + 150 * "x"  # answers are texts, of any class


def label_of(
    item_id: str, answer: str = "yes", reviewer: str = "ann", key: str | None = None
) -> Label:
    """Label of an item, for checks."""
    return Label(item_id, answer, reviewer, key=key)


def campaigns_are_found_by_name(opened: Opener) -> None:
    """Check that campaign names are unique, and settings are returned unchanged."""
    store = opened()
    settings = {"seed": 2**62, "share": 0.1, "none": None, "list": ["007", {"a": True}]}
    with store.write() as session:
        first = session.create("spam", settings)
        second = session.create("spam ", {})
        expect("names, oldest first", session.names(), ["spam", "spam "])
    with store.read() as session:
        expect("the campaign", session.find("spam"), (first, settings))
        expect("the name", session.name_of(second), "spam ")
    with refusing("a second campaign of one name"), store.write() as session:
        session.create("spam", {})
    with refusing("a name that nobody has"), store.read() as session:
        session.find("Spam")


def a_retired_campaign_keeps_all_but_its_name(opened: Opener) -> None:
    """Check that the name of a retired campaign is free again, and its labels are kept."""
    store = opened()
    kept = []
    for _ in range(3):  # within a second, so that the times in their new names are the same
        with store.write() as session:
            kept.append(session.create("spam", {}))
            session.add_labels(kept[-1], [label_of("7")])
            session.retire("spam")
    with store.read() as session:
        names = [session.name_of(key) for key in kept]
        expect("names that differ", len({*names, "spam"}), 4)
        expect("their labels", [len(session.labels(key)) for key in kept], [1, 1, 1])


def cards_lie_where_they_were_put(opened: Opener) -> None:
    """Check that strata, sizes and cards are returned by stratum and position."""
    store = opened()
    cards = [CardRow(1, place, f"{place:03d}", 2**61 + place, "{}") for place in range(5)]
    with store.write() as session:
        key, other = session.create("spam", {}), session.create("ham", {})
        session.add_strata(key, [0, 2**52])
        session.add_cards(key, cards[3:])
        session.add_cards(key, cards[:3])
        session.add_cards(other, [CardRow(0, 0, "000", 0, "{}")])
        session.add_cards(other, [])
    with store.read() as session:
        expect("sizes", [row["size"] for row in session.rows("stratum", key)], [0, 2**52])
        expect("all cards", session.cards(key, 1, 0, 9), cards)
        expect("cards of a span", session.cards(key, 1, 1, 3), cards[1:3])
        expect("cards of another stratum", session.cards(key, 0, 0, 9), [])
        expect("the reserve", session.reserve(key, 3), [0, 5, 0])
        expect("another campaign's reserve", session.reserve(other, 1), [1])
    for again in (replace(cards[0], item_id="new"), replace(cards[0], position=5)):
        with refusing("a card in a place or of an item that there is"), store.write() as session:
            session.add_cards(key, [again])


def rounds_are_numbered(opened: Opener) -> None:
    """Check that rounds are returned in order, and none is dealt twice."""
    store = opened()
    with store.write() as session:
        key = session.create("spam", {})
        for number in range(12):
            session.add_round(key, number, [number, 0])
    with store.read() as session:
        expect("rounds", session.rounds(key, 9), [[9, 0], [10, 0], [11, 0]])
    with refusing("a round of a number that there is"), store.write() as session:
        session.add_round(key, 11, [1, 1])


def labels_are_only_appended(opened: Opener) -> None:
    """Check that label numbers grow, and the log is never changed."""
    store = opened()
    with store.write() as session:
        key, other = session.create("spam", {}), session.create("ham", {})
        labels = [
            label_of("7"),
            label_of("7", "no"),
            replace(label_of("8", "skip"), late=True, ruling=True),
        ]
        labels[1] = replace(labels[1], comment="in a shop's window")
        stored = session.add_labels(key, labels)
        session.add_labels(other, [label_of("9")])
    with store.write() as session:
        expect("the log", session.labels(key), stored)
        later = session.add_labels(key, [label_of("7", "withdrawn", "bob"), label_of("7", _CLASS)])
    with store.read() as session:
        log = session.labels(key)
        expect("the log, later", log, [*stored, *later])
        numbers = [event.id for event in log]
        expect("numbers that grow", numbers, sorted(set(numbers)))
        flags = [(event.late, event.ruling) for event in log[1:3]]
        expect("flags", flags, [(False, False), (True, True)])
        comments = [event.comment for event in log]
        expect("comments", comments, ["", "in a shop's window", "", "", ""])
        expect("the name of a class", log[-1].answer, _CLASS)
        for place, number in enumerate(numbers):
            expect("what came after", session.labels(key, number), log[place + 1 :])


def labels_are_chained(opened: Opener) -> None:
    """Check that each label's link follows from the one before it, and all links differ."""
    store = opened()
    with store.write() as session:
        key, other = session.create("spam", {}), session.create("ham", {})
        session.add_labels(key, [label_of("7"), label_of("7")])
        session.add_labels(other, [label_of("7")])
    with store.write() as session:
        session.add_labels(key, [label_of("8", text) for text in _TEXTS])
    with store.read() as session:
        for campaign in (key, other):
            link = session.first_link(campaign)
            for row in session.rows("label_event", campaign):
                expect("a link", row["chain"], link := label_link(link, row))
        rows = session.rows("label_event", key) + session.rows("label_event", other)
        expect("links that differ", len({row["chain"] for row in rows}), len(rows))


def submit_keys_are_unique(opened: Opener) -> None:
    """Check that a key occurs once in a campaign; labels without a key may repeat."""
    store = opened()
    with store.write() as session:
        key, other = session.create("spam", {}), session.create("ham", {})
        session.add_labels(key, [label_of("7"), label_of("7"), label_of("7", key="a")])
        session.add_labels(other, [label_of("8", key="a")])
    with refusing("a second submit of one key"), store.write() as session:
        session.add_labels(key, [label_of("9"), label_of("9", key="a")])
    with store.read() as session:
        expect("labels after that", len(session.labels(key)), 3)


def a_transaction_is_all_or_nothing(opened: Opener) -> None:
    """Check that a transaction that ends with any error leaves nothing behind."""
    store = opened()
    with store.write() as session:
        key = session.create("spam", {})
    with suppress(KeyError), store.write() as session:
        _write_everything(session, key)
        {"the process": 1}.pop("an error of its own")
    with refusing("a round of a number that there is"), store.write() as session:
        _write_everything(session, key)
        session.add_round(key, 0, [1])
    with store.read() as session:
        left = [
            session.names(),
            session.rows("stratum", key),
            session.reserve(key, 1),
            session.rounds(key, 0),
            session.labels(key),
            session.live_claims(key, ["7"]),
            session.tokens("spam"),
        ]
    expect("what is left", left, [["spam"], [], [0], [], [], {}, []])


def _write_everything(session: Session, key: int) -> None:
    session.create("ham", {})
    session.add_strata(key, [5])
    session.add_cards(key, [CardRow(0, 0, "7", 1, "{}")])
    session.add_round(key, 0, [1])
    session.add_labels(key, [label_of("7", key="a")])
    session.claim(key, _claims("ann 7"), 60.0)
    session.add_token("spam", "owner", "ann", "abc")


def claims_are_leases(opened: Opener) -> None:
    """Check that a claim is live for its time, and can be renewed and given back."""
    store = opened()
    with store.write() as session:
        key, other = session.create("spam", {}), session.create("ham", {})
        session.claim(key, _claims("ann 7", "ann 8", "bob 7"), 60.0)
        session.claim(key, _claims("eve 9"), 0.05)
        session.claim(other, _claims("ann 7"), 60.0)
        session.claim(key, [], 60.0)
    time.sleep(0.06)
    with store.read() as session:
        live = session.live_claims(key, ["7", "8", "9"])
        expect("live claims", set(live), _claims("ann 7", "ann 8", "bob 7"))
        expect("their ends", {0 < end - session.now <= 60 for end in live.values()}, {True})
        expect("of one item", set(session.live_claims(key, ["8"])), _claims("ann 8"))
        claims = session.live_claims(key, [], ["ann", "eve"], 9)
        expect("of reviewers", set(claims), _claims("ann 7", "ann 8", "bob 7"))
        expect(
            "up to one", set(session.live_claims(key, [], ["ann"], 1)), _claims("ann 7", "bob 7")
        )
        many = [str(number) for number in range(700)]
        expect("of many", set(session.live_claims(key, many, [*many, "ann"], 9)), set(claims))
        expect("once claimed", session.claimed(key, "eve", ["7", "9"]), {"9"})
    with store.write() as session:
        session.give_back(key, _claims("ann 7", "ann never-claimed"))
        session.claim(key, _claims("ann 8"), 0.05)
        session.claim(key, _claims("eve 9"), 60.0)
    time.sleep(0.06)
    with store.read() as session:
        live = session.live_claims(key, ["7", "8", "9"])
        expect("claims, given back and renewed", set(live), _claims("bob 7", "eve 9"))
        expect("another campaign's", set(session.live_claims(other, ["7"])), _claims("ann 7"))


def _claims(*texts: str) -> set[Claim]:
    return {Claim(item_id, reviewer) for reviewer, item_id in map(str.split, texts)}


def the_clock_goes_on(opened: Opener) -> None:
    """Check that time is the database's, in seconds, and constant within a transaction."""
    store = opened()
    with store.read() as session:
        first = session.now
        time.sleep(0.05)
        expect("the time in one transaction", session.now, first)
    with store.read() as session:
        expect("a later time, by less than a minute", 0.03 < session.now - first < 60, True)


def successors_get_copies(opened: Opener) -> None:
    """Check that labels and claims are copied in order, with all their fields."""
    store = opened()
    with store.write() as session:
        key, other = session.create("spam", {}), session.create("ham", {})
        for number in range(20):
            reviewer = f"r{number % 3}"
            session.add_labels(key, [label_of(f"{number:02d}", "no", reviewer, f"k{number}")])
            session.add_labels(other, [label_of("x")])
        session.claim(key, _claims("ann 7"), 60.0)
        new = session.create("spam 2", {})
        session.copy_labels([key], new)
        session.copy_claims(key, new)
    with store.read() as session:
        copies = session.labels(new)
        numbers = [event.id for event in copies]
        expect("numbers that grow", numbers, sorted(numbers))
        copied, original = ([replace(each, id=0) for each in session.labels(c)] for c in (new, key))
        expect("copies", copied, original)
        expect("claims", set(session.live_claims(new, ["7"])), _claims("ann 7"))


def tokens_can_be_revoked(opened: Opener) -> None:
    """Check that a token opens its own campaign, and is still known after it is revoked."""
    store = opened()
    with store.write() as session:
        one = session.add_token("spam", "owner", "ann", "a" * 64)
        two = session.add_token("spam", "reviewer", "bob", "b" * 64)
        session.add_token("ham", "reviewer", "bob", "c" * 64)
    with refusing("a digest that there is"), store.write() as session:
        session.add_token("ham", "owner", "eve", "a" * 64)
    with store.write() as session:
        expect("revoking another campaign's", session.revoke_token("ham", one), False)
        expect("revoking", session.revoke_token("spam", one), True)
        expect("revoking again", session.revoke_token("spam", one), False)
    with store.read() as session:
        rows = session.tokens("spam")
        tokens = [(row.id, row.role, row.name) for row in rows]
        expect("tokens", tokens, [(one, "owner", "ann"), (two, "reviewer", "bob")])
        expect("revoked ones", [row.revoked_at is None for row in rows], [False, True])
        asked = ["a" * 64, "c" * 64, "never made"]
        expect("those by their digests", session.tokens_with("spam", asked), {"a" * 64: rows[0]})


def texts_come_back_as_they_were(opened: Opener) -> None:
    """Check that the store keeps any text: quotes, other alphabets, empty and very long texts."""
    store = opened()
    cards = [CardRow(0, place, text, 0, text) for place, text in enumerate(_TEXTS)]
    labels = [replace(label_of(text, text, text, text[:2000]), comment=text) for text in _TEXTS]
    with store.write() as session:
        key = session.create(_TEXTS[8], {text[:50]: text for text in _TEXTS})
        session.add_cards(key, cards)
        session.add_labels(key, labels)
        session.claim(key, {Claim(text[:500], _TEXTS[8]) for text in _TEXTS}, 60.0)
    with store.read() as session:
        campaign, settings = session.find(_TEXTS[8])
        expect("the campaign", (campaign, list(settings.values())), (key, list(_TEXTS)))
        expect("cards", session.cards(key, 0, 0, 99), cards)
        contents = [event.content() for event in session.labels(key)]
        expect("labels", contents, [label.content() for label in labels])
        short = {text[:500] for text in _TEXTS}
        expect(
            "claims", {claim.item_id for claim in session.live_claims(key, sorted(short))}, short
        )
        expect("claimed", session.claimed(key, _TEXTS[8], sorted(short)), short)


ALONE: tuple[Check, ...] = (
    campaigns_are_found_by_name,
    a_retired_campaign_keeps_all_but_its_name,
    cards_lie_where_they_were_put,
    rounds_are_numbered,
    labels_are_only_appended,
    labels_are_chained,
    submit_keys_are_unique,
    a_transaction_is_all_or_nothing,
    claims_are_leases,
    the_clock_goes_on,
    successors_get_copies,
    tokens_can_be_revoked,
    texts_come_back_as_they_were,
)
