"""Charts of a report as SVG paths: the narrowing interval, and reliability.

The page puts the numbers beside the square, evenly spaced, as separate text, so that they stay
readable on a phone.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from operator import attrgetter
from typing import Self

from assay.report.facts import Facts, Range, StratumFacts
from assay.results import SIDE, Column, Estimate, Figure, HistoryPoint, Table, stretch, thinned

_POINTS = 200  # at most; screens show no more
_ROWS = 12  # of the equivalent table
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_MOST_TICKS = 6


@dataclass(frozen=True)
class Curve:
    """Picture, as SVG paths and the numbers at its edges."""

    # band, line: interval and estimate.
    band: str
    line: str
    # Requested half-width around the current estimate, or the limit in question. Empty without
    # either.
    goal: str
    grid: str
    last: str  # a dot at the current estimate
    # across, upwards: numbers along the edges, evenly spaced from the left and from the top.
    across: tuple[str, ...]
    upwards: tuple[str, ...]
    rows: tuple[HistoryPoint, ...]  # the same as a table


def draw_curve(
    points: Sequence[HistoryPoint], *, within: float | None = None, at_least: float | None = None
) -> Curve | None:
    """Draw the points; None if there are fewer than two.

    `points`: ordered by labels; the last is the current state.
    """
    with_value = [point for point in points if point.value is not None and point.labels > 0]
    if len(with_value) < 2:
        return None
    shown, now = thinned(with_value, _POINTS), with_value[-1]
    goal = _goal(now, within, at_least)
    most = now.labels
    step_x = next(step for step in _whole_steps() if most / step <= _MOST_TICKS - 1)
    right = step_x * ceil(most / step_x)
    top, bottom, step_y = _stretch(shown, goal)

    def at(labels: float, share: float) -> str:
        x = labels / right * SIDE
        y = (top - min(max(share, bottom), top)) / (top - bottom) * SIDE
        return f"{x:.1f},{y:.1f}"

    across = [round(step_x * i) for i in range(round(right / step_x) + 1)]
    upwards = [top - step_y * i for i in range(round((top - bottom) / step_y) + 1)]
    upper = [at(point.labels, point.high) for point in shown]
    lower = [at(point.labels, point.low) for point in reversed(shown)]
    digits = 2 if step_y >= 0.01 else 3
    return Curve(
        band=f"M{' '.join(upper + lower)}Z",
        line=f"M{' '.join(at(point.labels, point.value or 0.0) for point in shown)}",
        goal="".join(f"M{at(0, share)} {at(right, share)}" for share in goal),
        grid="".join(f"M{at(0, share)} {at(right, share)}" for share in upwards),
        last=f"M{at(now.labels, now.value or 0.0)}h0",
        across=tuple(f"{labels:,}" for labels in across),
        upwards=tuple(f"{round(share, 6) + 0.0:.{digits}f}" for share in upwards),  # no "-0.00"
        rows=tuple(thinned(with_value, _ROWS)),
    )


def curve_of(
    estimate: Estimate, past: Sequence[HistoryPoint], *, at_least: float | None = None
) -> Curve | None:
    """Draw the history of an estimate; None if there is none.

    `past`: as `Campaign.history` has it; points as late as the estimate are left out.
    """
    if not past:
        return None
    now = HistoryPoint(estimate.labels, estimate.value, estimate.low, estimate.high)
    points = [*(point for point in past if point.labels < now.labels), now]
    return draw_curve(points, within=estimate.within, at_least=at_least)


def _goal(now: HistoryPoint, within: float | None, at_least: float | None) -> tuple[float, ...]:
    if at_least is not None:
        return (at_least,)
    if within is None or now.value is None:
        return ()
    return (now.value - within, now.value + within)


def _stretch(points: Sequence[HistoryPoint], goal: Sequence[float]) -> tuple[float, float, float]:
    """Top, bottom and step of the scale; early wide intervals may exceed it."""
    late = [point for point in points if point.labels >= points[-1].labels / 8] + list(points[-3:])
    least = -1.0 if min(point.low for point in points) < 0 else 0.0  # only differences are negative
    low = max(min(*(point.low for point in late), *goal), least)
    high = min(max(*(point.high for point in late), *goal), 1.0)
    for step in _STEPS:
        bottom, top = step * floor(low / step + 1e-9), step * ceil(high / step - 1e-9)
        if top - bottom <= step * (_MOST_TICKS - 1) + 1e-9:
            break
    if top - bottom < step / 2:  # nothing varies
        top, bottom = (top + step, bottom) if bottom <= least else (top, bottom - step)
    return top, bottom, step


def _whole_steps() -> Sequence[int]:
    return [digit * 10**power for power in range(12) for digit in (1, 2, 5)]


# Axis with evenly spaced round numbers.

_MOST_STEPS = 5  # between the numbers, at most
_TINY = 1e-9


@dataclass(frozen=True)
class Axis:
    """Range of an axis, in whole steps.

    >>> Axis.over([0.52, 0.7, 1.0]).texts
    ('0.5', '0.6', '0.7', '0.8', '0.9', '1.0')
    >>> Axis.over([-1.5, 2.5]).at(0.5)
    0.5
    """

    first: int
    last: int
    step: float

    @classmethod
    def over(cls, values: Iterable[float]) -> Self:
        """Shortest axis that holds all values."""
        given = list(values)
        low, high = min(given), max(given)
        width = (high - low) or abs(low) or 1.0
        power = 10.0 ** floor(log10(width / _MOST_STEPS))
        for step in (digit * power for digit in (1, 2, 5, 10, 20)):
            first, last = floor(low / step + _TINY), ceil(high / step - _TINY)
            if last - first <= _MOST_STEPS:
                break
        return cls(first, max(last, first + 1), step)

    @property
    def start(self) -> float:
        """Start of the axis."""
        return self.first * self.step

    @property
    def end(self) -> float:
        """End of the axis."""
        return self.last * self.step

    @property
    def values(self) -> tuple[float, ...]:
        """Numbers along the axis."""
        return tuple(self.step * place for place in range(self.first, self.last + 1))

    @property
    def texts(self) -> tuple[str, ...]:
        """Numbers along the axis, as text."""
        digits = max(0, -floor(log10(self.step) + _TINY))
        return tuple(f"{value + 0.0:,.{digits}f}" for value in self.values)

    def at(self, value: float) -> float:
        """Position of a value: 0 at the start, 1 at the end."""
        return (value - self.start) / (self.end - self.start)


# Reliability picture: a stratum's scores across, its rate upwards.

_RATE = attrgetter("rate")


def draw_reliability(facts: Facts) -> Figure | None:
    """Draw the strata with labels; None with fewer than two, or without a score."""
    seen = [_point(each, facts) for each in facts.strata if each.rate is not None]
    points = [point for point in seen if point is not None]
    if len(points) < 2 or not facts.variable:
        return None
    share = "correct" if facts.variable == "confidence" or facts.outcome == "correct" else "yes"
    across = Axis.over(end for point in points for range_ in point.ranges for end in range_)
    upwards = Axis.over(end for point in points for end in (point.low, point.high))

    def at(x: float, y: float) -> str:
        return f"{across.at(x) * SIDE:.1f},{(1 - upwards.at(y)) * SIDE:.1f}"

    def lines(ends: list[tuple[float, float, float, float]]) -> str:
        return "".join(f"M{at(x, y)} {at(to_x, to_y)}" for x, y, to_x, to_y in ends)

    key = [("dot", f"share of {share}"), ("whisker", "its interval"), ("span", "stratum")]
    layers = [("grid", lines([(across.start, y, across.end, y) for y in upwards.values]))]
    start, end = max(across.start, upwards.start), min(across.end, upwards.end)
    if facts.is_probability and start < end:
        key.append(("diagonal", "perfectly calibrated probability"))
        layers.append(("diagonal", lines([(start, start, end, end)])))
    spans = [(low, each.rate, high, each.rate) for each in points for low, high in each.ranges]
    layers += [
        ("span", lines(spans)),
        ("whisker", lines([(each.x, each.low, each.x, each.high) for each in points])),
        ("dot", "".join(f"M{at(each.x, each.rate)}h0" for each in points)),
    ]
    least, most = min(points, key=_RATE), max(points, key=_RATE)
    return Figure(
        title=f"{facts.variable.capitalize()} against the share of {share}",
        words=f"Of {len(points):,} strata with labels, the share of {share} reaches from "
        f"{least.rate:.3f} ({least.stratum}) to {most.rate:.3f} ({most.stratum}).",
        layers=tuple(layers),
        key=tuple(key),
        across=across.texts,
        upwards=upwards.texts[::-1],
        unit="mean rank of the scores" if facts.variable == "rank" else facts.variable,
    )


@dataclass(frozen=True)
class _Point:
    """Stratum in the picture: its range, and the position of its dot."""

    stratum: str
    ranges: tuple[tuple[float, float], ...]
    x: float
    rate: float
    low: float
    high: float


def _point(stratum: StratumFacts, facts: Facts) -> _Point | None:
    """Position of a stratum; None if nothing is known of its scores.

    Its dot is in the middle of its widest range. If an end of the scores is unknown, it is at the
    cut.
    """
    rate, low, high = (each or 0.0 for each in (stratum.rate, stratum.low, stratum.high))
    if facts.variable == "confidence" and stratum.said_yes is False:  # where a no is correct
        rate, low, high = 1 - rate, 1 - high, 1 - low
    ranges = [_known_ends(each, stratum.said_yes, facts) for each in stratum.ranges]
    drawn = [(ends[0], ends[-1]) for ends in ranges if ends]
    if not drawn:
        return None
    start, end = max(drawn, key=lambda ends: ends[1] - ends[0])
    return _Point(stratum.stratum, tuple(drawn), (start + end) / 2, rate, low, high)


def _known_ends(ends: Range, predicted_yes: bool | None, facts: Facts) -> list[float]:
    """Known ends of scores.

    A probability has ends of its own. Without a threshold, the first score of a predicted label is
    unknown.
    """
    least, most = ends
    if facts.is_probability:
        least = 0.0 if least is None and predicted_yes is not True else least
        most = 1.0 if most is None and predicted_yes is not False else most
    return [end for end in (least, most) if end is not None]


def figure_of(curve: Curve, estimate: Estimate) -> Figure:
    """Picture of a narrowing interval."""
    name, within = estimate.name, estimate.within
    first, last = curve.rows[0], curve.rows[-1]
    goal = "the limit in question" if within is None else f"±{within:g}, the goal"
    key = [("line", "estimate"), ("band", "interval")]
    return Figure(
        title=f"Interval of {name} by number of labels",
        words=f"From {first.low:.3f} to {first.high:.3f} after {first.labels:,} labels, from "
        f"{last.low:.3f} to {last.high:.3f} after {last.labels:,}.",
        layers=tuple(
            (each, path)
            for each in ("grid", "band", "goal", "line", "last")
            if (path := getattr(curve, each))
        ),
        key=(*key, ("goal", goal)) if curve.goal else tuple(key),
        across=curve.across,
        upwards=curve.upwards,
        unit="labels",
        table=Table(
            f"{name} by number of labels",
            tuple(map(Column, ("Labels", "Estimate", "From", "To"))),
            tuple(
                (
                    f"{point.labels:,}",
                    f"{point.value or 0.0:.3f}",
                    f"{point.low:.3f}",
                    f"{point.high:.3f}",
                )
                for point in curve.rows
            ),
        ),
    )


# Picture of a series: a dot and an interval for each period, and the floor.

_WIDTH, _HEIGHT = 760, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 24, 44, 52  # margins
_MOST_NAMES = 12  # of periods below the picture
_LINES = 5  # across, at least
_TEXT = 'stroke="none" fill="currentColor"'
_COLOURS = {"rose": "#2f9e44"}
_ALARM = "#e8590c"  # readable on white and on black, like the other


Height = Callable[[float], float]
"""Position of a share, from the top."""


@dataclass(frozen=True)
class Mark:
    """Period: its name, the estimate with its interval, and a remark if there is one."""

    name: str
    value: float | None
    low: float
    high: float
    word: str | None


def draw_trend(
    marks: Sequence[Mark], *, title: str, floor: float | None, on_paper: bool = True
) -> str:
    """Series as SVG.

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
    heading = escape(title)
    words = escape("; ".join(_description(mark) for mark in marks))
    ground = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff" stroke="none"/>'
    colour = "color:#222;" if on_paper else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" stroke="currentColor" fill="none" '
        f'style="max-width:100%;height:auto;font:13px system-ui,sans-serif;{colour}">'
        f"<title>{heading}</title><desc>{words}</desc>{ground if on_paper else ''}"
        f'<text x="{_LEFT}" y="22" font-weight="bold" {_TEXT}>{heading}</text>'
        f"{''.join(drawn)}</svg>"
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


def _description(mark: Mark) -> str:
    value = "not known" if mark.value is None else f"{mark.value:.3f}"
    word = f", {mark.word}" if mark.word else ""
    return f"{mark.name}: {value}, from {mark.low:.3f} to {mark.high:.3f}{word}"
