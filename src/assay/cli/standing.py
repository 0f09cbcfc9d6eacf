"""Estimates of a campaign and its goal, as blocks: what is known, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.results import (
    Block,
    Estimate,
    Estimates,
    Notice,
    Pairs,
    difference_words,
    goal_words,
    plain_words,
    state_text,
)

if TYPE_CHECKING:
    from assay.core.goal import Goal


def standing_of(
    estimates: Estimates, goal: Goal | None, *, answers: int | None = None
) -> tuple[Block, ...]:
    """Return estimates, however many: a sentence, the figures, what they rest on, what is missing.

    `answers` are the items that have an answer; without them the labels of the first estimate.
    """
    every = estimates.rows
    over = goal is None or every[0].stopped is not None
    good = over and all(state_text(each)[0] != "unjudged" for each in every)
    rows = [*_what_it_rests_on(estimates, answers)]
    if goal is not None:
        several = len(every) > 1
        progress = _progress_of_several(estimates) if several else progress_text(every[0], goal)
        rows.append(("done" if over else "not done", progress))
        rows += [("goal", goal_words(goal))] if several else []
    rows.append(("interval", every[0].interval))
    said = Notice("good" if good else "warn", plain_words(estimates))
    return (said, *estimates.figures, Pairs(tuple(rows)))


def _what_it_rests_on(estimates: Estimates, answers: int | None) -> Iterator[tuple[str, str]]:
    every = estimates.rows
    first, several = every[0], len(every) > 1
    for each in every:
        if told := difference_words(each):
            yield "difference", told
        if each.bound_words:
            yield "decided by", each.bound_words.partition(": ")[2]
    yield "answers" if several else "labels", f"{first.labels if answers is None else answers:,}"
    if waiting := max(each.open for each in every):
        up_to = "up to " if several else ""
        yield "open", f"{up_to}{waiting:,} wait for an answer, and may be of any kind"
    if not several and first.worst_case is not None:
        yield "cannot judge", f"{first.cannot_judge:,}: {first.unjudged_words}"


def progress_text(estimate: Estimate, goal: Goal) -> str:
    """Say what is still missing, or why the campaign is over.

    >>> from assay.core.goal import Goal
    >>> from assay.results import Estimate
    >>> estimate = Estimate(
    ...     "precision", 0.9, 0.86, 0.93, 0.95, 0.018, 250, 0, None, "Wilson", False, None)
    >>> progress_text(estimate, Goal("precision", within=0.02, budget=500))
    'half-width 0.0350, goal 0.02; 250 of 500 answers'
    """
    parts = []
    if goal.within is not None:
        parts.append(f"half-width {estimate.half_width:.4f}, goal {goal.within:g}")
        if estimate.stopped is None and estimate.half_width <= goal.within:
            parts.append("within the goal, which the next round must confirm")
    if goal.at_least is not None and estimate.stopped is None:
        parts.append(f"cannot say yet whether it is at least {goal.at_least:g}")
    if goal.budget is not None:
        parts.append(f"{estimate.labels + estimate.cannot_judge:,} of {goal.budget:,} answers")
    if estimate.stopped is not None:
        parts.append(estimate.stopped)
    return "; ".join(parts)


def _progress_of_several(estimates: Estimates) -> str:
    with_goal = [each for each in estimates.rows if each.within is not None]
    near = sum(state_text(each)[1] == "good" for each in with_goal)
    parts = [f"{near} of {len(with_goal)} metrics are within their goals"] if with_goal else []
    stopped = estimates.rows[0].stopped
    return "; ".join([*parts, *([stopped] if stopped else [])]) or "the budget is not spent"
