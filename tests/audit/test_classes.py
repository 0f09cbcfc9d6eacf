"""Verification of campaigns of several classes or labels an item, and of what was changed."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.audit import values as module
from assay.audit import verify_bundle, verify_campaign
from assay.errors import StorageError
from assay.predictions import RANKED
from tests.kinds import BY_TOPIC, TOPICS, topics

TAGS = ("fraud", "spam", "toxic")
N = 500


def reviewed(url: str, table: dict[str, Any], truth: Callable[[int], str], **options: Any) -> None:
    """Make a campaign of two reviewers with most of its answers, some of them disputed."""
    campaign = assay.create_campaign(
        table, budget=260, storage=url, reviewers_per_item=2, overlap=0.2, **options
    )
    other = truth(0)
    for who in ("ann", "bob"):
        for _ in range(3):
            labels = []
            for item in (int(item.id) for item in campaign.ask(60, reviewer=who)):
                word = truth(item) if item % 11 else "none of these"
                if item % 23 == 0:
                    word = "?"
                if who == "bob" and item % 5 == 0:
                    word = other
                labels.append(assay.Label(str(item), word, who))
            campaign.desk.record(labels)
    assert campaign.disputes()


@pytest.fixture
def storage(tmp_path: Path) -> str:
    """A campaign of four classes."""
    table, truth = topics(N)
    metrics = ["accuracy", "macro_f1", "recall:bio", "precision:cs", "f1:math"]
    options: dict[str, Any] = {**BY_TOPIC, "metrics": [*metrics, "prevalence:physics"]}
    url = f"sqlite:///{tmp_path / 'classes.db'}"
    reviewed(url, table, lambda item: str(truth[item]), **options)
    return url


@pytest.fixture
def tags(tmp_path: Path) -> str:
    """A campaign of items that may have several of three labels."""
    rng = np.random.default_rng(5)
    score = rng.beta(0.4, 1, (N, 3))
    truth = rng.random((N, 3)) < score

    def written(item: int) -> str:
        own = [name for name, has in zip(TAGS, truth[item], strict=True) if has]
        return "|".join(own) or "none of these"

    options: dict[str, Any] = {"id": "id", "probabilities": "p_*", "threshold": 0.5}
    metrics = ["precision", "f1:spam", "accuracy:fraud", "prevalence:toxic"]
    options |= {"multilabel": True, "metrics": metrics}
    table = {"id": np.arange(N), **{f"p_{name}": score[:, k] for k, name in enumerate(TAGS)}}
    url = f"sqlite:///{tmp_path / 'tags.db'}"
    reviewed(url, table, written, **options)
    return url


@pytest.mark.parametrize("kind", ["storage", "tags"])
def test_a_campaign_follows_from_its_log(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = request.getfixturevalue(kind)
    found = verify_campaign(storage=url)
    assert found.clean, found.findings
    notes = [note for check in found.checks for note in check.notes]
    left = any(note.startswith("macro_f1: of all classes") for note in notes)
    assert left is (kind == "storage")
    assay.load_campaign(storage=url).bundle(tmp_path / "audit.zip")
    again = verify_bundle(tmp_path / "audit.zip")
    assert again.clean, again.findings


def test_another_reading_of_the_codes_is_found_out(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = module.called
    monkeypatch.setattr(module, "called", lambda strata, code, name: right(strata, code + 1, name))
    assert not verify_campaign(storage=storage).clean


def test_an_answer_that_is_no_class_is_damage(storage: str) -> None:
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as database:
        database.execute("UPDATE label_event SET answer = 'yes' WHERE id = 3")
    database.close()
    with pytest.raises(StorageError, match="label 3 has 'yes', which is not an answer"):
        assay.load_campaign(storage=storage).estimate()


def test_a_set_that_is_not_written_in_the_one_way_is_damage(tags: str) -> None:
    with sqlite3.connect(tags.removeprefix("sqlite:///")) as database:
        changed = "UPDATE label_event SET answer = 'spam|fraud' WHERE answer = 'fraud|spam'"
        assert database.execute(changed).rowcount
    database.close()
    with pytest.raises(StorageError, match=r"has 'spam\|fraud', which is not an answer"):
        assay.load_campaign(storage=tags).estimates()


def test_another_formula_is_found(tags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_the_wrong_class(strata: Any, code: int, name: str) -> str:
        right = called(strata, code, name)
        return {"fraud": "spam", "spam": "fraud"}.get(right, right)

    called = module.called
    monkeypatch.setattr(module, "called", of_the_wrong_class)
    found = verify_campaign(storage=tags)
    assert any("f1:spam" in finding for finding in found.findings)


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
        classes=TOPICS.tolist(),
        metrics=["top_2_accuracy", "top_3_accuracy:new - top_3_accuracy:old", "accuracy"],
        budget=200,
        name="ranked",
        storage=storage,
    )
    while not campaign.done:
        campaign.tell({item.id: str(TOPICS[truth[int(item.id)]]) for item in campaign.ask(50)})
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
