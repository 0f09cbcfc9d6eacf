"""Predictions whose items count by weight."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.weights import waiting_time
from assay.errors import PredictionsError
from assay.predictions import Scan, from_arrays, read_predictions
from assay.predictions.memory import MemoryPredictions

SIZE = 400
RNG = np.random.default_rng(3)
SCORE = RNG.random(SIZE).round(4)
WEIGHT = RNG.lognormal(0.0, 1.5, SIZE).round(3)
WEIGHT[::50] = 0.0
TABLE: dict[str, Any] = {
    "id": [f"item {row}" for row in range(SIZE)],
    "p": SCORE,
    "views": WEIGHT,
    "text": [f"text {row}" for row in range(SIZE)],
}


def read(source: Any, **more: Any) -> MemoryPredictions:
    found = read_predictions(
        source, id="id", score="p", threshold=0.5, show=["text"], sample_weight="views", **more
    )
    assert isinstance(found, MemoryPredictions)
    return found


def strata_of(found: MemoryPredictions) -> Strata:
    profiles = found.profile("score", "probability", [True, False])
    strata = stratify(profiles, variable="score", method="perc", bins=4)
    return found.weighed(strata, scale="probability")


def test_decks_are_in_the_order_of_brute_force() -> None:
    found = read(TABLE)
    strata = strata_of(found)
    decks = found.deal(strata, scale="probability", seed=9, counts=[SIZE] * strata.n_strata)
    short = found.deal(strata, scale="probability", seed=9, counts=[7] * strata.n_strata)
    assert [deck[:7] for deck in decks] == short
    cards = {str(card.id): card.weight or 0 for deck in decks for card in deck}
    there = [row for row in range(SIZE) if WEIGHT[row] > 0]
    assert set(cards) == {TABLE["id"][row] for row in there}  # those of weight 0 are not there
    stratum = strata.assign(SCORE[there], SCORE[there] >= 0.5)
    for number, deck in enumerate(decks):
        ids = [TABLE["id"][row] for row, of in zip(there, stratum, strict=True) if of == number]
        assert [card.id for card in deck] == sorted(
            ids, key=lambda id: waiting_time(id, cards[id], 9, 0)
        )
        assert [card.shown["text"] for card in deck[:3]] == [
            str(card.id).replace("item", "text") for card in deck[:3]
        ]


def test_strata_hold_equal_weights_and_know_their_items() -> None:
    strata = strata_of(read(TABLE))
    there = WEIGHT > 0
    assert strata.sizes.sum() == there.sum()
    stratum = strata.assign(SCORE[there], SCORE[there] >= 0.5)
    by_hand = np.bincount(stratum, WEIGHT[there])
    np.testing.assert_allclose(strata.weights / strata.weights.sum(), by_hand / by_hand.sum())
    assert np.bincount(stratum).tolist() == strata.sizes.tolist()
    for side in (strata.weights[:4], strata.weights[4:]):
        assert side.max() < 1.5 * side.min()
    assert Strata.from_dict(strata.to_dict()) == strata


def test_rows_may_come_in_any_order_and_from_anywhere(tmp_path: Path) -> None:
    order = RNG.permutation(SIZE)
    frame = pl.DataFrame(TABLE)
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    found = [
        read(TABLE),
        read(frame[order.tolist()]),
        read(str(tmp_path / "a.csv")),
        read(str(tmp_path / "a.parquet")),
    ]
    assert len({each.fingerprint() for each in found}) == 1
    strata = strata_of(found[0])
    dealt = [
        each.deal(strata, scale="probability", seed=1, counts=[5] * strata.n_strata)
        for each in found
    ]
    assert all(each == dealt[0] for each in dealt)


def test_a_fingerprint_sees_weights_and_who_has_them() -> None:
    first = read(TABLE).fingerprint()
    changed = WEIGHT.copy()
    changed[7] *= 1.5
    assert read({**TABLE, "views": changed}).fingerprint() != first
    swapped = WEIGHT.copy()
    swapped[[7, 8]] = swapped[[8, 7]]
    assert read({**TABLE, "views": swapped}).fingerprint() != first
    assert read({**TABLE, "views": 8 * WEIGHT}).fingerprint() == first  # proportions matter


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([1, -2, 1, 1], r"1 of 4 weights in .* are negative\n.*row 1 \(id 1, weight -2"),
        ([1, 1, np.nan, 1], r"missing, NaN or infinite\n.*row 2"),
        ([np.inf, 1, 1, 1], r"missing, NaN or infinite\n.*row 0"),
        ([0, 0, 0, 0], r"sum to 0\n.*at least one must be above 0\n.*Leave out sample_weight"),
        ([1e308] * 4, r"sum to inf\n.*float64.*\n.*only their proportions matter"),
        (["much"] * 4, r"the weights in .* are of type string\na weight is a number"),
        ([1, 1, 1], r"differ in length"),
    ],
)
def test_weights_that_are_none_are_refused(weights: list[Any], told: str) -> None:
    with pytest.raises(PredictionsError, match=told):
        from_arrays(y_score=[0.9, 0.8, 0.3, 0.2], threshold=0.5, sample_weight=weights)


def test_who_reads_weights(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    pl.DataFrame(TABLE).write_parquet(path)
    assert read(Scan(path, engine="memory")).size < SIZE
    named: dict[str, Any] = {"classifiers": {"a": {"score": "p", "threshold": 0.5}}, "id": "id"}
    assert read_predictions(path, sample_weight="views", **named).weighted
    assert read_predictions(Scan(path, engine="duckdb"), sample_weight="views", **named).weighted
    with pytest.raises(PredictionsError, match=r"(?s)engine 'duckdb'.*second opinions.*leave out"):
        read_predictions(Scan(path, engine="duckdb"), sample_weight="views", aux=["p"], **named)
    with pytest.raises(PredictionsError, match=r"(?s)engine 'spark'.*Parquet file"):
        read_predictions(Scan("a table", engine="spark"), sample_weight="views", aux=["p"], **named)
    with pytest.raises(PredictionsError, match="'view' not found"):
        read_predictions(TABLE, score="p", threshold=0.5, sample_weight="view")
    with pytest.raises(PredictionsError, match="'view' not found"):
        read_predictions(
            Scan(path, engine="duckdb"), id="id", score="p", threshold=0.5, sample_weight="view"
        )
