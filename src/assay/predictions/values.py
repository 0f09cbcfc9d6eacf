"""Whether the stratification variable that is asked for can be had."""

from collections.abc import Sequence
from math import isfinite

from assay.errors import PredictionsError, did_you_mean


def refuse_unknown_variable(variable: str, known: Sequence[str]) -> None:
    """Raise an error if there is no such stratification variable.

    Examples
    --------
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

    Examples
    --------
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
    """Raise an error if the distance of a score from the threshold, or else from 0, overflows.

    Examples
    --------
    >>> refuse_distant((-1.5e308, 0.0), 1.5e308, "preds.parquet")
    Traceback (most recent call last):
    assay.errors.PredictionsError: scores of preds.parquet run from -1.5e+308 to 0.0, too far ...
    the distance between a score and the threshold must fit in a float64
    """
    low, high = score_range
    if not all(isfinite(score - (threshold or 0.0)) for score in score_range):
        raise PredictionsError(
            f"scores of {source} run from {low} to {high}, too far from the threshold {threshold}",
            details="the distance between a score and the threshold must fit in a float64",
        )
