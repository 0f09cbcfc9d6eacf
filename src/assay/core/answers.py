"""Answers that a reviewer can give about an item, and agreement between reviewers.

References
----------
.. [1] Cohen, A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20 (1960).
.. [2] Fleiss, Measuring nominal scale agreement among many raters, Psychol. Bull. 76 (1971).
.. [3] Gwet, Handbook of inter-rater reliability, 4th ed. (2014), section 2.3: Fleiss' kappa where
       not every item has the same number of ratings.
.. [4] Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal

import numpy as np

from assay.core.subgroups import clopper_pearson
from assay.core.types import Floats
from assay.core.vocabulary import NONE_OF_THESE, YES_OR_NO, Vocabulary
from assay.errors import LabelConflictError, LabelError, counted


class Answer(str):
    """A reviewer's answer about an item: a class, or why there is none.

    In a two-class campaign the classes are yes and no. In others an answer is a class name or "none
    of these"; if an item may have several classes, it is all of them, as `Vocabulary.joined` writes
    them. An item may also be impossible to judge, or broken. Equal answers are one object: ``answer
    is Answer.YES``. The stored text is not checked here: use `parse_answer`.

    Examples
    --------
    >>> Answer("yes") is Answer.YES, Answer("physics"), Answer("physics").judged
    (True, <Answer: 'physics'>, True)
    """

    __slots__ = ()

    YES: ClassVar["Answer"]
    NO: ClassVar["Answer"]
    NONE_OF_THESE: ClassVar["Answer"]
    CANNOT_JUDGE: ClassVar["Answer"]
    BROKEN: ClassVar["Answer"]

    def __new__(cls, text: str) -> "Answer":
        """Reuse the single object for a text."""
        answer = _MADE.get(text)
        return _MADE.setdefault(str(text), super().__new__(cls, text)) if answer is None else answer

    def __reduce__(self) -> tuple[type["Answer"], tuple[str]]:
        """Make copies and unpickled answers the same object."""
        return Answer, (self.value,)

    def __repr__(self) -> str:
        name = _NAMES.get(self.value)
        return f"<Answer: {self.value!r}>" if name is None else f"<Answer.{name}: {self.value!r}>"

    @property
    def value(self) -> str:
        """The answer as it is stored."""
        return str(self)

    @property
    def outcome(self) -> bool | None:
        """Whether the item is positive; None if the answer is neither yes nor no.

        For campaigns of yes and no only. A class has no outcome but is an answer: see `judged`.
        """
        if self is Answer.YES:
            return True
        return False if self is Answer.NO else None

    @property
    def judged(self) -> bool:
        """Whether it answers the question."""
        return self is not Answer.CANNOT_JUDGE and self is not Answer.BROKEN

    @property
    def category(self) -> "Answer":
        """Category for agreement: the answer, or one category for all without an answer."""
        return self if self.judged else Answer.CANNOT_JUDGE


class _Made(dict[str, Answer]):
    def __missing__(self, text: str) -> Answer:
        return Answer(text)


_MADE = _Made()
_NAMES = {
    "yes": "YES",
    "no": "NO",
    NONE_OF_THESE: "NONE_OF_THESE",
    "cannot judge": "CANNOT_JUDGE",
    "broken": "BROKEN",
}
for _text, _name in _NAMES.items():
    setattr(Answer, _name, Answer(_text))

ANSWERS: Mapping[str, Answer] = _MADE
"""The answer of a text: ``Answer(text)``, but faster."""

_UNJUDGED = {
    **dict.fromkeys(("cannot judge", "cannot_judge", "cannot-judge", "?"), Answer.CANNOT_JUDGE),
    "broken": Answer.BROKEN,
}
_WORDS = {
    **dict.fromkeys(("yes", "y", "true", "t", "1", "1.0"), Answer.YES),
    **dict.fromkeys(("no", "n", "false", "f", "0", "0.0"), Answer.NO),
    **_UNJUDGED,
}
_OF_CLASSES = {
    **dict.fromkeys(("none_of_these", "none-of-these"), Answer.NONE_OF_THESE),
    **_UNJUDGED,
}


def answers_to(classes: Vocabulary = YES_OR_NO) -> tuple[Answer, ...]:
    """Every possible answer, in the order in which reviewers see them.

    >>> [str(answer) for answer in answers_to()]
    ['yes', 'no', 'cannot judge', 'broken']
    >>> [str(answer) for answer in answers_to(Vocabulary(("math", "physics")))]
    ['math', 'physics', 'none of these', 'cannot judge', 'broken']
    """
    unjudged = (Answer.CANNOT_JUDGE, Answer.BROKEN)  # of several classes, each can be chosen
    return (*map(Answer, classes.choices), *unjudged)


def find_answer(value: object, classes: Vocabulary) -> Answer | None:
    """Answer that a value stands for, as in `parse_answer`; None if there is none."""
    word = value.strip().lower() if isinstance(value, str) else ""
    if classes.is_yes_or_no and word in _WORDS:
        return _WORDS[word]
    if classes.is_yes_or_no and not isinstance(value, str):
        known = isinstance(value, bool | np.bool_ | int | float | np.number) and value in (0, 1)
        return (Answer.YES if value == 1 else Answer.NO) if known else None
    named = classes.named_in(value)
    names = [] if named is None else [classes.find(each) for each in named]
    among = [name for name in names if name is not None]
    unclear = len(set(among)) < len(names) or (NONE_OF_THESE in among and len(among) > 1)
    if named is None or unclear:  # one is unknown or repeated
        return None if classes.is_yes_or_no else _OF_CLASSES.get(word)
    return Answer(classes.joined(among))


def parse_answer(value: object, classes: Vocabulary = YES_OR_NO) -> Answer:
    """Parse a value as an answer; raise `LabelError` if it is none.

    Yes and no: True and False, 1 and 0, and common words. Other classes: a name or an alias, in any
    case, or the number that a name is. Several classes: a list of these, or a text with ``|``
    between them. A missing value never counts as no.

    >>> parse_answer(True), parse_answer("No"), parse_answer("?")
    (<Answer.YES: 'yes'>, <Answer.NO: 'no'>, <Answer.CANNOT_JUDGE: 'cannot judge'>)
    >>> parse_answer("Physics", Vocabulary(("math", "physics")))
    <Answer: 'physics'>
    >>> from assay.core.label_sets import LabelSets
    >>> parse_answer(["Spam", "fraud"], LabelSets(("fraud", "spam")))
    <Answer: 'fraud|spam'>
    """
    if (answer := find_answer(value, classes)) is not None:
        return answer
    if classes.is_yes_or_no:
        details, near = "answers: True, False, 'yes', 'no', 1, 0, 'cannot judge', 'broken'", ""
    else:
        named = classes.named_in(value) or [value]
        unknown = next((each for each in named if classes.find(each) is None), value)
        details, near = classes.unknown(unknown)
        if unknown is not value:
            details = f"{unknown!r} is not a class; {details}"
        details += "; or 'none of these', 'cannot judge', 'broken'"
    raise LabelError(
        f"{repr(value)[:202]} is not an answer",
        details=details,
        hint=near
        or "leave out items without an answer yet; give 'cannot judge' where there can be none",
    )


def parse_verdict(value: object, at: float | None = None, positive: object = None) -> bool | None:
    """Parse a judge's verdict on an item; None if it is neither yes nor no.

    `at`: number from which on it is yes; `positive`: the value that means yes, others mean no.

    >>> parse_verdict("Yes"), parse_verdict(0.7, at=0.5), parse_verdict(None), parse_verdict("?")
    (True, True, None, None)
    >>> parse_verdict("pass", positive="pass"), parse_verdict("fail", positive="pass")
    (True, False)
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, float | np.floating) and np.isnan(value):
        return None
    if positive is not None:
        return str(value).strip() == str(positive)
    if at is None:
        return parse_answer(value).outcome
    if isinstance(value, str | int | float | np.number | np.bool_):
        try:
            return float(value) >= at
        except (ValueError, OverflowError):
            pass
    raise LabelError(f"{value!r} is not a number, but at={at:g} is for numbers")


# Words that usually mean yes, the more usual ones first.
_USUALLY_YES = (
    *("yes", "true", "positive", "pos", "1", "spam", "toxic", "pass", "correct", "match", "fraud"),
)


def probable_yes(words: Iterable[str]) -> str | None:
    """Which of some words probably means yes; None if nobody can know.

    >>> probable_yes(["fail", "Pass"]), probable_yes(["a", "b"])
    ('Pass', None)
    """
    by_case = {word.lower(): word for word in words}
    return next((by_case[yes] for yes in _USUALLY_YES if yes in by_case), None)


def parse_answers(labels: object, id_kind: str, classes: Vocabulary) -> dict[str, Answer]:
    """Answers by item id (as text), from a mapping or from pairs.

    >>> parse_answers({7: True}, "integer", Vocabulary())
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
        key, answer = _item_key(item, id_kind), parse_answer(value, classes)
        if given.setdefault(key, answer) is not answer:
            raise LabelConflictError(f"item {item!r} has two answers, {given[key]} and {answer}")
    return given


def _item_key(item: object, id_kind: str) -> str:
    integer = isinstance(item, Integral) and not isinstance(item, bool)
    if (id_kind == "integer" and integer) or (id_kind == "string" and isinstance(item, str)):
        return str(item)
    raise LabelError(
        f"{item!r} is not an id of this campaign",
        details=f"its ids are {id_kind}s; this is {type(item).__name__}",
    )


# Agreement between reviewers who judged the same items.


_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Agreement:
    """Agreement between reviewers."""

    items: int  # items that at least two reviewers judged; nothing else counts here
    reviewers: int  # the reviewers of these
    # Probability that two reviewers of such an item agree; None without an item.
    raw: float | None = None
    # Agreement beyond chance: 1 is perfect, 0 no better than chance. None where chance alone would
    # always agree, as it does when every answer is the same.
    kappa: float | None = None
    # Whose kappa: Cohen's for two reviewers in all, otherwise Fleiss'.
    kind: Literal["Cohen", "Fleiss"] | None = None
    # Of `raw`, at 95% (Clopper and Pearson [4]_); None unless every item has two reviewers. It is
    # about items as they are drawn here, which is not in proportion to the population.
    interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        if self.raw is None:
            return "no item has been judged by two reviewers yet"
        items = counted(self.items, "item")
        text = f"{self.reviewers} reviewers, {items} judged by two or more"
        text += f": two of them agree on {self.raw:.1%}"
        if self.interval is not None:
            text += f" [{self.interval[0]:.1%}, {self.interval[1]:.1%}]"
        beyond = "not defined" if self.kappa is None else f"{self.kappa:.2f}"
        return f"{text}, {self.kind}'s kappa {beyond}".replace("Fleiss's", "Fleiss'")


def agreement_of(ratings: Sequence[Mapping[str, str]]) -> Agreement:
    """Agreement between reviewers on items that at least two of them judged.

    `ratings`: per item, each reviewer's answer.

    kappa = (P - P_e) / (1 - P_e), with P the raw agreement. Of the item i, n_ij of its n_i
    reviewers say j; P is the mean over items of sum_j n_ij (n_ij - 1) / (n_i (n_i - 1)), the chance
    that two of them agree. P_e is the agreement expected by chance: Cohen's [1]_ is the chance that
    the two reviewers agree on independently drawn items, sum_j p_1j p_2j; Fleiss' [2]_ that any two
    do, sum_j p_j^2, with p_j the mean over items of n_ij / n_i [3]_.

    >>> one = {"ann": "yes", "bob": "yes"}
    >>> print(agreement_of([one, one, {"ann": "no", "bob": "no"}, {"ann": "no", "bob": "yes"}]))
    2 reviewers, 4 items judged by two or more: two of them agree on 75.0% [19.4%, 99.4%], Cohen's
    kappa 0.50
    """
    shared = [item for item in ratings if len(item) > 1]
    reviewers = sorted({reviewer for item in shared for reviewer in item})
    if not shared:
        return Agreement(0, 0)
    categories = sorted({category for item in shared for category in item.values()})
    n_ij = np.array([_times(item.values(), categories) for item in shared])
    n_i = n_ij.sum(axis=1)
    raw = float(((n_ij * (n_ij - 1)).sum(axis=1) / (n_i * (n_i - 1))).mean())
    if len(reviewers) == 2:
        kind: Literal["Cohen", "Fleiss"] = "Cohen"
        first, second = (
            _times([item[who] for item in shared], categories) / len(shared) for who in reviewers
        )
        by_chance = float((first * second).sum())
    else:
        kind = "Fleiss"
        by_chance = float(((n_ij / n_i[:, None]).mean(axis=0) ** 2).sum())
    # With one category only, P_e is exactly 1; with more it is below.
    kappa = (raw - by_chance) / (1 - by_chance) if len(categories) > 1 else None
    interval = None
    if (n_i == 2).all():
        low, high = clopper_pearson(np.array(raw), np.array(float(len(shared))), _CONFIDENCE)
        interval = float(low), float(high)
    return Agreement(len(shared), len(reviewers), raw, kappa, kind, interval)


def _times(answers: Iterable[str], categories: Sequence[str]) -> Floats:
    given = list(answers)
    return np.array([given.count(category) for category in categories], dtype=np.float64)
