"""What reviewers see stays what was laid down when the campaign was made, or it is noticed."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import assay
from assay.errors import PredictionsError, StorageError
from assay.labelling.reserve import is_whole, seal_of
from assay.predictions.scan import Engine
from tests.kinds import shallow

MANY = 1_200  # more items than are in reserve
ROWS = 4_000


def _table(texts: Sequence[str]) -> pd.DataFrame:
    score = [number % 1_000 / 1_000 for number in range(ROWS)]
    size = [number / 4 for number in range(ROWS)]
    return pd.DataFrame({"id": range(ROWS), "p": score, "text": list(texts), "size": size})


TEXTS = [f"text {number}" for number in range(ROWS)]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay down so few cards that some are soon missing."""
    shallow(monkeypatch, 50)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    _table(TEXTS).to_parquet(tmp_path / "preds.parquet")
    return tmp_path / "preds.parquet"


def _create(given: object, storage: str, **more: Any) -> assay.Campaign:
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.2, "show": ["text", "size"]}
    goal: dict[str, Any] = {"budget": 600, "design": assay.Design(bins=3), "seed": 5}
    return assay.create_campaign(given, **columns, **goal, storage=storage, **more)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_texts_that_were_exchanged_are_noticed(engine: Engine, path: Path, storage: str) -> None:
    """Ids, scores and labels, and so the fingerprint, are as they were."""
    drawn = _create(assay.Scan(path, engine=engine), storage).ask(60)
    _table(TEXTS[::-1]).to_parquet(path)
    with pytest.raises(PredictionsError) as caught:
        assay.load_campaign(storage=storage).ask(MANY)
    assert "does not show items as it did" in str(caught.value)
    assert "150 of 150 items that were drawn differ" in str(caught.value)
    assert "column 'text'" in str(caught.value)
    assert "text 1" not in str(caught.value)  # what items say is in no log
    campaign = assay.load_campaign(storage=storage)
    assert campaign.ask(60) == drawn
    rebased = assay.rebase_campaign(storage=storage)
    assert len(rebased.ask(MANY)) > 150


def test_one_text_of_those_that_lie_is_enough(path: Path, storage: str) -> None:
    drawn = _create(path, storage).ask(60)
    texts = list(TEXTS)
    texts[int(drawn[-1].id)] += "!"
    _table(texts).to_parquet(path)
    with pytest.raises(PredictionsError, match=r"1 of 150 items .* item " + str(drawn[-1].id)):
        assay.load_campaign(storage=storage).ask(MANY)


def test_what_was_never_dealt_is_not_sealed(path: Path, storage: str) -> None:
    """This is said, too: of such an item nothing is known but its id, score and label."""
    campaign = _create(path, storage)
    with campaign.desk.store.read() as session:
        lying = {card.item_id for stratum in range(3) for card in session.cards(1, stratum, 0, 50)}
    texts = [text if str(number) in lying else "other" for number, text in enumerate(TEXTS)]
    _table(texts).to_parquet(path)
    asked = assay.load_campaign(storage=storage).ask(MANY)
    assert "other" in {item.shown["text"] for item in asked}


def test_the_same_values_from_elsewhere_are_the_same(path: Path, storage: str) -> None:
    _create(path, storage)
    _table(TEXTS).to_csv(path.with_suffix(".csv"), index=False, float_format="%.3f")
    given = assay.load_campaign(storage=storage, predictions=path.with_suffix(".csv"))
    assert len(given.ask(MANY)) > 150


def _write(storage: str, sql: str, *values: object) -> None:
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as database:
        database.execute(sql, values)


def test_a_card_that_was_changed_in_the_storage_is_found(path: Path, storage: str) -> None:
    _create(path, storage)
    assert assay.verify_campaign(storage=storage).findings == ()
    _write(storage, 'UPDATE item SET shown = \'{"text": "x", "size": 0}\' WHERE position = 49')
    found = assay.verify_campaign(storage=storage)
    assert "what reviewers see of items has been changed" in " ".join(found.findings)
    with pytest.raises(StorageError, match="changed in the storage of campaign 'campaign'"):
        assay.load_campaign(storage=storage).ask(MANY)


def test_a_seal_that_was_changed_is_not_what_was_confirmed(path: Path, storage: str) -> None:
    """Who changes the cards and the seal changes the source, which this machine has confirmed."""
    _create(path, storage)
    settings = assay.load_campaign(storage=storage).settings.to_dict()
    settings["source"]["shown"] = ""
    _write(storage, "UPDATE campaign SET settings = ?", json.dumps(settings))
    with pytest.raises(PredictionsError, match="are not confirmed"):
        assay.load_campaign(storage=storage).ask(MANY)


def test_a_campaign_of_before_is_checked_as_before(path: Path, storage: str) -> None:
    _create(path, storage)
    settings = assay.load_campaign(storage=storage).settings.to_dict()
    del settings["source"]["shown"]
    _write(storage, "UPDATE campaign SET settings = ?", json.dumps(settings))
    _table(TEXTS[::-1]).to_parquet(path)
    campaign = assay.load_campaign(storage=storage, confirm=True)
    assert len(campaign.ask(MANY)) > 150
    assert assay.verify_campaign(storage=storage).findings == ()


def test_extended_campaigns_are_sealed_again(path: Path, storage: str) -> None:
    _create(path, storage)
    more = _table([f"new {number}" for number in range(ROWS)]).assign(id=range(ROWS, 2 * ROWS))
    more.to_parquet(path.with_name("more.parquet"))
    assay.extend_campaign(path.with_name("more.parquet"), storage=storage)
    assert assay.verify_campaign(storage=storage).findings == ()
    more.assign(text="other").to_parquet(path.with_name("more.parquet"))
    with pytest.raises(PredictionsError, match="does not show items as it did"):
        assay.load_campaign(storage=storage).ask(MANY)
    more.to_parquet(path.with_name("more.parquet"))
    assert len(assay.load_campaign(storage=storage).ask(MANY)) > 150


@pytest.mark.parametrize("seal", ["assay-shown-1", "assay-shown-1:x:y", "assay-shown-1:-1:y"])
def test_a_seal_that_is_none_is_broken(seal: str) -> None:
    assert not is_whole(seal, [])
    assert is_whole(seal_of([1], [(0, 0, "a", "{}")]), [(0, 0, "a", "{}"), (0, 1, "b", "{}")])
