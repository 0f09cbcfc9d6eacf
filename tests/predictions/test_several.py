"""Several classifiers from one table: as defined in memory, and engines as memory."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core import tally
from assay.core.cells import cut_heaps
from assay.core.strata import Strata
from assay.errors import InputError, PredictionsError
from assay.predictions import Predictions, batches, from_arrays, read_labelled, read_predictions
from assay.predictions.query import Query
from assay.predictions.scan import Engine, Scan
from assay.predictions.spark.scanner import frame_of
from assay.predictions.spark.source import SparkRows
from tests.predictions.contract import SEED, as_bytes, plain_bin, plain_profile, scan_by
from tests.predictions.pair_population import check_alike, strata_of
from tests.predictions.several_population import CLASSIFIERS, SIZE, Several, several

EVERY = tuple(CLASSIFIERS)
NAMES = [EVERY, ("votes", "odds"), ("votes", "sure", "rare")]


def _written(meant: Several, folder: Path) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(meant.table, path, row_group_size=400)
    return path


def _read(table: object, **options: Any) -> Predictions:
    return read_predictions(table, **{"classifiers": CLASSIFIERS, "id": "key", **options})


def _deal(found: Predictions, strata: Strata, count: int = 30) -> list[Any]:
    return found.deal(strata, scale="probability", seed=SEED, counts=[count] * strata.n_strata)


def check_plain(found: Predictions, meant: Several) -> None:
    """Compare all that is counted, and the code and the rank of every item."""
    assert (found.size, found.classifiers) == (len(meant.ids), tuple(meant.said))
    assert found.positives == sum(code > 0 for code in meant.codes)
    assert found.score_range == (min(meant.ranks), max(meant.ranks))
    assert found.cells() == dict(Counter(meant.codes))
    assert found.fingerprint() == meant.fingerprint()
    told = found.find([*meant.ids, "none"], variable="rank", scale="probability")
    assert told.pop() is None
    for item, one in zip(meant.items, told, strict=True):
        assert one is not None and (one.card.id, one.card.shown) == (item.id, item.shown)
    assert [(one.card.predicted, one.value) for one in told if one] == list(
        zip(meant.codes, meant.ranks, strict=True)
    )


@pytest.mark.parametrize("names", NAMES)
def test_memory_is_as_defined(names: tuple[str, ...]) -> None:
    meant = several(*names, strings=names != EVERY)
    found = meant.read(meant.table)
    check_plain(found, meant)
    assert f"by {', '.join(names)}: to {found.positives:,} one says yes" in repr(found)
    strata = strata_of(found, 4)
    cells: dict[tuple[int, ...], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    rows: list[list[int]] = []
    for heap in strata.heaps:
        of_heap: list[list[int]] = [[] for _ in range(heap.cuts.n_strata)]
        for row, (value, code) in enumerate(zip(meant.ranks, meant.codes, strict=True)):
            if code in heap.codes:
                cells[heap.codes][plain_bin(value, "probability")].append(value)
                of_heap[heap.cuts.owner[bisect_right(heap.cuts.points, value)]].append(row)
        rows += of_heap
    for profile, cell in zip(found.profile_heaps(list(cells)), cells.values(), strict=True):
        assert profile.scale == "probability"
        assert as_bytes(profile) == as_bytes(plain_profile(cell))
    parts = Counter(
        (place, meant.codes[row]) for place, inside in enumerate(rows) for row in inside
    )
    assert strata.parts == tuple((*part, parts[part]) for part in sorted(parts))
    for deck, inside in zip(_deal(found, strata, 25), rows, strict=True):
        order = sorted(inside, key=lambda row: meant.items[row].number(SEED))
        assert [card.id for card in deck] == [meant.ids[row] for row in order[:25]]


@pytest.mark.parametrize(
    ("engine", "names"), [*(("duckdb", names) for names in NAMES), ("toy", EVERY), ("spark", EVERY)]
)
def test_engines_tell_what_memory_does(
    engine: str, names: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    meant = several(*names, strings=names != EVERY)
    found = meant.read(scan_by(request, engine, _written(meant, tmp_path)))
    assert isinstance(found, Predictions)
    check_plain(found, meant)
    other = several(*names, seed=5)
    check_alike(found, meant.read(meant.table), other=other.read(other.table))


def test_no_score_at_all(tmp_path: Path) -> None:
    each = {"votes": CLASSIFIERS["votes"], "said": {"predicted": "said"}}
    table = several().table
    there = Scan(_written(several(), tmp_path), engine="duckdb")
    here, scanned = (_read(source, classifiers=each) for source in (table, there))
    assert here.score_range == scanned.score_range == (0.5, 0.5)
    assert (here.cells(), here.fingerprint()) == (scanned.cells(), scanned.fingerprint())


@pytest.mark.parametrize("strings", [False, True])
def test_rows_that_memory_has_no_room_for(
    *, strings: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait for the second pass in a file."""
    meant = several("odds", "margin", strings=strings)
    path = _written(meant, tmp_path)
    monkeypatch.setattr("assay.predictions.duckdb.reader.AT_ONCE", 512)
    check_alike(meant.read(Scan(path, engine="duckdb")), meant.read(meant.table))


def test_items_of_cells_that_no_heap_holds_are_not_dealt() -> None:
    found = _read(several().table)
    heaps = cut_heaps(found.profile_heaps([(3, 7)]), [(3, 7)], [1])
    strata = Strata(found.classifiers, tuple(heaps), found.count_parts(heaps))
    (cards,) = _deal(found, strata, SIZE)
    assert len(cards) == sum(code in (3, 7) for code in several().codes) > 0


def _changed(**columns: Any) -> dict[str, Any]:
    table = several().table
    return {name: columns.get(name, table[name].to_numpy(False)) for name in table.column_names}


def test_sixty_two_classifiers() -> None:
    columns = {f"c{k}": (np.arange(124) % 62 == k).astype(int) for k in range(62)}
    found = read_predictions(columns, classifiers={name: {"predicted": name} for name in columns})
    assert found.cells() == {1 << k: 2 for k in range(62)}


def test_what_was_read_before_is_returned_and_has_a_rank_alone() -> None:
    found, single = _read(several().table), from_arrays(y_score=[1.0], threshold=0.5)
    assert read_predictions(found, classifiers={}) is found
    with pytest.raises(PredictionsError, match="Predictions"):
        read_predictions(single, classifiers=CLASSIFIERS)
    with pytest.raises(PredictionsError, match=r"(?s)variable 'score'.*variables: rank"):
        found.profile("score", "probability", [None])
    with pytest.raises(PredictionsError, match="variable 'rank'"):
        single.profile("rank", "probability", [None])


def test_labelled_classifiers() -> None:
    meant, truth = several(), np.random.default_rng(5).random(SIZE) < 0.4
    labelled = read_labelled(
        _changed(said=several().said["margin"]) | {"truth": np.where(truth, "spam", "ham")},
        label="truth",
        classifiers=CLASSIFIERS,
        positive="spam",
    )
    assert labelled.classifiers == EVERY
    assert labelled.codes.tolist() == meant.codes
    assert labelled.rank == pytest.approx(meant.ranks, abs=1e-12)
    assert (labelled.truth == truth).all()


@pytest.mark.parametrize(
    ("classifiers", "said"),
    [
        ({}, "there are 0 classifiers"),
        ({f"c{k}": {"predicted": "vote"} for k in range(63)}, "there are 63 classifiers"),
        ({"precision:cnn": {"predicted": "vote"}}, "cannot be called 'precision:cnn'"),
        ({7: {"predicted": "vote"}}, "cannot be called 7"),
        (["vote"], "classifiers are of type list"),
        ({"vote": "vote"}, "classifier 'vote': 'vote' is of type str"),
        ({"vote": {"predict": "vote"}}, "(?s)classifier 'vote': unknown option.*'predicted'"),
        ({"vote": {}}, "classifier 'vote': neither predicted= nor threshold="),
        ({"vote": {"predicted": 7}}, "classifier 'vote': predicted=7 is of type int"),
        ({"cnn": {"score": "p", "threshold": "x"}}, "classifier 'cnn': threshold='x'"),
        ({"vote": {"predicted": "votes"}}, "(?s)classifier 'vote': column 'votes'.*'vote'"),
        ({"vote": {"predicted": "m"}}, "classifier 'vote': the predicted labels in column 'm'"),
        ({"x": {"score": "text", "threshold": 1}}, "classifier 'x': the scores in column"),
        (
            {"cnn": {"score": "p", "predicted": "vote", "threshold": 0.5}},
            "classifier 'cnn': .* contradict threshold=0.5",
        ),
    ],
)
def test_what_is_wrong_and_with_which_classifier(classifiers: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_predictions(several().table, classifiers=classifiers)
    with pytest.raises(InputError, match=said):
        read_labelled(several().table, label="said", classifiers=classifiers)


@pytest.mark.parametrize("engine", ["duckdb", "toy", "spark"])
def test_errors_name_the_classifier(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = _written(several(), tmp_path)
    odds = CLASSIFIERS["odds"]
    for wrong, told in (
        ({"score": "text", "threshold": 0.5}, "classifier 'b': the scores in column 'text'"),
        ({"score": "q", "predicted": "text"}, "classifier 'b': the predicted labels in column"),
        ({"score": "qq", "threshold": 0.5}, "column 'qq' not found"),
    ):
        with pytest.raises(PredictionsError, match=told):
            _read(scan_by(request, engine, path), classifiers={"a": odds, "b": wrong})
    table = several().table
    missing = pa.array([None, *table["key"].to_pylist()[1:]])
    pq.write_table(table.set_column(table.column_names.index("key"), "key", missing), path)
    with pytest.raises(PredictionsError, match="1 of 1,500 ids in column 'key'"):
        _read(scan_by(request, engine, path), classifiers={"a": odds, "b": CLASSIFIERS["votes"]})


# Weights and slices


def _sliced() -> pa.Table:
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
    pq.write_table(_sliced(), path, row_group_size=400)
    return path


def _read_weights(
    path: Path, engine: Engine, names: tuple[str, ...], spark: Any = None, **options: Any
) -> Predictions:
    scan = Scan(path, engine=engine, spark=spark)
    classifiers = {name: CLASSIFIERS[name] for name in names}
    return read_predictions(scan, classifiers=classifiers, **{"id": "key", "seed": 7, **options})


BOTH = {"sample_weight": "views", "groups": ["lang", "day=1"], "id": "text"}


@pytest.mark.parametrize(
    ("engine", "names", "options"),
    [
        ("duckdb", EVERY, {"sample_weight": "views"}),
        ("duckdb", EVERY, {"groups": ["lang=de", "day"]}),
        ("duckdb", ("odds", "rare"), BOTH),
        ("duckdb", ("margin",), {"groups": ["lang=(missing)", "lang=en"]}),
        *(
            (engine, ("odds", "rare"), BOTH)
            for engine in ("spark", "toy", "clickhouse", "postgres")
        ),
        ("toy", ("margin",), {"groups": ["lang=(missing)", "lang=en", "day"]}),
        ("duckdb", ("margin",), {}),
        ("spark", ("margin",), {"groups": ["lang=(missing)", "lang=en", "day"]}),
    ],
)
def test_the_same_as_in_memory(
    engine: str,
    names: tuple[str, ...],
    options: Mapping[str, Any],
    rows: Path,
    request: pytest.FixtureRequest,
) -> None:
    classifiers = {name: CLASSIFIERS[name] for name in names}
    given = {"id": "key", "seed": 7, **options}
    found = read_predictions(scan_by(request, engine, rows), classifiers=classifiers, **given)
    check_alike(found, _read_weights(rows, "memory", names, **options))


def test_with_a_counter_for_cells_that_occur_alone(
    rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"sample_weight": "views", "groups": ["lang"]}
    meant = _read_weights(rows, "memory", EVERY, **options)
    for module in (tally, batches):
        monkeypatch.setattr(module, "MANY_CELLS", 300)
    check_alike(_read_weights(rows, "duckdb", EVERY, **options), meant)


def test_bad_values_are_told(rows: Path, tmp_path: Path) -> None:
    table = _sliced()
    path = tmp_path / "bad.parquet"
    scores: list[Any] = table["p"].to_pylist()
    scores[3] = float("nan")
    at = table.column_names.index("p")
    pq.write_table(table.set_column(at, "p", pa.array(scores, pa.float32())), path)
    with pytest.raises(
        PredictionsError, match="classifier 'odds': 1 of 1,500 scores in column 'p'"
    ):
        _read_weights(path, "duckdb", EVERY)
    for names in (EVERY, ("odds",)):
        with pytest.raises(PredictionsError, match=r"^no item of .* has lang=nl"):
            _read_weights(rows, "duckdb", names, groups=["lang=nl"])
    with pytest.raises(PredictionsError, match="column 'langs' not found"):
        _read_weights(rows, "duckdb", EVERY, groups=["langs=nl"])


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
    found = _read_weights(rows, "spark", EVERY[:4], spark, groups=["day=1"], aux=["m"])
    found.opinions_digest()
    assert max(sizes) < 8_000
    cut = spark.range(0, 90, 1, 7)
    assert frame_of(Query(cut).select("id", apart=True)).rdd.getNumPartitions() == 7


def test_what_spark_refuses(rows: Path, spark: Any) -> None:
    with pytest.raises(PredictionsError, match="column 'dya' not found"):
        _read_weights(rows, "spark", ("odds", "margin"), spark, groups=["lang"], aux=["dya"])
    every = [f"many={number}" for number in range(40)]
    query = f"SELECT *, key % 40 AS many FROM parquet.`{rows}`"
    two = {name: CLASSIFIERS[name] for name in ("odds", "margin")}
    with pytest.raises(PredictionsError, match="2 classifiers with 40 slices"):
        read_predictions(Scan(query, spark=spark), classifiers=two, id="key", groups=every)
    with pytest.raises(PredictionsError, match="weights in column 'lang'"):
        _read_weights(rows, "spark", ("odds", "margin"), spark, sample_weight="lang")
