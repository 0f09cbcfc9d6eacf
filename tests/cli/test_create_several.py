"""A campaign of several classifiers on the command line, from the file to the last label."""

import pytest

from assay.cli.options import parse_classifiers

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
