"""Picture of a score's curve: metrics over thresholds, with their bands, as SVG."""

import json
from collections.abc import Sequence
from html import escape

from assay.report.html import blocks_of
from assay.results import (
    SIDE,
    CurvePoint,
    CurveValue,
    Figure,
    ThresholdCurve,
    distinct,
    metric_name,
    printable,
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
    """Position of a threshold, 0 to 1: the share of items below it."""
    return 1 - point.items / curve.points[0].items


def draw_thresholds(
    curve: ThresholdCurve,
    *,
    metrics: Sequence[str] = ("precision", "recall"),  # metrics to draw, if the curve has them
    mark: CurvePoint | None = None,  # a threshold to mark
    # Whether it is a picture by itself, on white, or in the colours of the page around it.
    on_paper: bool = True,
) -> str:
    """Curve as SVG, without script.

    Thresholds are spaced by number of items.
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
            outline = f"{path(name, high, shown)} {path(name, low, shown[::-1])}"
            drawn.append(
                f'<path d="M{outline}Z" fill="{colour}" fill-opacity="{faint}" stroke="none"/>'
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
    # A page may forbid inline styles: there it has a class.
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
    nearest = {}
    for place in places:
        at = min(range(len(shown)), key=lambda i: abs(along(curve, shown[i]) - place))
        nearest[at] = shown[at]
    marks = list(nearest.values())
    bottom = HEIGHT - BOTTOM
    drawn = []
    for point, text in zip(marks, distinct([each.threshold for each in marks]), strict=True):
        x = round(LEFT + along(curve, point) * (WIDTH - LEFT - RIGHT), 1)
        # A number at an edge would be cut off with large letters.
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
        "threshold (spaced by number of items)</text>"
    )
    return drawn


def curve_figures(curve: ThresholdCurve) -> tuple[Figure, ...]:
    """Pictures of precision and of recall, for a report."""
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
        key=(("line", "estimate"), ("band", "band for all thresholds together")),
        across=tuple(f"{point.threshold:.3g}" for point in ticks),
        upwards=tuple(f"{start + span * (1 - place / _TICKS):.4g}" for place in range(_TICKS + 1)),
        unit="threshold",
    )


# Curve with a movable threshold: a part of a page, and a page of its own.

_MOST_MOVED = 400  # thresholds to move over
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 60rem;
  padding: 0 1rem; }
h1 { font-size: 1.4rem; }
.curve-scroll, .table-box { overflow-x: auto; }
.curve-picture { display: block; font: 13px system-ui, sans-serif; height: auto; width: 100%;
  max-width: 50rem; }
.curve-move { box-sizing: border-box; max-width: 50rem;
  padding: 0 calc(min(100%, 50rem) * .024) 0 calc(min(100%, 50rem) * .066); }
.curve-at { font-weight: 600; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .8rem 0; }
th, td { padding: .2rem .9rem .2rem 0; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; }
caption { text-align: left; opacity: .75; padding-bottom: .3rem; }
input[type=range] { display: block; height: 2.75rem; width: 100%; }
li { opacity: .8; }
ul { padding-left: 1.2rem; }
@media (max-width: 40rem) {
  .curve-picture { font-size: 24px; }
  .curve th, .curve td { font-size: .8125rem; padding-right: .5rem; }
  .curve thead th, .curve td { white-space: normal; }
}
"""


def curve_part(curve: ThresholdCurve) -> str:
    """Picture, a slider over the thresholds, and the metrics at one of them.

    Every element but the slider has an end tag, so that a page may take it apart and escape every
    text again. It has no script: the page that shows it adds ``curve.js``, which finds the numbers
    in an attribute. Without a script the slider is hidden.
    """
    every = -(-len(curve) // _MOST_MOVED)
    last = len(curve) - 1
    points = [
        point
        for place, point in enumerate(curve)
        if place % every == 0 or place == last or point is curve.own
    ]
    here = points.index(curve.own) if curve.own is not None else len(points) // 2
    texts = distinct([point.threshold for point in points])
    cells_by_point = [
        [_cells(each) for each in (point.metrics[name] for name in curve.metrics)]
        for point in points
    ]
    rows = [
        [
            text,
            f"{point.share:.1%}",
            round(LEFT + along(curve, point) * (WIDTH - LEFT - RIGHT), 1),
            *cells,
        ]
        for point, text, cells in zip(points, texts, cells_by_point, strict=True)
    ]
    data = escape(json.dumps({"names": list(curve.metrics), "rows": rows}))
    now = points[here]
    body = "".join(
        f'<tr data-metric="{name}" data-word="{escape(metric_name(name))}">'
        f'<th scope="row">{escape(metric_name(name))}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells_by_point[here][place])
        + "</tr>"
        for place, name in enumerate(curve.metrics)
    )
    return (
        f'<div class="curve" data-curve="{data}">'
        f'<div class="curve-scroll">{draw_thresholds(curve, mark=now, on_paper=False)}</div>'
        '<div class="curve-move" hidden="hidden"><label for="threshold">Move the threshold</label>'
        f'<input id="threshold" type="range" min="0" max="{len(points) - 1}" value="{here}" '
        'step="1"/></div>'
        f'<p class="curve-at">Threshold {texts[here]}: yes to {now.share:.1%} of the items</p>'
        '<div class="curve-scroll" tabindex="0" role="region" aria-label="At this threshold">'
        '<table><thead><tr><th scope="col">metric</th>'
        '<th scope="col">estimate</th><th scope="col">interval here</th>'
        '<th scope="col">band everywhere</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div></div>"
    )


def _cells(value: CurveValue) -> list[str]:
    """Cells of a metric at a threshold: the estimate, its interval, and the band."""
    return [
        f"{value.value:.3f}",
        f"{value.low:.3f} to {value.high:.3f}",
        f"{value.band_low:.3f} to {value.band_high:.3f}",
    ]


def curve_page(curve: ThresholdCurve, name: str, script: str) -> str:
    """Self-contained page of a curve."""
    title = escape(printable(f"{name}: metrics by threshold"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"{curve_part(curve)}{blocks_of(curve.document().blocks)}"
        f'<script type="module">{script}</script></body></html>\n'
    )
