"""The stored rows of a campaign, read once, and the findings of checks on them."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import accumulate, takewhile
from math import inf, log1p
from typing import Any

from assay.core.deck import Id, number
from assay.core.weights import seed_of_arrival
from assay.errors import StorageError
from assay.labelling import Before, Settings, find_campaign
from assay.results import Cell, Column, Document, Lines, Notes, Notice, Shown, Table, headed
from assay.storage import Session

# Draws in proportion to weight, recomputed: all arrivals up to some time, sorted.
#
# The definition is that of `assay.core.weights`; the algorithm is different.

_NEAR = 1e-12  # two machines' logarithms differ in their last digits

Row = Mapping[str, Any]


def _arrivals(id: Id, weight: int, seed: int) -> Iterator[float]:
    """Yield the successive arrival times of an item."""
    drawn = (number(id, seed_of_arrival(seed, j)) >> 12 for j in itertools.count())
    return accumulate(-log1p(-(each + 0.5) / 2**52) / weight for each in drawn)


def draws_of(deck: Sequence[Row], settings: Settings, most: int) -> list[tuple[Row, int]]:
    """First draws from a deck: each card with the number of its earlier draws.

    As many as are wanted, or as are certain: a draw after the last card of an incomplete deck may
    belong to a missing card.
    """
    if not deck or not most:
        return []
    each = [_item(card, settings) for card in deck]
    whole = len(deck) >= settings.strata.sizes[deck[0]["stratum"]]
    last = inf if whole else max(next(_arrivals(*item)) for item in each)
    until = 0.0
    draws: list[tuple[float, int, int]] = []
    while len(draws) < most and until < last:
        until = min(2 * until or most / sum(weight for _, weight, _ in each), last)
        draws = [
            (when, place, before)
            for place, item in enumerate(each)
            for before, when in enumerate(takewhile(until.__ge__, _arrivals(*item)))
        ]
    return [(deck[place], before) for _, place, before in sorted(draws)[:most]]


def in_order(deck: Sequence[Row], settings: Settings) -> Iterator[tuple[Row, bool]]:
    """Yield the cards of a deck, and whether each arrives after those above it."""
    last = 0.0
    for card in deck:
        when = next(_arrivals(*_item(card, settings)))
        yield card, when >= last * (1 - _NEAR)
        last = when


def _item(card: Row, settings: Settings) -> tuple[Id, int, int]:
    """Id, weight and seed of a card; another check reports unreadable ones."""
    try:
        id = settings.item_id(card["item_id"])
    except ValueError:
        id = card["item_id"]
    return id, max(card["weight"] or 1, 1), settings.seed


@dataclass(frozen=True)
class Checked:
    """One check: the number of things checked, findings, and notes."""

    check: str
    looked_at: int
    findings: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verification(Shown):
    """Results of the checks of a campaign."""

    campaign: str
    checks: tuple[Checked, ...]

    @property
    def findings(self) -> tuple[str, ...]:
        """All findings; empty if everything is correct."""
        return tuple(
            f"{each.check}: {finding}" for each in self.checks for finding in each.findings
        )

    @property
    def clean(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"campaign": self.campaign, "clean": self.clean, "checks": asdict(self)["checks"]}

    def document(self) -> Document:
        """Report of each check, and of all findings."""
        verdict = Notice("good", "All data are present, and the estimates follow from the log.")
        if not self.clean:
            verdict = Notice("warn", f"{len(self.findings):,} findings; estimates may be wrong.")
        rows = tuple(
            (
                each.check,
                f"{each.looked_at:,}",
                Cell(f"{len(each.findings):,} wrong", "bad")
                if each.findings
                else Cell("clean", "good"),
            )
            for each in self.checks
        )
        columns = (*headed("check", "looked at"), Column("found", "text"))
        notes = tuple(note for each in self.checks for note in each.notes)
        return Document.of(
            "Verification",
            Table(f"Checks of {self.campaign}", columns, rows),
            Lines(self.findings),
            Notes(notes),
            verdict,
        )


def checked(
    check: str, looked_at: int, findings: Iterable[str], notes: Iterable[str] = ()
) -> Checked:
    """Outcome of a check."""
    return Checked(check, looked_at, tuple(findings), tuple(notes))


@dataclass(frozen=True)
class Books:
    """Stored rows of a campaign.

    `before` is the log of the campaign that it replaced, and `asked_before` the items that may have
    been asked about there; `lost` are numbers of labels missing from the log, if that is known;
    `first_link` is the start of the log's chain, if there is one; `former` is the campaign whose
    bets it continues.
    """

    settings: Settings
    strata: Sequence[Row]
    cards: Sequence[Row]
    rounds: Sequence[Row]
    events: Sequence[Row]
    claims: Sequence[Row]
    before: Sequence[Row] | None
    asked_before: Set[str]
    lost: Sequence[int] | None
    first_link: str = ""
    former: "Books | None" = None

    @cached_property
    def decks(self) -> Mapping[int, Sequence[Row]]:
        """Cards of each stratum, from the top."""
        decks: dict[int, list[Row]] = {}
        for card in self.cards:
            decks.setdefault(card["stratum"], []).append(card)
        return decks

    @cached_property
    def drawn(self) -> Mapping[int, Sequence[tuple[Row, int]]]:
        """All draws of each stratum, in order, as far as the cards exist.

        Each card has the number of its earlier draws.
        """
        totals = dict.fromkeys(self.decks, 0)
        for row in self.rounds:
            for stratum, count in enumerate(counts_of(row) or ()):
                if stratum in totals:
                    totals[stratum] += count
        if self.weighted:
            return {
                stratum: draws_of(self.decks[stratum], self.settings, total)
                for stratum, total in totals.items()
            }
        return {
            stratum: [(card, 0) for card in self.decks[stratum][:total]]
            for stratum, total in totals.items()
        }

    @cached_property
    def dealt(self) -> Sequence[Sequence[tuple[Row, int]]]:
        """Cards of every round, each with the number of its earlier draws."""
        start = dict.fromkeys(self.decks, 0)
        rounds = []
        for row in self.rounds:
            cards: list[tuple[Row, int]] = []
            for stratum, count in enumerate(counts_of(row) or ()):
                if stratum in start:
                    cards += self.drawn[stratum][start[stratum] : start[stratum] + count]
                    start[stratum] += count
            rounds.append(cards)
        return rounds

    @property
    def weighted(self) -> bool:
        """Whether items count by weight, so that cards may be dealt again."""
        return self.settings.strata.weighted

    @property
    def dealt_items(self) -> set[str]:
        """Items of all these cards."""
        return {card["item_id"] for cards in self.dealt for card, _ in cards}


def counts_of(row: Row) -> list[int] | None:
    """Cards of each stratum in a round; None if unreadable."""
    with suppress(ValueError):
        counts = json.loads(row["counts"])
        if isinstance(counts, list) and all(type(each) is int and each >= 0 for each in counts):
            return counts
    return None


def _labels_from_before(session: Session, before: Before) -> list[Row]:
    """Labels that a campaign took over, of all campaigns that still exist."""
    counts = before.labels or (None,) * len(before.campaigns)
    rows: list[Row] = []
    for name, count in zip(before.campaigns, counts, strict=True):
        with suppress(StorageError):
            former, _ = session.find(name)
            rows += session.rows("label_event", former)[:count]
    if len(before.campaigns) > 1:
        rows.sort(key=lambda row: (row["told_at"], row["id"]))
    return rows


def read_books(session: Session, key: int, settings: Settings) -> Books:
    """Read the stored rows of a campaign."""
    before = None
    if settings.before is not None:
        before = _labels_from_before(session, settings.before)
    claims = session.rows("claim", key)
    # After a rebase, answers to earlier items wait until these are drawn.
    asked = [*(before or ()), *(claims if before is not None else ())]
    former = None
    if settings.epochs and settings.before is not None:
        with suppress(StorageError):
            former = read_books(session, *find_campaign(session, settings.before.campaign))
    return Books(
        settings=settings,
        strata=session.rows("stratum", key),
        cards=session.rows("item", key),
        rounds=session.rows("round", key),
        events=session.rows("label_event", key),
        claims=claims,
        before=before,
        asked_before={row["item_id"] for row in asked},
        lost=session.lost_labels(),
        first_link=session.first_link(key),
        former=former,
    )
