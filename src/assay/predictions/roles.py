"""What is asked of the predictions: which column is what, and what says yes."""

import math
from dataclasses import dataclass
from numbers import Real

from assay.errors import PredictionsError


@dataclass(frozen=True)
class Roles:
    """The arguments of `assay.predictions.read_predictions`, checked against each other.

    Examples
    --------
    >>> Roles(score="p", predicted=None, id="url", threshold=0.5, positive=None).columns
    ['url', 'p']
    """

    score: str | None
    predicted: str | None
    id: str | None
    threshold: float | None
    positive: object

    def __post_init__(self) -> None:
        for argument in ("score", "predicted", "id"):
            name = getattr(self, argument)
            if name is not None:
                refuse_no_column(argument, name)
        if self.predicted is None and self.threshold is None:
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

    @property
    def columns(self) -> list[str]:
        """The columns that are needed, each once."""
        names = (self.id, self.score, self.predicted)
        return list(dict.fromkeys(name for name in names if name is not None))


def refuse_no_column(argument: str, name: object) -> None:
    """Raise an error if what should name a column is no text.

    Examples
    --------
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


def refuse_bad_show(show: object, argument: str = "show") -> None:
    """Raise an error if the columns to show, or those of another argument, are no list of names.

    Examples
    --------
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
