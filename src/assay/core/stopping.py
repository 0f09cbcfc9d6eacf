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

    def told(self, at_least: float | None = None) -> str:
        """Return the reason in words; `at_least` is what was asked about, if anything was.

        >>> Reason.BELOW.told(0.95), Reason.BUDGET_SPENT.told(0.95)
        ('no: below 0.95', 'the budget is spent: cannot say yet whether it is at least 0.95')
        """
        words = {
            Reason.GO_ON: "more labels are needed",
            Reason.GOAL_MET: "the goal is met",
            Reason.BUDGET_SPENT: "the budget is spent",
            Reason.EXHAUSTED: "every item has been looked at",
            Reason.AT_LEAST: f"yes: at least {at_least}",
            Reason.BELOW: f"no: below {at_least}",
            Reason.UNJUDGED: "more labels do not help: too much could not be judged",
            Reason.SAMPLED: "the samples are complete, and wider intervals than asked for remain",
        }[self]
        if at_least is None or self.verdict is not None:
            return words
        return f"{words}: cannot say yet whether it is at least {at_least}"

    @property
    def verdict(self) -> bool | None:
        """The answer to "is it at least so much?"; None where there is none."""
        return {Reason.AT_LEAST: True, Reason.BELOW: False}.get(self)


# As plain numbers: to look a reason up by its name takes as long as to compare an array with it.
_GO_ON, _GOAL_MET = int(Reason.GO_ON), int(Reason.GOAL_MET)
_BUDGET_SPENT, _EXHAUSTED = int(Reason.BUDGET_SPENT), int(Reason.EXHAUSTED)


def count_streak(streak: Ints, half_width: Floats, within: float | None) -> Ints:
    """Return how many rounds in a row the half-width has been within the target (paper 1's t).

    >>> count_streak(np.array([0, 1, 1]), np.array([0.02, 0.01, 0.03]), within=0.02)
    array([1, 2, 0])
    """
    if within is None:
        return np.zeros_like(streak)
    return np.where(half_width <= within, streak + 1, 0)


def reasons(
    streak: Ints, *, rounds_in_a_row: int, answers: Floats, budget: int | None, room: Floats
) -> Ints:
    """Return the `Reason` of every evaluation, of shape (...).

    `room`, (..., H): items that have not been looked at; without any, the population is exhausted.
    """
    result = np.zeros(np.shape(streak), dtype=np.int64) + _GO_ON
    if budget is not None:
        result = np.where(answers >= budget, _BUDGET_SPENT, result)
    result = np.where((room <= 0).all(axis=-1), _EXHAUSTED, result)
    return np.where(streak >= rounds_in_a_row, _GOAL_MET, result)


def settle(reason: Ints, verdict: Ints) -> Ints:
    """Return the reasons of evaluations that ask "at least?", where a verdict ends them.

    `reason`, (...): as `reasons` gave them; `verdict`, (...): 1 yes, -1 no, 0 not known yet.

    >>> settle(np.array([0, 0, 2, 2]), np.array([1, 0, 0, -1]))
    array([4, 0, 2, 5])
    """
    known = np.where(verdict > 0, Reason.AT_LEAST, Reason.BELOW)
    return np.where(verdict != 0, known, reason)


def hold_back(
    reason: Ints, *, could_move: Floats, within: float | None, unsettled: Bools | None = None
) -> Ints:
    """Return the reasons with no goal met that unjudged items alone could undo.

    `reason`, (...): as `reasons` and `settle` gave them; `could_move`, (...): how far the unjudged
    items alone could move the estimate; `unsettled`, (...): where the items that can be judged
    would settle a verdict, and unjudged ones could turn it.

    Such an evaluation ends, as more labels would not make the unjudged items fewer.

    >>> hold_back(np.array([0, 1, 1]), could_move=np.array([0.9, 0.01, 0.03]), within=0.02)
    array([0, 1, 6])
    """
    if within is not None:
        undone = (reason == Reason.GOAL_MET) & (could_move > within)
        reason = np.where(undone, Reason.UNJUDGED, reason)
    return reason if unsettled is None else np.where(unsettled, Reason.UNJUDGED, reason)
