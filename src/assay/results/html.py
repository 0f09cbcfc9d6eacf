"""HTML of results in a notebook, in the colours of the page around it.

Everything that is shown is escaped here. Without a style sheet or a script of its own it looks the
same wherever notebooks are shown, and it says all in words: a bar that a site strips is no loss.
"""

from collections.abc import Iterable, Sequence
from html import escape
from math import floor

from assay.errors import printable

# The scale that an interval is drawn on, in a terminal and in a notebook.


def stretch(low: float, high: float) -> tuple[float, float]:
    """Return where the narrowest round stretch of [0, 1] that holds an interval starts, its length.

    A difference may need one of [-1, 1].

    >>> stretch(0.913, 0.948)
    (0.9, 0.05)
    >>> stretch(-0.7, 0.6)
    (-1.0, 2.0)
    """
    for span in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        half = span / 2
        start = min(floor(low / half) * half, 1.0 - span)
        if high <= start + span:
            return round(start, 3), span
    return -1.0, 2.0


_WIDTH, _HEIGHT, _MARGIN = 340, 16, 44  # of a bar; the numbers at its ends are in the margins
_FAINT = "opacity:.65"
_LONGEST = 1000  # characters of one text


def html_text(text: str) -> str:
    r"""Return a text as it is shown: escaped, what would move other texts written out, and no book.

    >>> html_text("<b>\u202e"), len(html_text("x" * 10_000_000))
    ('&lt;b&gt;\\u202e', 1001)
    """
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return escape(printable(short))


def html_block(*parts: str) -> str:
    """Return parts below each other."""
    inner = "".join(f"<div>{part}</div>" for part in parts if part)
    return f'<div style="line-height:1.6;max-width:52em">{inner}</div>'


def html_headline(said: str, more: str) -> str:
    """Return the most important words, and in a fainter tone what belongs to them.

    >>> html_headline("precision 0.9", "<3 labels")
    '<b>precision 0.9</b> <span style="opacity:.65">&lt;3 labels</span>'
    """
    return f'<b>{html_text(said)}</b> <span style="{_FAINT}">{html_text(more)}</span>'


def html_remarks(lines: Iterable[str]) -> str:
    """Return what is to be said beside a result, one line each."""
    return "".join(f'<div style="{_FAINT};font-size:90%">{html_text(line)}</div>' for line in lines)


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, bar: bool = False) -> str:
    """Return a table: words to the left, numbers to the right."""

    def line(tag: str, cells: Sequence[str], drawn: int) -> str:
        texts = [html_text(cell) for cell in cells[: len(cells) - drawn]]
        texts += cells[len(cells) - drawn :]
        aligned = ["left", *["right;white-space:nowrap"] * (len(texts) - 1)]
        weight = "normal" if tag == "th" else "inherit"
        style = "padding:1px 14px 1px 0;background:none;border:0;font-weight:"
        return "".join(
            f'<{tag} style="{style}{weight};text-align:{side}">{text}</{tag}>'
            for text, side in zip(texts, aligned, strict=True)
        )

    head = f'<tr style="{_FAINT};background:none">{line("th", headings, 0)}</tr>'
    body = "".join(f'<tr style="background:none">{line("td", row, int(bar))}</tr>' for row in rows)
    return (
        '<table style="border-collapse:collapse;border:0;margin:2px 0">'
        f"<thead>{head}</thead><tbody>{body}</tbody></table>"
    )


def scale_of(ends: Iterable[float]) -> tuple[float, float]:
    """Return the start and the end of a round scale that holds all of these.

    >>> scale_of([0.93, 0.91, 0.95])
    (0.9, 0.95)
    """
    shares = list(ends)
    start, span = stretch(min(shares), max(shares))
    return start, round(start + span, 3)


def interval_bar(
    # low, high, value: the interval and the estimate.
    low: float,
    high: float,
    value: float | None,
    *,
    scale: tuple[float, float],  # what the ends of the picture stand for
    # The half-width that is wanted. The bracket has the interval's middle, so that it holds the
    # whole bar when the goal is met, and not before.
    within: float | None = None,
) -> str:
    """Draw an interval: a bar of SVG, a dot for the value, and a bracket for what is wanted."""
    start, end = scale
    middle = _HEIGHT / 2

    def at(share: float) -> float:
        inside = (min(max(share, start), end) - start) / (end - start)
        return round(_MARGIN + inside * (_WIDTH - 2 * _MARGIN), 1)

    def across(left: float, right: float, thick: int, faint: float) -> str:
        return (
            f'<path d="M{left} {middle}H{right}" stroke-width="{thick}" stroke-opacity="{faint}"/>'
        )

    drawn = [across(_MARGIN, _WIDTH - _MARGIN, 1, 0.3), across(at(low), at(high), 6, 0.4)]
    told = f"from {low:.3f} to {high:.3f}, on a scale from {start:g} to {end:g}"
    if value is not None and within is not None:
        wanted = ((low + high) / 2 - within, (low + high) / 2 + within)
        marks = "".join(f"M{at(side)} 1V{_HEIGHT - 1}" for side in wanted)
        drawn.append(f'<path d="{marks}" stroke-width="1" stroke-dasharray="2 2"/>')
        told += f"; a half-width of {within:g} is wanted"
    if value is not None:
        drawn.append(f'<circle cx="{at(value)}" cy="{middle}" r="3.5" fill="currentColor"/>')
    for x, anchor, number in ((_MARGIN - 8, "end", start), (_WIDTH - _MARGIN + 8, "start", end)):
        drawn.append(
            f'<text x="{x}" y="{middle + 4}" text-anchor="{anchor}" font-size="12" stroke="none" '
            f'fill="currentColor">{number:g}</text>'
        )
    return (
        f'<svg role="img" aria-label="{told}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" style="vertical-align:middle" '
        f'stroke="currentColor" stroke-linecap="round" fill="none">{"".join(drawn)}</svg>'
    )
