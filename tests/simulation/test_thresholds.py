"""Campaigns for a threshold where the truth is known: how often they are wrong, and how good."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom
from sklearn.metrics import precision_score, recall_score

from assay.core.design import Design
from assay.core.forms import ratio
from assay.core.goal import ThresholdQuestion
from assay.core.rungs import Chain, Rungs
from assay.core.state import State
from assay.core.thresholds import ThresholdRun, flipped
from assay.core.types import Bools
from assay.simulation import Population, simulate
from assay.simulation.thresholds import Thresholds, ThresholdTask

RUNS = 200
FLOORS = (
    "precision >= 0.85",
    "recall >= 0.8",
    "specificity >= 0.95",
    "negative predictive value >= 0.9",
    "precision >= 0.8 and recall >= 0.3",
)


@pytest.fixture(autouse=True)
def few_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals take most of the time of a simulation, and are what one test is about."""
    told_of(2, monkeypatch)


def told_of(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give intervals to so many runs of each design."""
    of_frame = functools.partial(ThresholdTask.of_frame, intervals=runs)
    monkeypatch.setattr(ThresholdTask, "of_frame", of_frame)


def population(items: int = 20_000, *, decimals: int = 4, seed: int = 3) -> Population:
    """Return items whose score tells a good deal of what they are."""
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 3, items).round(decimals)
    truth = rng.random(items) < 1 / (1 + np.exp(-12 * (score - 0.5)))
    return Population(y_true=truth, y_score=score, threshold=0.5)


def rows(question: str, budget: int = 400, **asked: Any) -> dict[str, Any]:
    """Return the rows of a simulation by design."""
    given: dict[str, Any] = {"population": population(), "replications": RUNS, "seed": 1}
    given |= {"workers": 1} | asked
    whose = given.pop("population")
    return {
        row.design: row
        for row in simulate(whose, threshold_for=question, budget=budget, **given).rows
    }


def most_wrong(runs: int = RUNS) -> float:
    """Return the share of wrong runs that one has with a chance below 1e-4 if 5% are."""
    return float(binom.isf(1e-4, runs, 0.05)) / runs


@pytest.mark.parametrize("question", FLOORS)
def test_hardly_any_run_is_wrong_and_labels_are_worth_more_than_random_ones(question: str) -> None:
    """Fails by chance with a probability below 1e-4 a question and design."""
    found = rows(question)
    assert list(found) == ["random", "default"]
    for row in found.values():
        assert row.wrong <= most_wrong()
    assert found["default"].certified >= 0.5
    assert found["default"].share_of_best > 0.3
    assert found["default"].share_of_best >= found["random"].share_of_best - 0.05


def test_without_the_order_too_many_runs_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong variant: every threshold is tried on its own, at the whole of alpha.

    The floor fails everywhere, and just so: the order ends at the first threshold, and without it
    each has its chance of 5%. Of 200 runs 0.045 and 0.01 are wrong with it, 0.17 and 0.225 without.
    """
    rank = np.arange(20_000)
    truth = np.floor((rank + 1) * 0.6) > np.floor(rank * 0.6)
    barely = Population(y_true=truth, y_score=1 - rank / rank.size, threshold=0.5)
    asked: dict[str, Any] = {"population": barely, "budget": 300}
    asked["question"] = "precision >= 0.600001"

    def on_its_own(self: Chain, rungs: Rungs, sure: Bools | None = None) -> Bools:
        there = self.best_up >= rungs.goal
        return np.asarray(self.ahead(rungs) & (there if sure is None else there | sure))

    kept = rows(**asked)
    assert all(row.wrong <= most_wrong() for row in kept.values())
    monkeypatch.setattr(Chain, "shown", on_its_own)
    assert max(row.wrong for row in rows(**asked).values()) > most_wrong()


@pytest.mark.parametrize("quick", [False, True])
def test_intervals_at_the_threshold_hold_the_truth_and_quick_ones_need_not(
    monkeypatch: pytest.MonkeyPatch, *, quick: bool
) -> None:
    """Of precision where recall has the floor: labels go far below the threshold, where all is no.

    With a coverage of 0.9 fewer than 12 of 20 hold it with a probability below 1e-4. The wrong
    variant trusts the labels of a neighbourhood for items that have none.
    """
    rng = np.random.default_rng(8)
    score = rng.normal(0, 3, 50_000)
    truth = rng.random(score.size) < 1 / (1 + np.exp(-3 * score))
    steep = Population(y_true=truth, y_score=score, threshold=0.0)
    told_of(20, monkeypatch)
    if quick:

        def first_order(
            self: ThresholdRun, state: State, metrics: Sequence[str], place: int
        ) -> list[tuple[float, float, float, float]]:
            tallies, says = flipped(state.tallies), np.arange(self.ladder.sizes.size) <= place
            found = []
            for metric in metrics:
                form = ratio(metric, self.ladder.sizes, says)
                T = self.ladder.guess(tallies).T
                value = float(form.value(T))
                variance = float(self.ladder.variance(tallies, form.gradient(T)))
                away = 1.96 * float(np.sqrt(variance)) / (value * (1 - value))
                ends = [float(expit(logit(value) + sign * away)) for sign in (-1, 1)]
                found.append((value, ends[0], ends[1], variance))
            return found

        monkeypatch.setattr(ThresholdRun, "intervals", first_order)
    asked: dict[str, Any] = {"population": steep, "budget": 400, "replications": 20}
    row = rows("recall >= 0.9", designs=["default"], **asked)["default"]
    assert row.certified > 0.9
    assert (row.precision_covers < 12 / 20) is quick


def test_all_labels_certify_the_best_of_the_ladders_thresholds() -> None:
    few = population(600, decimals=1)
    question = ThresholdQuestion.parse("precision >= 0.8")
    row = rows("precision >= 0.8", budget=600, population=few, replications=20, gain=1e-9)
    assert few.thresholds().sizes.size <= 11
    best = few.thresholds().best(question)
    assert best is not None
    assert row["default"].certified == 1.0
    assert row["default"].wrong == 0.0


def test_what_is_best_is_the_best_of_scikit_learns_values_at_all_scores() -> None:
    few = population(300, decimals=2)
    told, truth = few.thresholds(), few.truth
    score = np.asarray(few._labelled.score)
    precision, recall = [], []
    for threshold in np.unique(score)[::-1]:
        precision.append(precision_score(truth, score >= threshold))
        recall.append(recall_score(truth, score >= threshold))
    np.testing.assert_allclose(told.precision, precision)
    np.testing.assert_allclose(told.recall, recall)
    best = max(r for p, r in zip(precision, recall, strict=True) if p >= 0.8)
    assert told.best(ThresholdQuestion.parse("precision >= 0.8")) == pytest.approx(best)
    best = max(p for p, r in zip(precision, recall, strict=True) if r >= 0.6)
    assert told.best(ThresholdQuestion.parse("recall >= 0.6")) == pytest.approx(best)
    assert told.best(ThresholdQuestion.parse("precision >= 0.8 and recall >= 0.99")) is None


def test_the_strata_are_those_of_a_campaign_and_their_edges_have_its_true_values() -> None:
    whole = population()
    frame, told = whole.ladder(Design.ladder()), whole.thresholds()
    of_strata = Thresholds(frame.sizes[::-1], frame.outcomes[::-1])
    assert frame.sizes.sum() == whole.size
    assert frame.outcomes.sum() == whole.positives
    place = np.searchsorted(np.cumsum(told.sizes), np.cumsum(of_strata.sizes))
    np.testing.assert_allclose(told.precision[place], of_strata.precision)
    np.testing.assert_allclose(told.recall[place], of_strata.recall)
