"""doccano's exports, by its documented forms and its source."""

import io
import json
import random
import tracemalloc
import zipfile

import pytest

from assay.campaign.exchange import Imported, import_labels, read_labels, write_batch
from assay.core.answers import Answer
from assay.errors import InputError
from assay.files import LimitError, Limits
from assay.files import content as module
from tests.exchange.campaigns import campaign_of


def line(item: str, *labels: str, **more: object) -> str:
    return json.dumps({"id": 31, "text": "x", "label": list(labels), "assay_id": item, **more})


def zipped(**files: str) -> bytes:
    return packed(files, zipfile.ZIP_DEFLATED)


def packed(files: dict[str, str], how: int) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", how) as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.jsonl", content)
    return held.getvalue()


def test_a_zip_of_users_names_its_reviewers() -> None:
    campaign = campaign_of(["a", "b"], per_item=2)
    content = zipped(ann=f"{line('a', 'yes')}\n{line('b')}\n", bob=line("a", "no"))
    imported = import_labels(campaign, content)
    assert imported == Imported(2, 0, 0, without_label=1, format="doccano")
    assert campaign.desk.reviews()["a"].answers == {
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


def test_what_is_wrong_in_a_zip_is_told_by_file_and_line() -> None:
    campaign = campaign_of(["a"])
    for content, message in (
        (line("a", "yes", "no"), "line 1: it has 2"),
        ("7", "line 1: no JSON"),
    ):
        with pytest.raises(InputError, match=rf"ann\.jsonl, {message}"):
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
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    with pytest.raises(LimitError, match="more than 1,000 bytes"):
        import_labels(campaign, zipped(ann=" " * 600, bob=" " * 600))
    assert campaign.events() == []


def test_a_zip_may_be_stored_and_hold_files_of_one_name() -> None:
    campaign = campaign_of(["a", "b"])
    content = packed({"ann": line("a", "yes"), "bob": line("b", "no")}, zipfile.ZIP_STORED)
    import_labels(campaign, content.replace(b"bob.jsonl", b"ann.jsonl"))
    assert campaign.answers() == {"a": Answer.YES, "b": Answer.NO}


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_python_unpacks_without_a_limit_is_not_unpacked(how: int) -> None:
    bomb = packed({"ann": " " * 3_000_000}, how)
    assert len(bomb) < 1000
    with pytest.raises(InputError, match=r"'ann\.jsonl' in the upload is compressed in an unusual"):
        import_labels(campaign_of(["a"]), bomb)
    # What is not read may be packed in any way.
    other = bomb.replace(b"ann.jsonl", b"ann.other")
    with pytest.raises(InputError, match=r"contains no \.jsonl file"):
        import_labels(campaign_of(["a"]), other)


def test_an_encrypted_zip_is_refused() -> None:
    content = bytearray(zipped(ann=line("a", "yes")))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(InputError, match="is encrypted, and cannot be read"):
        import_labels(campaign_of(["a"]), bytes(content))


def test_too_many_files_are_refused_before_they_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"u{number}": "" for number in range(1001)}
    files["u0"] = line("a", "yes")
    campaign = campaign_of(["a"])

    def never(*_: object) -> None:
        raise AssertionError("the table of contents was read")

    content = zipped(**files)
    with monkeypatch.context() as patch:
        patch.setattr(zipfile, "ZipFile", never)
        with pytest.raises(LimitError, match="more than 1,000 files"):
            import_labels(campaign, content)
    del files["u1000"]
    assert import_labels(campaign, zipped(**files)).new == 1


def test_a_spoiled_zip_is_labels_or_an_assay_error() -> None:
    rng, campaign = random.Random(1), campaign_of(["a"])
    good = zipped(ann=line("a", "yes"), zoë=line("a", "yes"))
    told = set()
    for _ in range(1500):
        content = bytearray(good)
        content[rng.randrange(4, len(good))] = rng.choice([0, 255, rng.randrange(256)])
        try:
            read_labels(bytes(content), campaign=campaign)
        except InputError as error:
            told.add(error.problem)
    assert any("negative seek" in problem for problem in told)
    assert any("codec can't decode" in problem for problem in told)


def test_a_zip_of_very_many_lines_is_refused_at_the_first_too_many() -> None:
    """Its lines are not all listed first: each takes far more memory than in the zip."""
    content = zipped(ann="\n" * 5_000_000 + "7\n" * 5_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(LimitError, match="more than 10 rows"):
            read_labels(content, campaign=campaign_of(["a"]), limits=Limits(rows=10))
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()
