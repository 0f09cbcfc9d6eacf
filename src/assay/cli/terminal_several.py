"""Several metrics of a campaign as people read them in a terminal."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.render import facts, interval_text, new_table
from assay.core.goal import JointGoal
from assay.results.estimates import Estimate
from assay.results.text import difference_words, goal_words, metric_name, state_text, value_text


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
    good = over and all(state_text(each)[0] != "unjudged" for each in estimates.values())
    rows: list[tuple[str, RenderableType]] = [
        *(("difference", told) for each in estimates.values() if (told := difference_words(each))),
        ("answers", f"{answers:,}"),
        ("done" if over else "not done", Text(_progress(estimates), "green" if good else "yellow")),
        ("goal", goal_words(goal)),
        ("interval", any_one.interval),
    ]
    if waiting := max(each.open for each in estimates.values()):
        rows.insert(-2, ("open", f"up to {waiting:,} wait for an answer, and may be of any kind"))
    blocks: list[RenderableType] = [_table(estimates), Text(), facts(rows)]
    if any(each.worst_case is not None for each in estimates.values()):
        blocks += [Text(), _unjudged_table(estimates)]
    return Group(*blocks)


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


def _progress(estimates: Mapping[str, Estimate]) -> str:
    every = list(estimates.values())
    with_goal = [each for each in every if each.within is not None]
    near = sum(state_text(each)[1] == "green" for each in with_goal)
    parts = [f"{near} of {len(with_goal)} metrics are within their goals"] if with_goal else []
    if every[0].stopped is not None:
        parts.append(every[0].stopped)
    return "; ".join(parts) or "the budget is not spent"
