"""The coverage study's pictures: all cells by metric, and heat maps of the grid."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.core.types import Floats
from assay.simulation import new_figure, save_figure
from studies.coverage.extent import Part
from studies.coverage.populations import SHAPES
from studies.coverage.result import Result
from studies.coverage.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPREAD = 0.05  # of the coverage's colours, either side of the confidence
_MOST = 3.0  # times the limit; all above has the same colour
_FAINT, _GOOD, _BAD = "#bbbbbb", "#4477aa", "#cc3311"
_CONFIDENCE, _TARGET = 0.95, 0.945
_LEAST_SHOWN = 0.8  # all below is drawn here
_COLUMN, _STEP, _ROOM = 0.001, 0.06, 0.36  # dots in a column move aside by a step, in their room


@dataclass(frozen=True)
class _Measure:
    """What a map shows of a cell, how it is written, and its colours."""

    value: Callable[[Row], float]
    written: Callable[[float], str]
    colours: str
    low: float
    high: float
    legend: str
    marks: bool = False


def draw(result: Result, folder: Path) -> list[Path]:
    """Draw the maps that there are rows for, and return the files."""
    files = []
    grid = result.of(Part.GRID)
    if grid:
        coverage = _coverage(grid[0].confidence)
        files += save_figure(_by_shape(grid, coverage), folder, "coverage-grid")
        files += save_figure(_by_shape(grid, _LABELS), folder, "coverage-labels")
    cells = [row for row in result.ours if row.confidence == _CONFIDENCE]
    if cells:
        files += save_figure(_by_metric(cells), folder, "coverage-metrics")
    return files


def _coverage(confidence: float) -> _Measure:
    return _Measure(
        value=lambda row: row.right,
        written=lambda share: f"{share:.3f}".lstrip("0"),
        colours="RdBu",
        low=confidence - _SPREAD,
        high=confidence + _SPREAD,
        legend=f"share of right runs (framed: below {confidence:g} − 2 se)",
        marks=True,
    )


_LABELS = _Measure(
    value=lambda row: row.against_limit or np.nan,
    written=lambda ratio: f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}",
    colours="YlOrBr",
    low=1.0,
    high=_MOST,
    legend="labels / limit of designs by score",
)


def _by_shape(rows: Sequence[Row], measure: _Measure) -> "Figure":
    """Draw a panel a shape: precision down, delta across."""
    deltas = sorted({row.delta for row in rows})
    precisions = sorted({round(row.value, 6) for row in rows})
    width, height = 1.2 + 0.55 * len(deltas), 0.9 + 0.3 * len(precisions)
    figure, panels = new_figure(columns=3, rows=2, width=width, height=height)
    for number, (shape, axes) in enumerate(zip(SHAPES, panels, strict=True)):
        cells = {
            (precisions.index(round(row.value, 6)), deltas.index(row.delta)): row
            for row in rows
            if row.population == shape
        }
        image = _map(axes, cells, measure, (len(precisions), len(deltas)))
        axes.set_title(shape, loc="left")
        axes.set_xticks(range(len(deltas)), [f"±{delta:g}" for delta in deltas])
        axes.set_yticks(range(len(precisions)), [f"{each:g}" for each in precisions])
        if number % 3 == 0:
            axes.set_ylabel("true precision")
        if number >= 3:
            axes.set_xlabel("half-width to stop at")
    _legend(figure, image, panels, measure)
    return figure


def _by_metric(rows: Sequence[Row]) -> "Figure":
    """Draw a dot a cell, a line a metric; what is right too seldom stands out."""
    kinds = list(dict.fromkeys(row.kind for row in rows))
    figure, (axes,) = new_figure(width=7.5, height=1.2 + 0.75 * len(kinds))
    for place, kind in enumerate(kinds):
        mine = sorted((row for row in rows if row.kind == kind), key=lambda row: row.right)
        right = np.maximum([row.right for row in mine], _LEAST_SHOWN)
        height = place + _swarm(right)
        for fails in (False, True):
            chosen = np.array([row.fails == fails for row in mine])
            axes.scatter(
                right[chosen],
                height[chosen],
                s=22 if fails else 9,
                color=_BAD if fails else _GOOD,
                alpha=1.0 if fails else 0.55,
                linewidths=0,
                zorder=3 if fails else 2,
            )
    axes.axvline(_TARGET, color="black", lw=0.9)
    axes.axvline(_CONFIDENCE, color=_FAINT, lw=0.9, ls="--", zorder=0)
    axes.text(_TARGET, -0.62, "0.945 ", ha="right", va="center", fontsize=8)
    counts = [sum(row.kind == kind for row in rows) for kind in kinds]
    names = [kind.replace("_", " ").replace("f1", "F1") for kind in kinds]
    axes.set_yticks(
        range(len(kinds)),
        [f"{name}\n{count} cells" for name, count in zip(names, counts, strict=True)],
    )
    axes.set_ylim(len(kinds) - 0.4, -0.75)
    least = min(row.right for row in rows)
    axes.set_xlim(max(min(least - 0.005, 0.93), _LEAST_SHOWN - 0.005), 1.003)
    axes.set_xlabel("share of runs that were right, a dot a cell")
    axes.grid(visible=False, axis="y")
    if any(row.fails for row in rows):
        axes.scatter([], [], s=22, color=_BAD, label="fails: share + 2 se < 0.945")
        axes.legend(loc="lower left", frameon=False)
    return figure


def _swarm(values: Floats) -> Floats:
    """Return how far each dot is moved aside, so that those of about the same value are all seen.

    Examples
    --------
    >>> _swarm(np.array([0.94, 0.9501, 0.9502, 0.9503]))
    array([ 0.  ,  0.  ,  0.06, -0.06])
    """
    aside = np.zeros(len(values))
    column = np.round(values / _COLUMN).astype(np.int64)
    for each in np.unique(column):
        here = np.flatnonzero(column == each)
        order = np.arange(here.size)
        step = min(_STEP, 2 * _ROOM / max(here.size, 1))
        aside[here] = step * ((order + 1) // 2) * np.where(order % 2, 1, -1)
    return aside + 0.0  # no -0


def _map(
    axes: "Axes", cells: dict[tuple[int, int], Row], measure: _Measure, shape: tuple[int, int]
) -> Any:
    """Colour the cells and write their values; what was not run stays white."""
    from matplotlib.patches import Rectangle

    values: Floats = np.full(shape, np.nan)
    for place, row in cells.items():
        values[place] = measure.value(row)
    image = axes.imshow(
        values, cmap=measure.colours, vmin=measure.low, vmax=measure.high, aspect="auto"
    )
    middle, half = (measure.low + measure.high) / 2, (measure.high - measure.low) / 2
    for (down, across), row in cells.items():
        value = measure.value(row)
        # Colours are dark at the far ends: both of a diverging map, the upper of the others.
        depth = abs(value - middle) / half if measure.marks else (value - middle) / half
        axes.text(
            across,
            down,
            measure.written(value),
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if depth > 0.6 else "black",
        )
        if measure.marks and value < row.confidence - 2 * row.right_se:
            corner = (across - 0.46, down - 0.44)
            axes.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, edgecolor="black", lw=1.6))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return image


def _legend(figure: "Figure", image: Any, panels: Sequence["Axes"], measure: _Measure) -> None:
    bar = figure.colorbar(
        image, ax=panels, location="bottom", shrink=0.7, aspect=40, extend="both", pad=0.02
    )
    bar.set_label(measure.legend)
    bar.outline.set_edgecolor(_FAINT)
