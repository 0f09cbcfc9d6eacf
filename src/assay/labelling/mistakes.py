"""Mistakes of a classifier: judged items with a wrong prediction, the most confident first."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from assay.core.answers import Answer
from assay.core.bins import scale_of
from assay.core.cuts import confidence
from assay.core.vocabulary import Vocabulary
from assay.errors import InputError, did_you_mean
from assay.labelling.judged import Judged, Prediction, judged_items, seen_columns
from assay.labelling.settings import Settings
from assay.labelling.slice_items import slice_values
from assay.labelling.state import Labelling
from assay.results import KINDS, RIGHT, Mistake, Mistakes

_BLIND = "the scores were not stored with the items; errors are in the order of their labels"
_SHORT = {"fp": "false positive", "fn": "false negative"}


def mistakes_of(
    labelling: Labelling,
    *,
    kind: str | None = None,
    where: Mapping[str, object] | None = None,
    classifier: str | None = None,
    predictions: object = None,
    right: bool = False,
) -> Mistakes:
    """Mistakes of a classifier; the parameters are those of `Campaign.errors`.

    With `right`, also what the classifier predicted rightly.
    """
    settings = labelling.settings
    name = _classifier(settings.strata.classifiers, classifier)
    wanted = _kinds(kind, settings)
    items = [item for item in judged_items(labelling, predictions) if name in item.predictions]
    for column, value in (where or {}).items():
        values = slice_values(labelling, [item.item_id for item in items], column, predictions)
        items = [item for item, mistake in zip(items, values, strict=True) if mistake == str(value)]
    judged = [item for item in items if item.answer.judged]
    rows = [
        (item, mistake)
        for item in judged
        if (mistake := _kind_of(settings.classes, item.predictions[name], item.answer)) != RIGHT
        or right
    ]
    sure = _confidence(labelling, name, [item.predictions[name] for item, _ in rows])
    with labelling.store.read() as session:
        tags = session.tags(settings.name)
    mistakes = [
        item.mistake(settings, name, kind, how_sure, tags.get(item.item_id, ()))
        for (item, kind), how_sure in zip(rows, sure, strict=True)
        if _is_wanted(kind, item, wanted, settings.classes, name)
    ]
    # Those without a score come last; equals stay in the order of their answers.
    mistakes.sort(key=lambda each: (each.confidence is None, -(each.confidence or 0.0)))
    return Mistakes(
        classifier=name if len(settings.strata.classifiers) > 1 else "",
        rows=tuple(mistakes),
        judged=len(judged),
        left_out=_left_out(labelling, items),
        columns=tuple(seen_columns(settings.source)),
        kinds=wanted if settings.is_binary else (),
        notes=tuple(_notes(settings, name, mistakes, wanted)),
    )


def _kind_of(classes: Vocabulary, prediction: Prediction, answer: Answer) -> str:
    is_right = classes.number(answer) == prediction.number
    return RIGHT if is_right else classes.mistake(answer, prediction.number)


def _is_wanted(
    kind: str, item: Judged, wanted: Sequence[str], classes: Vocabulary, classifier: str
) -> bool:
    """Whether a mistake is requested: by its kind, or by a class wrongly predicted or missed.

    `wanted`: kinds or, with more classes, names of classes; empty means all.
    """
    sides = set(classes.parted(item.answer) or (item.answer.value,))
    predicted = set(classes.classes_in(item.predictions[classifier].number))
    if kind == RIGHT:
        return wanted in ((), KINDS) or not sides.isdisjoint(wanted)
    return not wanted or kind in wanted or not (sides ^ predicted).isdisjoint(wanted)


def _kinds(kind: str | None, settings: Settings) -> tuple[str, ...]:
    if not settings.is_binary:
        return () if kind is None else (settings.classes.name_of(kind),)
    if kind is None:
        return KINDS
    word = str(kind).replace("_", " ").strip().lower()
    word = _SHORT.get(word, word)
    if word not in KINDS:
        known = (*_SHORT, *KINDS)
        raise InputError(
            f"there is no kind of mistake {kind!r}",
            details="kinds: fp (false positive: the classifier said yes, people said no), "
            "fn (false negative)",
            hint=did_you_mean(word, known),
        )
    return (word,)


def _classifier(names: Sequence[str], wanted: str | None) -> str:
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is None or wanted not in names:
        whose = "whose mistakes?" if wanted is None else f"there is no classifier {wanted!r}"
        raise InputError(
            whose,
            details=f"classifiers: {', '.join(names) or 'one, without a name'}",
            hint=did_you_mean(wanted or "", names) or f"name one: {names[-1]!r}",
        )
    return wanted


def _confidence(
    labelling: Labelling, name: str, predictions_of: Sequence[Prediction]
) -> list[float | None]:
    """Confidence of the classifier in each prediction, None if its score is unknown.

    Scores are probabilities if the campaign treats them as such; with several classifiers, if all
    known ones lie between 0 and 1.
    """
    settings = labelling.settings
    known = [each.score for each in predictions_of if each.score is not None]
    if not known:
        return [None] * len(predictions_of)
    if not settings.is_binary:  # the score is of the predicted class
        return [each.score for each in predictions_of]
    scale = settings.source.scale if settings.goal.single else scale_of(min(known), max(known))
    roles = settings.source.roles[settings.strata.classifiers.index(name)]
    sure = confidence(
        np.array([np.nan if each.score is None else each.score for each in predictions_of]),
        np.array([each.yes for each in predictions_of], dtype=np.bool_),
        scale,
        0.0 if roles is None else roles.limit or 0.0,
    )
    return [None if np.isnan(each) else each for each in sure.tolist()]


def _left_out(labelling: Labelling, judged: Sequence[Judged]) -> dict[str, int]:
    """Count drawn items without a yes or no; the filters apply to answered items."""
    given = Counter(item.answer for item in judged)
    waiting = [labelling.review(card.item_id) for card in labelling.rounds.outstanding]
    disputed = sum(review.disputed for review in waiting)
    return {
        "could not be judged": given[Answer.CANNOT_JUDGE],
        "broken": given[Answer.BROKEN],
        "disputed": disputed,
        "waiting for an answer": len(waiting) - disputed,
    }


def _notes(
    settings: Settings, name: str, mistakes: Sequence[Mistake], wanted: Sequence[str]
) -> list[str]:
    """Collect the notes on the mistakes."""
    notes = []
    strata = settings.strata
    sides = {bool(code >> strata.classifiers.index(name) & 1) for _, code in strata.possible_codes}
    for kind, says_yes in (("false positive", True), ("false negative", False)):
        if kind in wanted and says_yes not in sides:
            word = "yes" if says_yes else "no"
            notes.append(
                f"no item that the classifier said {word} to is drawn in this campaign, so "
                f"{kind}s are not found here; recall, F1 or accuracy draws both"
            )
    if mistakes and all(each.score is None for each in mistakes):
        notes.append(_BLIND)
    return notes
