"""Layout: what is computed of a row, however rows are counted.

Each classifier gives a score and a label. One alone is counted by both. Several, or one with slices
or second opinions, are counted by the mean rank of their scores and by their code: all labels and
the bits of the slices in one number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from numbers import Real
from typing import Any, TypeVar

from assay.core.cuts import rank
from assay.core.error_model import Model
from assay.core.groups import refuse_bad_names
from assay.core.profile import ScoreCells
from assay.core.strata import UNNAMED
from assay.core.targets import ALONE
from assay.core.types import Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError, did_you_mean
from assay.predictions.contract import several_fingerprint
from assay.predictions.roles import MOST_CODES, Classifiers, Roles, about, score_name
from assay.predictions.values import slice_columns

One = TypeVar("One")


@dataclass(frozen=True)
class Spread:
    """A column with the scores or the set of all classes, and the names of a column for each."""

    column: str
    classes: Vocabulary
    names: tuple[str, ...]
    of_scores: bool  # or else of sets
    classifier: str  # whose it is


@dataclass(frozen=True)
class Layout:
    """Classifiers by name, and the columns that they share.

    Where an item may have several classes, the judges are those of each class by each classifier.
    """

    judges: Mapping[str, Roles]
    id: str | None = None
    show: tuple[str, ...] = ()  # columns shown to reviewers
    # Groups of items with their own metrics: ``lang=de``, or ``lang`` for one per value.
    groups: tuple[str, ...] = ()
    weight: str | None = None
    aux: tuple[str, ...] = ()  # columns for a model of the outcome
    model: Model | None = None  # its log odds replace the score or the mean rank
    labels: Vocabulary | None = None  # classes of which an item may have several
    names: tuple[str, ...] = ()  # the classifiers that tell of each of these
    apart: tuple[Spread, ...] = ()  # their columns of all classes, to be split

    @property
    def first(self) -> Roles:
        """The first classifier, with the shared columns."""
        own = next(iter(self.judges.values()))
        return replace(own, id=self.id, weight=self.weight, aux=self.aux, model=self.model)

    @property
    def is_one(self) -> bool:
        """Whether it is one classifier without slices, whose fingerprint is that of its cells."""
        return len(self.judges) == 1 and not self.groups

    @property
    def is_coded(self) -> bool:
        """Whether rows are counted by mean rank and code."""
        return not self.is_one or (bool(self.aux) and tuple(self.judges) != UNNAMED)

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Names of the classifiers."""
        return self.names or tuple(self.judges)

    @property
    def vocabulary(self) -> Vocabulary:
        """The classes, the same for all classifiers."""
        return self.labels or self.first.classes or Vocabulary()

    @property
    def threshold(self) -> float | None:
        """Smallest score that is predicted yes, if strata are by the score of one classifier."""
        return None if self.is_coded or self.model is not None else self.first.limit

    @property
    def columns(self) -> list[str]:
        """Columns that are read of every row, each once; not those that are split from others."""
        split = {name for spread in self.apart for name in spread.names}
        own = [column for role in self.judges.values() for column in role.columns]
        shared = [*slice_columns(self.groups), *(spread.column for spread in self.apart)]
        every = dict.fromkeys([*self.first.columns, *own, *shared])
        return [name for name in every if name not in split]

    @property
    def scores(self) -> dict[str, int]:
        """Name of each score that a model may use, and the place of its classifier.

        >>> vote, cnn = Roles(None, "vote", None, None, None), Roles("p", None, None, 0.5, None)
        >>> Layout({"vote": vote, "cnn": cnn}, "id").scores
        {"cnn's score": 1}
        """
        return {
            score_name(name): place
            for place, (name, role) in enumerate(self.judges.items())
            if role.has_score or self.is_one
        }

    def n_codes(self, slices: Sequence[str]) -> int:
        """Count the possible codes, with the slices found."""
        return prod(role.n_classes for role in self.judges.values()) << len(slices)

    def refuse_many_codes(self, slices: Sequence[str], source: str) -> None:
        """Raise if there are more codes than fit into 64 bits beside a bin."""
        if self.n_codes(slices) > MOST_CODES:
            raise PredictionsError(
                f"{len(self.judges)} classifiers with {len(slices)} slices of {source} "
                "are more than a code holds",
                details=f"together they may be {MOST_CODES.bit_length() - 1}",
                hint="name fewer slices; predictions in memory may have more",
            )

    def fingerprint(self, each: Sequence[ScoreCells], joint: ScoreCells) -> str:
        """Fingerprint, from the cells of each classifier, and those of rank and code."""
        if self.is_one:
            return each[0].fingerprint()
        pairs = zip(self.judges.values(), each, strict=True)
        return several_fingerprint([cells for role, cells in pairs if role.has_score], joint)

    def alone(self, opened: Callable[[Roles, int], One]) -> dict[str, One]:
        """Open every classifier alone: without weights, and without second opinions."""
        each = {}
        for place, (name, role) in enumerate(self.judges.items()):
            with about(name):
                each[name] = opened(replace(role, id=self.id), place)
        return each


@dataclass(frozen=True, eq=False)
class Steps:
    """Ranks and codes of the cells of one of several classifiers.

    `rank` is the rank of a cell by the score, and `code` its contribution to the code.
    """

    cells: ScoreCells
    rank: Floats
    code: Ints

    @classmethod
    def of(cls, cells: ScoreCells, place: int) -> "Steps":
        """Build the steps of the classifier at a place.

        >>> import numpy as np
        >>> from assay.core.tally import cells_of
        >>> scores, predicted = np.array([0.9, 0.1, 0.9, 0.5]), np.array([True, False, True, True])
        >>> steps = Steps.of(cells_of(scores, predicted), 2)
        >>> steps.rank, steps.code
        (array([0.125, 0.375, 0.75 ]), array([0, 4, 4]))
        """
        ranks = rank(cells.low, cells.profile(None))
        return cls(cells, ranks, cells.predicted.astype("int64") * cells.classes**place)


# Columns of each classifier, from arguments.


_SHARED = ("id", "aux", "model", "classes", "of_class")  # not one classifier's
_OPTIONS = [field.name for field in fields(Roles) if field.name not in _SHARED]


def as_mappings(classifiers: Classifiers) -> dict[str, Any]:
    """Columns of each classifier by name: a pair is a score and a predicted label or threshold.

    Any other value is unchanged, for `roles_of` to reject.

    >>> as_mappings({"a": ("p", "topic"), "b": ("q", 0.5)})
    {'a': {'score': 'p', 'predicted': 'topic'}, 'b': {'score': 'q', 'threshold': 0.5}}
    """
    if not isinstance(classifiers, Mapping):
        raise PredictionsError(
            f"classifiers are of type {type(classifiers).__name__}",
            details="they are a mapping of names to what each has: "
            "classifiers={'cnn': {'score': 'p_cnn', 'threshold': 0.5}}",
        )
    columns: dict[str, Any] = dict(classifiers)
    for name, given in columns.items():
        if isinstance(given, tuple | list) and len(given) == 2:
            score, says_yes = given
            number = isinstance(says_yes, Real) and not isinstance(says_yes, bool)
            by = "threshold" if number else "predicted"
            columns[name] = {**({} if score is None else {"score": score}), by: says_yes}
    return columns


def alone(roles: Roles) -> dict[str, Roles]:
    """Roles of a single classifier, which needs no name for yes and no."""
    return {UNNAMED[0] if roles.classes is None else ALONE: roles}


def by_name(classifiers: Classifiers | None, own: Mapping[str, Any]) -> Classifiers:
    """Columns and options of each classifier; `own` are those of one without a name."""
    return {ALONE: own} if classifiers is None else classifiers


def with_top(classifiers: Classifiers, top: int) -> dict[str, Any]:
    """Classifiers, with `Roles.top` for those with probabilities of all classes.

    >>> with_top({"a": {"probabilities": "p_*"}, "b": {"predicted": "topic"}}, 2)
    {'a': {'top': 2, 'probabilities': 'p_*'}, 'b': {'predicted': 'topic'}}
    """
    each = as_mappings(classifiers)
    mappings = {name: one for name, one in each.items() if isinstance(one, Mapping)}
    ranked = {
        name: {"top": top, **one} for name, one in mappings.items() if one.get("probabilities")
    }
    return each | ranked


def roles_of(classifiers: Classifiers, classes: Vocabulary | None = None) -> dict[str, Roles]:
    """Roles of each classifier; raise if the arguments are invalid."""
    mappings = as_mappings(classifiers)
    refuse_bad_names(list(mappings))
    return {name: role_of(name, options, classes) for name, options in mappings.items()}


def role_of(name: str, options: object, classes: Vocabulary | None = None) -> Roles:
    """Roles of one classifier; raise if the options are invalid."""
    with about(name):
        if not isinstance(options, Mapping):
            raise PredictionsError(
                f"{options!r} is of type {type(options).__name__}",
                details=f"it must be a mapping of some of {', '.join(_OPTIONS)}; or "
                "a pair: the columns of score and predicted label, or a score and a threshold",
            )
        for option in options:
            if option not in _OPTIONS:
                raise PredictionsError(
                    f"unknown option {option!r}",
                    details=f"options: {', '.join(_OPTIONS)}",
                    hint=did_you_mean(str(option), _OPTIONS),
                )
        given: dict[str, Any] = {**dict.fromkeys(_OPTIONS), **options}
        return Roles(id=None, classes=classes, **given)
