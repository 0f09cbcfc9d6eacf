"""The picture of an interval that narrows: where its lines run, in a square that a page stretches.

The page puts the numbers beside the square, evenly spaced, as text of its own: so they stay
readable on a phone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from assay.results.progress import HistoryPoint, thinned

SIDE = 1000  # of the square
_POINTS = 200  # at most; no screen shows more
_ROWS = 12  # of the table that says the same
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
_MOST_TICKS = 6


@dataclass(frozen=True)
class Curve:
    """A picture, as paths of SVG and the numbers at its edges.

    Attributes
    ----------
    band, line : str
        The interval and the estimate.
    goal : str
        The half-width that is wanted, around the estimate as it is now; or the limit that is asked
        about. Empty without either.
    grid : str
    last : str
        A dot at the estimate as it is now.
    across, upwards : tuple of str
        The numbers along the edges, evenly spaced from the left and from the top.
    rows : tuple of HistoryPoint
        The same for people who read, or hear, a table.
    """

    band: str
    line: str
    goal: str
    grid: str
    last: str
    across: tuple[str, ...]
    upwards: tuple[str, ...]
    rows: tuple[HistoryPoint, ...]


def draw_curve(
    points: Sequence[HistoryPoint], *, within: float | None = None, at_least: float | None = None
) -> Curve | None:
    """Draw the points, or return None where there are none to speak of.

    Parameters
    ----------
    points : sequence of HistoryPoint
        In the order of their labels; the last is where the campaign stands.
    within, at_least : float, optional
        The goal: a half-width, or a limit.
    """
    known = [point for point in points if point.value is not None and point.labels > 0]
    if len(known) < 2:
        return None
    shown, now = thinned(known, _POINTS), known[-1]
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
        rows=tuple(thinned(known, _ROWS)),
    )


def _goal(now: HistoryPoint, within: float | None, at_least: float | None) -> tuple[float, ...]:
    if at_least is not None:
        return (at_least,)
    if within is None or now.value is None:
        return ()
    return (now.value - within, now.value + within)


def _stretch(points: Sequence[HistoryPoint], goal: Sequence[float]) -> tuple[float, float, float]:
    """Return the top, the bottom and the steps between; what was early and wide may stick out."""
    late = [point for point in points if point.labels >= points[-1].labels / 8] + list(points[-3:])
    least = -1.0 if min(point.low for point in points) < 0 else 0.0  # only a difference is below 0
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
