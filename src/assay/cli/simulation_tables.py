"""Tables of a simulation in the terminal: the population, and a row for each design."""

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.output import console, emit, progress_bar, save_rows, say_saved, working
from assay.cli.render import facts
from assay.results import metric_name
from assay.simulation import (
    Ensemble,
    Question,
    Row,
    SeveralRow,
    SeveralSimulation,
    Simulation,
    Sizes,
    TargetRow,
    draw_several,
    simulate_several,
)

_OF_A_TARGET = {
    "change": "labels against random sampling's",
    "oracle": "labels against knowing every stratum's rate beforehand",
    "within": "share of runs whose estimate is that near to the truth",
}
_OF_A_QUESTION = {
    "change": _OF_A_TARGET["change"],
    "yes": "share of runs that were sure that it is at least that",
    "no": "share of runs that were sure that it is below",
}
_OF_ALL = {
    "covers": "share of runs whose interval holds the truth",
    "bias": "",
    "rmse": "",
    "mvr": "estimated variance over random sampling's, at as many labels",
    "mae": "",
}


def view(file: str, question: Question, result: Simulation) -> RenderableType:
    """Return what people are told; it fits 80 columns."""
    meanings = _meanings(question)
    return Group(
        facts(_facts(file, question, result)),
        Text(),
        _table(result.rows, meanings),
        Text(),
        facts([(name, Text(text, "dim")) for name, text in meanings.items() if text]),
    )


def rows_csv(result: Simulation) -> str:
    """Return the rows as CSV, under the names of the JSON document."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in result.rows)
    return text.getvalue()


def _facts(file: str, question: Question, result: Simulation) -> list[tuple[str, RenderableType]]:
    found = result.population
    yes, positive = found["predicted_positives"], found["positives"]
    goal = f"at {100 * question.confidence:.4g}% confidence"
    if question.budgets is not None:
        budgets = ", ".join(f"{budget:,}" for budget in question.budgets)
        goal = f"after {budgets} labels, intervals {goal}"
    if question.within is not None:
        goal = f"within ±{question.within:g}, {goal}"
    if question.at_least is not None:
        goal = f"is it at least {question.at_least:g}? {goal}"
    limit = f"any design by score needs at least {found['limit']:.0%} of random sampling's labels"
    return [
        ("read", f"{file}: {found['rows']:,} items, {yes:,} predicted yes, {positive:,} are yes"),
        ("truth", f"{metric_name(found['metric'])} {found['value']:.4f}"),
        ("goal", goal),
        ("runs", f"{question.replications:,} of each design, seed {question.seed}"),
        ("limit", limit),
    ]


def _meanings(question: Question) -> dict[str, str]:
    """Return the columns that say something about the question, and what they mean.

    With a budget alone all designs take the same labels and hit nothing.
    """
    if question.at_least is not None:
        return {**_OF_A_QUESTION, **_OF_ALL}
    return {**_OF_A_TARGET, **_OF_ALL} if question.within is not None else _OF_ALL


def _table(rows: tuple[Row, ...], columns: Iterable[str]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    for place, heading in enumerate(["design", "labels", *columns]):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        error = f" ±{row.labels_se:.2g}" if row.labels_se else ""
        cells = {
            "change": _percent(row.change_pct),
            "oracle": _percent(row.oracle_pct),
            "within": _share(row.within),
            "yes": _share(row.yes),
            "no": _share(row.no),
            "covers": _share(row.coverage),
            "bias": f"{row.bias:+.4f}",
            "rmse": f"{row.rmse:.4f}",
            "mvr": "–" if row.mvr is None else f"{row.mvr:.2f}",
            "mae": f"{row.mae:.4f}",
        }
        shown = [cells[column] for column in columns]
        table.add_row(row.design, f"{row.labels_mean:,.0f}{error}", *shown)
    return table


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f}%"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


# ``assay simulate`` of several classifiers: in total, then metric by metric.

_MEANINGS = {
    "labels": "distinct items labelled; of a metric, those that it was read off",
    "change": "labels against those of independent samples",
    "within": "share of runs whose estimate is that near to the truth; in total, the worst's",
    "covers": "share of runs whose interval holds the truth",
}
_OF_A_ROW = ("design", "labels_mean", "labels_se", "change_pct")


def run_several(
    file: str, columns: dict[str, Any], asked: dict[str, Any], out: Path | None, *, as_json: bool
) -> bool:
    """Simulate designs for several metrics, and tell whether Ctrl-C ended it.

    `columns` and `asked` are the arguments of `Ensemble.read` and of `simulate_several`.
    """
    with working(f"reading {file}"):
        ensemble = Ensemble.read(file, **columns)
    with progress_bar("simulating") as progress:
        result = simulate_several(ensemble, **asked, progress=progress)
    if as_json:
        emit(result.to_dict())
    else:
        runs = f"{asked['replications']:,} of each design, seed {asked['seed']}"
        console().print(several_view(file, result, runs=runs))
    if out is not None and result.rows:
        files = save_rows(several_rows_csv(result), out)
        if not result.interrupted:
            files += draw_several(result, out)
        if not as_json:
            say_saved(files, out)
    return result.interrupted


def several_view(file: str, result: SeveralSimulation, *, runs: str) -> RenderableType:
    """Return what people are told; it fits 80 columns, unless names are long."""
    parts: list[RenderableType] = [
        facts([*_facts_of_several(file, result), ("runs", runs)]),
        Text(),
    ]
    parts += [_totals(result.rows), Text()]
    for place, target in enumerate(result.goal.targets):
        value = result.rows[0].metrics[place].value if result.rows else 0.0
        width = "" if target.within is None else f" ±{target.within:g}"
        title = Text.assemble((target.name, "bold"), f" is {value:.4f}{width and ','}{width}")
        found = {row.design: row.metrics[place] for row in result.rows}
        parts += [title, _of_one(found), Text()]
    return Group(*parts, facts([(name, Text(text, "dim")) for name, text in _MEANINGS.items()]))


def several_rows_csv(result: SeveralSimulation) -> str:
    """Return a line for each design and metric, under the names of the JSON document."""
    text = io.StringIO()
    names = [*_OF_A_ROW, *(field.name for field in fields(TargetRow))]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in result.rows:
        shared = {name: getattr(row, name) for name in _OF_A_ROW}
        writer.writerows({**shared, **asdict(each)} for each in row.metrics)
    return text.getvalue()


def _facts_of_several(file: str, result: SeveralSimulation) -> list[tuple[str, RenderableType]]:
    found, goal = result.ensemble, result.goal
    yes = ", ".join(f"{name} {items:,}" for name, items in found["predicted_positives"].items())
    sure = f"{100 * goal.confidence:.4g}% confidence"
    sure = f"{sure} in all metrics at once" if goal.simultaneous else f"{sure} in each metric"
    budget = "" if goal.budget is None else f"; joint takes at most {goal.budget:,} labels"
    told: list[tuple[str, RenderableType]] = [
        ("read", f"{file}: {found['rows']:,} items, {found['positives']:,} are yes"),
        ("predicted yes", yes),
        ("goal", f"{sure}{budget}"),
    ]
    sizes: dict[str, list[str]] = {}
    for row in result.rows:
        if row.sizes is not None:
            sizes.setdefault(_sizes(row.sizes), []).append(row.design)
    if sizes:
        told.append(("parent", f"{found['parent']}, whose labels are recycled"))
    for text, designs in sizes.items():
        told.append(("samples", text if len(sizes) == 1 else f"{', '.join(designs)}: {text}"))
    return told


def _sizes(sizes: Sizes) -> str:
    samples = [f"{name} {n:,}" for name, n in sizes.samples.items()]
    return ", ".join(
        [*samples, f"parent's no-set {sizes.omission:,}"] if sizes.omission else samples
    )


def _totals(rows: tuple[SeveralRow, ...]) -> Table:
    table = _empty_table("design", "labels", "change", "within", "")
    for row in rows:
        error = f" ±{row.labels_se:.2g}" if row.labels_se else ""
        change = "–" if row.change_pct is None else f"{row.change_pct:+.1f}%"
        hits = [(each.within, each.metric) for each in row.metrics if each.within is not None]
        share, worst = min(hits) if hits else (None, "")
        table.add_row(row.design, f"{row.labels_mean:,.0f}{error}", change, _share(share), worst)
    return table


def _of_one(found: dict[str, TargetRow]) -> Table:
    table = _empty_table("design", "labels", "within", "covers", "bias", "rmse")
    for design, row in found.items():
        table.add_row(
            design,
            f"{row.labels:,.0f}",
            _share(row.within),
            _share(row.coverage),
            f"{row.bias:+.4f}",
            f"{row.rmse:.4f}",
        )
    return table


def _empty_table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    for heading in headings:
        left = heading in ("design", "")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    return table
