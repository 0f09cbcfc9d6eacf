"""Ids that are made of several columns: the same key, whatever reads the rows."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.errors import PredictionsError
from assay.predictions import Predictions, key_name, read_predictions
from assay.predictions.scan import Scan
from tests.predictions.contract import READERS, scan_by
from tests.predictions.sources import SOURCES

SIZE = 600
ODD = ["u", "a|b", "a\\", "\\|", "é", "it's", " "]
DAYS = [date(2026, 11, 1) + timedelta(row % 9) for row in range(SIZE)]
USERS = [ODD[row % 7] for row in range(SIZE)]
RANKS = [row // 63 - 4 for row in range(SIZE)]
SEEN = [row % 2 == 0 for row in range(SIZE)]
NAME = "day,user,rank,seen"


def _table() -> "pa.Table":
    score = np.random.default_rng(5).random(SIZE)
    return pa.table(
        {
            "day": pa.array(DAYS, pa.date32()),
            "user": USERS,
            "rank": pa.array(RANKS, pa.int32()),
            "seen": SEEN,
            "p": score,
            "lang": ["en"] * SIZE,
        }
    )


def _spelled(row: int) -> str:
    """Return the key as the page on it defines it."""
    user = USERS[row].replace("\\", "\\\\").replace("|", "\\|")
    return f"{DAYS[row].isoformat()}|{user}|{RANKS[row]}|{'true' if SEEN[row] else 'false'}"


def _told(found: Predictions) -> tuple[str, list[object]]:
    every = found.find([_spelled(row) for row in range(SIZE)], variable="score", scale="margin")
    return found.fingerprint(), [None if one is None else one.value for one in every]


@pytest.mark.parametrize("engine", READERS)
def test_one_key_for_all_engines(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table = _table()
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    options: dict[str, Any] = {"id": NAME, "score": "p", "threshold": 0.5}
    found = read_predictions(scan_by(request, engine, tmp_path / "a.parquet"), **options)
    fingerprint, values = _told(found)
    assert values == table["p"].to_pylist()
    assert fingerprint == read_predictions(table, **options).fingerprint()
    plain = table.append_column("key", pa.array([_spelled(row) for row in range(SIZE)]))
    assert fingerprint == read_predictions(plain, **{**options, "id": "key"}).fingerprint()
    # Without the escapes two users would be one: "a" with a bar, and "a\\" in front of one.
    assert len(set(map(_spelled, range(SIZE)))) == SIZE


@pytest.mark.parametrize("layout", ["CSV", "JSON lines"])
def test_layouts(layout: str, tmp_path: Path) -> None:
    table = _table().set_column(0, "day", pa.array([day.isoformat() for day in DAYS]))
    # In JSON, true is a value of its own; in CSV it is text, as Arrow writes it.
    scan = replace(SOURCES[layout](table, tmp_path), engine="duckdb")
    found = read_predictions(scan, id=NAME, score="p", threshold=0.5)
    assert _told(found)[1] == table["p"].to_pylist()


def test_two_rows_of_one_key_are_refused() -> None:
    with pytest.raises(PredictionsError, match=r"column 'day,user' of .* occur more than once"):
        read_predictions(_table(), id="day,user", score="p", threshold=0.5)


def test_reviewers_see_the_columns_of_the_key(tmp_path: Path) -> None:
    table = _table()
    pq.write_table(table, tmp_path / "a.parquet")
    for source in (table, Scan(tmp_path / "a.parquet", engine="duckdb")):
        campaign = assay.create_campaign(
            source,
            id=["day", "user", "rank", "seen"],
            score="p",
            threshold=0.5,
            show=["lang"],
            budget=20,
            seed=1,
        )
        item = campaign.ask(1)[0]
        day, user, rank, seen, lang = item.shown.values()
        assert list(item.shown) == ["day", "user", "rank", "seen", "lang"]
        row = [_spelled(row) for row in range(SIZE)].index(str(item.id))
        assert (day, user) == (DAYS[row].isoformat(), USERS[row])
        assert (rank, seen, lang) == (RANKS[row], SEEN[row], "en")


@pytest.mark.parametrize("engine", ["memory", "duckdb", "toy"])
def test_what_cannot_be_a_part(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    pq.write_table(_table(), tmp_path / "a.parquet")
    scan = scan_by(request, engine, tmp_path / "a.parquet")
    for id, told in (
        ("day,usr", "column 'usr' not found"),
        ("day,p", "column 'p' of .* is of type double, and a key is to be made of it"),
        ("day,", "id='day,' names no columns for a key"),
        ("day,day", "id='day,day' names no columns for a key"),
    ):
        with pytest.raises(PredictionsError, match=f"(?i){told}"):
            read_predictions(scan, id=id, score="p", threshold=0.5)


def test_a_missing_value_is_a_missing_id() -> None:
    table = {"day": ["mon", None], "user": ["a", "a"], "p": [0.1, 0.9]}
    with pytest.raises(PredictionsError, match="1 of 2 ids in column 'day,user'"):
        read_predictions(table, id="day,user", score="p", threshold=0.5)


def test_names() -> None:
    assert key_name(["day", "user"]) == "day,user"
    bad: list[Any] = [[], ["a,b", "c"], 7, ["a", 7]]
    for wrong in bad:
        with pytest.raises(PredictionsError, match="id="):
            key_name(wrong)
    found = read_predictions(
        {"a,b": ["x", "y"], "p": [0.1, 0.9]}, id="a,b", score="p", threshold=0.5
    )
    assert found.find(["y"], variable="score", scale="margin")[0] is not None
