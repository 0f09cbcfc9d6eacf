"""A page as a program reads it: texts by id, and tables."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"input", "meta", "link", "br", "img", "hr"}


@dataclass
class Read:
    """What a page holds."""

    texts: dict[str, str] = field(default_factory=dict)  # by the id of the element they are in
    # By class, and by caption: rows of cells.
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    words: str = ""  # all of it


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.read = Read()
        self._open: list[tuple[str, str]] = []  # tags, and the ids they have
        self._table: list[list[str]] | None = None
        self._caption = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert "style" not in given, "no styles of its own: the policy forbids them"
        assert not any(name.startswith("on") for name in given)
        if tag == "table":
            self._table = self.read.tables[given.get("class", "")] = []
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in ("td", "th") and self._table:
            self._table[-1].append("")
        if tag not in _VOID:
            self._open.append((tag, given.get("id", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:  # as in SVG
            self.handle_starttag(tag, attrs)
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, f"</{tag}> closes something else"
        if tag == "caption" and self._table is not None:
            self.read.tables[self._caption] = self._table
        if tag == "table":
            self._table = None

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        if not words:
            return
        self.read.words += f" {words}"
        if self._open and self._open[-1][0] == "caption":
            self._caption = words
        for _tag, name in self._open:
            if name:
                self.read.texts[name] = f"{self.read.texts.get(name, '')} {words}".strip()
        in_table = any(tag in ("td", "th") for tag, _ in self._open)
        if self._table and in_table:
            self._table[-1][-1] = f"{self._table[-1][-1]} {words}".strip()


def read(page: str) -> Read:
    """Read a page; raises where its elements are not closed, or where it brings its own styles."""
    reader = _Reader()
    reader.feed(page)
    assert reader._open == []
    return reader.read
