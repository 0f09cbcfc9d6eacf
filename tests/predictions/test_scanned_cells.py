"""Several metrics of one classifier: where the predictions lie, as in memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.cut_methods import METHODS
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.stratify import cell_strata
from assay.core.targets import parse_targets
from assay.core.types import Floats
from assay.errors import PredictionsError
from assay.predictions import Predictions, Scan, read_predictions
from assay.predictions.scanned import ScannedPredictions

RNG = np.random.default_rng(61)
SIZE = 4_000
SCORES: dict[str, Floats] = {
    "probabilities": RNG.beta(0.3, 0.8, SIZE),
    "margins": RNG.normal(-1, 3, SIZE),
    "few": RNG.integers(0, 9, SIZE) / 8,
    "rare": 10 ** RNG.uniform(-9, -4, SIZE),
}


def _read(scan: Scan) -> Predictions:
    classifiers = {"new": {"score": "p", "predicted": "yes"}}
    return read_predictions(scan, classifiers=classifiers, id="id", show=["text"], seed=1)


@pytest.fixture(params=SCORES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    score = SCORES[request.param]
    yes = score + RNG.normal(0, score.std() / 5, SIZE) > np.quantile(score, 0.8)
    text = [f"item {row}" for row in range(SIZE)]
    rows = {"id": RNG.permutation(SIZE), "p": score, "yes": yes, "text": text}
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("metrics", [["precision", "recall"], ["precision", "f1"], ["accuracy"]])
@pytest.mark.parametrize("method", METHODS)
def test_strata_and_cards_are_those_of_memory(path: Path, metrics: list[str], method: str) -> None:
    memory, scanned = (_read(Scan(path, engine=engine)) for engine in ("memory", "duckdb"))
    assert isinstance(scanned, ScannedPredictions)
    assert scanned.fingerprint() == memory.fingerprint()
    assert (scanned.cells(), scanned.score_range) == (memory.cells(), memory.score_range)
    goal = Goal(targets=parse_targets(metrics, ("new",), within=0.03))
    design = Design(strata=method, bins=4)
    strata = cell_strata(scanned, goal, design)
    assert strata == cell_strata(memory, goal, design)
    for found in (scanned, memory):
        assert found.count(strata, scale="margin").tolist() == strata.sizes.tolist()
    for seed in (1, 2):
        counts = [40] * strata.n_strata
        cards = scanned.deal(strata, scale="margin", seed=seed, counts=counts)
        assert cards == memory.deal(strata, scale="margin", seed=seed, counts=counts)
        other = memory.deal(strata, scale="margin", seed=seed + 1, counts=counts)
        assert cards != other  # so that equality says something
    ids = [3, SIZE, 5, 3]
    looked_for = scanned.find(ids, variable="rank", scale="margin")
    assert looked_for == memory.find(ids, variable="rank", scale="margin")


def test_several_classifiers_are_read_into_memory_only(path: Path) -> None:
    classifiers = {"new": {"score": "p", "predicted": "yes"}, "old": {"predicted": "yes"}}
    with pytest.raises(PredictionsError, match="engine 'duckdb' reads one classifier's"):
        read_predictions(Scan(path, engine="duckdb"), classifiers=classifiers, id="id")
    assert read_predictions(Scan(path), classifiers=classifiers, id="id").size == SIZE
