import numpy as np
import pytest

import assay
from assay.core.metrics import METRICS
from assay.core.types import Bools, Floats, Ints
from assay.errors import LabelError
from assay.simulation import Population

SIZE = 4000
SCORE = np.random.default_rng(5).permutation(SIZE) // 4 / 1000  # no two scores in one bin
TRUTH = np.random.default_rng(6).random(SIZE) < 0.02 + 0.96 * SCORE**2
THRESHOLD = float(np.sort(SCORE)[2400])  # 1,600 are predicted yes
PREDICTED = SCORE >= THRESHOLD
POPULATION = Population(y_true=TRUTH, y_score=SCORE, threshold=THRESHOLD)


def _told(items: Ints, truth: Bools = TRUTH) -> dict[int, bool]:
    return {int(item): bool(truth[item]) for item in items}


def _estimate(labels: object, metric: str = "precision") -> assay.Estimate:
    return assay.estimate(
        labels, predictions={"p": SCORE}, score="p", threshold=THRESHOLD, metric=metric
    )


@pytest.mark.parametrize("metric", METRICS)
def test_all_labels_give_the_metric_itself(metric: str) -> None:
    found = _estimate(_told(np.arange(SIZE)), metric)
    assert found.value == pytest.approx(POPULATION.value(metric), abs=1e-12)
    assert found.low == pytest.approx(found.high, abs=1e-12)


def test_the_estimate_is_the_mean_of_the_bins_rates_by_their_sizes() -> None:
    sample = np.random.default_rng(7).choice(np.flatnonzero(PREDICTED), 110, replace=False)
    found = _estimate(_told(sample))
    # 110 labels make 4 bins of equal size; what is predicted no is not looked at.
    bins = np.argsort(SCORE)[2400:].reshape(4, 400)
    rates = [TRUTH[np.intersect1d(each, sample)].mean() for each in bins]
    assert found.value == pytest.approx(float(np.mean(rates)))
    assert "in 4 strata by score" in found.notes[0]
    assert not found.anytime


def _ends(draw: Floats, runs: int) -> tuple[Floats, Floats]:
    """Return the intervals of samples of 300 items of all, drawn with these weights."""
    rng = np.random.default_rng(8)
    share = draw / draw.sum()
    found = [
        _estimate(_told(rng.choice(SIZE, 300, replace=False, p=share)), "accuracy")
        for _ in range(runs)
    ]
    return np.array([each.low for each in found]), np.array([each.high for each in found])


def test_the_interval_covers_for_random_labels_and_the_check_sees_chosen_ones() -> None:
    """200 runs at 95%: fewer than 0.9 covered happens once in 800 to a right interval."""
    truth = POPULATION.value("accuracy")

    def check(draw: Floats) -> None:
        low, high = _ends(draw, 200)
        assert ((low <= truth) & (truth <= high)).mean() >= 0.9

    check(np.ones(SIZE))
    with pytest.raises(AssertionError):  # twice as many of those that the classifier got right
        check(1.0 + (PREDICTED == TRUTH))


def test_a_side_without_labels_is_told() -> None:
    yes_only = _told(np.flatnonzero(PREDICTED)[:50])
    with pytest.raises(LabelError, match="no label that counts is of an item predicted no"):
        _estimate(yes_only, "recall")
    unjudged = dict.fromkeys(np.flatnonzero(~PREDICTED)[:5].tolist(), "cannot judge")
    with pytest.raises(LabelError, match="predicted no"):
        _estimate(yes_only | unjudged, "recall")


def test_chosen_items_and_left_out_labels_are_noted() -> None:
    best = _told(np.argsort(SCORE)[-300:])
    found = _estimate(best | _told(np.flatnonzero(~PREDICTED)[:7]))
    assert "do not look drawn at random" in found.notes[0]
    assert "7 labels are of items that precision does not depend on" in found.notes
