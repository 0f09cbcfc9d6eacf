"""One contract for all engines: the same predictions answer alike, whatever reads them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from assay.predictions import Predictions
from tests.predictions.contract import (
    FILE_ENGINES,
    READERS,
    Population,
    check_counts,
    check_deals,
    check_deals_of_another,
    check_draw,
    check_finds,
    check_foreign_counts,
    check_strata,
    scan_by,
)
from tests.predictions.contract_layouts import LAYOUTS
from tests.predictions.contract_populations import POPULATIONS, population

made = cache(population)

# What a reader cannot hold.
BEYOND = {
    ("spark", "unsigned"): "Spark has no unsigned integers of 64 bits",
    ("postgres", "unsigned"): "PostgreSQL has no unsigned integers of 64 bits",
    ("sqlite", "unsigned"): "SQLite has no unsigned integers of 64 bits",
    ("postgres", "unscored"): "PostgreSQL holds no text with a zero byte",
}


@cache
def made_plain(name: str) -> Population:
    """Return a population of which only text is shown: files without types have nothing else."""
    return made(name).showing("lang", "text")


@cache
def made_for(name: str, engine: str) -> Population:
    """Return a population without columns that a database has no type for."""
    if engine in FILE_ENGINES:
        return made(name)
    exact = () if engine == "sqlite" else ("price",)
    return made(name).showing("lang", "text", "row", "day", "weight", *exact)


@pytest.fixture(scope="module")
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Predictions]:
    """Read a population with an engine, once."""
    folder = tmp_path_factory.mktemp("contract")

    @cache
    def path_of(name: str) -> Path:
        path = folder / f"{name}.parquet"
        pq.write_table(made(name).table, path, row_group_size=700)
        return path

    @cache
    def read(name: str, engine: str) -> Predictions:
        if (engine, name) in BEYOND:
            pytest.skip(BEYOND[engine, name])
        return made_for(name, engine).read(scan_by(request, engine, path_of(name)))

    return read


@pytest.fixture(params=READERS)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=POPULATIONS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def found(opened: Callable[[str, str], Predictions], name: str, engine: str) -> Predictions:
    return opened(name, engine)


def test_what_is_counted(found: Predictions, name: str) -> None:
    check_counts(found, made(name))


def test_strata(found: Predictions, name: str) -> None:
    check_strata(found, made(name))


def test_counts_in_strata_of_another_population(found: Predictions, name: str) -> None:
    check_foreign_counts(found, made(name), made(name, 11))


def test_cards(found: Predictions, name: str, engine: str) -> None:
    check_deals(found, made_for(name, engine))


def test_items_that_are_looked_for(found: Predictions, name: str, engine: str) -> None:
    check_finds(found, made_for(name, engine))


def test_an_item_that_is_looked_for_twice(
    opened: Callable[[str, str], Predictions], engine: str
) -> None:
    first, second = made("margins").items[:2]
    ids = [first.id, second.id, first.id]
    answers = opened("margins", engine).find(ids, variable="score", scale="margin")
    assert [answer and answer.card.id for answer in answers] == ids


@pytest.mark.parametrize("part", [False, True], ids=["of another", "of which these are a part"])
def test_cards_of_strata_of_another_population(
    part: bool, request: pytest.FixtureRequest, engine: str, tmp_path: Path
) -> None:
    whole = made_for("probabilities", engine)
    some = whole.only(range(0, len(whole.items), 5))
    meant, other = (some, whole) if part else (whole, some)
    pq.write_table(meant.table, tmp_path / "a.parquet")
    check_deals_of_another(
        meant.read(scan_by(request, engine, tmp_path / "a.parquet")), meant, other
    )


@pytest.mark.parametrize("engine", FILE_ENGINES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["margins", "ties"])
def test_layouts(
    name: str, layout: str, engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    meant = made_plain(name)
    if engine == "spark" and name == "ties" and layout not in ("CSV", "JSON lines"):
        pytest.skip("what Spark does with integers in Parquet files is tested above")
    path = LAYOUTS[layout](meant.table.select(meant.columns), tmp_path)
    check_draw(meant.read(scan_by(request, engine, path)), meant)


@pytest.mark.parametrize("partitions", [1, 64])
def test_partitions_of_spark(partitions: int, spark: Any, tmp_path: Path) -> None:
    meant = made_plain("margins")
    pq.write_table(meant.table, tmp_path / "a.parquet")
    frame = spark.read.parquet(str(tmp_path / "a.parquet")).repartition(partitions)
    check_draw(meant.read(frame), meant)


@pytest.mark.parametrize("layout", ["one file", "by language", "CSV"])
def test_a_condition_is_to_filter_first(
    layout: str, engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if engine not in FILE_ENGINES and layout != "one file":
        pytest.skip("a table of a database has no layout")
    whole = made_plain("margins")
    meant = whole.only([row for row, item in enumerate(whole.items) if item.shown["lang"] == "en"])
    path = LAYOUTS[layout](whole.table.select(whole.columns), tmp_path)
    check_draw(meant.read(scan_by(request, engine, path, where="lang = 'en'")), meant)
    with pytest.raises(AssertionError):
        check_draw(meant.read(scan_by(request, engine, path, where="lang <> 'en'")), meant)


def test_ids_that_spark_cannot_hold(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    pq.write_table(made("unsigned").table, tmp_path / "a.parquet")
    with pytest.raises(PredictionsError, match=r"(?s)ids in column 'key'.*engine 'duckdb'"):
        made("unsigned").read(scan_by(request, "spark", tmp_path / "a.parquet"))
