"""Several metrics of a campaign as people read them in a terminal."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.results import Estimate
from assay.targets import JointGoal
from assay.terminal import facts, interval_text, metric_name, new_table, value_text

__all__ = ["estimates_view", "goal_text", "notes_once", "state_text"]

_NAMES_AT_MOST = 3  # in front of a note that holds for several metrics, but not for all


def goal_text(goal: JointGoal) -> str:
    """Return what is wanted of all metrics, but for their half-widths.

    Examples
    --------
    >>> from assay.targets import Target
    >>> goal_text(JointGoal((Target("f1", "cnn"), Target("f1", "mve")), 500, simultaneous=True))
    '95% confidence that all are right at once, at most 500 answers'
    """
    sure = f"{100 * goal.confidence:.4g}% confidence"
    sure += " that all are right at once" if goal.simultaneous else " for each metric"
    return sure if goal.budget is None else f"{sure}, at most {goal.budget:,} answers"


def estimates_view(
    estimates: Mapping[str, Estimate], goal: JointGoal, *, answers: int
) -> RenderableType:
    """Return all estimates, what they rest on, and what the goal still takes.

    Parameters
    ----------
    estimates : mapping of str to Estimate
        As `Campaign.estimates` gives them.
    goal : JointGoal
    answers : int
        The items that were looked at, whichever metrics they count for.
    """
    any_one = next(iter(estimates.values()))
    over = any_one.stopped is not None
    rows: list[tuple[str, RenderableType]] = [
        ("answers", f"{answers:,}"),
        ("done" if over else "not done", Text(_progress(estimates), "green" if over else "yellow")),
        ("goal", goal_text(goal)),
        ("interval", any_one.interval),
    ]
    blocks: list[RenderableType] = [_table(estimates), Text(), facts(rows)]
    if any(each.worst_case is not None for each in estimates.values()):
        blocks += [Text(), _unjudged_table(estimates)]
    return Group(*blocks)


def notes_once(estimates: Mapping[str, Estimate]) -> list[str]:
    """Return the notes, each once, with the metrics in front that it is about unless it is all.

    Examples
    --------
    >>> def noted(metric, *notes):
    ...     return Estimate(metric, None, 0, 1, 0.95, None, 0, 0, None, "", True, None, notes)
    >>> for note in notes_once({"f1:a": noted("f1:a", "few", "odd"), "f1:b": noted("f1:b", "few")}):
    ...     print(note)
    few
    f1:a: odd
    """
    about: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        for note in estimate.notes:
            about.setdefault(note, []).append(name)
    return [
        note if len(names) == len(estimates) else f"{_listed(names)}: {note}"
        for note, names in about.items()
    ]


def _listed(names: list[str]) -> str:
    shown, more = names[:_NAMES_AT_MOST], len(names) - _NAMES_AT_MOST
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _table(estimates: Mapping[str, Estimate]) -> Table:
    table = new_table("metric", "estimate", "interval", "±", "goal", "labels", "state")
    table.padding = (0, 2, 0, 0)  # so that it fits 80 columns
    for column in table.columns[1:]:
        column.no_wrap = True  # what does not fit is broken in the metric's name
    for name, estimate in estimates.items():
        state, colour = state_text(estimate)
        table.add_row(
            metric_name(name),
            "–" if estimate.value is None else value_text(estimate),
            interval_text(estimate),
            f"{estimate.half_width:.4f}",
            "–" if estimate.within is None else f"{estimate.within:g}",
            f"{estimate.labels:,}",
            Text(state, colour),
        )
    return table


def _unjudged_table(estimates: Mapping[str, Estimate]) -> Table:
    table = new_table("metric", "cannot judge", "whatever they are, between", "and")
    for name, estimate in estimates.items():
        if estimate.worst_case is not None:
            low, high = estimate.worst_case
            unjudged = f"{estimate.cannot_judge:,}"
            table.add_row(metric_name(name), unjudged, f"{low:.3f}", f"{high:.3f}")
    return table


def state_text(estimate: Estimate) -> tuple[str, str]:
    """Return how a metric stands, and the colour to say it in."""
    over = estimate.stopped is not None
    if estimate.within is None:
        return ("done", "green") if over else ("not yet", "yellow")
    if estimate.half_width <= estimate.within:
        return "met" if over else "within", "green"
    return ("missed", "red") if over else ("not yet", "yellow")


def _progress(estimates: Mapping[str, Estimate]) -> str:
    every = list(estimates.values())
    with_goal = [each for each in every if each.within is not None]
    near = sum(state_text(each)[1] == "green" for each in with_goal)
    parts = [f"{near} of {len(with_goal)} metrics are within their goals"] if with_goal else []
    if every[0].stopped is not None:
        parts.append(every[0].stopped)
    return "; ".join(parts) or "the budget is not spent"
