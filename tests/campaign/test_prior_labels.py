import numpy as np
import pytest

from assay.campaign.prior_labels import PriorLabels, find_prior_labels
from assay.core.strata import Side
from assay.predictions import Predictions, from_arrays

SCORE = np.linspace(0, 1, 1000)


@pytest.fixture
def predictions() -> Predictions:
    return from_arrays(y_score=SCORE, threshold=0.5)


def _find(
    labels: object, predictions: Predictions, sides: tuple[Side, ...] = (True,)
) -> PriorLabels:
    return find_prior_labels(
        labels,
        predictions,
        id_column=None,
        variable="score",
        scale="probability",
        sides=list(sides),
    )


def test_labels_of_the_other_side_are_counted_and_left_out(predictions: Predictions) -> None:
    prior_labels = _find({10: False, 600: True, 700: False}, predictions)
    assert [card.id for card in prior_labels.cards] == [600, 700]
    assert prior_labels.elsewhere == 1
    assert prior_labels.one_side == "yes"
    assert _find({10: False, 600: True}, predictions, (True, False)).one_side == ""


def test_a_random_sample_is_believed_and_a_chosen_one_is_not(predictions: Predictions) -> None:
    """A random sample is doubted once in a thousand; this one is fixed by its seed."""
    sample = np.random.default_rng(0).choice(1000, 200, replace=False)
    for sides in ((True,), (False,), (True, False)):
        assert not _find(dict.fromkeys(sample.tolist(), True), predictions, sides).doubt
        highest = _find(dict.fromkeys(range(100, 1000, 1), True), predictions, sides)
        assert bool(highest.doubt) == (False in sides)
    chosen = _find(dict.fromkeys(range(900, 1000), True), predictions)
    assert "chi-square test, p < 1e-09" in chosen.doubt
