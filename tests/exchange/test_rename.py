"""People who have another name in another tool are themselves when their labels come back."""

import json
from typing import Any

import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.create import create_campaign
from assay.campaign.exchange import import_labels, read_labels, write_batch
from assay.errors import LabelError
from tests.exchange.campaigns import campaign_of

IDS = ["a", "b", "c", "d"]


def overlapping() -> Campaign:
    """Return a campaign that wants two reviewers for every item, and has asked nobody yet."""
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "storage": "sqlite://"}
    team = {"budget": len(IDS), "reviewers_per_item": 2, "overlap": 1.0}
    return create_campaign({"id": IDS, "p": [0.9] * len(IDS)}, **{**columns, **team})


def judged_in_label_studio(campaign: Campaign, who: str, user: int) -> bytes:
    """Return what comes back of a batch of two that was written for somebody."""
    written = write_batch(campaign, 2, format="label-studio", reviewer=who, lease=3600)
    chosen = {"from_name": "answer", "type": "choices", "value": {"choices": ["yes"]}}
    done = [{"result": [chosen], "completed_by": user}]
    return json.dumps(
        [{**task, "annotations": done} for task in json.loads(written.content)]
    ).encode()


def asked(campaign: Campaign, who: str) -> set[object]:
    return {item.id for item in campaign.ask(9, reviewer=who)}


def test_nobody_is_asked_again_what_they_judged_in_another_tool() -> None:
    campaign = overlapping()
    back = judged_in_label_studio(campaign, "ann", 5)
    mine = {row.item_id for row in read_labels(back, campaign=campaign).rows}
    import_labels(campaign, back, rename={"label-studio:5": "ann"})
    assert {event.reviewer for event in campaign.events()} == {"ann"}
    assert asked(campaign, "ann") == set(IDS) - mine
    assert asked(campaign, "bob") >= mine


ROWS = "id,label,reviewer\na,yes,x:1\nb,no,x:2\nc,no,\n"


def test_others_keep_their_names() -> None:
    campaign = campaign_of(IDS)
    import_labels(campaign, ROWS.encode(), reviewer="eve", rename={" x:1": " zoe\u0308 "})
    assert [event.reviewer for event in campaign.events()] == ["zoë", "x:2", "eve"]


def test_two_names_of_one_person_must_agree() -> None:
    campaign = campaign_of(IDS)
    both = {"x:1": "ann", "x:2": "ann"}
    same = f"{ROWS}a,yes,x:2\n".encode()
    assert import_labels(campaign, same, rename=both).new == 3
    with pytest.raises(LabelError, match="line 5: 'a' is 'no' here and 'yes' in line 2"):
        import_labels(campaign, f"{ROWS}a,no,x:2\n".encode(), rename=both)


def test_a_name_that_is_not_in_the_file_is_told_with_those_that_are() -> None:
    campaign = campaign_of(IDS)
    with pytest.raises(LabelError, match=r"the name 'x:3' to rename") as caught:
        import_labels(campaign, ROWS.encode(), reviewer="eve", rename={"x:1": "ann", "x:3": "bob"})
    assert caught.value.details == "names in it: 'x:1', 'x:2'"
    assert "did you mean" in caught.value.hint
    many = "id,label,reviewer\n" + "".join(f"a,yes,x:{number:03d}\n" for number in range(50))
    for content, told in ((many, "'x:019', ..."), ("id,label\na,yes\n", "names in it: none")):
        with pytest.raises(LabelError) as caught:
            import_labels(campaign, content.encode(), rename={"y": "ann"})
        assert caught.value.details.endswith(told)
    assert campaign.events() == []
