"""Bennett and Carvalho, section 6: Table 1, Figures 2a and 2b, and how often they were right."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.core.types import Floats
from assay.errors import InputError
from assay.simulation import COLOURS, new_figure, save_figure
from studies.bennett_carvalho.cells import (
    BEST,
    DELTAS,
    PAPER,
    PAPER_CORRELATION,
    RANDOM,
    Average,
    Result,
    measure,
)
from studies.data import arxiv15, generated_topics
from studies.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def run(
    # Where arxiv15.parquet is, which stands in for the paper's ODP; otherwise 15 topics are
    # generated.
    folder: Path | None = None,
    *,
    # Half-widths to stop at; Table 1 and Figure 2a are made of the smallest.
    deltas: Sequence[float] = DELTAS,
    replications: int = 1000,  # evaluations of each design on each category for each delta
    seed: int = 1,  # fixes all numbers
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run the paper's seven designs on every category for every delta."""
    if replications < 2:
        raise InputError(f"replications must be at least 2, got {replications}")
    cells = measure(
        generated_topics(seed) if folder is None else arxiv15(folder),
        deltas=deltas,
        replications=replications,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    return Result(replications, seed, tuple(cells))


def write(result: Result, folder: Path) -> list[Path]:
    """Write Table 1, and the figures with their data; return the files."""
    files = _table_1(result, result.categories).write(folder, "bennett-carvalho-table1")
    if 0 < len(result.large) < len(result.categories):
        files += _table_1(result, result.large).write(folder, "bennett-carvalho-table1-large")
    files += _by_category(result).write(folder, "bennett-carvalho-figure2a")
    files += _by_delta(result).write(folder, "bennett-carvalho-figure2b")
    files += savings_by_precision(result, folder)
    files += labels_by_delta(result, folder)
    files += certainty_by_delta(result, folder)
    return files


def short_table(result: Result) -> Table:
    """Return Table 1 for a narrow screen, each figure as ours/paper's."""
    return Table(
        "Bennett and Carvalho, Table 1: ours/paper's",
        {
            "design": "",
            "InConf": ">",
            "%Change": ">",
            "%Oracle": ">",
            "Savings": ">",
            "covers": ".3f",
            "bias": "z.4f",
        },
        [
            (
                row.design,
                f"{row.in_conf:.2f}/{paper.in_conf:.2f}",
                f"{row.change_pct:.1f}/{paper.change_pct:.1f}",
                f"{row.oracle_pct:.1f}/{paper.oracle_pct:.1f}",
                f"{row.savings:.0f}/{paper.savings}",
                row.coverage,
                row.bias,
            )
            for row in result.averages()
            for paper in [PAPER[row.design]]
        ],
        [_setting(result), _correlation(result)],
    )


def _table_1(result: Result, categories: Sequence[str]) -> Table:
    return Table(
        f"Bennett and Carvalho, Table 1, over {len(categories)} categories",
        {
            "design": "",
            "InConf": ".3f",
            "InConf (paper)": ".2f",
            "%Change": ".1f",
            "%Change (paper)": ".1f",
            "differs from random": "",
            "%Oracle": ".1f",
            "%Oracle (paper)": ".1f",
            "Savings": ",.0f",
            "Savings (paper)": ",.0f",
            "coverage": ".3f",
            "bias": "z.4f",
        },
        [
            (
                row.design,
                row.in_conf,
                paper.in_conf,
                row.change_pct,
                paper.change_pct,
                row.significant,
                row.oracle_pct,
                paper.oracle_pct,
                row.savings,
                paper.savings,
                row.coverage,
                row.bias,
            )
            for row in result.averages(categories=categories)
            for paper in [PAPER[row.design]]
        ],
        [_setting(result), f"Categories: {', '.join(categories)}."],
    )


def _by_category(result: Result) -> Table:
    return Table(
        "Figure 2a: what perc-opt saves in each category",
        {
            "category": "",
            "items": ",",
            "precision": ".3f",
            "labels, random": ",.0f",
            "labels, perc-opt": ",.0f",
            "savings": ",.0f",
            "%Change": ".1f",
            "InConf": ".3f",
            "bias": "z.4f",
        },
        [
            (
                best.category,
                best.items,
                best.precision,
                random.row.labels_mean,
                best.row.labels_mean,
                random.row.labels_mean - best.row.labels_mean,
                best.row.change_pct,
                best.row.within,
                best.row.bias,
            )
            for best, random in zip(result.of(BEST), result.of(RANDOM), strict=True)
        ],
        [_correlation(result)],
    )


def _by_delta(result: Result) -> Table:
    return Table(
        "Figure 2b: delta varied",
        {
            "delta": ".2f",
            "design": "",
            "labels": ",.0f",
            "%Change": ".1f",
            "%Oracle": ".1f",
            "InConf": ".3f",
            "coverage": ".3f",
            "bias": "z.4f",
            "InConf, precise": ".3f",
            "bias, precise": "z.4f",
        },
        [
            (
                row.delta,
                row.design,
                row.labels,
                row.change_pct,
                row.oracle_pct,
                row.in_conf,
                row.coverage,
                row.bias,
                precise.in_conf,
                precise.bias,
            )
            for delta in result.deltas
            for row, precise in zip(
                result.averages(delta), result.averages(delta, result.precise), strict=True
            )
        ],
        [
            "Labels are sums over the categories; InConf, coverage and bias means over them. "
            f"`precise` are the categories of a precision above 0.8: {', '.join(result.precise)}."
        ],
    )


def _setting(result: Result) -> str:
    return (
        f"K = 4, delta = {result.deltas[0]:g} (paper: {DELTAS[0]:g}), alpha = 0.05, T = 2, two "
        f"labels a bin and round, with replacement; {result.replications:,} runs a design and "
        f"category, seed {result.seed}. Savings are sums over the categories, "
        "%Change and %Oracle compare sums; InConf, coverage and bias are means."
    )


def _correlation(result: Result) -> str:
    text = (
        f"Correlation of a category's precision and perc-opt's %Change: {result.correlation():.2f} "
        f"(paper: {PAPER_CORRELATION})"
    )
    if 2 < len(result.large) < len(result.categories):
        text += (
            f"; {result.correlation(result.large):.2f} in the {len(result.large)} categories that "
            "have more items than random sampling labels"
        )
    return f"{text}."


# Figures 2a and 2b of Bennett and Carvalho, and one that the paper does not have.


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
