"""What several reviewers said goes out, and means the same where it comes in."""

import json
import random
import time

import pytest

from assay.campaign import create_campaign, load_campaign
from assay.campaign.campaign import Campaign
from assay.campaign.exchange import Imported, import_labels, labels_sheet, write_batch, write_labels
from assay.campaign.extend import rebase_campaign
from assay.core.answers import Answer, answers_to
from assay.core.deck import Id
from assay.errors import InputError, LabelConflictError, LabelError
from assay.labelling import reviewers_in, waiting_in
from assay.storage import Label
from tests.exchange.campaigns import campaign_of

IDS = [f"{number:03d}" for number in range(40)]


def team_campaign() -> Campaign:
    """Return a campaign that wants two reviewers for about half of its items."""
    rng = random.Random(3)
    table = {"id": IDS, "p": [round(rng.random(), 3) for _ in IDS]}
    campaign = create_campaign(
        table,
        id="id",
        score="p",
        threshold=0.3,
        budget=len(IDS),
        storage="sqlite://",
        reviewers_per_item=2,
        overlap=0.5,
        seed=11,
    )
    given(campaign, "nobody")
    return campaign


def work(campaign: Campaign) -> None:
    """Answer, change one's mind, take back, skip, and rule: at random, by four people."""
    rng = random.Random(5)
    team = ["ann", "bob", "eve", "zoë"]
    for who in team:
        asked = given(campaign, who)
    for number in range(6 * len(asked)):
        item, who = rng.choice(asked), rng.choice(team)
        words = [*answers_to(), "skip", "withdrawn", "yes", "no"]
        turn = campaign.review(
            [Label(str(item), rng.choice(words), key=f"k{number}")], reviewer=who
        )
        assert turn.receipts[0].status == "saved"
        if number % 20 == 0:
            campaign.rule(
                rng.choice(asked), rng.choice(["yes", "no"]), reviewer=who, key=f"r{number}"
            )


def given(campaign: Campaign, who: str) -> list[Id]:
    """Return what somebody was given, for too short a time to keep it from others."""
    asked = [item.id for item in campaign.ask(len(IDS), reviewer=who, lease=0.001)]
    time.sleep(0.01)  # the storage's clock counts milliseconds
    return asked


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_labels_in_a_fresh_copy_give_the_same_estimate(format: str) -> None:
    source, copy = team_campaign(), team_campaign()
    work(source)
    content = write_labels(source, format=format).content
    assert import_labels(copy, content).new == len(labels_sheet(source).rows)
    assert copy.desk.reviews().keys() >= source.answers().keys()
    assert said(copy) == said(source)
    assert copy.estimate() == source.estimate()
    assert [row.name for row in reviewers_in(copy.desk.current())] == ["ann", "bob", "eve", "zoë"]
    assert strip(labels_sheet(copy).rows) == strip(labels_sheet(source).rows)
    assert import_labels(copy, content).unchanged == len(labels_sheet(source).rows)


def test_the_order_and_the_rulings_of_an_export_matter() -> None:
    """The wrong variants: rows by when they were last changed, and rulings taken for answers."""
    source = campaign_of(["a", "b"])
    assert given(source, "ann") == given(source, "bob")
    source.tell({"a": "yes", "b": "yes"}, reviewer="ann")
    source.review([Label("a", "no", key="1")], reviewer="bob")
    source.review([Label("a", "broken", key="2")], reviewer="ann")
    source.rule("b", "no", reviewer="eve", key="3")
    records = labels_sheet(source).records()
    assert source.answers() == {"a": Answer.BROKEN, "b": Answer.NO}
    assert answers_of(records) == source.answers()
    by_last_change = sorted(records, key=lambda row: (row["id"], row["reviewer"] == "ann"))
    assert answers_of(by_last_change) == {"a": Answer.NO, "b": Answer.NO}
    unruled = [{**record, "ruling": False} for record in records]
    assert answers_of(unruled) == {"a": Answer.BROKEN, "b": Answer.YES}


def answers_of(records: list[dict[str, object]]) -> dict[Id, Answer]:
    """Return what a fresh copy takes the rows for."""
    copy = campaign_of(["a", "b"])
    import_labels(copy, "\n".join(json.dumps(record) for record in records).encode())
    return copy.answers()


def said(campaign: Campaign) -> dict[object, object]:
    """Return what counts in the end: without who skipped, which no export has."""
    return {
        item: (list(review.answers.items()), review.ruling)
        for item, review in campaign.desk.reviews().items()
        if review.answers or review.ruling
    }


def strip(rows: tuple[tuple[object, ...], ...]) -> list[tuple[object, ...]]:
    """Return rows without the time, and without what came late."""
    return [(*row[:3], *row[5:]) for row in rows]


def test_what_counts_is_told_from_what_does_not() -> None:
    campaign = campaign_of(["a", "b", "c"])
    assert len(given(campaign, "bob")) == 3
    campaign.tell({"a": "yes"}, reviewer="ann")
    campaign.review([Label("a", "no", key="1"), Label("b", "no", key="2")], reviewer="bob")
    campaign.rule("b", "yes", reviewer="eve", key="3")
    campaign.review([Label("c", "yes", key="4"), Label("c", "withdrawn", key="5")], reviewer="bob")
    sheet = labels_sheet(campaign)
    first = ("id", "label", "reviewer", "told_at", "late", "ruling", "counts")
    assert sheet.columns == (*first, "comment", "predicted", "score", "weight")
    assert [(*row[:3], *row[5:7]) for row in sheet.rows] == [
        ("a", "yes", "ann", False, True),
        ("a", "no", "bob", False, False),
        ("b", "no", "bob", False, False),
        ("b", "yes", "eve", True, True),
    ]


def test_rows_of_one_item_by_several_people_are_fine() -> None:
    campaign = campaign_of(["a", "b"], per_item=2)
    rows = "id,label,reviewer\na,yes,ann\na,no,bob\nb,no,ann\nb,no,bob\nb,yes,eve\n"
    assert import_labels(campaign, rows.encode()) == Imported(5, 0, 0, 0, spare=1)
    assert campaign.answers() == {"b": Answer.NO}
    assert [each.item.id for each in campaign.disputes()] == ["a"]
    changed = rows.replace("a,no,bob", "a,yes,bob").encode()
    with pytest.raises(LabelConflictError, match="line 3: 'a' is 'yes' here and was 'no'"):
        import_labels(campaign, changed)
    assert import_labels(campaign, changed, revise=True) == Imported(0, 1, 4, 0)
    assert campaign.answers() == {"a": Answer.YES, "b": Answer.NO}


def test_names_in_the_file_go_before_the_name_that_is_given() -> None:
    campaign = campaign_of(["a", "b"])
    import_labels(campaign, b"id,label,who\na,yes,ann\nb,no,\n", reviewer="eve")
    assert {event.reviewer for event in campaign.events()} == {"eve"}
    campaign = campaign_of(["a", "b"])
    rows = b"id,label,who\na,yes,ann\nb,no,\n"
    import_labels(campaign, rows, reviewer="eve", reviewer_column="who")
    assert [event.reviewer for event in campaign.events()] == ["ann", "eve"]
    with pytest.raises(InputError, match="has no column 'whom'"):
        import_labels(campaign, rows, reviewer_column="whom")


RULED = "id,label,reviewer,ruling\na,yes,ann,\n"


@pytest.mark.parametrize("flag", ["true", " TRUE", True])
def test_a_ruling_is_one_in_every_table(flag: object) -> None:
    for ruling, answer in ((flag, Answer.NO), (False, Answer.YES), (None, Answer.YES)):
        said = {"id": "a", "label": "no", "reviewer": "eve", "ruling": ruling}
        cell = "" if ruling is None else ruling
        for content in (f"{RULED}a,no,eve,{cell}\n", json.dumps(said)):
            campaign = campaign_of(["a"])
            campaign.tell({"a": "yes"}, reviewer="ann")
            import_labels(campaign, content.encode())
            assert campaign.answers() == {"a": answer}


def test_two_rulings_of_an_item_are_one_or_a_contradiction() -> None:
    """By reviewer, they would be told as a conflict with labels told before, of which none is."""
    campaign = campaign_of(["a"])
    rows = f"{RULED}a,no,eve,true\na,yes,zoë,true\n"
    for revise in (False, True):
        with pytest.raises(LabelError, match="line 4: 'a' is 'yes' here and 'no' in line 3"):
            import_labels(campaign, rows.encode(), revise=revise)
    assert campaign.events() == []
    assert import_labels(campaign, rows.replace("a,yes,z", "a,no,z").encode()).new == 2


def test_one_name_in_two_spellings_is_one_person() -> None:
    campaign = campaign_of(["a", "b"], per_item=2)
    rows = "id,label,reviewer\na,yes,zoë\na,yes, zoe\u0308 \nb,yes,zoë\n"
    assert import_labels(campaign, rows.encode()).new == 2
    with pytest.raises(LabelConflictError, match="line 2: 'b' is 'no' here and was 'yes'"):
        import_labels(campaign, "id,label,reviewer\nb,no,zoe\u0308\n".encode())
    with pytest.raises(LabelError, match="line 3: 'a' is 'no' here and 'yes' in line 2"):
        import_labels(campaign, rows.replace("a,yes, z", "a,no, z").encode())


def test_a_batch_is_kept_for_whom_it_is_written() -> None:
    campaign = campaign_of([str(number) for number in range(6)])
    free = write_batch(campaign, 3, format="jsonl").content
    assert write_batch(campaign, 3, format="jsonl").content == free
    mine = ids_of(write_batch(campaign, 3, format="jsonl", reviewer="ann", lease=3600).content)
    yours = ids_of(write_batch(campaign, 6, format="jsonl", reviewer="bob", lease=3600).content)
    assert len(mine) == len(yours) == 3
    assert mine.isdisjoint(yours)
    again = ids_of(write_batch(campaign, 3, format="jsonl", reviewer="ann", lease=3600).content)
    assert again == mine


def ids_of(content: bytes) -> set[str]:
    return {json.loads(line)["id"] for line in content.splitlines()}


def test_a_batch_for_several_reviewers_needs_a_name() -> None:
    with pytest.raises(InputError, match="no reviewer is named for the batch"):
        write_batch(campaign_of(["a"], per_item=2), 1)


def test_answers_that_wait_after_a_rebase_are_no_labels_yet(storage: str) -> None:
    old = {"url": ["a", "b", "c"], "p": [0.9, 0.8, 0.7]}
    create_campaign(old, id="url", score="p", threshold=0.5, budget=3, storage=storage)
    campaign = load_campaign(storage=storage)
    campaign.tell({item.id: True for item in campaign.ask(3)}, reviewer="ann")
    new = {"url": ["a", "b", "c", "d"], "p": [0.9, 0.1, 0.7, 0.8]}
    campaign = rebase_campaign(storage=storage, predictions=new)
    waiting = set(waiting_in(campaign.desk.current()))
    assert waiting  # 'b' at least: the metric needs no label of it any more
    assert {row[0] for row in labels_sheet(campaign).rows} == {"a", "b", "c"} - waiting
    assert {event.item_id for event in campaign.events()} == {"a", "b", "c"}
