"""The demo's classifier is a real one, and its population is what the demo says."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score

from assay.core.profile import profile_of
from assay.demo import Population, fit_logistic, make_population, predict


def test_the_regression_is_scikit_learns() -> None:
    rng = np.random.default_rng(5)
    features = rng.standard_normal((500, 3))
    outcome = rng.random(500) < 1 / (1 + np.exp(-(features @ [2.0, -1.0, 0.0] + 0.5)))
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(features, outcome)
    ours = predict(fit_logistic(features, outcome), features)
    np.testing.assert_allclose(ours, peer.predict_proba(features)[:, 1], atol=1e-5)


def test_messages_that_can_be_told_apart_exactly_are_no_problem() -> None:
    score = predict(fit_logistic(np.array([[-1.0], [1.0]]), np.array([False, True])), np.eye(1))
    assert np.isfinite(score).all()


def test_the_same_seed_gives_the_same_population() -> None:
    one, other, third = make_population(3), make_population(3), make_population(4)
    assert np.array_equal(one.score, other.score)
    assert np.array_equal(one.truth, other.truth)
    assert not np.array_equal(one.truth, third.truth)


def test_precision_is_scikit_learns() -> None:
    population = make_population(7)
    expected = precision_score(population.truth, population.predicted)
    assert population.precision == expected
    assert np.array_equal(population.predicted, population.score >= 0.5)


def test_errors_sit_at_low_scores_so_that_strata_pay() -> None:
    def check(population: Population) -> None:
        score = population.score[population.predicted]
        truth = population.truth[population.predicted]
        middle = np.median(score)
        assert truth[score < middle].mean() < truth[score >= middle].mean() - 0.05
        assert not profile_of(score).exact

    population = make_population(7)
    check(population)
    said = population.predicted
    without_signal = 0.5 + np.random.default_rng(0).random(said.size) / 2
    with pytest.raises(AssertionError):
        check(Population(np.where(said, without_signal, 0.0), said, population.truth))
