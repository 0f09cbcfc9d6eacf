"""``assay rebase``, ``assay label --rebase`` and ``assay extend``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Fixture = Callable[..., Any]


def keep_rows(folder: Path, keep: Callable[[int], bool], to: str = "predictions.csv") -> None:
    """Write the predictions of some items only."""
    head, *rows = (folder / "predictions.csv").read_text().splitlines()
    kept = [row for number, row in enumerate(rows) if keep(number)]
    (folder / to).write_text("\n".join([head, *kept]) + "\n")


def test_labelling_may_begin_with_a_rebase(
    create: Fixture, run: Fixture, folder: Path, labels: Fixture
) -> None:
    create()
    run("label", "spam", input="y\n" * 20)
    there = sum(int(item[1:]) % 5 > 0 for item in labels())
    keep_rows(folder, lambda number: number % 5 > 0)
    result = run("label", "spam", "--rebase", "--json", input="n\n" * 400)
    told = json.loads(result.stdout)
    assert told["stopped"] == "the budget is used up"
    assert 10 <= told["judged"] < 30
    assert list(labels().values()).count("yes") == there
    document = json.loads(run("status", "spam", "--json").stdout)
    assert document["estimate"]["labels"] == 30
