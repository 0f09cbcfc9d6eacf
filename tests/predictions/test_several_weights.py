"""Several classifiers with weights and slices in DuckDB and Spark: as in memory, item by item."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from assay.predictions import Opinionated, Predictions, code_cells, read_predictions
from assay.predictions.scan import Engine, Scan
from assay.predictions.spark.columns import apart
from assay.predictions.spark.source import SparkRows
from tests.predictions.pair_population import check_alike
from tests.predictions.several_population import CLASSIFIERS, SIZE, several


def _table() -> pa.Table:
    """The classifiers of `several_population`, with weights, some of them 0, and slices."""
    table, rng = several().table, np.random.default_rng(5)
    weight = np.where(rng.random(SIZE) < 0.1, 0.0, np.exp(rng.normal(0, 2, SIZE)))
    lang = np.array(["de", "en", "fr", None])[rng.integers(0, 4, SIZE)]
    table = table.append_column("views", pa.array(weight))
    table = table.append_column("day", pa.array(rng.integers(0, 3, SIZE)))
    return table.set_column(table.column_names.index("lang"), "lang", pa.array(lang.tolist()))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(_table(), path, row_group_size=400)
    return path


def _read(
    path: Path, engine: Engine, names: tuple[str, ...], spark: Any = None, **options: Any
) -> Predictions:
    scan = Scan(path, engine=engine, spark=spark)
    classifiers = {name: CLASSIFIERS[name] for name in names}
    return read_predictions(scan, classifiers=classifiers, **{"id": "key", "seed": 7, **options})


EVERY = tuple(CLASSIFIERS)
BOTH = {"sample_weight": "views", "groups": ["lang", "day=1"], "id": "text"}


@pytest.mark.parametrize(
    ("engine", "names", "options"),
    [
        ("duckdb", EVERY, {"sample_weight": "views"}),
        ("duckdb", EVERY, {"groups": ["lang=de", "day"]}),
        ("duckdb", ("odds", "rare"), BOTH),
        ("duckdb", ("margin",), {"groups": ["lang=(missing)", "lang=en"]}),
        ("spark", ("odds", "rare"), BOTH),
        ("duckdb", ("margin",), {}),
        ("spark", ("margin",), {"groups": ["lang=(missing)", "lang=en", "day"]}),
    ],
)
def test_the_same_as_in_memory(
    engine: Engine,
    names: tuple[str, ...],
    options: Mapping[str, Any],
    rows: Path,
    request: pytest.FixtureRequest,
) -> None:
    spark = request.getfixturevalue("spark") if engine == "spark" else None
    found = _read(rows, engine, names, spark, **options)
    check_alike(found, _read(rows, "memory", names, **options))


def test_with_a_counter_for_cells_that_occur_alone(
    rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"sample_weight": "views", "groups": ["lang"]}
    meant = _read(rows, "memory", EVERY, **options)
    monkeypatch.setattr(code_cells, "_MANY_CELLS", 300)
    check_alike(_read(rows, "duckdb", EVERY, **options), meant)


def test_other_weights_and_other_slices_are_told_apart(rows: Path, tmp_path: Path) -> None:
    table = _table()
    weights: list[Any] = table["views"].to_pylist()
    day: list[Any] = table["day"].to_pylist()
    place = next(place for place, weight in enumerate(weights) if weight)
    weights[place], day[place] = 2 * weights[place], (day[place] + 1) % 3
    for name, values, options in (
        ("views", weights, {"sample_weight": "views"}),
        ("day", day, {"groups": ["day"]}),
    ):
        changed = table.set_column(table.column_names.index(name), name, pa.array(values))
        pq.write_table(changed, tmp_path / "changed.parquet")
        now = _read(tmp_path / "changed.parquet", "duckdb", EVERY, **options)
        assert now.fingerprint() != _read(rows, "duckdb", EVERY, **options).fingerprint()


def test_bad_values_are_told(rows: Path, tmp_path: Path) -> None:
    table = _table()
    weights: list[Any] = table["views"].to_pylist()
    weights[3] = -1.0
    at = table.column_names.index("views")
    path = tmp_path / "bad.parquet"
    pq.write_table(table.set_column(at, "views", pa.array(weights)), path)
    with pytest.raises(PredictionsError, match="1 of 1,500 weights in column 'views'"):
        _read(path, "duckdb", EVERY, sample_weight="views")
    scores: list[Any] = table["p"].to_pylist()
    scores[3] = float("nan")
    at = table.column_names.index("p")
    pq.write_table(table.set_column(at, "p", pa.array(scores, pa.float32())), path)
    with pytest.raises(
        PredictionsError, match="classifier 'odds': 1 of 1,500 scores in column 'p'"
    ):
        _read(path, "duckdb", EVERY)
    for names in (EVERY, ("odds",)):
        with pytest.raises(PredictionsError, match=r"^no item of .* has lang=nl"):
            _read(rows, "duckdb", names, groups=["lang=nl"])
    with pytest.raises(PredictionsError, match="column 'langs' not found"):
        _read(rows, "duckdb", EVERY, groups=["langs=nl"])


# Spark


def test_java_compiles_what_four_classifiers_in_spark_take(
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
    found = _read(rows, "spark", EVERY[:4], spark, groups=["day=1"], aux=["m"])
    assert isinstance(found, Opinionated)
    found.opinions_digest()
    assert max(sizes) < 8_000
    cut = spark.range(0, 90, 1, 7)
    assert apart(cut).rdd.getNumPartitions() == 7


def test_what_spark_refuses(rows: Path, spark: Any) -> None:
    with pytest.raises(PredictionsError, match="reads no weights beside second opinions"):
        _read(rows, "spark", ("odds", "margin"), spark, sample_weight="views", aux=["day"])
    with pytest.raises(PredictionsError, match="column 'dya' not found"):
        _read(rows, "spark", ("odds", "margin"), spark, groups=["lang"], aux=["dya"])
    every = [f"many={number}" for number in range(40)]
    query = f"SELECT *, key % 40 AS many FROM parquet.`{rows}`"
    two = {name: CLASSIFIERS[name] for name in ("odds", "margin")}
    with pytest.raises(PredictionsError, match="2 classifiers with 40 slices"):
        read_predictions(Scan(query, spark=spark), classifiers=two, id="key", groups=every)
    with pytest.raises(PredictionsError, match="weights in column 'lang'"):
        _read(rows, "spark", ("odds", "margin"), spark, sample_weight="lang")
