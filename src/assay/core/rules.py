"""Rules: which options exclude each other, and why. Checks of single values are elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.errors import DesignError

BETS_ARE_ON_ONE = (
    "cards are drawn with the chances that make the bets on one metric fair; drawn for several, "
    "they are fair for none"
)
"""Why bets are refused for several metrics."""
_FOUND = "the threshold of one classifier is to be found from its scores, by a design of its own"
_ONE_DRAW = (
    "a yes or no, and a threshold, rest on bets that are about the items that are there, not about "
    "those they were drawn from"
)
_AGAIN = (
    "to use labels again, items come in the order of that campaign; with second opinions the order "
    "is a new one, so that no column can have been made for it"
)
_BOTH_PERIODS = "leave it out: a change within ±0.02 takes both periods within=0.014"
_OUT = "leave one of the two out"
_OUT_OR_APART = "leave it out, or create a campaign for that metric alone"


@dataclass(frozen=True)
class Rule:
    """An option that another given option excludes.

    In the words, `{option}` is the option with its value, `{name}` its name alone, `{other}` the
    excluding option with its value, and `{value}` that value alone.
    """

    option: str
    beside: str  # another option, or a consequence of some
    words: str = "{option} cannot be combined with {other}"
    why: str = ""
    hint: str = _OUT


def _threshold(*options: str) -> Iterator[Rule]:
    for option in options:
        yield Rule(option, "threshold_for", why=_FOUND, hint="leave out {name}=, or threshold_for=")


def _classes(*options: str) -> Iterator[Rule]:
    words = "{option} is given where items are of more classes than yes and no"
    hint = "leave out {name}=; or evaluate one class: positive= its name"
    for option in options:
        yield Rule(option, "classes", words, "it is available for two-class campaigns", hint)


RULES: tuple[Rule, ...] = (
    *_threshold("predicted", "sample_weight", "aux", "threshold", "classifiers", "metrics"),
    *_threshold("within", "at_least", "simultaneous", "parent", "metric", "mode", "design"),
    *_threshold("strata", "bins", "allocation", "rho", "judge_cost", "label_cost", "classifier"),
    *_threshold("assume"),
    *_classes("positive", "threshold", "score_of", "sample_weight", "aux", "at_least"),
    *_classes("threshold_for", "mode", "labels", "rho", "judge_cost", "label_cost", "like"),
    Rule(
        "at_least",
        "several",
        "{option} works with one metric of one classifier",
        f"a sure yes or no rests on bets: {BETS_ARE_ON_ONE}",
        "leave out at_least=, or ask it of that metric alone",
    ),
    Rule(
        "sample_of",
        "several",
        "{option} works with one metric of one unnamed classifier",
        hint=_OUT_OR_APART,
    ),
    Rule(
        "sample_of",
        "bet",
        "{option} needs within= or budget=",
        _ONE_DRAW,
        "leave it out: the answer is then about the sample",
    ),
    Rule(
        "sample_of",
        "sample_weight",
        "{option} cannot be combined with sample_weight=",
        "the interval for all items of a weighted sample is not implemented",
    ),
    Rule(
        "labels",
        "sample_weight",
        "earlier labels are given for items with weights",
        "with weights, items are drawn in proportion to weight; labels of items that were drawn in "
        "another way would bias the estimate",
        "leave out labels=, or sample_weight=",
    ),
    Rule(
        "labels",
        "bets",
        "a guaranteed campaign cannot continue from earlier labels",
        "its theorem is about bets that are placed before each card is drawn",
        "leave out the labels, or use another design",
    ),
    Rule(
        "labels",
        "recycled",
        "recycled samples cannot continue from earlier labels",
        "their sizes are fixed, and so is what is drawn for each of them",
        "leave out labels=, or the design",
    ),
    Rule(
        "aux",
        "sample_weight",
        "{option} is given for items that have weights",
        "an item drawn by weight may be drawn several times, and answers from before the strata "
        "were recut would count too often",
        "leave out aux=, or sample_weight=",
    ),
    Rule(
        "aux",
        "cut",
        "{option} is given for a design that cuts by {value}",
        "a model of the outcome takes the place of the score",
        "leave out aux=, or take a design that cuts by the score",
    ),
    Rule(
        "aux",
        "labels_from",
        "{option} cannot be combined with labels of campaign {value!r}",
        _AGAIN,
        "leave out aux=, or labels_from=",
    ),
    Rule(
        "learned_from",
        "several",
        "{option} works with one metric of one classifier",
        hint=_OUT_OR_APART,
    ),
    Rule(
        "learned_from",
        "labels",
        "{option} cannot be combined with labels=",
        "earlier labels are put into strata by the score",
    ),
    Rule(
        "change_within",
        "aux",
        "{option} cannot be combined with aux=",
        "with second opinions each period has labels of its own, and the change is as sure as both "
        "periods' values are",
        _BOTH_PERIODS,
    ),
    Rule(
        "change_within",
        "sample_weight",
        "{option} cannot be combined with sample_weight=",
        "an item has another weight in each period, and the change is as sure as both periods' "
        "values are",
        _BOTH_PERIODS,
    ),
    Rule(
        "parent",
        "classes",
        "{option} is given for more classes than yes and no",
        "labels are recycled from one classifier of yes and no to another",
        "leave out parent=",
    ),
)


def refuse(given: Mapping[str, object], beside: Mapping[str, object] | None = None) -> None:
    """Raise for the first broken rule.

    `given`: options by name, and what follows from some; `beside`: other options that may exclude
    them. None, False and empty values count as not given.

    >>> refuse({"aux": ["judge"], "sample_weight": None})
    >>> refuse({"sample_of": 100, "several": True})
    Traceback (most recent call last):
    assay.errors.DesignError: sample_of=100 works with one metric of one unnamed classifier
    hint: leave it out, or create a campaign for that metric alone
    """
    others = given if beside is None else beside
    for rule in RULES:
        option, other = given.get(rule.option), others.get(rule.beside)
        if _is_given(option) and _is_given(other):
            fields: dict[str, object] = {"option": f"{rule.option}={option!r}", "name": rule.option}
            fields |= {"other": f"{rule.beside}={other!r}", "value": other}
            raise DesignError(
                rule.words.format(**fields), details=rule.why, hint=rule.hint.format(**fields)
            )


def _is_given(value: object) -> bool:
    return (
        value is not None
        and value is not False
        and not (isinstance(value, list | tuple) and not value)
    )
