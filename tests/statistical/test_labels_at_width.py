"""The forecast of a campaign's labels, against campaigns that went on to their goals."""

from collections.abc import Callable

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.forecast import labels_at_width
from assay.core.goal import Goal
from assay.core.state import Look, State
from assay.core.types import Floats
from assay.simulation import Population
from assay.simulation.workers import Task

RUNS, WITHIN = 60, 0.03
Forecast = Callable[[float, float, float, float], float]


def half_way(items: int) -> tuple[Floats, Floats, Floats, float]:
    """Return the labels and half-widths of runs half-way, their labels in the end, and the items.

    They go on to a budget, so that the narrow ones do not end before the others.
    """
    rng = np.random.default_rng(5)
    score = rng.beta(4, 1, items)
    population = Population(y_true=rng.random(items) < score, y_score=score, threshold=0.5)
    frame = population.frame(Design(), "precision")
    labels: list[float] = []
    widths: list[Floats] = []
    drawn_from: list[float] = []

    def watch(state: State, look: Look) -> None:
        labels.append(float(state.tallies.answers[0]))
        widths.append(look.half_width)
        drawn_from.append(float(state.tallies.N[0].sum()))

    goal = Goal("precision", budget=min(900, items // 2))
    Task.of_one("default", frame, Design(), goal).replay(RUNS, key=[3], watch=watch)
    n, width = np.array(labels), np.array(widths)
    assert (width <= WITHIN).any(axis=0).all()
    final = n[(width <= WITHIN).argmax(axis=0)]
    place = np.searchsorted(n, final / 2)
    return n[place], width[place, np.arange(RUNS)], final, drawn_from[0]


def off_by(forecast: Forecast, items: int) -> tuple[float, float]:
    """Return between which multiples of the truth four forecasts in five lie."""
    n, width, final, drawn_from = half_way(items)
    told = [forecast(a, b, WITHIN, drawn_from) for a, b in zip(n, width, strict=True)]
    low, high = np.percentile(np.array(told) / final, [10, 90])
    return float(low), float(high)


@pytest.mark.parametrize("items", [1200, 20_000])
def test_half_way_the_forecast_is_near(items: int) -> None:
    low, high = off_by(labels_at_width, items)
    assert 0.85 < low < 1.05 < high < 1.3


def test_a_forecast_without_the_finite_correction_is_caught() -> None:
    low, _high = off_by(lambda n, width, within, _items: n * (width / within) ** 2, 1200)
    assert low > 1.1


def test_it_is_exact_where_the_error_is_a_random_samples() -> None:
    items, spread = 5000, 0.21

    def half_width(n: int) -> float:
        return float(1.96 * np.sqrt(spread * (1 / n - 1 / items)))

    assert labels_at_width(200, half_width(200), half_width(1300), items) == pytest.approx(1300)
    assert labels_at_width(200, half_width(200), 0.0, items) == pytest.approx(items)
