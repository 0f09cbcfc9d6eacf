"""One contract for all engines: the same predictions answer alike, whatever reads them."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from assay.predictions import Scan
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

HERE = ("memory", "duckdb", "sqlite")
"""Readers that need no server."""

# What a reader cannot hold.
BEYOND = {
    *product(("spark", "postgres", "sqlite"), ("unsigned",)),  # integers of 64 bits without a sign
    ("postgres", "unscored"),  # text with a zero byte
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


@pytest.fixture(params=HERE)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _written(meant: Population, folder: Path) -> Path:
    path = folder / "a.parquet"
    pq.write_table(meant.table, path, row_group_size=700)
    return path


@pytest.mark.parametrize(
    ("engine", "name"), [each for each in product(READERS, POPULATIONS) if each not in BEYOND]
)
def test_all_that_is_told(
    name: str, engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """What is counted, strata, cards, and items that are looked for."""
    meant = made_for(name, engine)
    found = meant.read(scan_by(request, engine, _written(meant, tmp_path)))
    check_counts(found, meant)
    if engine in HERE:  # strata follow from the counts, whatever has counted
        check_strata(found, meant)
    check_foreign_counts(found, meant, made(name, 11))
    check_deals(found, meant)
    check_finds(found, meant)


@pytest.mark.parametrize("part", [False, True], ids=["of another", "of which these are a part"])
def test_cards_of_strata_of_another_population(
    part: bool, request: pytest.FixtureRequest, engine: str, tmp_path: Path
) -> None:
    whole = made_for("probabilities", engine)
    some = whole.only(range(0, len(whole.items), 5))
    meant, other = (some, whole) if part else (whole, some)
    found = meant.read(scan_by(request, engine, _written(meant, tmp_path)))
    check_deals_of_another(found, meant, other)


@pytest.mark.parametrize(
    ("engine", "layout"),
    [*(("duckdb", layout) for layout in LAYOUTS), ("spark", "CSV"), ("spark", "JSON lines")],
)
def test_layouts(layout: str, engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    for name in ("margins", "ties"):
        meant, folder = made_plain(name), tmp_path / name
        folder.mkdir()
        path = LAYOUTS[layout](meant.table.select(meant.columns), folder)
        check_draw(meant.read(scan_by(request, engine, path)), meant)


def test_partitions_of_spark(spark: Any, tmp_path: Path) -> None:
    meant = made_plain("margins")
    frame = spark.read.parquet(str(_written(meant, tmp_path))).repartition(64)
    check_draw(meant.read(frame), meant)


@pytest.mark.parametrize("layout", ["one file", "by language", "CSV"])
def test_a_condition_is_to_filter_first(layout: str, tmp_path: Path) -> None:
    whole = made_plain("margins")
    meant = whole.only([row for row, item in enumerate(whole.items) if item.shown["lang"] == "en"])
    path = LAYOUTS[layout](whole.table.select(whole.columns), tmp_path)
    check_draw(meant.read(Scan(path, where="lang = 'en'", engine="duckdb")), meant)
    with pytest.raises(AssertionError):
        check_draw(meant.read(Scan(path, where="lang <> 'en'", engine="duckdb")), meant)


def test_ids_that_spark_cannot_hold(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    meant = made("unsigned")
    with pytest.raises(PredictionsError, match=r"(?s)ids in column 'key'.*engine 'duckdb'"):
        meant.read(scan_by(request, "spark", _written(meant, tmp_path)))
