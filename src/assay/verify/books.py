"""What is stored of a campaign, read once; and what checks of it found."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from assay.errors import StorageError
from assay.settings import Settings
from assay.store import Session

__all__ = ["Books", "Checked", "Row", "Verification", "checked", "counts_of", "read_books"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Checked:
    """One check: what was looked at, what is wrong, and what is only worth knowing."""

    check: str
    looked_at: int
    findings: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verification:
    """What the checks of a campaign found."""

    campaign: str
    checks: tuple[Checked, ...]

    @property
    def findings(self) -> tuple[str, ...]:
        """All that is wrong; empty where the books are clean."""
        return tuple(f"{each.check}: {found}" for each in self.checks for found in each.findings)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"campaign": self.campaign, "clean": self.clean, "checks": asdict(self)["checks"]}


def checked(
    check: str, looked_at: int, findings: Iterable[str], notes: Iterable[str] = ()
) -> Checked:
    """Return what a check found."""
    return Checked(check, looked_at, tuple(findings), tuple(notes))


@dataclass(frozen=True)
class Books:
    """The rows of a campaign, as they are kept.

    `before` is the log of the campaign whose place it took; `lost` are numbers of labels that are
    gone from the log, where that can be told.
    """

    settings: Settings
    strata: Sequence[Row]
    cards: Sequence[Row]
    rounds: Sequence[Row]
    events: Sequence[Row]
    claims: Sequence[Row]
    before: Sequence[Row] | None
    lost: Sequence[int] | None

    @cached_property
    def decks(self) -> Mapping[int, Sequence[Row]]:
        """The cards of each stratum, from the top."""
        decks: dict[int, list[Row]] = {}
        for card in self.cards:
            decks.setdefault(card["stratum"], []).append(card)
        return decks

    @cached_property
    def dealt(self) -> Sequence[Sequence[Row]]:
        """The cards of every round, as far as they are there."""
        start = dict.fromkeys(self.decks, 0)
        rounds = []
        for row in self.rounds:
            cards: list[Row] = []
            for stratum, count in enumerate(counts_of(row) or ()):
                if stratum in start:
                    cards += self.decks[stratum][start[stratum] : start[stratum] + count]
                    start[stratum] += count
            rounds.append(cards)
        return rounds

    @property
    def dealt_items(self) -> set[str]:
        """The items of all these cards."""
        return {card["item_id"] for cards in self.dealt for card in cards}


def counts_of(row: Row) -> list[int] | None:
    """Return a round's cards of each stratum; None where they cannot be read."""
    with suppress(ValueError):
        counts = json.loads(row["counts"])
        if isinstance(counts, list) and all(type(each) is int and each >= 0 for each in counts):
            return counts
    return None


def read_books(session: Session, key: int, settings: Settings) -> Books:
    """Read what is stored of a campaign."""
    before = None
    if settings.before is not None:
        try:
            former, _ = session.find(settings.before.campaign)
        except StorageError:
            before = []
        else:
            before = session.rows("label_event", former)
    return Books(
        settings=settings,
        strata=session.rows("stratum", key),
        cards=session.rows("item", key),
        rounds=session.rows("round", key),
        events=session.rows("label_event", key),
        claims=session.rows("claim", key),
        before=before,
        lost=session.lost_labels(),
    )
