"""Answers of more reviewers than an item is for are found; spare answers that may be are not."""

from pathlib import Path
from typing import Any

import pytest

import assay
from assay import Label
from assay.storage import Claim, Session

CHECK = "no item was given to more than it is for"


def made(folder: Path) -> assay.Campaign:
    return assay.create_campaign(
        {"p": [0.9, 0.8, 0.7, 0.6]},
        score="p",
        threshold=0.5,
        budget=4,
        storage=f"sqlite:///{folder / 'a.db'}",
    )


def found(campaign: assay.Campaign) -> tuple[tuple[str, ...], tuple[str, ...]]:
    verified = assay.verify_campaign(storage=campaign.desk.store.name)
    (check,) = (each for each in verified.checks if each.check == CHECK)
    return check.findings, check.notes


def turn(campaign: assay.Campaign, reviewer: str, *said: str, lease: float = 60.0) -> Any:
    """Send answers to the items that a reviewer has before them, and return the next ones."""
    items = campaign.review([], reviewer=reviewer, want=len(said) or 1, lease=lease).items
    labels = [
        Label(str(item.id), answer, key=f"{reviewer} {item.id} {answer}")
        for item, answer in zip(items, said, strict=False)
    ]
    campaign.review(labels, reviewer=reviewer, lease=lease)
    return items


def test_answers_of_reviewers_who_did_not_see_each_others_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a writer with a snapshot from before its lock does to claims."""
    campaign = made(tmp_path)
    right = Session.live_claims
    mine = ["ann"]

    def own(self: Session, key: int, *asked: Any) -> dict[Claim, float]:
        live = right(self, key, *asked)
        return {claim: end for claim, end in live.items() if claim.reviewer in mine}

    monkeypatch.setattr(Session, "live_claims", own)
    (item,) = campaign.review([], reviewer="ann", want=1).items
    mine[:] = ["bob"]
    (same,) = campaign.review([], reviewer="bob", want=1).items
    assert item == same
    for name in ("ann", "bob"):
        mine[:] = [name]
        campaign.review([Label(str(item.id), "yes", key=name)], reviewer=name)
    findings, _ = found(campaign)
    assert findings == (f"label 2 of item '{item.id}' is answer 2 in time, and the item needs 1",)


def test_spare_answers_that_take_no_lease_are_not_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = made(tmp_path)
    (item,) = campaign.review([], reviewer="late", want=1, lease=0.01).items
    monkeypatch.setattr(Session, "live_claims", lambda *_: {})  # time has passed
    (same,) = campaign.review([], reviewer="next", want=1).items
    assert item == same
    campaign.review([Label(str(item.id), "no", key="late")], reviewer="late")
    monkeypatch.undo()
    campaign.review([Label(str(item.id), "yes", key="next")], reviewer="next")
    campaign.desk.record([Label(str(item.id), "yes", "from a file")])
    campaign.rule(item.id, "no", reviewer="eve", key="ruling")
    labels = campaign.events()
    assert [(label.late, label.ruling) for label in labels] == [
        (True, False),
        (False, False),
        (False, False),
        (False, True),
    ]
    (other,) = turn(campaign, "ann", "yes")
    campaign.review([Label(str(other.id), "withdrawn", key="a")], reviewer="ann")
    campaign.review([Label(str(other.id), "skip", key="b")], reviewer="ann")
    turn(campaign, "bob", "yes")
    assert found(campaign) == ((), ())
