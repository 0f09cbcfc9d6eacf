"""evaluate() on arrays of classes, beside scikit-learn's own words for them."""

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

import assay
from assay.errors import InputError, LabelError

N, K = 800, 4


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    """Probabilities, what is predicted, and what is so: numbers from 0 to 3, of which 3 is rare."""
    rng = np.random.default_rng(1)
    truth = rng.choice(K, N, p=[0.5, 0.3, 0.15, 0.05])
    logits = rng.normal(size=(N, K)) + 2.0 * np.eye(K)[truth]
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return {"y_true": truth, "y_pred": probabilities.argmax(axis=1), "p": probabilities}


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "recall:3", None])
def test_numbers_are_classes(arrays: dict[str, Any], metric: str | None) -> None:
    y_true, y_pred = arrays["y_true"], arrays["y_pred"]
    right = {
        "accuracy": sk.accuracy_score(y_true, y_pred),
        "macro_f1": sk.f1_score(y_true, y_pred, average="macro"),
        "recall:3": sk.recall_score(y_true == 3, y_pred == 3),
        None: sk.accuracy_score(y_true, y_pred),
    }
    found = assay.evaluate(
        y_pred, y_score=arrays["p"].max(axis=1), y_true=y_true, metric=metric, within=None, budget=N
    )
    assert found.value == pytest.approx(right[metric], abs=1e-9)
    assert found.metric == (metric or "accuracy")


def test_an_array_of_probabilities(arrays: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"metric": "macro_f1", "within": None, "budget": 200}
    names = np.array(["a", "b", "c", "d"])
    told = names[arrays["y_true"]]
    found = assay.evaluate(y_score=arrays["p"], classes=names.tolist(), y_true=told, **plain)
    same = assay.evaluate(
        names[arrays["y_pred"]], y_score=arrays["p"].max(axis=1), y_true=told, **plain
    )
    assert found == same
    with pytest.raises(InputError, match="classes are not named"):
        assay.evaluate(y_score=arrays["p"], oracle=lambda rows: told[rows], **plain)
    with pytest.raises(InputError, match="classes are 3"):
        assay.evaluate(y_score=arrays["p"], classes=["a", "b", "c"], y_true=told, **plain)


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
