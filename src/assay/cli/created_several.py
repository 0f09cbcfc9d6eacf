"""What is told of a new campaign of several metrics: whose they are, and how exact each is."""

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from assay.cli.render import new_table
from assay.core.goal import JointGoal
from assay.core.venn import CellStrata
from assay.labelling.settings import Source
from assay.results.text import goal_words, printable


def several_facts(
    source: Source, goal: JointGoal, strata: CellStrata
) -> list[tuple[str, RenderableType]]:
    """Return what holds for all metrics."""
    cells = sum(len(heap.codes) for heap in strata.heaps)
    mean = "the mean of the items' ranks by each score"
    return [
        ("goal", goal_words(goal)),
        ("strata", f"{strata.n_strata:,}, of {cells:,} cells: items that all say the same of"),
        ("cut by", mean if source.has_score else "nothing, as there is no score"),
        ("labels", "where all metrics together need the fewest"),
    ]


def classifiers_table(source: Source, strata: CellStrata) -> Table:
    """Return the classifiers, their columns, and how many items each says yes to."""
    table = new_table("classifier", "score", "says yes where", "items")
    for column in table.columns[1:3]:
        column.justify = "left"
    for (name, columns), items in zip(
        source.columns["classifiers"].items(), strata.yes_items or (), strict=True
    ):
        table.add_row(
            Text(name, "bold"),
            Text(printable(columns.get("score") or "–")),
            Text(printable(_yes_where(columns))),
            f"{items:,}",
        )
    return table


def targets_table(goal: JointGoal) -> Table:
    """Return the metrics and their half-widths."""
    table = new_table("metric", "within")
    for target in goal.targets:
        table.add_row(target.name, "–" if target.within is None else f"±{target.within:g}")
    return table


def classifiers_document(source: Source, strata: CellStrata) -> dict[str, dict[str, Any]]:
    """Return the classifiers as plain values."""
    return {
        name: {
            **{option: value for option, value in columns.items() if value is not None},
            "says_yes_to": items,
        }
        for (name, columns), items in zip(
            source.columns["classifiers"].items(), strata.yes_items or (), strict=True
        )
    }


def _yes_where(columns: Mapping[str, Any]) -> str:
    predicted, positive = columns.get("predicted"), columns.get("positive")
    if predicted is None:
        return f"{columns['score']} >= {columns['threshold']:g}"
    return predicted if positive is None else f"{predicted} = {positive}"
