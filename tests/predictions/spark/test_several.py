"""Several classifiers in Spark with weights and with slices: what memory has, item by item."""

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from assay.predictions import Opinionated, Predictions, Scan, read_predictions
from assay.predictions.spark.columns import apart
from assay.predictions.spark.source import SparkRows
from tests.predictions.test_several_in_duckdb import CLASSIFIERS, _check_same, _table

EVERY = tuple(CLASSIFIERS)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(_table(), path, row_group_size=1_700)
    return path


def _read(scan: Scan, names: tuple[str, ...], **options: Any) -> Predictions:
    classifiers = {name: CLASSIFIERS[name] for name in names}
    return read_predictions(scan, classifiers=classifiers, **{"id": "key", "seed": 7, **options})


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (EVERY, {"sample_weight": "views"}),
        (("cnn", "rare"), {"sample_weight": "views", "groups": ["lang", "day=1"], "id": "url"}),
        (("cnn",), {"sample_weight": "views"}),
        (("mve",), {"groups": ["lang=(missing)", "lang=en", "day"]}),
    ],
)
def test_the_same_as_in_memory(
    names: tuple[str, ...], options: dict[str, Any], rows: Path, spark: Any
) -> None:
    found = _read(Scan(rows, spark=spark), names, **options)
    _check_same(found, _read(Scan(rows, engine="memory"), names, **options))


def test_java_compiles_what_four_classifiers_take(
    rows: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It only interprets methods of more than 8,000 bytes, which takes several times as long."""
    debug: Any = getattr(spark._jvm.org.apache.spark.sql.execution.debug, "package$")
    sizes: list[int] = []
    fetch = SparkRows.fetch

    def looked_at(self: SparkRows, frame: Any) -> Any:
        plan = frame._jdf.queryExecution().executedPlan()
        code = getattr(debug, "MODULE$").codegenString(plan)
        sizes.extend(int(size) for size in re.findall(r"maxMethodCodeSize:(\d+)", code))
        return fetch(self, frame)

    monkeypatch.setattr(SparkRows, "fetch", looked_at)
    found = _read(Scan(rows, spark=spark), EVERY, groups=["day=1"], aux=["margin"])
    assert isinstance(found, Opinionated)
    found.opinions_digest()
    assert max(sizes) < 8_000
    cut = spark.range(0, 90, 1, 7)
    assert apart(cut).rdd.getNumPartitions() == 7


def test_what_is_refused(rows: Path, spark: Any) -> None:
    scan = Scan(rows, spark=spark)
    with pytest.raises(PredictionsError, match="reads no weights beside second opinions"):
        _read(scan, ("cnn", "mve"), sample_weight="views", aux=["day"])
    with pytest.raises(PredictionsError, match="column 'dya' not found"):
        _read(scan, ("cnn", "mve"), groups=["lang"], aux=["dya"])
    every = [f"many={number}" for number in range(40)]
    query = f"SELECT *, key % 40 AS many FROM parquet.`{rows}`"
    with pytest.raises(PredictionsError, match="2 classifiers with 40 slices"):
        _read(Scan(query, spark=spark), ("cnn", "mve"), groups=every)
    with pytest.raises(PredictionsError, match="weights in column 'lang'"):
        _read(scan, ("cnn", "mve"), sample_weight="lang")
