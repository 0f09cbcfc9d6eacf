"""Leases, clocks, overlap and rebases, as a team meets them; what a reviewer must not learn."""

import math
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.deck import Id, number
from assay.labelling import history_in, reviewers_in, waiting_in
from assay.labelling.reserve import ShortReserveError
from assay.labelling.state import Labelling
from assay.results.progress import Turn
from assay.storage import Label
from tests.clock import Clock, movable_clock
from tests.kinds import TRUTH, create, finish, table

DAY = 86_400.0


def submit(item: assay.Item, answer: str, key: str = "") -> Label:
    return Label(str(item.id), answer, key=key or f"{item.id} {answer}")


@pytest.fixture
def clock(storage_url: str) -> Iterator[Clock]:
    with movable_clock(storage_url) as clock:
        yield clock


def ids(turn: Any) -> list[object]:
    return [item.id for item in turn.items]


def test_a_late_answer_is_flagged_and_counts(storage_url: str, clock: Clock) -> None:
    campaign = create(storage_url)
    (item,) = campaign.review([], reviewer="ann", want=1, lease=600).items
    clock.move(700)
    assert item in campaign.ask(40, reviewer="bob")
    (receipt,) = campaign.review([submit(item, "yes", "a")], reviewer="ann").receipts
    assert (receipt.status, receipt.late) == ("saved", True)
    (receipt,) = campaign.review([submit(item, "no", "b")], reviewer="bob").receipts
    assert (receipt.status, receipt.late) == ("saved", False)
    assert campaign.answers() == {item.id: "yes"}  # the first to answer, as it wants one reviewer
    ann, bob = reviewers_in(campaign.desk.current())
    assert (ann.late, ann.spare, bob.late, bob.spare) == (1, 0, 0, 1)
    (receipt,) = campaign.review([submit(item, "yes", "a")], reviewer="ann").receipts
    assert (receipt.status, receipt.late) == ("again", True)


@pytest.mark.parametrize("by", [DAY, -DAY], ids=["forward", "back"])
def test_a_clock_that_is_moved_by_a_day_holds_nobody_up(
    storage_url: str, clock: Clock, by: float
) -> None:
    campaign = create(storage_url)
    held = campaign.review([], reviewer="ann", want=20, lease=600)
    clock.move(by)
    other = campaign.review([], reviewer="bob", want=20, lease=600)
    assert {*ids(other)} == {*ids(held)}
    answers = [submit(item, "yes", f"ann {item.id}") for item in held.items]
    assert {r.status for r in campaign.review(answers, reviewer="ann").receipts} == {"saved"}
    clock.move(-by)
    again = campaign.review([], reviewer="bob", want=20, lease=600)
    assert len(again.items) == 20
    assert not {*ids(again)} & {*ids(held)}
    assert len(campaign.answers()) == 20


def test_telling_the_same_again_changes_nothing_even_in_a_dispute(storage_url: str) -> None:
    campaign = create(storage_url, reviewers_per_item=2, overlap=1.0)
    (item,) = campaign.ask(1, reviewer="ann")
    campaign.tell({item.id: "yes"}, reviewer="ann")
    campaign.tell({item.id: "no"}, reviewer="bob")
    campaign.tell({item.id: "yes"}, reviewer="ann")
    assert len(campaign.events()) == 2
    assert [dispute.answers for dispute in campaign.disputes()] == [{"ann": "yes", "bob": "no"}]
    with pytest.raises(assay.LabelConflictError, match="'yes' by 'ann', 'no' by 'bob'"):
        campaign.tell({item.id: "yes"}, reviewer="eve")
    campaign.tell({item.id: "no"}, reviewer="ann", revise=True)  # her own answer, no ruling
    assert campaign.answers() == {item.id: "no"}
    assert not any(event.ruling for event in campaign.events())
    campaign.tell({item.id: "yes"}, reviewer="eve", revise=True)
    assert campaign.answers() == {item.id: "yes"}
    assert campaign.events()[-1].ruling


def independence(wanted: Any) -> float:
    """Return the largest |z| of a stratum's share of items for several, and of consecutive ones.

    Under chance each z is close to standard normal: of 41 of them, one is above 5 in size with
    probability 41 x 5.7e-7 = 2.4e-5. (The seed is fixed; a failure is no accident.)
    """
    share, size = 0.3, 40_000
    several = np.array([wanted(item) for item in range(size)]) > 1
    spread = math.sqrt(share * (1 - share))
    order = np.argsort([number(item, 12) for item in range(size)])  # as the decks have them
    scores = [*np.split(several, 20), *np.split(several[order], 20)]
    z = [(part.mean() - share) / spread * math.sqrt(part.size) for part in scores]
    pairs = several[order][:-1] & several[order][1:]
    both = share**2
    z.append((pairs.mean() - both) / math.sqrt(both * (1 - both) / pairs.size))
    return float(np.abs(z).max())


def test_items_for_several_reviewers_are_a_random_share() -> None:
    """Items in the order of their scores fall into strata; their numbers are the deck's order."""
    scores = {"p": (np.arange(50) + 0.5) / 50}
    campaign = assay.create_campaign(
        scores, score="p", threshold=0.0, budget=5, seed=12, reviewers_per_item=2, overlap=0.3
    )
    wanted = campaign.settings.reviewers_wanted
    assert independence(lambda item: wanted(str(item))) < 5

    def by_the_deck(item: int) -> int:  # the same draw as the deck: those dealt first have two
        return 1 + (number(item, 12) < 0.3 * 2**64)

    def by_score(item: int) -> int:
        return 1 + (item < 0.3 * 40_000)

    assert independence(by_the_deck) > 5
    assert independence(by_score) > 5


def test_one_reviewer_through_any_door_is_the_same_campaign(tmp_path: Path) -> None:
    """What is asked, told and estimated is the same by ask and tell, with claims, and by a page."""
    plain, claimed, page = (create(f"sqlite:///{tmp_path / name}.db") for name in "abc")
    while not plain.done:
        items = plain.ask(20)
        assert claimed.ask(20, reviewer="ann") == items
        assert list(page.review([], reviewer="ann", want=20).items) == items
        plain.tell({item.id: TRUTH[str(item.id)] for item in items})
        claimed.tell({item.id: TRUTH[str(item.id)] for item in items}, reviewer="ann")
        page.review(
            [submit(item, "yes" if TRUTH[str(item.id)] else "no") for item in reversed(items)],
            reviewer="ann",
        )
        assert plain.estimates().to_dict() == claimed.estimates().to_dict()
        assert plain.estimates().to_dict() == page.estimates().to_dict()
    assert plain.answers() == claimed.answers()
    assert page.done
    assert claimed.done


def test_answers_in_a_browser_outlive_a_rebase(storage_url: str) -> None:
    """Claims are copied, so what is answered afterwards is taken, and counts or waits."""
    before = create(storage_url)
    before.tell({item.id: TRUTH[str(item.id)] for item in before.ask(20)}, reviewer="ann")
    held = before.review([], reviewer="bob", want=20).items
    first, rest = held[0], held[1:]
    before.review([submit(first, "yes", "before the rebase")], reviewer="bob")
    after = assay.rebase_campaign(storage=storage_url, predictions=table(slice(0, 250)))
    with pytest.raises(assay.StorageError, match="rebased"):
        before.review([submit(rest[0], "yes")], reviewer="bob")
    answers = [submit(item, "no") for item in rest]
    again = submit(first, "yes", "before the rebase")
    receipts = after.review([again, *answers], reviewer="bob").receipts
    assert [receipt.status for receipt in receipts] == ["again"] + ["saved"] * len(rest)
    assert not any(receipt.late for receipt in receipts)
    told: dict[Any, assay.Answer] = {**after.answers(), **waiting_in(after.desk.current())}
    assert {item.id: told[item.id] for item in held} == {
        first.id: "yes",
        **dict.fromkeys((item.id for item in rest), "no"),
    }
    assert waiting_in(after.desk.current())
    stranger = submit(assay.Item("0299"), "yes", "stranger")
    (refused,) = after.review([stranger], reviewer="kim").receipts
    assert refused.status == "refused"


def test_objects_that_lived_through_it_and_fresh_ones_agree(storage_url: str) -> None:
    """A rebased campaign with answers that wait, withdrawn ones, and rounds dealt elsewhere."""
    before = create(storage_url, design=assay.Design.guaranteed())
    for _ in range(2):
        before.tell({item.id: TRUTH[str(item.id)] for item in before.ask(20)}, reviewer="ann")
    after = assay.rebase_campaign(storage=storage_url, predictions=table(slice(0, 250)))
    other = assay.load_campaign(storage=storage_url, predictions=table(slice(0, 250)))
    for turn in range(4):
        desk = (after, other)[turn % 2]
        items = desk.review([], reviewer="bob", want=20).items
        desk.review([submit(item, "yes", f"{turn} {item.id}") for item in items], reviewer="bob")
        desk.review([submit(item, "withdrawn") for item in items[:2]], reviewer="bob")
    fresh = assay.load_campaign(storage=storage_url)
    for each in (after, other):
        assert each.estimates().to_dict() == fresh.estimates().to_dict()
        assert (each.answers(), waiting_in(each.desk.current())) == (
            fresh.answers(),
            waiting_in(fresh.desk.current()),
        )
        assert history_in(each.desk.current()) == history_in(fresh.desk.current())


PREDICTIONS = {"p": [0.5 + number / 400 for number in range(200)]}


def make(**changed: Any) -> assay.Campaign:
    keywords: dict[str, Any] = {"score": "p", "threshold": 0.5, "budget": 40, "seed": 2}
    return assay.create_campaign(PREDICTIONS, **(keywords | changed))


def send(campaign: assay.Campaign, who: str, item: Id, answer: str, key: str) -> Turn:
    return campaign.review([Label(str(item), answer, key=key)], reviewer=who)


def test_nobody_can_tell_from_the_counts_what_others_have_said() -> None:
    campaign = make(reviewers_per_item=2, overlap=1.0)
    (item,) = campaign.review([], reviewer="ann", want=1).items
    send(campaign, "ann", item.id, "no", "a")
    held = campaign.review([], reviewer="bob", want=20).items
    assert item.id in {each.id for each in held}
    told = []
    for place, answer in enumerate(("yes", "withdrawn", "no", "withdrawn")):
        turn = send(campaign, "bob", item.id, answer, f"b{place}")
        told.append((turn.team, turn.state, turn.receipts[0].late, turn.receipts[0].message))
    assert told[0] == told[2]
    assert told[1] == told[3]


def test_what_was_sent_is_saved_even_if_there_are_no_more_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign = make(budget=None, within=0.001)
    items = campaign.review([], reviewer="ann", want=5).items

    def gone(*_: object) -> None:
        raise assay.PredictionsError("the predictions are not at hand")

    def short(*_: object) -> bool:
        raise ShortReserveError([1])

    monkeypatch.setattr(Labelling, "deal", short)
    monkeypatch.setattr("assay.labelling.reserve.Reserve.grow", gone)
    sent = [Label(str(item.id), "yes", key=str(item.id)) for item in items]
    turn = campaign.review(sent, reviewer="ann", want=20)
    assert [receipt.status for receipt in turn.receipts] == ["saved"] * 5
    assert campaign.desk.labelling.trouble == "the predictions are not at hand"
    assert len(campaign.events()) == 5
    assert turn.items  # what lies on the table can be judged
    left = [Label(str(item.id), "yes", key=str(item.id)) for item in turn.items]
    assert campaign.review(left, reviewer="ann", want=20).state == "wait"
    with pytest.raises(assay.PredictionsError):
        campaign.review([], reviewer="ann", want=40)


def test_one_reviewer_alone_is_not_given_more_than_two_would_need() -> None:
    campaign = make(budget=None, within=0.1, reviewers_per_item=2, overlap=1.0)
    given = 0
    while batch := campaign.ask(20, reviewer="ann"):
        campaign.tell({item.id: True for item in batch}, reviewer="ann")
        given += len(batch)
    alone = make(budget=None, within=0.1)
    finish(alone, lambda _: True, 20)
    assert given <= alone.estimate().labels + 20
    while batch := campaign.ask(20, reviewer="bob"):
        campaign.tell({item.id: True for item in batch}, reviewer="bob")
    assert campaign.done


def test_only_items_that_one_was_given_can_be_answered_skipped_or_held() -> None:
    campaign = make()
    items = campaign.review([], reviewer="ann", want=5).items
    for answer in ("yes", "skip", "withdrawn"):
        turn = send(campaign, "eve", items[0].id, answer, f"e-{answer}")
        assert turn.receipts[0].status == "refused"
    assert campaign.events() == []


def test_one_person_in_two_spellings_is_one_reviewer() -> None:
    campaign = make(reviewers_per_item=2, overlap=1.0)
    (item,) = campaign.ask(1, reviewer="Zoë")
    campaign.tell({item.id: True}, reviewer=unicodedata.normalize("NFD", " Zoë "))
    again = campaign.desk.record([Label(str(item.id), assay.Answer.YES, "Zoë\t")])
    assert (again.new, again.unchanged) == (0, 1)
    assert [row.name for row in reviewers_in(campaign.desk.current())] == ["Zoë"]


@pytest.mark.parametrize("overlap", ["0.1", True, None, 1.5, float("nan")])
def test_an_overlap_that_is_none_is_refused(overlap: object) -> None:
    with pytest.raises(assay.DesignError, match="for several reviewers"):
        make(reviewers_per_item=2, overlap=overlap)


def test_an_id_that_no_page_could_send_back_is_refused() -> None:
    for bad in ("a\0b", "x" * 10_001):
        with pytest.raises(assay.PredictionsError, match="cannot be used"):
            assay.create_campaign(
                {"id": [bad], "p": [0.9]}, id="id", score="p", threshold=0.5, budget=1
            )
