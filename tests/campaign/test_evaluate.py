"""`assay.evaluate` on arrays of yes and no and of classes, beside scikit-learn's metrics."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

import assay
from assay.core.types import Ints
from assay.errors import LabelError

RNG = np.random.default_rng(11)
SCORE = RNG.random(300)
TRUTH = RNG.random(300) < SCORE**2
PREDICTED = SCORE >= 0.6


def test_weights_are_those_of_scikit_learn() -> None:
    weight = np.where(TRUTH, 4.0, 1.0) * RNG.lognormal(0, 0.5, 300)
    found = assay.evaluate(
        PREDICTED, y_score=SCORE, y_true=TRUTH, sample_weight=weight, within=0.05, batch=50
    )
    weighted = sk.precision_score(TRUTH, PREDICTED, sample_weight=weight)
    assert found.low <= weighted <= found.high
    assert not found.low <= sk.precision_score(TRUTH, PREDICTED) <= found.high  # without them


class Asked:
    """An oracle that keeps what it was asked."""

    def __init__(self, truth: Any = TRUTH) -> None:
        self.truth, self.batches = np.asarray(truth), list[Ints]()

    def __call__(self, rows: Ints) -> Any:
        self.batches.append(rows)
        return self.truth[rows]


def test_an_oracle_is_asked_once_for_each_row_in_batches_until_the_goal_is_met() -> None:
    asked = Asked()
    found = assay.evaluate(y_score=SCORE, threshold=0.6, oracle=asked, within=0.06, batch=7, seed=3)
    rows = np.concatenate(asked.batches)
    assert max(map(len, asked.batches)) <= 7
    assert rows.size == np.unique(rows).size == found.labels < PREDICTED.sum()
    assert PREDICTED[rows].all()  # precision does not depend on the others
    assert found.half_width <= 0.06 and found.stopped is not None
    assert found.low <= TRUTH[PREDICTED].mean() <= found.high
    replayed = assay.evaluate(
        y_score=SCORE, threshold=0.6, y_true=TRUTH, within=0.06, batch=7, seed=3
    )
    assert replayed == found
    again = Asked()
    assay.evaluate(y_score=SCORE, threshold=0.6, oracle=again, within=0.06, batch=7, seed=4)
    assert set(np.concatenate(again.batches)) != set(rows)


def test_only_what_is_drawn_is_looked_at() -> None:
    asked = Asked()
    found = assay.evaluate(PREDICTED, y_score=SCORE, oracle=asked, within=None, budget=40)
    drawn = np.concatenate(asked.batches)
    truth = np.full(300, np.nan)
    truth[drawn] = TRUTH[drawn]
    same: dict[str, Any] = {"y_score": SCORE, "within": None, "budget": 40}
    assert assay.evaluate(PREDICTED, y_true=truth, **same) == found
    truth[drawn[17]] = np.nan
    with pytest.raises(LabelError, match=f"the true label of row {drawn[17]}: nan"):
        assay.evaluate(PREDICTED, y_true=truth, **same)
    names = pd.Series(np.where(TRUTH, "spam", "ham"), dtype="string").where(~np.isnan(truth))
    said = np.where(PREDICTED, "spam", "ham")
    with pytest.raises(LabelError, match=f"row {drawn[17]}"):
        assay.evaluate(said, y_true=names, pos_label="spam", **same)


def test_some_may_be_impossible_to_judge() -> None:
    answers = np.where(TRUTH, "yes", "no").astype(object)
    answers[::10] = "cannot judge"
    found = assay.evaluate(PREDICTED, y_true=answers, within=None, budget=300)
    assert found.cannot_judge == PREDICTED[::10].sum()
    assert found.worst_case is not None


def test_an_index_of_pandas_is_not_taken_for_row_numbers() -> None:
    backwards = np.arange(300)[::-1]
    found = assay.evaluate(
        pd.Series(PREDICTED, index=backwards),
        y_true=pd.Series(TRUTH, index=backwards),
        within=None,
        budget=300,
    )
    assert found.value == pytest.approx(sk.precision_score(TRUTH, PREDICTED))


def test_all_may_be_negative() -> None:
    """As in scikit-learn, whose precision is then 0."""
    said, truth = np.where(PREDICTED, "spam", "ham"), np.full(300, "ham")
    found = assay.evaluate(said, y_true=truth, pos_label="spam", within=None, budget=300)
    assert found.value == sk.precision_score(truth, said, pos_label="spam", zero_division=0) == 0
    scored = assay.evaluate(
        y_score=SCORE, threshold=0.6, y_true=truth, pos_label="spam", within=None, budget=300
    )
    assert scored.value == 0


# Classes, beside scikit-learn's own words for them.

N, K = 800, 4


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    """Probabilities, what is predicted, and what is so: numbers from 0 to 3, of which 3 is rare."""
    rng = np.random.default_rng(1)
    truth = rng.choice(K, N, p=[0.5, 0.3, 0.15, 0.05])
    logits = rng.normal(size=(N, K)) + 2.0 * np.eye(K)[truth]
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return {"y_true": truth, "y_pred": probabilities.argmax(axis=1), "p": probabilities}


def test_an_array_of_probabilities(arrays: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"metric": "macro_f1", "within": None, "budget": 200}
    names = np.array(["a", "b", "c", "d"])
    told = names[arrays["y_true"]]
    found = assay.evaluate(y_score=arrays["p"], classes=names.tolist(), y_true=told, **plain)
    same = assay.evaluate(
        names[arrays["y_pred"]], y_score=arrays["p"].max(axis=1), y_true=told, **plain
    )
    assert found == same


def test_a_class_that_is_never_predicted_is_one_all_the_same(arrays: dict[str, Any]) -> None:
    y_pred = np.minimum(arrays["y_pred"], 1)
    y_true = arrays["y_true"].astype(float)  # as pandas has them beside missing ones
    found = assay.evaluate(y_pred, y_true=y_true, metric="accuracy", within=None, budget=N)
    assert found.value == pytest.approx(sk.accuracy_score(arrays["y_true"], y_pred), abs=1e-9)


def test_an_oracle_says_classes_none_of_these_or_that_it_cannot(arrays: dict[str, Any]) -> None:
    def oracle(rows: Any) -> list[object]:
        said: list[object] = arrays["y_true"][rows].tolist()
        return [
            "none of these" if row % 10 == 0 else each for row, each in zip(rows, said, strict=True)
        ]

    found = assay.evaluate(arrays["y_pred"], oracle=oracle, within=None, budget=N)
    wrong = np.arange(N) % 10 == 0
    right = (arrays["y_pred"] == arrays["y_true"]) & ~wrong
    assert found.value == pytest.approx(right.mean(), abs=1e-9)
    with pytest.raises(LabelError, match=r"the true label of row \d+: 7 is not an answer"):
        assay.evaluate(arrays["y_pred"], oracle=lambda rows: [7] * len(rows), within=None, budget=9)
