"""Roles of columns: id, score, predicted label, and the value that means yes."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Annotated, Any, Literal, get_args

import numpy as np

from assay.core.error_model import Model
from assay.core.targets import name_of
from assay.core.types import Bools, Floats
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError, did_you_mean
from assay.options import CliOption

STAR = "*"
"""In a pattern of probability columns, the placeholder for the name of a class."""
ScoreOf = Literal["positive", "predicted", "negative"]
ScoreScale = Literal["probability", "percent", "margin"]

SCORES_OF: tuple[str, ...] = get_args(ScoreOf)
SCORE_SCALES: tuple[str, ...] = get_args(ScoreScale)
PERCENT = 100.0
UNEVEN = 0.01
"""Tolerance of the sum of probabilities around 1, for rounded digits."""
YES_WORDS = ("1", "1.0", "true", "t", "yes", "y")
NO_WORDS = ("0", "0.0", "false", "f", "no", "n")
"""Spellings of predicted labels, in lower case, if `positive` is not given."""


@dataclass(frozen=True)
class Roles:
    """Columns and options of a classifier, checked for consistency.

    >>> Roles(score="p", predicted=None, id="url", threshold=0.5, positive=None).columns
    ['url', 'p']
    """

    # Column of scores, finite numbers. None if there are none: all items then have the score 0.
    score: str | None
    # Column of predicted labels: yes and no, true and false, 1 and 0, or anything with `positive`.
    # With `classes`, the column of predicted classes: their names, or aliases. Default: yes for a
    # score of at least `threshold`.
    predicted: str | None
    # Column of ids, distinct 64-bit integers or strings. Default: the row number, from 0; the order
    # of rows, also in a file, then decides which items are drawn, and must not change during a
    # campaign.
    id: str | None
    # Smallest score that is predicted yes. Together with `predicted`, every row is checked against
    # it; a score equal to the threshold is valid for either label.
    threshold: float | None
    # Value of the column `predicted` that means yes; all other values mean no.
    positive: object
    # Class of the score; default: the positive class. Scores of the predicted class (the
    # classifier's confidence) and of the negative class are converted: 1 - score, or -score for
    # margins, of items predicted no, or of all.
    score_of: ScoreOf | None = None
    # Scale of the scores. Percentages, 0 to 100 like their threshold, are divided by 100. Default:
    # scores between 0 and 1 are probabilities, and others margins.
    scale: ScoreScale | None = None
    # Columns that a model of the outcome may use beside the score: numbers, true and false, or
    # categories; values may be missing.
    aux: tuple[str, ...] = ()
    # Its log odds replace the score in everything but the predicted label.
    model: Model | None = None
    # Columns of every class's probability, with a star for its name, such as ``p_*``; or, without a
    # star, one column of lists in the order of the classes. They are finite, and need not sum to 1.
    # The predicted class is the first one with the largest probability, unless `predicted` is
    # given; the score is that class's probability.
    probabilities: str | None = None
    classes: Vocabulary | None = None  # if not yes and no; the score is of the predicted class
    of_class: tuple[str, ...] = ()  # columns of `probabilities` found: one for each, or of lists
    # Column of weights, finite numbers that are not negative: an item counts as much as its weight,
    # and is left out if that is 0.
    weight: str | None = None
    # With `probabilities`: number of most probable classes whose share in the sum of all is the
    # score. Without it, the score is the probability of the predicted class, unchanged.
    top: int | None = None

    def __post_init__(self) -> None:
        for argument in ("score", "predicted", "id", "probabilities"):
            name = getattr(self, argument)
            if name is not None:
                refuse_no_column(argument, name)
        if self.classes is not None or self.probabilities is not None:
            self._refuse_not_of_classes()
        elif self.predicted is None and self.threshold is None:
            raise PredictionsError(
                "neither predicted= nor threshold= is given",
                details="one of them must say which items the classifier said yes to",
                hint="name the column of predicted labels, or the score from which on it is yes",
            )
        if self.positive is not None and self.predicted is None:
            raise PredictionsError(
                f"positive={self.positive!r} needs predicted=",
                details="it is the value in that column that means yes",
            )
        if self.threshold is not None:
            if self.score is None:
                raise PredictionsError(
                    f"threshold={self.threshold!r} needs score=",
                    details="it is a score, the smallest that says yes",
                )
            object.__setattr__(self, "threshold", _finite(self.threshold))
        self._refuse_bad_scores()

    def _refuse_not_of_classes(self) -> None:
        """Raise if arguments for classes are incomplete, or mixed with those for yes and no."""
        if self.classes is None:
            raise PredictionsError(
                f"probabilities={self.probabilities!r} needs classes=",
                details="the classes must be known, by their names",
            )
        for argument in ("threshold", "positive"):
            given = getattr(self, argument)
            if given is not None:
                raise PredictionsError(
                    f"{argument}={given!r} is given for predictions of several classes",
                    details="it tells yes from no",
                    hint="leave it out: the column of predicted= names the class of each item",
                )
        if self.score_of not in (None, "predicted"):
            raise PredictionsError(
                f"score_of={self.score_of!r} is given for predictions of several classes",
                details="the score is that of the predicted class",
                hint="leave it out, or give the probabilities of all classes: probabilities='p_*'",
            )
        if self.predicted is None and self.probabilities is None:
            raise PredictionsError(
                "neither predicted= nor probabilities= is given for predictions of several classes",
                hint="name the column of predicted classes, or those of every class's "
                "probability: probabilities='p_*'",
            )
        if self.score is not None and self.probabilities is not None:
            raise PredictionsError(
                f"score={self.score!r} cannot be combined with "
                f"probabilities={self.probabilities!r}",
                details="the score is the probability of the predicted class",
                hint="leave one of the two out",
            )

    def _refuse_bad_scores(self) -> None:
        """Raise if the scale and the class of scores are inconsistent."""
        for argument, known in (("score_of", SCORES_OF), ("scale", SCORE_SCALES)):
            given = getattr(self, argument)
            if given is None:
                continue
            if given not in known:
                raise PredictionsError(
                    f"unknown {argument} {given!r}",
                    details=f"{argument} is one of {', '.join(known)}",
                    hint=did_you_mean(str(given), known),
                )
            if self.score is None and self.probabilities is None:
                raise PredictionsError(
                    f"{argument}={given!r} needs score=",
                    details="it says what the column of scores holds",
                )
        unpredicted = self.predicted is None and self.probabilities is None
        if self.score_of == "predicted" and unpredicted:
            raise PredictionsError(
                "score_of='predicted' needs predicted=",
                details="whose score it is depends on what the classifier said of the item",
                hint="name the column of predicted labels",
            )

    @property
    def limit(self) -> float | None:
        """Threshold on the scale of the scores in use: a probability, or a margin."""
        if self.threshold is None or self.scale != "percent":
            return self.threshold
        return self.threshold / PERCENT

    @property
    def turns(self) -> bool:
        """Whether scores are converted to scores of the positive class."""
        return self.classes is None and self.score_of in ("predicted", "negative")

    @property
    def whole(self) -> float:
        """Sum of the probabilities of all classes."""
        return PERCENT if self.scale == "percent" else 1.0

    @property
    def shared(self) -> int:
        """Number of classes whose share is the score; 0 if it is not a share."""
        return 0 if self.top is None or self.scale == "margin" else min(self.top, self.n_classes)

    @property
    def one(self) -> float:
        """Sum of two scores of opposite classes."""
        return 0.0 if self.scale == "margin" else 1.0

    def positive_scores(self, score: Floats, predicted: Bools | None) -> Floats:
        """Scores of the positive class, from those in the column.

        `predicted` may be None if the conversion does not depend on it.

        >>> import numpy as np
        >>> roles = Roles("p", "topic", None, None, None, score_of="predicted", scale="percent")
        >>> roles.positive_scores(np.array([90.0, 80.0]), np.array([True, False]))
        array([0.9, 0.2])
        """
        if self.scale == "percent":
            score = score / PERCENT
        if not self.turns:
            return score
        turned = self.one - score
        if self.score_of == "negative" or predicted is None:
            return turned
        return np.where(predicted, score, turned)

    @property
    def n_classes(self) -> int:
        """Number of classes: 2 for yes and no."""
        return 2 if self.classes is None else len(self.classes)

    @property
    def has_score(self) -> bool:
        """Whether items have a score, or a probability."""
        return self.score is not None or self.probabilities is not None

    @property
    def columns(self) -> list[str]:
        """Required columns, each once."""
        names = (self.id, self.score, self.predicted, *self.of_class, *self.aux, self.weight)
        return list(dict.fromkeys(name for name in names if name is not None))


def refuse_no_column(argument: str, name: object) -> None:
    """Raise if the name of a column is not text.

    >>> refuse_no_column("label", 7)
    Traceback (most recent call last):
    assay.errors.PredictionsError: label=7 is of type int
    it must be the name of a column, a string
    """
    if not isinstance(name, str):
        raise PredictionsError(
            f"{argument}={name!r} is of type {type(name).__name__}",
            details="it must be the name of a column, a string",
        )


def which_means_yes(yes: Sequence[object], unknown: Sequence[object]) -> str:
    """Hint for labels whose meaning is unclear.

    `yes`, `unknown`: values of the column that surely mean yes, and those with unknown meaning.

    >>> which_means_yes([], ["ham", "spam"])
    "pass the value that means yes: positive='ham' or positive='spam'; all other values mean no"
    """
    some = list(yes)[:1] or list(unknown)[:2]
    choices = " or ".join(f"positive={value!r}" for value in some)
    return f"pass the value that means yes: {choices}; all other values mean no"


def refuse_bad_show(show: object, argument: str = "show") -> None:
    """Raise if an argument such as the columns to show is not a list of names.

    >>> refuse_bad_show("text")
    Traceback (most recent call last):
    assay.errors.PredictionsError: show='text' is not a list of column names
    hint: pass show=['text']
    """
    if isinstance(show, list | tuple) and all(isinstance(name, str) for name in show):
        return
    raise PredictionsError(
        f"{argument}={show!r} is not a list of column names",
        hint=f"pass {argument}=[{show!r}]" if isinstance(show, str) else "",
    )


def _finite(threshold: object) -> float:
    if isinstance(threshold, Real) and not isinstance(threshold, bool):
        try:
            number = float(threshold)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise PredictionsError(
        f"threshold={threshold!r} cannot be used", details="it must be a finite number"
    )


# Checks that a stratification variable can be computed.


def refuse_unknown_variable(variable: str, known: Sequence[str]) -> None:
    """Raise if there is no such stratification variable.

    >>> refuse_unknown_variable("scores", ["score", "confidence"])
    Traceback (most recent call last):
    assay.errors.PredictionsError: variable 'scores' cannot be computed
    variables: score, confidence
    hint: did you mean 'score'?
    """
    if variable not in known:
        raise PredictionsError(
            f"variable {variable!r} cannot be computed",
            details=f"variables: {', '.join(known)}",
            hint=did_you_mean(variable, known),
        )


def refuse_improbable(score_range: tuple[float, float], source: str) -> None:
    """Raise if scores used as probabilities are outside of 0 to 1.

    >>> refuse_improbable((-2.0, 3.0), "preds.parquet")
    Traceback (most recent call last):
    assay.errors.PredictionsError: scores of preds.parquet run from -2.0 to 3.0
    probabilities lie between 0 and 1
    hint: pass scale='margin'
    """
    low, high = score_range
    if not 0.0 <= low <= high <= 1.0:
        raise PredictionsError(
            f"scores of {source} run from {low} to {high}",
            details="probabilities lie between 0 and 1",
            hint="pass scale='margin'",
        )


def refuse_distant(score_range: tuple[float, float], threshold: float | None, source: str) -> None:
    """Raise if the distance of a score from the threshold, or else from 0, overflows."""
    low, high = score_range
    if not all(isfinite(score - (threshold or 0.0)) for score in score_range):
        raise PredictionsError(
            f"scores of {source} run from {low} to {high}, too far from the threshold {threshold}",
            details="the distance between a score and the threshold must fit in a float64",
        )


def score_name(classifier: str) -> str:
    """Name of a classifier's score among the columns for a model of several."""
    return f"{classifier}'s score"


def fits_pattern(name: str, pattern: str) -> bool:
    """Whether a column matches a pattern of probability columns.

    >>> [fits_pattern(name, "p_*") for name in ("p_math", "p_", "q_math")], fits_pattern("p", "p")
    ([True, False, False], True)
    """
    if STAR not in pattern:
        return name == pattern
    before, _, after = pattern.partition(STAR)
    long_enough = len(name) > len(before) + len(after)
    return long_enough and name.startswith(before) and name.endswith(after)


# Columns: the roles of columns as arguments.


IdColumns = str | Sequence[str]
"""A column of ids, or the columns of a composite key."""

Classifiers = Mapping[str, Mapping[str, object] | Sequence[object]]
"""Columns and options of each classifier, by name: its `score`, `predicted`, `threshold`,
`positive`, `score_of`, `scale` and `probabilities`.
"""

Given = Vocabulary | Sequence[object] | Mapping[str, object] | str | os.PathLike[str]
"""Classes as an argument: names; a mapping of names to guidelines, or to mappings of `aliases` and
`guideline`; or the path of a file of these.
"""

OF_ONE = ("score", "predicted", "threshold", "positive", "score_of", "scale", "probabilities")
"""Arguments that each of several classifiers has."""

_ID = "Column with the item ids, or several: day,user,rank. Default: the row number."
_WHOSE = f"Class that the score is of: {', '.join(SCORES_OF)}. Default: positive."
_SCALE = f"{', '.join(SCORE_SCALES)}. Default: inferred from the range of the scores."
_WEIGHT = "Column with item weights (traffic, impressions). Default: every item counts once."
_SLICE = "Column to slice by, for status --by; hidden from reviewers; repeatable."
_AUX = (
    "Column with a second opinion (a score, a verdict, metadata) that guides where labels go; "
    "hidden from reviewers; repeatable."
)
_CLASSIFIER = (
    "One of several classifiers; repeatable. NAME=,PREDICTED has no score, NAME=SCORE>=0.5 "
    "predicts yes from 0.5 up, 'NAME=p_*' has the class probabilities."
)
_CLASSES = (
    "File of classes with aliases and guidelines: .json, .csv or .tsv. Default: the values of "
    "--predicted, if there are three or more."
)
_PROBABILITIES = (
    "Columns with the class probabilities, such as 'p_*'; replaces --predicted and --score."
)
_SEVERAL = (
    "Items can have several classes: use --probabilities 'p_*' with --threshold, --predicted "
    "'is_*', a column of lists, or one --classifier per class."
)


@dataclass(frozen=True)
class Columns:
    """Columns of predictions, as arguments."""

    id: Annotated[IdColumns | None, CliOption(_ID, "COL")] = None
    score: Annotated[str | None, CliOption("Column with the scores.", "COL")] = None
    predicted: Annotated[str | None, CliOption("Column with the predicted labels.", "COL")] = None
    threshold: Annotated[
        float | None, CliOption("Scores from this value up are predicted yes.", "SCORE", float)
    ] = None
    positive: Annotated[
        str | float | None, CliOption("The predicted label that means yes.", "VALUE")
    ] = None
    score_of: Annotated[ScoreOf | None, CliOption(_WHOSE, "CLASS")] = None
    scale: Annotated[ScoreScale | None, CliOption(_SCALE, "SCALE")] = None
    sample_weight: Annotated[str | None, CliOption(_WEIGHT, "COL")] = None
    show: Annotated[
        Sequence[str], CliOption("Column that reviewers see; repeatable.", "COL", list[str])
    ] = ()
    slices: Annotated[Sequence[str], CliOption(_SLICE, "COL", list[str], flag="--slice")] = ()
    aux: Annotated[Sequence[str], CliOption(_AUX, "COL", list[str])] = ()
    classifiers: Annotated[
        Classifiers | None,
        CliOption(_CLASSIFIER, "NAME=SCORE,PREDICTED", list[str], flag="--classifier"),
    ] = None
    classes: Annotated[Given | None, CliOption(_CLASSES, "FILE")] = None
    probabilities: Annotated[str | None, CliOption(_PROBABILITIES, "PATTERN")] = None
    multilabel: Annotated[bool, CliOption(_SEVERAL, typed=bool)] = False

    @property
    def of_one(self) -> dict[str, Any]:
        """Arguments of a single classifier, without those that are None."""
        options = {name: getattr(self, name) for name in OF_ONE}
        return {name: value for name, value in options.items() if value is not None}

    def to_read(self, **changed: Any) -> Mapping[str, Any]:
        """Arguments to read predictions with; the first six are included even if they are None."""
        first = {name: getattr(self, name) for name in ("score", "predicted", "id", *OF_ONE[2:4])}
        further: dict[str, Any] = {"score_of": self.score_of, "scale": self.scale}
        further |= {name: getattr(self, name) for name in ("sample_weight", "probabilities")}
        further["aux"] = list(self.aux or ()) or None
        kept = {name: value for name, value in further.items() if value is not None}
        return {**first, "show": self.show, **kept, **changed}


MOST_CODES = 2**40
"""Most codes of several classifiers: with the bins of a rank they fit into 64 bits."""

NO_SCORE = 0.5
"""Rank of every item if no classifier has a score."""


@contextmanager
def about(classifier: str) -> Iterator[None]:
    """Prefix errors with the classifier's name, if it has one."""
    try:
        yield
    except PredictionsError as error:
        prefix = f"classifier {classifier!r}: "
        if not name_of(classifier) or error.problem.startswith(prefix):
            raise
        raise PredictionsError(
            f"{prefix}{error.problem}", details=error.details, hint=error.hint
        ) from error
