"""Tables of a simulation in the terminal: the population, and a row for each design."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.render import facts
from assay.core.goal import Goal
from assay.results import metric_name
from assay.simulation import Question, Row, Simulation, Sizes, TargetRow

_Facts = list[tuple[str, RenderableType]]

_OF_A_WIDTH = {
    "change": "labels against random sampling's",
    "oracle": "labels against knowing every stratum's rate beforehand",
    "within": "share of runs whose estimate is that near to the truth",
}
_OF_A_QUESTION = {
    "change": _OF_A_WIDTH["change"],
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
_OF_SEVERAL = {
    "labels": "distinct items labelled; of a metric, those that it was read off",
    "change": "labels against those of independent samples",
    "within": "share of runs whose estimate is that near to the truth; in total, the worst's",
    "covers": _OF_ALL["covers"],
}
_OF_A_ROW = ("design", "labels_mean", "labels_se", "change_pct")


def rows_csv(result: Simulation) -> str:
    """Return a line for each design and metric, under the names of the JSON document."""
    text = io.StringIO()
    names = [*_OF_A_ROW, *(field.name for field in fields(TargetRow))]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in result.rows:
        shared = {name: getattr(row, name) for name in _OF_A_ROW}
        writer.writerows({**shared, **asdict(each)} for each in row.metrics)
    return text.getvalue()


def render_simulation(file: str, question: Question, result: Simulation) -> RenderableType:
    """Return what people are told; it fits 80 columns, unless names are long.

    One metric has one table; several have one of the totals, and one each.
    """
    if not result.goal.single:
        told, meanings = _facts_of_several(file, question, result, result.goal), _OF_SEVERAL
        tables = _tables_of_several(result, result.goal)
    else:
        told, meanings = _facts_of_one(file, question, result, result.goal), _meanings(result.goal)
        tables = [_table(result.rows, ["labels", *meanings]), Text()]
    explained: _Facts = [(name, Text(text, "dim")) for name, text in meanings.items() if text]
    return Group(facts(told), Text(), *tables, facts(explained))


def _facts_of_one(file: str, question: Question, result: Simulation, goal: Goal) -> _Facts:
    found = result.population
    yes, positive = found["predicted_positives"], found["positives"]
    told = f"at {100 * goal.confidence:.4g}% confidence"
    if question.budgets is not None:
        told = f"after {_numbers(question.budgets)} labels, intervals {told}"
    if goal.within is not None:
        told = f"within ±{goal.within:g}, {told}"
    if goal.at_least is not None:
        told = f"is it at least {goal.at_least:g}? {told}"
    limit = f"any design by score needs at least {found['limit']:.0%} of random sampling's labels"
    return [
        ("read", f"{file}: {found['rows']:,} items, {yes:,} predicted yes, {positive:,} are yes"),
        ("truth", f"{metric_name(found['metric'])} {found['value']:.4f}"),
        ("goal", told),
        ("runs", _runs(question)),
        ("limit", limit),
    ]


def _facts_of_several(file: str, question: Question, result: Simulation, goal: Goal) -> _Facts:
    found = result.population
    yes = ", ".join(f"{name} {items:,}" for name, items in found["predicted_positives"].items())
    sure = f"{100 * goal.confidence:.4g}% confidence"
    sure = f"{sure} in all metrics at once" if goal.simultaneous else f"{sure} in each metric"
    if question.budgets is not None:
        sure = f"{sure}; joint takes at most {_numbers(question.budgets)} labels"
    told: _Facts = [
        ("read", f"{file}: {found['rows']:,} items, {found['positives']:,} are yes"),
        ("predicted yes", yes),
        ("goal", sure),
    ]
    sizes: dict[str, list[str]] = {}
    for row in result.rows:
        if row.sizes is not None:
            sizes.setdefault(_sizes(row.sizes), []).append(row.design)
    if sizes:
        told.append(("parent", f"{found['parent']}, whose labels are recycled"))
    for text, designs in sizes.items():
        told.append(("samples", text if len(sizes) == 1 else f"{', '.join(designs)}: {text}"))
    return [*told, ("runs", _runs(question))]


def _tables_of_several(result: Simulation, goal: Goal) -> list[RenderableType]:
    parts: list[RenderableType] = [_table(result.rows, ["labels", "change", "within", ""]), Text()]
    for place, target in enumerate(goal.targets):
        value = result.rows[0].metrics[place].value if result.rows else 0.0
        width = "" if target.within is None else f" ±{target.within:g}"
        title = Text.assemble((target.name, "bold"), f" is {value:.4f}{width and ','}{width}")
        columns = ["labels", "within", "covers", "bias", "rmse"]
        parts += [title, _table(result.rows, columns, place), Text()]
    return parts


def _meanings(goal: Goal) -> dict[str, str]:
    """Return the columns that say something about the goal, and what they mean.

    With a budget alone all designs take the same labels and hit nothing.
    """
    if goal.at_least is not None:
        return {**_OF_A_QUESTION, **_OF_ALL}
    return {**_OF_A_WIDTH, **_OF_ALL} if goal.within is not None else _OF_ALL


def _table(rows: Sequence[Row], columns: Iterable[str], place: int | None = None) -> Table:
    """Return a row a design: of the target at a place, or in total."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim", show_edge=False)
    columns = ["design", *columns]
    for heading in columns:
        left = heading in ("design", "")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        cells = _cells(row, place)
        table.add_row(*(cells[column] for column in columns))
    return table


def _cells(row: Row, place: int | None) -> dict[str, str]:
    """Return a row's cells by column; in total, of the target that was hit least often."""
    error = f" ±{row.labels_se:.2g}" if row.labels_se else ""
    each = row.metrics[place or 0]
    if place is None and len(row.metrics) > 1:
        told = [one for one in row.metrics if one.within is not None] or row.metrics
        each = min(told, key=lambda one: (one.within or 0.0, one.metric))
    return {
        "design": row.design,
        "labels": f"{each.labels:,.0f}" if place is not None else f"{row.labels_mean:,.0f}{error}",
        "change": _percent(row.change_pct),
        "oracle": _percent(each.oracle_pct),
        "within": _share(each.within),
        "yes": _share(each.yes),
        "no": _share(each.no),
        "covers": _share(each.coverage),
        "bias": f"{each.bias:+.4f}",
        "rmse": f"{each.rmse:.4f}",
        "mvr": "–" if each.mvr is None else f"{each.mvr:.2f}",
        "mae": f"{each.mae:.4f}",
        "": "" if each.within is None else each.metric,
    }


def _sizes(sizes: Sizes) -> str:
    samples = [f"{name} {n:,}" for name, n in sizes.samples.items()]
    return ", ".join(
        [*samples, f"parent's no-set {sizes.omission:,}"] if sizes.omission else samples
    )


def _runs(question: Question) -> str:
    return f"{question.replications:,} of each design, seed {question.seed}"


def _numbers(budgets: Iterable[int]) -> str:
    return ", ".join(f"{budget:,}" for budget in budgets)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:+.1f}%"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
