"""Doubts about scores: of another class than the positive one, or on another scale.

Such predictions can be read. They give useless strata or, if a threshold applies to them, other
predicted labels than the classifier's. The doubts follow from the counts of the first pass; rows
are read again only to be named in an error.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from assay.core.bins import scale_of
from assay.core.profile import ScoreCells
from assay.core.targets import name_of
from assay.errors import PredictionsError
from assay.predictions.roles import PERCENT, Roles


@dataclass(frozen=True)
class Doubt:
    """A problem with the scores of a classifier."""

    problem: str
    details: str
    hint: str
    fatal: bool = False  # whether a campaign needs the user to specify the scores first

    @property
    def finding(self) -> str:
        """The problem, with the figures."""
        return f"{self.problem}: {self.details}"

    @property
    def warning(self) -> str:
        """The problem, and what to do about it."""
        return f"{self.finding}; {self.hint}"

    def about(self, classifier: str) -> "Doubt":
        """Copy of the doubt with the name of the classifier, if it has one."""
        if not name_of(classifier):
            return self
        return replace(self, problem=f"classifier {classifier!r}: {self.problem}")

    def refuse(self) -> None:
        """Raise if the doubt is fatal."""
        if self.fatal:
            raise PredictionsError(self.problem, details=self.details, hint=self.hint)


Outside = Callable[[float, float], tuple[int, str]]
"""From a range to the number of scores outside it, and a text about the first of them."""

_ENOUGH = 20  # items of each predicted label; with fewer, their order means little
_ORDERED = 0.75  # of pairs of a yes and a no, in which the yes has the higher score
_HALF = 0.5  # the class that is predicted of two has at least this
_OUTLIERS = 0.01  # a larger share of scores outside of 0 to 1 is no slip
_MANY = 100  # scores inside, for one outside to be a slip
_HIGH_PERCENT = 50.0  # scores that run from 0 to between this and 100 look like percentages


def doubts_of(cells: ScoreCells, roles: Roles, source: str, outside: Outside) -> tuple[Doubt, ...]:
    """Problems with the scores.

    >>> from assay.core.tally import cells_of
    >>> roles = Roles("p", "topic", None, None, None)
    >>> predicted = np.arange(100) < 30
    >>> cells = cells_of(np.where(predicted, 0.7, 0.9), predicted)
    >>> [doubt] = doubts_of(cells, roles, "a.csv", lambda low, high: (0, ""))
    >>> doubt.problem
    'scores of a.csv are higher where the prediction is no than where it is yes'
    """
    low, high = cells.score_range
    if roles.score is None or low == high or roles.model is not None:
        return ()  # the log odds of a model are not the given scores
    doubts = [_off_scale(cells, roles, source, outside)]
    if roles.classes is None:  # the scores of predicted classes have no order among these
        doubts.append(_out_of_order(cells, roles, source))
    return tuple(doubt for doubt in doubts if doubt is not None)


def _off_scale(cells: ScoreCells, roles: Roles, source: str, outside: Outside) -> Doubt | None:
    low, high = cells.score_range
    if roles.scale == "margin" or scale_of(low, high) == "probability":
        return None
    if roles.scale is not None or roles.turns:
        return _outside_of_scale(cells, roles, source, outside)
    inside = int(cells.count[(cells.low >= 0.0) & (cells.high <= 1.0)].sum())
    if cells.size - inside <= _OUTLIERS * cells.size and inside >= _MANY:
        number, rows = outside(0.0, 1.0)
        return Doubt(
            f"{number:,} of {cells.size:,} scores in column {roles.score!r} of {source} "
            f"{'is' if number == 1 else 'are'} outside of 0 to 1",
            f"all others lie inside, as probabilities do; {rows}",
            "fix or drop these rows; if the scores are not probabilities, pass scale='margin'",
            fatal=True,
        )
    return _percentages(cells, roles, source)


def _outside_of_scale(
    cells: ScoreCells, roles: Roles, source: str, outside: Outside
) -> Doubt | None:
    number, rows = outside(0.0, 1.0)
    if roles.scale is None:
        hint = f"pass their scale, too: scale='margin', with score_of={roles.score_of!r}"
    else:
        hint = "fix or drop these rows, or pass another scale: scale='margin' takes any number"
    what, most = ("percentages", "100") if roles.scale == "percent" else ("probabilities", "1")
    return Doubt(
        f"{number:,} of {cells.size:,} scores in column {roles.score!r} of {source} are no {what}",
        f"they must lie between 0 and {most}; {rows}",
        hint,
        fatal=True,
    )


def _percentages(cells: ScoreCells, roles: Roles, source: str) -> Doubt | None:
    """Doubt whether scores are percentages while the threshold is not."""
    low, high = cells.score_range
    if low < 0.0 or not _HIGH_PERCENT <= high <= PERCENT:
        return None
    threshold = roles.threshold
    if threshold is None:
        return Doubt(
            f"scores of {source} look like percentages",
            f"they run from {low:g} to {high:g}, and are taken for margins",
            "if they are percentages, pass scale='percent'; if not, scale='margin'",
        )
    if not 0.0 < threshold < 1.0:
        return None  # any threshold among the scores is valid
    return Doubt(
        f"threshold={threshold!r} is given for scores of {source} that run from {low:g} to "
        f"{high:g}",
        f"{cells.positives:,} of {cells.size:,} items would be predicted yes; the scores look like "
        "percentages",
        f"if they are, pass scale='percent' with threshold={PERCENT * threshold:g}; if not, "
        "scale='margin'",
        fatal=True,
    )


def _out_of_order(cells: ScoreCells, roles: Roles, source: str) -> Doubt | None:
    """Doubt whether scores are those of the positive class."""
    yes, no = cells.positives, cells.size - cells.positives
    if min(yes, no) < _ENOUGH:
        return None
    pairs = ordered_pairs(cells)
    if pairs >= _ORDERED:
        return None
    how = "higher" if pairs < 1 - _ORDERED else "as high"
    than = "than where it is yes" if how == "higher" else "as where it is yes"
    return Doubt(
        f"scores of {source} are {how} where the prediction is no {than}",
        f"median {_median(cells, yes=False):.3g} of {no:,} items predicted no, "
        f"{_median(cells, yes=True):.3g} of {yes:,} predicted yes; of a yes and a no, the yes has "
        f"the higher score in {pairs:.0%} of pairs",
        _whose(cells, roles, pairs),
    )


def _whose(cells: ScoreCells, roles: Roles, pairs: float) -> str:
    """Hint about scores that may be another class's."""
    if roles.turns:
        return f"is score_of={roles.score_of!r} right? Without it scores are taken as they stand"
    probable = scale_of(*cells.score_range) == "probability"
    more = "" if probable else ", scale='margin'"
    predicted = f"if they are those of the predicted class, pass score_of='predicted'{more}"
    negative = f"if they are those of the negative class, score_of='negative'{more}"
    # The predicted class of two has a probability of at least a half, and a margin above 0.
    flipped = cells.score_range[0] < (_HALF if probable else 0.0) and pairs < 1 - _ORDERED
    if flipped:
        return f"{negative.replace(', score_of', ', pass score_of', 1)}; {predicted}"
    return f"{predicted}; {negative}"


def ordered_pairs(cells: ScoreCells) -> float:
    """Share of pairs of a yes and a no in which the yes has the higher score.

    Pairs with scores in one bin count half. It is the area under the ROC curve of the score for the
    predicted label.

    >>> from assay.core.tally import cells_of
    >>> predicted = np.array([True, True, False, False])
    >>> ordered_pairs(cells_of(np.array([0.9, 0.3, 0.3, 0.1]), predicted))
    0.875
    """
    bins, place = np.unique(cells.bin, return_inverse=True)
    counts = np.zeros((2, bins.size))
    np.add.at(counts, (cells.yes.astype(np.int64), place), cells.count)
    no, yes = counts
    below = np.cumsum(no) - no
    return float((yes * (below + no / 2)).sum() / (yes.sum() * no.sum()))


def _median(cells: ScoreCells, *, yes: bool) -> float:
    side = cells.yes == yes
    passed = np.cumsum(cells.count[side])
    at = np.searchsorted(passed, passed[-1] / 2)
    return float(cells.low[side][at] / 2 + cells.high[side][at] / 2)
