"""Elements of a page that another module has written, for a template to write again.

Templates escape every name and text of them, as of anything else.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_EMPTY = "input"  # the only element here that has no end


@dataclass(frozen=True)
class Node:
    """An element of a page, which a template writes again with everything in it escaped."""

    tag: str
    attributes: dict[str, str]
    parts: list["Node | str"] = field(default_factory=list)


class _Reader(HTMLParser):
    """Reads the elements of a part of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Node("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].parts.append(node)
        if tag != _EMPTY:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        if tag != _EMPTY:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        """Take a text."""
        self.open[-1].parts.append(data)


def nodes_of(part: str) -> Node:
    """Return the elements of a part of a page, under one without a name."""
    reader = _Reader()
    reader.feed(part)
    reader.close()
    return reader.open[0]
