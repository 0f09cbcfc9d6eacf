"""Argilla's records, as its own package wrote them, and what it does not tell."""

import json
from pathlib import Path

import pytest

from assay.campaign.exchange import Imported, import_labels, write_batch
from assay.core.answers import Answer
from assay.errors import InputError, LabelError
from tests.exchange.campaigns import campaign_of

DATA = Path(__file__).parent / "data"
# By argilla 2.8 from a batch of ours: Record.from_dict, Response with every status, and then
# GenericIO.to_list(records, flatten=True), or JsonIO.to_json(records).
FLAT = DATA / "argilla_2.8_flat.json"
NESTED = DATA / "argilla_2.8_to_json.json"
IDS = ["007", "NA", "two\nlines", "naïve 😀", "=1+1", "unseen"]
ANN, BOB = (f"argilla:00000000-0000-0000-0000-00000000000{end}" for end in "ab")


def test_real_responses_are_read() -> None:
    campaign = campaign_of(IDS, per_item=2)
    once = import_labels(campaign, FLAT)
    # A draft and a record without responses say nothing yet.
    assert once == Imported(4, 0, 0, without_label=2, skipped=1, format="argilla")
    assert {item: review.answers for item, review in campaign.desk.reviews().items()} == {
        "007": {ANN: Answer.YES, BOB: Answer.NO},
        "NA": {ANN: Answer.NO},
        "=1+1": {BOB: Answer.CANNOT_JUDGE},
    }
    assert import_labels(campaign, FLAT).unchanged == 4


def test_responses_of_no_known_status_are_not_taken_for_answers() -> None:
    """`to_json` tells no status: there, the draft and the discarded one look like answers."""
    records = json.loads(NESTED.read_text())
    assert sum(len(record["responses"].get("answer", [])) for record in records) == 6
    campaign = campaign_of(IDS)
    with pytest.raises(LabelError, match=r"6 rows .* cannot be imported") as caught:
        import_labels(campaign, NESTED)
    assert "to_list(flatten=True)" in caught.value.details
    assert campaign.events() == []


def test_the_only_response_of_a_completed_record_was_submitted() -> None:
    records = [
        {**record, "status": "completed"}
        for record in json.loads(NESTED.read_text())
        if record["id"] == "NA"
    ]
    campaign = campaign_of(IDS)
    assert import_labels(campaign, json.dumps(records).encode()).new == 1
    assert campaign.answers() == {"NA": Answer.NO}
    two = [{**records[0], "responses": {"answer": records[0]["responses"]["answer"] * 2}}]
    with pytest.raises(LabelError, match="does not say whether a response was submitted"):
        import_labels(campaign, json.dumps(two).encode())


def test_a_question_of_another_name_is_ours_if_it_is_the_only_one() -> None:
    given = [{"value": "yes", "user_id": "u", "status": "submitted"}]
    for responses, taken in (
        ({"verdict": given}, True),
        ({"answer": given, "verdict": [{**given[0], "value": "no"}]}, True),
        ({"verdict": given, "mood": given}, False),
    ):
        campaign = campaign_of(["a"])
        content = json.dumps([{"id": "a", "fields": {}, "responses": responses}]).encode()
        if taken:
            import_labels(campaign, content)
            assert campaign.answers() == {"a": Answer.YES}
        else:
            with pytest.raises(LabelError, match="record 1: none of its questions is 'answer'"):
                import_labels(campaign, content)


def test_an_empty_id_cannot_go_there() -> None:
    with pytest.raises(InputError, match="empty id"):
        write_batch(campaign_of(["", "a"]), 2, format="argilla")
