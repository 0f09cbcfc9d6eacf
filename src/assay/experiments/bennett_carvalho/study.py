"""Bennett and Carvalho, section 6: Table 1, Figures 2a and 2b, and how often they were right."""

from collections.abc import Callable, Sequence
from pathlib import Path

from assay.errors import InputError
from assay.experiments.bennett_carvalho import figures
from assay.experiments.bennett_carvalho.cells import BEST, DELTAS, RANDOM, measure
from assay.experiments.bennett_carvalho.result import PAPER, PAPER_CORRELATION, Result
from assay.experiments.data import arxiv15, generated_topics
from assay.experiments.tables import Table


def run(
    folder: Path | None = None,
    *,
    deltas: Sequence[float] = DELTAS,
    replications: int = 1000,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Run the paper's seven designs on every category for every delta.

    Parameters
    ----------
    folder : Path, optional
        Where arxiv15.parquet is, which stands in for the paper's ODP; otherwise 15 topics are
        generated.
    deltas : sequence of float
        Half-widths to stop at; Table 1 and Figure 2a are made of the smallest.
    replications : int
        Evaluations of each design on each category for each delta.
    seed : int
        Fixes all numbers.
    workers, progress
        As in `assay.simulation.run_tasks`.
    """
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
    files += figures.savings_by_precision(result, folder)
    files += figures.labels_by_delta(result, folder)
    files += figures.certainty_by_delta(result, folder)
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
        [
            _setting(result),
            f"Categories: {', '.join(categories)}.",
        ],
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
