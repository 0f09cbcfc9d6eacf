"""An import beside reviewers: it is checked while they go on, and is all there or not at all."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

import assay
from assay import Campaign, Label
from assay.campaign import import_labels
from assay.campaign.manage import delete_campaign
from assay.campaign.staged_import import Import
from assay.core.answers import Answer
from assay.errors import AssayWarning
from assay.labelling import history_in, kinds_of
from assay.labelling.rounds import Rounds
from assay.storage import PIECE, Session

ITEMS = 3_000


def create(storage: str | None, items: int = 60) -> Campaign:
    scores = np.random.default_rng(3).random(4 * items)
    goal: dict[str, Any] = {"threshold": 0.3, "budget": 2 * items, "name": "spam", "seed": 4}
    return assay.create_campaign({"p": scores}, score="p", **goal, storage=storage)


def csv_of(items: list[Any], answer: str = "yes", who: str = "file") -> bytes:
    lines = [f"{getattr(item, 'id', item)},{answer},{who}\n" for item in items]
    return f"id,label,reviewer\n{''.join(lines)}".encode()


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[tuple[Event, Event]]:
    """Hold the thread of this name when it checks the labels; give what tells, and ends it."""
    reached, go_on = Event(), Event()

    def check(*given: Any, **options: Any) -> Any:
        if current_thread().name.startswith(name) and not reached.is_set():
            reached.set()
            assert go_on.wait(60)
        return kinds_of(*given, **options)

    monkeypatch.setattr("assay.campaign.desk.kinds_of", check)
    try:
        yield reached, go_on
    finally:
        go_on.set()


@contextmanager
def importing(campaign: Campaign, items: list[Any], **options: Any) -> Iterator[Callable[[], Any]]:
    """Import a file in another thread; yield, when it is being checked, what ends the import."""
    with (
        pytest.MonkeyPatch.context() as patch,
        held(patch, "importer") as (reached, go_on),
        ThreadPoolExecutor(1, thread_name_prefix="importer") as pool,
    ):
        importing = pool.submit(import_labels, campaign, csv_of(items), **options)
        assert reached.wait(60)

        def end() -> Any:
            go_on.set()
            return importing.result(60)

        yield end


def test_reviewers_go_on_while_a_file_is_checked(storage_url: str) -> None:
    campaign = create(storage_url)
    items = campaign.ask(40)
    other = assay.load_campaign("spam", storage=storage_url)
    with importing(campaign, items) as end:
        (mine,) = other.review([], reviewer="ann", want=1).items
        turn = other.review([Label(str(mine.id), "no", key="k")], reviewer="ann")
        assert turn.receipts[0].status == "saved"
        imported = end()
    # What ann said meanwhile was taken into account: the file's answer to her item does not count.
    assert (imported.new, imported.spare) == (40, 1)
    assert campaign.answers()[mine.id] is Answer.NO
    fresh = assay.load_campaign("spam", storage=storage_url)
    assert fresh.answers() == campaign.answers() == other.answers()


def test_what_contradicts_the_file_meanwhile_is_found(storage_url: str) -> None:
    campaign = create(storage_url)
    items = campaign.ask(40)
    other = assay.load_campaign("spam", storage=storage_url)
    with importing(campaign, items) as end:
        other.tell({items[5].id: False}, reviewer="file")
        with pytest.raises(assay.LabelConflictError, match="1 label unlike earlier ones"):
            end()
    assert len(campaign.events()) == 1


def test_a_file_is_few_statements(tmp_path: Path) -> None:
    campaign = create(f"sqlite:///{tmp_path / 'a.db'}", ITEMS)
    items = campaign.ask(ITEMS)
    told: list[str] = []

    def note(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        told.append(text)

    sa.event.listen(campaign.desk.store._backend.engine, "before_cursor_execute", note)
    assert import_labels(campaign, csv_of(items)).new == ITEMS
    assert len(told) < ITEMS / 30, told
    assert len(campaign.answers()) == ITEMS


@pytest.mark.parametrize("count", [5, ITEMS])
def test_many_labels_are_stored_as_few_are(storage_url: str, count: int) -> None:
    """Those of a file are inserted by another way; links and rows are the same."""
    campaign = create(storage_url, ITEMS)
    items = campaign.ask(count)
    campaign.desk.record([Label(str(items[0].id), "no", "ann", comment="'; ümläut 🜚")])
    assert import_labels(campaign, csv_of(items)).new == count
    events = campaign.events()
    assert [event.item_id for event in events[1:]] == [str(item.id) for item in items]
    assert {(e.reviewer, e.late, e.ruling, e.key, e.comment) for e in events[1:]} == {
        ("file", False, False, None, "")
    }
    assert [event.id for event in events] == sorted({event.id for event in events})
    assert assay.verify_campaign("spam", storage=storage_url).clean


def test_first_answers_counted_together_are_those_counted_one_by_one() -> None:
    """Also where an item is answered twice, withdrawn and answered again within them."""
    one, other = create(None), create(None)
    items = [str(item.id) for item in one.ask(60)]
    assert items == [str(item.id) for item in other.ask(60)]
    rng = np.random.default_rng(8)
    words = ["yes", "no", "cannot judge", "withdrawn", "skip"]
    said = [
        Label(items[rng.integers(60)], words[rng.integers(5)], "ann", key=str(number))
        for number in range(300)
    ]
    for campaign, size in ((one, 1), (other, 100)):
        for start in range(0, len(said), size):
            with campaign.desk.labelling.write() as session:
                campaign.desk.labelling.add(session, said[start : start + size])
    rounds: list[Rounds] = [each.desk.labelling.rounds for each in (one, other)]
    assert rounds[0].answers == rounds[1].answers
    for name in ("_total", "_total_first"):
        counts = [getattr(each, name)._counts for each in rounds]
        np.testing.assert_array_equal(*counts)
    assert one.estimate() == other.estimate()
    assert history_in(one.desk.current()) == history_in(other.desk.current())


@pytest.mark.parametrize(
    ("before", "meanwhile", "counts"),
    [("", "yes", (ITEMS - 1, 0, 1)), ("yes", "no", (0, 1, ITEMS - 1))],
    ids=["the same, so one row is left out", "something else, so one row is put in"],
)
def test_what_a_reviewer_says_while_many_rows_wait(
    storage_url: str, before: str, meanwhile: str, counts: tuple[int, int, int]
) -> None:
    """Rows wait outside of the lock; which of them are told is decided under it."""
    campaign = create(storage_url, ITEMS)
    items = campaign.ask(ITEMS)
    if before:
        assert import_labels(campaign, csv_of(items)).new == ITEMS
    other = assay.load_campaign("spam", storage=storage_url)
    with importing(campaign, items, revise=True) as end:
        other.tell({items[5].id: meanwhile}, reviewer="file", revise=True)
        found = end()
    assert (found.new, found.revised, found.unchanged) == counts
    assert len(campaign.events()) == ITEMS + (2 if before else 0)
    assert set(campaign.answers().values()) == {Answer.YES}
    assert other.answers() == campaign.answers()
    assert assay.verify_campaign("spam", storage=storage_url).clean


def test_a_file_that_fails_under_the_lock_leaves_nothing(
    storage_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = create(storage_url, ITEMS)
    items = campaign.ask(ITEMS)
    with monkeypatch.context() as patch:
        patch.setattr("assay.storage.labels.follow", lambda *_: 1 / 0)
        with pytest.raises((assay.StorageError, ZeroDivisionError)):
            import_labels(campaign, csv_of(items))
    assert campaign.events() == []
    assert import_labels(campaign, csv_of(items)).new == ITEMS
    assert assay.verify_campaign("spam", storage=storage_url).clean


class Stopped(BaseException):
    """What ends a process."""


@contextmanager
def stopped_after(pieces: int) -> Iterator[None]:
    """End an import that has appended so many of the pieces that wait."""
    append, left = Import.append, [pieces]

    def limited(self: Import, session: Session) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise Stopped
        return append(self, session)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(Import, "append", limited)
        yield


def half_imported(storage_url: str) -> tuple[Campaign, list[Any]]:
    """A campaign with a file of labels that was accepted, and appended in part."""
    campaign = create(storage_url, ITEMS)
    items = campaign.ask(ITEMS)
    with stopped_after(1):
        import_labels(campaign, csv_of(items))
    assert len(campaign.events()) == 2 * PIECE
    return campaign, items


def test_one_import_is_finished_before_the_next(storage_url: str) -> None:
    campaign, items = half_imported(storage_url)
    assert import_labels(campaign, csv_of(items[-5:], "no"), revise=True).revised == 5
    assert [campaign.answers()[item.id] for item in items[-5:]] == [Answer.NO] * 5
    assert len(campaign.events()) == ITEMS + 5
    assert assay.verify_campaign("spam", storage=storage_url).clean


@pytest.mark.parametrize("later", ["no", "withdrawn"])
def test_what_a_reviewer_says_between_two_pieces_is_the_later_answer(
    storage_url: str, later: str
) -> None:
    campaign, items = half_imported(storage_url)
    last = str(items[-1].id)
    with campaign.desk.labelling.write() as session:
        session.add_labels(campaign.desk.labelling.key, [Label(last, later, "file")])
    loaded = assay.load_campaign("spam", storage=storage_url)
    assert len(loaded.events()) == ITEMS
    assert loaded.desk.reviews_of([last])[last].answers == (
        {"file": Answer.NO} if later == "no" else {}
    )


def test_what_a_file_says_repeatedly_is_told_in_its_order(storage_url: str) -> None:
    campaign = create(storage_url, ITEMS)
    items = campaign.ask(ITEMS)
    twice = [Label(str(item.id), word, "file") for word in ("yes", "no") for item in items]
    recorded = campaign.desk.record(twice, revise=True)
    assert (recorded.new, recorded.revised) == (ITEMS, ITEMS)
    assert set(campaign.answers().values()) == {Answer.NO}


def test_claims_end_with_the_labels_of_a_file(storage_url: str) -> None:
    campaign = create(storage_url, ITEMS)
    items = campaign.ask(ITEMS, reviewer="file", lease=600.0)
    import_labels(campaign, csv_of(items[:-1]))
    with campaign.desk.store.read() as session:
        live = session.all_live_claims(campaign.desk.labelling.key)
    assert [claim.item_id for claim in live] == [str(items[-1].id)]


def test_a_rebase_takes_the_labels_that_wait_with_it(storage_url: str) -> None:
    half_imported(storage_url)
    scores = np.random.default_rng(3).random(4 * ITEMS)
    with pytest.warns(AssayWarning, match="the numbers of their rows"):
        rebased = assay.rebase_campaign("spam", storage=storage_url, predictions={"p": scores**2})
    assert len(rebased.events()) == ITEMS


@pytest.mark.parametrize("text", ["nonsense", '[["7"]]', '{"7": 1}', "[" * 100_000])
def test_what_was_changed_before_it_is_in_the_log(storage_url: str, text: str) -> None:
    campaign = create(storage_url)
    with campaign.desk.store.write() as session:
        session.stage(campaign.desk.labelling.key, 0, [text])
    with pytest.raises(assay.StorageError, match="that was accepted cannot be read"):
        assay.load_campaign("spam", storage=storage_url)
    assert campaign.events() == []


def test_a_deleted_campaign_leaves_no_labels_that_wait(storage_url: str) -> None:
    campaign, _ = half_imported(storage_url)
    delete_campaign(campaign.desk.store, "spam", force=True)
    with campaign.desk.store.read() as session:
        assert session.next_piece(campaign.desk.labelling.key) is None
