"""Several classifiers from one table: the same whatever reads it, as defined."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from assay.predictions import read_predictions
from assay.predictions.scan import Scan
from assay.predictions.scanned import ScannedPredictions
from tests.predictions.contract import scan_by
from tests.predictions.several_population import (
    CLASSIFIERS,
    Several,
    check_several,
    check_several_in_strata_of_another,
    several,
)


@pytest.fixture(params=["memory", "duckdb"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _written(meant: Several, folder: Path) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(meant.table, path, row_group_size=400)
    return path


@pytest.mark.parametrize("engine", ["memory", "duckdb", "sqlite", "spark"])
def test_all_that_is_told(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    meant = several()
    found = meant.read(scan_by(request, engine, _written(meant, tmp_path)))
    assert isinstance(found, ScannedPredictions) == (engine != "memory")
    check_several(found, meant)


@pytest.mark.parametrize("names", [("votes", "odds"), ("votes", "sure", "rare")])
def test_in_any_order_with_strings_for_ids(
    names: tuple[str, ...], engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    meant = several(*names, strings=True)
    check_several(meant.read(scan_by(request, engine, _written(meant, tmp_path))), meant)


def test_no_score_at_all(request: pytest.FixtureRequest, engine: str, tmp_path: Path) -> None:
    path = _written(several(), tmp_path)
    classifiers: dict[str, dict[str, object]] = {
        "votes": CLASSIFIERS["votes"],
        "said": {"predicted": "said"},
    }
    found = read_predictions(scan_by(request, engine, path), classifiers=classifiers, id="key")
    assert found.score_range == (0.5, 0.5)
    alike = read_predictions(several().table, classifiers=classifiers, id="key")
    assert (found.cells(), found.fingerprint()) == (alike.cells(), alike.fingerprint())


def test_strata_of_another_population(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    meant, other = several("odds", "margin"), several("odds", "margin", seed=5)
    found = meant.read(scan_by(request, engine, _written(meant, tmp_path)))
    check_several_in_strata_of_another(found, meant, other)


@pytest.mark.parametrize("strings", [False, True])
def test_rows_that_memory_has_no_room_for(
    *, strings: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait for the second pass in a file: all here, or half of the batches."""
    meant = several("odds", "margin", strings=strings)
    path = _written(meant, tmp_path)
    monkeypatch.setattr("assay.predictions.duckdb.several.AT_ONCE", 512)
    for held in (0, 512 * 12 + 100, 2**20):
        monkeypatch.setattr("assay.predictions.streamed._HELD", held)
        check_several(meant.read(Scan(path, engine="duckdb")), meant)


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "spark"])
def test_errors_name_the_classifier(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = _written(several(), tmp_path)
    odds, votes = CLASSIFIERS["odds"], CLASSIFIERS["votes"]
    for wrong, told in (
        ({"score": "text", "threshold": 0.5}, "classifier 'b': the scores in column 'text'"),
        ({"score": "q", "predicted": "text"}, "classifier 'b': the predicted labels in column"),
        ({"score": "qq", "threshold": 0.5}, "column 'qq' not found"),
    ):
        with pytest.raises(PredictionsError, match=told):
            read_predictions(
                scan_by(request, engine, path), classifiers={"a": odds, "b": wrong}, id="key"
            )
    table = several().table
    at = table.column_names.index("key")
    missing = pa.array([None, *table["key"].to_pylist()[1:]])
    pq.write_table(table.set_column(at, "key", missing), path)
    with pytest.raises(PredictionsError, match="1 of 1,500 ids in column 'key'"):
        read_predictions(
            scan_by(request, engine, path), classifiers={"a": odds, "b": votes}, id="key"
        )


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_strata_of_other_classifiers_are_refused(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    meant = several("odds", "votes")
    found = meant.read(scan_by(request, engine, _written(meant, tmp_path)))
    strata = several("votes", "odds").strata(2)
    with pytest.raises(PredictionsError, match="of votes, odds, and the predictions of odds, vot"):
        found.count(strata, scale="probability")
