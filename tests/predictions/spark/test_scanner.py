"""The Spark engine against numpy: what it counts, draws, finds and refuses."""

import csv
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.bins import Rule, Scale, bins_of, scale_of
from assay.core.cuts import Variable, confidence
from assay.core.deck import Id, digest, numbers
from assay.core.profile import ScoreCells, cells_of
from assay.core.types import Bools, Floats
from assay.errors import MissingDependencyError, PredictionsError
from assay.predictions.contract import IdKind
from assay.predictions.engine import Rows, Span
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark import columns as spark_trial
from assay.predictions.spark import several
from assay.predictions.spark.columns import refuse_other_arithmetic, with_digest, with_place
from assay.predictions.spark.scanner import SparkScanner
from assay.predictions.sql.rows import spread_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANSI = "spark.sql.ansi.enabled"


def open_spark(scan: Scan, roles: Roles, show: Sequence[str]) -> SparkScanner:
    """Open predictions of one classifier."""
    return several.open_spark(scan, {"it": roles}, show)


TOP = 2**64 - 1


class Population:
    """Predictions in memory, and what numpy counts and draws of them."""

    def __init__(self, ids: Sequence[Id], score: Floats, predicted: Bools) -> None:
        self.ids, self.score, self.predicted = np.array(ids), score, predicted

    @property
    def table(self) -> "pa.Table":
        columns = {"id": self.ids, "p": self.score, "said": self.predicted}
        return pa.table({**columns, "text": [f"item {id}" for id in self.ids]})

    def cells(self, values: Floats | None = None) -> ScoreCells:
        counted = self.score if values is None else values
        return cells_of(counted + 0.0, self.predicted, digest(self.ids))

    def inside(self, span: Span, values: Floats) -> Bools:
        side = np.full(values.size, True) if span.side is None else self.predicted == span.side
        return side & (values >= span.low) & (values < span.high)


def population(kind: IdKind = "integer", rule: Rule = "probability") -> Population:
    rng = np.random.default_rng(6)
    size = 5_000
    ids: list[Any] = rng.integers(-(2**63), 2**63 - 1, size).tolist()
    ids[:4] = [0, -1, 2**63 - 1, -(2**63)]
    if kind == "string":
        ids = [f"https://example.org/{id}?q='naïve'" for id in ids]
        ids[:4] = ["", "007", "東京", "back\\slash"]
    score = rng.beta(0.05, 0.1, size)
    ends = [0.0, 1.0, 0.5, 1e-300, -0.0, 5e-324]
    if rule == "margin":
        score = rng.standard_t(1, size) * 10.0 ** rng.integers(-8, 8, size)
        ends = [0.0, 1.0, 0.5, -1e300, -0.0, 1.7e308]
    score[: len(ends)] = ends
    return Population(ids, score, rng.random(size) < 0.3)


def roles(**changed: Any) -> Roles:
    named = {"score": "p", "predicted": "said", "id": "id", "threshold": None, "positive": None}
    return Roles(**{**named, **changed})


def frame(spark: "SparkSession", table: "pa.Table") -> "DataFrame":
    return spark.createDataFrame(table)


def opened(spark: "SparkSession", items: Population, show: Sequence[str] = ()) -> SparkScanner:
    return open_spark(Scan(frame(spark, items.table)), roles(), show)


def check_cells(cells: ScoreCells, expected: ScoreCells) -> None:
    assert cells.rule == expected.rule
    for name in ("bin", "yes", "count", "low", "high", "digest"):
        got, right = getattr(cells, name), getattr(expected, name)
        assert got.dtype == right.dtype
        assert np.array_equal(got, right), name
    assert cells.fingerprint() == expected.fingerprint()


# Counting


@pytest.mark.parametrize("kind", ["integer", "string"])
@pytest.mark.parametrize("rule", ["probability", "margin"])
def test_the_cells_are_those_that_numpy_counts(
    spark: "SparkSession", kind: IdKind, rule: Rule
) -> None:
    items = population(kind, rule)
    scanner = opened(spark, items)
    assert scanner.id_kind == kind
    cells = scanner.survey(seed=1).cells
    check_cells(cells, items.cells())
    another = [*items.ids[:-1].tolist(), "another" if kind == "string" else 7]
    other = Population(another, items.score, items.predicted)
    with pytest.raises(AssertionError, match="digest"):
        check_cells(cells, other.cells())


def test_one_rule_counts_all_scores(spark: "SparkSession") -> None:
    """Scores in [0, 1] beside others go by the others' rule."""
    items = population(rule="margin")
    cells = opened(spark, items).survey(seed=1).cells
    each_by_its_own = [
        int(bins_of(np.array([score]), scale_of(score, score))[0]) for score in items.score
    ]
    assert set(cells.bin) == set(bins_of(items.score, "margin"))
    assert set(cells.bin) != set(each_by_its_own)


@pytest.mark.parametrize("scale", ["probability", "margin"])
def test_cells_by_confidence(spark: "SparkSession", scale: Scale) -> None:
    items = population(rule=scale)
    if scale == "margin":
        items.score[items.score == 1.7e308] = 3.0
    scanner = open_spark(Scan(frame(spark, items.table)), roles(), ())
    cells = scanner.cells("confidence", scale)
    values = confidence(items.score, items.predicted, scale)
    expected = items.cells(values)
    assert np.array_equal(cells.bin, expected.bin)
    assert np.array_equal(cells.count, expected.count)
    assert np.array_equal(cells.low, expected.low)
    assert np.array_equal(cells.high, expected.high)


def test_a_confidence_beyond_float64_is_refused(spark: "SparkSession") -> None:
    table = pa.table({"id": [1, 2], "p": [-1.7e308, 1.0]})
    scan = Scan(frame(spark, table))
    scanner = open_spark(scan, roles(predicted=None, threshold=1e308), ())
    with pytest.raises(PredictionsError, match=r"too far from the threshold 1e\+308"):
        scanner.cells("confidence", "margin")


def test_how_the_rows_lie_changes_nothing(spark: "SparkSession") -> None:
    items = population()
    shuffled = frame(spark, items.table.take(np.random.default_rng(1).permutation(5_000)))
    spans = [Span(True, 0.1, 0.9, TOP // 3), Span(False, -inf, 0.2, TOP // 7)]
    seen = []
    for rows in (frame(spark, items.table).coalesce(1), shuffled.repartition(64)):
        scanner = open_spark(Scan(rows), roles(), ())
        check_cells(scanner.survey(seed=1).cells, items.cells())
        drawn = scanner.rows(spans, variable="score", scale="probability", seed=5)
        seen.append(sorted(drawn.ids.values))
    assert seen[0] == seen[1] != []


def test_narrow_types_are_widened(spark: "SparkSession") -> None:
    rows = frame(spark, pa.table({"id": range(100), "p": np.linspace(-1, 1, 100)})).selectExpr(
        "CAST(id AS TINYINT) AS id", "CAST(p AS FLOAT) AS p", "CAST(p > 0 AS INT) AS said"
    )
    cells = open_spark(Scan(rows), roles(), ()).survey(seed=1).cells
    score = np.linspace(-1, 1, 100).astype(np.float32).astype(np.float64)
    check_cells(cells, cells_of(score, score > 0, digest(np.arange(100))))


# Drawing


SPANS = [
    Span(True, -inf, 0.1, TOP // 5),
    Span(True, 0.1, 0.9, TOP // 50),
    Span(True, 0.9, inf, TOP),
    Span(False, -inf, 0.5, TOP // 100),
    Span(False, 0.7, 0.8, 0),
]


def check_rows(rows: Rows, items: Population, values: Floats, spans: list[Span], seed: int) -> None:
    number = numbers(items.ids.tolist(), seed)
    wanted = np.full(number.size, False)
    for span in spans:
        wanted |= items.inside(span, values) & (number <= np.uint64(span.limit))
    expected = {
        id: (value, bool(said), {"text": f"item {id}"})
        for id, value, said in zip(
            items.ids[wanted].tolist(),
            values[wanted].tolist(),
            items.predicted[wanted],
            strict=True,
        )
    }
    ids = rows.ids.at(np.arange(len(rows.ids)))
    facts = zip(rows.values.tolist(), rows.predicted.tolist(), rows.shown or [], strict=True)
    assert dict(zip(ids, facts, strict=True)) == expected


@pytest.mark.parametrize("kind", ["integer", "string"])
@pytest.mark.parametrize("variable", ["score", "confidence"])
def test_the_rows_of_spans(spark: "SparkSession", kind: IdKind, variable: Variable) -> None:
    items = population(kind)
    values = items.score
    if variable == "confidence":
        values = confidence(items.score, items.predicted, "probability")
    scanner = opened(spark, items, show=["text"])
    rows = scanner.rows(SPANS, variable=variable, scale="probability", seed=9)
    assert len(rows.ids) > 20
    check_rows(rows, items, values, SPANS, seed=9)
    with pytest.raises(AssertionError):  # the order is that of the seed
        check_rows(rows, items, values, SPANS, seed=8)
    counts = scanner.count(SPANS, variable, "probability")
    assert counts.tolist() == [[items.inside(span, values).sum() for span in SPANS]] * 2


def test_spans_of_either_label(spark: "SparkSession") -> None:
    items = population(rule="margin")
    spans = [Span(None, -inf, 0.0, TOP // 9), Span(None, 0.0, inf, TOP // 3)]
    scanner = opened(spark, items, show=["text"])
    rows = scanner.rows(spans, variable="score", scale="margin", seed=2)
    check_rows(rows, items, items.score, spans, seed=2)


def test_no_rows(spark: "SparkSession") -> None:
    for kind in ("integer", "string"):
        scanner = opened(spark, population(kind), show=["text"])
        rows = scanner.rows([Span(True, 0.0, inf, 0)], variable="score", scale="margin", seed=2)
        assert (len(rows.ids), rows.ids.kind, rows.shown) == (0, kind, [])


@pytest.mark.parametrize("kind", ["integer", "string"])
def test_finding_and_showing(spark: "SparkSession", kind: IdKind) -> None:
    items = population(kind)
    there = items.ids[[3, 0, 77]].tolist()
    elsewhere: list[Id] = ["no", "\ud800"] if kind == "string" else [12, 2**63, 2**64]
    scanner = opened(spark, items, show=["text"])
    rows = scanner.find([*there, *elsewhere], variable="confidence", scale="probability")
    values = confidence(items.score, items.predicted, "probability")
    assert dict(zip(rows.ids.at(np.arange(3)), rows.values, strict=True)) == dict(
        zip(there, values[[3, 0, 77]], strict=True)
    )
    assert scanner.show(there) == [{"text": f"item {id}"} for id in there]
    assert len(scanner.find(elsewhere, variable="score", scale="margin").ids) == 0
    with pytest.raises(PredictionsError, match="1 of 2 drawn items are no longer there"):
        scanner.show([there[0], elsewhere[0]])


# The deck


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("kind", ["integer", "string"])
def test_numbers_in_either_mode(spark: "SparkSession", kind: IdKind, ansi: str) -> None:
    ids = population(kind).ids
    before = spark.conf.get(ANSI)
    spark.conf.set(ANSI, ansi)
    try:
        rows = frame(spark, pa.table({"id": ids}))
        table = with_place(with_digest(rows, "id", kind), "id", kind, seed=3).toArrow()
        scanner = open_spark(Scan(frame(spark, population(kind).table)), roles(), ())
        check_cells(scanner.survey(seed=1).cells, population(kind).cells())
        assert spark.conf.get(ANSI) == ansi
    finally:
        spark.conf.set(ANSI, before or "true")
    there: list[Any] = table["id"].to_pylist()
    assert np.array_equal(table["digest"].to_numpy().view(np.uint64), digest(there))
    places = [int(number) - 2**63 for number in numbers(there, 3)]
    assert table["place"].to_pylist() == places
    assert places != [int(number) - 2**63 for number in numbers(there, 4)]


def test_a_spark_that_computes_otherwise_is_refused(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_other_arithmetic(spark.newSession())
    monkeypatch.setattr(
        spark_trial,
        "spark_bin",
        lambda value, rule: f"CAST(floor({spread_sql(value, rule)}) AS INT)",
    )
    with pytest.raises(PredictionsError, match=r"bin of a probability, .*bin of a margin"):
        refuse_other_arithmetic(spark.newSession())
    monkeypatch.setattr(spark_trial, "_SEED", 2)
    monkeypatch.setattr(
        spark_trial, "with_place", lambda rows, id, kind, _seed: with_place(rows, id, kind, 3)
    )
    with pytest.raises(PredictionsError, match="number of integer ids, number of string ids"):
        refuse_other_arithmetic(spark.newSession())


# What is wrong with the rows


def refusal(spark: "SparkSession", table: "pa.Table", **changed: Any) -> str:
    scanner = open_spark(Scan(frame(spark, table)), roles(**changed), ())
    with pytest.raises(PredictionsError) as error:
        scanner.survey(seed=1)
    return str(error.value)


@pytest.mark.parametrize("bad", [None, nan])
def test_bad_scores(spark: "SparkSession", bad: float | None) -> None:
    table = pa.table({"id": ["a", "b", "c"], "p": [0.1, bad, bad], "said": [True, None, False]})
    told = refusal(spark, table)
    shown = "missing" if bad is None else repr(bad)
    assert told.startswith(
        "2 of 3 scores in column 'p' of Spark DataFrame are missing, NaN or infinite\n"
        f"such as (id 'b', p {shown}), (id 'c', p {shown})\n"
    )
    by_threshold = refusal(spark, table, predicted=None, threshold=0.5)
    assert "2 of 3 scores" in by_threshold


def test_labels_that_contradict_the_threshold(spark: "SparkSession") -> None:
    score, said = [0.5, 0.5, 0.4, 0.6, 0.9], [True, False, True, False, True]
    table = pa.table({"id": range(5), "p": score, "said": said})
    told = refusal(spark, table, threshold=0.5)
    assert told.startswith(
        "2 of 5 predicted labels in column 'said' of Spark DataFrame contradict threshold=0.5\n"
        "such as (id 2, p 0.4, said True), (id 3, p 0.6, said False)\n"
    )
    fits = table.take([0, 1, 4])
    open_spark(Scan(frame(spark, fits)), roles(threshold=0.5), ()).survey(seed=1)


@pytest.mark.parametrize(
    ("kind", "hint"),
    [("DOUBLE", "make them integers"), ("DECIMAL(20, 0)", "engine 'duckdb'"), ("DATE", "strings")],
)
def test_ids_of_other_types(spark: "SparkSession", kind: str, hint: str) -> None:
    rows = spark.sql(f"SELECT CAST(NULL AS {kind}) AS id, 0.5e0 AS p, TRUE AS said")
    with pytest.raises(PredictionsError, match="the ids in column 'id'") as error:
        open_spark(Scan(rows), roles(), ())
    assert hint in str(error.value)


# Where the rows come from


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The population as Parquet and as CSV files, in a folder of each."""
    place = tmp_path_factory.mktemp("spark-files")
    table = population("string").table
    for kind in ("parquet", "csv"):
        (place / f"items.{kind}").mkdir()
    for part in range(4):
        some = table.slice(part * 1250, 1250)
        pq.write_table(some, place / "items.parquet" / f"{part}.parquet")
        frame = some.to_pandas()
        frame.to_csv(place / "items.csv" / f"{part}.csv", index=False, quoting=csv.QUOTE_ALL)
    return place


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv/*.csv", "parquet/[0-3].parquet"])
def test_files(spark: "SparkSession", folder: Path, kind: str) -> None:
    path = f"{folder}/items.{kind}"
    scanner = open_spark(Scan(path, spark=spark), roles(), ["text"])
    assert scanner.source == path
    check_cells(scanner.survey(seed=1).cells, population("string").cells())
    assert scanner.show(["back\\slash", ""]) == [{"text": "item back\\slash"}, {"text": "item "}]


def test_the_ids_of_a_csv_file_are_what_they_are_written_as(
    spark: "SparkSession", tmp_path: Path
) -> None:
    def kind(*ids: str) -> str:
        lines = ["id,p,said", *(f"{id},0.5,true" for id in ids)]
        path = tmp_path / "a.csv"
        path.write_text("\n".join(lines))
        return open_spark(Scan(path, spark=spark), roles(), ()).id_kind

    assert kind("7", "-8", str(2**63 - 1)) == "integer"
    assert kind("7", "007") == "string"
    assert kind("7", "+8") == "string"
    assert kind("7", " 8") == "string"
    assert kind("7", "NA") == "string"
    assert kind("7", '""') == "string"
    assert kind("-7", str(2**63)) == "string"
    with pytest.raises(PredictionsError, match=r"2\^63 and more"):
        kind("7", str(2**63))


def test_values_in_a_csv_file(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,p,said,text\n1, 0.25,TRUE,"two\nlines, ""quoted"""\n2,1e-3, 0 ,\n')
    scanner = open_spark(Scan(path, spark=spark), roles(), ["text"])
    cells = scanner.survey(seed=1).cells
    check_cells(
        cells, cells_of(np.array([0.25, 1e-3]), np.array([True, False]), digest(np.array([1, 2])))
    )
    assert scanner.show([2, 1]) == [{"text": None}, {"text": 'two\nlines, "quoted"'}]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("id,p,said\n1,0.5,1\n,0.5,1", "1 of 2 ids in column 'id'"),
        ("id,p,said\n1,0.5,1\n2,x,1\n3,,1", "1 of 3 scores in column 'p' of .* are not numbers"),
        ("id,p,said\n1,0.5,1\n2,nan,1", "1 of 2 scores .* are missing, NaN or infinite"),
        ("id,p,said\n1,0.5,1\n2,0.5", "cannot be read by Spark"),
        ("id,p,said\n1,0.5,1\n2,0.5,0,7", "cannot be read by Spark"),
        ("id,p,said\n", "there are no predictions in"),
    ],
)
def test_bad_csv_files(spark: "SparkSession", tmp_path: Path, lines: str, told: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(lines)
    with pytest.raises(PredictionsError, match=told):
        open_spark(Scan(path, spark=spark), roles(), ()).survey(seed=1)


def test_csv_files_with_other_columns(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,p,said\n1,0.5,1\n")
    (tmp_path / "b.csv").write_text("p,id,said\n0.5,2,1\n")
    with pytest.raises(PredictionsError, match="cannot be read by Spark"):
        open_spark(Scan(f"{tmp_path}/*.csv", spark=spark), roles(), ()).survey(seed=1)


def test_tables_queries_and_conditions(spark: "SparkSession") -> None:
    items = population()
    before = [view.name for view in spark.catalog.listTables()]
    frame(spark, items.table).createOrReplaceTempView("`odd name`")
    try:
        table = Scan(table="`odd name`", spark=spark, where="p > 0.5 AND text LIKE 'item %'")
        query = Scan("SELECT * FROM `odd name` WHERE p > 0.5", spark=spark)
        cells = [open_spark(scan, roles(), ()).survey(seed=1).cells for scan in (table, query)]
        views = [view.name for view in spark.catalog.listTables()]
    finally:
        spark.catalog.dropTempView("odd name")
    kept = items.score > 0.5
    some = Population(items.ids[kept].tolist(), items.score[kept], items.predicted[kept])
    check_cells(cells[0], some.cells())
    check_cells(cells[1], some.cells())
    assert sorted(views) == sorted([*before, "odd name"])  # nothing is left behind


@pytest.mark.parametrize(
    "query",
    [
        "FROM (SELECT 1 AS id) INSERT OVERWRITE DIRECTORY '{}' USING json SELECT id",
        "WITH t AS (SELECT 1 AS id) INSERT OVERWRITE DIRECTORY '{}' USING json SELECT id FROM t",
    ],
)
def test_a_query_does_not_write(query: str, spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(PredictionsError, match="cannot be read by Spark"):
        open_spark(Scan(query.format(tmp_path / "written"), spark=spark), roles(), ())
    assert not (tmp_path / "written").exists()


def test_a_dataframe_needs_no_session(spark: "SparkSession") -> None:
    rows = frame(spark, population().table)
    assert open_spark(Scan(rows), roles(), ()).source == "Spark DataFrame"
    assert open_spark(Scan(rows, spark=rows.sparkSession), roles(), ()).id_kind == "integer"
    with pytest.raises(PredictionsError, match="not the session of the DataFrame"):
        open_spark(Scan(rows, spark="local[2]"), roles(), ())


def test_the_running_spark_by_its_url(spark: "SparkSession", folder: Path) -> None:
    path = folder / "items.parquet"
    assert open_spark(Scan(path, spark="local[2]"), roles(), ()).id_kind == "string"
    assert open_spark(Scan(path), roles(), ()).id_kind == "string"
    with pytest.raises(PredictionsError, match=r"already has a Spark, at local\[2\]"):
        open_spark(Scan(path, spark="local[3]"), roles(), ())
    spark.range(1).count()  # it is still there


@pytest.mark.parametrize(
    ("scan", "told"),
    [
        (Scan("/nowhere/items.parquet"), "/nowhere/items.parquet cannot be read by Spark"),
        (Scan("/nowhere"), r"/nowhere/\*.csv"),
        (Scan(table="nowhere"), "table nowhere cannot be read by Spark"),
        (Scan("SELEC 1"), "SELEC 1 cannot be read by Spark"),
        (Scan("SELECT * FROM nowhere"), "cannot be read by Spark"),
        (Scan("SELECT 1 AS id", where="day = 'Mon'"), "columns: id"),
        (Scan("SELECT 1 AS id", where="id ="), "where='id =' cannot be used"),
        (Scan("SELECT 1 AS id"), "column 'p' not found"),
        (Scan("SELECT 1 AS id, 2 AS ID, 0.5 AS p, 1 AS said"), "AMBIGUOUS"),
        (Scan(), "a DataFrame, a path or a query, or else a table"),
        (Scan("a.parquet", table="a"), "a DataFrame, a path or a query, or else a table"),
        (Scan({"id": [1]}), "Spark cannot read a dict"),
        (Scan("a.parquet", spark=7), "spark=7 is of type int"),
    ],
)
def test_what_cannot_be_opened(spark: "SparkSession", scan: Scan, told: str) -> None:
    assert spark.range(1).count() == 1
    with pytest.raises(PredictionsError, match=told):
        open_spark(scan, roles(), ())


def test_a_condition_that_no_row_fulfils(spark: "SparkSession") -> None:
    scan = Scan(frame(spark, population().table), where="p > 2")
    with pytest.raises(PredictionsError, match=r"no predictions in .*\nno row fulfils .* p > 2"):
        open_spark(scan, roles(), ()).survey(seed=1)


def test_a_job_that_fails_is_told(spark: "SparkSession") -> None:
    rows = spark.sql(
        "SELECT id, 0.5e0 AS p, raise_error('the disk is gone') IS NULL AS said FROM range(9)"
    )
    with pytest.raises(PredictionsError, match="the disk is gone"):
        open_spark(Scan(rows), roles(), ()).survey(seed=1)


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'assay-eval\[spark\]'"):
        open_spark(Scan("a.parquet", spark="local[2]"), roles(), ())


def test_a_remote_spark_without_its_client(tmp_path: Path) -> None:
    if find_spec("pyspark") is None or find_spec("grpc") is not None:
        pytest.skip("pyspark is not installed, or is with the client of Spark Connect")
    # In a process of its own, which pyspark takes for a remote one's from then on.
    program = tmp_path / "program.py"
    program.write_text("""
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.several import open_spark
roles = {"it": Roles("p", None, "id", 0.5, None)}
open_spark(Scan("a.parquet", spark="sc://127.0.0.1:1"), roles, ())
""")
    run = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=False, timeout=120
    )
    assert "MissingDependencyError" in run.stderr
    assert run.stderr.endswith("hint: pip install 'pyspark[connect]'\n")


def test_scores_of_the_predicted_class(spark: "SparkSession", tmp_path: Path) -> None:
    made = population()
    said = made.score >= 0.5
    sure = np.where(said, made.score, 1 - made.score)
    both = Population(made.ids.tolist(), sure, said)
    roles = Roles("p", "said", "id", None, None)
    path = str(tmp_path / "sure.parquet")
    pq.write_table(both.table, path)
    scan = Scan(path, engine="spark", spark=spark)
    [doubt] = open_spark(scan, roles, ()).survey(0).doubts
    assert "where the prediction is no" in doubt.problem
    turned = open_spark(scan, replace(roles, score_of="predicted"), ()).survey(0)
    assert turned.doubts == ()
    expected = Population(made.ids.tolist(), np.where(said, sure, 1 - sure), said).cells()
    assert turned.cells.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("log", ["_delta_log/0.json", "metadata/v1.metadata.json"])
def test_a_table_of_another_format_is_not_a_folder_of_files(
    log: str, spark: "SparkSession", tmp_path: Path
) -> None:
    """This Spark has neither reader; the files alone may hold rows that were deleted."""
    pq.write_table(population("integer").table, tmp_path / "a.parquet")
    (tmp_path / log).parent.mkdir()
    (tmp_path / log).write_text("{}")
    for path in (str(tmp_path), tmp_path.as_uri()):  # the latter only Spark looks at
        with pytest.raises(PredictionsError, match="this Spark has no reader for") as caught:
            open_spark(Scan(path, spark=spark), roles(), ())
        assert "the package of" in str(caught.value)
