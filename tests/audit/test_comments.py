"""Comments in an audit bundle: there when asked for, chained like all else, absent otherwise."""

import json
from pathlib import Path
from typing import Any

import pytest

import assay
from tests.audit.zips import files_of, verified

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
    files = files_of(campaign, tmp_path, names=True, shown=True)
    assert json.loads(files["manifest.json"])["format_version"] == 3
    assert [list(event) for event in events(files)] == [FIELDS_1] * 4
    assert b"ann saw" not in b"".join(files.values())
    assert assay.verify_bundle(tmp_path / "audit.zip").findings == ()


def test_a_bundle_with_them_verifies_and_a_changed_one_is_found(
    campaign: assay.Campaign, tmp_path: Path
) -> None:
    files = files_of(campaign, tmp_path, comments=True)
    assert json.loads(files["manifest.json"])["format_version"] == 3
    told = [event.get("comment", "") for event in events(files)]
    assert told == [label.comment for label in campaign.events()]
    assert sum(map(bool, told)) == 2
    assert "What they wrote is in events.jsonl." in files["README.txt"].decode()
    assert verified(files, tmp_path).findings == ()
    lines = files["events.jsonl"].splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if b"comment" not in line)
    for log, wrong in (
        (files["events.jsonl"].replace(b"is what", b"is not what", 1), "chain:"),
        (with_comment(lines, place, b"5"), "comment is '5', which is no str"),
        (with_comment(lines, place, b'""'), "comment: '' is written, and nothing follows"),
    ):
        found = " ".join(verified({**files, "events.jsonl": log}, tmp_path).findings)
        assert wrong in found


def with_comment(lines: list[bytes], place: int, told: bytes) -> bytes:
    more = lines[place].replace(b', "chain"', b', "comment": ' + told + b', "chain"')
    return b"".join([*lines[:place], more, *lines[place + 1 :]])


def versioned(files: dict[str, bytes], version: object) -> dict[str, bytes]:
    manifest = {**json.loads(files["manifest.json"]), "format_version": version}
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def test_other_versions_are_not_guessed_at(campaign: assay.Campaign, tmp_path: Path) -> None:
    files = files_of(campaign, tmp_path, comments=True)
    for version in (0, 4, True, "2", None):
        with pytest.raises(assay.InputError, match="format version"):
            verified(versioned(files, version), tmp_path)
    for comments, version in ((True, 1), (False, 2)):
        files = files_of(campaign, tmp_path, comments=comments)
        (found,) = verified(versioned(files, version), tmp_path).findings
        assert f"format_version: {version} is written, and 3 follows" in found
