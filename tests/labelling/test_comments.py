"""Comments beside answers: kept, never lost, never shown to other reviewers, never counted."""

from typing import Any

import pytest

import assay
from assay.core.answers import Answer
from assay.labelling.accept import LONGEST_COMMENT
from assay.storage import Label


def campaign_of(items: int = 6, **more: Any) -> assay.Campaign:
    scores = {"id": list(range(items)), "p": [0.5 + i / (2 * items) for i in range(items)]}
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, **more}
    return assay.create_campaign(scores, budget=items, seed=1, **columns)


def team() -> assay.Campaign:
    return campaign_of(reviewers_per_item=2, overlap=1.0)


def written(campaign: assay.Campaign) -> list[tuple[str, str, str]]:
    return [(event.item_id, event.answer, event.comment) for event in campaign.events()]


def test_estimates_are_the_same_with_and_without() -> None:
    silent, talking = campaign_of(), campaign_of()
    for _ in range(2):
        batch = silent.ask(3)
        said = {item.id: int(item.id) % 2 == 0 for item in batch}
        assert [item.id for item in talking.ask(3)] == [item.id for item in batch]
        comments = {item.id: f"no {item.id}" for item in batch}
        assert talking.tell(said, comments=comments) == silent.tell(said)
    assert [event.comment for event in silent.events()] == [""] * 6
    assert all(event.comment == f"no {event.item_id}" for event in talking.events())


def test_a_first_comment_replaces_nothing_and_another_one_needs_revise() -> None:
    campaign = campaign_of()
    item = campaign.ask(1)[0].id
    campaign.tell({item: True}, reviewer="ann")
    campaign.tell({item: True}, comments={item: " a parody \n"}, reviewer="ann")
    campaign.tell({item: True}, comments={item: "a parody"}, reviewer="ann")  # the same again
    campaign.tell({item: True}, reviewer="ann")  # says nothing of the comment
    text = str(item)
    assert written(campaign) == [(text, "yes", ""), (text, "yes", "a parody")]
    with pytest.raises(assay.LabelConflictError, match="now 'yes' with another comment"):
        campaign.tell({item: True}, comments={item: "no, sincere"}, reviewer="ann")
    with pytest.raises(assay.LabelConflictError):
        campaign.tell({item: True}, comments={item: ""}, reviewer="ann")
    assert len(campaign.events()) == 2
    campaign.tell({item: True}, comments={item: ""}, reviewer="ann", revise=True)
    campaign.tell({item: False}, reviewer="ann", revise=True)
    assert written(campaign)[2:] == [(text, "yes", ""), (text, "no", "")]


def test_several_reviewers_likewise() -> None:
    campaign = team()
    item = str(campaign.ask(1, reviewer="nobody")[0].id)
    first = campaign.desk.record(
        [Label(item, "yes", "ann"), Label(item, "no", "bob", comment="dull")]
    )
    assert (first.new, first.revised) == (2, 0)
    more = campaign.desk.record(
        [Label(item, "yes", "ann", comment="lively"), Label(item, "no", "bob")]
    )
    assert (more.new, more.revised, more.unchanged) == (0, 1, 1)
    with pytest.raises(assay.LabelConflictError, match="'no' with another comment"):
        campaign.desk.record([Label(item, "no", "bob", comment="not so dull")])
    again = campaign.desk.record([Label(item, "no", "bob", comment="not so dull")], revise=True)
    assert again.revised == 1
    (dispute,) = campaign.disputes()
    assert {who: label.comment for who, label in dispute.labels.items()} == {
        "ann": "lively",
        "bob": "not so dull",
    }
    assert dispute.answers == {"ann": Answer.YES, "bob": Answer.NO}


def test_a_page_sends_a_comment_with_its_answer_and_takes_both_back() -> None:
    campaign = campaign_of()
    item = str(campaign.review([], reviewer="ann", want=1).items[0].id)
    said = Label(item, "yes", key="1", comment=" a parody ")
    assert campaign.review([said], reviewer="ann").receipts[0].status == "saved"
    assert campaign.review([said], reviewer="ann").receipts[0].status == "again"
    other = Label(item, "yes", key="1", comment="another")
    assert campaign.review([other], reviewer="ann").receipts[0].status == "conflict"
    assert campaign.to_frame(backend="polars")["comment"].to_list() == ["a parody"]
    campaign.review([Label(item, "withdrawn", key="2")], reviewer="ann")
    campaign.review([Label(item, "yes", key="3")], reviewer="ann")
    assert campaign.to_frame(backend="polars")["comment"].to_list() == [""]
    assert [event.comment for event in campaign.events()] == ["a parody", "", ""]


def test_reviewers_never_see_each_others_comments() -> None:
    campaign = team()
    for item in campaign.review([], reviewer="ann", want=6).items:
        sent = Label(str(item.id), "yes", key=f"a {item.id}", comment="SECRET")
        assert "SECRET" not in repr(campaign.review([sent], reviewer="ann", want=6))
    turn = campaign.review([], reviewer="bob", want=6)
    assert len(turn.items) == 6
    assert "SECRET" not in repr(turn)
    assert "SECRET" not in repr(campaign.ask(6, reviewer="bob"))
    assert "SECRET" in repr(campaign.events())  # so the comparison sees one that is shown


def test_whoever_rules_may_write_and_the_frame_has_what_counts() -> None:
    campaign = team()
    for who, answer in (("ann", "yes"), ("bob", "no")):
        item = campaign.review([], reviewer=who, want=1).items[0].id
        label = Label(str(item), answer, key=who, comment=f"{who} thinks so")
        campaign.review([label], reviewer=who)
    campaign.rule(item, "yes", reviewer="eve", key="r", comment="page 3 of the guidelines")
    frame = campaign.to_frame(backend="polars")
    assert frame.select("id", "answer", "comment").rows() == [
        (item, "yes", "page 3 of the guidelines")
    ]
    campaign.rule(item, "withdrawn", reviewer="eve", key="w")
    campaign.desk.record([Label(str(item), "yes", "bob", comment="right")], revise=True)
    frame = campaign.to_frame(backend="polars")
    assert frame["comment"].to_list() == ["ann thinks so\nright"]


def test_comments_that_cannot_be_kept_are_refused_and_nothing_is_recorded() -> None:
    campaign = campaign_of()
    item, other = (each.id for each in campaign.ask(2))
    most = "x" * LONGEST_COMMENT
    with pytest.raises(assay.LabelError, match="2,001 characters") as caught:
        campaign.tell({item: True}, comments={item: most + "x"})
    assert "at most 2,000" in caught.value.details
    with pytest.raises(assay.LabelError, match="a database cannot store"):
        campaign.tell({item: True}, comments={item: "nul \0"})
    no_text: Any = 5
    with pytest.raises(assay.LabelError, match="is not text"):
        campaign.tell({item: True}, comments={item: no_text})
    with pytest.raises(assay.LabelError, match="and no answer"):
        campaign.tell({item: True}, comments={other: "lost"})
    with pytest.raises(assay.LabelError, match="2,001 characters"):
        campaign.desk.record([Label(str(item), "yes", "ann", comment=most + "x")])
    with pytest.raises(assay.LabelError, match="2,001 characters"):
        campaign.review([Label(str(item), "yes", key="1", comment=most + "x")], reviewer="ann")
    assert campaign.events() == []
    campaign.tell({item: True}, comments={item: most})
    assert campaign.events()[0].comment == most


def test_comments_go_with_their_labels_to_a_rebased_campaign(storage: str) -> None:
    campaign = campaign_of(storage=storage)
    batch = campaign.ask(3)
    said = dict.fromkeys((item.id for item in batch), True)
    campaign.tell(said, comments={batch[0].id: "kept"}, reviewer="ann")
    scores = {"id": list(range(7)), "p": [0.5 + i / 14 for i in range(7)]}
    after = assay.rebase_campaign(storage=storage, predictions=scores)
    assert written(after) == written(campaign)
    assert assay.verify_campaign(storage=storage).clean
    with after.desk.store.write() as session:
        session._connection.exec_driver_sql("UPDATE label_event SET comment = '' WHERE id > 3")
    wrong = assay.verify_campaign(storage=storage).findings
    assert "from before has changed" in " ".join(wrong)
