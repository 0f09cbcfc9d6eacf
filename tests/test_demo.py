"""The demo's numbers are true, and its classifier is a real one."""

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score

from assay.campaign.campaign import Campaign
from assay.core.profile import profile_of
from assay.demo import DemoResult, Population, Watcher, fit_logistic, make_population, predict, run
from assay.results import Estimate


class Diary(Watcher):
    """Writes down what it sees."""

    def __init__(self) -> None:
        self.populations: list[Population] = []
        self.estimates: list[Estimate] = []

    def started(self, population: Population, campaign: Campaign) -> None:
        assert campaign.estimate().labels == 0
        self.populations.append(population)

    def labelled(self, estimate: Estimate) -> None:
        self.estimates.append(estimate)


@pytest.fixture(scope="module")
def diary() -> Diary:
    return Diary()


@pytest.fixture(scope="module")
def result(diary: Diary) -> DemoResult:
    return run(7, diary)


def test_it_stops_within_the_goal(result: DemoResult) -> None:
    assert result.estimate.stopped == "measured to the requested width"
    assert result.estimate.half_width <= 0.02


def test_the_true_value_is_the_populations(result: DemoResult) -> None:
    population = make_population(7)
    assert result.true_value == population.precision
    assert result.predicted_spam == population.predicted.sum()
    assert result.inside == (result.estimate.low <= population.precision <= result.estimate.high)


def test_each_round_is_seen(result: DemoResult, diary: Diary) -> None:
    assert len(diary.populations) == 1
    labels = [estimate.labels for estimate in diary.estimates]
    assert labels == list(range(20, result.estimate.labels + 1, 20))
    assert diary.estimates[-1] == result.estimate


def test_random_sampling_costs_what_theory_says(result: DemoResult) -> None:
    """The labels of a random sample at a half-width of 0.02, and up to 15% for honest peeking.

    The mean of 200 runs has a standard error of about 5 labels (each stops within a few rounds of
    the same number); the bounds are 4 of them away on either side: failure probability < 1e-4,
    and the seed is fixed.
    """
    spread = result.true_value * (1 - result.true_value)
    endless = float(ndtri(0.975)) ** 2 * spread / 0.02**2
    needed = endless / (1 + endless / result.predicted_spam)
    assert result.mean_labels < needed - 20 <= result.random_mean_labels <= 1.15 * needed


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


def test_precision_is_scikit_learns() -> None:
    population = make_population(7)
    expected = precision_score(population.truth, population.predicted)
    assert population.precision == expected
    assert np.array_equal(population.predicted, population.score >= 0.5)


def test_errors_sit_at_low_scores_so_that_strata_pay() -> None:
    population = make_population(7)
    score = population.score[population.predicted]
    truth = population.truth[population.predicted]
    middle = np.median(score)
    assert truth[score < middle].mean() < truth[score >= middle].mean() - 0.05
    assert not profile_of(score).exact
