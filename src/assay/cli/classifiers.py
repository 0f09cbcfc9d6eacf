"""``--classifier`` and ``--metric``: several classifiers and what is asked of them, as typed."""

from typing import Annotated, Any

import typer

from assay.cli.options import about_data
from assay.core.metrics import METRICS
from assay.core.venn import refuse_bad_names
from assay.errors import InputError


def about_goal(text: str, metavar: str | None = None, *names: str) -> Any:
    """Return an option about what is wanted."""
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel="Goal")


ClassifierColumns = Annotated[
    list[str] | None,
    about_data(
        "One of several classifiers; repeatable. NAME=,PREDICTED has no score, "
        "NAME=SCORE>=0.5 says yes from 0.5 on.",
        "--classifier",
        metavar="NAME=SCORE,PREDICTED",
    ),
]

Metrics = Annotated[
    list[str] | None,
    about_goal(
        f"{', '.join(METRICS)}; repeatable. Of several classifiers: precision:cnn, "
        "'recall:cnn within 0.05', 'f1:new - f1:old'; a bare name is of each. "
        "Left out: precision.",
        "METRIC",
    ),
]
Simultaneous = Annotated[
    bool, about_goal("Be so sure of all metrics at once, not of each.", None, "--simultaneous")
]


def parse_classifiers(
    given: list[str], *, positive: str | None = None
) -> dict[str, dict[str, object]]:
    """Return what each classifier has, as `create_campaign` and `simulate` take it.

    Parameters
    ----------
    given : list of str
        NAME=SCORE,PREDICTED or NAME=,PREDICTED or NAME=SCORE>=THRESHOLD.
    positive : str, optional
        The predicted label that means yes, in the predicted column of every classifier.

    Examples
    --------
    >>> parse_classifiers(["cnn=p_cnn,said_cnn", "mve=,vote"])
    {'cnn': {'score': 'p_cnn', 'predicted': 'said_cnn'}, 'mve': {'predicted': 'vote'}}
    >>> parse_classifiers(["cnn=p_cnn>=0.5"])
    {'cnn': {'score': 'p_cnn', 'threshold': 0.5}}
    """
    for text in given:
        if "=" not in text:
            raise _misread(text, "it does not say NAME=")
    refuse_bad_names([text.partition("=")[0] for text in given])
    found = {text.partition("=")[0]: _options(text, positive) for text in given}
    if positive is not None and not any("predicted" in each for each in found.values()):
        raise InputError(
            f"--positive {positive} is given, and no classifier has a predicted column",
            details="it is the value in that column that means yes",
        )
    return found


def is_one_metric(metrics: list[str]) -> bool:
    """Tell whether one metric is asked for, by its mere name.

    Examples
    --------
    >>> is_one_metric(["recall"]), is_one_metric(["recall:cnn"]), is_one_metric(["recall", "f1"])
    (True, False, False)
    """
    single, *others = metrics
    return not others and not any(sign in single for sign in (":", "[", " within "))


def refuse_beside_classifiers(**given: object) -> None:
    """Raise where a column of one classifier alone is given beside ``--classifier``.

    Examples
    --------
    >>> refuse_beside_classifiers(score="p", predicted=None)
    Traceback (most recent call last):
    assay.errors.InputError: --score p is given beside --classifier
    hint: say whose it is: --classifier NAME=SCORE,PREDICTED
    """
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"--{option} {value} is given beside --classifier",
                hint="say whose it is: --classifier NAME=SCORE,PREDICTED",
            )


def _options(text: str, positive: str | None) -> dict[str, object]:
    name, _, columns = text.partition("=")
    left, _, predicted = columns.partition(",")
    score, at_least, threshold = left.rpartition(">=") if ">=" in left else (left, "", "")
    if "," in predicted:
        raise _misread(text, "it names more than two columns")
    if at_least and not score:
        raise _misread(text, f"no column of scores is named before >={threshold}")
    if not predicted and not at_least:
        raise _misread(text, f"nothing tells what {name} says yes to")
    options: dict[str, object] = {}
    if score:
        options["score"] = score
    if at_least:
        options["threshold"] = _number(threshold, text)
    if predicted:
        options["predicted"] = predicted
    if predicted and positive is not None:
        options["positive"] = positive
    return options


def _number(threshold: str, text: str) -> float:
    try:
        return float(threshold)
    except ValueError:
        raise _misread(text, f"{threshold!r} is not a number") from None


def _misread(text: str, why: str) -> InputError:
    name = text.partition("=")[0] if "=" in text else "cnn"
    return InputError(
        f"--classifier {text!r} cannot be read: {why}",
        details="it is NAME=SCORE,PREDICTED or NAME=,PREDICTED or NAME=SCORE>=THRESHOLD",
        hint=f"for example: --classifier '{name}=p_{name},said_{name}' or '{name}=p_{name}>=0.5'",
    )
