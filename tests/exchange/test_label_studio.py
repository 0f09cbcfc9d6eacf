"""Label Studio's exports: those that a real server made, and what older ones and people make."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.exchange import Imported, import_labels, write_batch
from assay.core.answers import Answer, answers_to
from assay.core.deck import Id
from assay.errors import InputError, LabelError
from tests.exchange.campaigns import AWKWARD, campaign_of

DATA = Path(__file__).parent / "data"
# By test_label_studio_real.py from Label Studio 1.23, with most tasks left out.
EXPORT = DATA / "label_studio_1.23_export.json"
SNAPSHOT = DATA / "label_studio_1.23_snapshot.json"
MINIMAL = DATA / "label_studio_1.23_minimal.json"


def test_a_real_export_is_read() -> None:
    campaign = campaign_of(AWKWARD, per_item=2)
    once = import_labels(campaign, EXPORT)
    assert once == Imported(6, 0, 0, without_label=1, skipped=1, format="label-studio")
    one, two = "label-studio:1", "label-studio:2"
    assert {item: review.answers for item, review in campaign.desk.reviews().items()} == {
        "null": {one: Answer.NO, two: Answer.CANNOT_JUDGE},
        "None": {one: Answer.NO, two: Answer.NO},
        "two\r\nlines": {one: Answer.NO},
        "naïve 😀 漢字": {one: Answer.NO},
    }
    assert import_labels(campaign, EXPORT).unchanged == 6


def test_people_are_the_same_in_both_kinds_of_export() -> None:
    """Some tell users' numbers alone, others their addresses, too: nobody must count twice."""
    campaign = campaign_of(AWKWARD, per_item=2)
    import_labels(campaign, EXPORT)
    assert import_labels(campaign, SNAPSHOT) == Imported(
        0, 0, 6, without_label=1, skipped=1, format="label-studio"
    )


def test_an_export_without_the_skipped_is_refused() -> None:
    campaign = campaign_of(AWKWARD)
    with pytest.raises(InputError, match="JSON-MIN export, which leaves out what was skipped"):
        import_labels(campaign, MINIMAL)
    assert campaign.events() == []


def annotated(*annotations: dict[str, Any], id: object = "a", key: str = "annotations") -> bytes:
    return json.dumps([{"id": 1, "data": {"assay_id": id}, key: list(annotations)}]).encode()


def annotation(choice: str | None, **more: object) -> dict[str, Any]:
    chosen = {"from_name": "answer", "type": "choices", "value": {"choices": [choice]}}
    return {"result": [] if choice is None else [chosen], **more}


def told(content: bytes) -> dict[Id, Answer]:
    campaign = campaign_of(["a"])
    import_labels(campaign, content)
    return campaign.answers()


def test_the_latest_annotation_of_a_user_counts() -> None:
    old = annotation("yes", completed_by=1, updated_at="2026-01-02T00:00:00.5Z")
    new = annotation("no", completed_by=1, updated_at="2026-01-02T01:00:00+00:00")
    for order in ([old, new], [new, old]):
        assert told(annotated(*order)) == {"a": Answer.NO}
    skipped = annotation(
        "no", completed_by=1, updated_at="2026-01-03T00:00:00Z", was_cancelled=True
    )
    assert told(annotated(skipped, new, old)) == {}
    # Without times, the later in the list is the later.
    assert told(annotated(annotation("no"), annotation("yes"))) == {"a": Answer.YES}


def test_two_users_are_two() -> None:
    campaign = campaign_of(["a"], per_item=2)
    import_labels(
        campaign,
        annotated(
            annotation("yes", completed_by={"id": 7, "email": "ann@example.org"}),
            annotation("yes", completed_by={"email": "bob@example.org"}),
        ),
    )
    who = [event.reviewer for event in campaign.events()]
    assert who == ["label-studio:7", "label-studio:bob@example.org"]


def test_completions_of_the_first_versions_are_read() -> None:
    done = annotation("broken", created_at=1600000000, id=1001, lead_time=2.5)
    assert told(annotated(done, key="completions")) == {"a": Answer.BROKEN}
    skipped = annotation(None, skipped=True)
    campaign = campaign_of(["a"])
    assert import_labels(campaign, annotated(skipped, key="completions")).skipped == 1


def test_predictions_and_drafts_are_no_answers() -> None:
    task = {"id": 1, "data": {"assay_id": "a"}, "annotations": []}
    task |= {"predictions": [annotation("yes")], "drafts": [annotation("yes")]}
    campaign = campaign_of(["a"])
    imported = import_labels(campaign, json.dumps([task]).encode())
    assert imported == Imported(0, 0, 0, without_label=1, format="label-studio")


def test_times_at_the_ends_of_the_calendar_can_be_compared() -> None:
    ends = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", None]
    times = [annotation("yes", updated_at=time) for time in ends]
    assert told(annotated(*times)) == {"a": Answer.YES}


def test_label_studios_own_numbers_are_not_taken_for_ids() -> None:
    """The wrong variant: a reader that takes the task's id answers another item."""
    campaign = campaign_of(["1", "a"])
    import_labels(campaign, annotated(annotation("yes")))
    assert campaign.answers() == {"a": Answer.YES}
    with pytest.raises(LabelError):
        import_labels(campaign_of(["1"]), annotated(annotation("yes")))


def configuration(campaign: Campaign) -> ElementTree.Element:
    config = write_batch(campaign, 9, format="label-studio").config
    assert config is not None
    return ElementTree.fromstring(config)


def test_the_configuration_asks_one_question_with_our_answers() -> None:
    columns = {name: ["x"] for name in ('q"uo<te&', "$assay_id", "spaced out", "predictions")}
    campaign = campaign_of(["a"], columns)
    view = configuration(campaign)
    (choices,) = view.iter("Choices")
    assert choices.get("choice") == "single"
    assert choices.get("toName") in {text.get("name") for text in view.iter("Text")}
    assert [each.get("value") for each in choices] == list(answers_to())
    (task,) = json.loads(write_batch(campaign, 9, format="label-studio").content)
    assert task.keys() == {"data"}
    # Every variable is there; column names are data, where a $ is only a $.
    used = [each.get("value", "") for each in view if each.tag in ("Header", "Text")]
    assert {name[1:] for name in used if name.startswith("$")} == task["data"].keys()
    assert [name for name in used if not name.startswith("$")] == ["id"]
    assert {task["data"][f"name_{number}"] for number in range(1, 5)} == set(columns)
