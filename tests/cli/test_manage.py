"""`assay campaign rename`, `assay campaign delete`, and `assay create --replace`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from assay.campaign import load_campaign
from tests.cli.conftest import Run


def test_a_campaign_is_deleted_after_a_question_and_a_backup(
    run: Run, create: Callable[..., Result]
) -> None:
    create()
    rows = run("export", "spam", "--what", "batch", "--size", "2").stdout
    ids = [line.split(",")[0] for line in rows.splitlines()[1:3]]
    Path("labels.csv").write_text("id,label\n" + "".join(f"{each},yes\n" for each in ids))
    assert run("import", "spam", "labels.csv").exit_code == 0

    refused = run("campaign", "delete", "spam")
    assert refused.exit_code == 1 and "hint: add --yes" in refused.output
    deleted = json.loads(run("campaign", "delete", "spam", "--yes", "--json").stdout)
    assert deleted["labels"] == 2 and "none" in run("status", "spam").output

    back = run("restore", deleted["backup"], "--storage", "sqlite:///back.db")
    assert "spam: 2 labels" in back.output
    again = run(
        "campaign", "delete", "spam", "--yes", "--no-backup", "--storage", "sqlite:///back.db"
    )
    assert (
        "deleted: spam, with all labels (2)" in again.output
        and len([*Path.cwd().glob("spam-*.db")]) == 1
    )


def test_a_campaign_is_renamed(run: Run, create: Callable[..., Result]) -> None:
    create()
    assert "campaign spam is now called ham" in run("campaign", "rename", "spam", "ham").output
    assert run("status", "ham").exit_code == 0
    refused = run("campaign", "rename", "spam", "eggs")
    assert refused.exit_code == 1 and "no campaign named 'spam'" in refused.output


def test_create_replaces_only_what_nobody_has_answered(
    run: Run, create: Callable[..., Result]
) -> None:
    create()
    create("--question", "An advertisement?", "--replace")
    campaign = load_campaign("spam", storage="sqlite:///assay.db")
    assert campaign.settings.question == "An advertisement?"
    rows = run("export", "spam", "--what", "batch", "--size", "1").stdout.splitlines()
    Path("labels.csv").write_text(f"id,label\n{rows[1].split(',')[0]},yes\n")
    run("import", "spam", "labels.csv")
    with pytest.raises(AssertionError, match="1 label, and is not replaced"):
        create("--replace")
