"""Seeds cannot be shopped for unseen: draws are committed to, and a bundle tells of other tries."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.labelling import Settings
from tests.audit.zips import files_of, members, verified
from tests.kinds import create, label


def test_it_follows_from_all_that_fixes_the_draws_and_from_nothing_else(tmp_path: Path) -> None:
    settings = create(f"sqlite:///{tmp_path / 'a.db'}").settings
    again = Settings.from_dict(json.loads(json.dumps(settings.to_dict())))
    assert again.commitment == settings.commitment
    assert replace(settings, name="spam until today").commitment == settings.commitment
    part = replace(settings.source.parts[0], fingerprint="other")
    others: list[dict[str, Any]] = [
        {"seed": 7},
        {"goal": assay.Goal("precision", budget=61)},
        {"design": assay.Design(bins=15)},
        {"source": replace(settings.source, parts=(part,))},
        {"strata": create("sqlite://", slice(0, 250)).settings.strata},
    ]
    every = [replace(settings, **other).commitment for other in others]
    assert len({settings.commitment, *every}) == 6


def test_a_bundle_is_held_against_what_was_published(tmp_path: Path) -> None:
    campaign = label(create("sqlite://"))
    published, path = campaign.settings.commitment, tmp_path / "audit.zip"
    campaign.bundle(path)
    assert json.loads(members(path)["campaigns.json"])["commitment"] == published
    assert assay.verify_bundle(path, commitment=published.upper()).clean
    # Another seed, tried after the first labels were seen.
    other = label(create("sqlite://", seed=7))
    other.bundle(path)
    assert assay.verify_bundle(path).clean
    (finding,) = assay.verify_bundle(path, commitment=published).findings
    assert f", not {published}" in finding
    run = CliRunner().invoke(app, ["verify", str(path), "--commitment", published])
    assert run.exit_code == 1


def test_other_campaigns_over_the_same_predictions_are_told(tmp_path: Path) -> None:
    url, path = f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "audit.zip"
    label(create(url, name="first", seed=1), 1)
    create(url, slice(0, 250), name="another population")
    shown = label(create(url, name="shown", seed=2))
    create(url, name="third", seed=3)
    shown.bundle(path)
    told = json.loads(members(path)["campaigns.json"])
    assert told["number"] == 3
    every = told["over_the_same_predictions"]
    assert [(each["number"], each["labels"]) for each in every] == [(1, 15), (3, 30), (4, 0)]
    assert len({each["commitment"] for each in every}) == 3
    notes = [note for each in assay.verify_bundle(path).checks for note in each.notes]
    assert notes == [
        "its storage had 1 more campaigns over the same predictions made before this one, with 15 "
        "labels: see campaigns.json",
        "its storage had 1 more campaigns over the same predictions made after this one, with 0 "
        "labels: see campaigns.json",
    ]


def test_campaigns_that_are_gone_leave_a_gap(tmp_path: Path) -> None:
    url, path = f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "audit.zip"
    create(url, name="tried", seed=1)
    shown = label(create(url, name="shown", seed=2))
    with shown.desk.store.write() as session:
        for table in ("item", "stratum", "round", "label_event"):
            session._connection.exec_driver_sql(f"DELETE FROM {table} WHERE campaign_id = 1")
        session._connection.exec_driver_sql("DELETE FROM campaign WHERE id = 1")
    shown.bundle(path)
    notes = [note for each in assay.verify_bundle(path).checks for note in each.notes]
    assert notes == ["1 campaigns of its storage are gone"]


def test_a_list_that_is_none_or_left_out_is_a_finding(tmp_path: Path) -> None:
    files = files_of(label(create("sqlite://")), tmp_path)
    other = {**json.loads(files["campaigns.json"]), "commitment": "0" * 64}
    lists: list[object] = [{}, [], {"over_the_same_predictions": [{"number": 1}]}, other]
    for told in lists:
        changed = {**files, "campaigns.json": json.dumps(told).encode()}
        found = verified(changed, tmp_path).findings
        assert any("campaigns.json" in each for each in found)
    del files["campaigns.json"]
    assert not verified(files, tmp_path).clean


@pytest.mark.parametrize(
    "change",
    [
        {"labels": 29},
        {"commitment": "0" * 64},
        {"created_at": "2020-01-01T00:00:00.000000Z"},
        {"number": 2},
    ],
)
def test_a_list_that_says_otherwise_of_its_own_campaign_is_a_finding(
    change: dict[str, object], tmp_path: Path
) -> None:
    files = files_of(label(create("sqlite://")), tmp_path)
    listed = json.loads(files["campaigns.json"])
    (own,) = listed["over_the_same_predictions"]
    for every in ([{**own, **change}], [own, own], []):
        told = {**listed, "over_the_same_predictions": every}
        changed = {**files, "campaigns.json": json.dumps(told, indent=1).encode() + b"\n"}
        found = verified(changed, tmp_path).findings
        assert any("campaigns.json" in each for each in found), every
