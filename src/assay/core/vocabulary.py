"""Vocabulary: the classes of items, and of reviewers' answers.

A yes-or-no campaign has two classes, ``no`` and ``yes``, in that order: a predicted label is the
number of a class, 0 or 1. The labels of several classifiers are combined into one **code**, sum_j
c_j K^j, with K classes; for yes and no, bit j of the code is the j-th classifier's label.

If an item may have several classes (`core.label_sets`), a predicted label is a set of classes, and
the number of a set has a bit for each class: a code is then a number in base 2^K.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from assay.core.types import Bools, Ints
from assay.errors import DesignError, LabelError, did_you_mean

MOST_CLASSES = 10_000
LONGEST_NAME = 200
NONE_OF_THESE = "none of these"
"""The answer that an item belongs to no class of the vocabulary."""

RESERVED = (NONE_OF_THESE, "cannot judge", "broken", "skip", "withdrawn", "undo")
"""Names that no class can have: these words have another meaning in answers."""

Codes = TypeVar("Codes", int, Ints)
"""One code, or many."""

_NUMBER = re.compile(r"[-+]?[0-9]{1,17}(\.[0-9]{1,17})?")


@dataclass(frozen=True)
class Vocabulary:
    """The classes of a campaign, of which an item has one; default: no and yes.

    >>> topics = Vocabulary(("math", "physics", "q-bio"), aliases={"mathematics": "math"})
    >>> topics.name_of("Mathematics"), topics.number("physics")
    ('math', 1)
    >>> topics.name_of("pysics")
    Traceback (most recent call last):
    assay.errors.LabelError: 'pysics' is not a class
    3 classes: math, physics, q-bio
    hint: did you mean 'physics'?
    """

    # The classes, each once, in the order of their numbers.
    names: tuple[str, ...] = ("no", "yes")
    # Aliases of classes, with the name that each stands for.
    aliases: Mapping[str, str] = field(default_factory=dict)
    # Guidelines for reviewers by class.
    guidelines: Mapping[str, str] = field(default_factory=dict)

    multilabel: ClassVar[bool] = False  # whether an item may have several classes
    kinds_in_words: ClassVar[str] = "classes"  # name of the possible predicted labels
    note: ClassVar[str] = ""  # what to add to a list of the classes
    chosen: ClassVar[str] = ""  # meaning of choosing a class without a guideline
    _most: ClassVar[tuple[int, str]] = MOST_CLASSES, ""

    def __post_init__(self) -> None:
        """Refuse names that are ambiguous, or have another meaning."""
        most, where = self._most
        if not 2 <= len(self.names) <= most:
            raise DesignError(
                f"there are {len(self.names):,} classes",
                details=f"there must be at least 2 and at most {most:,}{where}",
            )
        seen: dict[str, str] = {}
        for name in self.names:
            _refuse_bad_name(name)
            if _folded(name) in seen:
                raise DesignError(
                    f"two classes are called {seen[_folded(name)]!r} and {name!r}",
                    details="names must differ by more than case and spaces",
                )
            seen[_folded(name)] = name
        for alias, name in self.aliases.items():
            _refuse_bad_name(alias)
            if name not in self.numbers:
                raise DesignError(
                    f"the alias {alias!r} stands for {name!r}, which is not a class",
                    hint=did_you_mean(name, self.names),
                )
            if seen.setdefault(_folded(alias), name) != name:
                raise DesignError(
                    f"{alias!r} stands for {name!r}, and for {seen[_folded(alias)]!r}",
                    details="a word stands for one class",
                )
        for name in self.guidelines:
            if name not in self.numbers:
                raise DesignError(
                    f"a guideline is for {name!r}, which is not a class",
                    hint=did_you_mean(name, self.names),
                )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def is_yes_or_no(self) -> bool:
        """Whether the classes are no and yes."""
        return self.names == Vocabulary.names

    @property
    def has_matrix(self) -> bool:
        """Whether items have one class each, other than no and yes: there is a confusion matrix."""
        return not self.is_yes_or_no

    @property
    def bare(self) -> "Vocabulary":
        """The same classes without aliases and guidelines."""
        return replace(self, aliases={}, guidelines={})

    @property
    def default_metric(self) -> str:
        """The default metric."""
        return "accuracy" if self.has_matrix else "precision"

    @property
    def bits(self) -> int:
        """Number of yes-or-no questions that a classifier answers about an item."""
        return 1

    @property
    def kinds(self) -> int:
        """Number of possible predicted labels of an item."""
        return len(self)

    @property
    def choices(self) -> tuple[str, ...]:
        """Answers to choose from: yes before no; for other classes, none of these comes last."""
        return ("yes", "no") if self.is_yes_or_no else (*self.names, NONE_OF_THESE)

    @property
    def question(self) -> str:
        """Default question to reviewers about an item."""
        return "Is it positive?" if self.is_yes_or_no else "Which class is it?"

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Number of each class."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _words(self) -> Mapping[str, str]:
        words = {_folded(alias): name for alias, name in self.aliases.items()}
        return words | {_folded(name): name for name in self.names}

    def number(self, name: str) -> int:
        """Look up the number of a class, or of `NONE_OF_THESE`: one after the last class."""
        return len(self.names) if name == NONE_OF_THESE else self.numbers[name]

    def joined(self, names: Iterable[str]) -> str:
        """Text of a label, from its class; or the text for none."""
        return next((name for name in names if name in self.numbers), NONE_OF_THESE)

    def parted(self, text: str) -> tuple[str, ...]:
        """Classes in the result of `joined`."""
        return () if text == NONE_OF_THESE else (text,)

    def named_in(self, value: object) -> list[object] | None:
        """Classes named by a value; None if it can be no answer."""
        return [value] if isinstance(value, str) or is_number(value) else None

    def classes_in(self, number: int) -> tuple[str, ...]:
        """Classes of a predicted label; none for the number of none."""
        return self.names[number : number + 1]

    def says(self, predicted: Ints, number: int | Ints) -> Bools:
        """Whether predicted labels, by number, are a class or contain it."""
        return np.asarray(predicted == number)

    def mistake(self, answer: str, predicted: int) -> str:
        """Difference between an answer and a predicted label, for people."""
        if self.is_yes_or_no:
            return ("false negative", "false positive")[predicted]
        return f"{answer}, predicted {self.names[predicted]}"

    def counted_by(self, number: int) -> tuple[int, ...]:
        """Numbers of the classes that count an answer of this number.

        A label of an item with several classes counts for each; one of none has the number after
        the last.
        """
        return tuple(self.numbers[name] for name in self.classes_in(number)) or (len(self),)

    @cached_property
    def _by_number(self) -> Mapping[float, str]:
        """Classes whose names are numbers, unless two names are the same number."""
        numbers = [(float(name), name) for name in self.names if _NUMBER.fullmatch(name)]
        often = Counter(number for number, _ in numbers)
        return {number: name for number, name in numbers if often[number] == 1}

    def find(self, value: object) -> str | None:
        """Class that a value stands for, as in `name_of`; None if there is none."""
        text = str(value)
        word = _folded(text)
        if word in self._words:
            return self._words[word]
        if word == NONE_OF_THESE and not self.is_yes_or_no:
            return NONE_OF_THESE
        return self._by_number.get(float(word)) if _NUMBER.fullmatch(word) else None

    def name_of(self, value: object) -> str:
        """Class that a value stands for; raise `LabelError` if there is none.

        It is a name or an alias, in any case; or a number that only one name is: 9.0 is the class
        9.
        """
        if (name := self.find(value)) is not None:
            return name
        details, near = self.unknown(value)
        raise LabelError(f"{value!r} is not a class", details=details, hint=near)

    def unknown(self, value: object) -> tuple[str, str]:
        """Error details for a value that is not a class: all classes, and the nearest one."""
        few = ", ".join(self.names[:8]) + (", …" if len(self.names) > 8 else "")
        near = self.nearest(value)
        return f"{len(self):,} classes: {few}", f"did you mean {near!r}?" if near else ""

    def nearest(self, value: object) -> str:
        """Name or alias most similar to a value; empty if none is similar."""
        words = {_folded(word): word for word in [*self.aliases, *self.names]}
        near = get_close_matches(_folded(str(value)), words, n=1)
        return words[near[0]] if near else ""

    def extended(self, more: "Iterable[str] | Vocabulary") -> "Vocabulary":
        """Vocabulary of these classes, followed by the others' classes that are new.

        The numbers of these stay the same. A name or an alias of these, in any case, is no new
        class.

        >>> Vocabulary(("b", "a"), {"alpha": "a"}).extended(["A", "alpha", "c"]).names
        ('b', 'a', 'c')
        """
        other = more if isinstance(more, Vocabulary) else None
        names = more.names if isinstance(more, Vocabulary) else more
        new = dict.fromkeys(name for name in names if self.find(name) is None)
        if other is None:
            return replace(self, names=(*self.names, *new))
        here = {name: self.find(name) or name for name in other.names}
        aliases, guidelines = dict(self.aliases), dict(self.guidelines)
        for alias, name in other.aliases.items():
            if (self.find(alias) or here[name]) != here[name]:
                raise DesignError(
                    f"{alias!r} stands for {self.find(alias)!r}, and for {here[name]!r}",
                    details="a word stands for one class",
                )
            if self.find(alias) is None:
                aliases[alias] = here[name]
        for name, guideline in other.guidelines.items():
            guidelines.setdefault(here[name], guideline)
        return replace(self, names=(*self.names, *new), aliases=aliases, guidelines=guidelines)

    def predicted(self, code: Codes, classifier: int) -> Codes:
        """Numbers of one classifier's predicted labels, from codes.

        >>> Vocabulary(("a", "b", "c")).predicted(np.array([5, 6]), 1)
        array([1, 2])
        """
        place: int = self.kinds**classifier
        return code // place % self.kinds

    def to_dict(self) -> dict[str, Any]:
        """Vocabulary as JSON values; `label_sets.vocabulary_from` restores it."""
        more = {
            "aliases": dict(self.aliases),
            "guidelines": dict(self.guidelines),
            "multilabel": self.multilabel,
        }
        return {"names": list(self.names), **{name: each for name, each in more.items() if each}}

    @classmethod
    def of(cls, values: Iterable[object]) -> Self:
        """Sorted classes of values: numbers as numbers, others as text.

        >>> Vocabulary.of([10, 9, 10]).names, Vocabulary.of(["b", "a"]).names
        (('9', '10'), ('a', 'b'))
        """
        distinct = set(values)
        if all(isinstance(value, Real) for value in distinct):
            ordered = sorted(distinct, key=lambda value: float(str(value)))
        else:
            ordered = sorted(distinct, key=str)
        return cls(tuple(dict.fromkeys(map(str, ordered))))


def is_number(value: object) -> bool:
    """Whether a value is a number, and not missing."""
    return isinstance(value, Real | np.bool_) and not np.isnan(float(value))


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


def _refuse_bad_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise DesignError(
            f"a class cannot be called {repr(name)[:202]}",
            details=f"a name is a text of 1 to {LONGEST_NAME} characters",
        )
    if not name.isprintable() or _folded(name) in RESERVED:
        raise DesignError(
            f"a class cannot be called {repr(name)[:202]}",
            details=f"words that mean something else: {', '.join(RESERVED)}",
            hint="use another name in the column of predicted classes",
        )


YES_OR_NO = Vocabulary()
"""The two classes of a yes-or-no campaign."""


class OfClasses(ABC):
    """Base class of objects whose items have classes."""

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The classes."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes in the order of their numbers; default: no and yes."""
        return self.vocabulary.names

    @property
    def of_classes(self) -> bool:
        """Whether there are classes other than yes and no."""
        return not self.vocabulary.is_yes_or_no
