"""Roles of columns: which is the id, the score, the predicted label, and which value says yes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Literal, get_args

import numpy as np

from assay.core.error_model import Model
from assay.core.types import Bools, Floats
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError, did_you_mean

STAR = "*"
"""Stands, in the pattern of the columns of probabilities, for the name of a class."""
ScoreOf = Literal["positive", "predicted", "negative"]
ScoreScale = Literal["probability", "percent", "margin"]

SCORES_OF: tuple[str, ...] = get_args(ScoreOf)
SCORE_SCALES: tuple[str, ...] = get_args(ScoreScale)
PERCENT = 100.0
YES_WORDS = ("1", "1.0", "true", "t", "yes", "y")
NO_WORDS = ("0", "0.0", "false", "f", "no", "n")
"""What predicted labels are written as, in small letters, where nothing says which means yes."""


@dataclass(frozen=True)
class Roles:
    """The arguments of `assay.predictions.read.read_predictions`, checked against each other.

    `aux` are columns that a model of the outcome may use beside the score; with a `model`, its log
    odds take the score's place in everything but the predicted label. With `classes`, the column
    `predicted` names one of them, and the score is that of the predicted class. In place of these
    two, `probabilities` has one of every class; `of_class` are its columns as they were found: one
    for each class, or a single one of lists. `weight` is what an item counts for, where predictions
    with weights are read in place.

    >>> Roles(score="p", predicted=None, id="url", threshold=0.5, positive=None).columns
    ['url', 'p']
    """

    score: str | None
    predicted: str | None
    id: str | None
    threshold: float | None
    positive: object
    score_of: ScoreOf | None = None
    scale: ScoreScale | None = None
    aux: tuple[str, ...] = ()
    model: Model | None = None
    probabilities: str | None = None
    classes: Vocabulary | None = None
    of_class: tuple[str, ...] = ()
    weight: str | None = None

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
                f"positive={self.positive!r} is given without predicted=",
                details="it is the value in that column that means yes",
            )
        if self.threshold is not None:
            if self.score is None:
                raise PredictionsError(
                    f"threshold={self.threshold!r} is given without score=",
                    details="it is a score, the smallest that says yes",
                )
            object.__setattr__(self, "threshold", _finite(self.threshold))
        self._refuse_bad_scores()

    def _refuse_not_of_classes(self) -> None:
        """Raise where what is given for classes says something of yes and no, or too little."""
        if self.classes is None:
            raise PredictionsError(
                f"probabilities={self.probabilities!r} is given without classes=",
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
                f"score={self.score!r} is given beside probabilities={self.probabilities!r}",
                details="the score is the probability of the predicted class",
                hint="leave one of the two out",
            )

    def _refuse_bad_scores(self) -> None:
        """Raise where it does not fit together what a score is, and of which class."""
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
                    f"{argument}={given!r} is given without score=",
                    details="it says what the column of scores holds",
                )
        unpredicted = self.predicted is None and self.probabilities is None
        if self.score_of == "predicted" and unpredicted:
            raise PredictionsError(
                "score_of='predicted' is given without predicted=",
                details="whose score it is depends on what the classifier said of the item",
                hint="name the column of predicted labels",
            )

    @property
    def limit(self) -> float | None:
        """The threshold on the scale of the scores as they are used: a probability, or a margin."""
        if self.threshold is None or self.scale != "percent":
            return self.threshold
        return self.threshold / PERCENT

    @property
    def turns(self) -> bool:
        """Whether scores are turned round into those of the positive class."""
        return self.classes is None and self.score_of in ("predicted", "negative")

    @property
    def one(self) -> float:
        """What two scores of opposite classes add up to."""
        return 0.0 if self.scale == "margin" else 1.0

    def positive_scores(self, score: Floats, predicted: Bools | None) -> Floats:
        """Return the scores of the positive class, from those in the column.

        `predicted` may be None where the score does not depend on it.

        >>> import numpy as np
        >>> roles = Roles("p", "said", None, None, None, score_of="predicted", scale="percent")
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
        """How many classes there are: yes and no, or others."""
        return 2 if self.classes is None else len(self.classes)

    @property
    def has_score(self) -> bool:
        """Whether items have a score, or a probability."""
        return self.score is not None or self.probabilities is not None

    @property
    def columns(self) -> list[str]:
        """The columns that are needed, each once."""
        names = (self.id, self.score, self.predicted, *self.of_class, *self.aux, self.weight)
        return list(dict.fromkeys(name for name in names if name is not None))


def refuse_no_column(argument: str, name: object) -> None:
    """Raise an error if what should name a column is no text.

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
    """Return the hint for labels of which it is not clear what they say.

    `yes`, `unknown`: values of the column that surely mean yes, and those of which it cannot be
    told.

    >>> which_means_yes([], ["ham", "spam"])
    "say which value means yes: positive='ham' or positive='spam'; all others mean no"
    """
    some = list(yes)[:1] or list(unknown)[:2]
    told = " or ".join(f"positive={value!r}" for value in some)
    return f"say which value means yes: {told}; all others mean no"


def refuse_bad_show(show: object, argument: str = "show") -> None:
    """Raise an error if the columns to show, or those of another argument, are no list of names.

    >>> refuse_bad_show("text")
    Traceback (most recent call last):
    assay.errors.PredictionsError: show='text' is not a list of column names
    hint: say show=['text']
    """
    if isinstance(show, list | tuple) and all(isinstance(name, str) for name in show):
        return
    raise PredictionsError(
        f"{argument}={show!r} is not a list of column names",
        hint=f"say {argument}=[{show!r}]" if isinstance(show, str) else "",
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


# Whether the stratification variable that is asked for can be had.


def refuse_unknown_variable(variable: str, known: Sequence[str]) -> None:
    """Raise an error if there is no such stratification variable.

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
    """Raise an error if scores that are taken for probabilities cannot be.

    >>> refuse_improbable((-2.0, 3.0), "preds.parquet")
    Traceback (most recent call last):
    assay.errors.PredictionsError: scores of preds.parquet run from -2.0 to 3.0
    probabilities lie between 0 and 1
    hint: say scale='margin'
    """
    low, high = score_range
    if not 0.0 <= low <= high <= 1.0:
        raise PredictionsError(
            f"scores of {source} run from {low} to {high}",
            details="probabilities lie between 0 and 1",
            hint="say scale='margin'",
        )


def refuse_distant(score_range: tuple[float, float], threshold: float | None, source: str) -> None:
    """Raise an error if the distance of a score from the threshold, or else from 0, overflows."""
    low, high = score_range
    if not all(isfinite(score - (threshold or 0.0)) for score in score_range):
        raise PredictionsError(
            f"scores of {source} run from {low} to {high}, too far from the threshold {threshold}",
            details="the distance between a score and the threshold must fit in a float64",
        )


def score_name(classifier: str) -> str:
    """Return what a classifier's score is called among the columns for a model of several."""
    return f"{classifier}'s score"


def fits_pattern(name: str, pattern: str) -> bool:
    """Tell whether a column is one of those of the classes' probabilities.

    >>> [fits_pattern(name, "p_*") for name in ("p_math", "p_", "q_math")], fits_pattern("p", "p")
    ([True, False, False], True)
    """
    if STAR not in pattern:
        return name == pattern
    before, _, after = pattern.partition(STAR)
    long_enough = len(name) > len(before) + len(after)
    return long_enough and name.startswith(before) and name.endswith(after)
