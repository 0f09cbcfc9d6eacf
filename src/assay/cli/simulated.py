"""What is told of a simulation: the population, a row for each design, and what they mean."""

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, fields

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.render import facts
from assay.results.text import metric_name
from assay.simulation import Row, Simulation
from assay.simulation.sweeps import Question

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
