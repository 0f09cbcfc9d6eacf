"""Area of a chart that is drawn as one SVG file: its scale, its lines across, its frame."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from assay.report.html import Html, element
from assay.results import stretch

_LINES = 5  # across, at least
_FONT = "max-width:100%;height:auto;font:13px system-ui,sans-serif;"
_ON_PAPER = "color:#222"


@dataclass(frozen=True)
class Plot:
    """Chart with shares upwards; positions are in pixels from the top left."""

    height: int
    # left, edge, top, floor: of the area of the shares; left and right, above and below.
    left: int
    edge: int
    top: int
    floor: int
    # start, span: the lowest share, and the difference to the highest.
    start: float
    span: float
    width: int = 760

    @classmethod
    def of(cls, shares: Iterable[float], height: int, area: tuple[int, int, int, int]) -> Self:
        """Chart that holds all shares; `area`: its four edges, as in the fields."""
        given = [*shares]
        start, span = stretch(min(given), max(given))
        return cls(height, *area, start=start, span=span)

    def x(self, place: float) -> float:
        """Position of a place across, from 0 to 1."""
        return round(self.left + place * (self.edge - self.left), 1)

    def y(self, share: float) -> float:
        """Position of a share; what is beyond an edge is drawn at the edge."""
        inside = (min(max(share, self.start), self.start + self.span) - self.start) / self.span
        return round(self.floor - inside * (self.floor - self.top), 1)

    def grid(self) -> list[Html]:
        """Lines across, with their shares."""
        drawn = []
        for place in range(_LINES + 1):
            share = self.start + self.span * place / _LINES
            line = f"M{self.left} {self.y(share)}H{self.edge}"
            drawn.append(element("path", d=line, stroke_opacity=".15"))
            drawn.append(text(f"{share:.4g}", self.left - 8, self.y(share) + 4, anchor="end"))
        return drawn

    def svg(
        self,
        drawn: Iterable[Html],
        *,
        title: str,
        words: str,  # the same in words
        on_paper: bool,  # whether on white, or in the colours of the page around it
        look: str | None = None,  # class on a page that forbids inline styles
    ) -> Html:
        """Chart as SVG, without script."""
        size = {"width": str(self.width), "height": str(self.height)}
        style = {"style": _FONT + (_ON_PAPER if on_paper else "")}
        return element(
            "svg",
            element("title", title),
            element("desc", words),
            *([element("rect", **size, fill="#fff", stroke="none")] if on_paper else []),
            *drawn,
            xmlns="http://www.w3.org/2000/svg",
            role="img",
            **size,
            viewBox=f"0 0 {self.width} {self.height}",
            stroke="currentColor",
            fill="none",
            **(style if look is None or on_paper else {"class": look}),
        )


def text(words: str, x: float, y: float, *, anchor: str = "start", **more: str) -> Html:
    """Words at a position: they begin there, end there, or have their middle there."""
    place = {"x": f"{x}", "y": f"{y}", "text_anchor": anchor}
    return element("text", words, **{**place, "fill": "currentColor", "stroke": "none", **more})
