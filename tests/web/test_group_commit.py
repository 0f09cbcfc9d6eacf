"""Turns that wait are one transaction: few statements, each acknowledged when all are on disk."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa

import assay
from assay import Campaign, Label
from assay.errors import PredictionsError, StorageError
from assay.labelling import Assignments, Labelling, ShortReserveError, checked_request
from assay.results import Turn
from assay.web.queue import Counter
from tests.web.conftest import Web
from tests.web.serving import make_campaign, run_apart

PEOPLE = [f"reviewer {number}" for number in range(8)]
LEASE = 600.0


class Seen:
    """What databases were asked to do."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.commits = 0


@contextmanager
def watching() -> Iterator[Seen]:
    """Note all that is asked of any database."""
    seen = Seen()

    def statement(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        seen.statements.append(text)

    def commit(_connection: Any) -> None:
        seen.commits += 1

    for name, listener in (("before_cursor_execute", statement), ("commit", commit)):
        sa.event.listen(sa.Engine, name, listener)
    try:
        yield seen
    finally:
        for name, listener in (("before_cursor_execute", statement), ("commit", commit)):
            sa.event.remove(sa.Engine, name, listener)


def judge(counter: Counter, labels: list[Label], who: str, want: int = 1) -> Any:
    """Return a turn that is to be awaited."""
    return counter.turn(
        lambda campaign: checked_request(labels, who, want, LEASE, campaign.settings),
        lambda _campaign, turn: turn,
    )


def all_at_once(
    counter: Counter, turns: dict[str, list[Label]] | list[tuple[str, list[Label]]], want: int = 1
) -> list[Any]:
    """Let all turns come while the worker is busy; return what each gets, or what it raises."""
    each_of = list(turns.items() if isinstance(turns, dict) else turns)
    release = Event()

    async def go() -> list[Any]:
        busy = asyncio.create_task(counter.call(lambda _campaign: release.wait(30)))
        tasks = [asyncio.create_task(judge(counter, each, who, want)) for who, each in each_of]
        await asyncio.sleep(0)  # each is in the queue now
        release.set()
        await busy
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    return run_apart(go())


@pytest.fixture
def counter(web: Web) -> Iterator[Counter]:
    counter = Counter(web.campaign)
    yield counter
    counter.close()


def held(counter: Counter) -> dict[str, list[Label]]:
    """Give an item to each of all people; return an answer to it from each."""
    turns: list[Turn] = all_at_once(counter, {who: [] for who in PEOPLE})
    return {
        who: [Label(str(turn.items[0].id), "yes", key=f"key of {who}")]
        for who, turn in zip(PEOPLE, turns, strict=True)
    }


def test_turns_that_wait_are_one_transaction(counter: Counter, web: Web) -> None:
    answers = held(counter)
    with watching() as seen:
        turns = all_at_once(counter, answers)
    assert [turn.receipts[0].status for turn in turns] == ["saved"] * len(PEOPLE)
    assert len({turn.items[0].id for turn in turns}) == len(PEOPLE)
    assert {row.reviewer for row in web.campaign.events()} == {*PEOPLE}
    # One that writes; the others are of whoever kept the worker busy, and only read.
    assert sum("BEGIN IMMEDIATE" in text for text in seen.statements) == 1
    assert len(seen.statements) < 2 * len(PEOPLE), seen.statements
    assert seen.commits <= 2


def test_a_turn_takes_few_statements(web: Web) -> None:
    """It was 17 when every part of it asked for itself. One asks whether a newer Assay was here."""
    client = web.client("reviewer")
    told = client.post("/api/review", json={"want": 1}).json()
    for key in ("first", "second"):
        submits = [{"key": key, "item": told["items"][0]["id"], "answer": "yes"}]
        with watching() as seen:
            told = client.post("/api/review", json={"submits": submits, "want": 1}).json()
    assert told["receipts"][0]["status"] == "saved"
    assert len(told["items"]) == 1
    assert len(seen.statements) <= 10, seen.statements


def test_what_one_sends_does_not_undo_what_others_send(
    counter: Counter, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = held(counter)
    bad = PEOPLE[3]
    right = Labelling.add

    def add(self: Labelling, session: Any, labels: Any) -> None:
        right(self, session, labels)
        if any(label.reviewer == bad for label in labels):
            raise StorageError("this one cannot be kept")

    monkeypatch.setattr(Labelling, "add", add)
    turns = all_at_once(counter, answers)
    assert isinstance(turns[3], StorageError)
    assert [turn.receipts[0].status for turn in turns if isinstance(turn, Turn)] == ["saved"] * 7
    assert {row.reviewer for row in web.campaign.events()} == {*PEOPLE} - {bad}
    # What is shown of the campaign is what is stored.
    fresh = assay.load_campaign("spam", storage=web.storage)
    (again,) = all_at_once(counter, {PEOPLE[0]: answers[PEOPLE[0]]}, want=0)
    assert (again.receipts[0].status, again.team) == ("again", 7)
    assert fresh.estimate() == web.campaign.estimate()


def test_one_key_in_two_requests_is_one_label(counter: Counter, web: Web) -> None:
    (label,) = held(counter)[PEOPLE[0]]
    sent = [(PEOPLE[0], [each]) for each in (label, label, replace(label, answer="no"))]
    statuses = [turn.receipts[0].status for turn in all_at_once(counter, sent, want=0)]
    assert statuses == ["saved", "again", "conflict"]
    assert len(web.campaign.events()) == 1


def test_a_storage_that_fails_slowly_is_not_asked_by_each(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fails(_assignments: Assignments, requests: Any) -> Any:
        calls.append(len(requests))
        raise StorageError("another program has held its lock")

    monkeypatch.setattr(Assignments, "turns", fails)
    monkeypatch.setattr("assay.web.queue._SOON", 0.0)
    turns = all_at_once(counter, {who: [] for who in PEOPLE})
    assert all(isinstance(turn, StorageError) for turn in turns)
    assert calls == [len(PEOPLE)]


def test_answers_go_on_while_predictions_are_read(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reserve grows in another thread; only who has nothing else to do waits for it."""
    answers = held(counter)
    reading, go_on = Event(), Event()
    deal = Labelling.deal

    def short(self: Labelling, session: Any, asked: int) -> bool:
        if go_on.is_set():
            return deal(self, session, asked)
        raise ShortReserveError([1])

    def grow(_labelling: Labelling, _short: ShortReserveError) -> None:
        reading.set()
        assert go_on.wait(30)

    async def go() -> tuple[Turn, Turn, bool]:
        rest = await judge(counter, [], "who takes the rest of the round", 20)
        assert 0 < len(rest.items) < 20
        waiting = asyncio.create_task(judge(counter, [], "who comes too late", 1))
        assert await asyncio.to_thread(reading.wait, 30)
        answered = await asyncio.wait_for(judge(counter, answers[PEOPLE[0]], PEOPLE[0]), 20)
        waited = not waiting.done()
        go_on.set()
        return answered, await waiting, waited

    monkeypatch.setattr(Labelling, "deal", short)
    monkeypatch.setattr(Labelling, "grow", grow)
    answered, served, waited = run_apart(go())
    assert answered.receipts[0].status == "saved"
    assert waited
    assert served.items


def test_who_waits_for_predictions_hears_that_they_are_gone(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: object) -> bool:
        raise ShortReserveError([1])

    def gone(*_: object) -> None:
        raise PredictionsError("the predictions are not available")

    monkeypatch.setattr(Labelling, "deal", short)
    monkeypatch.setattr(Labelling, "grow", gone)
    (turn,) = all_at_once(counter, {"ann": []})
    assert isinstance(turn, PredictionsError)


def test_the_reserve_grows_before_it_runs_short(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.labelling.reserve._AT_ONCE", 30)
    # In one stratum all but a few, so that the reserve, which is even, ends soon.
    campaign = make_campaign(
        storage,
        predictions={
            "id": [*range(600)],
            "p": [min(0.5 + 0.03 * each, 0.999) for each in range(600)],
        },
        budget=300,
        show=[],
        design=assay.Design(strata="equal", bins=16, allocation="pps"),
    )
    counter, held, turns = Counter(campaign), session_sizes(campaign), 0
    waited: list[ShortReserveError] = []
    monkeypatch.setattr(Labelling, "grow", lambda _labelling, short: waited.append(short))
    while True:
        (turn,) = all_at_once(counter, {"ann": []}, want=20)
        if turn.state == "done":
            break
        said = [Label(str(item.id), "yes", key=str(item.id)) for item in turn.items]
        (saved,) = all_at_once(counter, {"ann": said}, want=0)
        assert {receipt.status for receipt in saved.receipts} == {"saved"}
        counter._growing.result(30)
        turns += len(said)
    counter.close()
    assert turns == 300
    assert waited == []
    assert session_sizes(campaign) > held
    assert assay.verify_campaign("spam", storage=storage).clean


def session_sizes(campaign: Campaign) -> int:
    """Return how many cards are in reserve."""
    with campaign.desk.store.read() as session:
        return sum(session.reserve(1, campaign.settings.strata.n_strata))
