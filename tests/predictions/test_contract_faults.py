"""Faults of CSV files, wide ids and repeated ids. Other faults are in `tests/golden/faults.py`."""

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.errors import PredictionsError
from assay.predictions import read_predictions
from assay.predictions.duckdb import relations as duck_ids
from assay.predictions.duckdb import scanner as duck_scanner
from assay.predictions.scan import Engine, Scan
from tests.golden.faults import GOOD, ROLES
from tests.predictions.contract import SEED, Population, scan_by
from tests.predictions.contract_populations import population

SCORES = "of 6 scores in column 'p' of PATH are missing, NaN or infinite"
NEITHER = (
    "the predicted labels in column 'said' of PATH are neither yes or no, true or false, nor 1 or 0"
)


CSV_FAULTS = [
    ("p", "abc", "1 of 6 scores in column 'p' of PATH are not numbers", "'abc'"),
    ("p", "1e400", f"1 {SCORES}", "103"),
    ("p", "nan", f"1 {SCORES}", "103"),
    ("p", "", f"1 {SCORES}", "103"),
    ("key", "", "1 of 6 ids in column 'key' of PATH are missing", ""),
    ("said", "", "1 of 6 predicted labels in column 'said' of PATH are missing", "103"),
    ("said", "maybe", NEITHER, "got 'maybe'"),
]


def _told(source: Scan) -> tuple[str, str]:
    """Return the first line of the error, with PATH for the path, and all of it."""
    with pytest.raises(PredictionsError) as caught:
        read_predictions(source, **ROLES)
    text = str(caught.value)
    return text.splitlines()[0].replace(str(source.path), "PATH"), text


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_faults_of_csv_files(
    engine: Engine, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    good = [list(map(str, row)) for row in zip(*GOOD.values(), strict=True)]
    for place, (column, text, first, more) in enumerate(CSV_FAULTS):
        rows = [list(GOOD), *map(list, good)]
        rows[3][list(GOOD).index(column)] = text
        path = tmp_path / f"{place}.csv"
        path.write_text("\n".join(map(",".join, rows)))
        told, whole = _told(scan_by(request, engine, path))
        assert told == first
        assert more in whole


def _in_duckdb(folder: Path, ids: Sequence[int]) -> Scan:
    """Write ids of 128 bits, which no file format has."""
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE t (key HUGEINT, p DOUBLE, said BOOLEAN)")
        rows = [[str(id), place / 10, place > 2] for place, id in enumerate(ids)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return Scan(folder / "a.duckdb", table="t", engine="duckdb")


@pytest.mark.parametrize(
    ("ids", "which"),
    [
        ([1, 2, 3, 2**64], "1 of 4 ids"),
        ([2**100, -(2**100), 3, 4], "2 of 4 ids"),
        ([-1, 2, 3, 2**63], "ids, taken together,"),
    ],
)
def test_ids_of_more_than_64_bits(ids: list[int], which: str, tmp_path: Path) -> None:
    told, text = _told(_in_duckdb(tmp_path, ids))
    assert told == f"{which} in column 'key' of table t of PATH do not fit in 64 bits"
    assert f"they run from {min(ids)} to {max(ids)}" in text
    assert "convert them to strings" in text


@pytest.mark.parametrize("ids", [[5, -(2**63), 2**63 - 1], [5, 0, 2**64 - 1]])
def test_wide_ids_that_fit(ids: list[int], tmp_path: Path) -> None:
    columns = {"key": ids, "p": [0.0, 0.1, 0.2], "said": [False] * 3}
    in_memory = read_predictions(columns, **ROLES, show=["p"])
    found = read_predictions(_in_duckdb(tmp_path, ids), **ROLES, show=["p"])
    assert found.fingerprint() == in_memory.fingerprint()
    assert found.find(ids, variable="score", scale="margin") == in_memory.find(
        ids, variable="score", scale="margin"
    )


# Repeated ids.


def _repeated(meant: Population, rows: Sequence[int]) -> "pa.Table":
    """Return the table with some rows twice."""
    return pa.concat_tables([meant.table, meant.table.take(list(rows))])


def _share(text: str) -> float:
    told = re.search(r"by that about (\S+) of all", text)
    assert told is not None, text
    return float(told.group(1))


@pytest.fixture(scope="module")
def meant() -> Population:
    return population("probabilities").showing("lang")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_the_share_of_repeated_ids_is_estimated_from_the_rows_drawn(
    engine: Engine,
    meant: Population,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows with one id are drawn together.

    Of all rows 3% share their id. Of 45 pairs two thirds at least are among the rows looked at,
    with a standard deviation of 3.2 pairs: 0.32% of 2,000 rows. The bound is three times that, and
    to count each pair once, or rows of a pair each for itself, would be beyond it.
    """
    monkeypatch.setattr(duck_scanner, "_LISTED", 2_000)
    pairs = len(meant.items) * 3 // 200
    pq.write_table(_repeated(meant, range(pairs)), tmp_path / "a.parquet")
    rows = len(meant.items) + pairs
    strata = meant.strata("perc", "score", "probability", [None])
    with pytest.raises(PredictionsError, match="has ids that occur more than once") as caught:
        found = meant.read(scan_by(request, engine, tmp_path / "a.parquet"))
        found.deal(strata, scale="probability", seed=SEED, counts=[400] * strata.n_strata)
    text = str(caught.value)
    assert f"of all {rows:,} rows" in text
    assert abs(_share(text) - 2 * pairs / rows) < 0.0096
    looked_at = re.search(r"among the (\S+) rows", text)
    assert looked_at is not None
    assert 1_900 < int(looked_at.group(1).replace(",", "")) < rows


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_single_pair_is_seen_by_who_looks(
    engine: Engine,
    meant: Population,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(duck_scanner, "_LISTED", 300)
    numbers = [item.number(SEED) for item in meant.items]
    last = int(np.argmax(numbers))
    pq.write_table(_repeated(meant, [last]), tmp_path / "a.parquet")
    scan = scan_by(request, engine, tmp_path / "a.parquet")
    checked = scan_by(request, engine, tmp_path / "a.parquet", check_ids=True)
    for source in [checked, *([scan] if engine == "memory" else [])]:
        with pytest.raises(PredictionsError, match="more than once: 1\n") as caught:
            meant.read(source)
        assert "first" in str(caught.value)
        assert f"{meant.items[last].id} in" in str(caught.value)
    if engine == "memory":
        return
    found = meant.read(scan)
    strata = meant.strata("perc", "score", "probability", [None])
    few = [5] * strata.n_strata
    dealt = found.deal(strata, scale="probability", seed=SEED, counts=few)
    assert dealt == meant.dealt(strata, "probability", SEED, few)
    with pytest.raises(PredictionsError, match="more than once: 1 among"):
        found.deal(strata, scale="probability", seed=SEED, counts=[3_000] * strata.n_strata)
    with pytest.raises(PredictionsError, match="more than once: 1 among"):
        found.find([meant.items[last].id], variable="score", scale="margin")


def test_all_ids_are_looked_at_part_by_part(
    meant: Population, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duck_ids, "_AT_ONCE", 500)
    pq.write_table(meant.table, tmp_path / "good.parquet")
    assert meant.read(Scan(tmp_path / "good.parquet", engine="duckdb", check_ids=True)).size
    pq.write_table(_repeated(meant, range(45)), tmp_path / "a.parquet")
    with pytest.raises(PredictionsError, match="more than once: 45\n") as caught:
        meant.read(Scan(tmp_path / "a.parquet", engine="duckdb", check_ids=True))
    first = sorted(item.id for item in meant.items[:45])[:3]
    assert ", ".join(f"{id} in 2 rows" for id in first) in str(caught.value)
