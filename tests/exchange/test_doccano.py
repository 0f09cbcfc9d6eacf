"""doccano's exports, by its documented forms and its source."""

import io
import json
import zipfile

import pytest

from assay.answers import Answer
from assay.errors import InputError
from assay.exchange import Imported, LimitError, import_labels, write_batch
from assay.exchange import doccano as module
from tests.exchange.campaigns import campaign_of


def line(item: str, *labels: str, **more: object) -> str:
    return json.dumps({"id": 31, "text": "x", "label": list(labels), "assay_id": item, **more})


def zipped(**files: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.jsonl", content)
    return held.getvalue()


def test_a_zip_of_users_names_its_reviewers() -> None:
    campaign = campaign_of(["a", "b"], per_item=2)
    content = zipped(ann=f"{line('a', 'yes')}\n{line('b')}\n", bob=line("a", "no"))
    imported = import_labels(campaign, content)
    assert imported == Imported(2, 0, 0, without_label=1, format="doccano")
    assert campaign.reviews()["a"].answers == {
        "doccano:ann": Answer.YES,
        "doccano:bob": Answer.NO,
    }


def test_labels_that_users_share_are_nobodys() -> None:
    campaign = campaign_of(["a"])
    import_labels(campaign, zipped(all=line("a", "yes")), reviewer="the team")
    assert [event.reviewer for event in campaign.events()] == ["the team"]
    campaign = campaign_of(["a"], per_item=2)
    import_labels(campaign, zipped(all=line("a", "yes"), bob=line("a", "yes")))
    assert [event.reviewer for event in campaign.events()] == ["doccano:all", "doccano:bob"]


def test_ids_in_metadata_are_found() -> None:
    campaign = campaign_of(["a", "b"])
    lines = [
        json.dumps({"id": 1, "text": "x", "label": ["no"], key: {"assay_id": item}})
        for item, key in (("a", "meta"), ("b", "metadata"))
    ]
    import_labels(campaign, "\n".join(lines).encode())
    assert campaign.answers() == {"a": Answer.NO, "b": Answer.NO}


def test_all_that_is_shown_is_one_text_that_is_never_empty() -> None:
    columns = {"title": ["", "t"], "body": ["b", ""]}
    content = write_batch(campaign_of(["a", "c"], columns), 9, format="doccano").content
    texts = {
        json.loads(each)["assay_id"]: json.loads(each)["text"] for each in content.splitlines()
    }
    assert texts == {"a": "title:\n\n\nbody:\nb", "c": "title:\nt\n\nbody:\n"}
    for shown in ({}, {"only": ["", None]}):
        written = write_batch(campaign_of(["", "c"], shown), 9, format="doccano").content
        assert all(json.loads(each)["text"] for each in written.splitlines())


BAD = {
    "two labels": (line("a", "yes", "no"), "line 1: it has 2 labels"),
    "no id of ours": ('{"id": 3, "text": "x", "label": ["yes"]}', "no 'assay_id'"),
    "no labels": ('{"assay_id": "a", "text": "x"}', "no list of labels"),
    "no object": ("7", "line 1: no JSON object, but a int"),
    "no JSON": (f"{line('a', 'yes')}\n{{", "line 2: not JSON"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_told_by_line_and_nothing_is_recorded(content: str, message: str) -> None:
    campaign = campaign_of(["a"])
    with pytest.raises(InputError, match=message):
        import_labels(campaign, content.encode(), format="doccano")
    with pytest.raises(InputError, match=message.replace("line", r"ann\.jsonl, line")):
        import_labels(campaign, zipped(ann=content))
    assert campaign.events() == []


def test_a_zip_that_is_none_or_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = campaign_of(["a"])
    good = zipped(ann=line("a", "yes"))
    spoiled = bytearray(good)
    spoiled[60] ^= 255
    for content, message in (
        (good[:-30], "cannot be read"),
        (bytes(spoiled), "cannot be read"),
        (zipped(), "no .jsonl"),
        (zipped(**{"x.csv": "id,label"}).replace(b".jsonl", b".other"), "no .jsonl"),
    ):
        with pytest.raises(InputError, match=message):
            import_labels(campaign, content)
    monkeypatch.setattr(module, "_MOST_BYTES", 1000)
    with pytest.raises(LimitError, match="more than 1,000 bytes"):
        import_labels(campaign, zipped(ann=" " * 600, bob=" " * 600))
    assert campaign.events() == []
