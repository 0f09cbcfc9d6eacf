"""SQL of several classifiers' judgements, for DuckDB and Spark: the mean rank, the code, the word.

Each classifier is counted by itself first. Its cells tell the rank of every score, and a small
table has for each cell the rank and what the classifier adds to the code. A row finds its cell in
the table of every classifier by a key; the mean rank is made of the same numbers in the same order
as in memory, and hence the same to the last bit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol, TypeVar

from assay.core.cuts import rank
from assay.core.profile import ScoreCells
from assay.core.strata import UNNAMED
from assay.core.types import Floats, Ints
from assay.errors import PredictionsError
from assay.predictions.contract import several_fingerprint
from assay.predictions.doubts import Doubt
from assay.predictions.judgements import NO_SCORE, about
from assay.predictions.roles import Roles, score_name
from assay.predictions.sql.rows import double_sql

RANK, CODE = "assay_rank", "assay_code"
"""The columns with the mean rank and the code of a row."""

_MOST_CODES = 2**40  # with the bins of a rank they are numbers of 64 bits

One = TypeVar("One")


@dataclass(frozen=True, eq=False)
class Steps:
    """What each cell of one of several classifiers tells of an item.

    `rank` is its rank by the score, and `code` what the classifier adds to its code.
    """

    cells: ScoreCells
    rank: Floats
    code: Ints

    @classmethod
    def of(cls, cells: ScoreCells, place: int) -> "Steps":
        """Return those of the classifier at a place.

        >>> import numpy as np
        >>> from assay.core.profile import cells_of
        >>> scores, said = np.array([0.9, 0.1, 0.9, 0.5]), np.array([True, False, True, True])
        >>> steps = Steps.of(cells_of(scores, said), 2)
        >>> steps.rank, steps.code
        (array([0.125, 0.375, 0.75 ]), array([0, 4, 4]))
        """
        ranks = rank(cells.low, cells.profile(None))
        return cls(cells, ranks, cells.said.astype("int64") * cells.classes**place)


class Judged(Protocol):
    """One of several classifiers, which an engine can count."""

    def judged(self) -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """Return the counts of all items by score, and what looks odd."""


def steps_of(each: Mapping[str, Judged]) -> tuple[list[Steps], tuple[Doubt, ...]]:
    """Count every classifier, and return what its cells tell, and what looks odd."""
    doubts: list[Doubt] = []
    steps: list[Steps] = []
    for place, (name, one) in enumerate(each.items()):
        with about(name):
            cells, found = one.judged()
        steps.append(Steps.of(cells, place))
        doubts += [doubt.about(name) for doubt in found]
    return steps, tuple(doubts)


def counts_codes(roles: Mapping[str, Roles], slices: Sequence[str]) -> bool:
    """Tell whether codes are counted, and not the scores of the only classifier.

    They are of one with second opinions, too, if it has a name: what takes the place of its score
    is then a rank, as of several.
    """
    (name, role), *further = roles.items()
    return bool(further or slices or (role.aux and name not in UNNAMED))


@dataclass(frozen=True)
class Several:
    """Classifiers whose codes an engine counts, and the slices that codes tell of, too.

    Raises PredictionsError: if there are more codes than numbers of 64 bits have room for beside a
    bin.
    """

    roles: Mapping[str, Roles]  # which columns are each classifier's
    slices: tuple[str, ...]  # the names of the slices
    source: str  # where the rows come from, for people

    def __post_init__(self) -> None:
        """Refuse more codes than are counted."""
        if self.n_codes > _MOST_CODES:
            raise PredictionsError(
                f"{len(self.roles)} classifiers with {len(self.slices)} slices of {self.source} "
                "are more than a code holds",
                details=f"together they may be {_MOST_CODES.bit_length() - 1}",
                hint="name fewer slices; predictions in memory may have more",
            )

    @property
    def n_codes(self) -> int:
        """How many codes there may be."""
        return prod(role.n_classes for role in self.roles.values()) << len(self.slices)

    @property
    def is_one(self) -> bool:
        """Whether it is a single classifier, whose fingerprint is that of its own cells."""
        return len(self.roles) == 1 and not self.slices

    @property
    def scores(self) -> dict[str, int]:
        """Of each score that a model may take its name, and the place of the classifier.

        >>> vote, cnn = Roles(None, "vote", "id", None, None), Roles("p", None, "id", 0.5, None)
        >>> Several({"vote": vote, "cnn": cnn}, (), "a table").scores
        {"cnn's score": 1}
        """
        return {
            score_name(name): place
            for place, (name, role) in enumerate(self.roles.items())
            if role.has_score or self.is_one
        }

    def fingerprint(self, steps: Sequence[Steps], cells: ScoreCells) -> str:
        """Return the fingerprint; of a single classifier that of its own cells.

        `steps`: of each classifier what its cells tell.
        """
        if self.is_one:
            return steps[0].cells.fingerprint()
        pairs = zip(self.roles.values(), steps, strict=True)
        return several_fingerprint([step.cells for role, step in pairs if role.has_score], cells)

    def alone(self, opened: Callable[[Roles], One]) -> dict[str, One]:
        """Open every classifier by itself: without weights, and without second opinions."""
        each = {}
        for name, role in self.roles.items():
            with about(name):
                each[name] = opened(replace(role, weight=None, aux=(), model=None))
        return each


def mean_sql(ranks: Sequence[str]) -> str:
    """Return the mean rank of a row, from that by each classifier that has a score.

    >>> mean_sql(["a.rank", "b.rank"]), mean_sql([])
    ('(a.rank + b.rank) / 2e0', '5.0000000000000000e-01')
    """
    return f"({' + '.join(ranks)}) / {len(ranks)}e0" if ranks else double_sql(NO_SCORE)
