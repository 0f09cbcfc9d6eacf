"""What a reviewer must not learn or do, and what must be saved whatever comes after."""

import unicodedata
from typing import Any

import pytest

import assay
from assay.core.deck import Id
from assay.labelling import reviewers_in
from assay.labelling.reserve import ShortReserveError
from assay.labelling.state import Labelling
from assay.results.progress import Turn
from assay.storage import Label
from tests.kinds import finish

PREDICTIONS = {"p": [0.5 + number / 400 for number in range(200)]}


def create(**changed: Any) -> assay.Campaign:
    keywords: dict[str, Any] = {"score": "p", "threshold": 0.5, "budget": 40, "seed": 2}
    return assay.create_campaign(PREDICTIONS, **(keywords | changed))


def send(campaign: assay.Campaign, who: str, item: Id, answer: str, key: str) -> Turn:
    return campaign.review([Label(str(item), answer, key=key)], reviewer=who)


def test_nobody_can_tell_from_the_counts_what_others_have_said() -> None:
    campaign = create(reviewers_per_item=2, overlap=1.0)
    (item,) = campaign.review([], reviewer="ann", want=1).items
    send(campaign, "ann", item.id, "no", "a")
    held = campaign.review([], reviewer="bob", want=20).items
    assert item.id in {each.id for each in held}
    told = []
    for number, answer in enumerate(("yes", "withdrawn", "no", "withdrawn")):
        turn = send(campaign, "bob", item.id, answer, f"b{number}")
        told.append((turn.team, turn.state, turn.receipts[0].late, turn.receipts[0].message))
    assert told[0] == told[2]
    assert told[1] == told[3]


def test_what_was_sent_is_saved_even_if_there_are_no_more_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign = create(budget=None, within=0.001)
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
    campaign = create(budget=None, within=0.1, reviewers_per_item=2, overlap=1.0)
    given = 0
    while batch := campaign.ask(20, reviewer="ann"):
        campaign.tell({item.id: True for item in batch}, reviewer="ann")
        given += len(batch)
    alone = create(budget=None, within=0.1)
    finish(alone, lambda _: True, 20)
    assert given <= alone.estimate().labels + 20
    while batch := campaign.ask(20, reviewer="bob"):
        campaign.tell({item.id: True for item in batch}, reviewer="bob")
    assert campaign.done


def test_only_items_that_one_was_given_can_be_answered_skipped_or_held() -> None:
    campaign = create()
    items = campaign.review([], reviewer="ann", want=5).items
    for answer in ("yes", "skip", "withdrawn"):
        turn = send(campaign, "eve", items[0].id, answer, f"e-{answer}")
        assert turn.receipts[0].status == "refused"
    assert campaign.events() == []


def test_one_person_in_two_spellings_is_one_reviewer() -> None:
    campaign = create(reviewers_per_item=2, overlap=1.0)
    (item,) = campaign.ask(1, reviewer="Zoë")
    campaign.tell({item.id: True}, reviewer=unicodedata.normalize("NFD", " Zoë "))
    again = campaign.desk.record([Label(str(item.id), assay.Answer.YES, "Zoë\t")])
    assert (again.new, again.unchanged) == (0, 1)
    assert [row.name for row in reviewers_in(campaign.desk.current())] == ["Zoë"]


def test_what_is_told_frees_the_claim() -> None:
    campaign = create(reviewers_per_item=2, overlap=1.0)
    items = campaign.ask(5, reviewer="ann")
    campaign.desk.record([Label(str(item.id), assay.Answer.YES, "ann") for item in items])
    assert {item.id for item in campaign.ask(5, reviewer="bob")} == {item.id for item in items}


def test_campaigns_of_one_name_in_two_storages_are_told_apart() -> None:
    one, other = create(), create()
    assert one.name == other.name
    assert one.desk.identity != other.desk.identity


@pytest.mark.parametrize("overlap", ["0.1", True, None, 1.5, float("nan")])
def test_an_overlap_that_is_none_is_refused(overlap: object) -> None:
    with pytest.raises(assay.DesignError, match="for several reviewers"):
        create(reviewers_per_item=2, overlap=overlap)


def test_an_id_that_no_page_could_send_back_is_refused() -> None:
    for bad in ("a\0b", "x" * 10_001):
        with pytest.raises(assay.PredictionsError, match="cannot be used"):
            assay.create_campaign(
                {"id": [bad], "p": [0.9]}, id="id", score="p", threshold=0.5, budget=1
            )
