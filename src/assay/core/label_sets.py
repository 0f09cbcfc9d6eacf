"""Vocabulary of items that may have several classes: a label is a set of them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from assay.core.types import Bools, Ints
from assay.core.vocabulary import NONE_OF_THESE, Vocabulary, is_number
from assay.errors import DesignError

MOST_LABELS = 62
"""Maximum number of classes of which an item may have several: a set is the bits of a number."""
BETWEEN = "|"
"""Separates the classes of an item with several; not allowed in the name of such a class."""


class LabelSets(Vocabulary):
    """Classes of which an item may have several, or none: its label is a set of them.

    >>> tags = LabelSets(("fraud", "spam", "toxic"))
    >>> tags.joined(["toxic", "fraud"]), tags.joined([]), tags.kinds
    ('fraud|toxic', 'none of these', 8)
    """

    multilabel = True
    is_yes_or_no = has_matrix = False
    question = "Which classes does it have?"
    kinds_in_words = "sets of classes"
    note = "; an item may have several"
    chosen = "it has this class, perhaps beside others"
    _most = MOST_LABELS, ", where an item may have several"

    def __post_init__(self) -> None:
        """Refuse names as for one class, and those that cannot be told apart in a set."""
        super().__post_init__()
        _refuse_between([*self.names, *self.aliases])

    @property
    def bits(self) -> int:
        """One question for each class."""
        return len(self)

    @property
    def kinds(self) -> int:
        """Number of sets."""
        return int(2 ** len(self))

    def number(self, name: str) -> int:
        """Look up the number of the set written by `joined`."""
        return sum(1 << self.numbers[each] for each in self.parted(name))

    def joined(self, names: Iterable[str]) -> str:
        """Text of a set of classes, in their order; or the text for none."""
        among = set(names)
        return BETWEEN.join(name for name in self.names if name in among) or NONE_OF_THESE

    def parted(self, text: str) -> tuple[str, ...]:
        """Classes in the result of `joined`."""
        return () if text == NONE_OF_THESE else tuple(text.split(BETWEEN))

    def named_in(self, value: object) -> list[object] | None:
        """Classes named by a value: a list, a text with bars between the names, or JSON.

        An empty text is not an empty set: it may mean that nobody has answered yet.

        >>> tags = LabelSets(("fraud", "spam"))
        >>> tags.named_in("fraud|spam"), tags.named_in('["fraud"]'), tags.named_in("")
        (['fraud', 'spam'], ['fraud'], None)
        """
        if isinstance(value, str):
            text = value.strip()
            if not text.startswith("["):
                return [*text.split(BETWEEN)] if text else None
            try:
                value = json.loads(text)
            except ValueError:
                return None
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, list | tuple | set | frozenset):
            return [*value]
        return [value] if is_number(value) else None

    def classes_in(self, number: int) -> tuple[str, ...]:
        """Classes in a set."""
        return tuple(name for place, name in enumerate(self.names) if number >> place & 1)

    def says(self, predicted: Ints, number: int | Ints) -> Bools:
        """Whether predicted sets contain a class."""
        return np.asarray(predicted >> number & 1 > 0)

    def mistake(self, answer: str, predicted: int) -> str:
        """Difference between an answer and a predicted set, for people.

        >>> LabelSets(("fraud", "spam", "toxic")).mistake("fraud|spam", 0b110)
        'misses fraud; wrongly says toxic'
        """
        has, says = set(self.parted(answer)), set(self.classes_in(predicted))
        errors = {"misses": has - says, "wrongly says": says - has}
        return "; ".join(
            f"{word} {', '.join(sorted(names))}" for word, names in errors.items() if names
        )


def vocabulary_from(stored: Mapping[str, Any] | None) -> Vocabulary:
    """Restore the result of `to_dict`; campaigns from before classes existed have none."""
    if stored is None:
        return Vocabulary()
    kind = LabelSets if stored.get("multilabel") else Vocabulary
    more = (stored.get(name, {}) for name in ("aliases", "guidelines"))
    return kind(tuple(map(str, stored["names"])), *more)


def _refuse_between(words: Iterable[object]) -> None:
    for word in words:
        if BETWEEN in str(word):
            raise DesignError(
                f"a class cannot be called {word!r} where an item may have several",
                details=f"{BETWEEN!r} stands between the classes of an item",
                hint="use another name",
            )
