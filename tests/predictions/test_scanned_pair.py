"""Two weeks that stay where they are: the same as in memory, item by item."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.vocabulary import Vocabulary
from assay.errors import AssayWarning, PredictionsError
from assay.predictions import Predictions, Scan, are_alike, read_predictions, telling_notes
from assay.predictions.memory import ArrayScanner
from assay.predictions.pairs import duckdb as duckdb_pair
from assay.predictions.pairs.duckdb import DuckPair
from assay.predictions.pairs.scanner import PairScanner
from assay.predictions.pairs.spark import SparkPair
from assay.predictions.scan import Engine
from tests.predictions.database_tables import in_database
from tests.predictions.pair_population import (
    WEEKS,
    WEIGHTS,
    check_opinions,
    check_pair,
    read,
    strata_of,
    weeks,
    with_opinions,
)
from tests.predictions.several_population import CLASSIFIERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_PLACE: Engine = "duckdb"


def _written(tables: Any, folder: Path) -> list[Path]:
    paths = [folder / "old.parquet", folder / "new.parquet"]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path, row_group_size=300)
    return paths


def _scans(paths: list[Path], *engines: Engine) -> list[Scan]:
    every = engines or (IN_PLACE, IN_PLACE)
    return [Scan(path, engine=engine) for path, engine in zip(paths, every, strict=True)]


BY = {"sample_weight": "views"}


LAYOUTS: dict[str, tuple[dict[str, Any], tuple[str, str], dict[str, Any]]] = {
    **{items: ({"items": items}, ("odds", "odds"), {}) for items in WEEKS},
    **{kind: ({"weights": kind}, ("odds", "odds"), BY) for kind in WEIGHTS},
    "strings": ({"strings": True}, ("votes", "sure"), {}),
    "strings, weights": ({"strings": True, "weights": "lognormal"}, ("margin", "rare"), BY),
    "keys": ({}, ("odds", "odds"), {"id": "lang,key"}),
}
"""What makes the weeks, two of the classifiers, and further options."""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_that_is_told(layout: str, tmp_path: Path) -> None:
    made, classifiers, options = LAYOUTS[layout]
    tables = weeks(**made)
    found = read(_scans(_written(tables, tmp_path)), *classifiers, **options)
    assert isinstance(found.scanner, PairScanner)
    meant = read(tables, *classifiers, **options)
    other = read(weeks(), "odds", "margin") if classifiers == ("odds", "odds") else None
    check_pair(found, meant, other=other)


@pytest.mark.parametrize("engines", [("duckdb", "memory"), ("memory", "duckdb")])
def test_one_of_the_two_in_memory(engines: tuple[Engine, Engine], tmp_path: Path) -> None:
    tables = weeks(weights="lognormal")
    found = read(_scans(_written(tables, tmp_path), *engines), sample_weight="views")
    assert [isinstance(part.scanner, ArrayScanner) for part in found.parts] == [
        engine == "memory" for engine in engines
    ]
    check_pair(found, read(tables, sample_weight="views"), other=read(weeks(), "odds", "margin"))


def test_tables_of_databases(request: pytest.FixtureRequest) -> None:
    tables = weeks(strings=True, weights="lognormal")
    kinds = ("postgres", "clickhouse")
    scans = [in_database(request, kind, table) for kind, table in zip(kinds, tables, strict=True)]
    notes: list[str] = []
    with telling_notes(notes.append):
        found = read(scans, "rare", "margin", sample_weight="views")
    moved = [f"{part.size:,}" for part in found.parts]
    assert [text.split(" rows of ")[0] for text in notes] == moved
    assert all(text.endswith(" are moved to DuckDB") for text in notes)
    check_pair(found, read(tables, "rare", "margin", sample_weight="views"))


def test_nobody_is_called_yes_in_one_of_them(tmp_path: Path) -> None:
    old, new = weeks()
    column = old.column_names.index("p")
    low = old.set_column(column, "p", pa.array(np.linspace(0.0, 0.2, old.num_rows)))
    found = read(_scans(_written((low, new), tmp_path)))
    check_pair(found, read((low, new)))
    assert not any(code & 1 for code in found.cells())


def test_more_memory_is_taken_where_the_join_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = weeks()
    monkeypatch.setattr(duckdb_pair, "_MEMORY", "1MB")
    check_pair(read(_scans(_written(tables, tmp_path))), read(tables))


def test_impressions_are_of_both_weeks_together(tmp_path: Path) -> None:
    """Those of each week by itself, a mistake that is easily made, would make other draws."""
    tables = weeks("disjoint", weights="lognormal")
    found = read(_scans(_written(tables, tmp_path)), sample_weight="views")
    assert 2**49 <= sum(found.cells().values()) <= 2**50
    ids: list[Any] = tables[1]["key"].to_pylist()[:9]
    cards = [
        each.find(ids, variable="rank", scale="probability")
        for each in (found, read([tables[1], tables[1]], sample_weight="views"))
    ]
    both, alone = ([item.card.weight or 0 for item in each if item] for each in cards)
    assert alone == pytest.approx([2 * weight for weight in both], abs=2)


def test_an_id_that_repeats_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = weeks()
    for tables in (
        (old, pa.concat_tables([new, new.slice(3, 2)])),
        (pa.concat_tables([old, old]), new),
    ):
        with pytest.raises(PredictionsError, match="ids that occur more than once"):
            read(_scans(_written(tables, tmp_path)))
    # Beyond the listed ones, too: an item of both that is twice in one would be joined twice.
    monkeypatch.setattr("assay.predictions.duckdb.scanner._LISTED", 1)
    with pytest.raises(PredictionsError, match=r"column 'key' of .*new.* more than once: 2"):
        read(_scans(_written((old, pa.concat_tables([new, new.slice(3, 2)])), tmp_path)))


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (lambda key: key.cast(pa.string()), "are integers, and those in .* are strings"),
        (
            lambda key: pa.array(np.asarray(key).astype(np.uint64)),
            "some ids are below 0, others are 2.63 or more",
        ),
    ],
)
def test_ids_of_two_kinds_are_refused(ids: Any, told: str, tmp_path: Path) -> None:
    old, new = weeks()
    changed = new.set_column(0, "key", ids(new["key"].combine_chunks()))
    with pytest.raises(PredictionsError, match=told):
        read(_scans(_written((old, changed), tmp_path)))


def test_ids_with_and_without_a_sign_are_joined_where_64_bits_hold_them(tmp_path: Path) -> None:
    old, new = (table.take(np.flatnonzero(np.asarray(table["key"]) >= 0)) for table in weeks())
    huge = pa.array([2**64 - 1, *new["key"].to_pylist()[1:]], pa.uint64())
    tables = (old, new.set_column(0, "key", huge))
    check_pair(read(_scans(_written(tables, tmp_path))), read(tables))


def test_what_was_read_before_is_taken_as_it_is(tmp_path: Path) -> None:
    tables = weeks()
    paths = _written(tables, tmp_path)
    columns: dict[str, Any] = {**CLASSIFIERS["odds"], "id": "key", "show": ["text"], "seed": 7}
    lying = read_predictions(Scan(paths[0], engine="duckdb"), **columns)
    check_pair(read([lying, Scan(paths[1], engine="duckdb")]), read(tables))
    check_pair(read([lying, tables[1]]), read(tables))
    check_pair(read([lying, lying]), read([tables[0], tables[0]]))


def test_both_are_looked_at_again(tmp_path: Path) -> None:
    tables = weeks()
    paths = _written(tables, tmp_path)
    found = read(_scans(paths))
    assert found.as_it_is_now().fingerprint() == found.fingerprint()
    pq.write_table(tables[1].slice(1), paths[1])
    again = found.as_it_is_now()
    assert [part.size for part in again.parts] == [900, 1_099]
    assert again.fingerprint() != found.fingerprint()


def test_weights_of_one_and_several_places_are_refused(tmp_path: Path) -> None:
    tables = weeks()
    paths = _written(tables, tmp_path)
    columns: dict[str, Any] = {**CLASSIFIERS["odds"], "id": "key", "sample_weight": "c"}
    one = read_predictions(Scan(paths[0], engine="duckdb"), **columns)
    other = Scan(paths[1], engine="duckdb")
    for each in ([one, other], [other, one]):
        with pytest.raises(PredictionsError, match=r"have weights, and those of .* have none"):
            read(each)
    named = read_predictions(
        Scan(paths[0], engine="duckdb"), classifiers={"a": CLASSIFIERS["odds"]}, id="key"
    )
    with pytest.raises(PredictionsError, match="several classifiers"):
        read([named, other])


def test_second_opinions(tmp_path: Path) -> None:
    """Of an item in both the later one's count; a model of them takes the rank's place."""
    tables = [with_opinions(table, place) for place, table in enumerate(weeks())]
    found = check_opinions(_scans(_written(tables, tmp_path)), tables, "odds", "margin")
    assert isinstance(found.scanner, PairScanner)


def test_opinions_of_two_kinds_are_read_into_memory(tmp_path: Path) -> None:
    old, new = (with_opinions(table, place) for place, table in enumerate(weeks()))
    texts = pa.array([None if value is None else str(value) for value in new["judge"].to_pylist()])
    changed = new.set_column(new.column_names.index("judge"), "judge", texts)
    found = read(_scans(_written((old, changed), tmp_path)), aux=["judge"])
    assert isinstance(found.scanner, ArrayScanner)
    assert found.opinions_digest() == read((old, changed), aux=["judge"]).opinions_digest()


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ({"aux": ["c"]}, "compared with aux="),
        ({"classes": Vocabulary(("a", "b", "c"))}, "more classes than yes and no are in Spark"),
    ],
)
def test_what_is_compared_in_memory_is_not_taken_from_a_cluster(
    beside: dict[str, Any], told: str
) -> None:
    lying = Scan("preds.parquet", spark="spark://host:7077")
    with pytest.raises(PredictionsError, match=told):
        read([lying, weeks()[1]], **beside)


# Spark


def _join(found: Predictions) -> object:
    assert isinstance(found.scanner, PairScanner)
    return found.scanner


def test_the_smaller_side_travels_to_spark_or_back(spark: "SparkSession", tmp_path: Path) -> None:
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


def test_second_opinions_in_spark(spark: "SparkSession", tmp_path: Path) -> None:
    tables = [with_opinions(table, place) for place, table in enumerate(weeks(strings=True))]
    scans = [Scan(path, spark=spark) for path in _written(tables, tmp_path)]
    few = ["judge", "tongue"]  # each makes plans longer
    found = check_opinions(scans, tables, "votes", "sure", aux=few, seeds=1, thorough=False)
    assert isinstance(_join(found), SparkPair)


def test_an_id_that_repeats_in_spark_is_told(spark: "SparkSession", tmp_path: Path) -> None:
    """However often: in a join it would multiply."""
    old, new = weeks()
    paths = _written((old, pa.concat_tables([new, new.slice(3, 2), new.slice(3, 1)])), tmp_path)
    with pytest.raises(PredictionsError, match=r"of .*new.parquet has ids that .* once: 2"):
        read([Scan(path, spark=spark) for path in paths])


def test_strata_tell_which_items_each_was_applied_to(tmp_path: Path) -> None:
    found = read(_scans(_written(weeks(), tmp_path)))
    assert strata_of(found, 2).groups.names == ("old", "new")
    assert are_alike(found, "precision") is False
    same = read(_scans(_written((weeks()[0],) * 2, tmp_path)))
    assert are_alike(same, "precision") is True
