"""Populations of known truth: counts, values and limits against the items themselves."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

from assay.core.cut_methods import METHODS
from assay.core.cuts import Variable
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.profile import profile_of
from assay.core.stratify import cell_strata, stratify
from assay.core.targets import Target, parse_targets
from assay.core.types import Bools, Floats
from assay.errors import AssayError, PredictionsError
from assay.predictions import from_arrays
from assay.simulation import Population
from tests.sklearn_metrics import SKLEARN

SIZE = 20_000


def items(*, ties: bool) -> tuple[Floats, Bools, Bools]:
    """Return scores, predicted labels and truths; with ties, of 37 different scores."""
    rng = np.random.default_rng(11)
    score = rng.beta(2, 1, SIZE)
    score = np.round(score * 36) / 36 if ties else score
    return score, score >= 0.6, rng.random(SIZE) < score**2


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("variable", ["score", "confidence"])
@pytest.mark.parametrize("metric", ["precision", "recall", "accuracy"])
def test_frames_hold_what_the_items_add_up_to(ties: bool, variable: Variable, metric: str) -> None:
    score, predicted, truth = items(ties=ties)
    population = Population(y_true=truth, y_score=score, y_pred=predicted)
    values = score if variable == "score" else np.where(predicted, score, 1 - score)
    for method in METHODS:
        frame = population.frame(Design(strata=method, bins=5, variable=variable), metric)
        stratum = frame.strata.assign(values, predicted)
        straddles = variable == "confidence" and metric == "accuracy"
        outcome = truth == predicted if straddles else truth
        numbers = range(frame.strata.n_strata)
        assert frame.sizes.tolist() == [int((stratum == h).sum()) for h in numbers], method
        counted = [int(outcome[stratum == h].sum()) for h in numbers]
        assert frame.outcomes.tolist() == counted, method
        assert frame.value == pytest.approx(population.value(metric))


@pytest.mark.parametrize("variable", ["score", "confidence"])
@pytest.mark.parametrize("metric", ["precision", "accuracy", "false_omission_rate"])
@pytest.mark.parametrize("method", METHODS)
def test_what_is_simulated_is_cut_as_what_is_run(
    method: str, metric: str, variable: Variable
) -> None:
    """Margins of which one side alone would pass for probabilities."""
    uniform, predicted, truth = items(ties=False)
    score = np.where(predicted, uniform, -30 * uniform)
    design = Design(strata=method, bins=6, variable=variable)
    simulated = Population(y_true=truth, y_score=score, y_pred=predicted).frame(design, metric)

    found = from_arrays(y_score=score, y_pred=predicted)
    sides = simulated.strata.sides
    profiles = found.profile(variable, "margin", sides)
    assert simulated.strata == stratify(profiles, variable=variable, method=method, bins=6)

    if variable == "score" and metric == "precision":
        alone = profile_of(uniform[predicted])
        wrong = stratify({True: alone}, variable=variable, method=method, bins=6)
        assert simulated.strata != wrong


@pytest.mark.parametrize("metric", SKLEARN)
def test_values_are_scikit_learns(metric: str) -> None:
    score, predicted, truth = items(ties=False)
    population = Population(y_true=truth, y_score=score, y_pred=predicted)
    assert population.value(metric) == pytest.approx(SKLEARN[metric](truth, predicted), rel=1e-12)
    given = arrays()
    several, by_hand = (
        Population(**given),
        {name: SKLEARN[metric](given["y_true"], given["y_pred"][name]) for name in NAMES},
    )
    for name in NAMES:
        assert several.value(Target(metric, name)) == pytest.approx(by_hand[name], abs=1e-12)
    if metric != "prevalence":
        found = several.value(Target(metric, "a", minus="b"))
        assert found == pytest.approx(by_hand["a"] - by_hand["b"], abs=1e-12)


def uniform_eta() -> Population:
    """1,000 scores with 1,000 items each, of which the score's share is positive."""
    eta = (np.arange(1000) + 0.5) / 1000
    positives = np.round(eta * 1000).astype(int)
    truth = np.concatenate([np.arange(1000) < count for count in positives])
    score = np.repeat(eta, 1000)
    return Population(y_true=truth, y_score=score, y_pred=np.ones(score.size, dtype=bool))


def test_the_limit_of_uniform_rates_is_pi_squared_over_16() -> None:
    # E sqrt(eta (1 - eta)) = pi/8 for eta uniform on (0, 1), and p (1 - p) = 1/4.
    limit = uniform_eta().limit("precision")
    assert limit == pytest.approx(math.pi**2 / 16, rel=1e-3)
    without_root = (1 / 6) / (1 / 4)  # E eta (1 - eta) in its place: proportional allocation
    assert limit != pytest.approx(without_root, rel=1e-2)


def test_many_strata_with_the_best_allocation_come_to_the_limit_from_above() -> None:
    population = uniform_eta()
    random, limit = population.random_variance("precision"), population.limit("precision")
    shares = [
        population.frame(Design(bins=bins), "precision").least_variance / random
        for bins in (1, 2, 4, 8, 32, 500)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(1.0)
    assert shares[-1] == pytest.approx(limit, rel=1e-3)
    assert min(shares) >= limit * (1 - 1e-9)


def test_the_limit_of_recall_is_that_of_many_strata_too() -> None:
    score, predicted, truth = items(ties=True)
    population = Population(y_true=truth, y_score=score, y_pred=predicted)
    fine = population.frame(Design(bins=100), "recall").least_variance
    # An isotonic fit smooths the few scores whose rates fall by chance.
    assert population.limit("recall") == pytest.approx(
        fine / population.random_variance("recall"), rel=0.02
    )


def test_nothing_to_gain_without_scores_or_without_errors() -> None:
    _, predicted, truth = items(ties=True)
    assert Population(y_true=truth, y_pred=predicted).limit("precision") == pytest.approx(1.0)
    assert Population(y_true=predicted, y_pred=predicted).limit("precision") == 1.0


def test_a_metric_that_does_not_exist_here_is_told() -> None:
    with pytest.raises(PredictionsError, match="predicted positive"):
        Population(y_true=[True, False], y_pred=[False, False]).value("precision")


# Several classifiers with the truth: counts by hand, values by scikit-learn.


NAMES = ("a", "b", "c")


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    truth = rng.random(3000) < 0.3
    said = {name: truth ^ (rng.random(3000) < 0.1 * k) for k, name in enumerate(NAMES, start=1)}
    return {"y_true": truth, "y_pred": said, "y_score": {"a": rng.random(3000).round(3)}}


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
