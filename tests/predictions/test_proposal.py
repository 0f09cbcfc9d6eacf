"""What columns probably are: ids, scores, labels, and what reviewers may see."""

from pathlib import Path
from typing import Any

import pytest

from assay.errors import PredictionsError
from assay.predictions import propose

TEXTS = ["Buy now!", "Are we on?", "Free", "Hello"]
CASES: dict[str, tuple[dict[str, list[Any]], dict[str, object]]] = {
    "a probability": (
        {"mail_id": [1, 2, 3, 4], "p_spam": [0.9, 0.2, 0.7, 0.1], "text": TEXTS},
        {
            "id": "mail_id",
            "score": "p_spam",
            "predicted": None,
            "threshold": 0.5,
            "show": ("text",),
        },
    ),
    "a percentage": (
        {"id": list("abcd"), "score": [90.5, 20, 70, 10], "text": TEXTS},
        {"score": "score", "threshold": 50.0},
    ),
    "a margin": (
        {"id": list("abcd"), "logit": [-3.1, 2, 0.4, 1]},
        {"score": "logit", "threshold": 0.0},
    ),
    "labels in words": (
        {"id": list("abcd"), "prediction": ["spam", "ham", "spam", "ham"], "text": TEXTS},
        {"predicted": "prediction", "positive": "spam", "score": None, "threshold": None},
    ),
    "labels that need no words": (
        {"id": list("abcd"), "y_pred": [1, 0, 1, 0]},
        {"predicted": "y_pred", "positive": None},
    ),
    "the truth beside it": (
        {"id": list("abcd"), "p": [0.9, 0.2, 0.7, 0.1], "label": [1, 0, 1, 0], "text": TEXTS},
        {"truth": ("label",), "show": ("text",), "predicted": None},
    ),
    "another classifier beside it": (
        {"id": list("abcd"), "pred_a": [1, 0, 1, 0], "pred_b": [True, False, True, True]},
        {"predicted": "pred_a", "show": ()},
    ),
    "an id that repeats": (
        {"id": list("aacd"), "p": [0.9, 0.2, 0.7, 0.1]},
        {"id": None, "score": "p"},
    ),
    "a score of any name": (
        {"key": list("abcd"), "spamminess": [0.9, 0.2, 0.7, 0.1], "words": [12, 3, 4, 5]},
        {"score": "spamminess", "id": "key"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_columns_are_recognised(case: str, tmp_path: Path) -> None:
    columns, wanted = CASES[case]
    found = propose(columns)
    assert {name: getattr(found, name) for name in wanted} == wanted
    rows = [columns, *zip(*columns.values(), strict=True)]
    file = tmp_path / "items.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in rows))
    of_file = propose(str(file))  # where every value is text
    assert {name: getattr(of_file, name) for name in wanted} == wanted
    assert [each.name for each in of_file.columns] == list(columns)


def test_no_rows_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("id,p\n")
    with pytest.raises(PredictionsError, match=r"empty\.csv"):
        propose(str(file))
