"""Figures of a simulation: labels by design, narrowing intervals, and remaining savings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.core.goal import Goal
from assay.core.types import percent
from assay.errors import MissingDependencyError, install
from assay.simulation.named_designs import SEVERAL_DESIGNS
from assay.simulation.rows import Simulation
from assay.simulation.second_opinion import AUX
from assay.simulation.sweeps import (
    FLOOR,
    LIMIT,
    AtThreshold,
    Curves,
    Question,
    Trajectory,
    budget_grid,
    labels_by_value,
    share_of_limit,
    variance_by_bins,
    variance_by_labels,
    widths_by_labels,
)

# Figures in one style, each saved as SVG and PNG. Needs the extra ``plot``.


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette for colour blindness; black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#000000")

_STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "svg.hashsalt": "assay",  # equal figures have equal files
}


def new_figure(
    columns: int = 1, rows: int = 1, *, width: float = 6.4, height: float = 4.0
) -> "tuple[Figure, Sequence[Axes]]":
    """Create a figure and its axes, row by row; `width` and `height` of one of them, in inches.

    >>> figure, (left, right) = new_figure(columns=2)
    >>> lines = left.plot([1, 2, 3], [3, 1, 2])
    """
    try:
        import matplotlib as mpl
        from cycler import cycler
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("pictures need matplotlib", hint=install("plot")) from None
    with mpl.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, [axis for row in axes for axis in row]


def save_figure(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write the finished figure as SVG and PNG into the folder, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    # Laid out once: matplotlib would repeat it for each file, and draw each twice for it.
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)
    files = [folder / f"{name}.svg", folder / f"{name}.png"]
    for file in files:
        figure.savefig(file, dpi=110, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


_GREY, _DARK = "#888888", "#222222"
_MOST_RATIO = 2.0


def draw(
    question: Question, result: Simulation, folder: Path, at_threshold: AtThreshold | None
) -> list[Path]:
    """Draw every figure that applies to the question, and return the files.

    `at_threshold`: returns the same items with another threshold; None without scores. A question
    for a threshold has ``share_of_best`` only. ``labels_by_value`` needs a target width and a
    metric that depends on the threshold. Several targets have ``labels_by_design`` only, and that
    only for a target width: with a budget alone all designs take the budget.
    """
    figures: dict[str, Figure] = {}
    if result.goal.threshold_for is not None:
        return _saved({"share_of_best": _share_of_best(result)}, folder)
    if not result.goal.single:
        if any(target.within is not None for target in result.goal.targets):
            figures["labels_by_design"] = _labels_by_design(result, result.goal)
        return _saved(figures, folder)
    question = replace(question, within=result.goal.within)  # the metric may have its own
    if question.within and question.metric != "prevalence" and at_threshold is not None:
        curves = labels_by_value(question, at_threshold)
        if curves.x.size > 1:
            figures["labels_by_value"] = _labels_by_value(question, curves)
    if any(AUX in row.design for row in result.rows) and question.within:
        figures["second_opinion"] = second_opinion_figure(question, result)
    grid = budget_grid(question, result)
    figures["half_width"] = _half_width(question, widths_by_labels(question, grid[-1]))
    if question.designs:
        middle = grid[len(grid) // 2]
        figures["variance_ratio"] = _variance_ratio(
            question,
            variance_by_labels(question, grid),
            variance_by_bins(question, middle),
            at=middle,
            limit=float(result.population["limit"]),
        )
        shares = share_of_limit(question, result)
        if shares:
            figures["share_of_limit"] = _share_of_limit(question, shares)
    return _saved(figures, folder)


def _saved(figures: "Mapping[str, Figure]", folder: Path) -> list[Path]:
    return [file for name, figure in figures.items() for file in save_figure(figure, folder, name)]


def _labels_by_value(question: Question, curves: Curves) -> "Figure":
    figure, (axes,) = new_figure()
    for name, labels in curves.y.items():
        marker = "" if name in (LIMIT, FLOOR) else "o"
        axes.plot(curves.x, labels, **_line(question, name), marker=marker, markersize=4)
    axes.set_title(f"Labels to ±{question.within:g}, by threshold", loc="left")
    axes.set_xlabel(f"true {_metric(question)} at the threshold")
    axes.set_ylabel("labels, mean")
    axes.set_ylim(bottom=0)
    _count_axis(axes, "y")
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _half_width(question: Question, paths: Mapping[str, Trajectory]) -> "Figure":
    figure, (axes,) = new_figure()
    for name, path in paths.items():
        style = _line(question, name)
        axes.plot(path.labels, path.mean, **style)
        axes.fill_between(path.labels, path.low, path.high, color=style["color"], alpha=0.15, lw=0)
    if question.within:
        axes.axhline(question.within, color=_DARK, lw=1, ls=":", label=f"±{question.within:g}")
    axes.set_title("Half-width by labels: mean and 90% of runs", loc="left")
    axes.set_xlabel("labels")
    axes.set_ylabel(f"half-width at {percent(question.confidence)}")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 2.5 * max(path.mean[-1] for path in paths.values()))
    _count_axis(axes, "x")
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def second_opinion_figure(question: Question, result: Simulation) -> "Figure":
    """Draw labels with and without second opinions; whiskers are 95% intervals of the means."""
    names = [row.design for row in result.rows]
    labels = np.array([row.labels_mean for row in result.rows])
    error = 1.96 * np.array([row.labels_se for row in result.rows])
    figure, (axes,) = new_figure(height=1.3 + 0.4 * len(names))
    colours = [_line(question, name.removesuffix(AUX))["color"] for name in names]
    bars = axes.barh(names, labels, xerr=error, color=colours, height=0.6)
    for bar, name in zip(bars, names, strict=True):
        bar.set_alpha(1.0 if AUX in name or name == "random" else 0.5)
    texts = [f"{each:,.0f}" for each in labels]
    for place, name in enumerate(names):
        if AUX in name:
            change = labels[place] / labels[names.index(name.removesuffix(AUX))] - 1
            texts[place] += f" ({change:+.0%})"
    axes.bar_label(bars, texts, padding=6)
    axes.set_xlim(0, 1.2 * float((labels + error).max()))
    axes.invert_yaxis()
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="y")
    axes.set_title(f"Labels to ±{question.within:g}, with and without second opinions", loc="left")
    axes.set_xlabel("labels, mean; in brackets: against the same design without")
    _count_axis(axes, "x")
    return figure


def _variance_ratio(
    question: Question, by_labels: Curves, by_bins: Curves, *, at: int, limit: float
) -> "Figure":
    figure, (left, right) = new_figure(columns=2, width=4.6)
    for axes, curves in ((left, by_labels), (right, by_bins)):
        for name, ratio in curves.y.items():
            axes.plot(curves.x, ratio, **_line(question, name), marker="o", markersize=4)
        axes.axhline(1, **_line(question, "random"))
        axes.axhline(limit, **_line(question, LIMIT))
    # Far above random sampling (many strata with few labels) the exact value is irrelevant.
    ratios = np.concatenate([[1.0], *by_labels.y.values(), *by_bins.y.values()])
    left.set_ylim(0, min(1.05 * float(np.nanmax(ratios)), _MOST_RATIO))
    left.set_title("Variance relative to random sampling", loc="left")
    left.set_xlabel("labels")
    left.set_ylabel("mean variance ratio")
    left.set_xscale("log")
    _count_axis(left, "x", list(by_labels.x))
    right.set_title(f"The same at {at:,} labels", loc="left")
    right.set_xlabel("strata for each predicted label")
    right.set_xticks(by_bins.x)
    right.sharey(left)
    handles, names = left.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False)
    return figure


def _share_of_limit(question: Question, shares: Mapping[str, float]) -> "Figure":
    figure, (axes,) = new_figure(height=1.3 + 0.4 * len(shares))
    percent = 100 * np.array(list(shares.values()))
    gained = np.maximum(percent, 0)
    colours = [_line(question, name)["color"] for name in shares]
    # The number stands beside the name, where neither a bar nor the limit can cover it.
    words = [f"{share:.0f}%" if share >= 0 else "worse than random" for share in percent]
    names = [f"{name}: {text}" for name, text in zip(shares, words, strict=True)]
    axes.barh(names, gained, color=colours, height=0.6)
    axes.axvline(100, color=_DARK, lw=1, ls="--", zorder=0)
    axes.invert_yaxis()
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, max(110, gained.max() + 15))
    axes.set_title("Share of the possible gain over random sampling", loc="left")
    axes.set_xlabel("% of the way to the limit of designs by score")
    return figure


def _share_of_best(result: Simulation) -> "Figure":
    """Draw the worth of the certified thresholds by budget, and how often one is certified."""
    figure, (left, right) = new_figure(columns=2, width=4.6)
    for place, name in enumerate(dict.fromkeys(row.design for row in result.rows)):
        rows = [row for row in result.rows if row.design == name]
        colour = _GREY if name == "random" else COLOURS[place - 1]
        for axes, what in ((left, "share_of_best"), (right, "certified")):
            shares = [getattr(row, what) or 0.0 for row in rows]
            axes.plot([row.budget for row in rows], shares, "o-", color=colour, label=name)
    left.set_title(f"{result.population['wanted'].capitalize()} over the best's", loc="left")
    right.set_title("Runs with a certified threshold", loc="left")
    for axes in (left, right):
        axes.set_xlabel("labels")
        axes.set_ylim(0, 1.02)
        axes.set_xscale("log")
        _count_axis(axes, "x", sorted({row.budget for row in result.rows}))
    handles, names = left.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False)
    return figure


def _line(question: Question, name: str) -> dict[str, Any]:
    """Style of a name's line, the same in every figure."""
    if name in (LIMIT, FLOOR):
        return {"label": name, "color": _DARK, "linestyle": "--" if name == LIMIT else ":"}
    if name == "random":
        return {"label": "random", "color": _GREY, "linestyle": "-"}
    place = list(question.designs).index(name)
    dashes = ("-", "-.", ":")[place // len(COLOURS) % 3]
    return {"label": name, "color": COLOURS[place % len(COLOURS)], "linestyle": dashes}


def _metric(question: Question) -> str:
    return question.metric.replace("_", " ")


def _count_axis(axes: "Axes", which: str, ticks: list[float] | None = None) -> None:
    """Format counts with separators, without scientific notation."""
    from matplotlib.ticker import NullLocator, StrMethodFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    if ticks is not None:
        axis.set_ticks(ticks)
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _labels_by_design(result: Simulation, goal: Goal) -> "Figure":
    """Draw labels by design and the share of runs within the half-width, by metric.

    The bars are the legend of the colours.
    """
    metrics = [each.metric for each in result.rows[0].metrics]
    height = 1.2 + 0.35 * max(len(metrics), len(result.rows))
    figure, (left, right) = new_figure(columns=2, width=5.2, height=height)
    names = [row.design for row in result.rows]
    labels = [row.labels_mean for row in result.rows]
    bars = left.barh(names, labels, color=[_colour(name) for name in names], height=0.6)
    left.bar_label(bars, [f"{each:,.0f}" for each in labels], padding=4)
    left.set_xlim(0, 1.15 * max(labels))
    left.set_title("Labels for all metrics together", loc="left")
    left.set_xlabel("labels, mean")
    left.xaxis.set_major_formatter("{x:,.0f}")
    left.invert_yaxis()
    left.grid(visible=False, axis="y")
    left.set_axisbelow(True)
    for place, row in enumerate(result.rows):
        hits = [(each.metric, each.within) for each in row.metrics if each.within is not None]
        # Slightly apart, as several designs often have equal shares.
        offset = 0.12 * (place - (len(names) - 1) / 2)
        heights = [metrics.index(metric) + offset for metric, _ in hits]
        shares = [share for _, share in hits]
        right.plot(shares, heights, "o", color=_colour(row.design), clip_on=False)
    right.axvline(goal.goals[0].confidence, color=_DARK, lw=1, ls="--", zorder=0)
    right.set_yticks(range(len(metrics)), metrics)
    right.set_ylim(len(metrics) - 0.5, -0.5)
    right.set_xlim(right=1.0)
    right.set_title("Runs within the goal", loc="left")
    right.set_xlabel("share of runs; dashed: requested confidence")
    return figure


def _colour(design: str) -> str:
    """Colour of a design, the same in every figure."""
    place = SEVERAL_DESIGNS.index(design) if design in SEVERAL_DESIGNS else len(SEVERAL_DESIGNS)
    return (_GREY, *COLOURS)[place]
