"""A report as one HTML file: no script, nothing from elsewhere, light and dark, also on paper."""

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from assay.results import (
    SIDE,
    Block,
    Cell,
    Code,
    Column,
    Document,
    Drawing,
    Figure,
    Headline,
    Interval,
    Lines,
    Notes,
    Notice,
    Page,
    Pairs,
    Paragraph,
    Table,
    Writer,
    linked,
    printable,
    sentence,
)

# HTML that is escaped unless it says that it is HTML already.

_VOID = ("meta", "link", "br")


class Html(str):
    """A text that is HTML, and goes into a page as it is."""

    __slots__ = ()


def element(name: str, /, *inner: str, **attributes: str) -> Html:
    r"""Return an element; what is not `Html` inside is text, and is escaped.

    Signs that would change how the page is read, such as those that turn the direction of writing,
    are written out (`printable`).

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
    """Return parts one after the other; what is not `Html` is escaped."""
    return Html("".join(part if isinstance(part, Html) else _escaped(part) for part in parts))


def _escaped(text: str) -> str:
    return escape(printable(text))


_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def html_of(page: Page) -> str:
    """Return the page."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="robots", content="noindex"),
        element("link", rel="icon", href="data:,"),  # otherwise a browser would ask for one
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


def blocks_of(blocks: Iterable[Block], writer: Writer = "page") -> Html:
    """Return blocks as a part of a page."""
    return joined(_block(each, str(place), writer) for place, each in enumerate(blocks))


def _section(place: int, section: Document) -> Html:
    title = f"section-{place}"
    blocks = [_block(each, f"{place}-{number}") for number, each in enumerate(section.blocks)]
    heading = element("h2", section.title, id=title, dir="auto")
    return element("section", heading, *blocks, aria_labelledby=title)


def _block(block: Block, place: str, writer: Writer = "page") -> Html:
    match block:
        case Paragraph(text, small):
            made = element("p", *_linked(text), class_="small muted" if small else "")
        case Headline(text, more):
            value = element("span", text, class_="headline-value")
            made = element(
                "p", value, " ", element("span", more, class_="headline-more"), class_="headline"
            )
        case Notice(tone, text):
            made = element("p", *_linked(text), class_=f"notice notice-{tone}")
        case Pairs(rows):
            made = element("dl", *(_pair(name, value) for name, value in rows))
        case Lines(items):
            made = element(
                "ul", *(element("li", *_linked(sentence(item)), dir="auto") for item in items)
            )
        case Notes(items):
            made = joined(_block(Paragraph(sentence(item), small=True), place) for item in items)
        case Code(text, _):
            made = element("pre", element("code", text), tabindex="0")
        case Table():
            made = _table(block, writer)
        case Figure():
            made = _figure(block, place, writer)
        case Drawing(svg):
            made = element("figure", Html(svg))
        case Interval():
            made = Html("")
    return made


def _linked(text: str) -> list[str]:
    """Return a text in which the documents that it names are links."""
    return [
        part if address is None else element("a", part, href=address, rel="noreferrer")
        for part, address in linked(text)
    ]


def _pair(name: str, value: str) -> Html:
    term = element("dt", f"{name[:1].upper()}{name[1:]}")
    return element("div", term, element("dd", *_linked(value), dir="auto"))


def _table(table: Table, writer: Writer = "page") -> Html:
    columns, rows = table.shown(writer)
    head = [_cell(column, Cell(column.title), "th", scope="col") for column in columns]
    whole = element(
        "table",
        element("caption", table.caption, dir="auto"),
        element("thead", element("tr", *head)),
        element("tbody", *(element("tr", *_row(columns, row, writer)) for row in rows)),
        class_="matrix" if table.is_picture else "stacked" if writer == "dashboard" else "",
    )
    box = element(
        "div", whole, class_="table-box", tabindex="0", role="region", aria_label=table.caption
    )
    return joined([box, _block(Paragraph(table.note, small=True), "")]) if table.note else box


def _row(columns: Sequence[Column], row: Sequence[Cell], writer: Writer) -> list[Html]:
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


def _cell(column: Column, cell: Cell, name: str, **attributes: str) -> Html:
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


def _bar(interval: Interval | None) -> Html:
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


def _figure(figure: Figure, place: str, writer: Writer) -> Html:
    key = [element("span", words, class_=f"key key-{name}") for name, words in figure.key]
    title, words = f"title-{place}", f"words-{place}"
    square = element(
        "svg",
        element("title", figure.title, id=title),
        element("desc", figure.words, id=words),
        *(element("path", class_=f"drawn-{name}", d=path) for name, path in figure.layers),
        viewBox=f"0 0 {SIDE} {SIDE}",
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
