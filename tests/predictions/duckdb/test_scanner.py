"""What DuckDB reads, and how often."""

from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from assay.predictions import read_predictions
from assay.predictions.duckdb import reader
from assay.predictions.duckdb import scanner as duck_scanner
from assay.predictions.duckdb.loading import fetch_shown
from assay.predictions.duckdb.reader import DuckReader
from assay.predictions.engine import telling_progress
from assay.predictions.scan import Scan
from tests.predictions.contract import SEED, Population, check_deals, check_draw
from tests.predictions.contract_populations import population

made = cache(population)


def _written(meant: Population, folder: Path) -> Scan:
    pq.write_table(meant.table, folder / "a.parquet", row_group_size=1_000)
    return Scan(folder / "a.parquet", engine="duckdb")


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the plans of all questions that are asked from now on."""
    asked: list[str] = []

    fetch, stream = DuckReader._fetch, DuckReader._streamed

    def fetched(self: DuckReader, rows: duckdb.DuckDBPyRelation) -> Any:
        asked.append(rows.explain())
        return fetch(self, rows)

    def streamed(self: DuckReader, *wanted: Any, **more: Any) -> Any:
        asked.append("read parquet, for batches")
        return stream(self, *wanted, **more)

    def shown(*wanted: Any) -> list[dict[str, object]]:
        asked.append("read parquet, for what is shown")
        return fetch_shown(*wanted)

    monkeypatch.setattr(DuckReader, "_fetch", fetched)
    monkeypatch.setattr(DuckReader, "_streamed", streamed)
    monkeypatch.setattr(reader, "fetch_shown", shown)
    return asked


def _passes(plans: list[str]) -> int:
    """Return how often the rows of the files were read."""
    return sum("read parquet" in plan.lower() for plan in plans)


@pytest.mark.parametrize(
    "case",
    [
        ("unsigned", [], SEED, 1),  # counts, and the first cards
        ("unsigned", ["text"], SEED, 2),
        ("unsigned", [], SEED + 1, 2),
        ("rare", [], SEED, 2),  # uneven scores are counted once more
    ],
)
def test_passes_over_the_rows(
    case: tuple[str, list[str], int, int], plans: list[str], tmp_path: Path
) -> None:
    name, shown, seed, passes = case
    meant = made(name).showing(*shown)
    found = meant.read(_written(meant, tmp_path))
    if name == "unsigned":  # the range is in the files' own statistics
        assert (len(plans), _passes(plans)) == (2, 1)
    scale = meant.scales[0]
    strata = meant.strata("perc", "score", scale, [True, False])
    counts = [9] * strata.n_strata
    dealt = found.deal(strata, scale=scale, seed=seed, counts=counts)
    assert dealt == meant.dealt(strata, scale, seed, counts)
    assert _passes(plans) == passes


@pytest.mark.parametrize("name", ["probabilities", "margins", "unsigned"])
def test_a_list_that_is_too_short_is_made_up_for(
    name: str, plans: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duck_scanner, "_LISTED", 50)
    meant = made(name)
    found = meant.read(_written(meant, tmp_path))
    before = _passes(plans)
    check_draw(found, meant)
    assert _passes(plans) == before + 2  # for more cards, and for what is shown
    check_deals(found, meant)


def test_a_list_that_suffices_for_some_strata(
    plans: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duck_scanner, "_LISTED", 300)
    meant = made("unsigned").showing("row")
    found = meant.read(_written(meant, tmp_path))
    strata = meant.strata("perc", "score", "margin", [True, False])
    for counts in ([3] * 10, [3, 300, 3, 300, 0, 3, 3, 3, 3, 0]):
        dealt = found.deal(strata, scale="margin", seed=SEED, counts=counts)
        assert dealt == meant.dealt(strata, "margin", SEED, counts)
    assert _passes(plans) == 1 + 1 + 2


def test_text_is_read_once_and_kept(plans: list[str], tmp_path: Path) -> None:
    """The range of scores that are text takes a look at them, in the copy."""
    meant = made("ties").showing()
    path = tmp_path / "a.csv"
    duckdb.from_arrow(meant.table.select(meant.columns)).to_csv(str(path))
    found = meant.read(Scan(path, engine="duckdb"))
    path.unlink()
    check_draw(found, meant)
    assert _passes(plans) == 2
    assert not any("read csv" in plan.lower() for plan in plans)


def test_progress_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.predictions.engine._SECONDS", 0.001)
    path = tmp_path / "a.parquet"
    rows = "SELECT i AS key, random() AS p, random() < 0.5 AS said FROM range(3_000_000) t(i)"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({rows}) TO '{path}'")
    scan, told = Scan(path, engine="duckdb"), list[float]()
    with telling_progress(told.append):
        read_predictions(scan, id="key", score="p", predicted="said")
    assert told[-1] == 1.0
    assert all(0.0 <= share <= 1.0 for share in told)
    assert any(0.0 < share < 1.0 for share in told)
    whole = len(told)
    read_predictions(scan, id="key", score="p", predicted="said")
    assert len(told) == whole


def test_files_that_change_in_between_are_noticed(tmp_path: Path) -> None:
    meant = made("probabilities").showing("text")
    scan = _written(meant, tmp_path)
    found = meant.read(scan)
    strata = meant.strata("perc", "score", "probability", [None])
    _written(meant.only(range(100)), tmp_path)
    asked: dict[str, Any] = {"scale": "probability", "counts": [100] * strata.n_strata}
    with pytest.raises(PredictionsError, match=r"(?s)has changed.*drawn items are no longer there"):
        found.deal(strata, seed=SEED, **asked)
    with pytest.raises(PredictionsError, match=r"(?s)has changed.*\d+ strata hold fewer items"):
        found.deal(strata, seed=SEED + 1, **asked)


def test_columns_for_a_model_may_hold_dates(tmp_path: Path) -> None:
    days = [None if row % 7 == 0 else date(2026, 1, 1 + row % 20) for row in range(60)]
    table = pa.table({"id": range(60), "p": [row / 60 for row in range(60)], "day": days})
    pq.write_table(table, tmp_path / "a.parquet")
    options: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "aux": ["day"]}
    there = read_predictions(Scan(tmp_path / "a.parquet", engine="duckdb"), **options)
    assert there.opinions_digest() == read_predictions(table, **options).opinions_digest()
