"""A score's curve on which one can move the threshold: a part of a page, and a page of its own."""

import json
from html import escape

from assay.report.html import blocks_of
from assay.report.threshold_chart import LEFT, RIGHT, WIDTH, along, draw_thresholds
from assay.results import CurveValue, ThresholdCurve, distinct, metric_name, printable

_MOST = 400  # thresholds to move over
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
    """Return the picture, a slider over the thresholds, and what is known at one of them.

    Every element but the slider has an end, so that a page may take it apart and escape every text
    again. It has no script of its own: the page that shows it adds ``curve.js``, which finds the
    numbers in an attribute. Without one the slider is hidden.
    """
    every = -(-len(curve) // _MOST)
    last = len(curve) - 1
    points = [
        point
        for place, point in enumerate(curve)
        if place % every == 0 or place == last or point is curve.own
    ]
    here = points.index(curve.own) if curve.own is not None else len(points) // 2
    texts = distinct([point.threshold for point in points])
    told = [
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
        for point, text, cells in zip(points, texts, told, strict=True)
    ]
    data = escape(json.dumps({"names": list(curve.metrics), "rows": rows}))
    now = points[here]
    body = "".join(
        f'<tr data-metric="{name}" data-word="{escape(metric_name(name))}">'
        f'<th scope="row">{escape(metric_name(name))}</th>'
        + "".join(f"<td>{cell}</td>" for cell in told[here][place])
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
    """Return a metric at a threshold: the estimate, its interval, and the band."""
    return [
        f"{value.value:.3f}",
        f"{value.low:.3f} to {value.high:.3f}",
        f"{value.band_low:.3f} to {value.band_high:.3f}",
    ]


def curve_page(curve: ThresholdCurve, name: str, script: str) -> str:
    """Return a page of its own, which needs nothing else."""
    title = escape(printable(f"{name}: the curve of its score"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"{curve_part(curve)}{blocks_of(curve.document().blocks)}"
        f'<script type="module">{script}</script></body></html>\n'
    )
