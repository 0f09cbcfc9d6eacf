"""Tables of a simulation: a row for each design, and what the columns mean."""

from collections.abc import Mapping, Sequence

from assay.core.goal import Goal
from assay.results import Block, Column, Pairs, Table, headed
from assay.simulation.rows import Row, TargetRow

_OF_A_WIDTH = {
    "change": "labels against random sampling's",
    "of limit": "labels over what any design by score takes at least",
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
_OF_CLASSES = {"change": "labels against those of items that are drawn at random"}
_OF_A_THRESHOLD = {
    "certified": "share of runs in which a threshold was certified",
    "wrong": "share of runs in which one was, or was shown on the way, that fails a floor",
    "of best": "what is wanted at it, over what the best threshold of all has; 0 without one",
    "precision": "share of runs (of a tenth) whose interval of precision at it holds the truth",
    "recall": "the same of recall",
}


def tables_of(rows: Sequence[Row], goal: Goal, *, of_classes: bool) -> tuple[Block, ...]:
    """Return the tables: one of one metric; of several, one of the totals and one each."""
    if goal.threshold_for is not None:
        return _table_of_thresholds(rows, goal.threshold_for), _explained(_OF_A_THRESHOLD)
    if goal.single and not of_classes:
        meanings = _meanings(goal)
        return _table(goal.metric, rows, ["labels", *meanings]), _explained(meanings)
    tables = [_table("All metrics", rows, ["labels", "change", "within", ""])]
    for place, target in enumerate(goal.targets):
        value = rows[0].metrics[place].value if rows else 0.0
        width = "" if target.within is None else f", ±{target.within:g}"
        columns = ["labels", "within", "covers", "bias", "rmse"]
        tables.append(_table(f"{target.name} is {value:.4f}{width}", rows, columns, place))
    return *tables, _explained({**_OF_SEVERAL, **(_OF_CLASSES if of_classes else {})})


def _explained(meanings: Mapping[str, str]) -> Pairs:
    return Pairs(tuple((name, text) for name, text in meanings.items() if text))


def _meanings(goal: Goal) -> dict[str, str]:
    """Return the columns that say something about the goal, and what they mean.

    With a budget alone all designs take the same labels and hit nothing.
    """
    if goal.at_least is not None:
        return {**_OF_A_QUESTION, **_OF_ALL}
    return {**_OF_A_WIDTH, **_OF_ALL} if goal.within is not None else _OF_ALL


def _table(
    caption: str, rows: Sequence[Row], columns: Sequence[str], place: int | None = None
) -> Table:
    """Return a row a design: of the target at a place, or in total."""
    cells = [_cells(row, place) for row in rows]
    return Table(
        caption,
        (Column("design", "text"), *(Column(n, "number" if n else "text") for n in columns)),
        tuple(tuple(each[name] for name in ("design", *columns)) for each in cells),
    )


def _cells(row: Row, place: int | None) -> dict[str, str]:
    """Return a row's cells by column; in total, of the target that was hit least often."""
    error = f" ±{row.labels_se:.2g}" if row.labels_se else ""
    each = _worst(row) if place is None else row.metrics[place]
    return {
        "design": row.design,
        "labels": f"{each.labels:,.0f}" if place is not None else f"{row.labels_mean:,.0f}{error}",
        "change": "–" if row.change_pct is None else f"{row.change_pct:+.1f}%",
        "of limit": "–" if each.of_limit is None else f"{each.of_limit:.2f}",
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


def _worst(row: Row) -> TargetRow:
    asked = [one for one in row.metrics if one.within is not None] or row.metrics
    return min(asked, key=lambda one: (one.within or 0.0, one.metric))


def _table_of_thresholds(rows: Sequence[Row], question: str) -> Table:
    cells = []
    for row in rows:
        if (of := row.threshold) is not None:
            shares = (of.certified, of.wrong, of.share_of_best)
            covers = (of.precision_covers, of.recall_covers)
            labels = (f"{of.budget:,}", f"{row.labels_mean:,.0f}")
            cells.append((row.design, *labels, *map(_share, (*shares, *covers))))
    return Table(question, headed("design", "budget", "labels", *_OF_A_THRESHOLD), tuple(cells))


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
