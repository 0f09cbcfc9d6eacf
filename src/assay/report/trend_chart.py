"""The picture of a series: a dot and its interval a period, and the floor."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from assay.results import stretch

_WIDTH, _HEIGHT = 760, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 24, 44, 52  # margins
_MOST_NAMES = 12  # of periods that find room below the picture
_LINES = 5  # across, at least
_TEXT = 'stroke="none" fill="currentColor"'
_COLOURS = {"rose": "#2f9e44"}
_ALARM = "#e8590c"  # readable on white and on black, as the other is


Height = Callable[[float], float]
"""Where a share is, from the top."""


@dataclass(frozen=True)
class Mark:
    """One period: its name, the estimate with its interval, and a word if there is one to say."""

    name: str
    value: float | None
    low: float
    high: float
    word: str | None


def draw_trend(
    marks: Sequence[Mark], *, title: str, floor: float | None, on_paper: bool = True
) -> str:
    """Return a series as SVG.

    `marks`: the periods, oldest first.

    >>> svg = draw_trend([Mark("mon", 0.9, 0.88, 0.92, None)], title="precision", floor=None)
    >>> svg.startswith("<svg") and "script" not in svg
    True
    """
    shares = [end for mark in marks for end in (mark.low, mark.high)]
    shares += [] if floor is None else [floor]
    start, span = stretch(min(shares), max(shares))

    def y(share: float) -> float:
        inside = (min(max(share, start), start + span) - start) / span
        return round(_HEIGHT - _BOTTOM - inside * (_HEIGHT - _TOP - _BOTTOM), 1)

    step = (_WIDTH - _LEFT - _RIGHT) / len(marks)
    xs = [round(_LEFT + step * (place + 0.5), 1) for place in range(len(marks))]
    drawn = [*_grid(start, span, y), *_marks(marks, xs, y), *_names(marks, xs)]
    if floor is not None:
        drawn.append(
            f'<path d="M{_LEFT} {y(floor)}H{_WIDTH - _RIGHT}" stroke-dasharray="6 4"/>'
            f'<text x="{_WIDTH - _RIGHT}" y="{y(floor) - 5}" text-anchor="end" {_TEXT}>'
            f"floor {floor:g}</text>"
        )
    told = escape(title)
    words = escape("; ".join(_told(mark) for mark in marks))
    ground = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff" stroke="none"/>'
    colour = "color:#222;" if on_paper else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" stroke="currentColor" fill="none" '
        f'style="max-width:100%;height:auto;font:13px system-ui,sans-serif;{colour}">'
        f"<title>{told}</title><desc>{words}</desc>{ground if on_paper else ''}"
        f'<text x="{_LEFT}" y="22" font-weight="bold" {_TEXT}>{told}</text>{"".join(drawn)}</svg>'
    )


def _grid(start: float, span: float, y: Height) -> list[str]:
    ticks = [start + span * place / _LINES for place in range(_LINES + 1)]
    return [
        f'<path d="M{_LEFT} {y(tick)}H{_WIDTH - _RIGHT}" stroke-opacity=".15"/>'
        f'<text x="{_LEFT - 8}" y="{y(tick) + 4}" text-anchor="end" {_TEXT}>{tick:.4g}</text>'
        for tick in ticks
    ]


def _marks(marks: Sequence[Mark], xs: Sequence[float], y: Height) -> list[str]:
    drawn = []
    for mark, x in zip(marks, xs, strict=True):
        colour = _COLOURS.get(mark.word, _ALARM) if mark.word else "currentColor"
        drawn.append(
            f'<path d="M{x} {y(mark.low)}V{y(mark.high)}" stroke="{colour}" stroke-width="5" '
            'stroke-opacity=".45" stroke-linecap="round"/>'
        )
        if mark.value is not None:
            drawn.append(
                f'<circle cx="{x}" cy="{y(mark.value)}" r="5" fill="{colour}" stroke="none"/>'
            )
        if mark.word:
            drawn.append(
                f'<text x="{x}" y="{y(mark.high) - 8}" text-anchor="middle" fill="{colour}" '
                f'stroke="none">{escape(mark.word)}</text>'
            )
    return drawn


def _names(marks: Sequence[Mark], xs: Sequence[float]) -> list[str]:
    every = -(-len(marks) // _MOST_NAMES)  # the last one always has its name
    return [
        f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 22}" text-anchor="middle" {_TEXT}>'
        f"{escape(mark.name)}</text>"
        for place, (mark, x) in enumerate(zip(marks, xs, strict=True))
        if (len(marks) - 1 - place) % every == 0
    ]


def _told(mark: Mark) -> str:
    value = "not known" if mark.value is None else f"{mark.value:.3f}"
    said = f", {mark.word}" if mark.word else ""
    return f"{mark.name}: {value}, from {mark.low:.3f} to {mark.high:.3f}{said}"
