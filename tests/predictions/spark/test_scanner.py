"""What the Spark engine opens, computes and refuses. Its answers are in `test_contract.py`."""

import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.deck import IdKind, digest, numbers
from assay.core.profile import ScoreCells
from assay.core.tally import cells_of
from assay.errors import MissingDependencyError, PredictionsError
from assay.predictions.layout import Layout
from assay.predictions.query import Query
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark import scanner as spark_scanner
from assay.predictions.spark.scanner import frame_of, refuse_untried
from assay.predictions.sql import table as trial
from assay.predictions.sql.counting import CountingScanner
from assay.predictions.sql.items import Items
from assay.predictions.sql.rows import spread_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANSI = "spark.sql.ansi.enabled"
SIZE = 2_000
RNG = np.random.default_rng(6)
SCORE = RNG.beta(0.05, 0.1, SIZE)
SAID = RNG.random(SIZE) < 0.3
IDS: dict[IdKind, list[Any]] = {
    "integer": [0, -1, 2**63 - 1, -(2**63), *range(10, SIZE + 6)],
    "string": ["", "007", "東京", "back\\slash", *(f"naïve '{row}'" for row in range(SIZE - 4))],
}


def open_spark(scan: Scan, roles: Roles, show: Sequence[str] = ()) -> CountingScanner:
    """Open predictions of one classifier."""
    return spark_scanner.open_spark(scan, Layout({"it": roles}, "id", tuple(show)))


def roles(**changed: Any) -> Roles:
    named = {"score": "p", "predicted": "said", "id": None, "threshold": None, "positive": None}
    return Roles(**{**named, **changed})


def table(kind: IdKind = "integer") -> "pa.Table":
    ids = IDS[kind]
    return pa.table({"id": ids, "p": SCORE, "said": SAID, "text": [f"item {id}" for id in ids]})


def frame(spark: "SparkSession", rows: "pa.Table") -> "DataFrame":
    return spark.createDataFrame(rows)


def check_cells(scanner: CountingScanner, rows: "pa.Table") -> None:
    """Compare the counts with those of numpy."""
    found: ScoreCells = scanner.survey(seed=1).cells
    ids: Any = rows["id"].to_pylist()
    expected = cells_of(np.asarray(rows["p"]), np.asarray(rows["said"]), digest(ids))
    for name in ("bin", "yes", "count", "low", "high", "digest"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.fingerprint() == expected.fingerprint()


# Computing


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_numbers_in_either_mode(spark: "SparkSession", ansi: str) -> None:
    before = spark.conf.get(ANSI)
    spark.conf.set(ANSI, ansi)
    try:
        for kind in IDS:
            rows = frame(spark, table(kind))
            items = Items(Query(rows).select("id")).with_digest(kind)
            items = items.with_column(f"{items.numbered('id', kind, 3).place} AS place")
            found = frame_of(items.query).toArrow()
            check_cells(open_spark(Scan(rows), roles()), table(kind))
            there: list[Any] = found["id"].to_pylist()
            assert np.array_equal(found["word"].to_numpy().view(np.uint64), digest(there))
            places = [int(number) - 2**63 for number in numbers(there, 3)]
            assert found["place"].to_pylist() == places
            assert places != [int(number) - 2**63 for number in numbers(there, 4)]
        assert spark.conf.get(ANSI) == ansi
    finally:
        spark.conf.set(ANSI, before or "true")


def test_a_spark_that_computes_otherwise_is_refused(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_untried(spark.newSession())
    monkeypatch.setattr(
        trial, "bin_sql", lambda value, rule: f"CAST(floor({spread_sql(value, rule)}) AS INT)"
    )
    with pytest.raises(PredictionsError, match=r"bin of a probability, .*bin of a margin"):
        refuse_untried(spark.newSession())
    numbered = Items.numbered
    monkeypatch.setattr(
        Items, "numbered", lambda self, id, kind, _seed: numbered(self, id, kind, 3)
    )
    with pytest.raises(PredictionsError, match="number of integer ids, number of string ids"):
        refuse_untried(spark.newSession())


# Where the rows come from


def test_files_in_spark(spark: "SparkSession", tmp_path: Path) -> None:
    """Files of Parquet, CSV and JSON lines, by a pattern."""
    for part in range(4):
        some = table("string").slice(part * 500, 500)
        pq.write_table(some, tmp_path / f"{part}.parquet")
        some.to_pandas().to_csv(tmp_path / f"{part}.csv", index=False, quoting=csv.QUOTE_ALL)
        lines = "\n".join(map(json.dumps, some.to_pylist()))
        (tmp_path / f"{part}.jsonl").write_text(lines)
    for path in (f"{tmp_path}/[0-3].parquet", f"{tmp_path}/*.csv", f"{tmp_path}/*.jsonl"):
        scanner = open_spark(Scan(path, spark=spark), roles(), ["text"])
        assert scanner.source == path
        check_cells(scanner, table("string"))
        shown = [{"text": "item back\\slash"}, {"text": "item "}]
        assert scanner.show(["back\\slash", ""]) == shown
        elsewhere: list[int | str] = ["no", "\ud800"]  # the second is not text in UTF-8
        assert len(scanner.find(elsewhere, variable="score", scale="margin").ids) == 0


def test_the_ids_of_a_csv_file_are_what_they_are_written_as(
    spark: "SparkSession", tmp_path: Path
) -> None:
    def kind(*ids: str) -> str:
        lines = ["id,p,said", *(f"{id},0.5,true" for id in ids)]
        path = tmp_path / "a.csv"
        path.write_text("\n".join(lines))
        return open_spark(Scan(path, spark=spark), roles()).id_kind

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
    check_cells(scanner, pa.table({"id": [1, 2], "p": [0.25, 1e-3], "said": [True, False]}))
    assert scanner.show([2, 1]) == [{"text": None}, {"text": 'two\nlines, "quoted"'}]


def test_bad_csv_files(spark: "SparkSession", tmp_path: Path) -> None:
    good = "id,p,said\n1,0.5,1\n"
    for place, (files, told) in enumerate(
        (
            ([good + "2,x,1\n3,,1"], "1 of 3 scores in column 'p' of .* are not numbers"),
            ([good + "2,0.5"], "cannot be read by Spark"),
            ([good + "2,0.5,0,7"], "cannot be read by Spark"),
            ([good, "p,id,said\n0.5,2,1\n"], "cannot be read by Spark"),
            (["id,p,said\n"], "there are no predictions in"),
        )
    ):
        (tmp_path / str(place)).mkdir()
        for number, text in enumerate(files):
            (tmp_path / str(place) / f"{number}.csv").write_text(text)
        with pytest.raises(PredictionsError, match=told):
            open_spark(Scan(f"{tmp_path}/{place}/*.csv", spark=spark), roles()).survey(seed=1)


def test_tables_queries_and_conditions(spark: "SparkSession") -> None:
    before = [view.name for view in spark.catalog.listTables()]
    frame(spark, table()).createOrReplaceTempView("`odd name`")
    some = table().filter(pa.array(SCORE > 0.5))
    try:
        named = Scan(table="`odd name`", spark=spark, where="p > 0.5 AND text LIKE 'item %'")
        query = Scan("SELECT * FROM `odd name` WHERE p > 0.5", spark=spark)
        for scan in (named, query):
            check_cells(open_spark(scan, roles()), some)
        none = open_spark(Scan(table="`odd name`", spark=spark, where="p > 2"), roles())
        with pytest.raises(
            PredictionsError, match=r"no predictions in .*\nno row fulfils .* p > 2"
        ):
            none.survey(seed=1)
        views = [view.name for view in spark.catalog.listTables()]
    finally:
        spark.catalog.dropTempView("odd name")
    assert sorted(views) == sorted([*before, "odd name"])  # nothing is left behind


def test_a_query_does_not_write(spark: "SparkSession", tmp_path: Path) -> None:
    writes = f"INSERT OVERWRITE DIRECTORY '{tmp_path}/written' USING json SELECT id"
    for query in (f"FROM (SELECT 1 AS id) {writes}", f"WITH t AS (SELECT 1 AS id) {writes} FROM t"):
        with pytest.raises(PredictionsError, match="cannot be read by Spark"):
            open_spark(Scan(query, spark=spark), roles())
    assert not (tmp_path / "written").exists()


def test_sessions(spark: "SparkSession", tmp_path: Path) -> None:
    """A DataFrame has its own; else the one that runs is taken, also by its URL."""
    rows, path = frame(spark, table()), tmp_path / "a.parquet"
    pq.write_table(table(), path)
    assert open_spark(Scan(rows), roles()).source == "Spark DataFrame"
    assert open_spark(Scan(rows, spark=rows.sparkSession), roles()).id_kind == "integer"
    with pytest.raises(PredictionsError, match="not the session of the DataFrame"):
        open_spark(Scan(rows, spark="local[2]"), roles())
    for scan in (Scan(path, spark="local[2]"), Scan(path)):
        assert open_spark(scan, roles()).id_kind == "integer"
    with pytest.raises(PredictionsError, match=r"already has a Spark, at local\[2\]"):
        open_spark(Scan(path, spark="local[3]"), roles())
    spark.range(1).count()  # it is still there


REFUSED = [
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
]


def test_what_cannot_be_opened(spark: "SparkSession") -> None:
    assert spark.range(1).count() == 1
    for scan, told in REFUSED:
        with pytest.raises(PredictionsError, match=told):
            open_spark(scan, roles())


def test_a_job_that_fails_is_told(spark: "SparkSession") -> None:
    rows = spark.sql(
        "SELECT id, 0.5e0 AS p, raise_error('the disk is gone') IS NULL AS said FROM range(9)"
    )
    with pytest.raises(PredictionsError, match="the disk is gone"):
        open_spark(Scan(rows), roles()).survey(seed=1)


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'assay-eval\[spark\]'"):
        open_spark(Scan("a.parquet", spark="local[2]"), roles())


def test_a_remote_spark_without_its_client(tmp_path: Path) -> None:
    if find_spec("pyspark") is None or find_spec("grpc") is not None:
        pytest.skip("pyspark is not installed, or is with the client of Spark Connect")
    # In a process of its own, which pyspark takes for a remote one's from then on.
    program = tmp_path / "program.py"
    program.write_text("""
from assay.predictions.layout import Layout
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.scanner import open_spark
layout = Layout({"it": Roles("p", None, None, 0.5, None)}, "id")
open_spark(Scan("a.parquet", spark="sc://127.0.0.1:1"), layout)
""")
    run = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=False, timeout=120
    )
    assert "MissingDependencyError" in run.stderr
    assert run.stderr.endswith("hint: pip install 'pyspark[connect]'\n")


def test_a_table_of_another_format_is_not_a_folder_of_files(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """This Spark has neither reader; the files alone may hold rows that were deleted."""
    for name, log in (("delta", "_delta_log/0.json"), ("ice", "metadata/v1.metadata.json")):
        folder = tmp_path / name
        (folder / log).parent.mkdir(parents=True)
        (folder / log).write_text("{}")
        pq.write_table(table(), folder / "a.parquet")
        for path in (str(folder), folder.as_uri()):  # the latter only Spark looks at
            with pytest.raises(PredictionsError, match="this Spark has no reader for") as caught:
                open_spark(Scan(path, spark=spark), roles())
            assert "the package of" in str(caught.value)
