"""``assay status``: one campaign, all campaigns, and no storage."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fixture = Callable[..., Any]


@pytest.mark.parametrize("words", [["status"], ["status", "x"], ["label", "x"], ["export", "x"]])
def test_looking_makes_no_storage(words: list[str], run: Fixture, folder: Path) -> None:
    before = set(folder.iterdir())
    result = run(*words)
    assert result.exit_code == 1
    assert "there is no storage at sqlite:///assay.db" in result.stderr
    assert set(folder.iterdir()) == before
    assert "problem" in json.loads(run(*words, "--json").stderr)["error"]


def test_a_file_that_is_no_database_is_told(run: Fixture) -> None:
    Path("assay.db").write_text("a shopping list, not a database " * 9)
    result = run("status")
    assert result.exit_code == 1
    assert "not a database" in result.stderr
    assert "Traceback" not in result.output
