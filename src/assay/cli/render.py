"""A campaign as people read it in a terminal: rich renderables, for whoever has a console.

What comes out of data (ids, texts, names) goes through `printable` first: a terminal obeys escape
sequences wherever they stand, and an item may have been written to exploit that.
"""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.core.goal import Goal
from assay.results.estimates import Estimate, StratumRow
from assay.results.html import stretch
from assay.results.text import (
    difference_words,
    ends_text,
    metric_name,
    printable,
    shortened,
    state_text,
    value_text,
)

_BAR_CELLS = 40


def interval_text(estimate: Estimate) -> Text:
    """Return the interval in three digits, a difference's with signs."""
    return Text("[{}, {}]".format(*ends_text(estimate)))


def new_table(*headings: str) -> Table:
    """Return an empty table in the house style: text to the left, then numbers to the right."""
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim", show_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", overflow="fold")
    return table


def facts(pairs: Sequence[tuple[str, RenderableType]]) -> Table:
    """Return names and values side by side, without a heading."""
    table = Table(box=None, padding=(0, 3, 0, 0), show_header=False, show_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(
            Text(printable(name)), Text(printable(value)) if isinstance(value, str) else value
        )
    return table


def sizes_table(rows: Sequence[StratumRow]) -> Table:
    """Return the strata before anything is labelled: their sizes."""
    weighted = any(row.weight is not None for row in rows)
    table = new_table("stratum", "items", "share of weight" if weighted else "share of items")
    total = sum(row.size for row in rows)
    for row in shortened(rows):
        share = row.size / total if row.weight is None else row.weight
        table.add_row(Text(printable(row.stratum)), f"{row.size:,}", f"{share:.1%}")
    return table


def strata_table(rows: Sequence[StratumRow]) -> Table:
    """Return the strata with their sizes, labels and the share of yes among these."""
    any_unjudged = any(row.cannot_judge for row in rows)
    table = new_table("stratum", "items", "labels", "share yes")
    if any_unjudged:
        table.add_column("cannot judge", justify="right", overflow="fold")
    for row in shortened(rows):
        share = f"{row.positives / row.labels:.3f}" if row.labels else "–"
        unjudged = [f"{row.cannot_judge:,}"] if any_unjudged else []
        table.add_row(
            Text(printable(row.stratum)), f"{row.size:,}", f"{row.labels:,}", share, *unjudged
        )
    return table


def interval_bar(low: float, high: float, value: float | None) -> Text:
    """Draw the interval on the narrowest round stretch of [0, 1], or of [-1, 1], that holds it.

    Examples
    --------
    >>> print(interval_bar(0.913, 0.948, 0.931))
    0.9 ├──────────━━━━━━━━━━━━━━●━━━━━━━━━━━━━──┤ 0.95
    """
    start, span = stretch(low, high)

    def cell(share: float) -> int:
        return round((share - start) / span * (_BAR_CELLS - 1))

    first, last = cell(low), cell(high)
    bar = Text.assemble(
        (f"{start:.4g} ├", "dim"),
        ("─" * first, "dim"),
        ("━" * (last - first + 1), "bold cyan"),
        ("─" * (_BAR_CELLS - 1 - last), "dim"),
        (f"┤ {start + span:.4g}", "dim"),
    )
    if value is None:
        return bar
    at = bar.plain.index("├") + 1 + cell(value)
    return Text.assemble(bar[:at], ("●", "bold green"), bar[at + 1 :])


def half_width_bar(half_width: float, within: float) -> Text:
    """Draw the half-width against its goal, on a scale that ends at five times the goal.

    Examples
    --------
    >>> print(half_width_bar(0.034, 0.02))
    ━━━━━━━│━━━━━━──────────────────────────  0.0340, goal 0.02
    """
    scale = 5 * within
    reached = round(min(half_width / scale, 1.0) * _BAR_CELLS)
    goal = round(within / scale * _BAR_CELLS)
    colour = "green" if half_width <= within else "yellow"
    bar = Text("━" * reached, f"bold {colour}") + Text("─" * (_BAR_CELLS - reached), "dim")
    marked = Text.assemble(bar[: goal - 1], ("│", "bold"), bar[goal:])
    return Text.assemble(marked, "  ", (f"{half_width:.4f}", colour), f", goal {within:g}")


def progress_text(estimate: Estimate, goal: Goal) -> str:
    """Say what is still missing, or why the campaign is over.

    Examples
    --------
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


def estimate_view(estimate: Estimate, goal: Goal | None) -> RenderableType:
    """Return the estimate with its interval drawn, what it rests on, and what a goal still takes.

    Without a goal it is final.
    """
    over = goal is None or estimate.stopped is not None
    good = over and state_text(estimate)[0] != "unjudged"
    headline = Text.assemble(
        f"{metric_name(estimate.metric)}  ",
        # The interval is as much the result as the value is.
        (
            f"{value_text(estimate)}  {interval_text(estimate)}",
            "bold green" if good else "bold yellow",
        ),
        (f"  at {100 * estimate.confidence:.4g}% confidence", "dim"),
    )
    rows: list[tuple[str, RenderableType]] = [("labels", f"{estimate.labels:,}")]
    if goal is not None:
        progress = Text(progress_text(estimate, goal), "green" if good else "yellow")
        rows.append(("done" if over else "not done", progress))
    rows.append(("interval", estimate.interval))
    if estimate.worst_case is not None:
        low, high = estimate.worst_case
        told = f"{estimate.cannot_judge:,}: between {low:.3f} and {high:.3f} whatever they are"
        rows.insert(1, ("cannot judge", told))
    if estimate.open:
        rows.insert(1, ("open", f"{estimate.open:,} wait for an answer, and may be of any kind"))
    if which := difference_words(estimate):
        rows.insert(0, ("difference", which))
    bar = interval_bar(estimate.low, estimate.high, estimate.value)
    return Group(headline, bar, Text(), facts(rows))


def note_lines(notes: Sequence[str]) -> RenderableType:
    """Return the notes, one paragraph each."""
    return Group(*(Text.assemble(("note: ", "yellow"), printable(note)) for note in notes))
