"""Picture of a score's curve: metrics over thresholds, with their bands, as SVG."""

import json
from collections.abc import Iterator, Sequence
from html import escape

from assay.report.html import Html, blocks_of, element
from assay.report.plot import Plot, text
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

COLOURS = {"precision": "#3b82d6", "recall": "#e8590c", "f1": "#2f9e44", "specificity": "#8a63d2"}
"""Readable on white and on black."""

_MOST = 160  # thresholds that are drawn
_TICKS = 5
_DRAWN = ("precision", "recall")
_SHORT = 5  # letters that fit to the left of the axis


def along(curve: ThresholdCurve, point: CurvePoint) -> float:
    """Position of a threshold, 0 to 1: the share of items below it."""
    return 1 - point.items / curve.points[0].items


def draw_thresholds(
    curve: ThresholdCurve,
    *,
    mark: CurvePoint | None = None,  # a threshold to mark
    # Whether it is a picture by itself, on white, or in the colours of the page around it.
    on_paper: bool = True,
) -> Html:
    """Precision and recall as SVG, without script.

    Thresholds are spaced by number of items.
    """
    names = [name for name in _DRAWN if name in curve.metrics]
    shown, plot = _thinned(curve.points), _plot_of(curve)
    drawn = [*_key(names, plot), *plot.grid()]
    xs = [plot.x(along(curve, each)) for each in shown]

    def path(name: str, end: str) -> list[str]:
        ys = (plot.y(getattr(each.metrics[name], end)) for each in shown)
        return [f"{x},{y}" for x, y in zip(xs, ys, strict=True)]

    for name in names:
        for low, high, faint in (("band_low", "band_high", "0.16"), ("low", "high", "0.28")):
            ends = (*path(name, high), *path(name, low)[::-1])
            fill = {"fill": COLOURS[name], "fill_opacity": faint, "stroke": "none"}
            drawn.append(element("path", d=f"M{' '.join(ends)}Z", **fill))
    for name in names:
        line = f"M{' '.join(path(name, 'value'))}"
        drawn.append(element("path", d=line, stroke=COLOURS[name], stroke_width="2"))
    drawn += _axis(curve, shown, plot)
    if mark is not None:
        moved = f"translate({plot.x(along(curve, mark))} 0)"
        line = f"M0 {plot.top}V{plot.floor}"
        drawn.append(
            element("path", class_="mark", d=line, stroke_dasharray="5 4", transform=moved)
        )
    words = "; ".join(map(str, curve.chosen(5)))
    look = "curve-picture"
    return plot.svg(drawn, title=curve.headline, words=words, on_paper=on_paper, look=look)


def _plot_of(curve: ThresholdCurve) -> Plot:
    """Area that holds the bands of the metrics that are drawn."""
    values = (
        point.metrics[name]
        for point in _thinned(curve.points)
        for name in _DRAWN
        if name in curve.metrics
    )
    ends = [end for value in values for end in (value.band_low, value.band_high)]
    return Plot.of(ends, 340, (52, 740, 40, 282))


def _thinned(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    every = -(-len(points) // _MOST)
    return [*points[:-1:every], points[-1]]


def _key(names: Sequence[str], plot: Plot) -> Iterator[Html]:
    """Yield the names of the metrics, each with its colour."""
    left = plot.left
    for name in names:
        word = metric_name(name)
        yield element("path", d=f"M{left} 18h22", stroke=COLOURS[name], stroke_width="3")
        yield text(word, left + 28, 22)
        left += 60 + 13 * len(word)  # room for larger letters on a phone


def _axis(curve: ThresholdCurve, shown: Sequence[CurvePoint], plot: Plot) -> Iterator[Html]:
    """Yield marks at some thresholds, with their numbers."""
    marks = _evenly(curve, shown)
    for point, number in zip(marks, distinct([each.threshold for each in marks]), strict=True):
        x = plot.x(along(curve, point))
        # A number at an edge would be cut off with large letters.
        anchor, where = "middle", x
        if x > plot.width - 40:
            anchor, where = "end", plot.width - 2.0
        elif x == plot.left and len(number) > _SHORT:
            anchor, where = "start", 2.0
        yield element("path", d=f"M{x} {plot.floor}v5")
        yield text(number, where, plot.floor + 25, anchor=anchor)
    words = "threshold (spaced by number of items)"
    yield text(words, (plot.left + plot.edge) / 2, plot.height - 6, anchor="middle")


def _evenly(curve: ThresholdCurve, shown: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Thresholds nearest to even steps, each once."""
    places = [place / (_TICKS - 1) for place in range(_TICKS)]
    nearest = [
        min(range(len(shown)), key=lambda at: abs(along(curve, shown[at]) - place))
        for place in places
    ]
    return [shown[at] for at in dict.fromkeys(nearest)]


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


def curve_part(curve: ThresholdCurve) -> Html:
    """Picture, a slider over the thresholds, and the metrics at one of them.

    It has no script: the page that shows it adds ``curve.js``, which finds the numbers in an
    attribute. Without a script the slider is hidden.
    """
    points, plot = _moved_to(curve), _plot_of(curve)
    here = points.index(curve.own) if curve.own is not None else len(points) // 2
    texts, now = distinct([point.threshold for point in points]), points[here]
    rows = [
        [
            text,
            f"{point.share:.1%}",
            plot.x(along(curve, point)),
            *(_cells(point.metrics[name]) for name in curve.metrics),
        ]
        for point, text in zip(points, texts, strict=True)
    ]
    last = str(len(points) - 1)
    ends = {"min": "0", "max": last, "value": str(here), "step": "1"}
    label = element("label", "Move the threshold", for_="threshold")
    slider = element("input", id="threshold", type="range", **ends)
    words = f"Threshold {texts[here]}: yes to {now.share:.1%} of the items"
    return element(
        "div",
        element("div", draw_thresholds(curve, mark=now, on_paper=False), class_="curve-scroll"),
        element("div", label, slider, class_="curve-move", hidden="hidden"),
        element("p", words, class_="curve-at"),
        _metrics_at(curve, now),
        class_="curve",
        data_curve=json.dumps({"names": list(curve.metrics), "rows": rows}),
    )


def _moved_to(curve: ThresholdCurve) -> list[CurvePoint]:
    """Thresholds that the slider moves to."""
    every, last = -(-len(curve) // _MOST_MOVED), len(curve) - 1
    return [
        point
        for place, point in enumerate(curve)
        if place % every == 0 or place == last or point is curve.own
    ]


def _metrics_at(curve: ThresholdCurve, point: CurvePoint) -> Html:
    """Table of the metrics at a threshold, which the slider changes."""
    headings = ("metric", "estimate", "interval here", "band everywhere")
    rows = (
        element(
            "tr",
            element("th", metric_name(name), scope="row"),
            *(element("td", cell) for cell in _cells(point.metrics[name])),
            data_metric=name,
            data_word=metric_name(name),
        )
        for name in curve.metrics
    )
    head = element("tr", *(element("th", each, scope="col") for each in headings))
    table = element("table", element("thead", head), element("tbody", *rows))
    area = {"tabindex": "0", "role": "region", "aria_label": "At this threshold"}
    return element("div", table, class_="curve-scroll", **area)


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
