"""The picture: its lines lead back to the numbers, by the numbers at its edges."""

import re

import numpy as np
import pytest

from assay.report.charts import Curve, draw_curve
from assay.results import SIDE
from assay.results.progress import HistoryPoint

POINTS = [
    HistoryPoint(20 * k, 0.8 + 0.1 * np.sin(k) / k, 0.8 - 0.5 / k**0.5, min(0.8 + 0.4 / k**0.5, 1))
    for k in range(1, 30)
]


def back(curve: Curve, path: str) -> list[tuple[float, float]]:
    """Return the labels and shares that a path goes through."""
    left, right = (float(curve.across[end].replace(",", "")) for end in (0, -1))
    top, bottom = (float(curve.upwards[end]) for end in (0, -1))
    return [
        (left + float(x) / SIDE * (right - left), top - float(y) / SIDE * (top - bottom))
        for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)
    ]


def drawn(**goal: float) -> Curve:
    curve = draw_curve(POINTS, **goal)
    assert curve is not None
    return curve


def test_the_lines_lead_back_to_the_points() -> None:
    curve = drawn(within=0.05)
    line = back(curve, curve.line)
    assert [labels for labels, _ in line] == pytest.approx(
        [point.labels for point in POINTS], abs=0.1
    )
    late = [point for point in POINTS if point.labels >= POINTS[-1].labels / 8]
    assert [share for _, share in line[-len(late) :]] == pytest.approx(
        [point.value for point in late], abs=2e-3
    )
    upper = back(curve, curve.band)[: len(POINTS)]
    lower = back(curve, curve.band)[len(POINTS) :][::-1]
    assert [share for _, share in upper[-len(late) :]] == pytest.approx(
        [point.high for point in late], abs=2e-3
    )
    assert [share for _, share in lower[-len(late) :]] == pytest.approx(
        [point.low for point in late], abs=2e-3
    )
    # Upside down, as SVG counts, would be noticed.
    assert upper[-1][1] > line[-1][1] > lower[-1][1]


def test_the_goal_is_drawn_around_what_is_known_now() -> None:
    now = POINTS[-1].value or 0.0
    curve = drawn(within=0.05)
    heights = [share for _, share in back(curve, curve.goal)]
    assert heights == pytest.approx([now - 0.05] * 2 + [now + 0.05] * 2, abs=2e-3)
    limit = drawn(at_least=0.9)
    assert [share for _, share in back(limit, limit.goal)] == pytest.approx([0.9] * 2, abs=2e-3)
    assert drawn().goal == ""


@pytest.mark.parametrize("low", [-0.03, 0.0, 0.5, 0.93, 0.999])
@pytest.mark.parametrize("width", [0.0, 0.001, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("labels", [1, 7, 99, 1000, 123_456])
def test_edges_are_round_and_hold_what_is_late(low: float, width: float, labels: int) -> None:
    high = min(low + width, 1.0)
    points = [HistoryPoint(labels + k, (low + high) / 2, low, high) for k in range(2)]
    curve = draw_curve(points, within=0.02)
    assert curve is not None
    top, bottom = float(curve.upwards[0]), float(curve.upwards[-1])
    assert bottom <= low + 1e-3
    assert top >= high - 1e-3
    assert -1 <= bottom < top <= 1
    assert 2 <= len(curve.upwards) <= 6
    assert 2 <= len(curve.across) <= 6
    assert len(set(curve.upwards)) == len(curve.upwards)
    steps = np.diff([float(text) for text in curve.upwards])
    assert steps == pytest.approx([steps[0]] * len(steps))
    assert all(0 <= float(y) <= SIDE for _, y in re.findall(r"([\d.-]+),([\d.-]+)", curve.band))


def test_nothing_is_drawn_of_nothing() -> None:
    assert draw_curve([]) is None
    assert draw_curve(POINTS[:1]) is None
    assert draw_curve([HistoryPoint(0, None, 0, 1), HistoryPoint(3, None, 0, 1)]) is None


def test_many_rounds_make_a_small_picture() -> None:
    many = [HistoryPoint(k, 0.5, 0.4, 0.6) for k in range(1, 20_000)]
    curve = draw_curve(many)
    assert curve is not None
    assert len(curve.line) < 5000
    assert len(curve.rows) == 12
    assert curve.rows[-1] == many[-1]
