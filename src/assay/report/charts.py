"""Charts of a report as SVG paths: the narrowing interval, and reliability.

The page puts the numbers beside the square, evenly spaced, as separate text, so that they stay
readable on a phone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from operator import attrgetter
from typing import Self

from assay.report.facts import Facts, Range, StratumFacts
from assay.report.html import Html, element
from assay.report.plot import Plot, text
from assay.results import SIDE, Column, Estimate, Figure, HistoryPoint, Table, thinned

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
    points: tuple[tuple[float, HistoryPoint], ...]  # the drawn ones, by their place from the left


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
        points=tuple((round(point.labels / right * SIDE, 1), point) for point in shown),
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
        points=tuple(
            (x, f"{point.labels:,} labels: {point.value:.3f} [{point.low:.3f}, {point.high:.3f}]")
            for x, point in curve.points
        ),
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

_MOST_NAMES = 12  # of periods below the picture
_COLOURS = {"rose": "#2f9e44"}
_ALARM = "#e8590c"  # readable on white and on black, like the other


@dataclass(frozen=True)
class Mark:
    """Period: its name, the estimate with its interval, and a remark if there is one."""

    name: str
    value: float | None
    low: float
    high: float
    word: str | None

    def __str__(self) -> str:
        value = "not known" if self.value is None else f"{self.value:.3f}"
        word = f", {self.word}" if self.word else ""
        return f"{self.name}: {value}, from {self.low:.3f} to {self.high:.3f}{word}"

    def drawn(self, plot: Plot, x: float) -> Iterator[Html]:
        """Yield the interval, a dot and the remark."""
        colour = _COLOURS.get(self.word, _ALARM) if self.word else "currentColor"
        yield element(
            "path",
            d=f"M{x} {plot.y(self.low)}V{plot.y(self.high)}",
            stroke=colour,
            stroke_width="5",
            stroke_opacity=".45",
            stroke_linecap="round",
        )
        if self.value is not None:
            dot = {"cx": f"{x}", "cy": f"{plot.y(self.value)}", "r": "5"}
            yield element("circle", **dot, fill=colour, stroke="none")
        if self.word:
            yield text(self.word, x, plot.y(self.high) - 8, anchor="middle", fill=colour)


def draw_trend(
    marks: Sequence[Mark], *, title: str, floor: float | None, on_paper: bool = True
) -> Html:
    """Series as SVG.

    `marks`: the periods, oldest first.

    >>> svg = draw_trend([Mark("mon", 0.9, 0.88, 0.92, None)], title="precision", floor=None)
    >>> svg.startswith("<svg") and "script" not in svg
    True
    """
    shares = [end for mark in marks for end in (mark.low, mark.high)]
    plot = Plot.of([*shares, *([] if floor is None else [floor])], 320, (56, 736, 44, 268))
    drawn = [text(title, plot.left, 22, font_weight="bold"), *plot.grid()]
    every = -(-len(marks) // _MOST_NAMES)  # the last one always has its name
    for place, mark in enumerate(marks):
        x = plot.x((place + 0.5) / len(marks))
        drawn += mark.drawn(plot, x)
        if (len(marks) - 1 - place) % every == 0:
            drawn.append(text(mark.name, x, plot.floor + 22, anchor="middle"))
    if floor is not None:
        y = plot.y(floor)
        drawn.append(element("path", d=f"M{plot.left} {y}H{plot.edge}", stroke_dasharray="6 4"))
        drawn.append(text(f"floor {floor:g}", plot.edge, y - 5, anchor="end"))
    return plot.svg(drawn, title=title, words="; ".join(map(str, marks)), on_paper=on_paper)
