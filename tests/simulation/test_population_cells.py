"""Several classifiers with the truth: counts by hand, values by scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn import metrics as sk

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.stratify import cell_strata
from assay.core.targets import Target, parse_targets
from assay.errors import AssayError
from assay.simulation import Population

NAMES = ("a", "b", "c")


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    truth = rng.random(3000) < 0.3
    said = {name: truth ^ (rng.random(3000) < 0.1 * k) for k, name in enumerate(NAMES, start=1)}
    return {"y_true": truth, "y_pred": said, "y_score": {"a": rng.random(3000).round(3)}}


def omission(truth: Any, said: Any) -> float:
    return float(truth[~said].mean())


SCIKIT: dict[str, Callable[..., float]] = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "f1": sk.f1_score,
    "accuracy": sk.accuracy_score,
    "false_omission_rate": omission,
}


@pytest.mark.parametrize("metric", SCIKIT)
def test_values_are_scikit_learns(metric: str) -> None:
    given = arrays()
    population = Population(**given)
    by_hand = {name: SCIKIT[metric](given["y_true"], given["y_pred"][name]) for name in NAMES}
    for name in NAMES:
        assert population.value(Target(metric, name)) == pytest.approx(by_hand[name], abs=1e-12)
    if metric != "f1":
        found = population.value(Target(metric, "a", minus="b"))
        assert found == pytest.approx(by_hand["a"] - by_hand["b"], abs=1e-12)


def test_prevalence_is_the_share_of_positives() -> None:
    given = arrays()
    assert Population(**given).value(Target("prevalence", "")) == given["y_true"].mean()


def test_outcomes_are_the_positives_of_each_part() -> None:
    given = arrays()
    population = Population(**given)
    goal = Goal(targets=parse_targets(["recall:a", "recall:c"], NAMES, within=0.1))
    strata = cell_strata(population, goal, Design())
    codes = sum(given["y_pred"][name].astype(int) << bit for bit, name in enumerate(NAMES))
    # Only one classifier has a score, so items are ranked by it.
    rank = (rankdata(given["y_score"]["a"]) - 0.5) / 3000
    stratum = strata.assign(rank, codes)
    by_hand = [
        int((given["y_true"] & (stratum == s) & (codes == code)).sum())
        for s, code, _ in strata.parts
    ]
    assert population.outcomes(strata).tolist() == by_hand
    assert sum(by_hand) == given["y_true"].sum()


def test_what_is_read_from_a_table_is_what_is_given_as_arrays() -> None:
    given = arrays()
    words = {name: np.where(said, "yes", "no") for name, said in given["y_pred"].items()}
    truth = np.where(given["y_true"], "spam", "ham")
    table = {"truth": truth, "score": given["y_score"]["a"], **words}
    classifiers = {name: {"predicted": name, "positive": "yes"} for name in NAMES}
    classifiers["a"]["score"] = "score"
    read = Population.read(table, label="truth", classifiers=classifiers, positive="spam")
    assert read.cells() == Population(**given).cells()
    assert read.value(Target("recall", "b")) == Population(**given).value(Target("recall", "b"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"y_pred": {"a": [1, 0, 1]}, "threshold": 0.5},
        {"y_pred": {}},
        {"y_pred": {"a": [1, 0]}},
        {"y_pred": {"a": [1, 0, 7]}},
        {"y_pred": {"a": [1, 0, 1]}, "y_score": {"b": [0.1, 0.2, 0.3]}},
        {"y_pred": {"a": [1, 0, 1]}, "y_score": [0.1, 0.2, 0.3]},
        {"y_pred": {"a:b": [1, 0, 1]}},
    ],
)
def test_bad_arrays_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssayError):
        Population(y_true=[1, 0, 1], **wrong)
