"""A campaign of several classifiers on the command line, from the file to the last label."""

from collections.abc import Callable
from typing import Any

import pytest

from assay.cli.options import parse_classifiers
from assay.errors import InputError

Fixture = Callable[..., Any]
CLASSIFIERS = ["--classifier", "cnn=p_cnn,said_cnn", "--classifier", "mve=,vote"]
CLASSIFIERS += ["--classifier", "svm=p_svm>=0.5", "--positive", "spam"]
METRICS = ["--metric", "precision:cnn", "--metric", "recall:mve within 0.08"]
METRICS += ["--metric", "precision:cnn - precision:mve"]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("cnn=p,said", {"score": "p", "predicted": "said"}),
        ("cnn=,said", {"predicted": "said"}),
        ("cnn=p>=0.5", {"score": "p", "threshold": 0.5}),
        ("cnn=p>=-1.5,said", {"score": "p", "threshold": -1.5, "predicted": "said"}),
        ("cnn=the score,a=b", {"score": "the score", "predicted": "a=b"}),
    ],
)
def test_the_forms_of_a_classifier(text: str, options: dict[str, object]) -> None:
    assert parse_classifiers([text]) == {"cnn": options}
    with_label = parse_classifiers([text, "other=,said"], positive="spam")["cnn"]
    assert with_label == {**options, **({"positive": "spam"} if "predicted" in options else {})}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["cnn"], "it does not say NAME="),
        (["p,said"], "it does not say NAME="),
        (["cnn="], "nothing tells what cnn says yes to"),
        (["cnn=p"], "nothing tells what cnn says yes to"),
        (["cnn=p,said,too"], "more than two columns"),
        (["cnn=p>=much"], "'much' is not a number"),
        (["cnn=p>="], "'' is not a number"),
        (["cnn=>=0.5"], "no column of scores"),
        (["=p,said"], "cannot be called ''"),
        (["our cnn=p,said"], "cannot be called 'our cnn'"),
        (["cnn=p,said", "cnn=,vote"], "two classifiers are called 'cnn'"),
    ],
)
def test_what_is_no_classifier_is_refused(given: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_classifiers(given)
