"""A campaign as people read it in a terminal: rich renderables, for whoever has a console.

What comes out of data (ids, texts, names) goes through `printable` first: a terminal obeys escape
sequences wherever they stand, and an item may have been written to exploit that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.words import in_options
from assay.results import (
    difference_words,
    ends_text,
    goal_words,
    metric_name,
    plain_words,
    printable,
    shortened,
    state_text,
    stretch,
    value_text,
)

if TYPE_CHECKING:
    from assay.core.goal import Goal
    from assay.labelling import Settings
    from assay.results import (
        ClassTable,
        ConfusionMatrix,
        Estimate,
        Slices,
        StratumRow,
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


def strata_table(rows: Sequence[StratumRow], counted: str = "yes") -> Table:
    """Return the strata with their sizes, labels and the share of what is counted among these."""
    any_unjudged = any(row.cannot_judge for row in rows)
    table = new_table("stratum", "items", "labels", f"share {counted}")
    if any_unjudged:
        table.add_column("cannot judge", justify="right", overflow="fold")
    for row in shortened(rows):
        share = "–" if row.rate is None else f"{row.rate:.3f}"
        unjudged = [f"{row.cannot_judge:,}"] if any_unjudged else []
        table.add_row(
            Text(printable(row.stratum)), f"{row.size:,}", f"{row.labels:,}", share, *unjudged
        )
    return table


def interval_bar(low: float, high: float, value: float | None) -> Text:
    """Draw the interval on the narrowest round stretch of [0, 1], or of [-1, 1], that holds it.

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


def commitment_line(settings: Settings) -> Text:
    """Return what to publish before the labelling, in one piece to be copied."""
    return Text.assemble(("commitment  ", "cyan"), settings.commitment, no_wrap=True)


def note_lines(notes: Sequence[str]) -> RenderableType:
    """Return the notes, one paragraph each."""
    return Group(
        *(Text.assemble(("note: ", "yellow"), printable(in_options(note))) for note in notes)
    )


def estimates_view(
    estimates: Mapping[str, Estimate], goal: Goal | None, *, answers: int | None = None
) -> RenderableType:
    """Return estimates, however many: a sentence, the figures, what they rest on, what is missing.

    One is drawn with its interval; more are a table.

    `estimates`: as `Campaign.estimates` gives them.
    """
    every = list(estimates.values())
    first, several = every[0], len(every) > 1
    over = goal is None or first.stopped is not None
    good = over and all(state_text(each)[0] != "unjudged" for each in every)
    colour = "green" if good else "yellow"
    blocks: list[RenderableType] = [Text(plain_words(estimates), f"bold {colour}"), Text()]
    blocks += [_table(estimates)] if several else [_headline(first, colour), _bar(first)]
    rows = [*_what_it_rests_on(every, answers)]
    if goal is not None:
        progress = _progress(estimates) if several else progress_text(first, goal)
        rows.append(("done" if over else "not done", Text(progress, colour)))
    if goal is not None and several:
        rows.append(("goal", goal_words(goal)))
    blocks += [Text(), facts([*rows, ("interval", first.interval)])]
    if several and any(each.worst_case is not None for each in every):
        blocks += [Text(), _unjudged_table(estimates)]
    return Group(*blocks)


def _what_it_rests_on(
    every: Sequence[Estimate], answers: int | None
) -> Iterator[tuple[str, RenderableType]]:
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


def _headline(estimate: Estimate, colour: str) -> Text:
    return Text.assemble(
        f"{metric_name(estimate.metric)}  ",
        # The interval is as much the result as the value is.
        (f"{value_text(estimate)}  {interval_text(estimate)}", f"bold {colour}"),
        (f"  at {100 * estimate.confidence:.4g}% confidence", "dim"),
    )


def _bar(estimate: Estimate) -> Text:
    return interval_bar(estimate.low, estimate.high, estimate.value)


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
    table = new_table("metric", "cannot judge", "whatever they are", "if like the rest")
    for name, estimate in estimates.items():
        if estimate.worst_case is not None:
            pairs = (estimate.worst_case, estimate.ends_like_rest)
            both = ("{:.3f} to {:.3f}".format(*ends) for ends in pairs)
            table.add_row(metric_name(name), f"{estimate.cannot_judge:,}", *both)
    return table


def _progress(estimates: Mapping[str, Estimate]) -> str:
    every = list(estimates.values())
    with_goal = [each for each in every if each.within is not None]
    near = sum(state_text(each)[1] == "green" for each in with_goal)
    parts = [f"{near} of {len(with_goal)} metrics are within their goals"] if with_goal else []
    if every[0].stopped is not None:
        parts.append(every[0].stopped)
    return "; ".join(parts) or "the budget is not spent"


# A metric in every slice, as ``assay status --by COLUMN`` shows it.

_LONGEST = 30  # cells of a name; a longer one is folded
_GAP = 2  # cells between columns: with the numbers, a name of thirty then has room in eighty


def classes_view(table: ClassTable, matrix: ConfusionMatrix | None) -> RenderableType:
    """Return the metrics of each class, and what is taken for what, if there is a matrix."""
    shown = new_table("class", "precision", "recall", "f1", "labels")
    for row in table:
        shown.add_row(
            Text(printable(row.name), "dim" if row.doubt else ""),
            _brief(row.precision, row.precision_low, row.precision_high),
            _brief(row.recall, row.recall_low, row.recall_high),
            _brief(row.f1, row.f1_low, row.f1_high),
            f"{row.labels:,}",
        )
    title = f"classes of {printable(table.classifier)}" if table.classifier else "classes"
    parts: list[RenderableType] = [Text(title, "bold"), shown]
    if matrix is not None:
        parts += [Text(), *(Text(printable(line)) for line in str(matrix).splitlines()[:6])]
    return Group(*parts, Text(), note_lines(table.remarks))


def _brief(value: float | None, low: float, high: float) -> str:
    return f"{'?' if value is None else f'{value:.2f}'} [{low:.2f}, {high:.2f}]"


def slices_view(slices: Slices) -> RenderableType:
    """Return the slices as a table; beneath those that are too few to say, in a fainter tone, why.

    The reason has a line of its own: beside the numbers, neither it nor a name would have room.
    """
    return Group(
        Text(printable(slices.headline), "bold"),
        Text(),
        *_lines(slices),
        Text(),
        note_lines(slices.notes),
    )


def _lines(slices: Slices) -> Iterator[RenderableType]:
    headings = slices.headings[:-1]
    cells = [[printable(cell) for cell in (row.slice, *row.cells)] for row in slices.rows]
    shown = [[printable(heading) for heading in headings], *cells]
    name, *wide = (max(map(cell_len, column)) for column in zip(*shown, strict=True))
    widths = [min(name, _LONGEST), *wide]
    yield _line(shown[0], widths, "dim")
    for row, its in zip(slices.rows, cells, strict=True):
        yield _line(its, widths, "dim" if row.too_few else "")
        if row.too_few:
            yield Text(f"  {row.verdict}", "yellow")


def _line(cells: Sequence[str], widths: Sequence[int], style: str) -> Table:
    """Return a line of the table.

    Cells are filled up and columns left free, so that on a narrow screen all lines yield alike:
    names are folded, and numbers are not.
    """
    line = Table.grid(padding=(0, _GAP, 0, 0))
    filled = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        line.add_column(
            max_width=width,
            justify="right" if place else "left",
            no_wrap=place > 0,
            overflow="fold",
        )
        space = " " * (width - cell_len(cell))
        filled.append(Text(space + cell if place else cell + space))
    line.add_row(*filled, style=style)
    return line
