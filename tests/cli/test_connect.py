"""``assay connect``, with as much of a Label Studio as it talks to."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.exchange.fake_label_studio import faking

Fixture = Callable[..., Any]


def answer(item: str) -> str:
    """Return what people there say."""
    return "no" if item.endswith("7") else "yes"


def test_it_goes_on_to_the_end_and_says_what_is_known(
    create: Fixture, run: Fixture, labels: Fixture
) -> None:
    create()
    Path("token").write_text("abc\n")
    with faking(answer) as (fake, address):
        words = ["--to", address, "--token-file", "token", "--batch", "10", "--every", "0.1"]
        told = run("connect", "spam", *words, "--webhook", "127.0.0.1:0")
        assert told.exit_code == 0, told.output
        assert not fake.hooks
        again = run("connect", "spam", *words, "--json")
    sent = {task["data"]["assay_id"] for task in fake.tasks.values()}
    assert labels() == {item: answer(item) for item in sent}
    project = next(iter(fake.projects))
    lines = told.stdout.splitlines()
    assert lines[0].startswith(f"project {project}: 30 sent, 0 open, 30 taken now; 30 labels, [")
    assert lines[1].startswith("Precision is between 0.")
    assert told.stderr.splitlines() == [
        f"made project {project}, 'Assay: spam'",
        *["sent 10 items"] * 3,
    ]
    document = json.loads(again.stdout)
    assert document["done"] is True
    assert (document["tasks"], document["taken"], document["notes"]) == (30, 0, [])
    assert not again.stderr
    assert len(fake.projects) == 1


def test_a_refused_token_names_the_options(
    create: Fixture, run: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "wrong")
    create()
    with faking() as (fake, address):
        fake.faults.append(401)
        told = run("connect", "spam", "--to", address)
    assert told.exit_code == 1
    assert "hint: check --token-file or LABEL_STUDIO_API_KEY" in told.stderr
