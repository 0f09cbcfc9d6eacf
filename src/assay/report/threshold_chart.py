"""The picture of a score's curve: metrics over thresholds, with their bands, as SVG."""

from collections.abc import Sequence
from html import escape

from assay.results import (
    SIDE,
    CurvePoint,
    CurveValue,
    Figure,
    ThresholdCurve,
    distinct,
    metric_name,
    stretch,
)

WIDTH, HEIGHT = 760, 340
LEFT, RIGHT, TOP, BOTTOM = 52, 20, 40, 58  # margins
COLOURS = {"precision": "#3b82d6", "recall": "#e8590c", "f1": "#2f9e44", "specificity": "#8a63d2"}
"""Readable on white and on black."""

_MOST = 160  # thresholds that are drawn
_TICKS = 5
_SHORT = 5  # letters that fit to the left of the axis
_TEXT = 'stroke="none" fill="currentColor"'


def along(curve: ThresholdCurve, point: CurvePoint) -> float:
    """Return how far a threshold is from the left, 0 to 1: the share of items below it."""
    return 1 - point.items / curve.points[0].items


def draw_thresholds(
    curve: ThresholdCurve,
    *,
    metrics: Sequence[str] = ("precision", "recall"),  # what is drawn, of those that the curve has
    mark: CurvePoint | None = None,  # a threshold to mark
    # Whether it is a picture of its own, on white, or in the colours of the page around it.
    on_paper: bool = True,
) -> str:
    """Return a curve as SVG, without script.

    Thresholds lie as far apart as there are items between them.
    """
    names = [name for name in metrics if name in curve.metrics]
    shown = _thinned(curve.points)
    ends = [
        end
        for point in shown
        for name in names
        for end in (point.metrics[name].band_low, point.metrics[name].band_high)
    ]
    start, span = stretch(min(ends), max(ends))

    def x(point: CurvePoint) -> float:
        return round(LEFT + along(curve, point) * (WIDTH - LEFT - RIGHT), 1)

    def y(share: float) -> float:
        return round(HEIGHT - BOTTOM - (share - start) / span * (HEIGHT - TOP - BOTTOM), 1)

    def path(name: str, end: str, points: Sequence[CurvePoint]) -> str:
        return " ".join(f"{x(each)},{y(_end(each.metrics[name], end))}" for each in points)

    drawn = [
        f'<path d="M{LEFT} {y(tick)}H{WIDTH - RIGHT}" stroke-opacity=".15"/>'
        f'<text x="{LEFT - 8}" y="{y(tick) + 4}" text-anchor="end" {_TEXT}>{tick:.4g}</text>'
        for tick in (start + span * place / _TICKS for place in range(_TICKS + 1))
    ]
    for name in names:
        colour = COLOURS[name]
        for low, high, faint in (("band_low", "band_high", 0.16), ("low", "high", 0.28)):
            around = f"{path(name, high, shown)} {path(name, low, shown[::-1])}"
            drawn.append(
                f'<path d="M{around}Z" fill="{colour}" fill-opacity="{faint}" stroke="none"/>'
            )
    for name in names:
        line = path(name, "value", shown)
        drawn.append(f'<path d="M{line}" stroke="{COLOURS[name]}" stroke-width="2"/>')
    drawn += _axis(curve, shown)
    if mark is not None:
        drawn.append(
            f'<path class="mark" d="M0 {TOP}V{HEIGHT - BOTTOM}" stroke-dasharray="5 4" '
            f'transform="translate({x(mark)} 0)"/>'
        )
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff" stroke="none"/>'
    # A page may forbid styles that stand in it: there it has a class.
    style = (
        'style="max-width:100%;height:auto;font:13px system-ui,sans-serif;color:#222"'
        if on_paper
        else 'class="curve-picture"'
    )
    title, words = escape(curve.headline), escape("; ".join(map(str, curve.chosen(5))))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" stroke="currentColor" fill="none" {style}>'
        f"<title>{title}</title><desc>{words}</desc>{ground if on_paper else ''}"
        f"{_key(names)}{''.join(drawn)}</svg>"
    )


def _end(value: CurveValue, name: str) -> float:
    return float(getattr(value, name))


def _thinned(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    every = -(-len(points) // _MOST)
    return [*points[:-1:every], points[-1]]


def _key(names: Sequence[str]) -> str:
    parts, left = [], LEFT
    for name in names:
        word = metric_name(name)
        parts.append(
            f'<path d="M{left} 18h22" stroke="{COLOURS[name]}" stroke-width="3"/>'
            f'<text x="{left + 28}" y="22" {_TEXT}>{escape(word)}</text>'
        )
        left += 60 + 13 * len(word)  # room for larger letters on a phone
    return "".join(parts)


def _axis(curve: ThresholdCurve, shown: Sequence[CurvePoint]) -> list[str]:
    places = [place / (_TICKS - 1) for place in range(_TICKS)]
    found = {}
    for place in places:
        at = min(range(len(shown)), key=lambda i: abs(along(curve, shown[i]) - place))
        found[at] = shown[at]
    marks = list(found.values())
    bottom = HEIGHT - BOTTOM
    drawn = []
    for point, text in zip(marks, distinct([each.threshold for each in marks]), strict=True):
        x = round(LEFT + along(curve, point) * (WIDTH - LEFT - RIGHT), 1)
        # A number at an edge would be cut off where letters are large.
        anchor, where = "middle", x
        if x > WIDTH - 2 * RIGHT:
            anchor, where = "end", WIDTH - 2.0
        elif x == LEFT and len(text) > _SHORT:
            anchor, where = "start", 2.0
        drawn.append(
            f'<path d="M{x} {bottom}v5"/><text x="{where}" y="{bottom + 25}" '
            f'text-anchor="{anchor}" {_TEXT}>{text}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    drawn.append(
        f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle" {_TEXT}>'
        "threshold, as far apart as there are items between</text>"
    )
    return drawn


def curve_figures(curve: ThresholdCurve) -> tuple[Figure, ...]:
    """Return a picture of precision and one of recall, for a report."""
    return tuple(_figure(curve, name) for name in curve.metrics if name in ("precision", "recall"))


def _figure(curve: ThresholdCurve, name: str) -> Figure:
    shown = _thinned(curve.points)
    values = [point.metrics[name] for point in shown]
    start, span = stretch(
        min(value.band_low for value in values), max(value.band_high for value in values)
    )

    def at(point: CurvePoint, share: float) -> str:
        return f"{along(curve, point) * SIDE:.1f},{(1 - (share - start) / span) * SIDE:.1f}"

    upper = [at(point, point.metrics[name].band_high) for point in shown]
    lower = [at(point, point.metrics[name].band_low) for point in reversed(shown)]
    line = [at(point, point.metrics[name].value) for point in shown]
    heights = [SIDE * place / _TICKS for place in range(_TICKS + 1)]
    places = [place / (_TICKS - 1) for place in range(_TICKS)]
    ticks = [min(shown, key=lambda each: abs(along(curve, each) - place)) for place in places]
    first, last = shown[0], shown[-1]
    return Figure(
        title=f"{metric_name(name)} by threshold".capitalize(),
        words=f"From {first.metrics[name]} where all of them are yes to {last.metrics[name]} at "
        f"the threshold {last.threshold:.6g}.",
        layers=(
            ("grid", "".join(f"M0,{height:.1f} {SIDE},{height:.1f}" for height in heights)),
            ("band", f"M{' '.join(upper + lower)}Z"),
            ("line", f"M{' '.join(line)}"),
        ),
        key=(("line", "estimate"), ("band", "band that holds at all thresholds at once")),
        across=tuple(f"{point.threshold:.3g}" for point in ticks),
        upwards=tuple(f"{start + span * (1 - place / _TICKS):.4g}" for place in range(_TICKS + 1)),
        unit="threshold",
    )
