"""The page on trust names tests that are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def missing(text: str) -> list[str]:
    """Return the tests that a text names and that do not exist."""
    named = TEST.findall(text)
    return [
        f"{file}::{name}" for file, name in named if name not in {"", *functions_of(ROOT / file)}
    ]


def functions_of(file: Path) -> set[str]:
    if not file.is_file():
        return set()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("page", ["docs/security.md", "SECURITY.md"])
def test_every_test_that_is_named_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert missing(text) == []


def test_every_row_of_what_is_defended_names_its_test() -> None:
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    table = text.partition("\n## What is defended\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 20
    assert [row for row in rows if not TEST.search(row)] == []
