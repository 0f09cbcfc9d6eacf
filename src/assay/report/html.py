"""A report as one HTML file: no script, nothing from elsewhere, light and dark, also on paper."""

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from assay.report.blocks import (
    Block,
    Code,
    Document,
    Figure,
    Headline,
    Lines,
    Notice,
    Pairs,
    Paragraph,
    Section,
    Table,
    linked,
)
from assay.report.charts import SIDE
from assay.results import printable

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


def html_of(document: Document) -> str:
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
        element("title", f"{document.title} · Assay"),
        element("style", _style()),
    )
    header = element(
        "header",
        element("h1", document.title, dir="auto"),
        element("p", document.subtitle, class_="muted", dir="auto"),
    )
    sections = [_section(place, each) for place, each in enumerate(document.sections, start=1)]
    footer = element("footer", element("p", document.footer))
    body = element("body", element("main", header, *sections), footer)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


@cache
def _style() -> Html:
    sheets = files("assay.report").joinpath("static")
    names = ("tokens.css", "page.css")
    return Html("\n".join(sheets.joinpath(name).read_text(encoding="utf-8") for name in names))


def _section(place: int, section: Section) -> Html:
    title = f"section-{place}"
    blocks = [_block(each, f"{place}-{number}") for number, each in enumerate(section.blocks)]
    heading = element("h2", section.title, id=title, dir="auto")
    return element("section", heading, *blocks, aria_labelledby=title)


def _block(block: Block, place: str) -> Html:
    match block:
        case Paragraph(text, small):
            made = element("p", *_linked(text), class_="small muted" if small else "")
        case Headline(name, value, more):
            made = element(
                "p",
                element("span", name, class_="headline-name"),
                " ",
                element("span", value, class_="headline-value"),
                " ",
                element("span", more, class_="headline-more"),
                class_="headline",
            )
        case Notice(tone, text):
            made = element("p", *_linked(text), class_=f"notice notice-{tone}")
        case Pairs(rows):
            made = element("dl", *(_pair(name, value) for name, value in rows))
        case Lines(items):
            made = element("ul", *(element("li", *_linked(item), dir="auto") for item in items))
        case Code(text, _):
            made = element("pre", element("code", text), tabindex="0")
        case Table():
            made = _table(block)
        case Figure():
            made = _figure(block, place)
    return made


def _linked(text: str) -> list[str]:
    """Return a text in which the documents that it names are links."""
    return [
        part if address is None else element("a", part, href=address, rel="noreferrer")
        for part, address in linked(text)
    ]


def _pair(name: str, value: str) -> Html:
    return element("div", element("dt", name), element("dd", *_linked(value), dir="auto"))


def _table(table: Table) -> Html:
    head = element("tr", *_cells(table, table.headings, "th", scope="col"))
    rows = [
        element(
            "tr",
            element("th", row[0], scope="row", dir="auto"),
            *_cells(table, row, "td", table.levels[place] if table.levels else ())[1:],
        )
        for place, row in enumerate(table.rows)
    ]
    whole = element(
        "table",
        element("caption", table.caption, dir="auto"),
        element("thead", head),
        element("tbody", *rows),
        **({"class_": "matrix"} if table.levels else {}),
    )
    return element(
        "div", whole, class_="table-box", tabindex="0", role="region", aria_label=table.caption
    )


def _cells(
    table: Table, row: Sequence[str], name: str, levels: Sequence[int] = (), **attributes: str
) -> list[Html]:
    cells = []
    for place, text in enumerate(row):
        kind = "text" if place == 0 or place in table.texts else "number"
        if levels and place:
            kind += f" level-{levels[place - 1]}"
        cells.append(element(name, text, class_=kind, **attributes))
    return cells


def _figure(figure: Figure, place: str) -> Html:
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
        element("p", figure.unit, class_="unit", aria_hidden="true"),
        class_="picture",
    )
    caption = element("figcaption", element("b", figure.title, dir="auto"), " ", joined(key))
    if figure.table is None:
        return element("figure", caption, box)
    table = element("details", element("summary", "The same as a table"), _table(figure.table))
    return element("figure", caption, box, table)


def _edge(name: str, texts: Sequence[str]) -> Html:
    return element("div", *(element("span", text) for text in texts), class_=name)
