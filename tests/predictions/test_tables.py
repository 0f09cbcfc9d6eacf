import json
import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.predictions import read_predictions
from assay.predictions.tables import jsonable, shown_values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (np.bool_(False), False),
        (7, 7),
        (np.int32(7), 7),
        (0.5, 0.5),
        (np.float32(0.5), 0.5),
        (math.nan, None),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        ("NA", "NA"),
        ("half a pair \ud800", "half a pair ?"),
        (b"text", "text"),
        (b"\xff\x00", "0xff00"),
        (Decimal("1.50"), "1.50"),
        (Decimal("NaN"), None),
        (date(2026, 11, 15), "2026-11-15"),
        (datetime(2026, 11, 15, 8, 30, tzinfo=UTC), "2026-11-15T08:30:00+00:00"),
        (time(8, 30), "08:30:00"),
        (timedelta(hours=1), "1:00:00"),
        (pd.NaT, None),
        (pd.Timestamp("2026-11-15"), "2026-11-15T00:00:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ([np.int64(1), (2, None)], [1, [2, None]]),
        ({1: math.nan}, {"1": None}),
    ],
)
def test_one_value(value: object, expected: object) -> None:
    got = jsonable(value)
    assert got == expected
    assert type(got) is type(expected)
    json.dumps(got, allow_nan=False)


def test_nanoseconds_that_no_python_type_holds() -> None:
    column = pa.chunked_array([pa.array([1], pa.timestamp("ns"))])
    (text,) = shown_values(column)
    assert str(text).endswith("00:00:00.000000001")


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_every_container_are_shown_alike(make: type) -> None:
    table = make(
        {
            "score": [0.1, 0.9],
            "text": ["a", None],
            "when": [datetime(2026, 11, 15), datetime(2026, 11, 16)],
            "words": [["x"], []],
        }
    )
    predictions = read_predictions(
        table, score="score", threshold=0.5, show=["text", "when", "words", "score"]
    )
    strata = _one_stratum(2)
    (cards,) = predictions.deal(strata, scale="probability", seed=0, counts=[2])
    assert {card.id: card.shown for card in cards} == {
        0: {"text": "a", "when": "2026-11-15T00:00:00", "words": ["x"], "score": 0.1},
        1: {"text": None, "when": "2026-11-16T00:00:00", "words": [], "score": 0.9},
    }


def test_a_column_of_mixed_objects_is_shown_all_the_same() -> None:
    frame = pd.DataFrame({"score": [0.1, 0.9], "any": ["a", {1, 2}]})
    predictions = read_predictions(frame, score="score", threshold=0.5, show=["any"])
    (cards,) = predictions.deal(_one_stratum(2), scale="probability", seed=0, counts=[2])
    assert {card.id: card.shown["any"] for card in cards} == {0: "a", 1: "{1, 2}"}


def _one_stratum(size: int) -> Strata:
    return Strata.of_sides("score", {None: Cuts("equal", (), (0,))}, (size,))
