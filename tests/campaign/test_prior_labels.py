from pathlib import Path

import numpy as np
import pytest

from assay.campaign.prior_labels import PriorLabels, find_prior_labels
from assay.core.strata import Side
from assay.errors import AssayError, LabelConflictError, LabelError
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


def test_unknown_ids_are_named(predictions: Predictions) -> None:
    with pytest.raises(LabelError) as error:
        _find({600: True, 1000: True, -3: False}, predictions)
    assert error.value.ids == {"1000", "-3"}
    assert "first: 1000, -3" in error.value.details


def test_answers_that_contradict_each_other_are_refused(
    predictions: Predictions, tmp_path: Path
) -> None:
    with pytest.raises(LabelConflictError, match="has two answers"):
        _find([(600, True), (600, False)], predictions)
    file = tmp_path / "labels.csv"
    file.write_text("id,label\n600,yes\n600,no\n")
    with pytest.raises(LabelError, match="line 3: 600 is 'no' here and 'yes' in line 2"):
        _find(str(file), predictions)


def test_files_without_labels_are_told(predictions: Predictions, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    for text, told in (
        ("", "column 'id'"),
        ("id,label\n", "no labels"),
        ("id,label\n1,\n", "1 row"),
    ):
        file.write_text(text)
        with pytest.raises(AssayError, match=told):
            _find(file, predictions)


def test_a_random_sample_is_believed_and_a_chosen_one_is_not(predictions: Predictions) -> None:
    """A random sample is doubted once in a thousand; this one is fixed by its seed."""
    sample = np.random.default_rng(0).choice(1000, 200, replace=False)
    for sides in ((True,), (False,), (True, False)):
        assert not _find(dict.fromkeys(sample.tolist(), True), predictions, sides).doubt
        highest = _find(dict.fromkeys(range(100, 1000, 1), True), predictions, sides)
        assert bool(highest.doubt) == (False in sides)
    chosen = _find(dict.fromkeys(range(900, 1000), True), predictions)
    assert "chi-square test, p < 1e-09" in chosen.doubt


def test_one_label_is_enough_to_begin(predictions: Predictions) -> None:
    assert not _find({600: "cannot judge"}, predictions).doubt
