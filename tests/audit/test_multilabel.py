"""Verification of campaigns of items that may have several classes, and of what was changed."""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.audit import values as module
from assay.audit import verify_bundle, verify_campaign
from assay.errors import StorageError

NAMES = ("fraud", "spam", "toxic")
N = 500


@pytest.fixture
def storage(tmp_path: Path) -> str:
    """A campaign of two reviewers with most of its answers; only precisions and a recall."""
    rng = np.random.default_rng(5)
    score = rng.beta(0.4, 1, (N, 3))
    truth = rng.random((N, 3)) < score
    table: dict[str, Any] = {f"p_{name}": score[:, k] for k, name in enumerate(NAMES)}
    storage = f"sqlite:///{tmp_path / 'tags.db'}"
    campaign = assay.create_campaign(
        {"id": np.arange(N), **table},
        id="id",
        probabilities="p_*",
        threshold=0.5,
        multilabel=True,
        metrics=["precision", "f1:spam", "accuracy:fraud", "prevalence:toxic"],
        budget=260,
        name="tags",
        storage=storage,
        reviewers_per_item=2,
        overlap=0.2,
    )
    for who in ("ann", "bob"):
        for _ in range(3):
            asked = [int(item.id) for item in campaign.ask(60, reviewer=who)]
            own = [
                "|".join(name for name, has in zip(NAMES, truth[item], strict=True) if has)
                or "none of these"
                for item in asked
            ]
            words = ["?" if at % 23 == 0 else word for at, word in zip(asked, own, strict=True)]
            if who == "bob":
                words = ["toxic" if at % 5 == 0 else w for at, w in zip(asked, words, strict=True)]
            labels = zip(asked, words, strict=True)
            campaign.record([assay.Label(str(item), word, who) for item, word in labels])
    assert campaign.disputes()
    return storage


def test_a_campaign_follows_from_its_log(storage: str, tmp_path: Path) -> None:
    found = verify_campaign("tags", storage=storage)
    assert found.clean, found.findings
    bundle = tmp_path / "tags.zip"
    assay.load_campaign("tags", storage=storage).bundle(bundle)
    again = verify_bundle(bundle)
    assert again.clean, again.findings


def test_a_set_that_is_not_written_in_the_one_way_is_damage(storage: str) -> None:
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as database:
        changed = "UPDATE label_event SET answer = 'spam|fraud' WHERE answer = 'fraud|spam'"
        assert database.execute(changed).rowcount
    database.close()
    with pytest.raises(StorageError, match=r"says 'spam\|fraud', which is no answer"):
        assay.load_campaign("tags", storage=storage).estimates()


def test_another_formula_is_found(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_the_wrong_class(strata: Any, code: int, name: str) -> str:
        right = called(strata, code, name)
        return {"fraud": "spam", "spam": "fraud"}.get(right, right)

    called = module.called
    monkeypatch.setattr(module, "called", of_the_wrong_class)
    found = verify_campaign("tags", storage=storage)
    assert any("f1:spam" in finding for finding in found.findings)
