"""A report as one HTML file: no script, nothing from elsewhere, light and dark, also on paper."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from assay import results

# HTML that is escaped unless it is marked as HTML.

_VOID = ("meta", "link", "br", "input")


class Html(str):
    """Text that is HTML, and goes into a page unchanged."""

    __slots__ = ()

    def __html__(self) -> str:
        """Text for a template, which escapes all others (the protocol of markupsafe)."""
        return str(self)


def element(name: str, /, *inner: str, **attributes: str) -> Html:
    r"""Element; contents that are not `Html` are text, and are escaped.

    Characters that would change how the page is read, such as those that reverse the direction of
    writing, are written out (`printable`).

    >>> element("p", "1 < 2 ", element("b", "so"), class_='"big"')
    '<p class="&quot;big&quot;">1 &lt; 2 <b>so</b></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
    )
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(inner)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Parts one after the other; those that are not `Html` are escaped."""
    return Html("".join(part if isinstance(part, Html) else _escaped(part) for part in parts))


def _escaped(text: str) -> str:
    return escape(results.printable(text))


_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def html_of(page: results.Page) -> str:
    """HTML of a page."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="robots", content="noindex"),
        element("link", rel="icon", href="data:,"),  # otherwise a browser would request one
        element("title", f"{page.title} · Assay"),
        element("style", _style()),
    )
    header = element(
        "header",
        element("h1", page.title, dir="auto"),
        element("p", page.subtitle, class_="muted", dir="auto"),
    )
    sections = [_section(place, each) for place, each in enumerate(page.sections, start=1)]
    footer = element("footer", element("p", page.footer))
    body = element("body", element("main", header, *sections), footer)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


@cache
def _style() -> Html:
    sheets = files("assay.report").joinpath("static")
    names = ("tokens.css", "page.css")
    return Html("\n".join(sheets.joinpath(name).read_text(encoding="utf-8") for name in names))


def blocks_of(blocks: Iterable[results.Block], writer: results.Writer = "page") -> Html:
    """HTML of blocks, as a part of a page."""
    return joined(_block(each, str(place), writer) for place, each in enumerate(blocks))


def _section(place: int, section: results.Document) -> Html:
    title = f"section-{place}"
    blocks = [_block(each, f"{place}-{number}") for number, each in enumerate(section.blocks)]
    heading = element("h2", section.title, id=title, dir="auto")
    return element("section", heading, *blocks, aria_labelledby=title)


def _block(block: results.Block, place: str, writer: results.Writer = "page") -> Html:
    match block:
        case results.Paragraph(text, small):
            made = element("p", *_linked(text), class_="small muted" if small else "")
        case results.Headline(text, more):
            value = element("span", text, class_="headline-value")
            made = element(
                "p", value, " ", element("span", more, class_="headline-more"), class_="headline"
            )
        case results.Notice(tone, text):
            made = element("p", *_linked(text), class_=f"notice notice-{tone}")
        case results.Pairs(rows):
            made = element("dl", *(_pair(name, value) for name, value in rows))
        case results.Lines(items):
            made = element(
                "ul",
                *(element("li", *_linked(results.sentence(item)), dir="auto") for item in items),
            )
        case results.Notes(items):
            made = joined(
                _block(results.Paragraph(results.sentence(item), small=True), place)
                for item in items
            )
        case results.Code(text, _):
            made = element("pre", element("code", text), tabindex="0")
        case results.Table():
            made = _table(block, writer)
        case results.Figure():
            made = _figure(block, place, writer)
        case results.Drawing(svg):
            made = element("figure", Html(svg))
        case results.Interval():
            made = _strip(block) if writer == "page" else Html("")
    return made


def _linked(text: str) -> list[str]:
    """Parts of a text, with links to the documents that it names."""
    return [
        part if address is None else element("a", part, href=address, rel="noreferrer")
        for part, address in results.linked(text)
    ]


def _pair(name: str, value: str) -> Html:
    term = element("dt", f"{name[:1].upper()}{name[1:]}")
    return element("div", term, element("dd", *_linked(value), dir="auto"))


def _table(table: results.Table, writer: results.Writer = "page") -> Html:
    columns, rows = table.shown(writer)
    head = [_cell(column, results.Cell(column.title), "th", scope="col") for column in columns]
    whole = element(
        "table",
        element("caption", table.caption, dir="auto"),
        element("thead", element("tr", *head)),
        element("tbody", *(element("tr", *_row(columns, row, writer)) for row in rows)),
        class_="matrix" if table.is_picture else "stacked" if writer == "dashboard" else "",
    )
    box = element(
        "div", whole, class_="table-box", tabindex="0", role="group", aria_label=table.caption
    )
    return (
        joined([box, _block(results.Paragraph(table.note, small=True), "")]) if table.note else box
    )


def _row(
    columns: Sequence[results.Column], row: Sequence[results.Cell], writer: results.Writer
) -> list[Html]:
    first, *others = zip(columns, row, strict=True)
    named = _cell(*first, "th", scope="row", dir="auto")
    stacks = writer == "dashboard"  # on a phone, each cell below its heading
    return [
        named,
        *(
            _cell(column, cell, "td", **{"data_label": column.heading} if stacks else {})
            for column, cell in others
        ),
    ]


def _cell(column: results.Column, cell: results.Cell, name: str, **attributes: str) -> Html:
    kind: str = column.kind
    inner = cell.text
    if column.kind == "bar":
        kind = "bar-column"
        inner = _AS_BAR if name == "th" else _bar(cell.interval)
    elif cell.level is not None:
        kind = f"number level-{cell.level}"
    if cell.tone in ("good", "warn", "bad") and column.kind == "text":
        inner = element("span", inner, class_=f"tag tag-{cell.tone}")
    return element(name, inner, class_=kind, **{k: v for k, v in attributes.items() if v})


_AS_BAR = element("span", "as a bar", class_="visually-hidden")


def _bar(interval: results.Interval | None) -> Html:
    """Draw an interval on its scale, and the estimate as a part of it."""
    if interval is None or interval.value is None:
        return Html("")
    low, high, value = map(interval.share, (interval.low, interval.high, interval.value))

    def rect(kind: str, y: int, width: str, height: int, **more: str) -> Html:
        return element("rect", class_=kind, y=f"{y}%", width=width, height=f"{height}%", **more)

    ends = [
        element("svg", rect("bar-end", 10, "2", 80, x="-1"), x=f"{end:.1f}%", overflow="visible")
        for end in (low, high)
    ]
    return element(
        "svg",
        rect("bar-all", 25, "100%", 50),
        rect("bar-part", 25, f"{value:.1f}%", 50),
        rect("bar-line", 44, f"{high - low:.1f}%", 12, x=f"{low:.1f}%"),
        *ends,
        class_="bar",
        aria_hidden="true",
        focusable="false",
    )


def _strip(interval: results.Interval) -> Html:
    """Picture of an interval, with the ends of its scale below."""
    if interval.value is None:
        return Html("")
    low, high, value = (f"{each:.3f}" for each in (interval.low, interval.high, interval.value))
    ends = (element("span", f"{end:g}") for end in interval.scale)
    picture = element("div", _bar(interval), class_="strip-bar")
    scale = element("div", *ends, class_="strip-scale number", aria_hidden="true")
    words = f"The interval from {low} to {high}, and the estimate {value}"
    return element("div", picture, scale, class_="strip", role="img", aria_label=words)


def _figure(figure: results.Figure, place: str, writer: results.Writer) -> Html:
    key = [element("span", words, class_=f"key key-{name}") for name, words in figure.key]
    title, words = f"title-{place}", f"words-{place}"
    square = element(
        "svg",
        element("title", figure.title, id=title),
        element("desc", figure.words, id=words),
        *(element("path", class_=f"drawn-{name}", d=path) for name, path in figure.layers),
        viewBox=f"0 0 {results.SIDE} {results.SIDE}",
        preserveAspectRatio="none",
        role="img",
        aria_labelledby=f"{title} {words}",
    )
    box = element(
        "div",
        _edge("upwards", figure.upwards),
        square,
        _edge("across", figure.across),
        element("p", figure.unit, class_="unit muted", aria_hidden="true"),
        class_="picture",
        # Read by a script, which only the dashboard has.
        **({"data_points": json.dumps(figure.points)} if writer == "dashboard" else {}),
    )
    caption = element("figcaption", element("b", figure.title, dir="auto"), " ", joined(key))
    if figure.table is None:
        return element("figure", caption, box)
    summary = element("summary", "The same as a table")
    table = element("details", summary, _table(figure.table, writer), id=f"table-{place}")
    return element("figure", caption, box, table)


def _edge(name: str, texts: Sequence[str]) -> Html:
    return element(
        "div",
        *(element("span", text) for text in texts),
        class_=f"{name} number",
        aria_hidden="true",
    )
