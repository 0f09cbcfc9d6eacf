"""The curve of the score, for the owner: a page on which the threshold can be moved."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay.campaign import Campaign
from assay.errors import AssayError
from assay.report import curve_part
from assay.results import ThresholdCurve, printable
from assay.web.auth import needs
from assay.web.http import render
from assay.web.queue import Counter

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


def _tree(part: str) -> Node:
    reader = _Reader()
    reader.feed(part)
    reader.close()
    return reader.open[0]


@needs("owner")
async def show_curve(request: Request) -> Response:
    """Return the page; where there is no curve, it says why.

    All scores are counted for it, so that it is kept until the next label.
    """
    counter: Counter = request.app.state.counter
    kept: dict[str, dict[str, Any]] = request.app.state.curves

    def look(campaign: Campaign) -> dict[str, Any]:
        version = f"{campaign.name} {campaign.desk.version}"
        if version not in kept:
            found = _page(campaign)
            kept.clear()
            kept[version] = found
        return kept[version]

    return render(request, "curve.html", **await counter.aside(look))


def _page(campaign: Campaign) -> dict[str, Any]:
    """Return what the page shows."""
    try:
        curve = campaign.curve()
    except AssayError as error:
        return {"trouble": printable(str(error)), "curve": None}
    return {"trouble": "", "curve": _values(curve)}


def _values(curve: ThresholdCurve) -> dict[str, Any]:
    return {
        "headline": printable(curve.headline),
        "areas": curve.area_lines,
        "part": _tree(curve_part(curve)),
        "headings": curve.headings,
        "rows": curve.table(),
        "notes": [*curve.marks, *map(printable, curve.notes)],
    }


routes = [Route("/owner/curve", show_curve, methods=["GET"])]
