"""The picture of a simulation of several classifiers: what each design costs, and how it hits."""

from pathlib import Path

from assay.simulation import SEVERAL_DESIGNS, SeveralSimulation
from assay.simulation.plot import COLOURS, new_figure, save

_GREY, _DARK = "#888888", "#222222"


def draw_several(result: SeveralSimulation, folder: Path) -> list[Path]:
    """Draw labels by design beside the share of runs within the half-width, metric by metric.

    The bars tell the colours. Returns the files: ``labels_by_design`` as SVG and PNG; none where
    a budget is all that was given, as there is nothing to show but the budget.
    """
    if all(target.within is None for target in result.goal.targets):
        return []
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
        # A little apart, as several designs often hit alike.
        offset = 0.12 * (place - (len(names) - 1) / 2)
        heights = [metrics.index(metric) + offset for metric, _ in hits]
        shares = [share for _, share in hits]
        right.plot(shares, heights, "o", color=_colour(row.design), clip_on=False)
    right.axvline(result.goal.goals[0].confidence, color=_DARK, lw=1, ls="--", zorder=0)
    right.set_yticks(range(len(metrics)), metrics)
    right.set_ylim(len(metrics) - 0.5, -0.5)
    right.set_xlim(right=1.0)
    right.set_title("Runs that came as near as asked", loc="left")
    right.set_xlabel("share of runs; dashed: what was asked for")
    return save(figure, folder, "labels_by_design")


def _colour(design: str) -> str:
    """Return a design's colour, the same whatever it is drawn beside."""
    return (_GREY, *COLOURS)[SEVERAL_DESIGNS.index(design)]
