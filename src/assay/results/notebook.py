"""Documents as HTML of a notebook, in the colours of the page around it.

Everything that is shown is escaped here. The HTML needs no style sheet or script, so it looks the
same in every notebook. Everything is also in words: a bar that a site strips is no loss.
"""

from collections.abc import Iterable, Sequence
from html import escape

from assay.errors import printable
from assay.results import document as blocks

_WIDTH, _HEIGHT, _MARGIN = 340, 16, 44  # of a bar; the numbers at its ends are in the margins
_FAINT = "opacity:.65"
_CELL = "padding:1px 14px 1px 0;background:none;border:0;font-weight:normal"
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;color:inherit;white-space:nowrap"
_LONGEST = 1000  # characters of one text


def html_text(text: str) -> str:
    r"""Escape a text, write out control characters, and limit the length.

    >>> html_text("<b>\u202e"), len(html_text("x" * 10_000_000))
    ('&lt;b&gt;\\u202e', 1001)
    """
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return escape(printable(short))


def html_block(*parts: str) -> str:
    """Parts below each other."""
    inner = "".join(f"<div>{part}</div>" for part in parts if part)
    return f'<div style="line-height:1.6;max-width:52em">{inner}</div>'


def html_headline(text: str, more: str) -> str:
    """Write the headline, followed by the details in a fainter tone.

    >>> html_headline("precision 0.9", "<3 labels")
    '<b>precision 0.9</b> <span style="opacity:.65">&lt;3 labels</span>'
    """
    return f'<b>{html_text(text)}</b> <span style="{_FAINT}">{html_text(more)}</span>'


def html_remarks(lines: Iterable[str]) -> str:
    """Remarks on a result, one line each."""
    return "".join(f'<div style="{_FAINT};font-size:90%">{html_text(line)}</div>' for line in lines)


def notebook_of(document: blocks.Document) -> str:
    """HTML of a document."""
    return html_block(*map(_block, document.blocks))


def _block(block: blocks.Block) -> str:
    match block:
        case blocks.Paragraph(text) | blocks.Notice(_, text):
            made = html_text(text)
        case blocks.Headline(text, more):
            made = html_headline(text, more)
        case blocks.Interval():
            made = interval_bar(block)
        case blocks.Pairs(rows):
            made = _table(blocks.Table("", blocks.headed("", ""), rows))
        case blocks.Table():
            made = "" if block.is_picture else _table(block)
        case blocks.Lines(items):
            made = html_remarks(items)
        case blocks.Notes(items):
            made = html_remarks(f"note: {item}" for item in items)
        case blocks.Code(text):
            made = f"<pre>{html_text(text)}</pre>"
        case blocks.Drawing(svg):
            made = svg
        case blocks.Figure():
            made = _figure(block)
    return made


def _table(table: blocks.Table) -> str:
    """HTML table: texts to the left, numbers to the right."""
    columns, rows = table.shown("notebook")
    cells = (_cell(column, blocks.Cell(column.heading), "th", ' scope="col"') for column in columns)
    head = f'<tr style="{_FAINT};background:none">{"".join(cells)}</tr>'
    body = "".join(f'<tr style="background:none">{_row(columns, row)}</tr>' for row in rows)
    named = f'<caption style="{_CAPTION}">{html_text(table.caption)}</caption>'
    return (
        '<table style="border-collapse:collapse;border:0;margin:2px 0">'
        f"{named if table.caption else ''}"
        f"{f'<thead>{head}</thead>' if any(each.heading for each in columns) else ''}"
        f"<tbody>{body}</tbody></table>{html_remarks([table.note] if table.note else [])}"
    )


def _row(columns: Sequence[blocks.Column], row: Sequence[blocks.Cell]) -> str:
    first, *others = zip(columns, row, strict=True)
    return _cell(*first, "th", ' scope="row" dir="auto"') + "".join(
        _cell(column, cell, "td") for column, cell in others
    )


def _cell(column: blocks.Column, cell: blocks.Cell, tag: str, attributes: str = "") -> str:
    side = "right;white-space:nowrap" if column.kind == "number" else "left"
    side += ";min-width:14em" if column.kind in ("remark", "detail") else ""
    faint = f";{_FAINT}" if cell.tone == "faint" else ""
    inner = html_text(cell.text) if cell.interval is None else interval_bar(cell.interval)
    return f'<{tag}{attributes} style="{_CELL};text-align:{side}{faint}">{inner}</{tag}>'


def interval_bar(interval: blocks.Interval) -> str:
    """Draw an interval: a bar of SVG, a dot for the value, a bracket for the requested width.

    The bracket is centred on the interval, so that it holds the whole bar exactly when the goal is
    met.
    """
    low, high, value, within = interval.low, interval.high, interval.value, interval.within
    start, end = interval.scale
    middle = _HEIGHT / 2

    def at(share: float) -> float:
        return round(_MARGIN + interval.share(share) / 100 * (_WIDTH - 2 * _MARGIN), 1)

    def across(left: float, right: float, thick: int, faint: float) -> str:
        return (
            f'<path d="M{left} {middle}H{right}" stroke-width="{thick}" stroke-opacity="{faint}"/>'
        )

    drawn = [across(_MARGIN, _WIDTH - _MARGIN, 1, 0.3), across(at(low), at(high), 6, 0.4)]
    description = f"from {low:.3f} to {high:.3f}, on a scale from {start:g} to {end:g}"
    if value is not None and within is not None:
        goal = ((low + high) / 2 - within, (low + high) / 2 + within)
        marks = "".join(f"M{at(side)} 1V{_HEIGHT - 1}" for side in goal)
        drawn.append(f'<path d="{marks}" stroke-width="1" stroke-dasharray="2 2"/>')
        description += f"; goal: half-width {within:g}"
    if value is not None:
        drawn.append(f'<circle cx="{at(value)}" cy="{middle}" r="3.5" fill="currentColor"/>')
    for x, anchor, number in ((_MARGIN - 8, "end", start), (_WIDTH - _MARGIN + 8, "start", end)):
        drawn.append(
            f'<text x="{x}" y="{middle + 4}" text-anchor="{anchor}" font-size="12" stroke="none" '
            f'fill="currentColor">{number:g}</text>'
        )
    return (
        f'<svg role="img" aria-label="{description}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" style="vertical-align:middle" '
        f'stroke="currentColor" stroke-linecap="round" fill="none">{"".join(drawn)}</svg>'
    )


# Figure: without a style sheet around it, it contains its numbers.

_PAINT = {
    "grid": 'stroke="currentColor" stroke-opacity=".18"',
    "band": 'fill="currentColor" fill-opacity=".18" stroke="none"',
    "goal": 'stroke="currentColor" stroke-opacity=".7" stroke-dasharray="4 4"',
    "line": 'stroke="currentColor" stroke-width="1.6"',
    "last": 'stroke="currentColor" stroke-width="7" stroke-linecap="round"',
}
_LEFT, _TOP, _WIDE, _HIGH = 46, 10, 360, 150  # where the square is drawn, stretched


def _figure(figure: blocks.Figure) -> str:
    """Draw a figure as SVG, in the colour of the text around it, without script."""
    paths = "".join(
        f'<path d="{path}" fill="none" vector-effect="non-scaling-stroke" {_PAINT[name]}/>'
        if "fill" not in _PAINT[name]
        else f'<path d="{path}" {_PAINT[name]}/>'
        for name, path in figure.layers
    )
    texts: list[tuple[float, float, str, str]] = [
        (_LEFT - 6, _TOP + 4 + _HIGH * i / (len(figure.upwards) - 1), "end", text)
        for i, text in enumerate(figure.upwards)
    ]
    texts += [
        (_LEFT + _WIDE * i / (len(figure.across) - 1), _TOP + _HIGH + 17, "middle", text)
        for i, text in enumerate(figure.across)
    ]
    texts.append((_LEFT + _WIDE + 24, _TOP + _HIGH + 17, "start", figure.unit))
    numbers = "".join(
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12" '
        f'fill="currentColor">{html_text(text)}</text>'
        for x, y, anchor, text in texts
    )
    width, height = _LEFT + _WIDE + 70, _TOP + _HIGH + 24
    return html_remarks([figure.title]) + (
        f'<svg role="img" aria-label="{html_text(figure.words)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" style="max-width:100%;height:auto">'
        f'<svg x="{_LEFT}" y="{_TOP}" width="{_WIDE}" height="{_HIGH}" overflow="visible" '
        f'viewBox="0 0 {blocks.SIDE} {blocks.SIDE}" preserveAspectRatio="none">{paths}</svg>'
        f"{numbers}</svg>"
    )
