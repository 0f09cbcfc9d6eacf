"""Several classifiers with weights and slices in DuckDB and Spark: as in memory, item by item."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.cells import Heap
from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.errors import PredictionsError
from assay.predictions import Opinionated, Predictions, code_cells, read_predictions
from assay.predictions.memory import MemoryPredictions
from assay.predictions.scan import Engine, Scan
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.spark.columns import apart
from assay.predictions.spark.source import SparkRows

SIZE = 6_000
CLASSIFIERS: dict[str, Any] = {
    "cnn": ("p", 0.5),
    "mve": {"score": "margin", "predicted": "said"},
    "vote": {"predicted": "vote"},
    "rare": ("rare", 1e-9),
}


def _table(seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    margin = rng.normal(0, 3, SIZE)
    weight = np.exp(rng.normal(0, 2, SIZE))
    lang = np.array(["de", "en", "fr", None])[rng.integers(0, 4, SIZE) % 4]
    return pa.table(
        {
            "key": rng.permutation(SIZE) * 1_000_003,
            "url": [f"https://example.org/{number}" for number in range(SIZE)],
            "p": rng.beta(0.5, 1.5, SIZE).astype(np.float32),
            "margin": margin,
            "said": np.where(margin > 0.4, "yes", "no"),
            "vote": rng.integers(0, 2, SIZE).astype(np.int8),
            # So many lie within a millionth of 0 that a finer rule for bins is taken.
            "rare": np.where(rng.random(SIZE) < 0.9, rng.random(SIZE) * 1e-8, rng.random(SIZE)),
            "views": np.where(rng.random(SIZE) < 0.1, 0.0, weight),
            "lang": pa.array(lang.tolist()),
            "day": rng.integers(0, 3, SIZE),
        }
    )


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(_table(), path, row_group_size=1_700)
    return path


def _read(
    path: Path, engine: Engine, names: tuple[str, ...], spark: Any = None, **options: Any
) -> Predictions:
    scan = Scan(path, engine=engine, spark=spark)
    classifiers = {name: CLASSIFIERS[name] for name in names}
    return read_predictions(scan, classifiers=classifiers, **{"id": "key", "seed": 7, **options})


def _strata(found: Predictions) -> Strata:
    """Return heaps of two strata each, cut by rank, by memory's counts."""
    codes = sorted(found.cells())
    every = 3 if len(codes) > 4 else 1
    of_codes = [tuple(codes[first::every]) for first in range(every)]
    heaps = []
    for each, profile in zip(of_codes, found.profile_heaps(of_codes), strict=True):
        middle = float(profile.low[profile.low.size // 2])
        heaps.append(Heap(each, Cuts("equal", (middle,), (0, 1))))
    parts = found.count_parts(heaps)
    return Strata(found.classifiers, tuple(heaps), parts, groups=found.groups)


def _check_same(found: Predictions, meant: Predictions) -> None:
    assert isinstance(found, ScannedPredictions)
    assert isinstance(meant, MemoryPredictions)
    for each in ("size", "positives", "weighted", "groups", "classifiers", "score_range"):
        assert getattr(found, each) == getattr(meant, each), each
    assert found.cells() == meant.cells()
    assert found.fingerprint() == meant.fingerprint()
    strata = _strata(meant)
    heaps = strata.heaps
    assert found.count_parts(heaps) == strata.parts
    of_codes = [heap.codes for heap in heaps]
    for one, other in zip(
        found.profile_heaps(of_codes), meant.profile_heaps(of_codes), strict=True
    ):
        for each in ("low", "high", "mean", "count"):
            np.testing.assert_array_equal(getattr(one, each), getattr(other, each))
    assert found.weighed(strata, scale="probability") == meant.weighed(strata, scale="probability")
    for seed in (7, 8):  # of the cards that the first pass brings along, and of others
        both = [
            each.deal(strata, scale="probability", seed=seed, counts=[25] * strata.n_strata)
            for each in (found, meant)
        ]
        assert both[0] == both[1]
    ids = [card.id for card in both[0][0][:5]]
    both_found = [each.find(ids, variable="rank", scale="probability") for each in (found, meant)]
    assert both_found[0] == both_found[1]


EVERY = tuple(CLASSIFIERS)


BOTH = {"sample_weight": "views", "groups": ["lang", "day=1"], "id": "url"}


@pytest.mark.parametrize(
    ("engine", "names", "options"),
    [
        ("duckdb", EVERY, {"sample_weight": "views"}),
        ("duckdb", EVERY, {"groups": ["lang=de", "day"]}),
        ("duckdb", ("cnn", "rare"), BOTH),
        ("duckdb", ("mve",), {"groups": ["lang=(missing)", "lang=en"]}),
        ("spark", ("cnn", "rare"), BOTH),
        ("spark", ("mve",), {"groups": ["lang=(missing)", "lang=en", "day"]}),
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
    _check_same(found, _read(rows, "memory", names, **options))


def test_with_a_counter_for_cells_that_occur_alone(
    rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"sample_weight": "views", "groups": ["lang"]}
    meant = _read(rows, "memory", EVERY, **options)
    monkeypatch.setattr(code_cells, "_MANY_CELLS", 300)
    _check_same(_read(rows, "duckdb", EVERY, **options), meant)


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
    with pytest.raises(PredictionsError, match="1 of 6,000 weights in column 'views'"):
        _read(path, "duckdb", EVERY, sample_weight="views")
    scores: list[Any] = table["p"].to_pylist()
    scores[3] = float("nan")
    pq.write_table(table.set_column(2, "p", pa.array(scores, pa.float32())), path)
    with pytest.raises(PredictionsError, match="classifier 'cnn': 1 of 6,000 scores in column 'p'"):
        _read(path, "duckdb", EVERY)
    for names in (EVERY, ("cnn",)):
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
    found = _read(rows, "spark", EVERY, spark, groups=["day=1"], aux=["margin"])
    assert isinstance(found, Opinionated)
    found.opinions_digest()
    assert max(sizes) < 8_000
    cut = spark.range(0, 90, 1, 7)
    assert apart(cut).rdd.getNumPartitions() == 7


def test_what_spark_refuses(rows: Path, spark: Any) -> None:
    with pytest.raises(PredictionsError, match="reads no weights beside second opinions"):
        _read(rows, "spark", ("cnn", "mve"), spark, sample_weight="views", aux=["day"])
    with pytest.raises(PredictionsError, match="column 'dya' not found"):
        _read(rows, "spark", ("cnn", "mve"), spark, groups=["lang"], aux=["dya"])
    every = [f"many={number}" for number in range(40)]
    query = f"SELECT *, key % 40 AS many FROM parquet.`{rows}`"
    two = {name: CLASSIFIERS[name] for name in ("cnn", "mve")}
    with pytest.raises(PredictionsError, match="2 classifiers with 40 slices"):
        read_predictions(Scan(query, spark=spark), classifiers=two, id="key", groups=every)
    with pytest.raises(PredictionsError, match="weights in column 'lang'"):
        _read(rows, "spark", ("cnn", "mve"), spark, sample_weight="lang")
