"""Stopping: when an evaluation ends, and why."""

from enum import IntEnum

import numpy as np

from assay.core.types import Bools, Floats, Ints


class Reason(IntEnum):
    """Why an evaluation stopped; 0 while it goes on."""

    GO_ON = 0
    GOAL_MET = 1
    BUDGET_SPENT = 2
    EXHAUSTED = 3
    AT_LEAST = 4
    BELOW = 5
    UNJUDGED = 6
    SAMPLED = 7

    def in_words(self, at_least: float | None = None) -> str:
        """Reason in words; `at_least` is the limit of the question, if any.

        >>> Reason.BELOW.in_words(0.95), Reason.BUDGET_SPENT.in_words(0.95)
        ('no: below 0.95', 'the budget is used up; whether it is at least 0.95 is undecided')
        """
        words = {
            Reason.GO_ON: "more labels are needed",
            Reason.GOAL_MET: "measured to the requested width",
            Reason.BUDGET_SPENT: "the budget is used up",
            Reason.EXHAUSTED: "every item has been reviewed",
            Reason.AT_LEAST: f"yes: at least {at_least}",
            Reason.BELOW: f"no: below {at_least}",
            Reason.UNJUDGED: "more labels would not help: too many items could not be judged",
            Reason.SAMPLED: "the samples are complete, but the intervals are wider than requested",
        }[self]
        if at_least is None or self.verdict is not None:
            return words
        return f"{words}; whether it is at least {at_least} is undecided"

    @property
    def verdict(self) -> bool | None:
        """The answer to "is it at least this?"; None without a verdict."""
        return {Reason.AT_LEAST: True, Reason.BELOW: False}.get(self)


# As plain numbers: a lookup by name takes as long as comparing an array.
_GO_ON, _GOAL_MET = int(Reason.GO_ON), int(Reason.GOAL_MET)
_BUDGET_SPENT, _EXHAUSTED = int(Reason.BUDGET_SPENT), int(Reason.EXHAUSTED)


def count_streak(streak: Ints, half_width: Floats, within: float | None) -> Ints:
    """Count the consecutive rounds with the half-width within the target (paper 1's t).

    >>> count_streak(np.array([0, 1, 1]), np.array([0.02, 0.01, 0.03]), within=0.02)
    array([1, 2, 0])
    """
    if within is None:
        return np.zeros_like(streak)
    return np.where(half_width <= within, streak + 1, 0)


def reasons(
    streak: Ints, *, rounds_in_a_row: int, answers: Floats, budget: int | None, room: Floats
) -> Ints:
    """`Reason` of every evaluation, shape (...).

    `room`, (..., H): items that have not been looked at; without any, the population is exhausted.
    """
    result = np.zeros(np.shape(streak), dtype=np.int64) + _GO_ON
    if budget is not None:
        result = np.where(answers >= budget, _BUDGET_SPENT, result)
    result = np.where((room <= 0).all(axis=-1), _EXHAUSTED, result)
    return np.where(streak >= rounds_in_a_row, _GOAL_MET, result)


def settle(reason: Ints, verdict: Ints) -> Ints:
    """Reasons of evaluations that ask "at least?", ended by a verdict.

    `reason`, (...): as from `reasons`; `verdict`, (...): 1 yes, -1 no, 0 not known yet.

    >>> settle(np.array([0, 0, 2, 2]), np.array([1, 0, 0, -1]))
    array([4, 0, 2, 5])
    """
    known = np.where(verdict > 0, Reason.AT_LEAST, Reason.BELOW)
    return np.where(verdict != 0, known, reason)


def hold_back(
    reason: Ints, *, could_move: Floats, within: float | None, unsettled: Bools | None = None
) -> Ints:
    """Reasons, without met goals that unjudged items alone could undo.

    `reason`, (...): as from `reasons` and `settle`; `could_move`, (...): how far the unjudged items
    alone could move the estimate; `unsettled`, (...): where the items that can be judged would
    settle a verdict, and unjudged ones could turn it.

    Such an evaluation ends, as more labels would not reduce the unjudged items.

    >>> hold_back(np.array([0, 1, 1]), could_move=np.array([0.9, 0.01, 0.03]), within=0.02)
    array([0, 1, 6])
    """
    if within is not None:
        undone = (reason == Reason.GOAL_MET) & (could_move > within)
        reason = np.where(undone, Reason.UNJUDGED, reason)
    return reason if unsettled is None else np.where(unsettled, Reason.UNJUDGED, reason)
