"""SQL of several classifiers' judgements, for DuckDB and Spark: the mean rank, the code, the word.

Each classifier is counted by itself first. Its cells tell the rank of every score, and a small
table has for each cell the rank and what the classifier adds to the code. A row finds its cell in
the table of every classifier by a key; the mean rank is made of the same numbers in the same order
as in memory, and hence the same to the last bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.core.cuts import rank
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.predictions.doubts import Doubt
from assay.predictions.judgements import NO_SCORE, about
from assay.predictions.roles import Roles
from assay.predictions.sql.rows import double_sql

RANK, CODE = "assay_rank", "assay_code"
"""The columns with the mean rank and the code of a row."""


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

        Examples
        --------
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


def n_codes(roles: Sequence[Roles]) -> int:
    """Return how many codes there may be."""
    number = 1
    for role in roles:
        number *= role.n_classes
    return number


def mean_sql(ranks: Sequence[str]) -> str:
    """Return the mean rank of a row, from that by each classifier that has a score.

    Examples
    --------
    >>> mean_sql(["a.rank", "b.rank"]), mean_sql([])
    ('(a.rank + b.rank) / 2e0', '5.0000000000000000e-01')
    """
    return f"({' + '.join(ranks)}) / {len(ranks)}e0" if ranks else double_sql(NO_SCORE)
