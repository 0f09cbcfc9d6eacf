"""The coverage study's heat maps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay import plot
from assay.core.types import Floats
from assay.experiments.coverage_cells import Row
from assay.experiments.coverage_plan import Part
from assay.experiments.coverage_result import Result
from assay.experiments.coverage_shapes import SHAPES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

_SPREAD = 0.05  # of the coverage's colours, either side of the confidence
_MOST = 3.0  # times the limit; all above has the same colour
_FAINT = "#bbbbbb"


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
        files += plot.save(_by_shape(grid, coverage), folder, "coverage-grid")
        files += plot.save(_by_shape(grid, _LABELS), folder, "coverage-labels")
    real = [row for row in result.of(Part.REAL) if not row.replacement]
    if real:
        files += plot.save(_by_classifier(real), folder, "coverage-real")
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
    value=lambda row: row.against_limit,
    written=lambda ratio: f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}",
    colours="YlOrBr",
    low=1.0,
    high=_MOST,
    legend="labels / limit of designs by score",
)
_AGAINST_KNOWN = _Measure(
    value=lambda row: row.against_n_w,
    written=lambda ratio: f"{ratio:.2f}",
    colours="YlOrBr",
    low=0.2,
    high=1.4,
    legend="labels / n_W",
)


def _by_shape(rows: Sequence[Row], measure: _Measure) -> "Figure":
    """Draw a panel a shape: precision down, delta across."""
    deltas = sorted({row.delta for row in rows})
    precisions = sorted({round(row.value, 6) for row in rows})
    width, height = 1.2 + 0.55 * len(deltas), 0.9 + 0.3 * len(precisions)
    figure, panels = plot.new_figure(columns=3, rows=2, width=width, height=height)
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


def _by_classifier(rows: Sequence[Row]) -> "Figure":
    """Draw coverage and labels of each classifier: classifiers down, metric and delta across."""
    names = list(dict.fromkeys(row.population for row in rows))
    columns = sorted({(row.metric, row.delta) for row in rows}, reverse=True)
    width, height = max(1.6 + 0.62 * len(columns), 4.2), 1.2 + 0.24 * len(names)
    figure, panels = plot.new_figure(columns=2, width=width, height=height)
    cells = {
        (names.index(row.population), columns.index((row.metric, row.delta))): row for row in rows
    }
    for axes, measure in zip(panels, (_coverage(rows[0].confidence), _AGAINST_KNOWN), strict=True):
        image = _map(axes, cells, measure, (len(names), len(columns)))
        axes.set_xticks(range(len(columns)), [f"{metric}\n±{delta:g}" for metric, delta in columns])
        axes.tick_params(axis="x", labelsize=7)
        axes.set_yticks(range(len(names)), names)
        _legend(figure, image, [axes], measure)
    panels[1].set_yticklabels([])
    return figure


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
