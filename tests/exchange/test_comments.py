"""Comments in files: out and back exactly, harmless in a spreadsheet, never taken for others."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.exchange import import_labels, labels_sheet, write_batch, write_labels
from assay.errors import LabelConflictError, LabelError
from tests.exchange.campaigns import AWKWARD, campaign_of

# Blanks around a comment are not kept.
COMMENTS = dict(zip(AWKWARD, (text.strip() for text in AWKWARD[::-1]), strict=True))


def comments_in(campaign: Campaign) -> dict[str, str]:
    return {event.item_id: event.comment for event in campaign.events()}


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_labels_go_out_and_come_back_with_their_comments(format: str) -> None:
    source, copy = campaign_of(AWKWARD), campaign_of(AWKWARD)
    source.tell(dict.fromkeys(AWKWARD, True), comments=COMMENTS, reviewer="ann")
    content = write_labels(source, format=format).content
    assert import_labels(copy, content).new == len(AWKWARD)
    assert comments_in(copy) == COMMENTS
    assert import_labels(copy, content).unchanged == len(AWKWARD)
    assert "comment" in labels_sheet(copy).columns


def test_parquet_has_comments_too(tmp_path: Path) -> None:
    file = tmp_path / "labels.parquet"
    table = {"id": ["a", "b"], "label": ["yes", "no"], "comment": ["first", None]}
    pq.write_table(pa.table(table), file)
    campaign = campaign_of(["a", "b"])
    import_labels(campaign, file)
    assert comments_in(campaign) == {"a": "first", "b": ""}


def test_label_studio_has_a_field_for_it() -> None:
    campaign = campaign_of(["a", "b", "c"], {"text": ["x", "y", "z"]})
    written = write_batch(campaign, 3, format="label-studio")
    assert written.config is not None
    assert '<TextArea name="comment" toName="item"' in written.config.decode()
    tasks = json.loads(written.content)

    def result(*texts: str) -> list[dict[str, Any]]:
        control = {"to_name": "item", "id": "Dx_aB91ISN", "origin": "manual"}
        choice = {"type": "choices", "from_name": "answer", "value": {"choices": ["no"]}}
        area = {"type": "textarea", "from_name": "comment", "value": {"text": list(texts)}}
        return [{**control, **part} for part in ([choice, area] if texts else [choice])]

    said = {"a": ("=1+1",), "b": ("two", "lines"), "c": ()}
    for task in tasks:
        texts = said[task["data"]["assay_id"]]
        task["annotations"] = [{"completed_by": 5, "result": result(*texts)}]
    import_labels(campaign, json.dumps(tasks).encode())
    assert comments_in(campaign) == {"a": "=1+1", "b": "two\nlines", "c": ""}
    tasks[0]["annotations"][0]["result"][-1] |= {"type": "textarea", "from_name": "comment"}
    tasks[0]["annotations"][0]["result"][-1]["value"] = {"text": [5]}
    with pytest.raises(LabelError, match="cannot be imported") as caught:
        import_labels(campaign, json.dumps(tasks).encode())
    assert "its comment is not a list of texts" in caught.value.details


def test_doccano_has_a_list_of_them() -> None:
    campaign = campaign_of(["a", "b"])
    line = {"id": 1, "text": "x", "label": ["yes"], "assay_id": "a", "Comments": ["one", "two"]}
    bare = {"id": 2, "text": "y", "label": ["no"], "assay_id": "b"}
    content = "\n".join(json.dumps(each) for each in (line, bare)).encode()
    import_labels(campaign, content, reviewer="ann")
    assert comments_in(campaign) == {"a": "one\ntwo", "b": ""}
    wrong = json.dumps({**line, "Comments": [{"text": "one"}]}).encode()
    with pytest.raises(LabelError) as caught:
        import_labels(campaign, wrong, reviewer="ann")
    assert "its Comments are not a list of texts" in caught.value.details


@pytest.mark.parametrize("nested", [True, False])
def test_argilla_has_a_question_for_it(nested: bool) -> None:
    campaign = campaign_of(["a"], per_item=2)
    users = ["u1", "u2"]
    given: dict[str, list[str]] = {"answer": ["yes", "no"], "comment": ["lively", "dull"]}
    record: dict[str, Any] = {"id": "a", "status": "completed"}
    if nested:
        record["fields"] = {"item": "a"}
        record["responses"] = {
            question: [
                {"value": value, "user_id": user, "status": "submitted"}
                for value, user in zip(values, users, strict=True)
            ]
            for question, values in given.items()
        }
        record["responses"]["comment"].reverse()
    else:
        for question, values in given.items():
            record[f"{question}.responses"] = values
            record[f"{question}.responses.users"] = users
            record[f"{question}.responses.status"] = ["submitted"] * 2
    import_labels(campaign, json.dumps([record]).encode())
    assert [(each.reviewer, each.answer, each.comment) for each in campaign.events()] == [
        ("argilla:u1", "yes", "lively"),
        ("argilla:u2", "no", "dull"),
    ]


def test_what_items_show_is_not_taken_for_what_reviewers_wrote() -> None:
    """Items may well be comments: such a column in a table is theirs, as it was before."""
    texts = ["you are great", "x" * 5_000]
    campaign = campaign_of(["a", "b"], {"comment": texts})
    header = write_batch(campaign, 2).content.decode().partition("\r\n")[0]
    assert header == "id,shown comment,label"
    table = f"id,comment,label,mine\na,{texts[0]},yes,agreed\nb,{texts[1]},no,\n".encode()
    assert import_labels(campaign, table).new == 2
    assert comments_in(campaign) == {"a": "", "b": ""}
    again = import_labels(campaign, table, comment_column="mine")
    assert (again.revised, again.unchanged) == (1, 1)
    assert campaign.events()[-1].comment == "agreed"
    line = b'{"id": "b", "label": "no", "shown": {"comment": "x"}, "comment": "dull"}'
    import_labels(campaign, line)
    assert campaign.events()[-1].comment == "dull"


def test_rows_whose_comments_cannot_be_taken_are_named() -> None:
    campaign = campaign_of(["a", "b", "c"])
    long = "x" * 2_001
    table = f"id,label,comment\na,yes,{long}\nb,no,one\nb,no,other\nc,no,\n".encode()
    with pytest.raises(LabelError, match=r"2 rows .* cannot be imported") as caught:
        import_labels(campaign, table)
    assert "line 2: a comment has 2,001 characters" in caught.value.details
    assert "line 4: 'b' has another comment here than in line 3" in caught.value.details
    with pytest.raises(LabelError) as caught:
        import_labels(campaign, b'{"id": "a", "label": "yes", "comment": 5}')
    assert "comment 5 is not text" in caught.value.details
    assert campaign.events() == []
    import_labels(campaign, b"id,label,comment\na,yes,one\n")
    with pytest.raises(LabelConflictError) as conflict:
        import_labels(campaign, b"id,label,comment\na,yes,other\n")
    told = "line 2: 'a' is 'yes' with another comment here and was 'yes' before"
    assert told in conflict.value.details
    assert import_labels(campaign, b"id,label,comment\na,yes,other\n", revise=True).revised == 1
