"""Questions for a threshold, as people write them."""

import pytest

from assay.core.goal import ThresholdQuestion
from assay.errors import DesignError


@pytest.mark.parametrize(
    ("text", "floors", "most"),
    [
        ("precision >= 0.95", {"precision": 0.95}, "recall"),
        ("precision>=95%", {"precision": 0.95}, "recall"),
        ("Recall is at least 0.9", {"recall": 0.9}, "precision"),
        ("recall ≥ 0.9", {"recall": 0.9}, "precision"),
        ("specificity >= 0.99", {"specificity": 0.99}, "recall"),
        (
            "negative predictive value >= 0.9",
            {"negative_predictive_value": 0.9},
            "precision",
        ),
        ("precision >= 0.9 and the most recall", {"precision": 0.9}, "recall"),
        ("precision >= 0.8 and recall >= 0.5", {"precision": 0.8, "recall": 0.5}, "recall"),
        ("recall >= 0.5, precision >= 0.8", {"precision": 0.8, "recall": 0.5}, "precision"),
        ("precision >= 0.8 and the most precision", {"precision": 0.8}, "precision"),
    ],
)
def test_a_question_is_read_and_is_written_so_that_it_is_read_alike(
    text: str, floors: dict[str, float], most: str
) -> None:
    question = ThresholdQuestion.parse(text)
    assert dict(question.floors) == pytest.approx(floors)
    assert question.most == most
    assert ThresholdQuestion.parse(str(question)) == question


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("precision", "is not understood at 'precision'"),
        ("precision <= 0.9", "is not understood"),
        ("precision >= 0.9 or recall >= 0.5", "is not understood"),
        ("the most recall", "has no floor"),
        ("precision >= 0.9 and precision >= 0.8", "two of one metric"),
        ("f1 >= 0.9", "cannot keep a floor under f1"),
        ("precision >= 95", "a floor of threshold_for"),
        ("precision >= 0", "a floor of threshold_for"),
        ("precision >= 1.2.3", "has a floor of '1.2.3'"),
        ("", "is not understood"),
    ],
)
def test_what_is_no_question_is_told_with_an_example(text: str, told: str) -> None:
    with pytest.raises(DesignError) as error:
        ThresholdQuestion.parse(text)
    assert told in str(error.value)
    assert error.value.hint
