"""One contract for all engines: the same predictions answer alike, whatever reads them."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.core.types import Floats, Ints
from assay.errors import PredictionsError
from assay.predictions import Predictions, draw, read_predictions
from assay.predictions.duckdb import scanner as duck_scanner
from assay.predictions.scan import Engine, Scan
from tests.predictions.contract import (
    SEED,
    Population,
    check_counts,
    check_deals,
    check_finds,
    check_strata_of_another,
    scan_by,
)
from tests.predictions.contract_populations import POPULATIONS, population

made = cache(population)

HERE = ("memory", "duckdb", "toy")
"""Readers that need no server: the two ways to count, and SQL in a database."""


@cache
def made_for(name: str, engine: str) -> Population:
    """Return a population without columns that a database has no type for."""
    if engine in ("memory", "duckdb", "spark"):
        return made(name)
    return made(name).showing("lang", "text", "row", "day", "weight", "price")


def _written(meant: Population, folder: Path) -> Path:
    path = folder / "a.parquet"
    pq.write_table(meant.table, path, row_group_size=700)
    return path


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        *(each for each in product(HERE, POPULATIONS) if each != ("toy", "unsigned")),
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


def test_ids_that_spark_cannot_hold(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    meant = made("unsigned")
    with pytest.raises(PredictionsError, match=r"(?s)ids in column 'key'.*engine 'duckdb'"):
        meant.read(scan_by(request, "spark", _written(meant, tmp_path)))


# What follows from an engine's answers: DuckDB's, as one that is always there, and memory's.


def _read(meant: Population, folder: Path, engine: Engine = "duckdb") -> Predictions:
    return meant.read(Scan(_written(meant, folder), engine=engine))


@pytest.mark.parametrize("name", ["probabilities", "margins"])
def test_limits_that_are_too_low_are_raised(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duck_scanner, "_LISTED", 1)
    asked: list[Floats] = []

    def too_low(wanted: Ints, sizes: Ints) -> Floats:
        asked.append(wanted / sizes / 9)
        return asked[-1].copy()

    monkeypatch.setattr(draw, "first_shares", too_low)
    check_deals(_read(made(name), tmp_path), made(name))
    assert asked


def test_strata_of_two_flanks(tmp_path: Path) -> None:
    """A cell whose ends both lie in the flanks has its middle elsewhere."""
    meant = made("probabilities").showing("row")
    found = _read(meant, tmp_path)
    profile = meant.profile("score", "probability", None)
    low, high = (end[np.argmax(profile.count)] for end in (profile.low, profile.high))
    inside = sorted({item.score for item in meant.items if low <= item.score <= high})
    cuts = Cuts("gmm", (inside[1], inside[-1]), (1, 0, 1))
    strata = Strata.of_sides("score", {None: cuts}, (1, 1))
    sizes = [len(members) for members in meant.members(strata, "probability")]
    assert min(sizes) > 0
    assert found.count(strata, scale="probability").tolist() == sizes
    strata = Strata.of_sides("score", {None: cuts}, (sizes[0], sizes[1]))
    dealt = found.deal(strata, scale="probability", seed=SEED, counts=[50, 50])
    assert dealt == meant.dealt(strata, "probability", SEED, [50, 50])


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_stratum_that_holds_nothing(engine: Engine, tmp_path: Path) -> None:
    meant = made("probabilities").showing()
    found = _read(meant, tmp_path, engine)
    cuts = Cuts("equal", (2.0, 3.0), (0, 1, 2))
    strata = Strata.of_sides("score", {True: cuts}, (5, 5, 5))
    assert found.count(strata, scale="margin").tolist() == [found.positives, 0, 0]
    dealt = found.deal(strata, scale="margin", seed=SEED, counts=[2, 2, 2])
    assert dealt == meant.dealt(strata, "margin", SEED, [2, 2, 2])


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_what_cannot_be_answered(engine: Engine, tmp_path: Path) -> None:
    found = _read(made("margins"), tmp_path, engine)
    with pytest.raises(PredictionsError, match=r"run from .* to"):
        found.profile("confidence", "probability", [None])
    with pytest.raises(PredictionsError, match=r"run from .* to"):
        found.find(["a"], variable="confidence", scale="probability")
    with pytest.raises(PredictionsError, match="variable 'rank' cannot be computed"):
        found.profile("rank", "margin", [None])
    unknown = Strata.of_sides("scor", {None: Cuts("equal", (), (0,))}, (found.size,))
    with pytest.raises(PredictionsError, match=r"(?s)variable 'scor'.*did you mean 'score'"):
        found.deal(unknown, scale="margin", seed=SEED, counts=[1])
    one = made("margins").strata("perc", "score", "margin", [None])
    wrong: list[list[Any]] = [[1, 1], [1, 1, 1, 1, -1], [0.5] * 5]
    for counts in wrong:
        with pytest.raises(PredictionsError, match="one for each of the 5 strata"):
            found.deal(one, scale="margin", seed=SEED, counts=counts)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_distance_from_the_threshold_that_overflows(engine: Engine, tmp_path: Path) -> None:
    table = pa.table({"key": [1, 2, 3], "p": [-1.5e308, 1.5e308, 0.0]})
    pq.write_table(table, tmp_path / "far.parquet")
    scan = Scan(tmp_path / "far.parquet", engine=engine)
    found = read_predictions(scan, id="key", score="p", threshold=1.5e308)
    with pytest.raises(PredictionsError, match="fit in a float64"):
        found.profile("confidence", "margin", [None])
