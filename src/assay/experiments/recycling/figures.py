"""Paper 3's Figures 2 and 3."""

from pathlib import Path

import numpy as np

from assay.experiments.recycling.ensembles import ALGORITHMS, Ensembles
from assay.experiments.recycling.populations import MODELS
from assay.experiments.recycling.table1 import RATIOS, Table1
from assay.simulation import COLOURS, new_figure, save_figure

_SHOWN = (*ALGORITHMS, "joint")
_COLOURS = dict(zip(_SHOWN, (COLOURS[7], *COLOURS[:4]), strict=True))
_WIDTH = 0.15  # of a box; models stand at whole numbers


def draw(table1: Table1, figure2: Ensembles, folder: Path) -> list[Path]:
    """Draw both figures into the folder, and return the files."""
    return [*_boxes(figure2, folder), *_surface(table1, folder)]


def _boxes(figure2: Ensembles, folder: Path) -> list[Path]:
    """Draw Figure 2: one panel a measure, a group of boxes a model, a box an algorithm."""
    figure, panels = new_figure(columns=3, width=4.0, height=3.8)
    titles = {
        "savings": "(a) savings of labels, %",
        "error": "(b) error of the precision, %",
        "interval_error": "(c) largest error in the interval, %",
    }
    for panel, (measure, title) in zip(panels, titles.items(), strict=True):
        for place, (algorithm, runs) in enumerate(figure2.runs.items()):
            if measure == "savings" and algorithm == "random":
                continue  # it saves nothing
            boxes = panel.boxplot(
                getattr(runs, measure),
                positions=np.arange(len(MODELS)) + (place - 2) * 1.15 * _WIDTH,
                widths=_WIDTH,
                manage_ticks=False,
                flierprops={"markersize": 2, "markeredgecolor": _COLOURS[algorithm]},
                medianprops={"color": "black"},
                boxprops={"facecolor": _COLOURS[algorithm], "alpha": 0.6},
                patch_artist=True,
            )
            boxes["boxes"][0].set_label(algorithm)
        panel.set_xticks(np.arange(len(MODELS)), labels=[model.upper() for model in MODELS])
        panel.set(title=title)
    handles = panels[1].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(_SHOWN))
    return save_figure(figure, folder, "recycling-figure2")


def _surface(table1: Table1, folder: Path) -> list[Path]:
    """Draw Figure 3 as a map, and beside it by how much coordinated samples differ."""
    shape = (len(RATIOS), len(RATIOS))
    savings = np.array([row.savings_mean for row in table1.surface]).reshape(shape)
    coordinated = np.array([row.coordinated_mean for row in table1.surface]).reshape(shape)
    figure, (left, right) = new_figure(columns=2, width=4.8, height=4.0)
    filled = left.contourf(RATIOS, RATIOS, savings, levels=np.arange(0, 101, 10), cmap="viridis")
    figure.colorbar(filled, ax=left)
    left.set(title="mean savings of recycled samples, %")
    more = coordinated - savings
    largest = float(np.abs(more).max())
    mesh = right.pcolormesh(RATIOS, RATIOS, more, cmap="PuOr", vmin=-largest, vmax=largest)
    figure.colorbar(mesh, ax=right)
    right.set(title="coordinated less recycled, points")
    for panel in (left, right):
        panel.set(xlabel="child intersection ratio", ylabel="parent intersection ratio")
        panel.set_aspect("equal")
        panel.grid(visible=False)
    return save_figure(figure, folder, "recycling-figure3")
