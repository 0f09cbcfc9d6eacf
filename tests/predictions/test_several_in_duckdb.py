"""Several classifiers in DuckDB with weights and with slices: what memory has, item by item."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.core.cells import Heap
from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.errors import PredictionsError
from assay.predictions import Predictions, code_cells, read_predictions
from assay.predictions.memory import MemoryPredictions
from assay.predictions.scan import Engine, Scan
from assay.predictions.scanned import ScannedPredictions

SIZE = 6_000
CLASSIFIERS: dict[str, Any] = {
    "cnn": ("p", 0.5),
    "mve": {"score": "margin", "predicted": "said"},
    "vote": {"predicted": "vote"},
    "rare": ("rare", 1e-9),
}


def _table(seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    margin = rng.normal(0, 3, SIZE)
    weight = np.exp(rng.normal(0, 2, SIZE))
    lang = np.array(["de", "en", "fr", None])[rng.integers(0, 4, SIZE) % 4]
    return pa.table(
        {
            "key": rng.permutation(SIZE) * 1_000_003,
            "url": [f"https://example.org/{number}" for number in range(SIZE)],
            "p": rng.beta(0.5, 1.5, SIZE).astype(np.float32),
            "margin": margin,
            "said": np.where(margin > 0.4, "yes", "no"),
            "vote": rng.integers(0, 2, SIZE).astype(np.int8),
            # So many lie within a millionth of 0 that a finer rule for bins is taken.
            "rare": np.where(rng.random(SIZE) < 0.9, rng.random(SIZE) * 1e-8, rng.random(SIZE)),
            "views": np.where(rng.random(SIZE) < 0.1, 0.0, weight),
            "lang": pa.array(lang.tolist()),
            "day": rng.integers(0, 3, SIZE),
        }
    )


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(_table(), path, row_group_size=1_700)
    return path


def _read(path: Path, engine: Engine, names: tuple[str, ...], **options: Any) -> Predictions:
    options = {"id": "key", "seed": 7, **options}
    classifiers = {name: CLASSIFIERS[name] for name in names}
    return read_predictions(Scan(path, engine=engine), classifiers=classifiers, **options)


def _strata(found: Predictions) -> Strata:
    """Return heaps of two strata each, cut by rank, by memory's counts."""
    codes = sorted(found.cells())
    every = 3 if len(codes) > 4 else 1
    of_codes = [tuple(codes[first::every]) for first in range(every)]
    heaps = []
    for each, profile in zip(of_codes, found.profile_heaps(of_codes), strict=True):
        middle = float(profile.low[profile.low.size // 2])
        heaps.append(Heap(each, Cuts("equal", (middle,), (0, 1))))
    parts = found.count_parts(heaps)
    return Strata(found.classifiers, tuple(heaps), parts, groups=found.groups)


def _check_same(found: Predictions, meant: Predictions) -> None:
    assert isinstance(found, ScannedPredictions)
    assert isinstance(meant, MemoryPredictions)
    for each in ("size", "positives", "weighted", "groups", "classifiers", "score_range"):
        assert getattr(found, each) == getattr(meant, each), each
    assert found.cells() == meant.cells()
    assert found.fingerprint() == meant.fingerprint()
    strata = _strata(meant)
    heaps = strata.heaps
    assert found.count_parts(heaps) == strata.parts
    of_codes = [heap.codes for heap in heaps]
    for one, other in zip(
        found.profile_heaps(of_codes), meant.profile_heaps(of_codes), strict=True
    ):
        for each in ("low", "high", "mean", "count"):
            np.testing.assert_array_equal(getattr(one, each), getattr(other, each))
    assert found.weighed(strata, scale="probability") == meant.weighed(strata, scale="probability")
    for seed in (7, 8):  # of the cards that the first pass brings along, and of others
        both = [
            each.deal(strata, scale="probability", seed=seed, counts=[25] * strata.n_strata)
            for each in (found, meant)
        ]
        assert both[0] == both[1]
    ids = [card.id for card in both[0][0][:5]]
    both_found = [each.find(ids, variable="rank", scale="probability") for each in (found, meant)]
    assert both_found[0] == both_found[1]


EVERY = tuple(CLASSIFIERS)


@pytest.mark.parametrize(
    "names, options",
    [
        (EVERY, {"sample_weight": "views"}),
        (EVERY, {"groups": ["lang=de", "day"]}),
        (("cnn", "rare"), {"sample_weight": "views", "groups": ["lang", "day=1"], "id": "url"}),
        (("cnn",), {"sample_weight": "views"}),
        (("mve",), {"groups": ["lang=(missing)", "lang=en"]}),
    ],
)
def test_the_same_as_in_memory(
    names: tuple[str, ...], options: Mapping[str, Any], rows: Path
) -> None:
    found, meant = (_read(rows, engine, names, **options) for engine in ("duckdb", "memory"))
    _check_same(found, meant)


def test_with_a_counter_for_cells_that_occur_alone(
    rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"sample_weight": "views", "groups": ["lang"]}
    meant = _read(rows, "memory", EVERY, **options)
    monkeypatch.setattr(code_cells, "_MANY_CELLS", 300)
    _check_same(_read(rows, "duckdb", EVERY, **options), meant)


def test_other_weights_and_other_slices_are_told_apart(rows: Path, tmp_path: Path) -> None:
    table = _table()
    weights: list[Any] = table["views"].to_pylist()
    day: list[Any] = table["day"].to_pylist()
    place = next(place for place, weight in enumerate(weights) if weight)
    weights[place], day[place] = 2 * weights[place], (day[place] + 1) % 3
    for name, values, options in (
        ("views", weights, {"sample_weight": "views"}),
        ("day", day, {"groups": ["day"]}),
    ):
        changed = table.set_column(table.column_names.index(name), name, pa.array(values))
        pq.write_table(changed, tmp_path / "changed.parquet")
        now = _read(tmp_path / "changed.parquet", "duckdb", EVERY, **options)
        assert now.fingerprint() != _read(rows, "duckdb", EVERY, **options).fingerprint()


def test_a_campaign_asks_for_the_same_items(rows: Path) -> None:
    metrics = {"precision:cnn": 0.05, "recall:mve[lang=de]": 0.1, "accuracy:vote": 0.05}
    asked = []
    for engine in ("duckdb", "memory"):
        campaign = assay.create_campaign(
            assay.Scan(rows, engine=engine),
            id="key",
            classifiers=CLASSIFIERS,
            metrics=metrics,
            sample_weight="views",
            seed=3,
        )
        asked.append([item.id for item in campaign.ask(200)])
    assert asked[0] == asked[1]


def test_bad_values_are_told(rows: Path, tmp_path: Path) -> None:
    table = _table()
    weights: list[Any] = table["views"].to_pylist()
    weights[3] = -1.0
    at = table.column_names.index("views")
    path = tmp_path / "bad.parquet"
    pq.write_table(table.set_column(at, "views", pa.array(weights)), path)
    with pytest.raises(PredictionsError, match="1 of 6,000 weights in column 'views'"):
        _read(path, "duckdb", EVERY, sample_weight="views")
    scores: list[Any] = table["p"].to_pylist()
    scores[3] = float("nan")
    pq.write_table(table.set_column(2, "p", pa.array(scores, pa.float32())), path)
    with pytest.raises(PredictionsError, match="classifier 'cnn': 1 of 6,000 scores in column 'p'"):
        _read(path, "duckdb", EVERY)
    for names in (EVERY, ("cnn",)):
        with pytest.raises(PredictionsError, match=r"^no item of .* has lang=nl"):
            _read(rows, "duckdb", names, groups=["lang=nl"])
    with pytest.raises(PredictionsError, match="column 'langs' not found"):
        _read(rows, "duckdb", EVERY, groups=["langs=nl"])
