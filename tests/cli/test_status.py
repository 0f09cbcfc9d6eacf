"""``assay status``: one campaign, all campaigns, and no storage."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fixture = Callable[..., Any]


@pytest.mark.parametrize(
    "words",
    ["status", "status x", "label x", "export x", "rebase --name x", "extend predictions.csv"],
)
def test_looking_makes_no_storage(words: str, run: Fixture, folder: Path) -> None:
    before = set(folder.iterdir())
    result = run(*words.split())
    assert result.exit_code == 1
    assert "there is no storage at sqlite:///assay.db" in result.stderr
    assert set(folder.iterdir()) == before
    assert "problem" in json.loads(run(*words.split(), "--json").stderr)["error"]
