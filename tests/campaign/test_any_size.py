"""Campaigns on predictions that stay where they are, beside the same in memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.errors import PredictionsError
from assay.predictions.scan import Engine
from assay.storage import Store

SIZE = 20_000
RNG = np.random.default_rng(62)
SCORE = RNG.beta(0.5, 0.5, SIZE)
TRUTH = RNG.random(SIZE) < SCORE


def _write(path: Path, score: np.ndarray) -> Path:
    rows = {"id": np.arange(SIZE), "p": score, "text": [f"item {row}" for row in range(SIZE)]}
    pq.write_table(pa.table(rows).take(RNG.permutation(SIZE)), path, row_group_size=3_000)
    return path


@pytest.fixture(autouse=True)
def _small_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that it must grow."""
    monkeypatch.setattr(
        "assay.campaign.create.depth", lambda settings: [50] * settings.strata.n_strata
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return _write(tmp_path / "rows.parquet", SCORE)


def _create(path: Path, engine: Engine, storage: str | None = None) -> assay.Campaign:
    return assay.create_campaign(
        assay.Scan(path, engine=engine, where="p >= 0.1"),
        id="id",
        score="p",
        threshold=0.5,
        show=["text"],
        metric="precision",
        budget=2_000,
        design=assay.Design(bins=3),
        storage=storage,
        seed=5,
    )


def _answer(campaign: assay.Campaign, batch: int, labels: int) -> list[assay.Item]:
    asked: list[assay.Item] = []
    while len(asked) < labels and not campaign.done:
        items = campaign.ask(batch)
        campaign.tell({item.id: bool(TRUTH[int(item.id)]) for item in items})
        asked += items
    return asked


def test_the_same_items_are_asked_for_and_the_same_is_answered(path: Path) -> None:
    memory, duckdb = (_create(path, engine) for engine in ("memory", "duckdb"))
    assert _answer(memory, 250, 2_000) == _answer(duckdb, 250, 2_000)
    assert memory.estimate() == duckdb.estimate()
    assert memory.settings.strata == duckdb.settings.strata
    assert memory.settings.source.fingerprint == duckdb.settings.source.fingerprint
    low, high = memory.estimate().low, memory.estimate().high
    assert low <= TRUTH[SCORE >= 0.5].mean() <= high


def test_a_campaign_goes_on_in_another_process_and_its_where_with_it(
    path: Path, storage: str
) -> None:
    first = _answer(_create(path, "duckdb", storage), 100, 300)
    campaign = assay.load_campaign(storage=storage)
    rest = _answer(campaign, 400, 2_000)
    assert campaign.settings.source.parts[0].scan == {
        "source": str(path),
        "where": "p >= 0.1",
        "engine": "duckdb",
    }
    assert len({item.id for item in [*first, *rest]}) == len(first) + len(rest) == 2_000


def test_a_changed_file_is_refused_when_more_cards_are_needed_and_rebased(
    path: Path, storage: str
) -> None:
    _answer(_create(path, "duckdb", storage), 100, 300)
    changed = SCORE.copy()
    changed[:50] = 1 - changed[:50]
    _write(path, changed)
    with pytest.raises(PredictionsError, match="is not what campaign 'campaign' was made from"):
        _answer(assay.load_campaign(storage=storage), 1_500, 2_000)
    assert len(assay.load_campaign(storage=storage).answers()) == 300  # nothing was lost
    campaign = assay.rebase_campaign(storage=storage)
    assert campaign.settings.before is not None
    assert campaign.settings.before.judged == 300
    _answer(campaign, 500, 2_000)
    assert campaign.done


def _create_several(path: Path, engine: Engine, storage: str | None = None) -> assay.Campaign:
    return assay.create_campaign(
        assay.Scan(path, engine=engine, where="p >= 0.1"),
        id="id",
        classifiers={"one": ("p", 0.5), "other": ("q", 0.5)},
        metric="precision",
        budget=400,
        storage=storage,
        seed=5,
    )


def _write_several(path: Path, score: np.ndarray) -> Path:
    other = np.clip(SCORE + np.random.default_rng(4).normal(0, 0.2, SIZE), 0, 1)
    pq.write_table(
        pa.table({"id": np.arange(SIZE), "p": score, "q": other}), path, row_group_size=3_000
    )
    return path


@pytest.fixture
def _tiny_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "assay.campaign.create.depth", lambda settings: [5] * settings.strata.n_strata
    )


@pytest.mark.usefixtures("_tiny_reserve")
def test_several_classifiers_go_on_in_another_process_unless_one_has_changed(
    tmp_path: Path, storage: str
) -> None:
    path = _write_several(tmp_path / "rows.parquet", SCORE)
    first = _answer(_create_several(path, "duckdb", storage), 40, 40)
    rest = _answer(assay.load_campaign(storage=storage), 100, 100)
    assert len({item.id for item in [*first, *rest]}) == len(first) + len(rest)
    changed = SCORE.copy()
    there = np.flatnonzero(SCORE >= 0.6)[0]
    changed[there] -= 0.01  # on the same side
    _write_several(path, changed)
    with pytest.raises(PredictionsError, match="is not what campaign 'campaign' was made from"):
        _answer(assay.load_campaign(storage=storage), 250, 250)


def test_many_processes_may_write_while_the_predictions_are_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, storage: str
) -> None:
    """The predictions are read outside of a transaction: another may write meanwhile."""
    campaign = _create(path, "duckdb", storage)
    waiting = campaign.ask(5)
    source = campaign._labelling._reserve.source

    def slow(store: Store) -> assay.Predictions:
        assay.load_campaign(storage=storage).tell({waiting[0].id: True})
        return source(store)

    monkeypatch.setattr(campaign._labelling._reserve, "source", slow)
    assert len(campaign.ask(1_500)) == 1_500
    assert campaign.answers() == {waiting[0].id: assay.Answer.YES}


def test_a_file_that_changes_while_the_campaign_lives_is_noticed(path: Path) -> None:
    """Also by the very process that made the campaign, and knows the file as it was."""
    campaign = _create(path, "duckdb")
    _answer(campaign, 100, 100)
    _write(path, 1 - SCORE)
    with pytest.raises(PredictionsError, match="is not what campaign 'campaign' was made from"):
        _answer(campaign, 1_500, 2_000)
    path.unlink()
    with pytest.raises(PredictionsError, match=r"rows.parquet cannot be read"):
        campaign.ask(1_500)
    assert len(campaign.answers()) == 100


def test_a_condition_that_is_up_to_chance_is_refused(path: Path) -> None:
    with pytest.raises(PredictionsError, match=r"is up to chance: random\(\)"):
        assay.Scan(path, where="random() < 0.5")
    assert assay.Scan(path, where="randomised < 0.5").where is not None


def test_no_password_is_stored() -> None:
    for url in (
        "postgresql://ann:secret@host/db",
        "postgresql+psycopg://ann:secret@host/db?sslpassword=secret",
        "postgres:///db?user=ann&password=secret&sslmode=require",
    ):
        told = assay.Scan(url, table="t").to_dict()
        assert "secret" not in str(told)
        assert "ann" in told["source"]
