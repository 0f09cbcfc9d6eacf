"""Scores of another class or on another scale: found, told with the figures, and turned round."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score

from assay.campaign import compare_campaign, create_campaign, load_campaign
from assay.core.tally import cells_of
from assay.errors import AssayWarning, PredictionsError
from assay.predictions import Predictions, Scan, read_predictions
from assay.predictions.doubts import ordered_pairs
from assay.predictions.scan import Engine

SIZE = 3_000
RNG = np.random.default_rng(19)
P = RNG.beta(0.4, 1.2, SIZE).round(6)  # the positive class's probability
SAID = P >= 0.5
COLUMNS: dict[str, Any] = {"id": "id", "score": "p", "predicted": "said"}


def _table(score: Any, said: Any = SAID) -> "pa.Table":
    return pa.table({"id": np.arange(SIZE), "p": score, "said": said})


def _outlying() -> Any:
    score = P.copy()
    score[1234] = 1.7
    return score


CONFIDENCE = np.where(SAID, P, 1 - P)


@pytest.fixture(params=["memory", "duckdb"])
def engine(request: pytest.FixtureRequest) -> Engine:
    given: Engine = request.param
    return given


def _read(table: "pa.Table", engine: Engine, folder: Path, **options: Any) -> Predictions:
    path = folder / "preds.parquet"
    pq.write_table(table, path)
    return read_predictions(Scan(str(path), engine=engine), **{**COLUMNS, **options})


@pytest.mark.parametrize(
    ("score", "options", "told"),
    [
        (
            CONFIDENCE,
            {},
            "where the prediction is no | the predicted class, pass score_of='predicted'",
        ),
        (1 - P, {}, "are higher where | of the negative class, pass score_of='negative'"),
        (
            100 * P,
            {"threshold": 0.5, "predicted": None},
            "threshold=0.5 is given for scores | scale='percent' with threshold=50",
        ),
        (100 * P, {}, "look like percentages | pass scale='percent'"),
        (
            _outlying(),
            {},
            "1 of 3,000 scores in column 'p' of | if the scores are not probabilities, pass scale=",
        ),
        (
            _outlying(),
            {"scale": "probability"},
            "are no probabilities | another scale: scale='margin'",
        ),
        (P - 3 * CONFIDENCE, {"score_of": "negative"}, "are no probab | score_of='negative'"),
        (P, {"score_of": "negative"}, "are higher where | is score_of='negative' right?"),
    ],
)
def test_what_looks_wrong(
    score: Any, options: Any, told: str, engine: Engine, tmp_path: Path
) -> None:
    [doubt, *_] = _read(_table(score), engine, tmp_path, **options).doubts
    words, remedy = told.split(" | ")
    assert words in doubt.problem
    assert remedy in doubt.hint
    if "outside" in doubt.problem:
        assert "1234" in doubt.details and "1.7" in doubt.details


def test_what_looks_right(engine: Engine, tmp_path: Path) -> None:
    margins = np.log(P + 1e-9) - np.log1p(1e-9 - P)
    for score, options in (
        (P, {}),
        (P, {"predicted": None, "threshold": 0.4}),
        (margins, {}),
        (100 * P, {"scale": "percent", "threshold": 50}),
        (100 * P, {"scale": "margin"}),
        (_outlying(), {"scale": "margin"}),
        (CONFIDENCE, {"score_of": "predicted"}),
        (1 - P, {"score_of": "negative", "threshold": 0.5}),
    ):
        assert _read(_table(score), engine, tmp_path, **options).doubts == ()


def test_a_score_that_is_turned_round_is_the_positive_classes(
    engine: Engine, tmp_path: Path
) -> None:
    margins = np.log(P + 1e-9) - np.log1p(1e-9 - P)
    plain = _read(_table(np.where(SAID, P, 1 - (1 - P))), engine, tmp_path)
    turned = _read(_table(CONFIDENCE), engine, tmp_path, score_of="predicted")
    assert turned.fingerprint() == plain.fingerprint()
    wrong = _read(_table(CONFIDENCE), engine, tmp_path, score_of="negative")
    assert wrong.fingerprint() != plain.fingerprint()
    percent = _read(_table(100 * P), engine, tmp_path, scale="percent", threshold=50.0)
    assert percent.threshold == 0.5
    exact = _read(_table((100 * P) / 100), engine, tmp_path)
    assert percent.fingerprint() == exact.fingerprint()
    signed = _read(_table(np.abs(margins)), engine, tmp_path, score_of="predicted", scale="margin")
    assert signed.fingerprint() == _read(_table(margins), engine, tmp_path).fingerprint()


def test_the_order_is_the_area_under_the_curve() -> None:
    score = np.where(SAID, RNG.random(SIZE), RNG.random(SIZE) ** 2).round(3)
    found = ordered_pairs(cells_of(score, SAID))
    assert found == pytest.approx(roc_auc_score(SAID, score), abs=2e-3)
    # A count without ties would be seen.
    assert abs(ordered_pairs(cells_of(np.rint(score), SAID)) - roc_auc_score(SAID, score)) > 0.01


def test_a_campaign_is_warned_of_and_keeps_the_note(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/assay.db"
    with pytest.warns(AssayWarning, match="(?s)median .* pass score_of='predicted'"):
        create_campaign(_table(CONFIDENCE), **COLUMNS, budget=50, storage=storage)
    [note] = load_campaign(storage=storage).settings.notes
    assert "where the prediction is no" in note
    assert "score_of" not in note
    good = create_campaign(_table(CONFIDENCE), **COLUMNS, score_of="predicted", budget=50)
    assert good.settings.notes == ()
    with pytest.raises(PredictionsError, match="1 of 3,000 scores in column 'p'"):
        create_campaign(_table(_outlying()), **COLUMNS, budget=50)
    # Of several classifiers each is looked at, and named.
    with pytest.warns(AssayWarning, match="classifier 'new': scores of"):
        compare_campaign(_table(P), _table(1 - P, P > 0.6), **COLUMNS, budget=50)
    with pytest.warns(AssayWarning, match="classifier 'new': scores of"):
        create_campaign(
            {"a": P, "b": 1 - P, "said": SAID, "later": P > 0.6},
            classifiers={
                "old": {"score": "a", "predicted": "said"},
                "new": {"score": "b", "predicted": "later"},
            },
            budget=50,
        )
