"""Answers that a person can give about an item."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from numbers import Integral

import numpy as np

from assay.errors import LabelConflictError, LabelError


class Answer(StrEnum):
    """Yes, no, or why there is neither: it cannot be judged, or cannot be seen (broken)."""

    YES = "yes"
    NO = "no"
    CANNOT_JUDGE = "cannot judge"
    BROKEN = "broken"

    @property
    def outcome(self) -> bool | None:
        """Whether the item is positive; None where the question has no answer."""
        return {Answer.YES: True, Answer.NO: False}.get(self)

    @property
    def judged(self) -> bool:
        """Whether it answers the question."""
        return self.outcome is not None


_WORDS = {
    **dict.fromkeys(("yes", "y", "true", "t", "1"), Answer.YES),
    **dict.fromkeys(("no", "n", "false", "f", "0"), Answer.NO),
    **dict.fromkeys(("cannot judge", "cannot_judge", "cannot-judge", "?"), Answer.CANNOT_JUDGE),
    "broken": Answer.BROKEN,
}


def parse_answer(value: object) -> Answer:
    """Return the answer that a value stands for, or raise `LabelError`.

    True and False, 1 and 0, and the words people type; a missing value is never taken for a no.

    Examples
    --------
    >>> parse_answer(True), parse_answer("No"), parse_answer("?")
    (<Answer.YES: 'yes'>, <Answer.NO: 'no'>, <Answer.CANNOT_JUDGE: 'cannot judge'>)
    """
    if isinstance(value, bool | np.bool_):
        return Answer.YES if value else Answer.NO
    if isinstance(value, int | float | np.number) and value in (0, 1):
        return Answer.YES if value == 1 else Answer.NO
    if isinstance(value, str) and (word := value.strip().lower()) in _WORDS:
        return _WORDS[word]
    raise LabelError(
        f"{value!r} is not an answer",
        details="answers: True, False, 'yes', 'no', 1, 0, 'cannot judge', 'broken'",
        hint="leave out items without an answer yet; say 'cannot judge' where there can be none",
    )


def parse_answers(labels: object, id_kind: str) -> dict[str, Answer]:
    """Return what a mapping, or pairs, of ids and answers say, by the ids' texts.

    Examples
    --------
    >>> parse_answers({7: True}, "integer")
    {'7': <Answer.YES: 'yes'>}
    """
    given: dict[str, Answer] = {}
    pairs = labels.items() if isinstance(labels, Mapping) else labels
    if not isinstance(pairs, Iterable):
        raise LabelError(f"expected a mapping of ids to answers, got {labels!r}")
    for pair in pairs:
        try:
            item, value = pair
        except (TypeError, ValueError):
            raise LabelError(f"expected pairs of id and answer, got {pair!r}") from None
        key, answer = _item_key(item, id_kind), parse_answer(value)
        if given.setdefault(key, answer) is not answer:
            raise LabelConflictError(f"item {item!r} is told both {given[key]} and {answer}")
    return given


def _item_key(item: object, id_kind: str) -> str:
    integer = isinstance(item, Integral) and not isinstance(item, bool)
    if (id_kind == "integer" and integer) or (id_kind == "string" and isinstance(item, str)):
        return str(item)
    raise LabelError(
        f"{item!r} is not an id of this campaign",
        details=f"its ids are {id_kind}s; this is {type(item).__name__}",
    )
