"""When to stop, and why."""

from enum import IntEnum

import numpy as np

from assay.core.types import Floats, Ints

__all__ = ["Reason", "count_streak", "reasons"]


class Reason(IntEnum):
    """Why an evaluation stopped; 0 while it goes on."""

    GO_ON = 0
    GOAL_MET = 1
    BUDGET_SPENT = 2
    EXHAUSTED = 3

    @property
    def text(self) -> str:
        """Return the reason in words."""
        return {
            Reason.GO_ON: "more labels are needed",
            Reason.GOAL_MET: "the goal is met",
            Reason.BUDGET_SPENT: "the budget is spent",
            Reason.EXHAUSTED: "every item has been looked at",
        }[self]


def count_streak(streak: Ints, half_width: Floats, within: float | None) -> Ints:
    """Return how many rounds in a row the half-width has been within the target (paper 1's t).

    Examples
    --------
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

    Parameters
    ----------
    streak, rounds_in_a_row
        The goal is met after T rounds in a row within the target (paper 1: T = 2).
    answers, budget
        The budget is spent (paper 2) when so many items have been looked at.
    room : array, shape (..., H)
        Items that have not been looked at; without any, the population is exhausted.
    """
    result = np.full(np.shape(streak), Reason.GO_ON, dtype=np.int64)
    if budget is not None:
        result = np.where(answers >= budget, Reason.BUDGET_SPENT, result)
    result = np.where((room <= 0).all(axis=-1), Reason.EXHAUSTED, result)
    return np.where(streak >= rounds_in_a_row, Reason.GOAL_MET, result)
