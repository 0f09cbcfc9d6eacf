"""Comments in an audit bundle: there when asked for, chained like all else, absent otherwise."""

import json
from pathlib import Path
from typing import Any

import pytest

import assay
from tests.audit.zips import members, sealed

# The first version of the format, which must stay as it was: bundles of then are compared with it.
FIELDS_1 = ["number", "item", "answer", "reviewer", "time", "late", "ruling", "chain"]


@pytest.fixture
def campaign() -> assay.Campaign:
    """A campaign with a comment on every other label."""
    made = assay.create_campaign(
        {"p": [0.5 + i / 12 for i in range(6)]}, score="p", threshold=0.5, budget=5, seed=2
    )
    batch = made.ask(4)
    texts = {item.id: f"=1+{item.id} 😀\nis what ann saw" for item in batch[::2]}
    made.tell({item.id: True for item in batch}, comments=texts, reviewer="ann")
    return made


def events(files: dict[str, bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in files["events.jsonl"].decode().splitlines()]


def test_a_bundle_without_them_has_the_fields_of_the_first_version(
    campaign: assay.Campaign, tmp_path: Path
) -> None:
    campaign.bundle(tmp_path / "audit.zip", names=True, shown=True)
    files = members(tmp_path / "audit.zip")
    assert json.loads(files["manifest.json"])["format_version"] == 3
    assert [list(event) for event in events(files)] == [FIELDS_1] * 4
    assert b"ann saw" not in b"".join(files.values())
    assert assay.verify_bundle(tmp_path / "audit.zip").findings == ()


def test_a_bundle_with_them_verifies(campaign: assay.Campaign, tmp_path: Path) -> None:
    campaign.bundle(tmp_path / "audit.zip", comments=True)
    files = members(tmp_path / "audit.zip")
    assert json.loads(files["manifest.json"])["format_version"] == 3
    told = [event.get("comment", "") for event in events(files)]
    assert told == [label.comment for label in campaign.events()]
    assert sum(map(bool, told)) == 2
    assert "What they wrote is in events.jsonl." in files["README.txt"].decode()
    assert assay.verify_bundle(tmp_path / "audit.zip").findings == ()


def test_a_comment_that_was_changed_is_found(campaign: assay.Campaign, tmp_path: Path) -> None:
    campaign.bundle(tmp_path / "audit.zip", comments=True)
    files = members(tmp_path / "audit.zip")
    files["events.jsonl"] = files["events.jsonl"].replace(b"is what", b"is not what", 1)
    (tmp_path / "audit.zip").write_bytes(sealed(files))
    found = " ".join(assay.verify_bundle(tmp_path / "audit.zip").findings)
    assert "chain:" in found


@pytest.mark.parametrize("version", [0, 4, True, "2", None])
def test_other_versions_are_not_guessed_at(
    campaign: assay.Campaign, tmp_path: Path, version: object
) -> None:
    campaign.bundle(tmp_path / "audit.zip", comments=True)
    files = members(tmp_path / "audit.zip")
    files["manifest.json"] = json.dumps(
        {**json.loads(files["manifest.json"]), "format_version": version}
    ).encode()
    (tmp_path / "audit.zip").write_bytes(sealed(files))
    with pytest.raises(assay.InputError, match="format version"):
        assay.verify_bundle(tmp_path / "audit.zip")


def test_a_bundle_that_says_the_wrong_version_of_itself_is_found(
    campaign: assay.Campaign, tmp_path: Path
) -> None:
    for comments, version in ((True, 1), (False, 2)):
        campaign.bundle(tmp_path / "audit.zip", comments=comments)
        files = members(tmp_path / "audit.zip")
        manifest = {**json.loads(files["manifest.json"]), "format_version": version}
        files["manifest.json"] = json.dumps(manifest).encode()
        (tmp_path / "audit.zip").write_bytes(sealed(files))
        (found,) = assay.verify_bundle(tmp_path / "audit.zip").findings
        assert f"format_version: {version} is written, and 3 follows" in found


def test_a_comment_is_a_text_and_an_empty_one_is_not_written(
    campaign: assay.Campaign, tmp_path: Path
) -> None:
    campaign.bundle(tmp_path / "audit.zip", comments=True)
    right = members(tmp_path / "audit.zip")
    for told, wrong in ((b"5", "comment is '5', which is no str"), (b'""', "chain:")):
        lines = right["events.jsonl"].splitlines(keepends=True)
        place = next(place for place, line in enumerate(lines) if b"comment" not in line)
        lines[place] = lines[place].replace(b', "chain"', b', "comment": ' + told + b', "chain"')
        (tmp_path / "audit.zip").write_bytes(sealed({**right, "events.jsonl": b"".join(lines)}))
        found = " ".join(assay.verify_bundle(tmp_path / "audit.zip").findings)
        assert wrong in found or "comment: '' is written, and nothing follows" in found
