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
from tests.kinds import finish, shallow

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
    shallow(monkeypatch, 50)


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


def test_it_goes_on_in_another_process_and_a_changed_file_is_refused_and_rebased(
    path: Path, storage: str
) -> None:
    first = finish(_create(path, "duckdb", storage), TRUTH, 100, most=300)
    campaign = assay.load_campaign(storage=storage)
    assert campaign.settings.source.parts[0].scan == {
        "source": str(path),
        "where": "p >= 0.1",
        "engine": "duckdb",
    }
    first += finish(campaign, TRUTH, 200, most=200)
    assert len({*first}) == len(first) == 500
    changed = SCORE.copy()
    changed[:50] = 1 - changed[:50]
    _write(path, changed)
    with pytest.raises(PredictionsError, match="differs from the predictions of campaign"):
        finish(assay.load_campaign(storage=storage), TRUTH, 1_500)
    assert len(assay.load_campaign(storage=storage).answers()) == 500  # nothing was lost
    campaign = assay.rebase_campaign(storage=storage)
    assert campaign.settings.before is not None
    assert campaign.settings.before.judged == 500
    finish(campaign, TRUTH, 500)
    assert campaign.done


def test_many_processes_may_write_while_the_predictions_are_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, storage: str
) -> None:
    """The predictions are read outside of a transaction: another may write meanwhile."""
    campaign = _create(path, "duckdb", storage)
    waiting = campaign.ask(5)
    source = campaign.desk.labelling._reserve.source

    def slow(store: Store) -> assay.Predictions:
        assay.load_campaign(storage=storage).tell({waiting[0].id: True})
        return source(store)

    monkeypatch.setattr(campaign.desk.labelling._reserve, "source", slow)
    assert len(campaign.ask(1_500)) == 1_500
    assert campaign.answers() == {waiting[0].id: assay.Answer.YES}


def test_no_password_is_stored() -> None:
    for url in (
        "postgresql://ann:secret@host/db",
        "postgresql+psycopg://ann:secret@host/db?sslpassword=secret",
        "postgres:///db?user=ann&password=secret&sslmode=require",
    ):
        told = assay.Scan(url, table="t").to_dict()
        assert "secret" not in str(told)
        assert "ann" in told["source"]
