"""What is supposed, cut as a campaign cuts it; and rates that labels tell."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from assay.core.design import Design
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.types import Floats
from assay.predictions import from_arrays
from assay.simulation import Population, of_one, replay
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.evidence import rate_curve

RNG = np.random.default_rng(11)
SCORE = RNG.normal(0, 2, 5000).round(2)
SAID = SCORE + RNG.normal(0, 0.5, 5000) > 0
TRUTH = RNG.random(5000) < 1 / (1 + np.exp(-SCORE))


def supposed(*, opposite: bool = False) -> Supposed:
    """The true rate in each cell; or its opposite."""
    population = Supposed.of(from_arrays(y_score=SCORE, y_pred=SAID), "margin")
    rates = {}
    for side, profile in population.profiles.items():
        here = side == SAID
        cell = np.searchsorted(profile.low, SCORE[here], side="right") - 1
        truth = ~TRUTH[here] if opposite else TRUTH[here]
        rates[side] = np.bincount(cell, truth, minlength=profile.low.size) / profile.count
    return population.with_rates(rates)


@pytest.mark.parametrize("metric", ["precision", "recall", "accuracy", "false_omission_rate"])
@pytest.mark.parametrize("design", [Design(), Design(bins=4), Design.simple_random()])
def test_the_truth_in_cells_is_the_truth_of_the_items(metric: str, design: Design) -> None:
    known = Population(y_true=TRUTH, y_score=SCORE, y_pred=SAID).frame(design, metric)
    found = supposed().frame(design, metric)
    np.testing.assert_array_equal(found.sizes, known.sizes)
    np.testing.assert_array_equal(found.outcomes, known.outcomes)
    assert found.value == known.value
    assert supposed(opposite=True).frame(design, metric).value != known.value


def test_many_truths_have_a_row_each() -> None:
    one = supposed()
    many = one.with_rates({side: np.stack([each, 1 - each]) for side, each in one.rates.items()})
    for design in (Design(), Design.simple_random()):
        frame, alone = many.frame(design, "accuracy"), one.frame(design, "accuracy")
        np.testing.assert_array_equal(frame.outcomes[0], alone.outcomes)
        np.testing.assert_array_equal(frame.outcomes[1], alone.sizes - alone.outcomes)
    assert many.positives(True) == pytest.approx(many.predicted(True) / 2)


def test_with_many_labels_the_curve_is_a_logistic_regression() -> None:
    position = (np.arange(16) + 0.5) / 16
    rate = 1 / (1 + np.exp(1 - 3 * position))
    labels = np.full(16, 4000.0)
    positives = np.rint(labels * rate)
    a, b = rate_curve(position, labels, positives)
    column = np.concatenate([position, position])[:, None]
    fitted = LogisticRegression(C=1e6).fit(
        column, np.repeat([1, 0], 16), np.concatenate([positives, labels - positives])
    )
    expected = fitted.predict_proba(position[:, None])[:, 1]
    np.testing.assert_allclose(a / (a + b), expected, atol=0.002)
    backwards = rate_curve(position[::-1], labels, positives)
    np.testing.assert_allclose(backwards[0], a, rtol=0.01)  # a slope may have either sign


def test_strata_learn_from_each_other_where_they_follow_a_curve_and_only_there() -> None:
    position, labels = (np.arange(16) + 0.5) / 16, np.full(16, 40.0)
    rising = np.rint(labels * (0.5 + 0.48 * position))
    a, b = rate_curve(position, labels, rising)
    assert 0.9 < (a / (a + b))[-1] < 1  # not 1, though all its labels said yes or nearly
    zigzag = np.where(np.arange(16) % 2, 4.0, 36.0)
    a, b = rate_curve(position, labels, zigzag)
    np.testing.assert_allclose(a / (a + b), zigzag / labels, atol=0.04)


def test_labels_of_one_kind_do_not_make_it_certain() -> None:
    a, b = rate_curve(np.array([0.25, 0.75]), np.array([5.0, 5.0]), np.array([0.0, 0.0]))
    mean = a / (a + b)
    assert (mean > 0.005).all()
    assert (mean < 0.15).all()


def test_each_evaluation_may_have_a_truth_of_its_own() -> None:
    sizes, design = np.array([3000.0, 3000.0]), Design(bins=2)
    goal, metric = Goal("precision", within=0.1), ratio("precision", sizes, np.array([True, True]))

    def values(outcomes: Floats) -> Floats:
        rng = np.random.default_rng(1)
        runs = replay(*of_one(design, goal, metric, sizes, outcomes), replications=10, rng=rng)
        return runs.value

    alike, other = np.array([1500.0, 2700.0]), np.array([0.0, 300.0])
    np.testing.assert_array_equal(values(alike), values(np.tile(alike, (10, 1))))
    # Evaluations end at different times, so a row must go with its evaluation to the end.
    mixed = values(np.where(np.arange(10)[:, None] % 2, alike, other))
    assert (mixed[1::2] > 0.5).all()
    assert (mixed[::2] < 0.2).all()
