"""The same predictions are the same, in the worst case kept in."""

import csv
import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.predictions import Card, Predictions, read_predictions
from assay.predictions.tables import jsonable, shown_values

Table = Mapping[str, Sequence[object]]


def _parquet(table: Table, folder: Path) -> Path:
    path = folder / "predictions.parquet"
    pq.write_table(pa.table(dict(table)), path, row_group_size=2)
    return path


def _csv(table: Table, folder: Path) -> Path:
    path = folder / "predictions.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


CONTAINERS: dict[str, Callable[[Table, Path], object]] = {
    "dict of lists": lambda table, _: dict(table),
    "dict of arrays": lambda table, _: {name: np.array(table[name]) for name in table},
    "dict of series": lambda table, _: {name: pd.Series(table[name]) for name in table},
    "dict of Arrow columns": lambda table, _: dict(
        zip(table, pa.table(dict(table)).columns, strict=True)
    ),
    "pandas": lambda table, _: pd.DataFrame(table),
    "pandas, other index": lambda table, _: pd.DataFrame(table).set_index("score", drop=False),
    "polars": lambda table, _: pl.DataFrame(table),
    "polars, lazy": lambda table, _: pl.LazyFrame(table),
    "Arrow": lambda table, _: pa.table(dict(table)),
    "Parquet": _parquet,
    "CSV": _csv,
}


def _look(predictions: Predictions) -> tuple[object, ...]:
    """Return all that predictions answer, apart from where they come from."""
    profile = predictions.profile("score", "margin", [None])
    strata = stratify(profile, variable="score", method="perc", bins=3)
    cards: list[list[Card]] = predictions.deal(
        strata, scale="margin", seed=5, counts=[3] * strata.n_strata
    )
    return (
        predictions.fingerprint(),
        predictions.size,
        predictions.positives,
        predictions.id_kind,
        predictions.score_range,
        strata,
        predictions.count(strata, scale="margin").tolist(),
        cards,
    )


def _looks(table: Table, containers: Sequence[str]) -> list[tuple[object, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        return [
            _look(
                read_predictions(
                    CONTAINERS[name](table, Path(folder)),
                    id="id",
                    score="score",
                    predicted="said",
                    show=["text"],
                )
            )
            for name in containers
        ]


# Without NUL, which numpy's text drops from the end.
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@st.composite
def _tables(draw: st.DrawFn) -> Table:
    size = draw(st.integers(1, 12))
    integers = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=size, max_size=size, unique=True)
    # A CSV file whose ids all look like integers has integers; "x" makes that impossible.
    texts = st.lists(_TEXTS, min_size=size, max_size=size, unique=True).map(
        lambda ids: [f"x{ids[0]}", *(id for id in ids[1:])]
    )
    ids = draw(st.one_of(integers, texts.filter(lambda ids: len(set(ids)) == len(ids))))
    scores = st.floats(allow_nan=False, allow_infinity=False)
    return {
        "id": ids,
        "score": draw(st.lists(scores, min_size=size, max_size=size)),
        "said": draw(st.lists(st.booleans(), min_size=size, max_size=size)),
        "text": draw(st.lists(_TEXTS, min_size=size, max_size=size)),
    }


@given(_tables())
@settings(max_examples=25)
def test_all_containers_agree(table: Table) -> None:
    first, *others = _looks(table, list(CONTAINERS))
    assert all(look == first for look in others)


@given(_tables(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_rows_does_not_matter(table: Table, random: Random) -> None:
    rows = list(range(len(table["id"])))
    random.shuffle(rows)
    shuffled = {name: [values[row] for row in rows] for name, values in table.items()}
    assert _looks(shuffled, ["polars"]) == _looks(table, ["dict of lists"])


TABLE: Table = {
    "id": ["007", "NA", "", "b"],
    "score": [0.5, 0.25, 0.125, 1.0],
    "said": [True, False, False, True],
    "text": ["a", "b", "c", "d"],
}


@pytest.mark.parametrize(
    "scores",
    [
        np.array([0.5, 0.25, 0.125, 1.0], dtype=np.float32),
        np.array([0.5, 0.25, 0.125, 1.0], dtype=np.float16),
        np.array([0.5, 0.25, 0.125, 1.0], dtype=np.longdouble),
        [Decimal("0.5"), Decimal("0.25"), Decimal("0.125"), Decimal(1)],
        pd.Series([0.5, 0.25, 0.125, 1.0], dtype="Float64"),
        pl.Series([0.5, 0.25, 0.125, 1.0], dtype=pl.Float32),
    ],
)
def test_narrower_scores_are_widened(scores: object) -> None:
    looks = [
        _look(read_predictions({**TABLE, "score": column}, id="id", score="score", threshold=0.5))
        for column in (TABLE["score"], scores)
    ]
    assert looks[0] == looks[1]


def test_decimals_become_the_nearest_float_in_memory_and_in_a_file(tmp_path: Path) -> None:
    digits = ["0.1234567890123456789012345678", "7.3000000000000000000000000001"]
    table = {"score": [Decimal(text) for text in digits]}
    for source in (table, pd.DataFrame(table), _parquet(table, tmp_path)):
        low, high = read_predictions(source, score="score", threshold=0.5).score_range
        assert [low, high] == [float(text) for text in digits]


@pytest.mark.parametrize(
    ("said", "positive"),
    [
        ([1, 0, 0, 1], None),
        ([1.0, 0.0, 0.0, 1.0], None),
        (np.array([1, 0, 0, 1], dtype=np.uint8), None),
        (pd.Series([True, False, False, True], dtype="boolean"), None),
        (["spam", "ham", "ham", "spam"], "spam"),
        (pd.Series(["spam", "ham", "ham", "spam"]).array, "spam"),
        (pd.Series(["spam", "ham", "ham", "spam"], dtype="category"), "spam"),
        (pl.Series(["spam", "ham", "ham", "spam"], dtype=pl.Categorical), "spam"),
        (pl.Series(["spam", "ham", "ham", "spam"], dtype=pl.Enum(["ham", "spam"])), "spam"),
        ([2, 0, 1, 2], 2),
        ([2, 0, 1, 2], np.int8(2)),
        ([False, True, True, False], False),
    ],
)
def test_labels_and_values_that_mean_yes(said: object, positive: object) -> None:
    predictions = read_predictions(
        {**TABLE, "said": said}, score="score", predicted="said", positive=positive, threshold=0.5
    )
    assert predictions.positives == 2


def test_categories_serve_as_ids() -> None:
    ids = ["007", "NA", "", "b"]
    looks = [
        _look(read_predictions({**TABLE, "id": column}, id="id", score="score", threshold=0.5))
        for column in (ids, pd.Series(ids, dtype="category"), pl.Series(ids, dtype=pl.Categorical))
    ]
    assert looks[0] == looks[1] == looks[2]


# What is shown


def _cards(predictions: Predictions) -> list[Card]:
    strata = Strata.of_sides("score", {None: Cuts("equal", (), (0,))}, (predictions.size,))
    (cards,) = predictions.deal(strata, scale="probability", seed=0, counts=[predictions.size])
    return cards


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


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
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
    assert {card.id: card.shown for card in _cards(predictions)} == {
        0: {"text": "a", "when": "2026-11-15T00:00:00", "words": ["x"], "score": 0.1},
        1: {"text": None, "when": "2026-11-16T00:00:00", "words": [], "score": 0.9},
    }


def test_a_column_of_mixed_objects_is_shown_all_the_same() -> None:
    frame = pd.DataFrame({"score": [0.1, 0.9], "any": ["a", {1, 2}]})
    predictions = read_predictions(frame, score="score", threshold=0.5, show=["any"])
    assert {card.id: card.shown["any"] for card in _cards(predictions)} == {0: "a", 1: "{1, 2}"}
