"""Columns: which column of predictions is what, as it is asked for."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from assay.core.vocabulary import Vocabulary
from assay.options import Told
from assay.predictions.roles import SCORE_SCALES, SCORES_OF, ScoreOf, ScoreScale

IdColumns = str | Sequence[str]
"""A column of ids, or those that a key is made of."""

Classifiers = Mapping[str, Mapping[str, object] | Sequence[object]]
"""Of each classifier's name its `score`, `predicted`, `threshold`, `positive`, `score_of`, `scale`
and `probabilities`, those it has."""

Given = Vocabulary | Sequence[object] | Mapping[str, object] | str | os.PathLike[str]
"""Classes as they are given: names; a mapping of names to guidelines, or to mappings of `aliases`
and `guideline`; or the path of a file that holds one of these."""

OF_ONE = ("score", "predicted", "threshold", "positive", "score_of", "scale", "probabilities")
"""What is said of each of several classifiers."""

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
    """What is said of the columns of predictions."""

    id: Annotated[IdColumns | None, Told(_ID, "COL")] = None
    score: Annotated[str | None, Told("Column with the scores.", "COL")] = None
    predicted: Annotated[str | None, Told("Column with the predicted labels.", "COL")] = None
    threshold: Annotated[
        float | None, Told("Scores from this value up are predicted yes.", "SCORE", float)
    ] = None
    positive: Annotated[
        str | float | None, Told("The predicted label that means yes.", "VALUE")
    ] = None
    score_of: Annotated[ScoreOf | None, Told(_WHOSE, "CLASS")] = None
    scale: Annotated[ScoreScale | None, Told(_SCALE, "SCALE")] = None
    sample_weight: Annotated[str | None, Told(_WEIGHT, "COL")] = None
    show: Annotated[
        Sequence[str], Told("Column that reviewers see; repeatable.", "COL", list[str])
    ] = ()
    slices: Annotated[Sequence[str], Told(_SLICE, "COL", list[str], flag="--slice")] = ()
    aux: Annotated[Sequence[str], Told(_AUX, "COL", list[str])] = ()
    classifiers: Annotated[
        Classifiers | None,
        Told(_CLASSIFIER, "NAME=SCORE,PREDICTED", list[str], flag="--classifier"),
    ] = None
    classes: Annotated[Given | None, Told(_CLASSES, "FILE")] = None
    probabilities: Annotated[str | None, Told(_PROBABILITIES, "PATTERN")] = None
    multilabel: Annotated[bool, Told(_SEVERAL, typed=bool)] = False

    @property
    def of_one(self) -> dict[str, Any]:
        """What is said of one classifier, without what is left out."""
        said = {name: getattr(self, name) for name in OF_ONE}
        return {name: value for name, value in said.items() if value is not None}

    def to_read(self, **changed: Any) -> Mapping[str, Any]:
        """Return what predictions are read with; the first six stand there even if left out."""
        first = {name: getattr(self, name) for name in ("score", "predicted", "id", *OF_ONE[2:4])}
        further: dict[str, Any] = {"score_of": self.score_of, "scale": self.scale}
        further |= {name: getattr(self, name) for name in ("sample_weight", "probabilities")}
        further["aux"] = list(self.aux or ()) or None
        kept = {name: value for name, value in further.items() if value is not None}
        return {**first, "show": self.show, **kept, **changed}
