"""Figures 2a and 2b of Bennett and Carvalho, and one that the paper does not have."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.core.types import Floats
from assay.experiments.bennett_carvalho.cells import BEST, RANDOM
from assay.experiments.bennett_carvalho.result import Average, Result
from assay.simulation import COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Designs keep their colour in all figures. equal-uni costs twice as much as random sampling; on
# the same axis the others could not be told apart.
_COLOURS = {
    "random": COLOURS[7],
    "equal-pps": COLOURS[5],
    "equal-opt": COLOURS[0],
    "perc-pps": COLOURS[4],
    "perc-opt": COLOURS[1],
}
_BIN = 0.1  # of precision
_CONFIDENCE = 0.95
_LABEL_TICKS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def savings_by_precision(result: Result, folder: Path) -> list[Path]:
    """Draw Figure 2a: relative and absolute savings against precision, each category and binned."""
    best, random = result.of(BEST), result.of(RANDOM)
    precision = np.array([cell.precision for cell in best])
    change = np.array([cell.row.change_pct for cell in best])
    labels = np.array([cell.row.labels_mean for cell in random])
    saved = labels - np.array([cell.row.labels_mean for cell in best])
    large = labels < np.array([cell.items for cell in best])
    figure, (left, right) = new_figure(columns=2, width=4.6, height=3.6)
    panels = (
        (
            left,
            change,
            "labels against random, %",
            f"relative (correlation {result.correlation():.2f})",
        ),
        (right, saved, "labels saved in a category", "absolute"),
    )
    colour = COLOURS[1]
    for axis, values, label, title in panels:
        middles, means = _binned(precision, values)
        axis.bar(middles, means, width=0.9 * _BIN, color=colour, alpha=0.3, label="mean of a bin")
        for which, inside, name in (
            (large, colour, "a category"),
            (~large, "white", "one with fewer items than labels"),
        ):
            if which.any():
                points = axis.plot(precision[which], values[which], "o", color=colour, label=name)
                points[0].set_markerfacecolor(inside)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set(xlabel="true precision", ylabel=label, title=title)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return save_figure(figure, folder, "bennett-carvalho-figure2a")


def labels_by_delta(result: Result, folder: Path) -> list[Path]:
    """Draw Figure 2b: labels, and their change against random sampling, as delta varies."""
    figure, (left, right) = new_figure(columns=2, width=4.6, height=3.6)
    categories = len(result.categories)
    _draw(left, result, lambda row: row.labels / categories)
    _draw(right, result, lambda row: row.change_pct)
    left.set(yscale="log", ylabel="labels, mean over the categories", title="labels")
    ticks = [tick for tick in _LABEL_TICKS if left.get_ylim()[0] <= tick <= left.get_ylim()[1]]
    left.set_yticks(ticks, labels=[f"{tick:,}" for tick in ticks])
    left.minorticks_off()
    right.set(ylabel="labels against random, %", title="against random sampling")
    _legend(figure, left)
    return save_figure(figure, folder, "bennett-carvalho-figure2b")


def certainty_by_delta(result: Result, folder: Path) -> list[Path]:
    """Draw what the paper does not: how often the estimate was right, and where it leans."""
    figure, (every, precise, bias) = new_figure(columns=3, width=3.5, height=3.6)
    _draw(every, result, lambda row: row.in_conf)
    _draw(precise, result, lambda row: row.in_conf, result.precise)
    _draw(bias, result, lambda row: 100 * row.bias, result.precise)
    for axis, wanted in ((every, _CONFIDENCE), (precise, _CONFIDENCE), (bias, 0.0)):
        axis.axhline(wanted, color="black", linestyle="--", linewidth=0.8)
    every.set(ylabel="share within delta of the truth", title="within delta: all categories")
    precise.set(title="within delta: precision above 0.8")
    every.sharey(precise)
    bias.set(ylabel="mean estimate − truth, points", title="bias: precision above 0.8")
    _legend(figure, every)
    return save_figure(figure, folder, "bennett-carvalho-certainty")


def _draw(
    axis: "Axes",
    result: Result,
    value: Callable[[Average], float],
    categories: Sequence[str] | None = None,
) -> None:
    """Draw one line a design against delta."""
    rows = [row for delta in result.deltas for row in result.averages(delta, categories)]
    for design, colour in _COLOURS.items():
        values = [value(row) for row in rows if row.design == design]
        axis.plot(result.deltas, values, "o-", color=colour, label=design)
    axis.set(xlabel="delta", xticks=result.deltas)


def _legend(figure: "Figure", axis: "Axes") -> None:
    handles = axis.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(_COLOURS))


def _binned(precision: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the middles of the bins of precision that hold a category, and the means in them."""
    place = np.floor(precision / _BIN).astype(np.int64)
    bins = np.unique(place)
    means = np.array([values[place == each].mean() for each in bins])
    return np.asarray((bins + 0.5) * _BIN), means
