"""Comments in an audit bundle: there when asked for, chained like all else, absent otherwise."""

import json
from pathlib import Path
from typing import Any

import pytest

import assay
from tests.audit.zips import files_of, verified

FIELDS = ["number", "item", "answer", "reviewer", "time", "late", "ruling", "chain"]


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


def test_a_bundle_without_them_says_nothing_of_them(
    campaign: assay.Campaign, tmp_path: Path
) -> None:
    files = files_of(campaign, tmp_path, names=True, shown=True)
    assert [list(event) for event in events(files)] == [FIELDS] * 4
    assert b"ann saw" not in b"".join(files.values())
    assert assay.verify_bundle(tmp_path / "audit.zip").findings == ()


def test_a_bundle_with_them_verifies_and_a_changed_one_is_found(
    campaign: assay.Campaign, tmp_path: Path
) -> None:
    files = files_of(campaign, tmp_path, comments=True)
    told = [event.get("comment", "") for event in events(files)]
    assert told == [label.comment for label in campaign.events()]
    assert sum(map(bool, told)) == 2
    assert "What they wrote is in events.jsonl." in files["README.txt"].decode()
    assert verified(files, tmp_path).findings == ()
    log = files["events.jsonl"].replace(b"is what", b"is not what", 1)
    (found,) = verified({**files, "events.jsonl": log}, tmp_path).findings
    assert "is not what" in found
