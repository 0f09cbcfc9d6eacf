"""Two weeks in Spark, or one there and one elsewhere: the same as in memory, item by item."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import AssayWarning, PredictionsError
from assay.predictions import Scan, telling_notes
from assay.predictions.duckdb.pair import DuckPair
from assay.predictions.pair import ScannedPair
from assay.predictions.spark.pair import SparkPair
from tests.predictions.pair_population import check_opinions, check_pair, read, weeks, with_opinions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _written(tables: Any, folder: Path) -> list[str]:
    paths = [str(folder / "old.parquet"), str(folder / "new.parquet")]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path)
    return paths


def _join(found: object) -> object:
    assert isinstance(found, ScannedPair)
    return found.joined_by


def test_the_smaller_side_travels(spark: "SparkSession", tmp_path: Path) -> None:
    tables = weeks(weights="shares")  # of 900 and 1,100 rows
    old, new = _written(tables, tmp_path)
    notes: list[str] = []
    with telling_notes(notes.append):
        there = read([Scan(old, engine="duckdb"), Scan(new, spark=spark)], sample_weight="views")
    assert notes == [f"900 rows of {old} are moved to Spark"]
    assert isinstance(_join(there), SparkPair)
    check_pair(there, read(tables, sample_weight="views"), seeds=1)
    with pytest.warns(AssayWarning, match="^900 rows of .*old.parquet are moved to DuckDB$"):
        here = read([Scan(old, spark=spark), Scan(new, engine="duckdb")], sample_weight="views")
    assert isinstance(_join(here), DuckPair)
    check_pair(here, read(tables, sample_weight="views"), seeds=1)


def test_what_is_in_memory_travels_to_spark(spark: "SparkSession", tmp_path: Path) -> None:
    tables = weeks(strings=True)
    old, _ = _written(tables, tmp_path)
    smaller = tables[1].slice(0, 500)
    with pytest.warns(AssayWarning, match="^500 rows of .*Table.* are moved to Spark"):
        found = read([Scan(old, spark=spark), smaller], "rare", "votes")
    assert isinstance(_join(found), SparkPair)
    check_pair(found, read([tables[0], smaller], "rare", "votes"), seeds=1)


def test_second_opinions(spark: "SparkSession", tmp_path: Path) -> None:
    tables = [with_opinions(table, place) for place, table in enumerate(weeks(strings=True))]
    scans = [Scan(path, spark=spark) for path in _written(tables, tmp_path)]
    few = ["judge", "tongue"]  # each makes plans longer
    found = check_opinions(scans, tables, "votes", "sure", aux=few, seeds=1, thorough=False)
    assert isinstance(_join(found), SparkPair)


def test_an_id_that_repeats_is_told(spark: "SparkSession", tmp_path: Path) -> None:
    """However often: in a join it would multiply."""
    old, new = weeks()
    paths = _written((old, pa.concat_tables([new, new.slice(3, 2), new.slice(3, 1)])), tmp_path)
    with pytest.raises(PredictionsError, match=r"of .*new.parquet has ids that .* once: 2"):
        read([Scan(path, spark=spark) for path in paths])
