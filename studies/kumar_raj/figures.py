"""Paper 2's figures, each with what it leaves out: the errors that the runs really made."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.simulation import new_figure
from assay.simulation import save_figure as save
from studies.kumar_raj.cells import (
    ADAPTIVE,
    ALLOCATIONS,
    ALLOCATIONS_BY_BINS,
    EXAMPLE_LABELS,
    EXAMPLE_SETTING,
    EXAMPLE_STRATA,
    FIRST_ROUNDS,
    STRATA,
    Facts,
    Row,
    Setting,
    random_mae,
    smoothed,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Lines = Mapping[str, Sequence[Row]]

_MVR = ("mvr", "estimated variance (MVR)")
_VARIANCE = ("variance_ratio", "true variance")
_ERROR = ("error_ratio", "true squared error")
_WIDTH, _HEIGHT = 4.0, 2.5
_TICKS = (60, 100, 200, 500, 1000)


def draw(
    populations: Sequence[Facts], classifiers: Sequence[Facts], rows: Sequence[Row], folder: Path
) -> list[Path]:
    """Draw every figure into the folder, as SVG and PNG, and return the files.

    `populations`, `classifiers`: the populations, and the classifiers of the real ones; `rows`:
    what was measured.
    """
    figures: dict[str, Figure] = {
        **{_file(each.name): _by_labels(populations, rows, each) for each in ALLOCATIONS},
        "bins": _by_bins(populations, rows),
        "first-round": _adaptive(populations, rows, FIRST_ROUNDS),
        "first-round-smoothed": _adaptive(populations, rows, smoothed(FIRST_ROUNDS)),
        "opt-a1-opt-a2": _adaptive(populations, rows, ADAPTIVE),
        "opt-a1-opt-a2-smoothed": _adaptive(populations, rows, smoothed(ADAPTIVE)),
        "accuracy": _by_accuracy(classifiers, rows, EXAMPLE_SETTING),
        "accuracy-smoothed": _by_accuracy(classifiers, rows, *smoothed([EXAMPLE_SETTING])),
    }
    return [
        file
        for name, figure in figures.items()
        for file in save(figure, folder, f"kumar-raj-{name}")
    ]


def _by_labels(populations: Sequence[Facts], rows: Sequence[Row], setting: Setting) -> "Figure":
    """Draw Figures 2, 4 and 6: the errors and the ratios of every stratification."""
    adaptive = setting.first_per_stratum is not None
    measures = (_MVR, _ERROR) if adaptive else (_MVR,)  # without adaptation the two are one
    count = len(populations)
    figure, axes = new_figure(count, 1 + len(measures), width=_WIDTH, height=_HEIGHT)
    for column, facts in enumerate(populations):
        lines = {strata.upper(): _where(rows, facts.name, setting, strata) for strata in STRATA}
        _errors(axes[column], facts, lines)
        for place, measure in enumerate(measures, start=1):
            _ratios(axes[place * count + column], facts, lines, measure)
    return _finished(figure, axes, f"{_name(setting)}, K = {setting.bins}")


def _by_bins(populations: Sequence[Facts], rows: Sequence[Row]) -> "Figure":
    """Draw Figures 3 and 5: the ratio against the number of strata."""
    count = len(populations)
    figure, axes = new_figure(count, 2, width=_WIDTH, height=_HEIGHT)
    for place, how in enumerate(("pro", "equ")):
        settings = [each for each in ALLOCATIONS_BY_BINS if each.allocation == how]
        for column, facts in enumerate(populations):
            axis = axes[place * count + column]
            for strata in STRATA:
                found = [
                    row
                    for setting in settings
                    for row in _where(rows, facts.name, setting, strata)
                    if row.labels == EXAMPLE_LABELS
                ]
                axis.plot(
                    [row.bins for row in found], [row.mvr for row in found], label=strata.upper()
                )
            _random_and_limit(axis, facts)
            axis.set_title(f"{_title(facts)}: {how.upper()}", loc="left")
            axis.set_xlabel("strata K")
            axis.set_ylabel(_MVR[1])
    return _finished(figure, axes, f"{EXAMPLE_LABELS} labels")


def _adaptive(
    populations: Sequence[Facts], rows: Sequence[Row], settings: Sequence[Setting]
) -> "Figure":
    """Draw Figures 7 and 8: what the first round and the step do to the ratios."""
    count, measures = len(populations), (_MVR, _VARIANCE, _ERROR)
    figure, axes = new_figure(count, len(measures), width=_WIDTH, height=_HEIGHT)
    for column, facts in enumerate(populations):
        lines = {
            _name(setting): _where(rows, facts.name, setting, EXAMPLE_STRATA)
            for setting in settings
        }
        for place, measure in enumerate(measures):
            _ratios(axes[place * count + column], facts, lines, measure)
    return _finished(figure, axes, f"{EXAMPLE_STRATA.upper()}, K = {EXAMPLE_SETTING.bins}")


def _by_accuracy(classifiers: Sequence[Facts], rows: Sequence[Row], setting: Setting) -> "Figure":
    """Draw Figure 9: three classifiers of different accuracy."""
    measures = (_MVR, _VARIANCE, _ERROR)
    figure, axes = new_figure(len(measures), width=_WIDTH, height=_HEIGHT + 0.5)
    lines = {
        _title(facts): _where(rows, facts.name, setting, EXAMPLE_STRATA) for facts in classifiers
    }
    for axis, measure in zip(axes, measures, strict=True):
        _ratios(axis, None, lines, measure)
    title = f"{EXAMPLE_STRATA.upper()}, {_name(setting)}, K = {setting.bins}"
    return _finished(figure, axes, title)


def _where(rows: Sequence[Row], population: str, setting: Setting, strata: str) -> list[Row]:
    wanted = (population, setting, strata)
    return [row for row in rows if (row.population, row.setting, row.strata) == wanted]


def _errors(axis: "Axes", facts: Facts, lines: Lines) -> None:
    """Draw mean absolute errors against labels, with random sampling's."""
    for name, found in lines.items():
        axis.plot([row.labels for row in found], [100 * row.mae for row in found], label=name)
    labels = np.arange(_TICKS[0], _TICKS[-1] + 1, dtype=np.float64)
    axis.plot(labels, 100 * random_mae(facts.accuracy, labels), "k--", label="random")
    axis.axhline(1.0, color="#999999", linewidth=0.8)
    axis.set_title(_title(facts), loc="left")
    axis.set_ylabel("mean absolute error, %")
    axis.set_ylim(bottom=0)
    _label_axis(axis)


def _ratios(axis: "Axes", facts: Facts | None, lines: Lines, measure: tuple[str, str]) -> None:
    """Draw a ratio to random sampling against labels."""
    field, words = measure
    for name, found in lines.items():
        axis.plot([row.labels for row in found], [getattr(row, field) for row in found], label=name)
    _random_and_limit(axis, facts)
    axis.set_title("" if facts is None else _title(facts), loc="left")
    axis.set_ylabel(words)
    _label_axis(axis)


def _random_and_limit(axis: "Axes", facts: Facts | None) -> None:
    axis.axhline(1.0, color="black", linestyle="--", label="random")
    if facts is not None:
        axis.axhline(facts.limit, color="black", linestyle=":", label="least possible by score")
    axis.set_ylim(bottom=0)


def _label_axis(axis: "Axes") -> None:
    axis.set_xscale("log")
    axis.set_xticks(_TICKS, [str(tick) for tick in _TICKS])
    axis.minorticks_off()
    axis.set_xlabel("labels n")


def _finished(figure: "Figure", axes: "Sequence[Axes]", title: str) -> "Figure":
    """Put the title above and one legend for all panels below."""
    figure.suptitle(title, x=0.01, ha="left")
    shown: dict[str, Artist] = {}
    for axis in axes:
        handles, names = axis.get_legend_handles_labels()
        shown.update(zip(names, handles, strict=True))
    figure.legend(
        list(shown.values()), list(shown), loc="outside lower center", ncols=5, frameon=False
    )
    return figure


def _title(facts: Facts) -> str:
    return f"{facts.name}, accuracy {facts.accuracy:.3f}"


def _name(setting: Setting) -> str:
    words = [setting.name]
    if setting.first_per_stratum is not None:
        words.append(f"first {setting.first_per_stratum}")
    if setting.round_size is not None:
        words.append(f"step {setting.round_size}")
    return ", ".join(words)


def _file(name: str) -> str:
    return name.lower().replace(" ", "-")
