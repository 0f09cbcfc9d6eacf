"""Verification of campaigns of more classes than yes and no, and of what was changed in them."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.audit import values as module
from assay.audit import verify_bundle, verify_campaign
from assay.errors import StorageError
from assay.predictions import RANKED

NAMES = np.array(["bio", "cs", "math", "physics"])
N = 500
METRICS = ["accuracy", "macro_f1", "recall:bio", "precision:cs", "f1:math", "prevalence:physics"]


@pytest.fixture
def storage(tmp_path: Path) -> str:
    """A campaign of two reviewers with most of its answers."""
    rng = np.random.default_rng(5)
    truth = rng.choice(4, N, p=[0.1, 0.2, 0.4, 0.3])
    score = rng.uniform(0.3, 1, N)
    said = np.where(rng.random(N) < score, truth, rng.integers(0, 4, N))
    table: dict[str, Any] = {"id": np.arange(N), "topic": NAMES[said], "p": score}
    storage = f"sqlite:///{tmp_path / 'classes.db'}"
    campaign = assay.create_campaign(
        table,
        id="id",
        predicted="topic",
        score="p",
        metrics=METRICS,
        budget=260,
        name="topics",
        storage=storage,
        reviewers_per_item=2,
        overlap=0.2,
    )
    for who in ("ann", "bob"):
        for _ in range(3):
            asked = [int(item.id) for item in campaign.ask(60, reviewer=who)]
            words = [str(NAMES[truth[item]]) if item % 11 else "none of these" for item in asked]
            words = [
                "?" if item % 23 == 0 else word for item, word in zip(asked, words, strict=True)
            ]
            if who == "bob":
                words = [
                    "math" if item % 5 == 0 else w for item, w in zip(asked, words, strict=True)
                ]
            labels = zip(asked, words, strict=True)
            campaign.record([assay.Label(str(item), word, who) for item, word in labels])
    assert campaign.disputes()
    return storage


def test_a_campaign_follows_from_its_log(storage: str, tmp_path: Path) -> None:
    found = verify_campaign("topics", storage=storage)
    assert found.clean, found.findings
    notes = [note for check in found.checks for note in check.notes]
    assert any(note.startswith("macro_f1: of all classes") for note in notes)
    bundle = tmp_path / "topics.zip"
    assay.load_campaign("topics", storage=storage).bundle(bundle)
    assert verify_bundle(bundle).clean


def test_two_classifiers_and_their_differences(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    truth = rng.choice(4, N)
    old, new = (
        np.where(rng.random(N) < right, truth, rng.integers(0, 4, N)) for right in (0.6, 0.8)
    )
    table: dict[str, Any] = {"id": np.arange(N), "old": NAMES[old], "new": NAMES[new]}
    storage = f"sqlite:///{tmp_path / 'two.db'}"
    campaign = assay.create_campaign(
        table,
        id="id",
        classifiers={"old": {"predicted": "old"}, "new": {"predicted": "new"}},
        classes=NAMES.tolist(),
        metrics=["accuracy:new - accuracy:old", "accuracy:old", "recall:bio:new - recall:bio:old"],
        budget=300,
        storage=storage,
    )
    campaign.tell({item.id: str(NAMES[truth[int(item.id)]]) for item in campaign.ask(200)})
    found = verify_campaign(storage=storage)
    assert found.clean, found.findings


def test_another_reading_of_the_codes_is_found_out(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = module.called
    monkeypatch.setattr(module, "called", lambda strata, code, name: right(strata, code + 1, name))
    assert not verify_campaign("topics", storage=storage).clean


def test_an_answer_that_is_no_class_is_damage(storage: str) -> None:
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as database:
        database.execute("UPDATE label_event SET answer = 'yes' WHERE id = 3")
    database.close()
    with pytest.raises(StorageError, match="label 3 says 'yes', which is no answer"):
        assay.load_campaign("topics", storage=storage).estimate()


@pytest.fixture
def ranked(tmp_path: Path) -> str:
    """A campaign of top-k accuracy of two classifiers."""
    rng = np.random.default_rng(7)
    truth, p = rng.integers(0, 4, N), rng.dirichlet(np.ones(4), (2, N)).round(1)
    storage = f"sqlite:///{tmp_path / 'ranked.db'}"
    campaign = assay.create_campaign(
        {"id": np.arange(N), "new": p[0], "old": p[1]},
        id="id",
        classifiers={"new": {"probabilities": "new"}, "old": {"probabilities": "old"}},
        classes=NAMES.tolist(),
        metrics=["top_2_accuracy", "top_3_accuracy:new - top_3_accuracy:old", "accuracy"],
        budget=200,
        name="ranked",
        storage=storage,
    )
    while not campaign.done:
        campaign.tell({item.id: str(NAMES[truth[int(item.id)]]) for item in campaign.ask(50)})
    return storage


def test_top_k_accuracy_follows_from_the_log(ranked: str, tmp_path: Path) -> None:
    found = verify_campaign("ranked", storage=ranked)
    assert found.clean, found.findings
    notes = [note for check in found.checks for note in check.notes]
    left = [note for note in notes if "of all classes" in note]
    assert left == [note for note in notes if note.startswith("top_3_accuracy:new - ")]
    campaign = assay.load_campaign("ranked", storage=ranked)
    for name, shown in (("whole.zip", True), ("blind.zip", False)):
        campaign.bundle(tmp_path / name, shown=shown)
        assert verify_bundle(tmp_path / name).clean


def test_another_order_of_the_classes_is_found_out(ranked: str) -> None:
    with sqlite3.connect(ranked.removeprefix("sqlite:///")) as connection:
        rows = connection.execute("SELECT stratum, position, shown FROM item").fetchall()
        for stratum, position, shown in rows:
            kept = json.loads(shown)
            kept[RANKED] = [each[::-1] for each in kept[RANKED]]
            connection.execute(
                "UPDATE item SET shown = ? WHERE stratum = ? AND position = ?",
                (json.dumps(kept), stratum, position),
            )
    assert not verify_campaign("ranked", storage=ranked).clean
