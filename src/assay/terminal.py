"""A campaign as people read it in a terminal: rich renderables, for whoever has a console.

What comes out of data (ids, texts, names) goes through `printable` first: a terminal obeys escape
sequences wherever they stand, and an item may have been written to exploit that.
"""

import unicodedata
from collections.abc import Sequence
from math import floor

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.design import Goal
from assay.results import Estimate, StratumRow

__all__ = [
    "estimate_view",
    "facts",
    "half_width_bar",
    "interval_bar",
    "interval_text",
    "metric_name",
    "new_table",
    "note_lines",
    "printable",
    "progress_text",
    "shortened",
    "sizes_table",
    "strata_table",
    "value_text",
]

_BAR_CELLS = 40
_STRATA_AT_MOST, _STRATA_SHOWN = 40, 30  # with more, only the largest are shown
_LAYOUT = "\n\t"
_JOINERS = "\u200c\u200d"  # Indic scripts, Persian and emoji need them
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # categories that draw nothing, or move what does


def printable(text: object) -> str:
    r"""Return the text with everything made visible that a terminal would obey.

    Escape sequences, other control characters and those that change the direction of writing are
    written out; line ends and tabs stay.

    Examples
    --------
    >>> print(printable("red: \x1b[31m, backwards: \u202e"))
    red: \x1b[31m, backwards: \u202e
    """
    return "".join(
        repr(sign)[1:-1]
        if unicodedata.category(sign) in _INVISIBLE and sign not in _LAYOUT + _JOINERS
        else sign
        for sign in str(text)
    )


def metric_name(metric: str) -> str:
    """Return a metric's name as it is read: ``false omission rate``.

    Where it names a classifier, it stays as it is to be typed.
    """
    return metric if ":" in metric else metric.replace("_", " ")


def value_text(estimate: Estimate) -> str:
    """Return the estimate in three digits, a difference with its sign.

    Examples
    --------
    >>> same = dict(confidence=0.95, standard_error=None, labels=9, cannot_judge=0, worst_case=None,
    ...             interval="", anytime=True, stopped=None)
    >>> value_text(Estimate("f1:new - f1:old", 0.02, -0.01, 0.05, **same))
    '+0.020'
    """
    if estimate.value is None:
        return "not known yet"
    return _digits(estimate.value, signed=_is_difference(estimate))


def interval_text(estimate: Estimate) -> Text:
    """Return the interval in three digits, a difference's with signs."""
    signed = _is_difference(estimate)
    return Text(
        f"[{_digits(estimate.low, signed=signed)}, {_digits(estimate.high, signed=signed)}]"
    )


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
    table = new_table("stratum", "items", "share of items")
    total = sum(row.size for row in rows)
    for row in shortened(rows):
        table.add_row(Text(printable(row.stratum)), f"{row.size:,}", f"{row.size / total:.1%}")
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
    start, span = _stretch(low, high)

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
    headline = Text.assemble(
        f"{metric_name(estimate.metric)}  ",
        (value_text(estimate), "bold green" if over else "bold yellow"),
        "  ",
        interval_text(estimate),
        (f"  at {100 * estimate.confidence:.4g}% confidence", "dim"),
    )
    rows: list[tuple[str, RenderableType]] = [("labels", f"{estimate.labels:,}")]
    if goal is not None:
        progress = Text(progress_text(estimate, goal), "green" if over else "yellow")
        rows.append(("done" if over else "not done", progress))
    rows.append(("interval", estimate.interval))
    if estimate.worst_case is not None:
        low, high = estimate.worst_case
        told = f"{estimate.cannot_judge:,}: between {low:.3f} and {high:.3f} whatever they are"
        rows.insert(1, ("cannot judge", told))
    bar = interval_bar(estimate.low, estimate.high, estimate.value)
    return Group(headline, bar, Text(), facts(rows))


def note_lines(notes: Sequence[str]) -> RenderableType:
    """Return the notes, one paragraph each."""
    return Group(*(Text.assemble(("note: ", "yellow"), printable(note)) for note in notes))


def _is_difference(estimate: Estimate) -> bool:
    return " - " in estimate.metric


def _digits(value: float, *, signed: bool) -> str:
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def shortened(rows: Sequence[StratumRow]) -> list[StratumRow]:
    """Return the rows, or of very many the largest and one for all others."""
    if len(rows) <= _STRATA_AT_MOST:
        return list(rows)
    order = sorted(range(len(rows)), key=lambda place: -rows[place].size)
    shown, others = sorted(order[:_STRATA_SHOWN]), [rows[place] for place in order[_STRATA_SHOWN:]]
    rest = StratumRow(
        f"{len(others):,} smaller strata",
        sum(row.size for row in others),
        sum(row.labels for row in others),
        sum(row.positives for row in others),
        sum(row.cannot_judge for row in others),
    )
    return [*(rows[place] for place in shown), rest]


def _stretch(low: float, high: float) -> tuple[float, float]:
    for span in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        half = span / 2
        start = min(floor(low / half) * half, 1.0 - span)
        if high <= start + span:
            return round(start, 3), span
    return -1.0, 2.0
