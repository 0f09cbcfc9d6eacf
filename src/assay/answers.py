"""What a person can say about an item."""

from enum import StrEnum

import numpy as np

from assay.errors import LabelError

__all__ = ["Answer", "parse_answer"]


class Answer(StrEnum):
    """Yes, no, or that the item cannot be judged (which counts as no answer to the question)."""

    YES = "yes"
    NO = "no"
    CANNOT_JUDGE = "cannot judge"


_WORDS = {
    **dict.fromkeys(("yes", "y", "true", "t", "1"), Answer.YES),
    **dict.fromkeys(("no", "n", "false", "f", "0"), Answer.NO),
    **dict.fromkeys(("cannot judge", "cannot_judge", "cannot-judge", "?"), Answer.CANNOT_JUDGE),
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
        details="answers: True, False, 'yes', 'no', 1, 0, 'cannot judge'",
        hint="leave out items without an answer yet; say 'cannot judge' where there can be none",
    )
