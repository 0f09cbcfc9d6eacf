"""Judged items: their answers, predictions and sampling weights.

For the campaign's owner. Reviewers see none of it: knowing the prediction would bias their answers.

An item's weight is the size of its stratum over the judged items in it, the inverse of its sampling
probability. Weighted sums are the stratified (Horvitz-Thompson) estimates of sums over the
population. If items have weights of their own (`sample_weight`), it is the item's share of all
weight, times the number of items: sums are over items of mean weight. If the strata of a guaranteed
campaign were cut anew, items that were judged before are known and represent only themselves: their
weight is 1, and the rest of the stratum is shared among those that were drawn since.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.answers import Answer
from assay.core.deck import Id
from assay.labelling.review_rule import Review
from assay.labelling.settings import Settings
from assay.labelling.slice_items import SliceAnswers, column_values
from assay.labelling.source import Source
from assay.labelling.state import Labelling
from assay.predictions import Roles
from assay.results import Backend, Mistake, column_types, frame_of, free_names
from assay.storage import CardRow


@dataclass(frozen=True)
class Prediction:
    """Prediction of one classifier: a class's number; `score` is None if unknown."""

    number: int
    score: float | None

    @property
    def yes(self) -> bool:
        """Whether the predicted label is yes, for two classes."""
        return self.number == 1


@dataclass(frozen=True)
class Judged:
    """Item with an answer that counts.

    `predictions`: by classifier applied to it; `weight`: None if it could not be judged.
    """

    item_id: str
    id: Id
    answer: Answer
    stratum: str
    weight: float | None
    predictions: Mapping[str, Prediction]
    review: Review
    shown: Mapping[str, object]

    @property
    def reviewers(self) -> tuple[str, ...]:
        """Reviewers who decided: whoever ruled, or else those whose answers count."""
        ruled = self.review.ruled
        return tuple(self.review.counted_labels) if ruled is None else (ruled.reviewer,)

    def mistake(
        self,
        settings: Settings,
        classifier: str,
        kind: str,
        confidence: float | None,
        tags: tuple[str, ...],
    ) -> Mistake:
        """Mistake of a classifier in this item."""
        said = _predicted(settings, self.predictions[classifier])
        words = said if isinstance(said, str) else settings.called("yes" if said else "no")
        return Mistake(
            id=self.id,
            kind=kind,
            score=self.predictions[classifier].score,
            confidence=confidence,
            stratum=self.stratum,
            weight=self.weight or 0.0,
            reviewers=self.reviewers,
            comment=self.review.comment,
            shown=self.shown,
            tags=tags,
            answer=settings.called(self.answer.value),
            predicted=words,
        )


def judged_items(labelling: Labelling, predictions: object = None) -> list[Judged]:
    """Items with an answer that counts, in the order in which they came to count."""
    settings, rounds = labelling.settings, labelling.rounds
    items = [item for item in rounds.answers if rounds.card(item) is not None]
    cards = [card for item in items if (card := rounds.card(item)) is not None]
    counted = SliceAnswers.on(labelling, items)
    sizes = labelling.evaluation.by_stratum(labelling.evaluation.sizes)
    if settings.strata.weighted:  # in units without a meaning outside
        sizes = sizes * (settings.strata.sizes.sum() / sizes.sum())
    known = np.bincount(counted.stratum[counted.known & counted.judged], minlength=sizes.size)
    each = (sizes - known) / np.maximum(counted.labels - known, 1.0)
    weights = np.where(counted.known, 1.0, each[counted.stratum] * counted.times)
    weights = np.where(counted.judged, weights, np.nan).tolist()
    strata, names = settings.strata_words, seen_columns(settings.source)
    scores, roles = _scores(labelling, items, predictions), settings.source.roles
    judged = []
    for place, (card, weight) in enumerate(zip(cards, weights, strict=True)):
        own_scores = {name: column[place] for name, column in scores.items()}
        kept, answer = json.loads(card.shown), rounds.answers[card.item_id]
        judged.append(
            Judged(
                item_id=card.item_id,
                id=settings.item_id(card.item_id),
                answer=answer,
                stratum=strata[card.stratum],
                weight=weight if answer.judged else None,
                predictions=_predictions_of(settings, roles, card, own_scores),
                review=labelling.review(card.item_id),
                shown={name: kept[name] for name in names if name in kept},
            )
        )
    return judged


def seen_columns(source: Source) -> list[str]:
    """Columns that items show, and slices, without the classifiers' predictions."""
    aside = (source.columns["id"], *source.judgements)
    named = dict.fromkeys([*source.columns["show"], *source.slices])
    return [name for name in named if name not in aside]


def _scores(
    labelling: Labelling, items: Sequence[str], predictions: object
) -> dict[str, list[object]]:
    """Values of the columns of scores: kept with the cards, or looked up."""
    source = labelling.settings.source
    columns = dict.fromkeys(each.score for each in source.roles if each is not None)
    columns_by_name = {}
    for name in filter(None, columns):
        kept = predictions is None and name in source.kept
        if kept or predictions is not None:
            columns_by_name[name] = column_values(labelling, items, name, predictions)
    return columns_by_name


def _predictions_of(
    # settings, roles: of the campaign; column roles of each classifier.
    settings: Settings,
    roles: Sequence[Roles | None],
    card: CardRow,
    scores: Mapping[str, object],  # the item's values of the score columns
) -> dict[str, Prediction]:
    """Predictions of every classifier that was applied to an item.

    Of two sets of predictions side by side one score is kept: the later one's if it has the item,
    otherwise the earlier one's.
    """
    strata, source = settings.strata, settings.source
    names, binary = strata.classifiers, settings.is_binary
    inside = [
        bit
        for bit, name in enumerate(names)
        if strata.groups.within(strata.unit, name, None).holds(card.predicted)
    ]
    opinions = {}
    for bit in inside:
        value = None
        # If an item may have several classes, each of them has a score, and the item none.
        each = roles[bit] if settings.classes.bits == 1 else None
        number = settings.classes.predicted(card.predicted, bit)
        column = None if each is None or (source.compares and bit != inside[-1]) else each.score
        if column is not None and column in scores:
            value = _number(scores[column])
        if each is not None and value is not None and binary:  # of the positive class, as used
            value = float(each.positive_scores(np.array(value), np.array(number == 1)))
        opinions[names[bit]] = Prediction(number, value)
    return opinions


def _number(value: object) -> float | None:
    try:
        return None if value is None else float(str(value))
    except ValueError:
        return None


# A campaign's labels as a table, with everything known of their items.


def judged_columns(labelling: Labelling, taken: Sequence[str]) -> tuple[str, ...]:
    """Names of an item's columns: predictions, scores, weight, shown columns."""
    names = labelling.settings.strata.classifiers
    columns = [_named(what, name, names) for name in names for what in ("predicted", "score")]
    own = (*columns, "weight")
    return (*own, *free_names(seen_columns(labelling.settings.source), (*taken, *own)))


def judged_cells(labelling: Labelling, item: Judged) -> tuple[object, ...]:
    """Cells of an item under `judged_columns`."""
    cells: list[object] = []
    settings = labelling.settings
    for name in settings.strata.classifiers:
        prediction = item.predictions.get(name)
        cells += (
            [None, None]
            if prediction is None
            else [_predicted(settings, prediction), prediction.score]
        )
    seen = seen_columns(settings.source)
    return (*cells, item.weight, *(item.shown.get(name) for name in seen))


def _predicted(settings: Settings, prediction: Prediction) -> bool | str:
    """Prediction as it appears in a table: true or false, or the classes."""
    if settings.is_binary:
        return prediction.yes
    return settings.classes.joined(settings.classes.classes_in(prediction.number))


def _named(what: str, classifier: str, classifiers: Sequence[str]) -> str:
    return what if len(classifiers) == 1 else f"{what}:{classifier}"


_LABELS = {"answer": str, "positive": bool, "stratum": str, "comment": str}


def labels_frame(labelling: Labelling, *, backend: Backend) -> Any:
    """DataFrame of the answers that count, and of what is known of their items."""
    binary = labelling.settings.is_binary
    own: dict[str, type] = {"id": str, **_LABELS}
    if not binary:
        del own["positive"]
    if labelling.settings.id_kind == "integer":
        own["id"] = int
    further = judged_columns(labelling, tuple(own))
    rows = [
        {
            "id": item.id,
            "answer": item.answer.value,
            **({"positive": item.answer.outcome} if binary else {}),
            "stratum": item.stratum,
            "comment": item.review.comment,
            **dict(zip(further, judged_cells(labelling, item), strict=True)),
        }
        for item in judged_items(labelling)
    ]
    known = {**own, "weight": float}
    for name in further[: further.index("weight")]:
        what = bool if binary else str
        known[name] = what if name.startswith("predicted") else float
    return frame_of(rows, column_types(rows, (*own, *further), known), backend=backend)
