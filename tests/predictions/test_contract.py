"""One contract for all engines: the same predictions answer alike, whatever reads them."""

from functools import cache
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from tests.predictions.contract import (
    Population,
    check_counts,
    check_deals,
    check_finds,
    check_strata_of_another,
    scan_by,
)
from tests.predictions.contract_populations import POPULATIONS, population

made = cache(population)

HERE = ("memory", "duckdb", "sqlite")
"""Readers that need no server: the two ways to count, and SQL in a database."""


@cache
def made_for(name: str, engine: str) -> Population:
    """Return a population without columns that a database has no type for."""
    if engine in ("memory", "duckdb", "spark"):
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
    ("engine", "name"),
    [
        *(each for each in product(HERE, POPULATIONS) if each != ("sqlite", "unsigned")),
        *product(("spark", "postgres", "clickhouse"), ("probabilities", "margins")),
    ],
)
def test_all_that_is_told(
    name: str, engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """What is counted, strata, cards, and items that are looked for."""
    meant = made_for(name, engine)
    found = meant.read(scan_by(request, engine, _written(meant, tmp_path)))
    check_counts(found, meant)
    check_strata_of_another(found, meant, made(name, 11))
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
    check_strata_of_another(found, meant, other)


def test_ids_that_spark_cannot_hold(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    meant = made("unsigned")
    with pytest.raises(PredictionsError, match=r"(?s)ids in column 'key'.*engine 'duckdb'"):
        meant.read(scan_by(request, "spark", _written(meant, tmp_path)))
