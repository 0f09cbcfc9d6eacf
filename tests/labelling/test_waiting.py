"""A turn reads what it needs of the claims, however many items other reviewers hold."""

import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import assay
from assay import Label
from assay.storage import Session

ITEMS = 3_000


def made(folder: Path, **options: Any) -> assay.Campaign:
    scores = [number / ITEMS for number in range(ITEMS)]
    return assay.create_campaign(
        {"p": scores},
        score="p",
        threshold=0.5,
        budget=ITEMS,
        storage=f"sqlite:///{folder / 'a.db'}",
        **options,
    )


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of claims that were read, a query each."""
    numbers: list[int] = []
    right = Session.live_claims

    def counted(self: Session, *asked: Any) -> Any:
        live = right(self, *asked)
        numbers.append(len(live))
        return live

    monkeypatch.setattr(Session, "live_claims", counted)
    return numbers


def test_a_turn_reads_no_claims_of_others(tmp_path: Path, read: list[int]) -> None:
    campaign = made(tmp_path)
    lent = campaign.ask(1_000, reviewer="a team elsewhere", lease=3600.0)
    assert len(lent) == 1_000
    (first,) = campaign.review([], reviewer="ann", want=1).items
    read.clear()
    for number in range(5):
        label = Label(str(first.id), "yes", key=str(number))
        (first,) = campaign.review([label], reviewer="ann", want=1).items
        assert first.id not in {item.id for item in lent}
    assert sum(read) < 50  # all of them in every turn once: 5,000


def test_a_turn_of_one_who_holds_many_reads_few(tmp_path: Path, read: list[int]) -> None:
    campaign = made(tmp_path)
    lent = [item.id for item in campaign.ask(1_000, reviewer="ann", lease=3600.0)]
    read.clear()
    (item,) = campaign.review([], reviewer="ann", want=1).items
    assert item.id in lent
    assert sum(read) < 300


def test_an_item_comes_back_when_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = made(tmp_path)
    (lent,) = campaign.ask(1, reviewer="ann", lease=3600.0)
    assert campaign.review([], reviewer="bob", want=1).items != (lent,)
    now = time.time()
    monkeypatch.setattr(Session, "now", property(lambda _: now - 7200.0, lambda *_: None))
    assert campaign.review([], reviewer="eve", want=1).items == (lent,)


def test_an_item_for_two_waits_for_the_lease_that_ends_first(tmp_path: Path) -> None:
    campaign = made(tmp_path, reviewers_per_item=2, overlap=1.0)
    (item,) = campaign.ask(1, reviewer="ann", lease=2.0)
    assert campaign.ask(1, reviewer="bob", lease=3600.0) == [item]
    names = map(str, count())
    assert campaign.ask(1, reviewer="eve") != [item]
    while campaign.ask(1, reviewer=next(names), lease=0.01) != [item]:
        time.sleep(0.1)
